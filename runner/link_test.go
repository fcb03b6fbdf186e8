package runner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
)

// far are ways to a node at the other end of the world, and over a radio that loses packets.
var far = map[string]nodetest.Link{
	"one packet in 20":  {Delay: 150 * time.Millisecond, Rate: 1_000_000, Loss: 0.05},
	"300 ms":            {Delay: 150 * time.Millisecond},
	"300 ms, 1 Mbit/s":  {Delay: 150 * time.Millisecond, Rate: 1_000_000},
	"stalls of 2 s":     {Delay: 150 * time.Millisecond, Rate: 1_000_000, Stall: 2 * time.Second, Every: 5 * time.Second},
	"600 ms, 64 kbit/s": {Delay: 300 * time.Millisecond, Rate: 64_000},
}

// farNode is a node behind such a link.
func farNode(t *testing.T, l nodetest.Link) *runner.SSH {
	t.Helper()
	s := nodetest.StartSshd(t)
	// The link has another port than known_hosts has for the server. lead sets both, as for a node behind a
	// gate.
	g := openGate(t, l.Open(t, s.Port))
	return dial(t, s, func(o *runner.SSHOptions) { g.lead(t, s, o) })
}

// TestFarNodes: what runs over a bad link ends as it would over a good one, with all of its
// output in order; a limit ends what takes too long and nothing else, and no stall is taken for
// a silence.
func TestFarNodes(t *testing.T) {
	for name, link := range far {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := farNode(t, link)
			stdout, stderr, exit := nodetest.Do(t, n,
				`i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo "line $i"; done; echo why >&2; exit 7`)
			if exit.Code != 7 || len(stderr) != 1 || stderr[0] != "why" || len(stdout) != 2000 {
				t.Fatalf("%s, %d lines, stderr %q", exit, len(stdout), stderr)
			}
			for i, line := range stdout {
				if line != fmt.Sprintf("line %d", i+1) {
					t.Fatalf("line %d is %q", i+1, line)
				}
			}
			// Longer than a supervisor's silence, within its limit.
			long, err := n.Run(t.Context(), runner.Script{Name: "long", Body: "sleep 9; exit 3", Limit: time.Minute},
				func(runner.Line) {})
			if err != nil || long.Code != 3 {
				t.Errorf("within the limit: %s, %v", long, err)
			}
			const limit = 4 * time.Second
			began, pid := time.Now(), ""
			cut, err := n.Run(t.Context(), runner.Script{Name: "over", Body: "echo $$; sleep 60 & sleep 60", Limit: limit},
				func(l runner.Line) {
					if pid == "" {
						pid = l.Text
					}
				})
			took := time.Since(began)
			if err != nil || cut.OK() || cut.Why != runner.TimedOut {
				t.Errorf("over the limit: %s, %v", cut, err)
			}
			if took < limit {
				t.Errorf("a limit of %s has ended it after %s", limit, took)
			}
			if pid == "" || alive(pid) {
				t.Errorf("process %q is alive after Run has returned", pid)
			}
			t.Logf("over the limit of %s it took %.1f s", limit, took.Seconds())
		})
	}
}
