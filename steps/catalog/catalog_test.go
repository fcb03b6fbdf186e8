package catalog

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// No judge panics on an empty rig, a strange result or no result at all, and
// none of them calls that a PASS.
func TestJudgesOnNothing(t *testing.T) {
	results := map[string]steps.Result{
		"nothing":     {},
		"empty stage": {Stages: []steps.Stage{{Pair: -1}}},
		"strange pair": {
			Rig:    steps.Rig{Pairs: []steps.Pair{{Rails: [2]int{7, 9}}}},
			Stages: []steps.Stage{{Pair: 0, Outputs: []steps.Output{{}, {Role: "server", End: steps.Peer}}}},
		},
		"empty outputs": {Rig: kindtest.Spark(), Stages: []steps.Stage{{Pair: 0, Outputs: []steps.Output{
			{Ran: true}, {Ran: true, Role: "server", End: steps.Peer},
		}}}},
	}
	for name, judge := range New().Judges {
		for what, r := range results {
			v := judge(steps.Cell{ID: "c"}, r)
			plain := name == "" || name == "exit-status" || name == "rail-map"
			if v.Grade == steps.NotRun || v.Reason == "" || v.Grade == steps.Pass && !(plain && what == "empty outputs") {
				t.Errorf("%q on %s: %s %q", name, what, v.Grade, v.Reason)
			}
		}
		if v := judge(steps.Cell{}, steps.Result{Skip: "why"}); v.Grade != steps.Skipped || v.Reason != "why" {
			t.Errorf("%q skipped: %s %q", name, v.Grade, v.Reason)
		}
	}
}
