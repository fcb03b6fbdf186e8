package net

import (
	"testing"
	"time"
)

// A few packets in a hundred that are lost leave next to nothing of RDMA, because all that is on its way behind each
// of them is sent again; a flow that is slow anyway loses less.
func TestLossCollapses(t *testing.T) {
	rate := func(loses bool, demand float64) (gbps, wire float64, hw map[string]uint64) {
		f, pass := wired(t, 2)
		f.Stacks[0].Resends = loses
		before := f.Stacks[0].Functions[0].Port.Xmit
		fl := between(f, 0, 1)
		fl.Demand = min(fl.Demand, demand)
		fl.Payload = 65536 * 2000
		f.Add(fl)
		pass(2 * time.Second)
		if !fl.over {
			t.Fatalf("%.0f of %.0f bytes", fl.Sent, fl.Payload)
		}
		hw = f.Stacks[0].Functions[0].HW
		for name, n := range f.Stacks[1].Functions[0].HW {
			hw["far "+name] = n
		}
		return fl.Average() / 1e9, float64(f.Stacks[0].Functions[0].Port.Xmit-before) / fl.Payload, hw
	}
	whole, once, _ := rate(false, 1e12)
	collapsed, again, hw := rate(true, 1e12)
	if collapsed > 0.2*whole || collapsed < 0.02*whole || again < 2*once {
		t.Errorf("%.1f Gb/s of %.1f, %.2f bytes a byte of %.2f", collapsed, whole, again, once)
	}
	// One is asked for again, and all that came behind it: some 45 packets at this rate and round trip.
	if ratio := float64(hw["far out_of_sequence"]) / float64(hw["packet_seq_err"]); ratio < 35 || ratio > 50 {
		t.Errorf("%.1f packets are dropped behind one that was lost", ratio)
	}
	if slow, _, _ := rate(true, 1e9); slow < 0.85 {
		t.Errorf("of 1 Gb/s there is %.2f left", slow)
	}
}
