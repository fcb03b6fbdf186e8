package session

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
)

// A test that fails at first and passes later is kept as that, whatever it had for a figure and however often it is
// measured; one that fails again is FAIL.
func TestPairThatFailedAtFirst(t *testing.T) {
	t.Parallel()
	fail := steps.Verdict{Grade: steps.Fail, Reason: "packets stopped arriving."}
	pass := steps.Verdict{Grade: steps.Pass, Figures: []steps.Figure{{What: steps.Throughput, Value: 92.5}}}
	for _, c := range []struct {
		name string
		got  []steps.Verdict
		want steps.Grade
	}{
		{"always good", []steps.Verdict{pass}, steps.Pass},
		{"failed, then good", []steps.Verdict{fail, pass}, steps.Warn},
		{"failed twice, then good", []steps.Verdict{fail, fail, pass}, steps.Warn},
		{"failed, good, good", []steps.Verdict{fail, pass, pass}, steps.Warn},
		{"failed always", []steps.Verdict{fail, fail}, steps.Fail},
	} {
		p := &pairing{m: pairs.New("test", make([]pairs.Node, 2), []string{"rail 1"}, 0)}
		p.record(steps.Throughput, pairs.Pair{From: 1, To: 0}, 0, 1, pass)
		p.record(steps.Latency, pairs.Pair{From: 0, To: 1}, 0, 1, steps.Verdict{
			Grade: steps.Pass, Figures: []steps.Figure{{What: steps.Latency, Value: 2}},
		})
		for i, v := range c.got {
			p.again = i > 0
			p.record(steps.Throughput, pairs.Pair{From: 0, To: 1}, 0, 1, v)
		}
		j := p.m.Judge()
		if j.Grade != c.want || c.want != steps.Pass && !strings.Contains(j.Reason, "packets stopped arriving") {
			t.Errorf("%s: %s: %s", c.name, j.Grade, j.Reason)
		}
	}
}

// A rig of one node, as an allocation may be, has no pair: that is reported, and nothing goes on without a
// matrix.
func TestPairsOfOneNode(t *testing.T) {
	t.Parallel()
	p := &pairing{s: &Session{o: Options{Nodes: make([]runner.Node, 1)}}, seen: look{errs: make([]error, 1)}}
	if err := p.prepare(); err == nil || !strings.Contains(err.Error(), "no pair") {
		t.Error(err)
	}
}
