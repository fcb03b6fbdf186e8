package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"golang.org/x/term"
)

// shell is a login: a prompt, a line editor, and one interpreter that keeps its
// variables and its directory from line to line.
func (s *session) shell(ctx context.Context) int {
	out := newGate(s.node, s.ch)
	clock := s.node.Rack.Clock
	defer out.close()
	sh := host.NewShell(s.node, false, true)
	if !s.pty {
		return s.batch(ctx, sh, out)
	}
	keys := newKeyboard(s.ch)
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, out}, "")
	t.SetSize(s.width, s.height)
	s.onResize(func(w, h int) { t.SetSize(w, h) })
	defer s.onResize(nil)
	screen := visible{clock, t}
	sh.TTY = screen
	var lasting context.CancelFunc
	sh.Life, lasting = context.WithCancel(ctx)
	// After lasting: jobs are asked to end, and then waited for, with a turn.
	defer clock.Visit(sh.Finish)
	defer lasting()
	fmt.Fprintf(t, "Welcome to NVIDIA DGX Spark Version 7.2.3 (GNU/Linux %s aarch64)\n\n"+
		"SIMULATED: this is railbench's pretend %s. Nothing in it is real.\n\n", host.Kernel, s.node.Name)
	r, err := sh.Interpreter(host.Job{Name: "bash", Env: s.env, Stdout: screen, Stderr: screen})
	if err != nil {
		fmt.Fprintln(t, err)
		return 1
	}
	code := 0
	for {
		dir := r.Dir
		if dir == "" || dir == host.HomeDir {
			dir = "~"
		}
		t.SetPrompt(fmt.Sprintf("nvidia@%s:%s$ ", s.node.Name, dir))
		line, err := t.ReadLine()
		if errors.Is(err, io.EOF) && keys.interrupted() {
			fmt.Fprintln(t)
			continue
		}
		if err != nil {
			fmt.Fprintln(t, "logout")
			return code
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		file, err := sh.Parse(line, "bash")
		if err != nil {
			fmt.Fprintln(t, err)
			code = 2
			continue
		}
		// Only Ctrl-C and the end of the session end it: what a line left in the
		// background goes on behind the next prompt.
		// Of this line alone.
		running, cancel := context.WithCancel(ctx)
		defer cancel()
		keys.watch(cancel)
		// The interpreter's own, which ends only where the line doesn't (CutOff).
		whole, cut := context.WithCancel(context.WithoutCancel(ctx))
		off := sh.CutOff(running, cut)
		clock.Visit(func() {
			sh.Line = running
			code = host.ExitCode(r.Run(whole, file))
		})
		off()
		defer cut() // not before: what is in the background goes on in it
		if keys.watch(nil); running.Err() != nil {
			code = 130
			fmt.Fprintln(t, "^C")
		}
		if ctx.Err() != nil {
			return code
		}
		if r.Exited() && code != 130 {
			return code
		}
	}
}

// batch is a shell without a terminal, which reads all that it is to do.
// The text has to end before anything of it runs: a shell that reads from a pipe would begin with
// the first line.
func (s *session) batch(ctx context.Context, sh *host.Shell, out *gate) (code int) {
	text, err := io.ReadAll(s.ch)
	if err != nil {
		return 1
	}
	s.node.Rack.Clock.Visit(func() {
		code = sh.Start(ctx, string(text), host.Job{
			Name: "bash", Env: s.env, Stdout: out.acted(), Stderr: newGate(s.node, s.ch.Stderr()).acted(),
		})
	})
	return code
}

// visible is the screen as commands write to it: see actedGate.
type visible struct {
	clock *clock.Clock
	t     *term.Terminal
}

func (v visible) Write(p []byte) (n int, err error) {
	v.clock.Foreign(func() { n, err = v.t.Write(p) })
	return n, err
}

// typedAhead is how many bytes wait for who reads them; what comes after is lost, as in a
// kernel's terminal (N_TTY_BUF_SIZE in drivers/tty/n_tty.c).
const typedAhead = 4096

// A keyboard reads the client's keys also while a command runs, because Ctrl-C
// must end it.
type keyboard struct {
	mu sync.Mutex
	// On mu; signalled for data and for an error, never for a break.
	changed sync.Cond
	data    []byte
	err     error
	// nil at the prompt, where Ctrl-C is the line editor's.
	onBreak func()
	brk     bool
}

func newKeyboard(r io.Reader) *keyboard {
	k := &keyboard{}
	k.changed.L = &k.mu
	go func() {
		var buf [256]byte
		for {
			n, err := r.Read(buf[:])
			k.mu.Lock()
			for _, b := range buf[:n] {
				if b == 3 && k.onBreak != nil {
					// With the lock held: it only cancels a context.
					k.onBreak()
					k.data = nil
					continue
				}
				k.brk = k.brk || b == 3
				if len(k.data) < typedAhead {
					k.data = append(k.data, b)
				}
			}
			k.err = err
			k.changed.Broadcast()
			k.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return k
}

// watch sets what Ctrl-C does while a command runs. One that was pressed just
// before the command began is meant for it.
func (k *keyboard) watch(onBreak func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.onBreak = onBreak
	if onBreak != nil && bytes.IndexByte(k.data, 3) >= 0 {
		k.data, k.brk = nil, false
		onBreak()
	}
}

// interrupted reports whether Ctrl-C was pressed at the prompt, which the line
// editor reports as an end of input.
func (k *keyboard) interrupted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.brk && k.err == nil
	k.brk = false
	return was
}

func (k *keyboard) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.data) == 0 && k.err == nil {
		k.changed.Wait()
	}
	if len(k.data) == 0 {
		return 0, k.err
	}
	n := copy(p, k.data)
	k.data = k.data[n:]
	return n, nil
}
