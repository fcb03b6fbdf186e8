package pairs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// A Cause is what a set of cells has in common, and no good cell shares.
type Cause struct {
	State State
	What  steps.Measure
	// Text names the node, rail, way, cable or half, and where to look.
	Text string
	// Evidence is how many figures say so, and which, in words.
	Evidence string
	Cells    int
	few      string // how many figures, and of what
	of       suspect
}

// A suspect is something that could be what is wrong: all figures that it touches are bad then.
type suspect struct {
	extent extent
	node   int    // -1: any
	rails  uint64 // a bit each
	to     int    // of a pair; -1: none
	sides  [2][]int
}

// An extent says what a suspect is. Of two that explain as much the first counts: one thing that is
// broken is likelier than two.
type extent uint8

const (
	ofAll    extent = iota // everything
	ofRail                 // everything over a rail
	ofHalves               // everything over the rails that share a PCIe half on every node
	ofPorts                // the same of a connector
	ofNode                 // everything to and from a node
	ofHalf                 // over the rails of one PCIe half of a node
	ofPort                 // over the rails of one connector of a node: a cable
	ofNodeRail
	intoNode // to a node over a rail, and not from it
	outOfNode
	between // everything between two sets of nodes over a rail
	ofPair  // both ways between two nodes
	oneWay
	ofLack // over rails that a node doesn't have
	ofRest // what nothing explains
)

func (s suspect) touches(p Place) bool {
	if s.extent == ofRest {
		return true
	}
	if s.rails&(1<<p.Rail) == 0 {
		return false
	}
	switch s.extent {
	case ofAll, ofRail, ofHalves, ofPorts:
		return true
	case intoNode:
		return p.To == s.node
	case outOfNode:
		return p.From == s.node
	case ofPair:
		return p.From == s.node && p.To == s.to || p.From == s.to && p.To == s.node
	case oneWay:
		return p.From == s.node && p.To == s.to
	case between:
		return slices.Contains(s.sides[0], p.From) != slices.Contains(s.sides[0], p.To)
	default:
		return p.From == s.node || p.To == s.node
	}
}

// causes explain what is bad or was not measured, then what was warned of, each by itself: a port that is
// down is a FAIL from one side and no result from the other. What several measures say of one thing
// is one cause.
func (m *Matrix) causes() []Cause {
	var all []Cause
	for _, at := range []level{isBad, unjudged, crowded, warnedOf} {
		var liked []suspect
		for _, what := range Measures {
			found, named := m.explain(at, what, liked)
			liked = append(liked, named...)
			for _, c := range found {
				i := slices.IndexFunc(all, func(x Cause) bool {
					return x.of.same(c.of) && (x.State == c.State || at == isBad)
				})
				if i < 0 {
					all = append(all, c)
					continue
				}
				verb := "are"
				if c.Cells == 1 {
					verb = "is"
				}
				if len(c.Text) < len(all[i].Text) { // "and nowhere else" holds for one of the two alone
					all[i].Text = c.Text
				}
				all[i].Evidence += fmt.Sprintf("; so %s %s", verb, c.few)
				all[i].State, all[i].Cells = max(all[i].State, c.State), all[i].Cells+c.Cells
			}
		}
	}
	if n := m.untried(); n > 0 {
		text := fmt.Sprintf("%d figures were not measured", n)
		if n == 1 {
			text = "1 figure was not measured"
		}
		all = append(all, Cause{State: Unmeasured, Text: text, Evidence: "not tried yet", Cells: n})
	}
	slices.SortStableFunc(all, func(a, b Cause) int {
		return cmp.Or(-cmp.Compare(urgent(a.State), urgent(b.State)), -cmp.Compare(a.Cells, b.Cells))
	})
	return all
}

// untried is how many figures no one has tried to measure: of a run that goes on, or was interrupted.
func (m *Matrix) untried() (n int) {
	m.Places(func(_ Place, c *Cell) bool {
		if c.Grade == steps.NotRun {
			n++
		}
		return true
	})
	return n
}

