package rendezvous_test

import (
	"context"
	"errors"
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
	s := sessionOf(t, cell, e)
	for run := range 2 {
		printed, _ := ran(t, s, cell.ID)
		text := strings.Join(printed, "\n")
		if strings.Count(text, "ETCD at etcdserver") != 2 {
			t.Errorf("run %d printed %s", run, text)
		}
		// What the first run put there belongs to another group: it is reported, and left.
		if strings.Contains(text, "a (1 key). They stay there") != (run == 1) {
			t.Errorf("run %d told %s", run, text)
		}
	}
}

// sessionOf is a session on simulated nodes with one cell, which passes where it is judged.
func sessionOf(t *testing.T, cell steps.Cell, e *rendezvous.Etcd) *session.Session {
	t.Helper()
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
	t.Cleanup(func() { s.Close() })
	return s
}

// ran runs a cell to its end.
func ran(t *testing.T, s *session.Session, cell string) (printed []string, v steps.Verdict) {
	t.Helper()
	s.Run(cell)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
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
				return printed, event.Verdict
			}
		}
	}
}

// A cell that needs an etcd is SKIPPED where none can be had, with the reason and what to do.
func TestCellWithoutEtcd(t *testing.T) {
	for _, with := range []string{"etcd", "nixl-runtime"} {
		cell := steps.Cell{
			ID: "meet", Judge: "passes", With: []string{with},
			Roles: []steps.Role{{On: steps.OnBoth, Script: "echo it ran"}},
		}
		s := sessionOf(t, cell, lacking(t, errors.New("railbench-etcd is not installed: go install -C /x .")))
		printed, v := ran(t, s, cell.ID)
		if v.Grade != steps.Skipped || len(printed) > 0 || v.Reason != "railbench-etcd is not installed: go install -C /x . "+
			"Or name an etcd that both nodes reach: --etcd http://HOST:2379. nixlbench from 1.1.0 on needs none." {
			t.Errorf("%s: %s %s, printed %q", with, v.Grade, v.Reason, printed)
		}
	}
}
