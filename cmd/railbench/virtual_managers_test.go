package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// TestVirtualManagers changes rails that NetworkManager has on one machine and networkd on the
// other. RAILBENCH_VIRTUAL_RUNS=20 is the long form: so many changes for each thing that
// happens in their middle, at another moment each, and netplan's bond. Without it there is
// one of each that is short.
func TestVirtualManagers(t *testing.T) {
	v := newVirtual(t, systemd)
	v.hold(t)
	t.Run("kept", v.managedBond)
	t.Run("mtu", v.managedMTU)
	t.Run("fight", v.fight)
	t.Run("mute", v.mute)
	t.Run("root is lost", v.rootLost)
	runs, err := strconv.Atoi(os.Getenv("RAILBENCH_VIRTUAL_RUNS"))
	long := err == nil && runs > 0
	if long {
		t.Run("settings", v.settings)
		t.Run("netplan", v.triedNetplan)
	}
	for _, d := range disturbances {
		if !long && !d.short {
			continue
		}
		runs := max(1, runs)
		t.Run(d.name, func(t *testing.T) {
			for i := range runs {
				t.Run(fmt.Sprint(i+1), func(t *testing.T) {
					v.disturbed(t, d, time.Duration(i)*time.Second)
				})
			}
		})
	}
}

// TestVirtualAlike changes rails that one manager has on both machines: a bond that is kept, and one whose
// connection is cut in its middle.
func TestVirtualAlike(t *testing.T) {
	for _, manager := range []string{"NetworkManager", "networkd"} {
		t.Run(manager, func(t *testing.T) {
			v := newVirtual(t, systemd)
			v.rig(t, "down")
			v.rig(t, "up", "--manager", manager)
			// The next one boots them as usual.
			t.Cleanup(func() { v.rig(t, "down") })
			v.hold(t)
			for i, s := range v.states(t) {
				for _, rail := range []string{"enp1s0f0np0", "enp1s0f1np1"} {
					if held := s.Managers.Of(rail); !slices.ContainsFunc(held,
						func(m steps.Manager) bool { return m.By == manager && m.Holds() }) {
						t.Fatalf("%s of machine %d is in the hands of %v", rail, i+1, held)
					}
				}
			}
			t.Run("kept", v.managedBond)
			for _, d := range disturbances {
				if d.short {
					t.Run(d.name, func(t *testing.T) { v.disturbed(t, d, 0) })
				}
			}
		})
	}
}

// A disturbance is what happens in the middle of a change that no one keeps.
type disturbance struct {
	name string
	// gone says that no one is there any more to go back: the switches do.
	gone bool
	// short ones run without RAILBENCH_VIRTUAL_RUNS.
	short bool
	// apart is a link that it changes itself; empty where it changes none.
	apart string
	do    func(t *testing.T, v *virtual, cut func())
}

var disturbances = []disturbance{
	{"nobody answers", false, false, "", func(*testing.T, *virtual, func()) {}},
	{"the connection is cut", true, true, "", func(_ *testing.T, _ *virtual, cut func()) { cut() }},
	{"the managers restart", false, true, "", func(t *testing.T, v *virtual, _ func()) {
		v.each(t, "sudo systemctl restart NetworkManager; ! systemctl -q is-active systemd-networkd || sudo systemctl "+
			"restart systemd-networkd")
	}},
	{"the managers reload", false, false, "", func(t *testing.T, v *virtual, _ func()) {
		v.each(t, "sudo systemctl reload NetworkManager; ! systemctl -q is-active systemd-networkd || sudo networkctl reload")
	}},
	{"the managers crash", true, false, "", func(t *testing.T, v *virtual, cut func()) {
		v.each(t, "sudo systemctl kill -s KILL NetworkManager; ! systemctl -q is-active systemd-networkd || sudo "+
			"systemctl kill -s KILL systemd-networkd")
		cut()
	}},
	{"the managers hang", false, false, "", func(t *testing.T, v *virtual, _ func()) {
		const signal = "sudo systemctl kill -s %[1]s NetworkManager; ! systemctl -q is-active systemd-networkd || sudo " +
			"systemctl kill -s %[1]s systemd-networkd"
		v.each(t, fmt.Sprintf("sudo systemd-run -q --collect --on-active=40 sh -c '%s'", fmt.Sprintf(signal, "CONT")))
		v.each(t, fmt.Sprintf(signal, "STOP"))
	}},
	{"a cable is pulled", false, false, "", func(t *testing.T, v *virtual, _ func()) {
		v.rig(t, "cable", "0", "off")
		v.rig(t, "cable", "0", "on")
	}},
	// NetworkManager takes the kernel's IPv6 addresses from a link that it applies its profile to again.
	{"a lease is renewed", false, false, "mgmt0", func(t *testing.T, v *virtual, _ func()) {
		v.each(t, "if systemctl -q is-active systemd-networkd; then sudo networkctl renew mgmt0; "+
			"else sudo nmcli device reapply mgmt0 >/dev/null; fi")
	}},
}