// urgent is the order in which causes are reported.
func urgent(s State) int {
	switch s {
	case Bad:
		return 3
	case Unmeasured:
		return 2
	case Crowd:
		return 1
	default:
		return 0
	}
}

// A level is how much is wrong with a figure. What is of one has one explanation; what is above it speaks neither way,
// since that explains it already, and what is below it acquits.
type level int8

const (
	untouched level = iota - 1 // not tried
	fine
	warnedOf
	crowded
	unjudged // a figure that no one could judge, as without counters
	isBad    // or no figure at all: a port that is down is a FAIL from one side and no result from the other
)

func levelOf(c *Cell) level {
	switch {
	case c.Grade == steps.NotRun:
		return untouched
	case c.State == Bad || c.State == Unmeasured && c.Value == 0:
		return isBad
	case c.State == Unmeasured:
		return unjudged
	case c.State == Crowd:
		return crowded
	case c.State == Warned:
		return warnedOf
	}
	return fine
}

// acquits reports whether a figure speaks against what would explain others at a level. One that no one could judge
// does where it is as large as it should be.
func (c *Cell) acquits(at level, what steps.Measure, best float64) bool {
	is := levelOf(c)
	if is == unjudged && at == isBad {
		return !bad(what, float64(c.Value), best)
	}
	return is < at
}

// at are the places of a measure at a level.
func (m *Matrix) at(at level, what steps.Measure) map[Place]bool {
	all := map[Place]bool{}
	m.Places(func(p Place, c *Cell) bool {
		if p.What == what && levelOf(c) == at {
			all[p] = true
		}
		return true
	})
	return all
}

// strongest is the suspect that explains most, by its number; -1 if none explains more than one place, or one that is
// known explains it.
func strongest(suspects []suspect, open map[Place]bool, known func(suspect) bool) int {
	best, most := -1, 1
	for i, s := range suspects {
		n := count(s, open)
		if n > most || n == most && best >= 0 && known(s) && !known(suspects[best]) {
			best, most = i, n
		}
	}
	return best
}

// explain takes the suspect that explains most, and goes on with what is left, until nothing is. Of two that
// explain as much it takes one that is liked: what another measure says already.
func (m *Matrix) explain(at level, what steps.Measure, liked []suspect) (all []Cause, named []suspect) {
	open := m.at(at, what)
	if len(open) == 0 {
		return nil, nil
	}
	name := func(s suspect) {
		all, named = append(all, m.cause(s, what, at, take(s, open))), append(named, s)
	}
	if at == isBad {
		for _, s := range m.lacking() { // there is nothing to suspect: a node says so
			if count(s, open) > 0 {
				name(s)
			}
		}
	}
	suspects := m.suspects(what, at, open)
	known := func(s suspect) bool { return slices.ContainsFunc(liked, s.same) }
	for effort := 0; len(open) > 0 && len(all) < mostCauses; {
		if effort += len(open) * len(suspects); effort > mostEffort {
			break
		}
		best := strongest(suspects, open, known)
		// What is all between two of more nodes is a pair's, where nothing else has named the node.
		if best >= 0 && (len(m.Nodes) == 2 || known(suspects[best]) || !suspects[best].ofOnePair(open)) {
			name(suspects[best])
			continue
		}
		first := sorted(open)
		if best >= 0 {
			first = slices.DeleteFunc(first, func(p Place) bool { return !suspects[best].touches(p) })
		}
		name(alone(first[0], open))
	}
	if len(open) > 0 {
		c := m.cause(suspect{extent: ofRest}, what, at, take(suspect{extent: ofRest}, open))
		all = append(all, c)
	}
	return all, named
}

func (s suspect) same(other suspect) bool {
	return s.extent == other.extent && s.node == other.node && s.to == other.to && s.rails == other.rails &&
		slices.Equal(s.sides[0], other.sides[0])
}

// mostEffort bounds how often a figure is held against a suspect, within a second or two: of 64 nodes on which
// everything differs no one reads the twentieth cause.
const mostEffort = 50_000_000

// mostCauses bounds how many causes a measure has: beyond them nothing is explained any more.
const mostCauses = 20

