package limits

import (
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rate"
)

// A Price is what a RoCE MTU below the largest costs some rails.
type Price struct {
	// Has and Could are the bands at the MTU that there is and at the largest.
	Has, Could Band
	// Headers is what the larger headers' share takes of the link alone, where a band is
	// missing: derived, and less than the whole price.
	Headers rate.Payload
	// None says why nothing can be said; empty where Gbps is known.
	None string
}

// PriceOf holds the band of some pairs of rails at a RoCE MTU against that at the largest.
func PriceOf(rig steps.Rig, mtu int, pairs ...steps.Pair) Price {
	best := int(LargestMTU.Value())
	p := Price{Has: BandOf(rig, Test{MTU: mtu}, pairs...), Could: BandOf(rig, Test{MTU: best}, pairs...)}
	for _, b := range []Band{p.Has, p.Could} {
		if b.Expected <= 0 && p.None == "" {
			p.None = b.None
		}
	}
	if p.Has.Soft || p.Could.Soft || mtu <= 0 || len(pairs) == 0 {
		return p
	}
	line := 0.0
	for _, e := range steps.Ends {
		line = Lesser(line, rig.Rail(pairs[0], e).RateGbps)
	}
	p.Headers = RoCE(best).Carries(line) - RoCE(mtu).Carries(line)
	return p
}

// Costs is the price; 0 where it isn't known.
func (p Price) Costs() rate.Payload {
	if p.None != "" {
		return 0
	}
	return p.Could.Expected - p.Has.Expected
}

// Says reports it in a verdict: both figures, and where each comes from.
func (p Price) Says() string {
	if p.None != "" {
		return fmt.Sprintf("its headers alone cost %.1f Gb/s of the link; the rest is unknown: %s", p.Headers,
			p.None)
	}
	costs := "costs"
	switch least := p.Could.Expected - p.Has.Seen; {
	case p.Has.Basis != Measured:
	// What was measured at each MTU is of other machines, and more was seen than is expected.
	case p.Has.Seen > 0 && least > 0:
		costs = fmt.Sprintf("costs %.1f to", least)
	default:
		costs = "costs up to"
	}
	return fmt.Sprintf("%.1f Gb/s instead of %.1f at %d (%s; %s): it %s %.1f Gb/s", p.Has.Expected,
		p.Could.Expected, int(LargestMTU.Value()), p.Has.Why(), p.Could.Why(), costs, p.Costs())
}
