package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/tui/render"
)

// A pager is the program with which a user reads what is long, and a file for it.
type pager struct {
	cmd  *exec.Cmd
	back func() // gives the terminal back; nil before it is lent
	log  string
	text func() string // in a file of its own where there is no log
}

// pagerCommand is the pager that the user wants, or one that is usual.
func pagerCommand() (*exec.Cmd, error) {
	words := strings.Fields(os.Getenv("PAGER"))
	if len(words) > 0 {
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, fmt.Errorf("$PAGER is %s, which is not on this machine", words[0])
		}
	}
	for _, usual := range [][]string{{"less", "-R"}, {"more"}} {
		if _, err := exec.LookPath(usual[0]); len(words) == 0 && err == nil {
			words = usual
		}
	}
	if len(words) == 0 {
		return nil, errors.New("neither less nor more is on this machine; $PAGER can name another pager")
	}
	return exec.Command(words[0], words[1:]...), nil
}

// openPager makes the pager ready for a log, or for a text that is asked for when it runs.
func openPager(log string, text func() string) (tea.ExecCommand, error) {
	cmd, err := pagerCommand()
	if err != nil {
		return nil, err
	}
	// It was removed, or there never was one. The name is from a file, and a pager takes
	// one that begins with + or - for what it is to do.
	if !ownLog(log) {
		log = ""
	}
	return &pager{cmd: cmd, log: log, text: text}, nil
}

// ownLog reports whether a file is a log that railbench wrote, clean: a session may name any file.
func ownLog(path string) bool {
	state, err := stateDir()
	if err != nil || !strings.HasPrefix(filepath.Clean(path), filepath.Join(state, "logs")+string(filepath.Separator)) {
		return false
	}
	f, err := safefile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

func (p *pager) SetStdin(r io.Reader)  { p.cmd.Stdin = r }
func (p *pager) SetStdout(w io.Writer) { p.cmd.Stdout, p.back = render.Lend(w) }
func (p *pager) SetStderr(w io.Writer) { p.cmd.Stderr = w }

// shownFolder is what the folders begin with in which an editor or a pager is shown a text.
const shownFolder = "railbench-shown-"

// Run runs it to its end.
func (p *pager) Run() error {
	if p.back != nil {
		defer p.back()
	}
	file := p.log
	if file == "" {
		folder, err := safefile.Hold(os.TempDir(), shownFolder)
		if err != nil {
			return err
		}
		defer folder.Remove() //nolint:errcheck // the next one removes what stays
		file = filepath.Join(folder.Path, "output.log")
		if err := os.WriteFile(file, []byte(p.text()), 0o600); err != nil {
			return err
		}
	}
	p.cmd.Args = append(p.cmd.Args, file)
	return p.cmd.Run()
}
