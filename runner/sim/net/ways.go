package net

import (
	"math"
	"net/netip"
	"slices"
)

// A Way is how packets leave a node for an address.
type Way struct {
	// Never nil in a way that was found.
	Out *Netdev
	// The packets' source address unless a program binds another.
	Source netip.Addr
	Via    netip.Addr // the gateway, where there is one
	Peer   *Netdev    // the one that answers; nil without an answer
	prefix netip.Prefix
	// It stays on the node, and Out is lo.
	Local bool
}

// own is the node's interface that has an address, or a whole network of its own.
func (n *Stack) own(dst netip.Addr) *Netdev {
	for _, d := range n.Netdevs {
		for _, a := range d.Addrs {
			if a.Addr() == dst || d.Kind == "loopback" && a.Masked().Contains(dst) {
				return d
			}
		}
	}
	return nil
}

// Route finds the way to an address, as the kernel would: the longest prefix, the
// least metric, and the first of those that are equal.
func (n *Stack) Route(dst netip.Addr) (Way, bool) {
	// The local table is asked before all others: a node's own address is never looked for outside.
	if d := n.own(dst); d != nil {
		return Way{Out: n.Netdevs[0], Source: dst, Peer: d, Local: true}, true
	}
	var best *Route
	for i := range n.Routes {
		r := &n.Routes[i]
		d := n.Netdev(r.Dev)
		if d == nil || !d.Up || r.Table != MainTable || !r.Dst.Contains(dst) {
			continue
		}
		if best == nil || r.Dst.Bits() > best.Dst.Bits() || r.Dst.Bits() == best.Dst.Bits() && r.Metric < best.Metric {
			best = r
		}
	}
	if best == nil {
		return Way{}, false
	}
	w := Way{Out: n.Netdev(best.Dev), Source: best.Src, Via: best.Via, prefix: best.Dst}
	if !w.Source.IsValid() {
		next := dst
		if w.Via.IsValid() {
			next = w.Via
		}
		w.Source = w.Out.first(next, w.Out.IPv4().Addr())
	}
	w.Peer = n.Answers(w.Out, dst)
	return w, true
}

// Mismatch says that the two ends of a way don't take each other's frames.
func (w Way) Mismatch() bool {
	// A slave that has another MTU than its bond counts as well: it drops what it can't send.
	low, high := math.MaxInt, 0
	for _, top := range []*Netdev{w.Out, w.Peer} {
		for _, d := range append(top.Slaves(), top) {
			low, high = min(low, d.MTU), max(high, d.MTU)
		}
	}
	return low != high
}

// Lanes are where a stream leaves and where it arrives, one pair for each link
// that it uses: a bond's slave is chosen by the hash of its policy, and the cable
// leads to the other end's. Only balance-rr deals one stream out to all.
func (w Way) Lanes(hash int) [][2]*Function {
	out := []*Netdev{w.Out}
	if b := w.Out.Bond; b != nil {
		out = nil
		for _, s := range w.Out.Slaves() {
			if s.Running() && (w.Peer.Bond != nil || slices.Equal(s.Wires(), w.Peer.Wires())) {
				out = append(out, s)
			}
		}
		switch {
		// All links are down. The flow exists and stalls, as a real one does until TCP gives up.
		case len(out) == 0:
			out = w.Out.Slaves()[:1]
		case b.Mode == "active-backup":
			out = []*Netdev{w.Out.activeSlave()}
		case b.Mode == "balance-rr":
		case b.Policy == "layer3+4" || b.Policy == "encap3+4":
			out = out[hash%len(out):][:1]
		default:
			out = out[:1] // one address, one slave
		}
	}
	var pairs [][2]*Function
	for _, s := range out {
		pairs = append(pairs, [2]*Function{s.Func, w.arrives(s).Func})
	}
	return pairs
}

// arrives is the interface at the other end of a link's cable.
func (w Way) arrives(out *Netdev) *Netdev {
	for _, s := range w.Peer.Slaves() {
		if slices.Equal(s.Wires(), out.Wires()) {
			return s
		}
	}
	if w.Peer.Bond != nil {
		return w.Peer.Slaves()[0]
	}
	return w.Peer
}
