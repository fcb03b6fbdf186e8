package limits

import (
	"cmp"
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rate"
)

// A Reach is what some rails of one node carry together, payload in Gb/s; 0 is unknown.
type Reach struct {
	Links rate.Payload // their cables (derived)
	PCIe  rate.Payload // the PCIe links behind them, as far as anybody saw
	Limit rate.Payload // the lesser of the cables and what physics allow these PCIe links

	cables, halves int  // how many there are
	unseen         bool // no one measured such a PCIe link: its figure is chosen
}

// Most is the lesser of the cables and the PCIe links.
func (r Reach) Most() rate.Payload { return Lesser(r.Links, r.PCIe) }

// By says what the most rests on: "limit of its 2 cables"; whose is "its" or "a node's".
func (r Reach) By(whose string) string {
	some := func(n int, what string) string {
		if n == 1 {
			return fmt.Sprintf("%s %s", whose, what)
		}
		return fmt.Sprintf("%s %d %ss", whose, n, what)
	}
	switch {
	case r.PCIe == 0 || r.Links > 0 && r.Links <= r.PCIe:
		return "limit of " + some(r.cables, "cable")
	case r.unseen:
		return "estimate for " + some(r.halves, "PCIe link")
	}
	return "highest measured through " + some(r.halves, "PCIe link")
}

// Carry adds up what rails of one node carry in packets like these: two on one cable or behind one
// PCIe link share it, and what is one connection (single) takes one of them.
func Carry(rails []steps.Rail, packets rate.Headers, single bool) Reach {
	return carry(rails, packets, single, now)
}

// CarryAtBest is Carry with the PCIe links that the devices could have.
func CarryAtBest(rails []steps.Rail, packets rate.Headers, single bool) Reach {
	return carry(rails, packets, single, best)
}

func carry(rails []steps.Rail, packets rate.Headers, single bool, of func(steps.Rail) slot) (r Reach) {
	cables, halves, limits := map[string]rate.Payload{}, map[string]rate.Payload{}, map[string]rate.Payload{}
	known, cabled := true, true // a sum without one of its parts is none
	for _, rail := range rails {
		cable := fmt.Sprint("port ", rail.PhysPort)
		if rail.PhysPort < 0 {
			cable = rail.Dev
		}
		cables[cable] = packets.Carries(rail.RateGbps)
		cabled = cabled && !rail.Soft() && rail.RateGbps > 0
		s, half := of(rail), cmp.Or(rail.PCI.Half(), rail.Dev)
		_, _, most, _ := s.carries(rail.MTU, 2)
		halves[half], _ = s.ceiling(rail.MTU)
		limits[half] = limitOf(rail)
		known, r.unseen = known && s.known(), r.unseen || most == 0
	}
	if !known {
		clear(halves)
		clear(limits)
	}
	if !cabled {
		clear(cables)
	}
	sum := func(all map[string]rate.Payload) (v rate.Payload) {
		for _, one := range all {
			if single {
				v = max(v, one)
			} else {
				v += one
			}
		}
		return v
	}
	r.Links, r.PCIe, r.cables, r.halves = sum(cables), sum(halves), len(cables), len(halves)
	if single {
		r.cables, r.halves = min(1, r.cables), min(1, r.halves)
	}
	r.Limit = Lesser(r.Links, sum(limits))
	return r
}
