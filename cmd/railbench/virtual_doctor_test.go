package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
)

// doctor runs checks on the virtual machines and gives the report and the exit status.
func (v *virtual) doctor(t *testing.T, args ...string) (doctor.Object, int) {
	t.Helper()
	var out, progress bytes.Buffer
	code := Main(append([]string{"doctor", "--rig", "virtual", "--json"}, args...), strings.NewReader(""), &out, &progress)
	var r doctor.Object
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("doctor %v: exit %d, %v: %s\n%s", args, code, err, out.String(), progress.String())
	}
	return r, code
}

// finds reports whether a check has found something, in these words.
func (v *virtual) finds(t *testing.T, check string, words ...string) {
	t.Helper()
	r, _ := v.doctor(t, check)
	c := r.Checks[0]
	if c.Verdict != steps.Fail && c.Verdict != steps.Warn {
		t.Errorf("%s: %s: %s", check, c.Verdict, c.Reason)
	}
	said := c.Reason
	for _, f := range c.Findings {
		said += " " + f.Text
	}
	for _, e := range c.Evidence {
		if text, ok := e.Value.(string); ok {
			said += " " + text
		}
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("%s doesn't say %q: %s", check, w, said)
		}
	}
}

// noFinding reports whether checks have nothing to complain of.
func (v *virtual) noFinding(t *testing.T, checks ...string) {
	t.Helper()
	r, _ := v.doctor(t, checks...)
	for _, c := range r.Checks {
		if c.Verdict != steps.Pass {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
	}
}

// fixes corrects what a check has found.
func (v *virtual) fixes(t *testing.T, check string) {
	t.Helper()
	r, code := v.doctor(t, check, "--fix", "--yes")
	if c := r.Checks[0]; c.Verdict != steps.Pass || !c.Fixed || code != exitOK {
		t.Errorf("%s after its fix %q: %s, exit %d: %s", check, c.Fix, c.Verdict, code, c.Reason)
	}
}

// healthy: nothing FAILs on a rig with nothing wrong; what it lacks is SKIPPED, and
// what is odd about two machines that have just booted a WARN at most.
func (v *virtual) healthy(t *testing.T) {
	before := v.networks(t)
	r, code := v.doctor(t)
	if code != exitOK && code != exitInconclusive || len(r.Checks) < 30 {
		t.Errorf("exit %d, %d checks", code, len(r.Checks))
	}
	for _, c := range r.Checks {
		if c.Verdict == steps.Fail || c.Verdict == steps.Inconclusive || c.Reason == "" {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
	}
	v.same(t, before)
}

// ownJournal keeps the undo journal of a test from the next.
func ownJournal(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
}

func (v *virtual) pulledCable(t *testing.T) {
	ownJournal(t)
	v.rig(t, "cable", "1", "off")
	t.Cleanup(func() { v.rig(t, "cable", "1", "on") })
	v.finds(t, "link-up", "enp1s0f1np1")
	v.rig(t, "cable", "1", "on")
	v.noFinding(t, "link-up")
}

func (v *virtual) lostAddress(t *testing.T) {
	ownJournal(t)
	before := v.networks(t)
	v.rig(t, "ssh", "1", "sudo ip addr del 192.168.200.10/24 dev enp1s0f1np1")
	v.finds(t, "rail-addresses", "enp1s0f1np1", "spark-01")
	v.fixes(t, "rail-addresses")
	v.noFinding(t, "rail-addresses", "gid-index")
	v.same(t, before)
}

func (v *virtual) otherMTU(t *testing.T) {
	ownJournal(t)
	before := v.networks(t)
	v.rig(t, "ssh", "1", "sudo ip link set enp1s0f0np0 mtu 1400")
	t.Cleanup(func() { v.rig(t, "ssh", "1", "sudo ip link set enp1s0f0np0 mtu 1500") })
	v.finds(t, "mtu-equal", "1400", "1500", "enp1s0f0np0")
	v.fixes(t, "mtu-equal")
	v.undo(t)
	v.finds(t, "mtu-equal", "1400")
	v.rig(t, "ssh", "1", "sudo ip link set enp1s0f0np0 mtu 1500")
	v.noFinding(t, "mtu-equal")
	v.same(t, before)
}

// undo takes back what was changed.
func (v *virtual) undo(t *testing.T) {
	t.Helper()
	var out, complaints bytes.Buffer
	if code := Main([]string{"undo", "--yes", "--rig", "virtual"}, strings.NewReader(""), &out,
		&complaints); code != exitOK {
		t.Errorf("undo: exit %d: %s%s", code, out.String(), complaints.String())
	}
}

// leftBond is a bond that a user made by hand and left, on one node.
func (v *virtual) leftBond(t *testing.T) {
	ownJournal(t)
	before := v.networks(t)
	v.rig(t, "ssh", "1", `sudo sh -c "modprobe bonding max_bonds=0
ip link add bond0 type bond mode balance-xor
for d in enp1s0f0np0 enp1s0f1np1; do ip addr flush dev \$d scope global; ip link set \$d down; ip link set \$d master bond0; done
ip addr add 192.168.100.10/24 dev bond0
ip link set bond0 up"`)
	v.finds(t, "rail-bond", "bond0", "spark-01")
	v.fixes(t, "rail-bond")
	// The bond had one address for two rails: the other's was lost with it.
	v.doctor(t, "rail-addresses", "--fix", "--yes")
	v.noFinding(t, "rail-bond", "bond-health", "link-up", "rail-addresses", "rdma-ports")
	v.same(t, before)
	v.rig(t, "ssh", "1", "sudo modprobe -r bonding || true")
}

// busyPort is a benchmark that a user forgot.
func (v *virtual) busyPort(t *testing.T) {
	ownJournal(t)
	v.rig(t, "ssh", "1", "setsid ib_write_bw -p 18515 </dev/null >/dev/null 2>&1 & echo started")
	v.finds(t, "test-ports", "18515", "ib_write_bw", "spark-01")
	v.fixes(t, "test-ports")
	v.noFinding(t, "test-ports")
}

// stoppedSshd: nothing listens on a node any more. It comes back when the other node
// calls it over a rail, or by itself after a while.
func (v *virtual) stoppedSshd(t *testing.T) {
	ownJournal(t)
	v.rig(t, "ssh", "1", `sudo setsid sh -c "mv /usr/sbin/sshd /usr/sbin/sshd.off; kill \$(cat /run/sshd.pid)
n=0; until ping -q -c 1 -W 1 192.168.100.99 || [ \$n -ge 200 ]; do n=\$((n + 1)); sleep 1; done
mv /usr/sbin/sshd.off /usr/sbin/sshd" </dev/null >/dev/null 2>&1 & echo stopped`)
	back := func() { v.rig(t, "ssh", "2", "sudo ip addr del 192.168.100.99/24 dev enp1s0f0np0 2>/dev/null; true") }
	t.Cleanup(back)
	r, code := doctor.Object{}, 0
	for end := time.Now().Add(time.Minute); code != exitUnreachable && time.Now().Before(end); {
		r, code = v.doctor(t, "nodes")
	}
	if code != exitUnreachable || r.Checks[0].Verdict != steps.Fail || r.Checks[0].Node != "spark-01" {
		t.Errorf("exit %d: %+v", code, r.Checks)
	}
	v.rig(t, "ssh", "2", "sudo ip addr add 192.168.100.99/24 dev enp1s0f0np0")
	for end := time.Now().Add(5 * time.Minute); code == exitUnreachable && time.Now().Before(end); {
		r, code = v.doctor(t, "nodes")
	}
	if code != exitOK {
		t.Errorf("it came back: exit %d: %+v", code, r.Checks)
	}
}
