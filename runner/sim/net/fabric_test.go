package net

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
)

// wired is a fabric of so many nodes, on a clock that a test moves on by pass.
func wired(t *testing.T, nodes int) (f *Fabric, pass func(d time.Duration)) {
	t.Helper()
	c := clock.New(time.Unix(1763700000, 0), clock.Max)
	f = New(c, 1, nodes, false)
	return f, func(d time.Duration) {
		a := c.Begin(false) // and no visitor, for whom a hundred years take days
		a.TakeTurn()
		c.Sleep(t.Context(), d)
		c.Leave(a)
		f.Lock()
		defer f.Unlock()
		f.Advance()
	}
}

func between(f *Fabric, from, to int) *Flow {
	return &Flow{
		From: f.Stacks[from].Functions[0], To: f.Stacks[to].Functions[0], MTU: 1024, Message: 65536,
		Demand: math.Inf(1), Share: 1,
	}
}

// A flow ends however long the rig has been there: at its fullest speed years go by.
func TestAFlowEndsAfterYears(t *testing.T) {
	f, pass := wired(t, 2)
	for range 20 {
		pass(5 * 365 * 24 * time.Hour)
		fl, timed := between(f, 0, 1), between(f, 1, 0)
		fl.Payload, timed.Payload = 65536*5000, math.Inf(1)
		f.Lock()
		f.Add(fl, timed)
		timed.Until = f.Now() + 0.3
		f.Unlock()
		pass(time.Second)
		if !fl.over || !timed.over || fl.Sent != fl.Payload {
			t.Fatalf("at %.0f s: ended: %v and %v; %.0f of %.0f bytes", f.Now(), fl.over, timed.over, fl.Sent, fl.Payload)
		}
	}
}

// What a flow adds to the counters depends on what it has sent, and not on how often they were read
// meanwhile.
func TestCountersDependOnNobodysLooking(t *testing.T) {
	moved := func(looks int) (port portCounters, sent, arrived map[string]uint64) {
		f, pass := wired(t, 2)
		f.Stacks[0].Resends = true
		before := maps.Clone(f.Stacks[1].Functions[0].HW)
		fl := between(f, 0, 1)
		fl.Payload = 65536 * 5000
		f.Add(fl)
		for range looks {
			pass(time.Second / time.Duration(looks))
		}
		if !fl.over {
			t.Fatalf("after 1 s %.0f of %.0f bytes are sent", fl.Sent, fl.Payload)
		}
		arrived = f.Stacks[1].Functions[0].HW
		if got := arrived["rx_write_requests"] - before["rx_write_requests"]; got != 5000 {
			t.Errorf("%d looks: 5000 writes are counted as %d", looks, got)
		}
		return f.Stacks[0].Functions[0].Port, f.Stacks[0].Functions[0].HW, arrived
	}
	port, sent, arrived := moved(1)
	if sent["packet_seq_err"] == 0 || arrived["out_of_sequence"] == 0 {
		t.Errorf("nothing was sent again: %v, %v", sent, arrived)
	}
	again, sentAgain, arrivedAgain := moved(997)
	if port != again || !maps.Equal(sent, sentAgain) || !maps.Equal(arrived, arrivedAgain) {
		t.Errorf("looked at once: %v %v %v\nlooked at 997 times: %v %v %v",
			port, sent, arrived, again, sentAgain, arrivedAgain)
	}
}

// Requests are counted where they come to: a write's by who gets the data, a read's by who
// has it; a send is none.
func TestRequestsAreCountedWhereTheyCome(t *testing.T) {
	for op, want := range map[Op][4]uint64{Write: {0, 0, 100, 0}, Read: {0, 100, 0, 0}, Send: {}} {
		f, pass := wired(t, 2)
		ends := []*Function{f.Stacks[0].Functions[0], f.Stacks[1].Functions[0]}
		requests := func() (all [4]uint64) {
			for i, fn := range ends {
				all[2*i], all[2*i+1] = fn.HW["rx_write_requests"], fn.HW["rx_read_requests"]
			}
			return all
		}
		before := requests()
		fl := between(f, 0, 1)
		fl.Op, fl.Payload = op, 65536*100
		f.Add(fl)
		pass(time.Second)
		got := requests()
		for i := range got {
			got[i] -= before[i]
		}
		if got != want {
			t.Errorf("op %d: writes and reads at the sender and at the receiver are %v, want %v", op, got, want)
		}
	}
}