// ofOnePair reports whether all that a suspect explains is between the same two nodes: then it is more than is known.
func (s suspect) ofOnePair(open map[Place]bool) bool {
	if s.extent == ofPair || s.extent == oneWay {
		return false
	}
	pair := Pair{-1, -1}
	for p := range open {
		if is := (Pair{min(p.From, p.To), max(p.From, p.To)}); s.touches(p) {
			if pair.From >= 0 && is != pair {
				return false
			}
			pair = is
		}
	}
	return true
}

// lacking are the nodes that have none of some rails.
func (m *Matrix) lacking() (all []suspect) {
	for node, n := range m.Nodes {
		s := suspect{extent: ofLack, node: node}
		for rail, why := range n.Lacks {
			if why != "" {
				s.rails |= 1 << rail
			}
		}
		if s.rails != 0 {
			all = append(all, s)
		}
	}
	return all
}

// alone is a pair that nothing else explains, from one figure of it: both of its ways where both are open, and all its
// rails that are as the first.
func alone(first Place, open map[Place]bool) suspect {
	s := suspect{extent: oneWay, node: first.From, to: first.To}
	both := func(p Place) bool { return !Both(p.What) || open[Place{p.What, p.Rail, p.To, p.From}] }
	if both(first) {
		s.extent = ofPair
	}
	for p := range open {
		if p.From == first.From && p.To == first.To && both(p) == both(first) {
			s.rails |= 1 << p.Rail
		}
	}
	return s
}

// take gives what a suspect explains, and takes it out of what is open.
func take(s suspect, open map[Place]bool) []Place {
	covered := map[Place]bool{}
	for p := range open {
		if s.touches(p) {
			covered[p] = true
			delete(open, p)
		}
	}
	return sorted(covered)
}

func sorted(places map[Place]bool) []Place {
	return slices.SortedFunc(maps.Keys(places), func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Rail, b.Rail), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}

// count is how many figures a suspect explains. What rails share is not what is wrong with one of them, where
// something else has explained the others.
func count(s suspect, open map[Place]bool) (n int) {
	rails := uint64(0)
	for p := range open {
		if s.touches(p) {
			n++
			rails |= 1 << p.Rail
		}
	}
	if s.shared() && rails != s.rails {
		return 0
	}
	return n
}

// shared reports whether a suspect is something that several rails have in common.
func (s suspect) shared() bool {
	return s.extent == ofHalf || s.extent == ofPort || s.extent == ofHalves || s.extent == ofPorts
}

// mostPairs bounds the pairs that are suspected by themselves, each with all its rails: those of a ring are as many
// as its nodes.
const mostPairs = 512

// suspects are those that all cells they touch speak against: a good figure acquits.
func (m *Matrix) suspects(what steps.Measure, at level, open map[Place]bool) []suspect {
	touched := map[[2]int]bool{} // node and rail
	for p := range open {
		touched[[2]int{p.From, p.Rail}], touched[[2]int{p.To, p.Rail}] = true, true
	}
	every := uint64(1)<<len(m.Rails) - 1
	tried := []suspect{{extent: ofAll, node: -1, rails: every}}
	if len(m.Rails) > 1 {
		for rail := range m.Rails {
			tried = append(tried, suspect{extent: ofRail, node: -1, rails: 1 << rail})
		}
		for _, g := range m.everywhere(func(n Node) []string { return n.Halves }) {
			tried = append(tried, suspect{extent: ofHalves, node: -1, rails: g})
		}
		for _, g := range m.everywhere(func(n Node) []string { return n.Ports }) {
			tried = append(tried, suspect{extent: ofPorts, node: -1, rails: g})
		}
	}
	if m.ByLink && len(m.Rails) > 1 { // a pair is a cable then
		tried = append(tried, cables(open, every)...)
	}
	if len(m.Nodes) > 2 {
		for node := range m.Nodes {
			tried = append(tried, m.ofNode(node, every, touched)...)
		}
		for rail := range m.Rails {
			tried = append(tried, m.halves(open, rail)...)
		}
	}
	best := m.Extremes(what).Best
	guilty := slices.DeleteFunc(tried, func(s suspect) bool { return m.acquitted(s, what, at, best, open) })
	slices.SortFunc(guilty, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.extent, b.extent), cmp.Compare(a.rails, b.rails), cmp.Compare(a.node, b.node),
			cmp.Compare(a.to, b.to))
	})
	return guilty
}

