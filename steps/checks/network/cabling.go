package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
)

// What is wired to what: by who answered for an address, and not by what the addresses say. Linux
// answers for each of its addresses on any interface, so the one that answers is the one that the
// cable leads to.

// A wiring is what a rail is joined with, as both nodes learnt it.
type wiring struct {
	rig   steps.Rig
	facts [2]map[string]string
}

// answered is the rail of the other end that answered for a pair's address; -1 where nobody did, or
// where what answered is no rail of that node's.
func (w wiring) answered(i int, e steps.End) int {
	p := w.rig.Pairs[i]
	own, other := w.rig.Rail(p, e), w.rig.Rail(p, e.Other())
	mac := w.facts[e][own.Netdev.Name+" neighbour "+other.Addr]
	return slices.IndexFunc(w.rig.At(e.Other()).Rails, func(r steps.Rail) bool {
		return mac != "" && strings.EqualFold(mac, w.facts[e.Other()][r.Netdev.Name+" MAC"])
	})
}

// crossed is the pair of rails that stands in a pair's place, counted from 0, where each answers for
// the other's address, at both ends; -1 where none does.
func (w wiring) crossed(i int) int {
	return slices.IndexFunc(w.rig.Pairs, func(q steps.Pair) bool {
		j := slices.Index(w.rig.Pairs, q)
		if j == i {
			return false
		}
		for _, e := range steps.Ends {
			if w.answered(i, e) != q.Rails[e.Other()] || w.answered(j, e) != w.rig.Pairs[i].Rails[e.Other()] {
				return false
			}
		}
		return true
	})
}

// tell names rails that are crossed, each two once, and gives the pairs that are told of.
func (w wiring) tell(rep *kind.Report) (told []int) {
	for i, p := range w.rig.Pairs {
		j := w.crossed(i)
		if j < 0 || slices.Contains(told, i) {
			continue
		}
		told = append(told, i, j)
		q := w.rig.Pairs[j]
		here, there := w.rig.Rail(p, steps.Here), w.rig.Rail(q, steps.Peer)
		// Where the ports have the same number the cable is as it should be.
		what, cure := "their cables are crossed", "exchange the two plugs at one end, or the two rails' addresses on one node"
		if here.PhysPort == there.PhysPort && here.PhysPort >= 0 {
			what, cure = "their cables are straight, and their addresses are exchanged on one node",
				"exchange the two rails' addresses on one node, in what sets them at boot, too"
		}
		rep.Add(steps.Fail, "rails %d and %d are crossed: %s (%s) on %s is cabled to %s (%s) on %s, which has an address of rail "+
			"%d, and the other way round; %s. RDMA hangs on both, and a ping passes: %s, so that both ends of a cable are in one subnet",
			i+1, j+1, here.Netdev.Name, here.Dev, w.rig.NameOf(steps.Here), there.Netdev.Name, there.Dev, w.rig.NameOf(steps.Peer),
			j+1, what, cure)
	}
	return told
}

// picture is which port leads to which, a line a rail.
func (w wiring) picture() steps.Table {
	t := steps.Table{Title: "Cabling, by who answers", Columns: []steps.Column{
		{Name: "rail"},
		{Name: w.rig.NameOf(steps.Here)},
		{Name: "is joined with"},
		{Name: w.rig.NameOf(steps.Peer)},
	}}
	for i, p := range w.rig.Pairs {
		here, there := w.rig.Rail(p, steps.Here), w.rig.Rail(p, steps.Peer)
		out, back := w.answered(i, steps.Here), w.answered(i, steps.Peer)
		line, far := "nobody: no answer", "–"
		switch straight := p.Rails[steps.Peer]; {
		case out == straight && back == p.Rails[steps.Here]:
			line, far = "═══", port(there)
		case out == straight:
			line, far = "══? one way", port(there)
		case out >= 0:
			line, far = "═╳═", port(w.rig.Nodes[steps.Peer].Rails[out])
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
