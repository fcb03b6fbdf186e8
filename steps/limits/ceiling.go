package limits

import (
	"cmp"
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rate"
)

// A slot is a PCIe link: GT/s a lane and lanes.
type slot struct {
	gtps  float64
	width int
}

// now is the link that a device has, and best the one that it could have: a link that came
// up narrower is a cause, not an excuse.
func now(r steps.Rail) slot { return slot{r.PCI.GTps, r.PCI.Width} }

func best(r steps.Rail) slot {
	if r.PCI.MaxGTps > 0 && r.PCI.MaxWidth > 0 {
		return slot{r.PCI.MaxGTps, r.PCI.MaxWidth}
	}
	return now(r)
}

func (s slot) known() bool { return s.gtps > 0 && s.width > 0 }

// raw is what is left after the encoding, Gb/s.
func (s slot) raw() float64 { return s.gtps * float64(s.width) * encoding(s.gtps) }

// limit is derived: the bits after encoding, without what packets have next to their payload, which is of payload
// bytes at most; 0 stands for unknown: the largest that the standard allows. RoCE's own headers stay in the adapter.
func (s slot) limit(payload int) rate.Payload {
	if !s.known() {
		return 0
	}
	const largest = 4096 // bytes, of a PCIe packet's payload
	bytes := float64(cmp.Or(payload, largest))
	return rate.Payload(s.raw() * bytes / (bytes + PCIeTLP.Value()))
}

// limitOf is what the PCIe link that a rail's device could have carries.
func limitOf(r steps.Rail) rate.Payload { return best(r).limit(r.PCI.MaxPayload) }

// spark reports whether this is a link as those that were measured are: Gen5 x4, 32 GT/s a lane.
// GT/s come from the kernel's current_link_speed ("32.0 GT/s PCIe"), so they compare as numbers.
func (s slot) spark() bool { return s == slot{32, 4} }

// Unified reports whether all rails are a DGX Spark's, whose processor and GPU share one memory: the only machine on
// which staged GPU memory was measured. It is known by its PCIe links and its processor; an unknown processor is not
// one.
func Unified(rig steps.Rig, pairs ...steps.Pair) bool {
	for _, p := range pairs {
		for _, e := range steps.Ends {
			if arch := rig.At(e).Arch; !best(rig.Rail(p, e)).spark() || arch != "aarch64" && arch != "arm64" {
				return false
			}
		}
	}
	return len(pairs) > 0
}

// carries is what was seen to go through a slot, by some rails at a RoCE MTU, or else what
// railbench expects. ok is false where there is nothing to go by.
func (s slot) carries(mtu, rails int) (l Limit, expected, most rate.Payload, ok bool) {
	switch {
	case !s.known():
		return 0, 0, 0, false
	case !s.spark():
		l, share := s.share(mtu, rails)
		return l, rate.Payload(s.raw() * share), 0, share > 0
	case mtu == 4096:
		l = HalfAt4096
	case mtu != 1024:
		return 0, 0, 0, false
	case rails > 1:
		l = HalfSharedAt1024
	default:
		l = HalfAt1024
	}
	most = rate.Payload(l.High())
	if mtu == 1024 { // two rails brought more through the same link than one
		most = rate.Payload(HalfSharedAt1024.High())
	}
	return l, rate.Payload(l.Low()), most, true
}

// share is the part of an unmeasured link's bits that is expected to be payload, as one on DGX Spark has it at the same
// RoCE MTU; 0 where that was not measured at this one.
func (s slot) share(mtu, rails int) (l Limit, share float64) {
	switch {
	case mtu == 4096:
		return PCIeShare, PCIeShare.Value()
	case mtu != 1024:
		return PCIeShare, 0
	case rails > 1:
		return PCIeShareAt1024, PCIeShareAt1024.High()
	}
	return PCIeShareAt1024, PCIeShareAt1024.Low()
}

// Ceiling is the payload that the PCIe link behind a rail lets through, as far as anybody
// saw, and where the number comes from. It is 0 and empty where the link isn't known, as
// on soft-RoCE.
func Ceiling(r steps.Rail) (p rate.Payload, from string) { return now(r).ceiling(r.MTU) }

func (s slot) ceiling(mtu int) (rate.Payload, string) {
	if !s.known() {
		return 0, ""
	}
	if l, _, most, ok := s.carries(mtu, 2); ok && most > 0 {
		return most, fmt.Sprintf("%s: %.1f Gb/s after encoding; %.1f of payload measured %s", s, s.raw(), most,
			l.Entry().When)
	}
	_, share := s.share(mtu, 2)
	if share == 0 { // between the two that were measured, or without RDMA: the larger one ends nothing early
		share = PCIeShare.Value()
	}
	return rate.Payload(s.raw() * share), fmt.Sprintf("%s: %.1f Gb/s after encoding, of which %.1f %% is expected to be "+
		"payload, as on DGX Spark", s, s.raw(), 100*share)
}

// NowLimit is what the PCIe link of a rail carries at most as it came up (derived); 0 where it isn't known.
func NowLimit(r steps.Rail) rate.Payload { return now(r).limit(r.PCI.MaxPayload) }

// WireCeiling is Ceiling as the rail's port counts it, with the headers of its RoCE MTU; 0
// where either isn't known.
func WireCeiling(r steps.Rail) rate.Wire {
	p, _ := Ceiling(r)
	return p.Counted(RoCE(r.MTU))
}

// PCIeLimit is what the PCIe link that a rail's device could have carries of packets that
// cross it with their headers, as those of TCP do (derived); 0 where the link isn't known.
func PCIeLimit(r steps.Rail, h rate.Headers) rate.Payload {
	if h.Payload <= 0 {
		return 0
	}
	return limitOf(r) * rate.Payload(h.Payload) / rate.Payload(h.Payload+h.Counted)
}

// Narrow reports whether a rail's PCIe link is less than its device could have.
func Narrow(r steps.Rail) bool {
	// A share, because rates of two generations are floats that were read from text.
	return now(r).known() && best(r).known() && now(r).raw() < 0.99*best(r).raw()
}

// encoding is the share of a PCIe generation's bits that are data.
func encoding(gtps float64) float64 {
	switch {
	case gtps < 8: // Gen1 and Gen2: 8b/10b
		return 8.0 / 10
	case gtps < 64: // Gen3 to Gen5: 128b/130b
		return 128.0 / 130
	default: // Gen6 on: 242 of 256 bytes of a flit
		return 242.0 / 256
	}
}

// String names a PCIe link: "PCIe Gen5 x4".
func (s slot) String() string {
	if !s.known() {
		return "PCIe unknown"
	}
	gen := 1
	for g, top := range []float64{2.5, 5, 8, 16, 32, 64} {
		if s.gtps >= top {
			gen = g + 1
		}
	}
	return fmt.Sprintf("PCIe Gen%d x%d", gen, s.width)
}

// Slot names a PCIe link: "PCIe Gen5 x4".
func Slot(gtps float64, width int) string { return slot{gtps, width}.String() }