// The shares follow from the ceilings of the places that flows have in common.
func TestShares(t *testing.T) {
	const gbps = 1e9
	for _, c := range []struct {
		name  string
		nodes int
		flows func(f *Fabric) []*Flow
		want  []float64 // Gb/s of payload
	}{
		{
			"one function is bound by its packets", 2, func(f *Fabric) []*Flow { return []*Flow{between(f, 0, 1)} },
			[]float64{92.7},
		},
		{
			"two flows share a function", 2, func(f *Fabric) []*Flow { return []*Flow{between(f, 0, 1), between(f, 0, 1)} },
			[]float64{46.35, 46.35},
		},
		{
			"the other direction is another's", 2,
			func(f *Fabric) []*Flow { return []*Flow{between(f, 0, 1), between(f, 1, 0)} },
			[]float64{92.7, 92.7},
		},
		{"what one doesn't want the other gets", 2, func(f *Fabric) []*Flow {
			little := between(f, 0, 1)
			little.Demand = 2.7 * gbps
			return []*Flow{little, between(f, 0, 1)}
		}, []float64{2.7, 90}},
		{"a half of two lanes", 2, func(f *Fabric) []*Flow {
			f.Stacks[1].Functions[0].Lanes = 2
			return []*Flow{between(f, 0, 1)}
		}, []float64{126.03 / 2 * 256 / (256 + 26.8) * 1024 / (1024 + 85)}},
		{"a cap holds at either end", 2, func(f *Fabric) []*Flow {
			f.Stacks[1].Functions[0].Caps["why"] = 13 * gbps
			return []*Flow{between(f, 0, 1)}
		}, []float64{13}},
		{
			"two senders to one receiver, over a switch", 3,
			func(f *Fabric) []*Flow { return []*Flow{between(f, 1, 0), between(f, 2, 0)} },
			[]float64{46.35, 46.35},
		},
		{
			"two pairs on a switch don't meet", 4,
			func(f *Fabric) []*Flow { return []*Flow{between(f, 0, 1), between(f, 2, 3)} },
			[]float64{92.7, 92.7},
		},
		{"without a link nothing moves", 2, func(f *Fabric) []*Flow {
			f.Stacks[1].Pulled[0] = true
			return []*Flow{between(f, 0, 1)}
		}, []float64{0}},
	} {
		f, _ := wired(t, c.nodes)
		flows := c.flows(f)
		f.Add(flows...)
		for i, fl := range flows {
			if got := fl.Alloc / gbps; math.Abs(got-c.want[i]) > 0.01 {
				t.Errorf("%s: flow %d gets %.2f Gb/s, want %.2f", c.name, i, got, c.want[i])
			}
		}
	}
}

// A queue pair without a path gives up, and one whose path comes back in time does not.
func TestAPathThatStaysAway(t *testing.T) {
	for away, wants := range map[time.Duration]error{2 * time.Second: nil, 3 * time.Second: errRetryExceeded} {
		f, pass := wired(t, 2)
		fl := between(f, 0, 1)
		fl.Until = 5
		f.Add(fl)
		pull := func(out bool) {
			f.Stacks[0].Pulled[0] = out
			f.Allocate()
		}
		pass(time.Second)
		pull(true)
		pass(away)
		pull(false)
		pass(4 * time.Second)
		if !fl.over || fl.err != wants { //nolint:errorlint // it is the value itself that counts here
			t.Errorf("away for %s: over %v, %v, want %v", away, fl.over, fl.err, wants)
		}
		if wants != nil && math.Abs(fl.End-1-RetryTime) > 1e-6 {
			t.Errorf("it gave up after %.3f s, want %.3f", fl.End-1, RetryTime)
		}
	}
}
