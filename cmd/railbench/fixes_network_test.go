package main

import (
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// TestNetworkFixes breaks the simulated rig, has a check find it, its fix put it
// right, and the check pass; then undo takes the fix back, to the letter.
func TestNetworkFixes(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range []struct {
		fault, check, fix string
		found, made       steps.Grade
	}{
		{"link-down", "link-up", "fix-link-up", steps.Fail, steps.Pass},
		{"rail-ip-missing", "rail-addresses", "fix-rail-address", steps.Fail, steps.Pass},
		{"duplicate-ip", "duplicate-ip", "fix-rail-address", steps.Fail, steps.Pass},
		{"p2p-ip-conflict", "address-conflict", "fix-addresses", steps.Fail, steps.Pass},
		{"rail-ips-left-over", "address-conflict", "fix-addresses", steps.Fail, steps.Pass},
		{"mtu-mismatch", "mtu-equal", "mtu", steps.Fail, steps.Pass},
		// it says that the second rail needs an address,
		{"bond-left-over", "rail-bond", "bond-teardown", steps.Fail, steps.Warn},
		{"roce-lag", "roce-lag", "bond-teardown", steps.Fail, steps.Warn},
		{"autobond", "bond-health", "bond-teardown", steps.Warn, steps.Pass},
	} {
		if tried[c.fix] && !testform.Full() {
			continue
		}
		tried[c.fix] = true
		t.Run(c.fault+" "+c.fix, func(t *testing.T) {
			t.Parallel()
			b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, faults: []string{c.fault}}.open(t.Context(),
				runner.NoAsker{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.close()
			b.options.Confirm = headless.Yes{}
			if cell, ok := b.options.Tutorial.Cell(c.check); !ok || cell.Check.Fix != c.fix {
				t.Errorf("%s names the fix %q", c.check, cell.Check.Fix)
			}
			before := networks(t, b)
			s := session.New(b.options)
			b.onState = s.State
			s.Open()
			run := func(id string, want steps.Grade) {
				t.Helper()
				s.Run(id)
				if v := verdictOf(t, s, id); v.Grade != want {
					t.Errorf("%s: %s, want %s: %s", id, v.Grade, want, v.Reason)
				}
			}
			run(c.check, c.found)
			run(c.fix, c.made)
			run(c.check, steps.Pass)
			run(c.fix, steps.Pass) // there is nothing to do any more
			changes, err := session.Changes(t.Context(), b.options)
			if err != nil || len(changes) != 1 || changes[0].Cell != c.fix {
				t.Fatalf("%d changes to undo, %v", len(changes), err)
			}
			if err := session.Undo(t.Context(), b.options, changes, t.Logf); err != nil {
				t.Fatal(err)
			}
			for e, now := range networks(t, b) {
				if diff := change.Differences(before[e], now, func(string) bool { return true }); diff != nil {
					t.Errorf("%s after undo: %q", steps.End(e), diff)
				}
			}
			run(c.check, c.found)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUndoKeepsTheOrderOfAddresses: an address that a fix took away from before another
// one comes back there.
func TestUndoKeepsTheOrderOfAddresses(t *testing.T) {
	t.Parallel()
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Confirm = headless.Yes{}
	exit, err := b.options.Nodes[steps.Peer].Run(t.Context(), runner.Script{
		Name: "two addresses", Root: true,
		Body: "ip addr flush dev enP2p1s0f0np0\nip addr add 192.168.100.15/24 dev enP2p1s0f0np0\n" +
			"ip addr add 192.168.102.10/24 dev enP2p1s0f0np0\n",
	}, func(runner.Line) {})
	if err != nil || !exit.OK() {
		t.Fatalf("%s, %v", exit, err)
	}
	before := networks(t, b)
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	s.Run("fix-addresses")
	if v := verdictOf(t, s, "fix-addresses"); v.Grade != steps.Pass {
		t.Errorf("%s: %s", v.Grade, v.Reason)
	}
	changes, err := session.Changes(t.Context(), b.options)
	if err != nil || len(changes) != 1 {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	if err := session.Undo(t.Context(), b.options, changes, t.Logf); err != nil {
		t.Error(err)
	}
	for e, now := range networks(t, b) {
		if diff := change.Differences(before[e], now, func(string) bool { return true }); diff != nil {
			t.Errorf("%s: %q", steps.End(e), diff)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// verdictOf waits for the end of a cell.
func verdictOf(t *testing.T, s *session.Session, id string) steps.Verdict {
	t.Helper()
	for {
		events, ok := s.Next(t.Context())
		if !ok {
			t.Fatalf("the session ended before %s did", id)
		}
		for _, e := range events {
			if e, ok := e.(steps.CellEnded); ok && e.Cell == id {
				return e.Verdict
			}
		}
	}
}
