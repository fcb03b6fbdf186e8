package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// changeSymptoms is by fault, for the cells that change the network. They run in
// the tutorial's order, on a rig with a fault that is missing here as on a whole one.
var changeSymptoms = map[string]symptom{
	"address-returned": {seen: map[string][]string{
		"mtu":         {"spark-01 bonds its rails but spark-02 does not", "bond-teardown"},
		"bond-setup":  {"enp1s0f0np0 on spark-01 is already in bond0", "bond-teardown"},
		"netplan-try": {"enp1s0f0np0 on spark-01 is already in bond0"},
	}},
	// mtu has taken the rails out of its hands, and was kept.
	"manager-fights": {seen: map[string][]string{
		"bond-setup": {
			"On spark-01 NetworkManager has started to manage enp1s0f0np0",
			"has set 192.168.100.10/24 on it",
			"Both nodes are as they were before",
		},
	}, may: []string{"netplan-try"}},
	"manager-mute": {seen: map[string][]string{
		"mtu":         {"Nothing was changed", "spark-01", "nmcli gets no answer"},
		"bond-setup":  {"Nothing was changed", "spark-01", "nmcli gets no answer"},
		"netplan-try": {"Nothing was changed", "nmcli gets no answer"},
	}},
	"dhcp-client": {seen: map[string][]string{
		"mtu": {
			"Nothing was changed", "enp1s0f1np1", "dhclient",
			"a DHCP client would set its address again",
		},
		"bond-setup":  {"Nothing was changed", "enp1s0f1np1", "dhclient"},
		"netplan-try": {"Nothing was changed", "enp1s0f1np1", "dhclient"},
	}},
	"profile-stray": {seen: map[string][]string{
		"mtu":         {"Nothing was changed", "enp1s0f1np1", "getting IP configuration"},
		"bond-setup":  {"Nothing was changed", "enp1s0f1np1", "getting IP configuration"},
		"netplan-try": {"Nothing was changed", "getting IP configuration"},
	}},
	"two-managers": {seen: map[string][]string{
		"netplan-try": {"n spark-01 NetworkManager has enp1s0f", "and networkd has enp1s0f1np1", "one renderer first"},
	}},
	"rail-unmanaged": {seen: map[string][]string{
		"netplan-try": {
			"The change failed on spark-01",
			"device enp1s0f1np1 not available because device is strictly unmanaged", "Both nodes are as they were before",
		},
	}},
	"netplan-broken": {seen: map[string][]string{
		"netplan-try": {
			"The change failed on spark-01",
			"99-rails.yaml:5:7: Error in network definition: unknown key 'adresses'", "Both nodes are as they were before",
		},
	}},
	"bond-left-over": {seen: map[string][]string{
		"mtu":           {"spark-01 bonds its rails but spark-02 does not", "bond-teardown"},
		"bond-setup":    {"enp1s0f0np0 on spark-01 is already in bond0", "bond-teardown"},
		"bond-teardown": {"enp1s0f1np1 on spark-01 has no address", "rail-ips"},
		"netplan-try":   {"enp1s0f0np0 on spark-01 is already in bond0"},
	}},
	"cable-unplugged": {seen: map[string][]string{
		"mtu":         {"enp1s0f0np0 on spark-02 has no link", "cable"},
		"bond-setup":  {"enp1s0f0np0 on spark-02 has no link", "cable"},
		"netplan-try": {"enp1s0f0np0 on spark-02 has no link", "cable"},
	}},
	"default-route-on-rail": {seen: map[string][]string{
		"mtu":         {"enp1s0f0np0 on spark-01 carries the default route"},
		"bond-setup":  {"enp1s0f0np0 on spark-01 carries the default route"},
		"netplan-try": {"enp1s0f0np0 on spark-01 carries the default route"},
	}},
	"link-down": {seen: map[string][]string{
		"mtu": {"enp1s0f1np1 on spark-01 is switched off"}, "bond-setup": {"enp1s0f1np1 on spark-01 is switched off"},
		"netplan-try": {"enp1s0f1np1 on spark-01 is switched off"},
	}},
	"p2p-ip-conflict": {may: []string{"mtu"}},
	"peer-dead": {seen: map[string][]string{
		"mtu": {"spark-01"}, "bond-setup": {"Not run"}, "bond-teardown": {"Not run"}, "netplan-try": {"spark-01"},
		"rail-ips": {"Not run"}, "cleanup": {"Not run"},
	}},
	"roce-lag": {seen: map[string][]string{
		"mtu":           {"spark-01 bonds its rails but spark-02 does not", "bond-teardown"},
		"bond-setup":    {"enp1s0f0np0 on spark-01 is already in bond0", "bond-teardown"},
		"bond-teardown": {"enp1s0f1np1 on spark-01 has no address", "rail-ips"},
		"netplan-try":   {"enp1s0f0np0 on spark-01 is already in bond0"},
	}},
	"sudo-password": {skipped: map[string][]string{
		"mtu": {"root", "spark-02"}, "bond-setup": {"root", "spark-02"}, "netplan-try": {"root", "nothing was changed"},
	}},
}