// each runs a script on both machines at once.
func (v *virtual) each(t *testing.T, script string) (said [2]string) {
	t.Helper()
	var errs [2]error
	var both sync.WaitGroup
	for i := range said {
		both.Go(func() { said[i], errs[i] = v.at(i+1, script) })
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return said
}

// at runs a script on a machine. Where the machines are emulated on a busy one a login may take
// longer than ssh waits for it, and is tried again.
func (v *virtual) at(node int, script string) (string, error) {
	for tries := 1; ; tries++ {
		args := []string{
			"-F", filepath.Join(v.state, "ssh_config"), "-o", "ConnectTimeout=60", "-S", v.line(node),
			fmt.Sprintf("spark-0%d", node), script,
		}
		out, err := exec.Command("ssh", args...).CombinedOutput()
		if err == nil {
			return string(out), nil
		}
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 255 || tries == 5 {
			return "", fmt.Errorf("machine %d: %s: %w: %s", node, script, err, out)
		}
	}
}

// hold keeps a connection to each machine for what at runs: a login is what costs an emulated
// processor most. Where it is lost, each script logs in by itself.
func (v *virtual) hold(t *testing.T) {
	t.Helper()
	v.lines = t.TempDir()
	for _, node := range []int{1, 2} {
		cmd := exec.Command("ssh", "-F", filepath.Join(v.state, "ssh_config"), "-M", "-N", "-S", v.line(node),
			fmt.Sprintf("spark-0%d", node))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended with its connection
			_ = cmd.Wait()
		})
	}
}

// line is the socket of the connection that is held to a machine.
func (v *virtual) line(node int) string { return filepath.Join(v.lines, fmt.Sprint(node)) }

// change makes one that is kept, of a session with a journal of the test's. Where it is not, what
// the test has kept before goes back: the next one finds the machines as they were.
func (v *virtual) change(t *testing.T, journal *undo.Journal, cell string, words ...string) {
	t.Helper()
	e := v.changed(t, journal, cell)
	if e.Grade != steps.Pass {
		cleaned := v.changed(t, journal, "cleanup")
		t.Fatalf("%s: %s: %s; cleanup after it: %s: %s", cell, e.Grade, e.Reason, cleaned.Grade, cleaned.Reason)
	}
	for _, want := range words {
		if !strings.Contains(e.Reason, want) {
			t.Errorf("%s without %q: %s", cell, want, e.Reason)
		}
	}
}

// changed is what becomes of a change. An emulated machine on a busy host may take longer for it than
// a person at two real ones would wait.
func (v *virtual) changed(t *testing.T, journal *undo.Journal, cell string) steps.Verdict {
	t.Helper()
	s := v.open(t, "nvidia", nil, func(o *session.Options) {
		o.Confirm, o.Journal, o.ChangeTime = headless.Yes{}, journal, 8*time.Minute
	})
	s.Run(cell)
	return v.ended(t, s, cell).Verdict
}

// managedBond is kept, lives through a restart of the managers, and goes.
func (v *virtual) managedBond(t *testing.T) {
	before, journal := v.states(t), &undo.Journal{Dir: t.TempDir()}
	v.change(t, journal, "bond-setup", "balance-xor over enp1s0f0np0 and enp1s0f1np1")
	made := v.states(t)
	v.each(t, "sudo systemctl restart NetworkManager; ! systemctl -q is-active systemd-networkd || sudo systemctl "+
		"restart systemd-networkd")
	v.becomes(t, made)
	v.change(t, journal, "bond-teardown", "as captured before")
	v.becomes(t, before)
	v.nothingLeft(t)
}

