package sim

import (
	"cmp"
	"net/netip"
	"slices"
)

const (
	mainTable  = "main"
	localTable = "local"
)

// A route is one entry of a routing table.
type route struct {
	kind   string // empty for unicast, else local, broadcast or multicast
	dst    netip.Prefix
	via    netip.Addr
	dev    string
	src    netip.Addr
	proto  string // kernel, boot, static, dhcp …
	scope  string // global, link or host
	table  string
	metric int
}

// A neighbour is an entry of the neighbour table.
type neighbour struct {
	addr   netip.Addr
	mac    string
	dev    string
	learnt bool // and not told
}

// connect makes the route to an address's own network, which the kernel does for
// an interface that is up.
func (d *netdev) connect(a address) {
	if !d.up || d.kind == "loopback" || a.noPrefixRoute || !a.Addr().Is4() || a.Bits() == 32 {
		return
	}
	r := route{dst: a.Masked(), dev: d.name, src: a.Addr(), proto: "kernel", scope: "link", table: mainTable}
	if !slices.Contains(d.stack.routes, r) {
		d.stack.routes = append(d.stack.routes, r)
	}
}

func (d *netdev) disconnect(a address) {
	d.stack.routes = slices.DeleteFunc(d.stack.routes, func(r route) bool {
		return r.dev == d.name && r.proto == "kernel" && r.dst == a.Masked() && r.src == a.Addr()
	})
}

// listed are the routes of a family, as the kernel lists them: by table, by
// network, by metric, and then in the order in which they came.
func (n *stack) listed(v6 bool) []route {
	var rs []route
	for _, r := range n.routes {
		if r.dst.Addr().Is6() == v6 {
			rs = append(rs, r)
		}
	}
	for _, d := range n.netdevs {
		for _, a := range d.addrs {
			if a.Addr().Is6() == v6 {
				rs = append(rs, d.own(a)...)
			}
		}
	}
	rank := func(table string) int { return map[string]int{mainTable: 1, localTable: 2}[table] }
	slices.SortStableFunc(rs, func(a, b route) int {
		return cmp.Or(
			rank(a.table)-rank(b.table), cmp.Compare(a.table, b.table), a.dst.Addr().Compare(b.dst.Addr()),
			b.dst.Bits()-a.dst.Bits(), a.metric-b.metric)
	})
	return rs
}

// own are the routes that every address has in the local table, and for IPv6 the
// one to its network.
func (d *netdev) own(a address) []route {
	alone := netip.PrefixFrom(a.Addr(), a.Addr().BitLen())
	if a.Addr().Is6() {
		rs := []route{{kind: "local", dst: alone, dev: d.name, proto: "kernel", table: localTable}}
		if d.up && d.kind != "loopback" && !a.noPrefixRoute {
			rs = append(rs, route{dst: a.Masked(), dev: d.name, proto: "kernel", table: mainTable, metric: 256})
		}
		return rs
	}
	r := route{kind: "local", dst: alone, dev: d.name, src: a.Addr(), proto: "kernel", scope: "host", table: localTable}
	rs := []route{r}
	if d.kind == "loopback" {
		r.dst = a.Masked()
		rs = append(rs, r)
	}
	if last := broadcastOf(a.Prefix); d.up && last.IsValid() {
		rs = append(rs, route{
			kind: "broadcast", dst: netip.PrefixFrom(last, 32), dev: d.name,
			src: a.Addr(), proto: "kernel", scope: "link", table: localTable,
		})
	}
	return rs
}
