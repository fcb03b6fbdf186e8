package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
)

// TestVirtualSystemd is what systemd, PAM and netplan have a say in, on two virtual
// machines that are as a Spark is: netplan hands the rails to NetworkManager on spark-01
// and to networkd on spark-02. What changes a network in a manager's hands is in
// TestVirtualManagers.
func TestVirtualSystemd(t *testing.T) {
	v := newVirtual(t, systemd)
	t.Run("healthy", v.healthy)
	t.Run("killed", v.killed)
	t.Run("switch", func(t *testing.T) {
		// One machine sleeps while the other works.
		awake := v.asleep(t, 3)
		t.Run("clock", v.setClock)
		t.Run("logout", v.logout)
		t.Run("asleep", awake)
	})
	t.Run("sudo", func(t *testing.T) {
		t.Run("terminal", v.sudoTerminal)
		t.Run("pty", v.sudoPty)
		t.Run("refused", v.sudoRefused)
		t.Run("wrong", v.sudoWrong)
		t.Run("time stamp", v.sudoStamp)
	})
	t.Run("checklist", v.checklist)
	t.Run("reboot", v.reboot)
}

// checklist puts on a real system what the simulated rig has as faults, and looks whether its
// check finds it, with its cause.
func (v *virtual) checklist(t *testing.T) {
	const rail = "enp1s0f1np1"
	const conf = "/run/systemd/system/NetworkManager-wait-online.service.d/rig.conf"
	const listed = "/etc/NetworkManager/conf.d/99-rig.conf"
	for _, c := range []struct {
		fault, node, do, undo string
		check                 string
		words                 []string
	}{
		{
			"profile-stray", "spark-01", "nmcli connection add type ethernet con-name 'Wired connection 2' ifname " + rail +
				" autoconnect yes",
			"nmcli connection delete 'Wired connection 2'",
			"rail-managers",
			[]string{
				"2 profiles of NetworkManager start by themselves on " + rail + " of spark-01", "Wired connection 2",
				"netplan-" + rail,
			},
		},
		{
			"rail-unmanaged", "spark-01", "nmcli device set " + rail + " managed no",
			"nmcli device set " + rail + " managed yes",
			"rail-managers",
			[]string{"NetworkManager leaves " + rail + " on spark-01 alone", "netplan-" + rail},
		},
		{
			"unmanaged-devices", "spark-01", "printf '[keyfile]\nunmanaged-devices=interface-name:" + rail + "\n' >" + listed +
				"; systemctl restart NetworkManager; " + waitFor("nmcli -t -f DEVICE,STATE device | grep -qx "+rail+":unmanaged"),
			// What has its addresses still it takes for another user's at first.
			"rm " + listed + "; systemctl restart NetworkManager; " +
				waitFor("nmcli -t -f DEVICE,STATE device | grep -q '^"+rail+":connected'") +
				"; nmcli connection up netplan-" + rail,
			"rail-managers",
			[]string{"NetworkManager ignores " + rail + " on spark-01", "netplan-" + rail},
		},
		{
			"manager-mute", "spark-01", "systemctl kill -s STOP NetworkManager", "systemctl kill -s CONT NetworkManager",
			"rail-managers",
			[]string{"NetworkManager on spark-01 does not answer"},
		},
		{
			// Its name and its arguments are all that is looked at.
			"dhcp-client", "spark-02", "printf '#!/bin/sh\nsleep 900\n' >/usr/local/sbin/dhclient; " +
				"chmod 755 /usr/local/sbin/dhclient" +
				"; systemd-run -q --unit=rig-dhclient /usr/local/sbin/dhclient " + rail,
			"systemctl stop rig-dhclient; rm /usr/local/sbin/dhclient",
			"rail-managers",
			[]string{"dhclient on spark-02 may manage " + rail, "a DHCP client would set its address again"},
		},
		{
			// As a bond that is made by hand has it: the manager has the slave still. Where minutes are between down
			// and up, as on a busy machine, it takes the slave for another user's.
			"address-returned", "spark-01",
			"modprobe bonding max_bonds=0; ip link add bond0 type bond mode balance-xor; ip link set bond0 up" +
				"; printf 'link set %s\n' '" + rail + " down' '" + rail + " master bond0' '" + rail + " up' | ip -batch -; " +
				waitFor("ip -4 -o addr show dev "+rail+" | grep -q inet"),
			// NetworkManager takes IPv6 from what it finds in a bond, and again as it starts the profile.
			"ip link del bond0; nmcli connection up netplan-" + rail + "; " +
				waitFor("sysctl -q -w net.ipv6.conf."+rail+".disable_ipv6=0; ip -6 -o addr show dev "+rail+" | grep -q fe80"),
			"rail-managers",
			[]string{rail + " on spark-01 is in bond0, but NetworkManager gave it 192.168.200.10"},
		},
		{
			// Its name has a colon, and no boot starts it.
			"address-unsaved", "spark-01", "nmcli connection modify netplan-" + rail + " connection.autoconnect no; " +
				"nmcli connection add type ethernet con-name 'Wired: 1' ifname " + rail + " autoconnect no ipv4.method manual " +
				"ipv4.addresses 192.168.200.10/24; nmcli connection up 'Wired: 1'",
			"nmcli connection modify netplan-" + rail + " connection.autoconnect yes; nmcli connection delete 'Wired: 1'; " +
				"nmcli connection up netplan-" + rail,
			"reboot-safe",
			[]string{
				"192.168.200.10 of " + rail + " on spark-01 comes from the profile Wired: 1 of NetworkManager",
				"does not start at boot",
			},
		},
		{
			"netplan-broken", "spark-02", "umask 077; printf 'network:\n  version: 2\n  ethernets:\n    " + rail +
				":\n      adresses: [192.168.201.11/24]\n' >/etc/netplan/99-rails.yaml",
			"rm -f /etc/netplan/99-rails.yaml",
			"reboot-safe",
			[]string{"etplan on spark-02 rejects its own files", "99-rails.yaml", "adresses"},
		},
		{
			"a manager that is masked", "spark-02", "systemctl mask --runtime systemd-networkd",
			"systemctl unmask --runtime systemd-networkd",
			"rail-managers",
			[]string{"systemd-networkd on spark-02 runs but is masked"},
		},
		{
			"link-local-missing", "spark-02", "sysctl -q -w net.ipv6.conf." + rail + ".disable_ipv6=1",
			"sysctl -q -w net.ipv6.conf." + rail + ".disable_ipv6=0; networkctl reconfigure " + rail,
			"link-local",
			[]string{rail + " on spark-02 has no fe80:: address", "IPv6 is off"},
		},
		{
			"boot-waits", "spark-01", "mkdir -p " + filepath.Dir(conf) +
				"; printf '[Service]\nExecStart=\nExecStart=/bin/false\n' >" + conf +
				"; systemctl daemon-reload; ! systemctl restart NetworkManager-wait-online",
			"rm -r " + filepath.Dir(conf) + "; systemctl daemon-reload; systemctl restart NetworkManager-wait-online",
			"boot-waits",
			[]string{"NetworkManager-wait-online on spark-01 gave up"},
		},
		{
			"etcd-masked", "spark-01", "cp -a /etc/environment /var/tmp/environment; " +
				"echo NIXL_ETCD_ENDPOINTS=http://127.0.0.1:2379 >>/etc/environment",
			"cp -a /var/tmp/environment /etc/environment",
			"etcd-service",
			[]string{"etcd.service on spark-01 is masked", "the environment of spark-01 refers to it"},
		},
		{
			// Only the journal has the kernel's log for this user: dmesg is restricted, and sudo refuses it.
			"apparmor-denied", "spark-01", "sysctl -q -w kernel.dmesg_restrict=1; usermod -aG systemd-journal nvidia" +
				"; printf 'nvidia ALL=(ALL) NOPASSWD: ALL, !/usr/bin/dmesg\n' >/etc/sudoers.d/nvidia" +
				"; printf '/usr/bin/ib_write_bw { /usr/bin/ib_write_bw mr, }\n' | apparmor_parser -r; " +
				"! ib_write_bw --version >/dev/null 2>&1",
			"printf '/usr/bin/ib_write_bw { }\n' | apparmor_parser -R; gpasswd -d nvidia systemd-journal >/dev/null; " +
				"printf 'nvidia ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/nvidia",
			"apparmor",
			[]string{"spark-01", "ib_write_bw"},
		},
		{
			"ufw-roce", "spark-01", "ufw default allow >/dev/null; ufw deny 4791/udp >/dev/null; ufw --force enable >/dev/null",
			"ufw --force reset >/dev/null; nft flush ruleset",
			"firewall",
			[]string{"rule of ufw on spark-01 blocks RoCE packets (UDP 4791)"},
		},
		{
			"nftables-roce", "spark-02", "printf 'table inet filter {\n set closed { type inet_service; " +
				"elements = { 111, 4791 }; }\n" +
				" chain input { type filter hook input priority filter; udp dport @closed drop; }\n}\n' | nft -f -",
			"nft flush ruleset",
			"firewall",
			[]string{"rule of the firewall on spark-02 blocks RoCE packets (UDP 4791)", "111, 4791"},
		},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Cleanup(func() { v.root(t, c.node, c.undo) })
			v.root(t, c.node, c.do)
			v.finds(t, c.check, c.words...)
		})
	}
	t.Run("undone", func(t *testing.T) {
		v.noFinding(t, "rail-managers", "link-local", "boot-waits", "firewall", "reboot-safe")
		// What was refused stays in the journal, and is reported as past.
		v.finds(t, "apparmor", "but the profile has changed since")
	})
}