// managedMTU is two changes on top of each other, and what cleanup does with them. Between them the
// managers, out of whose hands the rails are, make the bond that lasts, and let it go again.
func (v *virtual) managedMTU(t *testing.T) {
	before, journal := v.states(t), &undo.Journal{Dir: t.TempDir()}
	v.change(t, journal, "mtu", "9000")
	made := v.states(t)
	v.change(t, journal, "netplan-try", "NetworkManager on spark-01", "etworkd on spark-02", "MTU 9000", "as they were")
	v.becomes(t, made)
	v.change(t, journal, "bond-setup", "balance-xor")
	v.change(t, journal, "cleanup")
	v.becomes(t, before)
	v.nothingLeft(t)
}

// announce sends what a router does: a network to make addresses of, and no way out.
const announce = `python3 -c 'import socket, struct, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
network = socket.inet_pton(socket.AF_INET6, "2001:db8:7::")
text = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0) + struct.pack("!BBBBIII16s", 3, 4, 64, 0xc0, 3000, 2000, 0, network)
s.sendto(text, ("ff02::1", 0, 0, socket.if_nametoindex(sys.argv[1])))' `

// settings changes rails of which their managers' files say more than an address: an MTU, which a user has overridden
// by hand, addresses that networkd keeps (KeepConfiguration), and a network that a router announces.
func (v *virtual) settings(t *testing.T) {
	const rail0, rail1 = "enp1s0f0np0", "enp1s0f1np1"
	const conf = "/etc/systemd/network/10-netplan-" + rail1 + ".network.d/rig.conf"
	plain := v.states(t)
	v.root(t, "spark-01", "nmcli connection modify netplan-"+rail1+
		" 802-3-ethernet.mtu 4000; nmcli connection up netplan-"+rail1+
		"; ip link set "+rail1+" mtu 5000")
	v.root(t, "spark-02", "mkdir -p "+filepath.Dir(conf)+
		"; printf '[Link]\nMTUBytes=4000\n[Network]\nKeepConfiguration=yes\n' >"+conf+
		"; networkctl reload; networkctl reconfigure "+rail1)
	t.Cleanup(func() {
		v.root(t, "spark-01", "nmcli connection modify netplan-"+rail1+" 802-3-ethernet.mtu 0; nmcli connection up netplan-"+
			rail1+
			"; ip link set "+rail1+" mtu 1500")
		v.root(t, "spark-02", "rm -r "+filepath.Dir(conf)+"; networkctl reload; networkctl reconfigure "+rail1+
			"; ip link set "+rail1+" mtu 1500")
		v.becomes(t, plain)
	})
	mtu := func(s change.State) int { return s.Links[rail1].MTU }
	v.until(t, "networkd has set the MTU of its file", func(now [2]change.State) bool { return mtu(now[1]) == 4000 })
	v.root(t, "spark-02", "ip link set "+rail1+" mtu 5000")
	announced := func(now [2]change.State) bool {
		if _, err := v.at(1, "sudo "+announce+rail0); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(now[1].Links[rail0].Addrs,
			func(a change.Addr) bool { return strings.HasPrefix(a.CIDR, "2001:db8:7:") })
	}
	v.until(t, "spark-02 has an address of the network that is announced", announced)
	before, journal := v.states(t), &undo.Journal{Dir: t.TempDir()}
	if mtu(before[0]) != 5000 || mtu(before[1]) != 5000 {
		t.Fatalf("the MTUs are %d and %d", mtu(before[0]), mtu(before[1]))
	}
	v.change(t, journal, "mtu", "9000")
	v.change(t, journal, "bond-setup", "balance-xor")
	v.change(t, journal, "cleanup")
	v.becomes(t, before)
	v.until(t, "spark-02 hears what is announced again", announced)
	v.nothingLeft(t)
}

// until waits until the machines are as something wants them.
func (v *virtual) until(t *testing.T, what string, is func([2]change.State) bool) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Minute); !is(v.states(t)); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came: %s", what)
		}
	}
}

