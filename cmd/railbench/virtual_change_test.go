package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// networks is how both machines' networks look, as the kernel reports it.
func (v *virtual) networks(t *testing.T) (s [2]change.State) {
	t.Helper()
	for i, node := range []string{"1", "2"} {
		var err error
		if s[i], err = change.Parse(v.rig(t, "ssh", node, change.Capture)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// same holds both machines against an earlier look at them. The bonding module
// may have been loaded meanwhile.
func (v *virtual) same(t *testing.T, before [2]change.State) {
	t.Helper()
	var diff []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		diff = nil
		for i, now := range v.networks(t) {
			diff = append(diff, change.Differences(before[i], now, func(string) bool { return true })...)
		}
		if diff == nil {
			return
		}
	}
	t.Errorf("the machines are not as before: %q", diff)
}

// passes runs a cell that has to pass.
func (v *virtual) passes(t *testing.T, cell string, words ...string) headless.Cell {
	t.Helper()
	r, _ := v.run(t, cell, "--yes")
	c := cellOf(t, r, cell)
	if c.Verdict != steps.Pass {
		t.Errorf("%s: %s: %s", cell, c.Verdict, c.Reason)
	}
	for _, w := range words {
		if !strings.Contains(c.Reason, w) {
			t.Errorf("%s doesn't say %q: %s", cell, w, c.Reason)
		}
	}
	return c
}

// spread measures TCP over the bond until its streams use both links: with four streams and two links the kernel
// hashes all of them to one in one time of eight.
func (v *virtual) spread(t *testing.T) headless.Cell {
	t.Helper()
	for range 4 {
		r, _ := v.run(t, "tcp-parallel", "-p", "TCP_SECONDS=4")
		if c := cellOf(t, r, "tcp-parallel"); c.Code != steps.BondOneLinkUsed {
			return c
		}
	}
	return v.passes(t, "tcp-parallel", "over the bond")
}

// bond makes one with the kernel's own driver, measures over it, is refused RDMA,
// and takes it back, twice.
func (v *virtual) bond(t *testing.T) {
	before := v.networks(t)
	v.passes(t, "bond-setup", "balance-xor over enp1s0f0np0 and enp1s0f1np1")
	v.passes(t, "bond-status", "layer3+4")
	c := v.spread(t)
	if c.Verdict != steps.Pass {
		t.Errorf("tcp-parallel: %s: %s", c.Verdict, c.Reason)
	}
	for _, dev := range []string{"enp1s0f0np0", "enp1s0f1np1"} {
		if !strings.Contains(c.Reason, dev) {
			t.Errorf("tcp-parallel doesn't say what %s carried: %s", dev, c.Reason)
		}
	}
	if r, _ := v.run(t, "ib-write-bw"); r.Cells[0].Verdict != steps.Inconclusive ||
		!strings.Contains(r.Cells[0].Reason, "bond-teardown") {
		t.Errorf("RDMA over a bonded rail: %s: %s", r.Cells[0].Verdict, r.Cells[0].Reason)
	}
	v.passes(t, "bond-teardown", "as captured before")
	v.same(t, before)
	v.passes(t, "bond-teardown", "nothing to do")
	v.same(t, before)
}

// emptyBond is the bond that loading the module makes by itself, in another mode.
func (v *virtual) emptyBond(t *testing.T) {
	v.rig(t, "ssh", "1", "sudo ip link add bond0 type bond mode balance-rr")
	t.Cleanup(func() { v.rig(t, "ssh", "1", "sudo ip link del bond0; sudo modprobe -r bonding") })
	before := v.networks(t)
	v.passes(t, "bond-setup", "balance-xor")
	v.passes(t, "bond-teardown", "as captured before")
	// A bond that is made again has another MAC unless the slaves gave it one.
	v.same(t, before)
}

// ownBond is another user's own bond. It has more options than railbench's bond, and addresses with options
// of their own. The bond is removed and the change is confirmed; then undo rolls it back.
func (v *virtual) ownBond(t *testing.T) {
	rails := v.networks(t)
	for i, node := range []string{"1", "2"} {
		v.rig(t, "ssh", node, fmt.Sprintf(`sudo sh -e -c 'modprobe bonding max_bonds=0
ip link add bond0 type bond mode 802.3ad miimon 100 xmit_hash_policy layer3+4 updelay 200 lacp_rate fast min_links 1
for d in enp1s0f0np0 enp1s0f1np1; do
  ip addr flush dev $d
  ip link set $d down
  ip link set $d master bond0
done
ip link set bond0 up
ip addr add 192.168.100.%[1]d/24 dev bond0 metric 77
ip addr add 10.8.0.%[1]d peer 10.8.0.%[2]d/32 dev bond0
ip addr add fd01::%[1]d/64 dev bond0 nodad
ip addr add fd02::%[1]d/64 dev bond0 nodad
ip route add 10.50.0.0/16 via 192.168.100.1 metric 5'`, 10+i, 11-i))
	}
	t.Cleanup(func() {
		for i, node := range []string{"1", "2"} {
			v.rig(t, "ssh", node, "sudo sh -c "+
				runner.Quote(change.Back(rails[i], []string{"enp1s0f0np0", "enp1s0f1np1", "bond0"})))
		}
		v.same(t, rails)
	})
	made := v.networks(t)
	if r, code := v.run(t, "bond-teardown", "--yes"); code != exitOK || len(v.networks(t)[0].Links["bond0"].Addrs) > 0 {
		t.Fatalf("exit %d: %+v", code, r.Cells)
	}
	var said bytes.Buffer
	if code := Main([]string{"undo", "--rig", "virtual", "--yes"}, strings.NewReader(""), &said, &said); code != exitOK {
		t.Errorf("undo: exit %d: %s", code, said.String())
	}
	v.same(t, made)
}

// silent says yes to a change, and then nothing any more.
type silent struct{}

func (silent) Change(ctx context.Context, q steps.ChangeQuestion) (bool, error) {
	if !q.Keep {
		return true, nil
	}
	<-ctx.Done()
	return false, ctx.Err()
}

// notConfirmed makes a bond that no one keeps: both machines go back by themselves.
func (v *virtual) notConfirmed(t *testing.T) {
	before := v.networks(t)
	journal := &undo.Journal{Dir: t.TempDir()}
	s := v.open(t, "nvidia", nil, func(o *session.Options) {
		o.Confirm, o.Journal, o.ChangeTime = silent{}, journal, time.Minute
	})
	s.Run("bond-setup")
	e := ended(t, s, "bond-setup")
	if e.Verdict.Grade != steps.Inconclusive || !strings.Contains(e.Verdict.Reason, "as they were before") {
		t.Errorf("%s: %s", e.Verdict.Grade, e.Verdict.Reason)
	}
	v.same(t, before)
	if left, err := journal.Entries(); err != nil || len(left) > 0 {
		t.Errorf("the journal keeps %d entries, %v", len(left), err)
	}
}
