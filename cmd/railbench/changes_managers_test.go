package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// A managed node is one whose managers of networks say what a test has them say, in turn; the last
// of it again and again. It keeps the names of all that ran there as root.
type managed struct {
	runner.Node
	mu    sync.Mutex
	say   []string
	asked int // how often
	roots []string
}

func (m *managed) Clock() runner.Clock { return runner.ClockOf(m.Node) }

func (m *managed) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	m.mu.Lock()
	if s.Root {
		m.roots = append(m.roots, s.Name)
	}
	if strings.Contains(s.Body, scripts.Managers) {
		m.asked++
		if said := m.say[0]; said != "" {
			s.Body = strings.ReplaceAll(s.Body, scripts.Managers, "managers() { cat <<'END'\n"+said+"END\n}\n")
		}
		m.say = m.say[min(1, len(m.say)-1):]
	}
	m.mu.Unlock()
	return m.Node.Run(ctx, s, emit)
}

// neverAsked fails a test in which a user is asked whether a change shall be made.
type neverAsked struct{ t *testing.T }

func (n neverAsked) Change(_ context.Context, q steps.ChangeQuestion) (bool, error) {
	n.t.Errorf("%s: somebody was asked whether it shall be made", q.Cell)
	return false, nil
}

// changing are the cells that change a network, each with the fault of the simulated rig that gives it
// something to do.
var changing = map[string]string{
	"mtu": "", "bond-setup": "", "bond-teardown": "bond-left-over", "netplan-try": "", "rail-ips": "rail-ip-missing",
	"fix-link-up": "link-down", "fix-rail-address": "rail-ip-missing", "fix-addresses": "p2p-ip-conflict",
}

// TestEveryChangeRefusesUnknownManagers: who can't be asked to let a rail go is named before anybody
// is asked, anything is armed, or root is needed, by every cell that changes a network.
func TestEveryChangeRefusesUnknownManagers(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(tut.Parts, tut.Checklist...) {
		for _, c := range p.Cells {
			// cleanup has nothing of its own: it takes back.
			if _, ok := changing[c.ID]; c.Change.Any() && !ok && c.ID != "cleanup" {
				t.Errorf("%s changes a network, and is not tried here", c.ID)
			}
		}
	}
	const nm = "-- daemons\nNetworkManager\n-- NetworkManager\n"
	const nd = "-- daemons\nsystemd-networkd\n-- networkd\n"
	var nmHas, ndHas strings.Builder
	for _, name := range []string{"enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1", "bond0"} {
		nmHas.WriteString(name + ":connected:u-" + name + ":" + name + "\n")
		ndHas.WriteString("  3 " + name + " ether routable configured\n")
	}
	i := 0 // a run that isn't whole takes others each time
	for manager, c := range map[string]struct{ said, want string }{
		"ConnMan":                {"-- daemons\nconnman.service loaded active running x\n", "ConnMan"},
		"wicked":                 {"-- daemons\nwickedd.service loaded active running x\n", "wicked"},
		"dhcpcd":                 {"-- daemons\ndhcpcd\n", "dhcpcd"},
		"netifd":                 {"-- daemons\nnetifd\n", "netifd"},
		"a DHCP client":          {"-- daemons\n-- clients\ndhclient\n", "dhclient"},
		"NetworkManager, old":    {nm + "running:1.4.2\n-- devices\n" + nmHas.String(), "release 1.4.2"},
		"NetworkManager, ?":      {nm + "running:\n-- devices\n" + nmHas.String(), "release unknown"},
		"NetworkManager, no CLI": {nm + "sh: 3: nmcli: not found\n-- devices\n", "nmcli gets no answer"},
		"networkd, old":          {nd + "systemd 237\n-- links\n" + ndHas.String(), "release 237"},
		"networkd, no list":      {nd + "systemd 255 (255.4)\n-- links\n", "networkctl gets no answer"},
	} {
		for cell, fault := range changing {
			if i++; sampled(i) {
				continue
			}
			t.Run(manager+"/"+cell, func(t *testing.T) {
				t.Parallel()
				v, nodes := onManaged(t, cell, fault, neverAsked{t}, c.said)
				grade, words := steps.Inconclusive, []string{"Nothing was changed: on spark-0", c.want}
				// netplan writes for those two alone.
				if cell == "netplan-try" && !strings.Contains(c.said, "NetworkManager") && !strings.Contains(c.said, "networkd") {
					grade, words = steps.Skipped, []string{"neither NetworkManager nor networkd knows a rail of spark-01 (" + c.want +
						" manages them)"}
				}
				if v.Grade != grade || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(v.Said(), w) }) {
					t.Errorf("%s: %s", v.Grade, v.Reason)
				}
				for _, n := range nodes {
					if n.roots != nil {
						t.Errorf("%s ran as root: %q", n.Name(), n.roots)
					}
				}
			})
		}
	}
	for cell, fault := range changing {
		if i++; i%2 != 0 && !testform.Full() {
			continue
		}
		t.Run("known/"+cell, func(t *testing.T) {
			t.Parallel()
			if v, nodes := onManaged(t, cell, fault, headless.Yes{}, ""); v.Grade != steps.Pass && v.Grade != steps.Warn ||
				nodes[0].roots == nil {
				t.Errorf("it has nothing to do where its managers are known: %s: %s", v.Grade, v.Reason)
			}
		})
	}
}

