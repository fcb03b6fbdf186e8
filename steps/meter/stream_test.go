package meter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/railbench/railbench/steps/rate"
)

// The rate of a known stream, and of its payload, is right within 1 %, and no peak is above it. This holds
// where the node's shell is delayed in the middle of a sample, too, and where a loaded connection brings the
// samples late, and many at once.
func TestAKnownStreamOverALoadedConnection(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3, rand.Uint64()} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			const wire, began = 97.84, 5000.0
			n := node()
			n.gauges[0].RoCE = rate.Headers{Payload: 1024, Counted: 58}
			start, arrives := time.Unix(1000, 0), time.Unix(1000, 0)
			clock := began
			for range 600 {
				clock += Every + 0.02*r.Float64()
				from, to := clock, clock+0.0005
				if r.IntN(4) == 0 {
					to += 0.12 * r.Float64() // another process had the processor
				}
				read := from + (to-from)*r.Float64()
				clock = to
				// Of the connection: nothing comes for up to a second, then all of it.
				at := start.Add(time.Duration((to - began) * 1e9))
				if r.IntN(10) == 0 {
					arrives = at.Add(time.Duration(r.Float64() * 1e9))
				}
				arrives = later(arrives, at)
				if err := n.Add(lateLine(from, to, uint64(wire*1e9/8*(read-began)), 0), arrives); err != nil {
					t.Fatal(err)
				}
				g := n.Gauges(arrives, "")[0]
				if to-began < 2.5 { // a peak and a needle need a sharp window
					continue
				}
				if g.Stale != "" || math.Abs(g.Tx.RDMA-wire) > wire/100 || g.Tx.Peak > wire || g.Tx.Peak < 0.99*wire {
					t.Fatalf("after %.1f s: %q, %.2f Gb/s, peak %.2f", to-began, g.Stale, g.Tx.RDMA, g.Tx.Peak)
				}
				p, ok := g.Payload(g.Tx.RDMA, 0)
				if want := wire * 1024 / 1082; !ok || math.Abs(float64(p)-want) > want/100 {
					t.Fatalf("payload %v, want %v", p, want)
				}
			}
			g := n.Gauges(arrives, "")[0]
			if math.Abs(g.Tx.Run.Gbps-wire) > wire/100 || g.Tx.Run.Least || math.Abs(g.Tx.Avg-wire) > wire/100 {
				t.Errorf("run %+v, avg %v", g.Tx.Run, g.Tx.Avg)
			}
			for i, h := range g.Tx.History {
				if i > 2 && math.Abs(h-wire) > 0.06*wire {
					t.Errorf("history has %v", h)
				}
			}
		})
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A run of less than a second is reported at its real rate, though it begins while the sampler rests and ends
// between two samples. For a run that is shorter still, the rate that its bytes prove is reported.
func TestAShortRun(t *testing.T) {
	const wire = 97.84
	for _, c := range []struct {
		seconds float64
		least   bool
	}{{0.72, false}, {0.45, false}, {0.12, true}} {
		n := node()
		start := time.Unix(1000, 0)
		const begins = 7.33
		sent := func(at float64) uint64 {
			return uint64(wire * 1e9 / 8 * max(0, min(at, begins+c.seconds)-begins))
		}
		for clock := 1.0; clock < 11; {
			if err := n.Add(line(clock, sent(clock), 0), start.Add(time.Duration(clock*1e9))); err != nil {
				t.Fatal(err)
			}
			if clock < begins || clock > begins+c.seconds+2 {
				clock += EveryIdle
			} else {
				clock += Every
			}
		}
		f := n.Gauges(start.Add(11*time.Second), "")[0].Tx
		if f.Run.Least != c.least || f.Run.Gbps > 1.001*wire || f.Peak > 1.001*wire {
			t.Errorf("%v s: %+v, peak %v", c.seconds, f.Run, f.Peak)
		}
		if !c.least && (math.Abs(f.Run.Gbps-wire) > wire/100 || f.Peak < 0.99*wire) {
			t.Errorf("%v s: %+v, peak %v", c.seconds, f.Run, f.Peak)
		}
		if moved := wire * 1e9 / 8 * c.seconds; math.Abs(f.Run.Bytes-moved) > moved/100 {
			t.Errorf("%v s: %v bytes, not %v", c.seconds, f.Run.Bytes, moved)
		}
	}
}

// TCP keeps processors busy, and a host says how many.
func TestHost(t *testing.T) {
	n := node()
	at := time.Unix(1000, 0)
	for _, l := range []string{
		"C 10.0 100 0 50 100000 10 0 0 0 0 0",
		// Half a second of twenty processors: 1,000 ticks, 150 of them at work.
		"C 10.5 180 0 100 100850 10 0 20 0 0 0",
	} {
		if err := n.Add(l, at); err != nil {
			t.Fatal(err)
		}
	}
	h := n.Host("")
	if !h.Known || h.Cores != 20 || math.Abs(h.Busy-3) > 0.01 || h.Node != "spark-02" {
		t.Errorf("%+v", h)
	}
	if n.Host("no connection").Known {
		t.Error("a host that nobody hears of is known")
	}
	for _, bad := range []string{"C", "C 1 2 3", "C x 1 2 3 4 5 6 7 8", "C 1 1 2 3 4 5 6 7 nan"} {
		if n.Add(bad, at) == nil {
			t.Errorf("%q is a line of /proc/stat", bad)
		}
	}
}
