// Package upload gives both nodes of a run railbench's own program, in $RAILBENCH: theirs, where
// it is the same, or else a copy in a folder that lasts as long as the run. It holds the service
// that cells name with with=railbench. How a file gets to a node is the runner's.
package upload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner/safefile"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/session"
)

// planned is $RAILBENCH in a dry run: whether a node has it isn't known before.
const planned = "railbench"

// holdLimit is how long a copy may be on a node: longer than any cell runs.
const holdLimit = 26 * time.Hour

// A Program is railbench as it is handed over.
type Program struct {
	// Own is this program's file, OS and Arch what it runs on, in Go's words.
	Own, OS, Arch string
	// Version is this program's release; empty where it is none, so that another of the same name
	// may be another program.
	Version string
}

// Start gives $RAILBENCH at each end; see session.Service.
func (p Program) Start(ctx context.Context,
	r session.Request,
) (vars [2]map[string]string, stop func() error, err error) {
	var held [2]*copied
	var errs [2]error
	var both sync.WaitGroup
	for _, e := range steps.Ends {
		// Each end writes its own place, and Wait orders them before the reading.
		both.Go(func() {
			var path string
			path, held[e], errs[e] = p.give(ctx, r, e)
			vars[e] = map[string]string{"RAILBENCH": path}
		})
	}
	both.Wait()
	stop = func() error {
		var left []error
		for _, c := range held {
			if c != nil {
				left = append(left, c.clear())
			}
		}
		return errors.Join(left...)
	}
	return vars, stop, errors.Join(errs[:]...)
}

// Plan is what a dry run shows.
func (Program) Plan(session.Request) map[string]string {
	return map[string]string{"RAILBENCH": planned}
}

// give finds or makes a program at one end.
func (p Program) give(ctx context.Context, r session.Request, e steps.End) (path string, held *copied, err error) {
	n := r.Nodes[e]
	if _, local := n.(*runner.Local); local {
		if _, err := os.Stat(p.Own); err != nil {
			return "", nil, fmt.Errorf("this railbench's own file is gone: start it again: %w", err)
		}
		return p.Own, nil, nil
	}
	text, err := runner.Text(ctx, n, runner.Script{Name: "look for railbench", Body: scripts.Upload + scripts.UploadLook})
	if err != nil {
		return "", nil, err
	}
	there := found(text)
	if r.Rig.Simulated {
		// Its programs are railbench's own pretence: no file can be run there.
		if there.path == "" {
			return "", nil, fmt.Errorf("%s has no railbench, and a simulated node can't be handed one: on a real rig it would "+
				"be handed over for the run", n.Name())
		}
		return planned, nil, nil
	}
	file, err := p.file(there.os, there.arch)
	if err != nil {
		if p.Version != "" && there.version == p.Version {
			return there.path, nil, nil
		}
		return "", nil, fmt.Errorf("%s has no railbench of this version, and %w. Or copy one there by hand: it is one file, "+
			"found in $PATH", n.Name(), err)
	}
	sum, size, err := hash(file)
	if err != nil {
		return "", nil, err
	}
	if there.sum == sum {
		return there.path, nil, nil
	}
	to, ok := n.(runner.Deliverer)
	if !ok {
		return "", nil, fmt.Errorf("hand railbench over to %s: this kind of node takes no file", n.Name())
	}
	r.Tell("%s gets railbench for this run, %.0f MB: it has none, or another", n.Name(), float64(size)/1e6)
	held, err = hand(ctx, to, file, sum)
	if err != nil {
		return "", held, fmt.Errorf("hand railbench over to %s: %w", n.Name(), err)
	}
	return held.path, held, nil
}

// A platform is what a node is, and its own railbench where it has one.
type platform struct{ os, arch, path, version, sum string }

func found(text string) platform {
	lines := append(strings.Split(text, "\n"), "", "", "", "", "")
	p := platform{os: strings.ToLower(lines[0]), arch: goArch(lines[1]), path: lines[2], sum: lines[4]}
	if words := strings.Fields(lines[3]); len(words) > 1 { // "railbench v1.2.3 (go1.26.8, linux/arm64)"
		p.version = words[1]
	}
	return p
}