// cables are the pairs of which something is open, each with all its rails.
func cables(open map[Place]bool, every uint64) (all []suspect) {
	seen := map[Pair]bool{}
	for p := range open {
		if pair := (Pair{min(p.From, p.To), max(p.From, p.To)}); !seen[pair] && len(all) < mostPairs {
			seen[pair] = true
			all = append(all, suspect{extent: ofPair, node: pair.From, to: pair.To, rails: every})
		}
	}
	return all
}

// everywhere are the sets of rails that have something in common on each node that says so, and at least one does.
func (m *Matrix) everywhere(of func(Node) []string) []uint64 {
	var all []uint64
	for _, n := range m.Nodes {
		names := of(n)
		if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
			continue
		}
		sets := alike(names)
		if all == nil {
			all = sets
		}
		all = slices.DeleteFunc(slices.Clone(all), func(g uint64) bool { return !slices.Contains(sets, g) })
		if len(all) == 0 {
			return nil
		}
	}
	return all
}

func (m *Matrix) ofNode(node int, every uint64, touched map[[2]int]bool) (all []suspect) {
	any := false
	for rail := range m.Rails {
		if !touched[[2]int{node, rail}] {
			continue
		}
		any = true
		all = append(all, suspect{extent: ofNodeRail, node: node, rails: 1 << rail},
			suspect{extent: intoNode, node: node, rails: 1 << rail},
			suspect{extent: outOfNode, node: node, rails: 1 << rail})
	}
	if !any {
		return nil
	}
	all = append(all, suspect{extent: ofNode, node: node, rails: every},
		suspect{extent: intoNode, node: node, rails: every}, suspect{extent: outOfNode, node: node, rails: every})
	for _, g := range alike(m.Nodes[node].Halves) {
		all = append(all, suspect{extent: ofHalf, node: node, rails: g}, suspect{extent: intoNode, node: node, rails: g},
			suspect{extent: outOfNode, node: node, rails: g})
	}
	for _, g := range alike(m.Nodes[node].Ports) {
		all = append(all, suspect{extent: ofPort, node: node, rails: g})
	}
	return all
}

// alike are the sets of two rails or more that have one name and are not all rails.
func alike(names []string) []uint64 {
	var order []string
	sets := map[string]uint64{}
	for i, name := range names {
		if name == "" {
			continue
		}
		if sets[name] == 0 {
			order = append(order, name)
		}
		sets[name] |= 1 << i
	}
	var all []uint64
	for _, name := range order {
		if s := sets[name]; s&(s-1) != 0 && s != uint64(1)<<len(names)-1 {
			all = append(all, s)
		}
	}
	return all
}

// halves are the two sets of nodes between which nothing is good over a rail, where there are two of two
// nodes or more.
func (m *Matrix) halves(open map[Place]bool, rail int) []suspect {
	side := make([]int, len(m.Nodes)) // by node, from 1
	sets := 0
	ill := map[Pair]bool{}
	for p := range open {
		if p.Rail == rail {
			ill[Pair{min(p.From, p.To), max(p.From, p.To)}] = true
		}
	}
	for first := range m.Nodes {
		if side[first] > 0 {
			continue
		}
		if sets++; sets > 2 {
			return nil
		}
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			side[queue[0]] = sets
			for b := range m.Nodes {
				if side[b] == 0 && !m.LeftOut(queue[0], b) && !ill[Pair{min(queue[0], b), max(queue[0], b)}] {
					side[b] = sets
					queue = append(queue, b)
				}
			}
		}
	}
	s := suspect{extent: between, node: -1, to: -1, rails: 1 << rail}
	for node, k := range side {
		s.sides[k-1] = append(s.sides[k-1], node)
	}
	if len(s.sides[0]) < 2 || len(s.sides[1]) < 2 {
		return nil
	}
	return []suspect{s}
}

