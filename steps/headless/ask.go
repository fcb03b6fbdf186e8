package headless

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

// Asker puts questions on the terminal of a run without a screen.
type Asker struct {
	mu  sync.Mutex // both nodes may ask at once
	in  *os.File
	out io.Writer

	got  chan answer // what reads of the terminal gave
	left int         // reads that go on: that of a question whose time is over takes the next one's answer
}

// An answer is a line that a user has typed.
type answer struct {
	text string
	err  error
}

// NewAskers ask where stdin is a terminal, and elsewhere decline what a node asks.
// A change is confirmed by yes, by the terminal, or, with a nil Confirmer, never.
// NewAsker asks at a terminal.
func NewAskers(in io.Reader, out io.Writer, yes bool) (runner.Asker, session.Confirmer) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		if yes {
			return runner.NoAsker{}, Yes{}
		}
		return runner.NoAsker{}, nil
	}
	a := NewAsker(f, out)
	if yes {
		return a, Yes{}
	}
	return a, a
}

// NewAsker asks at a terminal.
func NewAsker(in *os.File, out io.Writer) *Asker {
	return &Asker{in: in, out: out, got: make(chan answer, 8)}
}

// Yes is --yes.
type Yes struct{}

// Change says yes.
func (Yes) Change(context.Context, steps.ChangeQuestion) (bool, error) { return true, nil }

// Change shows what would run, or what was found, and asks yes or no. A change
// is rolled back if the answer does not come in time.
func (a *Asker) Change(ctx context.Context, q steps.ChangeQuestion) (bool, error) {
	defer a.turn()()
	if q.Keep {
		left := time.Until(q.Deadline)
		sanitize.Fprintf(a.out, "%s: %s\nKeep the change? %s are rolled back automatically in %s. (yes/no) ",
			q.Found.Grade, q.Found.Reason, steps.Capital(q.All()), left.Round(time.Second))
		// A yes has to reach both nodes before their switches fire: one that comes later is none.
		timed, cancel := context.WithDeadline(ctx, q.Deadline.Add(-5*time.Second))
		defer cancel()
		yes, err := a.yes(timed)
		if timed.Err() != nil && ctx.Err() == nil {
			sanitize.Fprintf(a.out, "\nNo answer in time: the change is rolled back.\n")
			return false, nil
		}
		return yes, err
	}
	if q.Final {
		sanitize.Fprintf(a.out, "%s:\n", q.Title)
		for _, p := range q.Places {
			sanitize.Fprintf(a.out, "# --- on %s\n%s", p.Node, sanitize.Several(p.Script))
		}
		sanitize.Fprint(a.out, "Run this? It cannot be undone. (yes/no) ")
		return a.yes(ctx)
	}
	sanitize.Fprintf(a.out, "%s changes the network as root, on %s or on none:\n", q.Title, q.All())
	for _, p := range q.Places {
		sanitize.Fprintf(a.out, "# --- on %s, interfaces %s\n", p.Node, strings.Join(p.Set, " "))
		for _, held := range p.Held {
			sanitize.Fprintf(a.out, "# %s\n", held)
		}
		if p.Becomes != "" {
			sanitize.Fprintf(a.out, "# then: %s\n", p.Becomes)
		}
		sanitize.Fprint(a.out, sanitize.Several(p.HandOver+p.Script))
	}
	for _, w := range q.Warnings {
		sanitize.Fprintln(a.out, w)
	}
	sanitize.Fprintln(a.out, "Connections over these interfaces are interrupted for some seconds.")
	if q.Rollback != "" {
		sanitize.Fprintln(a.out, q.Rollback)
	}
	sanitize.Fprint(a.out, "Make this change? (yes/no) ")
	return a.yes(ctx)
}

// yes reads a line, until ctx ends.
func (a *Asker) yes(ctx context.Context) (bool, error) {
	if a.left == 0 {
		a.begin(func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
	}
	line, err := a.answer(ctx)
	return strings.TrimSpace(line) == "yes", err
}

// begin reads the terminal in a goroutine of its own: a read of the terminal can't be cancelled by a context.
func (a *Asker) begin(read func() (string, error)) {
	a.left++
	go func() {
		text, err := read()
		a.got <- answer{text, err}
	}()
}

// turn begins one question, and gives what ends it. What was typed too late for the one before is not an answer to
// it.
func (a *Asker) turn() func() {
	a.mu.Lock()
	for {
		select {
		case <-a.got:
			a.left--
		default:
			return a.mu.Unlock
		}
	}
}

// answer is what is typed next, or that ctx has ended.
func (a *Asker) answer(ctx context.Context) (string, error) {
	select {
	case x := <-a.got:
		a.left--
		return x.text, x.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Ask asks yes or no.
func (a *Asker) Ask(ctx context.Context, format string, args ...any) (bool, error) {
	defer a.turn()()
	sanitize.Fprintf(a.out, format+" (yes/no) ", args...)
	return a.yes(ctx)
}

// HostKey asks yes or no.
func (a *Asker) HostKey(ctx context.Context, q runner.HostKeyQuestion) (bool, error) {
	return a.Ask(ctx, "The host key of %s (%s) is unknown.\n%s key fingerprint: %s\nTrust it, and store it in %s?",
		q.Node, q.Address, q.KeyType, q.Fingerprint, q.File)
}

// Secret reads without an echo.
func (a *Asker) Secret(ctx context.Context, q runner.SecretQuestion) (string, error) {
	defer a.turn()()
	if q.Again {
		sanitize.Fprintln(a.out, "That was wrong.")
	}
	sanitize.Fprintf(a.out, "%s for %s: ", q.What, q.For)
	before, err := term.GetState(int(a.in.Fd()))
	if err != nil {
		return "", err
	}
	// It takes away the echo, also where another read goes on and gets the line.
	a.begin(func() (string, error) {
		b, err := term.ReadPassword(int(a.in.Fd()))
		return string(b), err
	})
	secret, err := a.answer(ctx)
	// A read may go on, without an echo: give the terminal back to the next reader in its earlier state.
	_ = term.Restore(int(a.in.Fd()), before)
	sanitize.Fprintln(a.out)
	if secret = strings.TrimRight(secret, "\r\n"); err == nil && secret == "" {
		err = errors.New("no answer")
	}
	return secret, err
}
