// Package theory says what hardware can do, from what a probe found of it: the band that
// a test of some rails should reach, what PCIe allows a rail, and where each comes from.
// It knows what was found and not how: that is probe's.
package theory

import (
	"fmt"

	"github.com/railbench/railbench/steps"
)

// What a packet carries beside its payload, bytes. Port counters see a frame without its
// preamble, gap and FCS, which are on the cable, too.
const (
	Ethernet      = 14
	CableEthernet = Ethernet + 24 // 8 of preamble, 12 of gap, 4 of FCS

	// RoCEHeaders are those of every packet of RoCE v2: Ethernet, 20 of IPv4, 8 of UDP, 12
	// of BTH and 4 of ICRC (assets/docs/facts.md#headers-of-roce). Some have more: see wire.
	RoCEHeaders  = Ethernet + 20 + 8 + 12 + 4
	CableHeaders = RoCEHeaders - Ethernet + CableEthernet

	// TCPHeaders are those that a segment's MTU holds: 20 of IPv4, 20 of TCP and 12 of its
	// time stamps.
	TCPHeaders = 52
)

// How near to what the rail can do a bandwidth has to be.
const (
	PassShare = 0.95
	WarnShare = 0.80
	// OverLimit: above the physical limit by more than this, the number or its
	// unit is wrong: 12,000 "MB/sec" over 100G (assets/docs/facts.md#units-of-perftest).
	OverLimit = 1.02
)

// gen5x4SmallMTU is what one PCIe Gen5 x4 half of a DGX Spark is expected to carry at a
// RoCE MTU of 1024: one measured run (assets/docs/facts.md#bandwidth-at-a-roce-mtu-of-1024).
const gen5x4SmallMTU = 92.6

// A Band is what a rail should reach, in Gb/s of payload.
type Band struct {
	Expected float64 // 0 where there is no band
	From     string
	Limit    float64 // what physics allow; 0 where unknown
	None     string  // why there is no band
}

// BandOf derives the band of a pair from both of its ends and the RoCE MTU. PCIe
// counts as what the device could have: a link that came up narrower is a cause,
// not an excuse.
func BandOf(rig steps.Rig, p steps.Pair, mtu int) Band {
	var b Band
	payload := float64(mtu)
	for _, e := range steps.Ends {
		r := rig.Rail(p, e)
		switch {
		case mtu <= 0:
			return Band{None: "the RoCE MTU is unknown"}
		case r.PCI.Addr == "" && r.Layer != "InfiniBand":
			return Band{None: "soft-RoCE is as fast as the processor"}
		case r.RateGbps <= 0:
			return Band{None: fmt.Sprintf("the link rate of %s on %s is unknown", r.Dev, rig.NameOf(e))}
		}
		link := r.RateGbps * payload / (payload + CableHeaders)
		b.Lower(link, fmt.Sprintf("a link of %g Gb/s at RoCE MTU %d", r.RateGbps, mtu))
		b.Limit = Lesser(b.Limit, link)
		pcie, _ := MaxCeiling(r)
		gtps, width := r.PCI.MaxGTps, r.PCI.MaxWidth
		if pcie == 0 {
			pcie, _ = Ceiling(r)
			gtps, width = r.PCI.GTps, r.PCI.Width
		}
		if pcie == 0 {
			continue
		}
		pcie *= payload / (payload + RoCEHeaders)
		b.Lower(pcie, fmt.Sprintf("%s at RoCE MTU %d", Slot(gtps, width), mtu))
		b.Limit = Lesser(b.Limit, pcie)
		if gtps == 32 && width == 4 && mtu <= 1024 {
			b.Lower(gen5x4SmallMTU, fmt.Sprintf("one PCIe Gen5 x4 half at RoCE MTU %d, as measured on DGX Spark", mtu))
		}
	}
	return b
}

func (b *Band) Lower(gbps float64, from string) {
	if b.Expected == 0 || gbps < b.Expected {
		b.Expected, b.From = gbps, from
	}
}

func Lesser(a, b float64) float64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// AgreedMTU is the RoCE MTU of a test: what perftest says, or the smaller one of
// the two ends.
func AgreedMTU(rig steps.Rig, p steps.Pair, reported int) int {
	if reported > 0 {
		return reported
	}
	return min(rig.Rail(p, steps.Here).MTU, rig.Rail(p, steps.Peer).MTU)
}

// Narrow reports whether a rail's PCIe link is less than its device could have.
func Narrow(r steps.Rail) bool {
	now, _ := Ceiling(r)
	best, _ := MaxCeiling(r)
	return now > 0 && best > 0 && now < 0.99*best
}
