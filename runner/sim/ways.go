package sim

import (
	"math"
	"net/netip"
	"slices"
)

// A way is how packets leave a node for an address.
type way struct {
	dev    *netdev
	src    netip.Addr
	via    netip.Addr // the gateway, where there is one
	peer   *netdev    // who answers; nil where nobody does
	prefix netip.Prefix
	local  bool
}

// route finds the way to an address, as the kernel would: the longest prefix, the
// least metric, and the first of those that are equal.
func (n *stack) route(dst netip.Addr) (way, bool) {
	for _, d := range n.netdevs {
		for _, a := range d.addrs {
			if a.Addr() == dst || d.kind == "loopback" && a.Masked().Contains(dst) {
				return way{dev: n.netdevs[0], src: dst, peer: d, local: true}, true
			}
		}
	}
	var best *route
	for i := range n.routes {
		r := &n.routes[i]
		d := n.netdev(r.dev)
		if d == nil || !d.up || r.table != mainTable || !r.dst.Contains(dst) {
			continue
		}
		if best == nil || r.dst.Bits() > best.dst.Bits() || r.dst.Bits() == best.dst.Bits() && r.metric < best.metric {
			best = r
		}
	}
	if best == nil {
		return way{}, false
	}
	w := way{dev: n.netdev(best.dev), src: best.src, via: best.via, prefix: best.dst}
	if !w.src.IsValid() {
		w.src = w.dev.ipv4().Addr()
	}
	w.peer = n.neighbour(w.dev, dst)
	return w, true
}

// mismatch says that the two ends of a way don't take each other's frames.
func (w way) mismatch() bool {
	low, high := math.MaxInt, 0
	for _, top := range []*netdev{w.dev, w.peer} {
		for _, d := range append(top.slaves(), top) {
			low, high = min(low, d.mtu), max(high, d.mtu)
		}
	}
	return low != high
}

// lanes are where a stream leaves and where it arrives, one pair for each link
// that it uses: a bond's slave is chosen by the hash of its policy, and the cable
// leads to the other end's. Only balance-rr deals one stream out to all.
func (w way) lanes(hash int) [][2]*function {
	out := []*netdev{w.dev}
	if b := w.dev.bond; b != nil {
		out = nil
		for _, s := range w.dev.slaves() {
			if s.running() && (w.peer.bond != nil || slices.Equal(s.wires(), w.peer.wires())) {
				out = append(out, s)
			}
		}
		switch {
		case len(out) == 0:
			out = w.dev.slaves()[:1]
		case b.mode == "active-backup":
			out = []*netdev{w.dev.activeSlave()}
		case b.mode == "balance-rr":
		case b.policy == "layer3+4" || b.policy == "encap3+4":
			out = out[hash%len(out):][:1]
		default:
			out = out[:1] // one address, one slave
		}
	}
	var pairs [][2]*function
	for _, s := range out {
		pairs = append(pairs, [2]*function{s.fn, w.arrives(s).fn})
	}
	return pairs
}

// arrives is the interface at the other end of a link's cable.
func (w way) arrives(out *netdev) *netdev {
	for _, s := range w.peer.slaves() {
		if slices.Equal(s.wires(), out.wires()) {
			return s
		}
	}
	if w.peer.bond != nil {
		return w.peer.slaves()[0]
	}
	return w.peer
}
