package traffic

import "github.com/railbench/railbench/steps/limits"

// What a packet carries next to its payload, in the bytes that a port counts: Ethernet without preamble, gap and FCS.
// The sizes are those of the InfiniBand specification, volume 1, chapter 9 and annexes A16 and A17 (RoCE), and of RFC
// 7323 for TCP.
const (
	packetHeaders = limits.RoCEHeaders // each packet's; the ICRC stands behind a payload that is padded to 4 bytes
	reth          = 16                 // a WRITE's first packet, and a READ's request: where in memory
	aeth          = 4                  // an acknowledgement's, and a READ's first and last response

	segmentHeaders = limits.Ethernet + limits.TCPHeaders
)

// An operation is one of RDMA's.
type operation uint8

const (
	write operation = iota
	read
)

// packets are those that a message of some bytes is cut into.
func packets(size, mtu int) int { return max(1, (size+mtu-1)/mtu) }

// message is what one of some bytes makes ports count: wire with the data, and back at most the other way. How often
// a receiver acknowledges is its own affair, so one for each packet is the most. extra is what each packet has next
// to those headers: limits.Extra.
func (op operation) message(size, mtu, extra int) (wire, back int) {
	n := packets(size, mtu)
	last := size - (n-1)*mtu
	wire = size - last + (last+3)/4*4 + n*(packetHeaders+extra)
	switch op {
	case read:
		wire += aeth * min(n, 2)
		back = packetHeaders + extra + reth
	case write:
		wire += reth
		back = n * (packetHeaders + extra + aeth)
	}
	return wire, back
}
