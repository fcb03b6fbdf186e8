package cabling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// A Shape is how the nodes are joined as a whole.
type Shape string

// The shapes.
const (
	Unseen Shape = "unseen" // no one answered
	// Two nodes, cable by cable. A switch between two looks the same where no one hears its name (LLDP).
	Direct Shape = "direct"
	Ring   Shape = "ring"   // each node to two others, in a circle
	Chain  Shape = "chain"  // a ring of which one cable is missing
	Switch Shape = "switch" // ports of three nodes or more that answer each other
	Mixed  Shape = "mixed"
)

// A Port is a connector of a node; or one rail, where nothing reports the connectors.
type Port struct {
	Node int // its index in the rig
	No   int // the connector's number; -1 minus the rail's index where nothing reports it
}

// A Segment is ports that answer each other: two are a cable, more have a switch between them.
type Segment []Port

// A Map is what was seen of a rig's cables.
type Map struct {
	Rig      steps.Rig
	Shape    Shape
	Segments []Segment
	// Findings are what is wrong, a sentence each with its evidence.
	Findings []string
	facts    []map[string]string
	// joined are the rails for whose addresses a user answered, or that answered.
	joined map[[2]int]bool
	// marks are how the cables at some ports are drawn.
	marks map[Port]string
}

// See makes a map of a rig's nodes, which are in the order of their numbers. facts are by node; nil for one
// that was not asked.
func See(rig steps.Rig, facts []map[string]string) Map {
	m := Map{Rig: rig, facts: facts, joined: map[[2]int]bool{}, marks: map[Port]string{}}
	owners := map[string][2]int{}
	for i, n := range rig.Nodes {
		for j, r := range n.Rails {
			if r.Netdev.MAC != "" {
				owners[strings.ToLower(r.Netdev.MAC)] = [2]int{i, j}
			}
		}
	}
	// Ports that answer each other, directly or by another port, have one root: a segment.
	groups := map[Port]Port{}
	var root func(Port) Port
	root = func(p Port) Port {
		if q, ok := groups[p]; ok && q != p {
			return root(q)
		}
		return p
	}
	for i, n := range rig.Nodes {
		for j, r := range n.Rails {
			for name, mac := range facts[i] {
				far, ok := owners[strings.ToLower(mac)]
				if !ok || far[0] == i || !strings.HasPrefix(name, r.Netdev.Name+" neighbour ") {
					continue
				}
				m.joined[[2]int{i, j}], m.joined[far] = true, true
				a, b := root(m.port(i, j)), root(m.port(far[0], far[1]))
				groups[a], groups[b] = a, a
			}
		}
	}
	segments := map[Port]Segment{}
	for p := range groups {
		segments[root(p)] = append(segments[root(p)], p)
	}
	for _, s := range segments {
		slices.SortFunc(s, comparePorts)
		m.Segments = append(m.Segments, s)
	}
	slices.SortFunc(m.Segments, func(a, b Segment) int { return comparePorts(a[0], b[0]) })
	m.Shape = m.shape()
	m.find()
	return m
}

func comparePorts(a, b Port) int {
	if a.Node != b.Node {
		return a.Node - b.Node
	}
	return a.No - b.No
}

func (m Map) port(node, rail int) Port {
	if no := m.Rig.Nodes[node].Rails[rail].PhysPort; no >= 0 {
		return Port{node, no}
	}
	return Port{node, -1 - rail}
}

// rails are those behind a port.
func (m Map) rails(p Port) []int {
	var all []int
	for j := range m.Rig.Nodes[p.Node].Rails {
		if m.port(p.Node, j) == p {
			all = append(all, j)
		}
	}
	return all
}

// shape looks at how many ports each segment has, and which nodes are next to which.
func (m Map) shape() Shape {
	if len(m.Segments) == 0 {
		return Unseen
	}
	switched := 0
	for _, s := range m.Segments {
		if len(s) > 2 || m.switchOf(s) != "" {
			switched++
		}
	}
	switch {
	case switched == len(m.Segments):
		return Switch
	case switched > 0:
		return Mixed
	case len(m.Rig.Nodes) == 2:
		return Direct
	}
	return m.line()
}

// neighbours are the nodes that each node shares a segment with.
func (m Map) neighbours() map[int]map[int]bool {
	next := map[int]map[int]bool{}
	for _, s := range m.Segments {
		for _, a := range s {
			for _, b := range s {
				if a.Node != b.Node {
					if next[a.Node] == nil {
						next[a.Node] = map[int]bool{}
					}
					next[a.Node][b.Node] = true
				}
			}
		}
	}
	return next
}

