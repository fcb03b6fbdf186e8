package sim

import (
	"context"
	"strings"
	"time"

	"github.com/railbench/railbench/runner"
)

// A scene is a rig whose scripts the test runs as an actor of its clock: at the speed Max,
// and what is before what is said by the nodes' time alone.
type scene struct {
	*bench
	ctx context.Context //nolint:containedctx // it is the actor's
}

// play runs f as an actor of a rig at the speed Max.
func (b *bench) play(f func(s scene)) {
	b.t.Helper()
	b.Clock().Join(b.t.Context(), func(ctx context.Context) { f(scene{b, ctx}) })
}

// A role is a script that goes on.
type role struct {
	reply
	over chan struct{}
	kill context.CancelFunc
}

// begin starts a script.
func (s scene) begin(node, text string) *role {
	s.t.Helper()
	n, err := s.Node(node, NodeOptions{Ask: runner.NoAsker{}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { n.Close() })
	r := &role{over: make(chan struct{})}
	ctx, kill := context.WithCancel(s.ctx)
	r.kill = kill
	s.Clock().Go(ctx, func(ctx context.Context) {
		defer close(r.over)
		defer kill()
		var out, errs strings.Builder
		exit, err := n.Run(ctx, runner.Script{Name: "role", Body: text, Limit: time.Hour}, func(l runner.Line) {
			if l.Stream == runner.Stderr {
				errs.WriteString(l.Text + "\n")
				return
			}
			out.WriteString(l.Text + "\n")
		})
		if err != nil {
			s.t.Errorf("%s on %s: %v", text, node, err)
		}
		r.reply = reply{out.String(), errs.String(), exit.Code}
	})
	return r
}

// pass lets so much of the nodes' time pass.
func (s scene) pass(d time.Duration) { s.Clock().Await(s.ctx, d) }

// end waits for a script's end.
func (s scene) end(r *role) reply {
	s.t.Helper()
	if which := s.Clock().Await(s.ctx, time.Hour, r.over); which != 0 {
		s.t.Fatal("a script that does not end")
	}
	return r.reply
}

// act runs a script to its end.
func (s scene) act(node, text string) reply {
	s.t.Helper()
	return s.end(s.begin(node, text))
}
