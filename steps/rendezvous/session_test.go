package rendezvous_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rendezvous"
	"github.com/railbench/railbench/steps/session"
)

// A cell's scripts, at both ends, read the etcd's variables, and the run's end tidies
// up. A second run does the same.
func TestCellWithEtcd(t *testing.T) {
	e := service(t, "")
	cell := steps.Cell{
		ID: "meet", Judge: "passes", With: []string{"nixl-runtime"},
		Roles: []steps.Role{{On: steps.OnBoth, Script: `echo "$NIXL_RUNTIME at $(curl -s "$ETCD/version" | cut -c3-12)"
curl -s -o /dev/null -d '{"key":"eGZlcmJlbmNoL2Evc2l6ZQ==","value":"MQ=="}' "$ETCD/v3/kv/put"`}},
	}
	nodes := simulated(t)
	o := session.Options{
		Nodes: nodes[:], Where: []string{"simulated", "simulated"},
		Tutorial: steps.Tutorial{Parts: []steps.Part{{ID: "part", Cells: []steps.Cell{cell}}}},
		Params:   map[string]string{"NIXL_RUNTIME": "ETCD"},
		Services: map[string]session.Service{"etcd": e, "nixl-runtime": rendezvous.NewRuntime(e)},
	}
	o.Catalog.Judges = map[string]steps.Judge{"passes": func(steps.Cell, steps.Result) steps.Verdict {
		return steps.Verdict{Grade: steps.Pass, Reason: "fine"}
	}}
	s := session.New(o)
	s.Open()
	defer s.Close()
	for run := range 2 {
		s.Run("meet")
		var printed []string
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		for ended := false; !ended; {
			events, ok := s.Next(ctx)
			if !ok {
				t.Fatal("no end")
			}
			for _, event := range events {
				switch event := event.(type) {
				case steps.CellPrinted:
					for _, l := range event.Lines {
						printed = append(printed, l.Text)
					}
				case steps.CellEnded:
					ended = true
				}
			}
		}
		cancel()
		text := strings.Join(printed, "\n")
		if strings.Count(text, "ETCD at etcdserver") != 2 {
			t.Errorf("run %d printed %s", run, text)
		}
		// What the first run put there is of another group: told, and left.
		if strings.Contains(text, "a (1 key). They stay there") != (run == 1) {
			t.Errorf("run %d told %s", run, text)
		}
	}
}