// onManaged is what a cell comes to on two nodes whose managers say something.
func onManaged(t *testing.T, cell, fault string, ask session.Confirmer, say ...string) (v steps.Verdict,
	nodes [2]*managed,
) {
	t.Helper()
	var faults []string
	if fault != "" {
		faults = []string{fault}
	}
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, faults: faults}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.close() })
	before := networks(t, b)
	b.options.Confirm = ask
	for e := range nodes {
		nodes[e] = &managed{Node: b.options.Nodes[e], say: say}
		b.options.Nodes[e] = nodes[e]
	}
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	s.Run(cell)
	v = verdictOf(t, s, cell)
	if _, refuses := ask.(neverAsked); refuses {
		for e, n := range nodes {
			b.options.Nodes[e] = n.Node
		}
		for e, now := range networks(t, b) {
			if diff := change.Differences(before[e], now, func(string) bool { return true }); diff != nil {
				t.Errorf("%s: %q", steps.End(e), diff)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return v, nodes
}

// A manager that is at work, or does not answer in time, is asked again, and the change is made once it
// has come to its end.
func TestAManagerThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	const nm = "-- daemons\nNetworkManager\n-- NetworkManager\n"
	for name, busy := range map[string]string{
		"no answer": nm + "no answer within 10 s\n-- devices\n",
		"starting":  nm + "not running:\n-- devices\n",
		"at work": nm + "running:1.46.0\n-- devices\nenp1s0f0np0:connecting (getting IP configuration):u:p\n" +
			"enp1s0f1np1:connected:v:q\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Looked at by the session, by the change, and again until it says what is the case.
			v, nodes := onManaged(t, "bond-setup", "", headless.Yes{}, busy, busy, busy, busy, "")
			if v.Grade != steps.Pass || nodes[0].asked < 5 {
				t.Errorf("asked %d times: %s: %s", nodes[0].asked, v.Grade, v.Reason)
			}
		})
	}
}

// A node on which no one can become root any more once a script of that name is to run.
type rootless struct {
	runner.Node
	from string
	lost atomic.Bool
}

func (r *rootless) Clock() runner.Clock { return runner.ClockOf(r.Node) }

