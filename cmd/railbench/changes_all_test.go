package main

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// Of four nodes one is away: what changes all of them changes none, and what takes back goes on.
func TestChangesWhileANodeIsAway(t *testing.T) {
	t.Parallel()
	f, _ := ranOn(t, rigFlags{rig: "sim", nodeCount: 4, faults: []string{"peer-dead@spark-03"}}, "mtu", "cleanup")
	if v := f.Ended["mtu"].Verdict; v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), "spark-03") {
		t.Errorf("mtu: %s: %s", v.Grade, v.Reason)
	}
	if v := f.Ended["cleanup"].Verdict; v.Grade != steps.Pass && v.Grade != steps.Skipped {
		t.Errorf("cleanup: %s: %s", v.Grade, v.Reason)
	}
}

// A change of all nodes is made on each of them or on none, whichever of them is in its way, and before
// or after it was begun.
func TestChangesOfAllNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  string
		judge  func(steps.Judge) steps.Judge
		grade  steps.Grade
		reason []string
	}{
		{name: "kept", grade: steps.Pass, reason: []string{"each of 4 links", "MTU 9000"}},
		{
			name: "a cable", fault: "link-down@spark-03", grade: steps.Inconclusive,
			reason: []string{"Refused", "enp1s0f1np1 on spark-03 is switched off"},
		},
		{
			name: "the default route", fault: "default-route-on-rail@spark-04", grade: steps.Inconclusive,
			reason: []string{"on spark-04 carries the default route"},
		},
		{
			name: "no root", fault: "sudo-password@spark-03", grade: steps.Skipped,
			reason: []string{"root", "spark-03", "nothing was changed"},
		},
		{
			name: "a manager", fault: "manager-mute@spark-04", grade: steps.Inconclusive,
			reason: []string{"Nothing was changed: on spark-04"},
		},
		{
			name: "a judge", grade: steps.Fail, reason: []string{"spark-03", "All 4 nodes are as they were before."},
			judge: func(judge steps.Judge) steps.Judge {
				return func(c steps.Cell, r steps.Result) steps.Verdict {
					if r.Rig.At(steps.Here).Name == "spark-03" {
						return steps.Verdict{Grade: steps.Fail, Reason: "Not good."}
					}
					return judge(c, r)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			flags := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, nodeCount: 4}
			if c.fault != "" {
				flags.faults = []string{c.fault}
			}
			b, err := flags.open(t.Context(), runner.NoAsker{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.close()
			b.options.Confirm = headless.Yes{}
			if c.judge != nil {
				b.options.Catalog.Judges["mtu"] = c.judge(b.options.Catalog.Judges["mtu"])
			}
			before := networks(t, b)
			s := session.New(b.options)
			b.onState = s.State
			f := session.Follow(s, nil)
			s.Open()
			f.Run(t.Context(), "mtu")
			v := f.Ended["mtu"].Verdict
			if v.Grade != c.grade {
				t.Errorf("%s: %s", v.Grade, v.Reason)
			}
			for _, want := range c.reason {
				if !strings.Contains(v.Said(), want) {
					t.Errorf("it does not say %q: %s", want, v.Reason)
				}
			}
			if c.grade == steps.Pass {
				for i, now := range networks(t, b) {
					if diff := change.Differences(before[i], now,
						func(string) bool { return true }); !strings.Contains(strings.Join(diff, " "), "MTU 9000") {
						t.Errorf("%s has not the change: %q", b.options.Nodes[i].Name(), diff)
					}
				}
				f.Run(t.Context(), "cleanup")
				if v := f.Ended["cleanup"].Verdict; v.Grade != steps.Pass {
					t.Errorf("cleanup: %s: %s", v.Grade, v.Reason)
				}
			}
			for i, now := range networks(t, b) {
				if diff := change.Differences(before[i], now, func(string) bool { return true }); diff != nil {
					t.Errorf("%s: %q", b.options.Nodes[i].Name(), diff)
				}
			}
			if left, err := b.options.Journal.Entries(); err != nil || len(left) > 0 {
				t.Errorf("the journal has %d changes left, %v", len(left), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
