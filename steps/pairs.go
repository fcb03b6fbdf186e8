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

// LeadsElsewhere reports whether a rail shares a subnet with a rail of a node outside the link under test.
func (r Rig) LeadsElsewhere(rail Rail) bool {
	return slices.ContainsFunc(r.Nodes[len(Ends):], func(n Node) bool { return leads(rail, n) })
}

// Meet reports whether two rails are in one subnet.
func Meet(a, b Rail) bool { _, ok := shared(a, b); return ok }

// leads reports whether a rail is in one subnet with one of a node's.
func leads(rail Rail, to Node) bool {
	return slices.ContainsFunc(to.Rails, func(other Rail) bool { return Meet(rail, other) })
}

// InRing reports whether three nodes or more are cabled each to its two neighbours, without a switch: by the
// subnets of their rails, and in whatever order they stand.
func (r Rig) InRing() bool { return r.ring() != nil }

// Around are all nodes in the order in which each sends to the next, in what goes around all of them: along the
// cables where these are a ring, the rig's own elsewhere. It begins with Here, and goes on to the peer where a cable
// leads there.
func (r Rig) Around() []End {
	if ring := r.ring(); ring != nil {
		return ring
	}
	var all []End
	for i := range r.Nodes {
		all = append(all, End(i))
	}
	return all
}

// ring are the nodes of a ring along its cables; nil where there is none. Two rings side by side are none.
func (r Rig) ring() []End {
	if len(r.Nodes) < 3 || r.Switched() {
		return nil
	}
	neighbours := make([][]End, len(r.Nodes))
	for i := range r.Nodes {
		for j := range r.Nodes {
			if i != j && r.Joined(End(i), End(j)) {
				neighbours[i] = append(neighbours[i], End(j))
			}
		}
		if len(neighbours[i]) != 2 {
			return nil
		}
	}
	order := []End{Here}
	for len(order) < len(r.Nodes) {
		both := neighbours[order[len(order)-1]]
		at := slices.IndexFunc(both, func(e End) bool { return !slices.Contains(order, e) })
		if at < 0 {
			return nil
		}
		order = append(order, both[at])
	}
	return order
}

// Joined reports whether a rail of one node is in one subnet with a rail of another.
func (r Rig) Joined(a, b End) bool {
	return slices.ContainsFunc(r.At(a).Rails, func(rail Rail) bool { return leads(rail, r.At(b)) })
}

// Switched reports whether a rail of each node is in one subnet.
func (r Rig) Switched() bool {
	return len(r.Nodes) > 0 && slices.ContainsFunc(r.Nodes[0].Rails, func(rail Rail) bool {
		return !slices.ContainsFunc(r.Nodes[1:], func(n Node) bool { return !leads(rail, n) })
	})
}

// Cabled are the links of a rig that exist or should exist, and those of them from each node to the next. On
// a switch these are all links. In a ring of more than three, nodes that are not neighbours have none: no
// rail of one leads to the other, and one of them has no rail without a peer. A node that would have no link
// at all has lost it, and gets all links.
func (r Rig) Cabled() (all, next []Link) {
	nodes := r.byNo()
	rails := subnetsOf(nodes)
	loose := rails.loose(nodes)
	links := Links(len(nodes))
	there, lost := make([]bool, len(links)), make([]bool, len(nodes))
	for i := range lost {
		lost[i] = true
	}
	for i, l := range links {
		there[i] = nodes[l.Here].Err != "" || nodes[l.Peer].Err != "" || loose[l.Here] && loose[l.Peer] ||
			slices.ContainsFunc(rails[l.Here], func(p netip.Prefix) bool { return rails.lead(p, l.Peer) })
		if there[i] {
			lost[l.Here], lost[l.Peer] = false, false
		}
	}
	for i, l := range links {
		if there[i] || lost[l.Here] || lost[l.Peer] {
			all = append(all, l)
		}
	}
	if len(all) == len(links) {
		return all, Ring(len(nodes))
	}
	return all, inTurn(all, len(nodes))
}

// inTurn are those of some links that lead from each node to the next.
func inTurn(links []Link, nodes int) (next []Link) {
	degree := make([]int, nodes)
	for _, l := range links {
		if a, b := degree[l.Here], degree[l.Peer]; a == 0 || b == 0 || a == 1 && b == 1 {
			next = append(next, l)
			degree[l.Here]++
			degree[l.Peer]++
		}
	}
	return next
}

// The subnets of every node's rails. They are read once: each is held against those of all other nodes.
type subnets [][]netip.Prefix

func subnetsOf(nodes []Node) subnets {
	rails := make(subnets, len(nodes))
	for i, n := range nodes {
		for _, rail := range n.Rails {
			p, _ := prefix(rail)
			rails[i] = append(rails[i], p)
		}
	}
	return rails
}

// lead reports whether a rail in a subnet leads to another node.
func (s subnets) lead(p netip.Prefix, other int) bool {
	return slices.ContainsFunc(s[other], func(q netip.Prefix) bool { return inOne(p, q) })
}