// of visits what a suspect touches of a measure: of one node that is a row and a column, since every node is suspected.
func (m *Matrix) of(s suspect, what steps.Measure, yield func(Place, *Cell) bool) {
	visit := func(rail, from, to int) bool {
		p := Place{what, rail, from, to}
		c := m.At(what, rail, from, to)
		return c == nil || !Both(what) && from > to || !s.touches(p) || yield(p, c)
	}
	for rail := range m.Rails {
		switch s.extent {
		case ofAll, ofRail, ofHalves, ofPorts, between, ofRest:
			for from, near := range m.near {
				for _, to := range near {
					if !visit(rail, from, to) {
						return
					}
				}
			}
		case ofPair, oneWay:
			if !visit(rail, s.node, s.to) || !visit(rail, s.to, s.node) {
				return
			}
		default:
			for _, other := range m.near[s.node] {
				if !visit(rail, s.node, other) || !visit(rail, other, s.node) {
					return
				}
			}
		}
	}
}

// acquitted reports whether a suspect touches a cell that speaks against it.
func (m *Matrix) acquitted(s suspect, what steps.Measure, at level, best float64, open map[Place]bool) bool {
	good, rails := false, uint64(0)
	// A latency has no ways, but its test has: a client that reaches no server gives no figure.
	way := !Both(what) && (s.extent == intoNode || s.extent == outOfNode)
	m.of(s, what, func(p Place, c *Cell) bool {
		good = !open[p] && c.acquits(at, what, best) || way && c.Value > 0
		if open[p] {
			rails |= 1 << p.Rail
		}
		return !good
	})
	return good || rails != s.rails || m.unlike(s, what, open)
}

// unlike reports whether what a suspect would explain by one broken thing differs from part to part: over one of two
// rails nothing passes, and over the other something does, or half as much again.
func (m *Matrix) unlike(s suspect, what steps.Measure, open map[Place]bool) bool {
	const apart = 1.5
	part := func(p Place) int { return p.Rail }
	if m.ByLink && s.extent == ofNodeRail { // which is a port of its own on each link
		part = func(p Place) int { return p.From + p.To - s.node }
	} else if !s.shared() && (!m.ByLink || s.extent != ofPair) {
		return false
	}
	answers := make([]bool, len(m.Nodes)) // of a neighbour that is dead nothing can be said
	m.Places(func(p Place, c *Cell) bool {
		answers[p.From], answers[p.To] = answers[p.From] || c.Value > 0, answers[p.To] || c.Value > 0
		return true
	})
	type look struct {
		figures, none int
		sum           float64
	}
	looks := map[int]look{}
	for p := range open {
		if !s.touches(p) || !answers[p.From] || !answers[p.To] {
			continue
		}
		l := looks[part(p)]
		if v := m.At(p.What, p.Rail, p.From, p.To).Value; v > 0 {
			l.figures, l.sum = l.figures+1, l.sum+float64(v)
		} else {
			l.none++
		}
		looks[part(p)] = l
	}
	var means span
	moved, still := false, false
	for _, l := range looks {
		if l.none > l.figures {
			still = true
			continue
		}
		moved = true
		means.add(l.sum / float64(l.figures))
	}
	return moved && still || means.largest > apart*means.least
}

// cause reports a suspect.
func (m *Matrix) cause(s suspect, what steps.Measure, at level, covered []Place) Cause {
	c := Cause{What: what, Text: m.name(s, what, at), Cells: len(covered), of: s}
	for _, p := range covered {
		if state := m.At(p.What, p.Rail, p.From, p.To).State; c.State == Unmeasured || state == Bad {
			c.State = state
		}
	}
	c.few = fmt.Sprintf("%d values of %s", len(covered), what)
	if len(covered) == 1 {
		c.few = fmt.Sprintf("its %s", what)
	}
	c.Evidence = m.evidence(c, covered)
	return c
}

// only are words that hold where the other figures are not of a level, nor of a worse one: something else may have
// explained theirs.
func (m *Matrix) only(words string, what steps.Measure, at level, other func(Place) bool) string {
	m.Places(func(p Place, c *Cell) bool {
		good := c.State == Good || c.State == Warned && at != warnedOf
		if p.What == what && !good && other(p) {
			words = ""
		}
		return words != ""
	})
	return words
}

