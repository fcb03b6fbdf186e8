package limits

import (
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rate"
)

// What a packet carries next to its payload, bytes. Port counters see a frame without its preamble, gap and FCS,
// which are on the cable, too.
const (
	Ethernet      = 14
	CableEthernet = Ethernet + 24 // 8 of preamble, 12 of gap, 4 of FCS

	// RoCEHeaders are those of every packet of RoCE v2: Ethernet, 20 of IPv4, 8 of UDP, 12
	// of BTH and 4 of ICRC (assets/docs/facts.md#headers-of-roce). Some have more: see wire.
	RoCEHeaders  = Ethernet + 20 + 8 + 12 + 4
	CableHeaders = RoCEHeaders - Ethernet + CableEthernet
	// InfiniBandHeaders are the fewest of a packet of InfiniBand: 8 of LRH, 12 of BTH and 4 of ICRC.
	// A GRH, which takes 40, is in those that have a GID; a port's counter leaves the VCRC out.
	InfiniBandHeaders = 8 + 12 + 4

	// TCPHeaders are those that a segment's MTU holds: 20 of IPv4, 20 of TCP and 12 of its
	// time stamps.
	TCPHeaders = 52
)

// RoCE are the packets of RDMA at a RoCE MTU, over IPv4 and without a VLAN.
func RoCE(mtu int) rate.Headers { return RoCEWith(mtu, 0) }

// RoCEWith are those whose headers have some bytes more.
func RoCEWith(mtu, extra int) rate.Headers {
	return rate.Headers{Payload: mtu, Counted: RoCEHeaders + extra, Cable: CableHeaders + extra}
}

// Extra is how many more bytes of headers a rail's packets have than with IPv4 and without a VLAN: 20 with IPv6, if the
// tool printed such a GID, and 4 with a VLAN (IEEE 802.1Q), whose interface is named NAME.NUMBER.
func Extra(r steps.Rail, gid string) (bytes int) {
	if strings.Contains(gid, ":") && !r.InfiniBand() {
		bytes += 20
	}
	if _, id, ok := strings.Cut(r.Netdev.Name, "."); ok && id != "" {
		bytes += 4
	}
	return bytes
}

// TCP are full segments at an interface's MTU.
func TCP(mtu int) rate.Headers {
	return rate.Headers{Payload: mtu - TCPHeaders, Counted: TCPHeaders + Ethernet, Cable: TCPHeaders + CableEthernet}
}

// AgreedMTU is the RoCE MTU of a test: what perftest says, or the smaller one of
// the two ends.
func AgreedMTU(rig steps.Rig, p steps.Pair, reported int) int {
	if reported > 0 {
		return reported
	}
	return min(rig.Rail(p, steps.Here).MTU, rig.Rail(p, steps.Peer).MTU)
}
