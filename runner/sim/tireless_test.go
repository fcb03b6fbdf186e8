package sim

import (
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
)

// A script that never waits lets no time pass on the rig. Its limit ends it all the same.
func TestAScriptThatNeverWaitsIsEndedByItsLimit(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"while :; do :; done", "while :; do sleep 0; done", "( while :; do true; done ) & wait",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			r, err := New(Options{Speed: Max})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n, err := r.Node("spark-01", NodeOptions{Ask: runner.NoAsker{}})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			s := runner.Script{Name: "loop", Body: body, Limit: 100 * time.Millisecond}
			exit, err := n.Run(t.Context(), s, func(runner.Line) {})
			if err != nil || exit.Why != runner.TimedOut {
				t.Errorf("it ended with %v, %v", exit, err)
			}
			// The rig goes on.
			s = runner.Script{Name: "after", Body: "sleep 5; echo on"}
			if exit, err := n.Run(t.Context(), s, func(runner.Line) {}); err != nil || !exit.OK() {
				t.Errorf("the next script ended with %v, %v", exit, err)
			}
		})
	}
}