// part is what a node's part is called; over are its rails.
func (m *Matrix) part(of extent, over string) string {
	switch {
	case of == ofNode && m.ByLink: // on a switch it has as many ways as there are nodes
		return "over every rail (the node, or each of its cables)"
	case of == ofNodeRail && m.ByLink: // a port and a cable of its own to each neighbour
		return over + " (what its ports share: a PCIe half, the adapter)"
	}
	return map[extent]string{
		ofNode: "over every rail", ofLack: over + ", which it does not have",
		ofHalf: over + ", which share a PCIe half there", ofPort: over + ", which share a cable there",
		ofNodeRail: over + " (its port, its cable, or what that is plugged into)",
	}[of]
}

// name is what a suspect is called that explains figures at a level.
func (m *Matrix) name(s suspect, what steps.Measure, at level) string {
	only := func(words string, other func(Place) bool) string { return m.only(words, what, at, other) }
	over := "over " + m.railNames(s.rails)
	name := func(i int) string { return m.Nodes[i].Name }
	switch s.extent {
	case ofRest:
		return "other pairs, which have nothing in common"
	case ofAll:
		return "all traffic" + m.whatever()
	case ofRail, ofHalves, ofPorts:
		return "all traffic " + over + map[extent]string{
			ofRail: m.whatever(), ofHalves: ", which share a PCIe half on " + m.each(),
			ofPorts: ", which share a cable on " + m.each(),
		}[s.extent]
	case ofNode, ofLack, ofHalf, ofPort, ofNodeRail:
		return "all traffic to and from " + name(s.node) + " " + m.part(s.extent, over)
	case intoNode:
		back := suspect{extent: outOfNode, node: s.node, rails: s.rails}
		return "all traffic to " + name(s.node) + " " + over + only(", but not what comes from it", back.touches)
	case outOfNode:
		back := suspect{extent: intoNode, node: s.node, rails: s.rails}
		return "all traffic from " + name(s.node) + " " + over + only(", but not what goes to it", back.touches)
	case between:
		return "all traffic between " + m.list(s.sides[0]) + " on one side and " + m.list(s.sides[1]) + " on the other " +
			over +
			" (what joins the two halves)"
	case ofPair:
		if m.ByLink && len(m.Rails) > 1 && s.rails == uint64(1)<<len(m.Rails)-1 {
			over += " (the cable between them, and its ports)"
		}
		return "between " + name(s.node) + " and " + name(s.to) + " " + over +
			only(", but nowhere else", func(p Place) bool { return !s.touches(p) })
	default:
		if !Both(what) {
			return "between " + name(s.node) + " and " + name(s.to) + " " + over
		}
		back := suspect{extent: oneWay, node: s.to, to: s.node, rails: s.rails}
		return "from " + name(s.node) + " to " + name(s.to) + " " + over + only(", but not back", back.touches)
	}
}

// whatever says that it doesn't depend on the nodes, where there are more than the two of one link.
func (m *Matrix) whatever() string {
	if len(m.Nodes) > 2 {
		return ", between any nodes"
	}
	return ""
}

func (m *Matrix) each() string {
	if len(m.Nodes) > 2 {
		return "every node"
	}
	return "both nodes"
}

