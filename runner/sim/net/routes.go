package net

import (
	"cmp"
	"net/netip"
	"slices"
)

const (
	// By the names of /etc/iproute2/rt_tables; the numbers are 254 and 255.
	MainTable  = "main"
	LocalTable = "local"
)

// A Route is one entry of a routing table.
type Route struct {
	// Only the local table has others than unicast here.
	Kind string // empty for unicast, else local, broadcast or multicast
	Dst  netip.Prefix
	// Invalid where the destination is on the link itself.
	Via netip.Addr
	Dev string
	// The address that packets get; invalid where the interface's first does.
	Src   netip.Addr
	Proto string // kernel, boot, static, dhcp …
	Scope string // global, link or host
	Table string
	// The least wins among routes of one network.
	Metric int
	OnLink bool // its gateway is taken to be there, whatever the addresses say
}

// A Neighbour is an entry of the neighbour table.
type Neighbour struct {
	Addr netip.Addr
	// As text: it is shown and compared, and never counted with.
	MAC    string
	Dev    string
	Learnt bool // and not set
}

// connect makes the route to an address's own network, which the kernel does for
// an interface that is up.
func (d *Netdev) connect(a Address) {
	if !d.Up || d.Kind == "loopback" || a.NoPrefixRoute || !a.Addr().Is4() || a.Bits() == 32 {
		return
	}
	r := Route{Dst: a.Masked(), Dev: d.Name, Src: a.Addr(), Proto: "kernel", Scope: "link", Table: MainTable}
	if !slices.Contains(d.Stack.Routes, r) {
		d.Stack.Routes = append(d.Stack.Routes, r)
	}
}

// disconnect removes that route, and no other to the same network: routes that were added by hand stay.
func (d *Netdev) disconnect(a Address) {
	d.Stack.Routes = slices.DeleteFunc(d.Stack.Routes, func(r Route) bool {
		return r.Dev == d.Name && r.Proto == "kernel" && r.Dst == a.Masked() && r.Src == a.Addr()
	})
}

// Listed are the routes of a family, as the kernel lists them: by table, by
// network, by metric, and then in the order in which they came.
func (n *Stack) Listed(v6 bool) []Route {
	var rs []Route
	for _, r := range n.Routes {
		if r.Dst.Addr().Is6() == v6 {
			rs = append(rs, r)
		}
	}
	for _, d := range n.Netdevs {
		for _, a := range d.Addrs {
			if a.Addr().Is6() != v6 {
				continue
			}
			// Two addresses of a network have one route to it.
			for _, r := range d.own(a) {
				if !slices.Contains(rs, r) {
					rs = append(rs, r)
				}
			}
		}
	}
	rank := func(table string) int { return map[string]int{MainTable: 1, LocalTable: 2}[table] }
	slices.SortStableFunc(rs, func(a, b Route) int {
		return cmp.Or(
			rank(a.Table)-rank(b.Table), cmp.Compare(a.Table, b.Table), a.Dst.Addr().Compare(b.Dst.Addr()),
			b.Dst.Bits()-a.Dst.Bits(), a.Metric-b.Metric)
	})
	return rs
}

// own are the routes that every address has in the local table, and for IPv6 the
// one to its network.
func (d *Netdev) own(a Address) []Route {
	alone := netip.PrefixFrom(a.Addr(), a.Addr().BitLen())
	if a.Addr().Is6() {
		rs := []Route{{Kind: "local", Dst: alone, Dev: d.Name, Proto: "kernel", Table: LocalTable}}
		if d.Up && d.Kind != "loopback" && !a.NoPrefixRoute {
			rs = append(rs, Route{Dst: a.Masked(), Dev: d.Name, Proto: "kernel", Table: MainTable, Metric: 256})
		}
		return rs
	}
	// A secondary address is sent from as its network's first one, which has the broadcast, too.
	first := d.first(a.Addr(), a.Addr())
	r := Route{Kind: "local", Dst: alone, Dev: d.Name, Src: first, Proto: "kernel", Scope: "host", Table: LocalTable}
	rs := []Route{r}
	if d.Kind == "loopback" {
		r.Dst = a.Masked()
		rs = append(rs, r)
	}
	if last := BroadcastOf(a.Prefix); d.Up && last.IsValid() && first == a.Addr() {
		rs = append(rs, Route{
			Kind: "broadcast", Dst: netip.PrefixFrom(last, 32), Dev: d.Name,
			Src: a.Addr(), Proto: "kernel", Scope: "link", Table: LocalTable,
		})
	}
	return rs
}

// first is the first of the interface's addresses of IPv4 whose network an address is in, which is what the kernel
// sends from to there (inet_select_addr); otherwise where there is none.
func (d *Netdev) first(to, otherwise netip.Addr) netip.Addr {
	for _, a := range d.Addrs {
		if a.Addr().Is4() && a.Masked().Contains(to) {
			return a.Addr()
		}
	}
	return otherwise
}

// Neighbouring is the interface in one of whose networks of IPv6 an address is; empty where there is none.
func (n *Stack) Neighbouring(addr netip.Addr) string {
	for _, d := range n.Netdevs {
		for _, a := range d.Addrs {
			if d.Up && a.Addr().Is6() && a.Scope != "link" && a.Masked().Contains(addr) {
				return d.Name
			}
		}
	}
	return ""
}

// OnLink says that a gateway is in a network of the route's own interface.
func (n *Stack) OnLink(r Route) bool {
	return slices.ContainsFunc(n.Routes, func(x Route) bool {
		return x.Dev == r.Dev && !x.Via.IsValid() && x.Dst.Contains(r.Via)
	})
}

// Neighbours are the node's neighbour entries: those that were set, and all that would answer. In a wide rig
// only the nodes that it has spoken with, since the kernel has no room for all.
func (n *Stack) Neighbours() []Neighbour {
	list := slices.Clone(n.Fixed)
	for _, d := range n.Netdevs {
		a := d.IPv4()
		if !a.IsValid() || d.Kind == "loopback" {
			continue
		}
		for _, other := range n.others() {
			if n.Fabric.Wide() && !n.met[other] {
				continue
			}
			for _, x := range other.Netdevs {
				list = append(list, n.learnt(d, a, x)...)
			}
		}
	}
	return list
}

// learnt is what the node would learn of another's interface by asking on its own, which
// has the address a.
func (n *Stack) learnt(d *Netdev, a netip.Prefix, x *Netdev) (list []Neighbour) {
	for _, b := range x.Addrs {
		who := (*Netdev)(nil)
		if b.Addr().Is4() && a.Masked().Contains(b.Addr()) {
			who = n.Answers(d, b.Addr())
		}
		if who == nil || slices.ContainsFunc(n.Fixed,
			func(f Neighbour) bool { return f.Addr == b.Addr() && f.Dev == d.Name }) {
			continue
		}
		if who.has(b.Addr()) {
			who = x // two may have it
		}
		list = append(list, Neighbour{Addr: b.Addr(), MAC: who.MACText(), Dev: d.Name, Learnt: true})
	}
	return list
}