// triedNetplan lets the managers make the bond that netplan's file says, and takes it back. The
// rails' addresses stand in a file of cloud-init's, which stays as it is.
func (v *virtual) triedNetplan(t *testing.T) {
	const sums = "sudo sh -c 'sha256sum /etc/netplan/*'"
	v.each(t, "sudo mv /etc/netplan/50-rig.yaml /etc/netplan/50-cloud-init.yaml")
	t.Cleanup(func() { v.each(t, "sudo mv /etc/netplan/50-cloud-init.yaml /etc/netplan/50-rig.yaml") })
	before, files := v.states(t), v.each(t, sums)
	v.passes(t, "netplan", "takes the file")
	v.change(t, &undo.Journal{Dir: t.TempDir()}, "netplan-try", "NetworkManager", "etworkd", "answered both ways",
		"as they were")
	v.becomes(t, before)
	if now := v.each(t, sums); now != files {
		t.Errorf("netplan's files are others: %q, and were %q", now, files)
	}
	v.nothingLeft(t)
}

// ended waits for the end of a change: an emulated machine takes its time.
func (v *virtual) ended(t *testing.T, s *session.Session, cell string) steps.CellEnded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	for {
		events, ok := s.Next(ctx)
		if !ok {
			t.Fatalf("no end of %s", cell)
		}
		for _, e := range events {
			if e, ok := e.(steps.CellEnded); ok && e.Cell == cell {
				return e
			}
		}
	}
}

// disturbed makes a bond that no one keeps.
func (v *virtual) disturbed(t *testing.T, d disturbance, after time.Duration) {
	before := v.states(t)
	journal := &undo.Journal{Dir: filepath.Join(t.TempDir(), "undo")}
	// One that failed leaves its bond to no other, which would be refused for it.
	defer func() {
		if t.Failed() {
			e := v.changed(t, journal, "cleanup")
			t.Logf("cleanup after it: %s: %s", e.Grade, e.Reason)
			v.becomes(t, before, d.apart)
		}
	}()
	var nodes []runner.Node
	options := func(o *session.Options) {
		o.Confirm, o.Journal, o.ChangeTime, nodes = silent{}, journal, 90*time.Second, o.Nodes
	}
	s := v.open(t, "nvidia", nil, options)
	s.Run("bond-setup")
	v.armed(t, s)
	// A moment of the change's own: what is waited for here is not an event of it.
	time.Sleep(after)
	d.do(t, v, func() {
		for _, n := range nodes {
			n.Close()
		}
	})
	if !d.gone {
		e := v.ended(t, s, "bond-setup")
		if !strings.Contains(e.Verdict.Reason, "as they were before") {
			t.Errorf("%s: %s", e.Verdict.Grade, e.Verdict.Reason)
		}
	}
	v.becomes(t, before, d.apart)
	if d.gone {
		s := v.open(t, "nvidia", nil, options)
		s.Run("cleanup")
		if e := v.ended(t, s, "cleanup"); e.Verdict.Grade != steps.Pass {
			t.Errorf("cleanup: %s: %s", e.Verdict.Grade, e.Verdict.Reason)
		}
		v.becomes(t, before, d.apart)
	}
	v.nothingLeft(t)
}

// armed waits until the rollback timer has started on both machines.
func (v *virtual) armed(t *testing.T, s *session.Session) {
	t.Helper()
	for armed := false; !armed; {
		events, ok := s.Next(t.Context())
		if !ok {
			t.Fatal("the session is over")
		}
		for _, e := range events {
			switch e := e.(type) {
			case steps.CellPrinted:
				for _, l := range e.Lines {
					armed = armed || strings.HasPrefix(l.Text, "rollback timer started")
				}
			case steps.CellEnded:
				t.Fatalf("it ended before it was armed: %s", e.Verdict.Reason)
			}
		}
	}
}

