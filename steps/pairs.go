package steps

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// PairRails finds the rails that lead from one node to the other: two addresses
// in one subnet. Where a subnet holds several rails of a node, each rail is used
// once, and the likeliest is taken: the same device name, then the same
// connector, then the same PCI slot. Whether that is as it should be, the rail
// map says. The order is that of the rails of node 0: by PCI address and name.
func PairRails(here, peer Node) []Pair {
	type candidate struct {
		Pair
		likeness int
	}
	var all []candidate
	for i, a := range here.Rails {
		for j, b := range peer.Rails {
			subnet, ok := shared(a, b)
			if !ok {
				continue
			}
			c := candidate{Pair: Pair{Rails: [2]int{i, j}, Subnet: subnet}}
			if a.Dev == b.Dev && a.Port == b.Port {
				c.likeness += 4
			}
			if a.PhysPort >= 0 && a.PhysPort == b.PhysPort {
				c.likeness += 2
			}
			if a.PCI.Addr != "" && a.PCI.Addr == b.PCI.Addr {
				c.likeness++
			}
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.likeness, a.likeness) })
	var pairs []Pair
	for _, c := range all {
		taken := slices.ContainsFunc(pairs, func(p Pair) bool {
			return p.Rails[0] == c.Rails[0] || p.Rails[1] == c.Rails[1]
		})
		if !taken {
			pairs = append(pairs, c.Pair)
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Rails[0], b.Rails[0]) })
	return pairs
}

// shared is the subnet that both rails are in. One address on both ends is a
// mistake, and no pair.
func shared(a, b Rail) (string, bool) {
	pa, okA := prefix(a)
	pb, okB := prefix(b)
	if !okA || !okB || pa.Addr() == pb.Addr() || !pa.Contains(pb.Addr()) || !pb.Contains(pa.Addr()) {
		return "", false
	}
	return pa.Masked().String(), true
}

// prefix is the subnet of a rail's address, which tells the rails that can reach each
// other.
func prefix(r Rail) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", r.Addr, r.Prefix))
	return p, err == nil && r.Addr != ""
}
