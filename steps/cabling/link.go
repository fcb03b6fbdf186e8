// Package cabling reports what is wired to what. It goes by which interface answered for an address, and not
// by the addresses themselves. Linux answers for each of its addresses on any interface, so the interface
// that answers is the one that the cable leads to. The package runs nothing itself: scripts run elsewhere,
// and their output is passed in.
package cabling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// A Link is what its rails are joined with, as both nodes learnt it.
type Link struct {
	Rig steps.Rig
	// Facts are what each end's script reported: "NETDEV MAC" and "NETDEV neighbour ADDRESS", with MACs.
	Facts [2]map[string]string
}

// Answered is the rail of the other end that answered for a pair's address; -1 where no one did, or where what
// answered is not a rail of that node's. A node's script reports both facts, what it has learnt and its own MACs, so
// it takes both nodes' to report one cable.
func (w Link) Answered(i int, e steps.End) int {
	p := w.Rig.Pairs[i]
	own, other := w.Rig.Rail(p, e), w.Rig.Rail(p, e.Other())
	mac := w.Facts[e][own.Netdev.Name+" neighbour "+other.Addr]
	return slices.IndexFunc(w.Rig.At(e.Other()).Rails, func(r steps.Rail) bool {
		return mac != "" && strings.EqualFold(mac, w.Facts[e.Other()][r.Netdev.Name+" MAC"])
	})
}

// Crossed is the pair of rails that stands in a pair's place, counted from 0, where each answers for
// the other's address, at both ends; -1 where none does. Behind a connector are several rails, and any of
// them may answer first: then it is the connectors that stand in each other's place.
func (w Link) Crossed(i int) int {
	same := func(a, b int, _ steps.End) bool { return a == b }
	if j := w.crossed(i, same); j >= 0 {
		return j
	}
	return w.crossed(i, func(a, b int, e steps.End) bool {
		return a == b || w.connector(a, e) >= 0 && w.connector(a, e) == w.connector(b, e)
	})
}

// crossed is Crossed where an answer is another rail's that is the same as a pair's own.
func (w Link) crossed(i int, same func(a, b int, e steps.End) bool) int {
	own := w.Rig.Pairs[i]
	return slices.IndexFunc(w.Rig.Pairs, func(q steps.Pair) bool {
		j := slices.Index(w.Rig.Pairs, q)
		for _, e := range steps.Ends {
			f := e.Other()
			if same(own.Rails[f], q.Rails[f], f) || !same(w.Answered(i, e), q.Rails[f], f) ||
				!same(w.Answered(j, e), own.Rails[f], f) {
				return false
			}
		}
		return true
	})
}

// connector is the number of the one that a rail of an end leaves by; -1 where nothing reports it, and where there is
// no such rail.
func (w Link) connector(rail int, e steps.End) int {
	if rails := w.Rig.At(e).Rails; rail >= 0 && rail < len(rails) {
		return rails[rail].PhysPort
	}
	return -1
}

// Picture is which port leads to which, a line a rail.
func (w Link) Picture() steps.Table {
	t := steps.Table{Title: "Cabling, by who answers", Columns: []steps.Column{
		{Name: "rail"},
		{Name: w.Rig.NameOf(steps.Here)},
		{Name: "is joined with"},
		{Name: w.Rig.NameOf(steps.Peer)},
	}}
	for i, p := range w.Rig.Pairs {
		here, there := w.Rig.Rail(p, steps.Here), w.Rig.Rail(p, steps.Peer)
		out, back := w.Answered(i, steps.Here), w.Answered(i, steps.Peer)
		line, far := "unknown: no answer", "–"
		switch straight := p.Rails[steps.Peer]; {
		case out == straight && back == p.Rails[steps.Here]:
			line, far = "═══", port(there)
		case out == straight:
			line, far = "══? one way", port(there)
		case out >= 0:
			line, far = "═╳═", port(w.Rig.Nodes[steps.Peer].Rails[out])
		case back >= 0:
			line, far = "?══ one way", port(there)
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), port(here), line, far})
	}
	return t
}

// port names a rail with the connector that it leaves by.
func port(r steps.Rail) string {
	if r.PhysPort < 0 {
		return r.Netdev.Name
	}
	return fmt.Sprintf("%s, port %d", r.Netdev.Name, r.PhysPort)
}