// rootLost takes sudo from the user right after both rollback timers have started. Both machines roll back
// automatically, and the test waits for that. What they keep is removed once sudo is available again.
func (v *virtual) rootLost(t *testing.T) {
	before, journal := v.states(t), &undo.Journal{Dir: t.TempDir()}
	s := v.open(t, "nvidia", nil, func(o *session.Options) {
		o.Confirm, o.Journal, o.ChangeTime = headless.Yes{}, journal, 90*time.Second
	})
	may := func(what string) {
		for _, node := range []string{"spark-01", "spark-02"} {
			v.root(t, node, "echo 'nvidia ALL=(ALL) "+what+"' >/etc/sudoers.d/nvidia")
		}
	}
	t.Cleanup(func() { may("NOPASSWD: ALL") })
	s.Run("bond-setup")
	v.armed(t, s)
	may("ALL")
	e := v.ended(t, s, "bond-setup")
	for _, want := range []string{"sudo", "Both nodes are as they were before", "rolled back without railbench"} {
		if e.Verdict.Grade != steps.Inconclusive || !strings.Contains(e.Verdict.Reason, want) {
			t.Errorf("%s without %q: %s", e.Verdict.Grade, want, e.Verdict.Reason)
		}
	}
	v.becomes(t, before)
	may("NOPASSWD: ALL")
	v.change(t, journal, "cleanup")
	v.becomes(t, before)
	v.nothingLeft(t)
}

// fight has NetworkManager take the rails back as soon as the bond is there.
func (v *virtual) fight(t *testing.T) {
	before := v.states(t)
	const script = "/etc/NetworkManager/dispatcher.d/30-rails"
	v.root(t, "spark-01", `printf '%s\n' '#!/bin/sh' '[ "$2" = up ] || exit 0' \
'for rail in enp1s0f0np0 enp1s0f1np1; do nmcli device set $rail managed yes; done' >`+script+"; chmod 755 "+script)
	t.Cleanup(func() { v.root(t, "spark-01", "rm -f "+script) })
	v.finds(t, "rail-managers", "script on spark-01 runs", script)
	e := v.changed(t, &undo.Journal{Dir: t.TempDir()}, "bond-setup")
	for _, want := range []string{
		"spark-01 NetworkManager manages enp1s0f", "again, though it was set to unmanaged",
		"as they were before",
	} {
		if e.Grade != steps.Fail || !strings.Contains(e.Reason, want) {
			t.Errorf("%s without %q: %s", e.Grade, want, e.Reason)
		}
	}
	v.root(t, "spark-01", "rm -f "+script)
	v.becomes(t, before)
	v.nothingLeft(t)
}

// mute has NetworkManager hang on one machine: nothing is changed, and the reason is reported.
func (v *virtual) mute(t *testing.T) {
	before := v.states(t)
	v.root(t, "spark-01", "systemctl kill -s STOP NetworkManager")
	t.Cleanup(func() { v.root(t, "spark-01", "systemctl kill -s CONT NetworkManager") })
	e := v.changed(t, &undo.Journal{Dir: t.TempDir()}, "bond-setup")
	for _, want := range []string{"nothing was changed", "spark-01", "nmcli can't ask it"} {
		if e.Grade != steps.Inconclusive || !strings.Contains(e.Reason, want) {
			t.Errorf("%s without %q: %s", e.Grade, want, e.Reason)
		}
	}
	v.root(t, "spark-01", "systemctl kill -s CONT NetworkManager")
	v.becomes(t, before)
	v.nothingLeft(t)
}

// states is how both machines' networks look.
func (v *virtual) states(t *testing.T) (s [2]change.State) {
	t.Helper()
	for i, said := range v.each(t, change.Capture) {
		var err error
		if s[i], err = change.Parse(said); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// becomes waits until both machines are as at an earlier look, managers and GIDs too, but for links
// that are named.
func (v *virtual) becomes(t *testing.T, before [2]change.State, apart ...string) {
	t.Helper()
	of := func(link string) bool { return !slices.Contains(apart, link) }
	var diff []string
	for deadline := time.Now().Add(8 * time.Minute); time.Now().Before(deadline); {
		diff = nil
		for i, now := range v.states(t) {
			diff = append(diff, change.Differences(before[i], now, of)...)
		}
		if diff == nil {
			return
		}
	}
	t.Errorf("the machines are not as before: %q", diff)
}

// nothingLeft finds what railbench wrote on the machines.
func (v *virtual) nothingLeft(t *testing.T) {
	t.Helper()
	const look = "ls -d /run/railbench* /run/systemd/network/*railbench* /run/NetworkManager/conf.d/*railbench* " +
		"2>/dev/null;" +
		" systemctl list-units --all --no-legend 'railbench*'"
	for i, left := range v.each(t, look) {
		if left = strings.TrimSpace(left); left != "" {
			t.Errorf("left on machine %d: %s", i+1, left)
		}
	}
}
