package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

// openMatrix is the simulated rig of some nodes, and a session for the cell of its pairs.
func openMatrix(t *testing.T, nodes int, faults ...string) *session.Session {
	t.Helper()
	_, s, _ := openPairs(t, nodes, faults...)
	s.Open()
	return s
}

// The cell of the workbench draws the maps, reports its rounds, and judges as railbench pairs does.
func TestPairMatrixCell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes int
		fault string
		grade steps.Grade
		says  []string
		draws []string
	}{
		{
			2, "", steps.Pass,
			[]string{"between 2 nodes over 4 rails"},
			[]string{"1 spark-02  · █      · █", "1 pair of 2 nodes"},
		},
		{
			4, "slow-rail@spark-03", steps.Fail,
			[]string{"All traffic to and from spark-03 over rail 1"},
			[]string{"3 spark-03  6 6 · 6   █ █ · █", "of those that look bad"},
		},
		{3, "peer-dead@spark-03", steps.Inconclusive, []string{"spark-03 does not answer"}, []string{"3 spark-03  ? ? ·"}},
	} {
		if c.fault == "" && !testform.Full() {
			continue // TestPairsVerb draws what is well
		}
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			var faults []string
			if c.fault != "" {
				faults = []string{c.fault}
			}
			s := openMatrix(t, c.nodes, faults...)
			s.Run("pair-matrix")
			var drawn []string
			e := ended(t, s, "pair-matrix", func(l steps.OutputLine) { drawn = append(drawn, l.Text) })
			if e.Verdict.Grade != c.grade {
				t.Errorf("%s: %s", e.Verdict.Grade, e.Verdict.Reason)
			}
			for _, w := range c.says {
				if !strings.Contains(e.Verdict.Reason, w) {
					t.Errorf("%q is not in: %s", w, e.Verdict.Reason)
				}
			}
			for _, w := range c.draws {
				if !slices.ContainsFunc(drawn, func(l string) bool { return strings.Contains(l, w) }) {
					t.Errorf("%q is not drawn:\n%s", w, strings.Join(drawn, "\n"))
				}
			}
			// What is the same in both maps is shown once, and each map's scale stands right below the map.
			if text := strings.Join(drawn, "\n"); strings.Count(text, "! good with a warning") != 1 ||
				!strings.Contains(text, "▒ 2.1 times the least") || !strings.HasPrefix(drawn[len(drawn)-1], "█ from 98 %") {
				t.Errorf("the maps' legends:\n%s", text)
			}
			s.Run("summary")
			sum := ended(t, s, "summary", func(steps.OutputLine) {}).Verdict.Reason
			if !strings.Contains(sum, "1 cell: 1 "+c.grade.String()) ||
				c.grade != steps.Pass && !strings.Contains(sum, "The worst is pair-matrix with "+c.grade.String()) {
				t.Errorf("the summary leaves it out: %s", sum)
			}
			if (c.grade != steps.Pass) != (len(e.Verdict.Tables) == 1) || len(e.Verdict.Evidence) == 0 {
				t.Errorf("tables %+v, evidence %+v", e.Verdict.Tables, e.Verdict.Evidence)
			}
		})
	}
}

// An interrupt in the middle passes nothing, and what was measured until then is drawn.
func TestPairMatrixInterrupted(t *testing.T) {
	t.Parallel()
	s := openMatrix(t, 4)
	s.Run("pair-matrix")
	maps := 0
	e := ended(t, s, "pair-matrix", func(l steps.OutputLine) {
		if strings.Contains(l.Text, "round 1 of 3") {
			s.Interrupt()
		}
		if strings.Contains(l.Text, "rows send, columns receive") {
			maps++
		}
	})
	if e.Verdict.Grade != steps.Inconclusive || !strings.HasPrefix(e.Verdict.Reason, "Interrupted before it was done.") {
		t.Errorf("%s: %s", e.Verdict.Grade, e.Verdict.Reason)
	}
	if maps != 1 {
		t.Errorf("%d maps of bandwidth", maps)
	}
}
