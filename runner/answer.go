package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// MaxAnswer bounds what a script of railbench's own may print on each stream, in bytes. A node with
// thousands of listeners, addresses and routes stays below it.
const MaxAnswer = 4 << 20

// ErrLong is for an answer that is longer: what is missing at its end may be what was asked for.
var ErrLong = fmt.Errorf("its answer is longer than %d MiB", MaxAnswer>>20)

// An Answer is what a short script said.
type Answer struct {
	Exit       Exit
	Out        string // its stdout
	Complaints string // its stderr, without space around
}

// Ask runs a script of railbench's own and gives what it said. The error says that it could not be
// run, or that it was ended because it said too much (ErrLong).
func Ask(ctx context.Context, n Node, s Script) (Answer, error) {
	ctx, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	// Lines come from one goroutine, one after the other.
	var said [2]strings.Builder
	exit, err := n.Run(ctx, s, func(l Line) {
		b := &said[l.Stream]
		if b.Len()+len(l.Text) > MaxAnswer {
			enough(ErrLong)
			return
		}
		b.WriteString(l.Text)
		if !l.Cut {
			b.WriteByte('\n')
		}
	})
	if errors.Is(context.Cause(ctx), ErrLong) {
		err = fmt.Errorf("%s on %s: %w", s.Name, n.Name(), ErrLong)
	}
	return Answer{exit, said[Stdout].String(), strings.TrimSpace(said[Stderr].String())}, err
}

// Failed is what kept the script from ending well, in one error with its complaint; nil where
// nothing did.
func (a Answer) Failed() error {
	switch {
	case a.Exit.OK():
		return nil
	case a.Complaints == "":
		return errors.New(a.Exit.String())
	case len(a.Complaints) > maxWhy:
		return fmt.Errorf("%s: %s …", a.Exit, strings.ToValidUTF8(a.Complaints[:maxWhy], ""))
	default:
		return fmt.Errorf("%s: %s", a.Exit, a.Complaints)
	}
}

// maxWhy bounds what an error quotes of a complaint, in bytes.
const maxWhy = 2000

// Text is Ask for a script that has to end well: it gives its stdout.
func Text(ctx context.Context, n Node, s Script) (string, error) {
	said, err := Ask(ctx, n, s)
	if err == nil {
		if err = said.Failed(); err != nil {
			err = fmt.Errorf("%s on %s: %w", s.Name, n.Name(), err)
		}
	}
	return said.Out, err
}