// line is the shape of cables without a switch: a ring, a chain, or something else.
func (m Map) line() Shape {
	next := m.neighbours()
	ends, middle := 0, 0
	for _, n := range next {
		switch len(n) {
		case 1:
			ends++
		case 2:
			middle++
		}
	}
	all := len(next) == len(m.Rig.Nodes) && len(m.circle(next)) == len(next)
	switch {
	case all && middle == len(next) && len(next) > 2:
		return Ring
	case all && ends == 2 && middle == len(next)-2:
		return Chain
	}
	return Mixed
}

// circle goes from node to node, and begins at an end where there is one.
// Shorter than the nodes where they are in several pieces, or where it branches.
func (m Map) circle(next map[int]map[int]bool) []int {
	at := max(0, slices.IndexFunc(m.Rig.Nodes, func(n steps.Node) bool { return len(next[n.No]) == 1 }))
	way := []int{at}
	for {
		moved := false
		for i := range m.Rig.Nodes {
			if next[way[len(way)-1]][i] && !slices.Contains(way, i) {
				way, moved = append(way, i), true
				break
			}
		}
		if !moved {
			return way
		}
	}
}

// find says what is wrong.
func (m *Map) find() {
	add := func(format string, args ...any) { m.Findings = append(m.Findings, fmt.Sprintf(format, args...)) }
	if m.Shape == Chain {
		add("a ring of which one cable is missing: %s and %s have one neighbour each", m.ends()[0], m.ends()[1])
	}
	for _, s := range m.Segments {
		m.findHeard(s, add)
	}
	m.findTwice(add)
	learnt := m.learnt()
	var crossed []crossing
	for _, l := range steps.Links(len(m.Rig.Nodes)) {
		if m.facts[l.Here] != nil && m.facts[l.Peer] != nil &&
			(m.met(learnt, l.Here, l.Peer) || m.met(learnt, l.Peer, l.Here)) {
			crossed = append(crossed, m.findCrossed(l)...)
		}
	}
	tellCrossed(crossed, m.Rig.Nodes, add)
	for _, s := range m.Segments {
		m.findElsewhere(s, crossed, add)
	}
	for i, n := range m.Rig.Nodes {
		if m.facts[i] == nil {
			continue
		}
		joined := false
		for _, p := range m.ports(i) {
			joined = joined || slices.ContainsFunc(m.rails(p), func(j int) bool { return m.joined[[2]int{i, j}] })
			m.findHalf(p, add)
		}
		if !joined {
			add("%s is not joined: no address of the others was answered on its rails", n.Name)
		}
	}
}

// learnt are the MACs that each node has learnt.
func (m Map) learnt() []map[string]bool {
	all := make([]map[string]bool, len(m.facts))
	for i, facts := range m.facts {
		all[i] = map[string]bool{}
		for name, mac := range facts {
			if strings.Contains(name, " neighbour ") {
				all[i][strings.ToLower(mac)] = true
			}
		}
	}
	return all
}

// met reports whether a node has learnt a MAC of another one's rails.
func (m Map) met(learnt []map[string]bool, node, other int) bool {
	return len(learnt[node]) > 0 && slices.ContainsFunc(m.Rig.Nodes[other].Rails, func(r steps.Rail) bool {
		return learnt[node][strings.ToLower(r.Netdev.MAC)]
	})
}

// heard is what a port hears by LLDP of the other end of its cable, and whether that is a switch by its own word;
// empty where it hears nothing.
func (m Map) heard(p Port) (system, port string, forwards bool) {
	for _, j := range m.rails(p) {
		name := m.Rig.Nodes[p.Node].Rails[j].Netdev.Name
		if f := m.facts[p.Node]; f[name+hears] != "" {
			return f[name+hears], f[name+hearsPort], f[name+hearsForward] != ""
		}
	}
	return "", "", false
}

// named is the node of the rig that a name heard by LLDP means; -1 for none.
func (m Map) named(system string) int {
	short := func(name string) string { // without its domain, which one end may leave out
		name, _, _ = strings.Cut(name, ".")
		return name
	}
	return slices.IndexFunc(m.Rig.Nodes, func(n steps.Node) bool {
		return strings.EqualFold(short(system), short(n.Host)) || strings.EqualFold(short(system), short(n.Name)) ||
			slices.ContainsFunc(n.Rails, func(r steps.Rail) bool { return strings.EqualFold(r.Netdev.MAC, system) })
	})
}