func (r *rootless) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	if s.Root && s.Name == r.from {
		r.lost.Store(true)
	}
	if r.lost.Load() && s.Root {
		return runner.Exit{}, &runner.Error{
			Kind: runner.SudoPassword, Op: "become root on", Node: r.Name(), Err: errors.New("sudo asks for a password"),
		}
	}
	return r.Node.Run(ctx, s, emit)
}

// A node that refuses to start the rollback timer has nothing to roll back, and the journal no entry of it.
func TestRefusedChangesAreNotKept(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string][]int{"both nodes": {0, 1}, "one node": {1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.close() })
			before := networks(t, b)
			for _, i := range busy {
				other := undo.Guard{Node: b.options.Nodes[i], ID: "other"}
				if err := other.Arm(t.Context(), "exit 0", 1000*time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			b.options.Confirm = headless.Yes{}
			s := session.New(b.options)
			b.onState = s.State
			s.Open()
			s.Run("bond-setup")
			v := verdictOf(t, s, "bond-setup")
			want := steps.ChangeRefused
			if len(busy) == 1 {
				want = steps.ChangeRolledBack
			}
			if v.Grade != steps.Inconclusive || v.Code != want {
				t.Errorf("%s %s: %s", v.Grade, v.Code, v.Reason)
			}
			if left, err := b.options.Journal.Entries(); err != nil || len(left) > 0 {
				t.Errorf("the journal has %v, %v", left, err)
			}
			for e, now := range networks(t, b) {
				if diff := change.Differences(before[e], now, func(string) bool { return true }); diff != nil {
					t.Errorf("%s: %q", steps.End(e), diff)
				}
			}
		})
	}
}

// TestRootIsLostInTheMiddle: a user who can no longer become root in the middle of a change waits for the
// nodes' own rollback timers, which run as root already. railbench reports the state of both nodes. Once root
// is available again, undo finds nothing to roll back and removes what the nodes kept.
func TestRootIsLostInTheMiddle(t *testing.T) {
	t.Parallel()
	for i, from := range []string{
		"start the rollback timer", "start the change", "wait for its end",
		"confirm the change",
	} {
		for _, both := range []bool{false, true} {
			if both == (i%2 == 0) && !testform.Full() {
				continue
			}
			t.Run(fmt.Sprintf("%s, on both %t", from, both), func(t *testing.T) {
				t.Parallel()
				b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { b.close() })
				before := networks(t, b)
				b.options.Confirm = headless.Yes{}
				whole := slices.Clone(b.options.Nodes)
				for e, n := range whole {
					if both || e == int(steps.Peer) {
						b.options.Nodes[e] = &rootless{Node: n, from: from}
					}
				}
				s := session.New(b.options)
				b.onState = s.State
				s.Open()
				s.Run("bond-setup")
				v := verdictOf(t, s, "bond-setup")
				for _, want := range []string{
					"sudo asks for a password", "Both nodes are as they were before", "spark-01",
					"rolled back without railbench",
				} {
					if v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), want) {
						t.Errorf("%s without %q: %s", v.Grade, want, v.Reason)
					}
				}
				same := func() {
					t.Helper()
					for e, now := range networks(t, b) {
						if diff := change.Differences(before[e], now, func(string) bool { return true }); diff != nil {
							t.Errorf("%s: %q", steps.End(e), diff)
						}
					}
				}
				same()
				copy(b.options.Nodes, whole)
				left, err := session.Changes(t.Context(), b.options)
				if err != nil || len(left) != 1 {
					t.Fatalf("%d changes in the journal, %v", len(left), err)
				}
				if err := session.Undo(t.Context(), b.options, left, t.Logf); err != nil {
					t.Error(err)
				}
				same()
				for _, n := range whole {
					said, err := runner.Text(t.Context(), n,
						runner.Script{Name: "look", Body: "ls /run/railbench 2>/dev/null; systemctl list-units 'railbench*'", Root: true})
					if err != nil || strings.TrimSpace(said) != "" {
						t.Errorf("%s keeps %q, %v", n.Name(), said, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