// railNames are those of a set: "rail 1 and rail 2", "every rail".
func (m *Matrix) railNames(set uint64) string {
	var all []string
	for i, name := range m.Rails {
		if set&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	if len(all) == len(m.Rails) && len(all) > 1 {
		return "every rail"
	}
	return strings.Join(all, " and ")
}

// list names nodes, the first of many.
func (m *Matrix) list(nodes []int) string {
	const few = 4
	var all []string
	for i, n := range nodes {
		if i == few {
			all = append(all, fmt.Sprintf("%d others", len(nodes)-few))
			break
		}
		all = append(all, m.Nodes[n].Name)
	}
	return strings.Join(all, ", ")
}

// evidence is what a cause rests on: how many figures, from which to which, compared with those of all
// others. It adds what the judge of the first figure in the cause's state reported.
func (m *Matrix) evidence(cause Cause, covered []Place) string {
	what := cause.What
	e := m.Extremes(what)
	var seen span
	slow, alone, failed := 0, true, false
	for _, p := range covered {
		c := m.At(p.What, p.Rail, p.From, p.To)
		seen.add(float64(c.Value))
		if c.Value > 0 && bad(what, float64(c.Value), e.Best) {
			slow++
		}
		alone, failed = alone && c.Beside == 1, failed || c.Failed && (c.First == 0 || !bad(what, float64(c.First), e.Best))
	}
	reason := m.reason(cause, covered)
	figures := seen.words(what)
	if alone && m.Conditions.Soft == "" {
		figures += ", also alone"
	}
	switch {
	case cause.State == Crowd:
		return cause.few + ", " + m.crowded(figures, failed, reason)
	case cause.State == Unmeasured:
		return cause.few + ", not measured or not usable: " + or(reason, "not tried")
	case cause.State == Bad && slow == len(covered):
		return fmt.Sprintf("%s, %s: %s%s%s", cause.few, rule(what, e.Best), figures, m.others(what), m.common(covered))
	case reason == "":
		return cause.few + ": " + figures
	}
	return cause.few + ": " + reason
}

// reason is what the judge reported of the first figure in a cause's state; empty where it said nothing.
func (m *Matrix) reason(cause Cause, covered []Place) (reason string) {
	apt := false
	for _, p := range covered {
		c := m.At(p.What, p.Rail, p.From, p.To)
		if is := c.State == cause.State; c.Reason != "" && (reason == "" || is && !apt) {
			apt = is
			if reason = strings.TrimRight(c.Reason, ".?"); len(covered) > 1 { // of one it is said already
				reason = m.nodes(p) + ": " + reason
			}
		}
	}
	return reason
}

// common is the cause that most of the figures have by themselves.
func (m *Matrix) common(covered []Place) (own string) {
	owns, says := map[steps.Code]int{}, map[steps.Code]string{}
	for _, p := range covered {
		c := m.At(p.What, p.Rail, p.From, p.To)
		if c.Code != "" && c.Code != steps.BelowLimit {
			if owns[c.Code]++; owns[c.Code] == 1 {
				says[c.Code] = m.nodes(p) + ": " + strings.TrimRight(c.Reason, ".?")
			}
		}
	}
	for code, n := range owns {
		if 2*n > len(covered) { // what a few say is theirs, and not what all have in common
			own = "; " + says[code]
		}
	}
	return own
}

// crowded says of figures how they were bad and are good. Of less than four nodes no pair has another one next to it.
func (m *Matrix) crowded(figures string, failed bool, reason string) string {
	how, why := "bad next to other pairs, good alone", "their shared path is too narrow"
	if failed {
		how, why = "failed next to other pairs, good alone", why+", or the fault comes and goes"
	}
	if len(m.Nodes) < fewestBeside {
		how, why = "bad at first, good when measured again", "the fault comes and goes"
	}
	if failed && reason != "" {
		why += "; " + reason
	}
	return fmt.Sprintf("%s (%s): %s", how, figures, why)
}

// fewestBeside is of how many nodes two pairs can be measured at once.
const fewestBeside = 4

// others are the good figures next to what is bad.
func (m *Matrix) others(what steps.Measure) string {
	var good span
	m.Places(func(p Place, c *Cell) bool {
		if p.What == what && c.State == Good {
			good.add(float64(c.Value))
		}
		return true
	})
	if good.largest == 0 {
		return ""
	}
	return "; the good values are " + good.words(what)
}

// A span is from the least figure to the largest.
type span struct{ least, largest float64 }

func (s *span) add(v float64) {
	if v > 0 && (s.least == 0 || v < s.least) {
		s.least = v
	}
	s.largest = max(s.largest, v)
}

func (s span) words(what steps.Measure) string {
	a, b := figure(what, s.least), figure(what, s.largest)
	if a == b {
		return a
	}
	return strings.TrimSuffix(a, " "+Unit(what)) + " to " + b
}