// switchOf is the name of the switch that some ports hear; empty where they hear none. An adapter's firmware may
// speak, too, under an address that is none of its interfaces'.
func (m Map) switchOf(s Segment) string {
	for _, p := range s {
		if system, _, forwards := m.heard(p); forwards && m.named(system) < 0 {
			return system
		}
	}
	return ""
}

// findHeard reports a cable of which LLDP names another node than the one that answers.
func (m *Map) findHeard(s Segment, add func(string, ...any)) {
	if len(s) != 2 {
		return
	}
	for i, p := range s {
		system, _, _ := m.heard(p)
		if node := m.named(system); system != "" && node >= 0 && node != s[1-i].Node {
			add("%s of %s hears %s by LLDP, and %s answered for the addresses there", m.portName(p), m.Rig.Nodes[p.Node].Name,
				m.Rig.Nodes[node].Name, m.Rig.Nodes[s[1-i].Node].Name)
		}
	}
}

// ends are the two nodes of a chain that have one neighbour.
func (m Map) ends() [2]string {
	var all []string
	for i, n := range m.Rig.Nodes {
		seen := map[int]bool{}
		for _, s := range m.Segments {
			if slices.ContainsFunc(s, func(p Port) bool { return p.Node == i }) {
				for _, p := range s {
					seen[p.Node] = true
				}
			}
		}
		if len(seen) == 2 { // itself and another
			all = append(all, n.Name)
		}
	}
	return [2]string{all[0], all[len(all)-1]}
}

func (m Map) ports(node int) []Port {
	var all []Port
	for j := range m.Rig.Nodes[node].Rails {
		if p := m.port(node, j); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, comparePorts)
	return all
}

// findTwice reports an address that several nodes have. It comes before crossings: of two nodes with one address
// either may have answered.
func (m *Map) findTwice(add func(string, ...any)) {
	const few = 4
	var order []string
	has := map[string][]string{}
	for _, n := range m.Rig.Nodes {
		for _, r := range n.Rails {
			if r.Addr == "" {
				continue
			}
			if has[r.Addr] = append(has[r.Addr], n.Name+"'s "+r.Netdev.Name); len(has[r.Addr]) == 2 {
				order = append(order, r.Addr)
			}
		}
	}
	for _, addr := range order {
		who := has[addr]
		if more := len(who) - few; more > 0 {
			who = append(who[:few:few], fmt.Sprintf("%d others", more))
		}
		last := len(who) - 1
		add("one address, %s, is that of %s and %s: give each its own", addr, strings.Join(who[:last], ", "), who[last])
	}
}

// A crossing is two rails of a link whose addresses and cables contradict each other.
type crossing struct {
	link     steps.Link
	swapped  bool // the addresses are exchanged, and not the cables
	evidence string
}

// tellCrossed reports crossings. A node that is crossed with several others is reported once: otherwise the
// cables of all the others would have to be wrong.
func tellCrossed(all []crossing, nodes []steps.Node, add func(string, ...any)) {
	const few = 4
	told := 0
	for len(all) > 0 {
		others, first, worst := map[int]map[int]bool{}, all[0], -1
		for _, c := range all {
			for _, way := range [][2]int{{c.link.Here, c.link.Peer}, {c.link.Peer, c.link.Here}} {
				if others[way[0]] == nil {
					others[way[0]] = map[int]bool{}
				}
				others[way[0]][way[1]] = true
			}
		}
		most := 1
		for i := range nodes {
			if len(others[i]) > most {
				worst, most = i, len(others[i])
			}
		}
		// Where one of the others has as many, either could be meant.
		either := false
		for other := range others[worst] {
			either = either || len(others[other]) == most
		}
		if worst < 0 || either {
			if told++; told > few {
				add("crossed or swapped: %d more of these, on other links", len(all))
				return
			}
			what := "crossed: the cables of the two rails are exchanged"
			if first.swapped {
				what = "swapped: the cables are straight, and the two rails' addresses are exchanged on one node"
			}
			add("%s: %s", what, first.evidence)
			all = all[1:]
			continue
		}
		at := slices.IndexFunc(all, func(c crossing) bool { return c.link.Here == worst || c.link.Peer == worst })
		what := "crossed: the cables of two ports of %s are exchanged, as %d other nodes show: %s"
		if all[at].swapped {
			what = "swapped: the cables of %s are straight, and the addresses of two of its rails are exchanged, as %d other " +
				"nodes show: %s"
		}
		add(what, nodes[worst].Name, most, all[at].evidence)
		all = slices.DeleteFunc(all, func(c crossing) bool { return c.link.Here == worst || c.link.Peer == worst })
	}
}

