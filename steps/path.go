package steps

import (
	"net/netip"
	"slices"
)

// A Path is how TCP gets from one node to the other over the rails: the
// interface at each end, and the address that it has in the subnet of both.
type Path struct {
	Netdevs [2]Netdev // by End
	Addrs   [2]string
	// Bonded says that the interface is a bond. Rails are indexes of the rails
	// whose interfaces carry it: a bond's slaves, or the one.
	Bonded [2]bool
	Rails  [2][]int
}

// Path finds it: over the bonds that hold rails where there are any, else over
// the first pair of rails. ok is false where no address leads to the other node.
func (r Rig) Path() (p Path, ok bool) {
	var ends [2][]Path
	if r.bonded(Here) || r.bonded(Peer) { // the common case needs none of it, and many links are looked at
		ends = [2][]Path{r.interfaces(Here), r.interfaces(Peer)}
	}
	best := 0
	for _, a := range ends[Here] {
		for _, b := range ends[Peer] {
			bonds := 0
			for _, bonded := range [2]bool{a.Bonded[Here], b.Bonded[Peer]} {
				if bonded {
					bonds++
				}
			}
			if bonds <= best {
				continue
			}
			local, remote, joined := share(a.Netdevs[Here], b.Netdevs[Peer])
			if !joined {
				continue
			}
			best, ok = bonds, true
			p = Path{
				Netdevs: [2]Netdev{a.Netdevs[Here], b.Netdevs[Peer]}, Addrs: [2]string{local, remote},
				Bonded: [2]bool{a.Bonded[Here], b.Bonded[Peer]}, Rails: [2][]int{a.Rails[Here], b.Rails[Peer]},
			}
		}
	}
	if ok || len(r.Pairs) == 0 {
		return p, ok
	}
	first := r.Pairs[0]
	for _, e := range Ends {
		if i := first.Rails[e]; i < 0 || i >= len(r.At(e).Rails) {
			return Path{}, false
		}
		rail := r.Rail(first, e)
		p.Netdevs[e], p.Addrs[e], p.Rails[e] = rail.Netdev, rail.Addr, []int{first.Rails[e]}
	}
	return p, true
}

func (r Rig) bonded(e End) bool {
	return slices.ContainsFunc(r.At(e).Rails, func(rail Rail) bool { return rail.Netdev.Master != "" })
}

// interfaces are those of a node that a path may end at: its bonds that hold
// rails, and the rails' own.
func (r Rig) interfaces(e End) []Path {
	var all []Path
	at := map[string]int{}
	add := func(d Netdev, bonded bool, rail int) {
		if i, ok := at[d.Name]; ok {
			all[i].Rails[e] = append(all[i].Rails[e], rail)
			return
		}
		at[d.Name] = len(all)
		var p Path
		p.Netdevs[e], p.Bonded[e], p.Rails[e] = d, bonded, []int{rail}
		all = append(all, p)
	}
	for i, rail := range r.At(e).Rails {
		if rail.Netdev.Master == "" {
			add(rail.Netdev, false, i)
			continue
		}
		for _, d := range r.At(e).Netdevs {
			if d.Name == rail.Netdev.Master {
				add(d, true, i)
			}
		}
	}
	return all
}

// share finds an IPv4 subnet that both interfaces are in.
func share(a, b Netdev) (local, remote string, ok bool) {
	for _, x := range a.Addrs {
		for _, y := range b.Addrs {
			p, err := netip.ParsePrefix(x)
			q, also := netip.ParsePrefix(y)
			if err == nil && also == nil && p.Addr().Is4() && p.Addr() != q.Addr() &&
				p.Contains(q.Addr()) && q.Contains(p.Addr()) {
				return p.Addr().String(), q.Addr().String(), true
			}
		}
	}
	return "", "", false
}