// loose are the nodes that have a rail without a peer, or none that is known.
func (s subnets) loose(nodes []Node) []bool {
	away := slices.ContainsFunc(nodes, func(n Node) bool { return n.Err != "" })
	loose := make([]bool, len(nodes))
	for i, n := range nodes {
		loose[i] = n.Err != "" || len(n.Rails) == 0
		for j, rail := range n.Rails {
			leadsOn := false
			for other := 0; other < len(nodes) && rail.Netdev.Carrier && !away && !leadsOn; other++ {
				leadsOn = other != i && s.lead(s[i][j], other)
			}
			loose[i] = loose[i] || rail.Netdev.Carrier && !away && !leadsOn
		}
	}
	return loose
}

// Doubled are links of nodes that share an IPv4 address which is a rail's, or its bond's, at one of them; of
// more than two, from each to the next. A container's bridge has the same address on all nodes, and does not
// count.
func (r Rig) Doubled() []Link {
	nodes := map[netip.Addr][]int{}
	rails := map[netip.Addr]bool{}
	for no, n := range r.byNo() {
		for _, d := range n.Netdevs {
			carries := slices.ContainsFunc(n.Rails, func(rail Rail) bool {
				return rail.Netdev.Name == d.Name || rail.Netdev.Master == d.Name
			})
			for _, text := range d.Addrs {
				p, err := netip.ParsePrefix(text)
				if a := p.Addr(); err == nil && a.Is4() {
					rails[a] = rails[a] || carries
					nodes[a] = append(nodes[a], no)
				}
			}
		}
	}
	var all []Link
	for a := range rails {
		for i, no := range nodes[a][1:] {
			if before := nodes[a][i]; rails[a] && before != no {
				all = append(all, Link{before, no})
			}
		}
	}
	slices.SortFunc(all, func(a, b Link) int { return cmp.Or(a.Here-b.Here, a.Peer-b.Peer) })
	return slices.Compact(all)
}

// shared is the subnet that both rails are in. One address on both ends is a
// mistake, and no pair.
func shared(a, b Rail) (string, bool) {
	pa, _ := prefix(a)
	pb, _ := prefix(b)
	if !inOne(pa, pb) {
		return "", false
	}
	return pa.Masked().String(), true
}

// inOne reports whether two addresses are in one subnet, and two.
func inOne(a, b netip.Prefix) bool {
	return a.IsValid() && b.IsValid() && a.Addr() != b.Addr() && a.Contains(b.Addr()) && b.Contains(a.Addr())
}

// prefix is the subnet of a rail's address, which identifies the rails that can reach each other.
func prefix(r Rail) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", r.Addr, r.Prefix))
	return p, err == nil && r.Addr != ""
}

// LeftOut says, a sentence each, which ports of a rig of two nodes are up and have an address at one end, but
// form no rail because of the other end: they would silently not be measured. Ports without an address at
// either end are not rails, and with more nodes a port may lead to another one.
func (r Rig) LeftOut() (all []string) {
	if len(r.Nodes) != len(Ends) {
		return nil
	}
	paired := func(e End, rail int) bool {
		return slices.ContainsFunc(r.Pairs, func(p Pair) bool { return p.Rails[e] == rail })
	}
	for _, e := range Ends {
		node, other := r.At(e), r.At(e.Other())
		for i, rail := range node.Rails {
			if paired(e, i) || rail.State != "ACTIVE" || rail.Addr == "" ||
				rail.Netdev.Name == node.RouteDev || rail.Netdev.Name == node.SSHDev {
				continue
			}
			at := slices.IndexFunc(other.Rails, func(o Rail) bool { return o.Dev == rail.Dev && o.Port == rail.Port })
			if at >= 0 && paired(e.Other(), at) {
				continue
			}
			if why := r.alone(e, rail, at); why != "" {
				all = append(all, why)
			}
		}
	}
	return all
}

// alone says why a rail forms no pair with the rail of the same device at the other end, at; empty where the other end
// says it.
func (r Rig) alone(e End, rail Rail, at int) string {
	own, far := r.NameOf(e), r.NameOf(e.Other())
	if at < 0 {
		return fmt.Sprintf("%s has no %s, and %s has %s there", far, rail.Dev, own, rail.Addr)
	}
	switch other := r.At(e.Other()).Rails[at]; {
	case other.Addr == "":
		return fmt.Sprintf("%s has no address on %s, and %s has %s there", far, rail.Dev, own, rail.Addr)
	case e != Here:
		return ""
	case other.Addr == rail.Addr:
		return fmt.Sprintf("both nodes have %s on %s", rail.Addr, rail.Dev)
	case other.State == "ACTIVE":
		return fmt.Sprintf("%s has %s/%d on %s and %s/%d on %s, which are in no subnet together", rail.Dev, rail.Addr,
			rail.Prefix, own, other.Addr, other.Prefix, far)
	}
	return ""
}