// TestFaultsOfChanges changes the network of a rig with each fault, and takes it
// back: afterwards both nodes are as they were.
func TestFaultsOfChanges(t *testing.T) {
	t.Parallel()
	for name := range changeSymptoms {
		if !slices.ContainsFunc(sim.Faults(), func(f sim.Fault) bool { return f.Name == name }) {
			t.Errorf("the table has %q, and the rig hasn't", name)
		}
	}
	for i, f := range sim.Faults() {
		if _, concerned := changeSymptoms[f.Name]; !concerned && !testform.Full() || sampled(i) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ids := slices.DeleteFunc(cellsThat(t, true), func(id string) bool { return id == "netplan-try" })
			runs := [][]string{{"netplan-try"}, ids}
			if f.Name != "peer-dead" { // of which the first cell says all
				// mtu is kept, and has taken the rails out of the managers' hands.
				runs = append(runs, []string{"mtu", "netplan-try"})
			}
			for _, ids := range runs {
				r, code, stderr := headlessly(t, append(ids, "--fault", f.Name)...)
				for _, c := range r.Cells {
					changeSymptoms[f.Name].check(t, c)
				}
				if wanted := wantCode(r.Summary, f.Name == "peer-dead"); code != wanted {
					t.Errorf("exit %d, want %d: %s", code, wanted, stderr)
				}
			}
		})
	}
}

// TestEverythingLeavesTheNodesAsTheyWere compares the network of both simulated
// nodes before and after every cell.
func TestEverythingLeavesTheNodesAsTheyWere(t *testing.T) {
	t.Parallel()
	tp := recordedWhole(t)
	if len(tp.asked) == 0 || len(tp.left) > 0 {
		t.Errorf("%d cells asked for changes, and %q is left", len(tp.asked), tp.left)
	}
}

// TestFaultsAreLeftAsTheyWere does the same on rigs that are broken in what the
// changes touch.
func TestFaultsAreLeftAsTheyWere(t *testing.T) {
	t.Parallel()
	for i, fault := range []string{
		"p2p-ip-conflict", "address-returned", "autobond", "manager-fights", "manager-mute", "dhcp-client",
		"profile-stray", "bond-left-over", "cable-unplugged", "link-down", "mtu-mismatch", "rail-ip-missing", "roce-lag",
		"sudo-password",
	} {
		if sampled(i) {
			continue
		}
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			leaves(t, []string{fault}, cellsThat(t, true))
		})
	}
}

// A judge or a planner that panics leaves no change behind.
func TestADefectLeavesTheNodesAsTheyWere(t *testing.T) {
	t.Parallel()
	judging := func(b *openRig) {
		b.options.Catalog.Judges["mtu"] = func(steps.Cell, steps.Result) steps.Verdict { panic("judging") }
	}
	planning := func(b *openRig) {
		b.options.Catalog.Plans["mtu"] = func(steps.Rig, map[string]string) steps.Plan { panic("planning") }
	}
	for word, spoil := range map[string]func(*openRig){"judging": judging, "planning": planning} {
		verdicts := leaves(t, nil, []string{"mtu", "hosts"}, spoil)
		v := verdicts["mtu"]
		if v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), word) ||
			!strings.Contains(v.Said(), "faults_change_test.go:") {
			t.Errorf("%s: %s %s", word, v.Grade, v.Reason)
		}
		if got := strings.Contains(v.Said(), "Both nodes are as they were before."); got != (word == "judging") {
			t.Errorf("%s: whether it went back: %s", word, v.Reason)
		}
		if verdicts["hosts"].Grade != steps.Pass {
			t.Errorf("the session did not go on: %+v", verdicts["hosts"])
		}
	}
}

// leaves compares the network of both simulated nodes before and after some cells, and
// gives what these came to.
func leaves(t *testing.T, faults, cells []string, spoil ...func(*openRig)) map[string]steps.Verdict {
	t.Helper()
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, faults: faults}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Confirm = headless.Yes{}
	for _, s := range spoil {
		s(b)
	}
	before := networks(t, b)
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	for _, c := range cells {
		s.Run(c)
		// A cell that FAILs takes the queue along, so they are not queued together.
		if err := s.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for e, now := range networks(t, b) {
		if diff := change.Differences(before[e], now, func(string) bool { return true }); diff != nil {
			t.Errorf("%s: %q", steps.End(e), diff)
		}
	}
	if left, err := b.options.Journal.Entries(); err != nil || len(left) > 0 {
		t.Errorf("the journal has %d changes left, %v", len(left), err)
	}
	verdicts := map[string]steps.Verdict{}
	for len(verdicts) < len(cells) {
		events, ok := s.Next(t.Context())
		if !ok {
			t.Fatalf("the session ended after %d cells of %d", len(verdicts), len(cells))
		}
		for _, e := range events {
			if e, ok := e.(steps.CellEnded); ok {
				verdicts[e.Cell] = e.Verdict
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return verdicts
}

// networks is how all nodes' networks look.
func networks(t *testing.T, b *openRig) []change.State {
	t.Helper()
	s, err := networksOf(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func networksOf(ctx context.Context, b *openRig) ([]change.State, error) {
	s := make([]change.State, len(b.options.Nodes))
	for e, node := range b.options.Nodes {
		out, err := runner.Text(ctx, node, runner.Script{Name: "look", Body: change.Capture})
		if err != nil {
			return nil, err
		}
		if s[e], err = change.Parse(out); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// A manager that takes back what was taken from it is named, and both nodes go back.
func TestAManagerThatFightsIsNamed(t *testing.T) {
	t.Parallel()
	v := leaves(t, []string{"manager-fights"}, []string{"bond-setup"})["bond-setup"]
	for _, want := range []string{
		"On spark-01 NetworkManager manages enp1s0f0np0 again (connected)",
		"has set 192.168.100.10/24 on it", "Both nodes are as they were before",
	} {
		if v.Grade != steps.Fail || !strings.Contains(v.Said(), want) {
			t.Errorf("%s without %q: %s", v.Grade, want, v.Reason)
		}
	}
}
