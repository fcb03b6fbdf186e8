// Package rate has the units of throughput as types that don't mix: what a program sees of
// its bytes and what ports count are two things, and so are Gb/s, GB/s and MiB/s. A
// conversion is a method with a name, and takes what it needs to be right.
package rate

// A Payload is what a program sees of its own bytes a second, in Gb/s (10^9 bits).
type Payload float64

// A Wire is what a port counts: payload with headers, without preamble, gap and FCS, in
// Gb/s (10^9 bits).
type Wire float64

// GBps are 10^9 bytes of payload a second, nixlbench's unit.
type GBps float64

// MiBps are 2^20 bytes of payload a second, perftest's unit under either of its headings
// (assets/docs/facts.md#units-of-perftest).
type MiBps float64

// Gbps is the same rate in bits.
func (v GBps) Gbps() Payload { return Payload(v * 8) }

// Gbps is the same rate in bits.
func (v MiBps) Gbps() Payload { return Payload(v * (1 << 20) * 8 / 1e9) }

// MiB is the same rate in perftest's unit.
func (p Payload) MiB() MiBps { return MiBps(p * 1e9 / 8 / (1 << 20)) }

// Headers are what packets have next to their payload. The zero value has no packets.
type Headers struct {
	Payload int // bytes of a full packet's payload
	Counted int // bytes of headers that a port counts for each
	Cable   int // bytes that the cable carries for each next to its payload: those, preamble, gap and FCS
}

// Counted is what ports count for a payload in full packets.
func (p Payload) Counted(h Headers) Wire {
	if h.Payload <= 0 {
		return 0
	}
	return Wire(float64(p) * float64(h.Payload+h.Counted) / float64(h.Payload))
}

// Carried is the payload of what ports counted, in full packets: Counted's other way.
func (w Wire) Carried(h Headers) Payload {
	if h.Payload <= 0 {
		return 0
	}
	return Payload(float64(w) * float64(h.Payload) / float64(h.Payload+h.Counted))
}

// Carries is the payload that a line of a rate in Gb/s can carry in full packets.
func (h Headers) Carries(lineGbps float64) Payload {
	if h.Payload <= 0 {
		return 0
	}
	return Payload(lineGbps * float64(h.Payload) / float64(h.Payload+h.Cable))
}