// waitFor is a script that ends once a command goes well. A node that is emulated on a busy machine
// may take minutes.
func waitFor(command string) string {
	return "for i in $(seq 600); do " + command + " && break; sleep 0.3; done"
}

// as runs a command on a machine as one of its users.
func (v *virtual) as(user, node, script string) (string, error) {
	out, err := exec.Command("ssh", "-F", filepath.Join(v.state, "ssh_config"), "-o", "ConnectTimeout=60", "-l", user,
		node, script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// root runs a command on a machine that has to go well.
func (v *virtual) root(t *testing.T, node, script string) string {
	t.Helper()
	out, err := v.as("root", node, script)
	if err != nil {
		t.Fatalf("%s: %s: %v: %s", node, script, err, out)
	}
	return out
}

// user is a machine as railbench reaches it.
func (v *virtual) user(t *testing.T, user, node string, ask runner.Asker) *runner.SSH {
	t.Helper()
	target, err := runner.Resolve(t.Context(), user+"@"+node, filepath.Join(v.state, "ssh_config"))
	if err != nil {
		t.Fatal(err)
	}
	n := runner.NewSSH(runner.SSHOptions{Name: node, Target: target, Ask: ask})
	t.Cleanup(func() { n.Close() })
	return n
}

// moment prints the time since the boot, and how much of it the machine was awake.
const moment = `python3 -c 'import time
print(time.clock_gettime(time.CLOCK_BOOTTIME), time.clock_gettime(time.CLOCK_MONOTONIC))'`

// A watched switch writes down when it fired.
type watched struct {
	v     *virtual
	guard undo.Guard
	node  string
	began string
	after time.Duration
}

func (v *virtual) arm(t *testing.T, user, node string, after time.Duration) watched {
	t.Helper()
	n := v.user(t, user, node, runner.NoAsker{})
	w := watched{v: v, guard: undo.Guard{Node: n, ID: "test"}, node: node, after: after}
	err := reached(func() error {
		if err := w.guard.Forget(t.Context()); err != nil {
			return err
		}
		w.began = v.root(t, node, "rm -f /var/tmp/fired; "+moment)
		return w.guard.Arm(t.Context(), moment+" >/var/tmp/new; mv /var/tmp/new /var/tmp/fired", after)
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fired waits for the switch and gives the seconds that it took, and those of them that
// the machine was awake. It leaves nothing of systemd's behind.
func (w watched) fired(t *testing.T) (boot, awake float64) {
	t.Helper()
	var ended string
	for deadline := time.Now().Add(4 * time.Minute); ended == ""; {
		ended, _ = w.v.as("root", w.node, "cat /var/tmp/fired 2>/dev/null")
		if time.Now().After(deadline) {
			t.Fatal("it has not gone back")
		}
	}
	var boots, awakes [2]float64
	for i, s := range []string{w.began, ended} {
		if _, err := fmt.Sscan(s, &boots[i], &awakes[i]); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	}
	boot, awake = boots[1]-boots[0], awakes[1]-awakes[0]
	if boot < w.after.Seconds() {
		t.Errorf("it went back after %.1f s of %.0f", boot, w.after.Seconds())
	}
	w.forgotten(t)
	return boot, awake
}

// forgotten looks for what a change has left on the machine.
func (w watched) forgotten(t *testing.T) {
	t.Helper()
	again := w.guard
	again.Node = w.v.user(t, "nvidia", w.node, runner.NoAsker{})
	if err := reached(func() error { return again.Forget(t.Context()) }); err != nil {
		t.Error(err)
	}
	const look = "systemctl list-units --all --no-legend --plain 'railbench-*'; systemctl --failed --no-legend --plain; " +
		"ls -d /run/railbench /run/systemd/transient/railbench-* 2>/dev/null; :"
	left := "?"
	for deadline := time.Now().Add(30 * time.Second); left != "" && time.Now().Before(deadline); {
		left = w.v.root(t, w.node, look)
	}
	if left != "" {
		t.Errorf("%s keeps %s", w.node, left)
	}
}

// asleep suspends spark-02 with an armed switch, and gives what looks at it afterwards.
func (v *virtual) asleep(t *testing.T, again int) func(*testing.T) {
	const after = 40 * time.Second
	w := v.arm(t, "nvidia", "spark-02", after)
	v.root(t, "spark-02", "setsid sh -c 'sleep 1; rtcwake -m mem -s 50' >/var/tmp/rtcwake 2>&1 </dev/null &")
	return func(t *testing.T) {
		boot, awake := w.fired(t)
		if said := v.root(t, "spark-02", "cat /var/tmp/rtcwake"); strings.Contains(said, "write error") && again > 0 {
			t.Logf("once more: the kernel was too busy to sleep: %s", said)
			v.asleep(t, again-1)(t)
			return
		}
		t.Logf("it took %.1f s, awake for %.1f of them", boot, awake)
		// A timer that stands still meanwhile fires after as long awake.
		if awake >= after.Seconds() || boot-awake < after.Seconds()/2 {
			t.Errorf("it took %.1f s, awake for %.1f of them: %s", boot, awake, v.root(t, "spark-02", "cat /var/tmp/rtcwake"))
		}
	}
}

// setClock sets spark-01's clock forth and back while the switch is armed.
func (v *virtual) setClock(t *testing.T) {
	t.Cleanup(func() { v.root(t, "spark-01", "hwclock --hctosys --utc") })
	w := v.arm(t, "nvidia", "spark-01", 10*time.Second)
	v.root(t, "spark-01", "date -s '+1 hour'; sleep 2; date -s '-2 hours'; sleep 1; date -s '+1 hour'")
	w.fired(t)
}

// logout ends the session of the user who armed the switch, with all of its processes, and
// does to systemd and to the switch what an administrator might.
func (v *virtual) logout(t *testing.T) {
	const conf = "/etc/systemd/logind.conf.d/rig.conf"
	v.root(t, "spark-01", "mkdir -p "+filepath.Dir(conf)+"; printf '[Login]\nKillUserProcesses=yes\n' >"+conf+
		"; systemctl restart systemd-logind")
	t.Cleanup(func() { v.root(t, "spark-01", "rm "+conf+"; systemctl restart systemd-logind") })
	w := v.arm(t, "nvidia", "spark-01", 10*time.Second)
	const pid = "/run/railbench/test/watch.pid"
	v.root(t, "spark-01", "systemctl daemon-reload; kill -KILL $(cat "+pid+"); systemctl daemon-reexec")
	w.guard.Node.Close()
	v.root(t, "spark-01", `[ "$(loginctl show-user nvidia -p Linger --value)" = no ]; loginctl terminate-user nvidia`)
	w.fired(t)
	// What is kept doesn't go back, and leaves nothing of systemd's either.
	w = v.arm(t, "nvidia", "spark-01", time.Minute)
	if err := reached(func() error { return w.guard.Confirm(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	w.forgotten(t)
	if out := v.root(t, "spark-01", "cat /var/tmp/fired 2>/dev/null; :"); out != "" {
		t.Errorf("it has gone back: %s", out)
	}
}

// reboot puts what the cell netplan shows where it says, as its text informs a user to, and looks whether the bond is
// there after the machines have booted again. What was written is gone with the machines.
func (v *virtual) reboot(t *testing.T) {
	before := v.networks(t)
	c := v.certain(t, "netplan")
	if c.Verdict != steps.Pass {
		t.Fatalf("%s: %s", c.Verdict, c.Reason)
	}
	log, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	// netplan apply would leave a bond that is in no file any more, and its MTUs.
	t.Cleanup(func() { v.rig(t, "down") })
	for i, node := range []string{"spark-01", "spark-02"} {
		var file strings.Builder
		for line := range strings.Lines(string(log)) {
			if text, ok := strings.CutPrefix(line, node+": "); ok {
				file.WriteString(text)
			}
		}
		// As it is to be typed; root needs no sudo.
		v.root(t, node, strings.ReplaceAll(file.String(), "sudo ", ""))
		// The connection may break before it answers.
		_, _ = v.as("root", node, "systemctl reboot")
		v.booted(t, node, before[i].Boot)
	}
	if c := v.certain(t, "bond-status"); c.Verdict != steps.Pass || !strings.Contains(c.Reason, "layer3+4") {
		t.Errorf("bond-status: %s: %s", c.Verdict, c.Reason)
	}
	v.noFinding(t, "bond-health", "reboot-safe")
	// Taken away it is gone until the next boot, which is said, and comes back into its manager's hands.
	lasts, journal := v.states(t), &undo.Journal{Dir: t.TempDir()}
	e := v.changed(t, journal, "bond-teardown")
	for _, want := range []string{
		"netplan has bond0 on spark-01 in its files, for NetworkManager",
		"netplan has bond0 on spark-02 in its files, for networkd",
	} {
		if e.Grade != steps.Warn || !strings.Contains(e.Reason, want) {
			t.Errorf("%s without %q: %s", e.Grade, want, e.Reason)
		}
	}
	v.change(t, journal, "cleanup")
	v.becomes(t, lasts)
}

// certain runs a cell again where a machine was too slow to answer.
func (v *virtual) certain(t *testing.T, cell string, args ...string) (c headless.Cell) {
	t.Helper()
	for range 4 {
		r, _ := v.run(t, append([]string{cell}, args...)...)
		if c = cellOf(t, r, cell); c.Verdict != steps.Inconclusive {
			break
		}
	}
	return c
}

// booted waits for another boot of a machine, and for its end.
func (v *virtual) booted(t *testing.T, node, before string) {
	t.Helper()
	const look = "cat /proc/sys/kernel/random/boot_id; systemctl is-system-running --wait"
	var out string
	for deadline := time.Now().Add(8 * time.Minute); time.Now().Before(deadline); {
		var err error
		if out, err = v.as("root", node, look); err == nil && !strings.Contains(out, before) {
			return
		}
	}
	t.Fatalf("%s has not booted: %s", node, out)
}