// goArch is what Go calls a machine that uname -m names.
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// platformForm is a system or a machine as uname reports it.
var platformForm = lazyregexp.New(`^[a-z0-9][a-z0-9_]*$`)

const longestPlatform = 32 // bytes

// file is the program for a platform: this one, or one that was built for it and lies next to this one.
func (p Program) file(system, arch string) (string, error) {
	if system == p.OS && arch == p.Arch {
		return p.Own, nil
	}
	// What the node says is it stands in a file's name here, and in a command that a user copies.
	for _, word := range []string{system, arch} {
		if len(word) > longestPlatform || !platformForm.Regexp().MatchString(word) {
			return "", fmt.Errorf("%.*q is not a platform", longestPlatform, word)
		}
	}
	name := fmt.Sprintf("railbench-%s-%s", system, arch)
	file := filepath.Join(filepath.Dir(p.Own), name)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is missing next to this one, which runs on %s/%s: put one there (%s)", file, p.OS, p.Arch,
			fmt.Sprintf("GOOS=%s GOARCH=%s go build -o %s ./cmd/railbench", system, arch, name))
	}
	return file, safefile.Program(file)
}

func hash(file string) (sum string, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, fmt.Errorf("read the program that is handed over: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, fmt.Errorf("read the program that is handed over: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// A copied is a program on a node, and the script there that keeps its folder. The folder goes
// with the script, and the script with railbench: that is the supervisor's to see to.
type copied struct {
	node      runner.Node
	dir, path string // empty where it came to no folder
	end       context.CancelFunc
	done      chan struct{}
}

// verify prints the hash of $FILE.
const verify = `sha256sum "$FILE"`

// hand copies a file to a node, and looks whether it is what was sent before anybody runs it. What
// is given with an error still has to be cleared.
func hand(ctx context.Context, n runner.Deliverer, file, sum string) (*copied, error) {
	// The folder outlives an interrupted run: until clear.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &copied{node: n, end: end, done: make(chan struct{})}
	dir := make(chan string, 1)
	var failed error // and said: to be read once c.done is closed
	said := ""
	go func() {
		defer close(c.done)
		var exit runner.Exit
		exit, failed = n.Run(life, runner.Script{
			Name: "hold railbench", Body: scripts.Upload + scripts.UploadHold, Limit: holdLimit, Patient: true,
		},
			func(l runner.Line) {
				if l.Stream == runner.Stderr {
					said = l.Text
					return
				}
				select {
				case dir <- l.Text:
				default: // a login that talks
				}
			})
		if failed == nil && exit.Why == runner.Ended {
			failed = fmt.Errorf("%s: %s", exit, said)
		}
	}()
	select {
	case at := <-dir:
		c.dir, c.path = at, at+"/railbench"
	case <-c.done:
		return c, failed
	case <-ctx.Done():
		return c, context.Cause(ctx)
	}
	f, err := os.Open(file)
	if err != nil {
		return c, err
	}
	defer f.Close()
	if err := n.Deliver(ctx, c.path, f); err != nil {
		return c, err
	}
	text, err := runner.Text(ctx, n,
		runner.Script{Name: "verify railbench", Body: verify, Vars: map[string]string{"FILE": c.path}})
	if err != nil {
		return c, err
	}
	if got, _, _ := strings.Cut(text, " "); got != sum {
		return c, fmt.Errorf("what arrived has the hash %s, and what was sent %s: it is not run", got, sum)
	}
	return c, nil
}

// clearLimit is how long it may take to see that a folder is gone.
const clearLimit = 10 * time.Second

// clear ends the script, which clears its folder, and looks whether it did.
func (c *copied) clear() error {
	c.end()
	<-c.done
	if c.dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearLimit)
	defer cancel()
	said, err := runner.Ask(ctx, c.node, runner.Script{
		Name: "look for what was handed over", Body: `[ ! -e "$DIR" ]`, Vars: map[string]string{"DIR": c.dir},
	})
	switch {
	case err != nil:
		return fmt.Errorf("it is unknown whether %s on %s is gone: %w", c.dir, c.node.Name(), err)
	case !said.Exit.OK():
		return fmt.Errorf("%s on %s could not be removed: remove it by hand", c.dir, c.node.Name())
	}
	return nil
}