// findElsewhere reports a cable of two ports where a node answers at one connector for an address of another one, as
// where the cables of a ring's node are exchanged: its rails have no partners in each other's place.
func (m *Map) findElsewhere(s Segment, crossed []crossing, add func(string, ...any)) {
	if len(s) != 2 || len(m.Rig.Nodes) == 2 || s[0].No < 0 || s[1].No < 0 { // a connector's rails answer for each other
		return
	}
	for i, own := range s {
		far := s[1-i]
		if slices.ContainsFunc(crossed, func(c crossing) bool {
			return c.link.Here == min(own.Node, far.Node) && c.link.Peer == max(own.Node, far.Node)
		}) {
			return
		}
		for _, j := range m.rails(own) {
			netdev := m.Rig.Nodes[own.Node].Rails[j].Netdev.Name
			for k, r := range m.Rig.Nodes[far.Node].Rails {
				mac := m.facts[own.Node][netdev+" neighbour "+r.Addr]
				there := func(rail int) bool { return strings.EqualFold(m.Rig.Nodes[far.Node].Rails[rail].Netdev.MAC, mac) }
				if r.Addr == "" || mac == "" || m.port(far.Node, k) == far || !slices.ContainsFunc(m.rails(far), there) {
					continue
				}
				m.marks[own], m.marks[far] = crossedMark, crossedMark
				add("crossed: the cable from %s of %s leads to %s of %s, which has the address that is meant, %s, on %s: "+
					"exchange the cables of one of the two, or its addresses", m.portName(own), m.Rig.Nodes[own.Node].Name,
					m.portName(far), m.Rig.Nodes[far.Node].Name, r.Addr, m.portName(m.port(far.Node, k)))
				return
			}
		}
	}
}

// findCrossed are the rails of a link whose addresses and cables contradict each other.
func (m *Map) findCrossed(l steps.Link) (all []crossing) {
	two := m.Rig // of many nodes these two alone: there are many links
	two.Nodes = []steps.Node{m.Rig.Nodes[l.Here], m.Rig.Nodes[l.Peer]}
	two.Pairs = steps.PairRails(two.At(steps.Here), two.At(steps.Peer))
	w := Link{two, [2]map[string]string{m.facts[l.Here], m.facts[l.Peer]}}
	var told []int
	for i, p := range w.Rig.Pairs {
		j := w.Crossed(i)
		if j < 0 || slices.Contains(told, i) {
			continue
		}
		told = append(told, i, j)
		for _, rail := range []int{p.Rails[steps.Here], w.Rig.Pairs[j].Rails[steps.Here]} {
			m.marks[m.port(l.Here, rail)] = crossedMark
		}
		own, far := w.Rig.Rail(p, steps.Here), w.Rig.Rail(w.Rig.Pairs[j], steps.Peer)
		meant := w.Rig.Rail(p, steps.Peer)
		all = append(all, crossing{l, own.PhysPort == far.PhysPort && own.PhysPort >= 0, fmt.Sprintf(
			"%s on %s asked for %s, and %s of %s answered where %s has that address", own.Netdev.Name, w.Rig.At(steps.Here).Name,
			meant.Addr, far.Netdev.Name, w.Rig.At(steps.Peer).Name, meant.Netdev.Name)})
	}
	return all
}

// findHalf reports a connector of which one rail is joined and another isn't.
func (m *Map) findHalf(p Port, add func(string, ...any)) {
	var joined, left []string
	for _, j := range m.rails(p) {
		r := m.Rig.Nodes[p.Node].Rails[j]
		switch {
		case m.joined[[2]int{p.Node, j}]:
			joined = append(joined, r.Netdev.Name)
		case r.Addr == "":
			left = append(left, r.Netdev.Name+" has no address")
		case !r.Netdev.Carrier:
			left = append(left, r.Netdev.Name+" has no link")
		default:
			left = append(left, r.Netdev.Name+" has no answer")
		}
	}
	if len(joined) > 0 && len(left) > 0 {
		m.marks[p] = halfMark
		add("half-connected: port %d of %s: %s is joined, and %s", p.No, m.Rig.Nodes[p.Node].Name, strings.Join(joined, ", "),
			strings.Join(left, ", "))
	}
}
