package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/crowd"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/web"
)

// serveAt is where a page is served that no one said it of: this machine alone sees it.
const serveAt = "127.0.0.1:7117"

type serveFlags struct {
	listen, tokenFile, session string
	names                      []string
	all                        bool
	runbooks                   []string
}

func serveCommand(rig *rigFlags) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [CELL…|PART…|--all]",
		Short: "Show the gauges, the verdicts and the notebook in browsers",
		Long: `Serves a page: a gauge for each rail with two minutes of history, the running cell, the
verdicts and the notebook. Cells that you name run meanwhile. Viewers cannot run or change
anything. Ctrl-C ends it.

By default the page is for browsers on this machine; from another one use ssh -L. With
--listen on another address, viewers need the token in the printed address, or the one in
--token-file.

Exit status: 0 nothing failed; 1 a cell FAILed; 2 wrong usage or configuration, or the
address is not available; 3 a node can't be reached; 4 nothing failed but something was
INCONCLUSIVE; 5 the session could not be written.`,
		Example: `  railbench serve
  railbench serve --listen 192.168.1.20:7117
  railbench serve --rig sim --all`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, *rig, args) },
	}
	cmd.Flags().StringVar(&f.listen, "listen", serveAt, "the `ADDRESS` and port")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "read the token from this `FILE` (16 characters or more)")
	cmd.Flags().StringSliceVar(&f.names, "name", nil, "another `NAME` of this machine in the page's address")
	cmd.Flags().BoolVar(&f.all, "all", false, "run every cell but the optional ones")
	cmd.Flags().StringVar(&f.session, "session", "", sessionDoes)
	addRunbooks(cmd, &f.runbooks)
	cmd.ValidArgsFunction = completeCells(&f.runbooks)
	completeFlags(cmd, map[string]completer{
		"session": files("ipynb"), "listen": words(serveAt, "0.0.0.0:7117"), "name": words(),
	})
	return cmd
}

func (f serveFlags) run(cmd *cobra.Command, rig rigFlags, args []string) error {
	ctx, out := cmd.Context(), cmd.ErrOrStderr()
	rig.runbooks = f.runbooks
	// No one is asked here whether a change may be made, and so none is.
	ask, _ := headless.NewAskers(cmd.InOrStdin(), out, false)
	b, err := rig.open(ctx, ask)
	if err != nil {
		return err
	}
	defer b.close()
	var cells []steps.Cell
	if f.all || len(args) > 0 {
		if cells, err = (runFlags{all: f.all}).cells(b.options.Tutorial, args); err != nil {
			return usage(err)
		}
	}
	if err := b.linked(cells); err != nil {
		return err
	}
	b.options.Logs, b.options.Sample = logDir(), true
	if err := b.trustSession(f.session, false); err != nil {
		return err
	}
	if f.session != "" {
		if _, err := b.keep(f.session, out); err != nil {
			return err
		}
	}
	s := b.session(out)
	stage := &stage{options: pageOptions(b, s), listen: f.listen, tokenFile: f.tokenFile, names: f.names}
	if err := stage.prepare(); err != nil {
		return errors.Join(err, s.Close())
	}
	where, err := stage.open()
	if err != nil {
		return usage(errors.Join(err, s.Close()))
	}
	defer stage.close()
	sanitize.Fprintf(cmd.OutOrStdout(), "%s\n", where)
	ran := follow(s, out, false)
	told := ran.Tell
	ran.Tell = func(e steps.Event) {
		stage.page.Book(ran.Book)
		told(e)
	}
	stage.page.Book(ran.Book)
	s.Open()
	var boards sync.WaitGroup
	boards.Go(func() {
		for board := range s.Boards() {
			stage.page.Board(board)
		}
	})
	ran.RunAll(ctx, cells)
	ran.Watch(ctx)
	unreachable := s.Unreachable()
	closed, unsaved := finish(s, out)
	boards.Wait()
	b.remind(out)
	return ending{
		unsaved: unsaved, unreachable: unreachable,
		closed: closed,
	}.status(headless.NewObject("", steps.Rig{}, cells, ran.Ended).Summary)
}

func pageOptions(b *openRig, s *session.Session) web.Options {
	return web.Options{Railbench: version(), Simulated: b.options.Simulated, RigName: b.options.Rig, Now: s.Now}
}

// A stage is a page that is served, or can be.
// The page is made before anybody asks for it: who opens it later sees what happened since the beginning.
type stage struct {
	options           web.Options
	listen, tokenFile string
	names             []string
	made              string // the token, once one was made

	turn   sync.Mutex // of toggle
	page   *web.Page
	server *http.Server
	ended  context.CancelFunc
	work   sync.WaitGroup
}

// prepare makes the page. The page gets all events from then on, whether or not there are viewers.
func (s *stage) prepare() error {
	if s.page != nil {
		return nil
	}
	files, err := fs.Sub(assets.Web, "web")
	if err != nil {
		return err
	}
	s.options.Files, s.options.Names = files, s.names
	if host, err := os.Hostname(); err == nil {
		s.options.Names = append([]string{host}, s.names...)
	}
	s.page = web.New(s.options)
	return nil
}

// open begins to serve, and gives the address for a browser.
func (s *stage) open() (string, error) {
	tcp, err := net.Listen("tcp", s.listen)
	if err != nil {
		return "", fmt.Errorf("listen at %s: %w. Give another HOST:PORT with --listen, for example 127.0.0.1:8080", s.listen,
			err)
	}
	each := web.MostEach
	if crowd.OnLoopback(tcp.Addr()) {
		each = web.MostConnections // all share an address
	}
	ln := crowd.Listen(tcp, web.MostConnections, each)
	token, err := s.token(ln.Addr())
	if err == nil {
		err = s.prepare()
	}
	if err != nil {
		ln.Close()
		return "", err
	}
	s.page.Guard(token)
	ctx, cancel := context.WithCancel(context.Background())
	s.server, s.ended = s.page.Server(), cancel
	server := s.server
	s.work.Go(func() { s.page.Run(ctx) })
	s.work.Go(func() { _ = server.Serve(ln) }) // it ends when it is closed
	return crowd.Address(ln.Addr(), token), nil
}

// close ends the streams and the connections.
func (s *stage) close() {
	if s.server == nil {
		return
	}
	s.ended()
	_ = s.server.Close() // the program ends here: the error has no reader
	s.work.Wait()
	s.server = nil
}

// A token is long enough that no one guesses it over a network.
const shortestToken = 16

// token is what who looks must know; empty where only this machine can ask.
func (s *stage) token(at net.Addr) (string, error) {
	if s.tokenFile != "" {
		b, err := safefile.ReadOwn(s.tokenFile, 1<<10)
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		token := strings.TrimSpace(string(b))
		if len(token) < shortestToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "", fmt.Errorf("the token in %s must have %d characters or more, of ASCII and without blanks", s.tokenFile,
				shortestToken)
		}
		return token, nil
	}
	if crowd.OnLoopback(at) {
		return "", nil
	}
	if s.made == "" {
		s.made = strings.ToLower(rand.Text())
	}
	return s.made, nil
}

// toggle begins to serve, or ends that, for a workbench's key. Two presses may come at once.
func (s *stage) toggle() (string, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.server != nil {
		s.close()
		return "it is shown in no browser any more", nil
	}
	where, err := s.open()
	if err != nil {
		s.listen = "127.0.0.1:0" // another railbench serves at the usual place
		where, err = s.open()
	}
	if err != nil {
		return "", err
	}
	return "shown at " + where + ", on this machine only; B ends it", nil
}
