package pairs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/wire"
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
	ofAll  extent = iota // everything
	ofRail               // everything over a rail
	ofNode               // everything to and from a node
	ofHalf               // over the rails of one PCIe half of a node
	ofPort               // over the rails of one connector of a node: a cable
	ofNodeRail
	intoNode // to a node over a rail, and not from it
	outOfNode
	between // everything between two sets of nodes over a rail
	ofPair  // both ways between two nodes
	oneWay
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
	case ofAll, ofRail:
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
	for _, states := range [][]State{{Bad, Unmeasured}, {Crowd}, {Warned}} {
		for _, what := range Measures {
			for _, c := range m.explain(states, what) {
				i := slices.IndexFunc(all, func(x Cause) bool {
					return x.Text == c.Text && (x.State == c.State ||
						len(states) > 1)
				})
				if i < 0 {
					all = append(all, c)
					continue
				}
				all[i].Evidence += fmt.Sprintf("; so are %s", c.few)
				all[i].State, all[i].Cells = max(all[i].State, c.State), all[i].Cells+c.Cells
			}
		}
	}
	if n := m.untried(); n > 0 {
		all = append(all, Cause{
			State: Unmeasured, Text: fmt.Sprintf("%d figures were not measured", n), Evidence: "nobody has tried yet", Cells: n,
		})
	}
	slices.SortStableFunc(all, func(a, b Cause) int {
		return cmp.Or(-cmp.Compare(urgent(a.State), urgent(b.State)), -cmp.Compare(a.Cells, b.Cells))
	})
	return all
}

// untried is how many figures nobody has tried to measure: of a run that goes on, or was interrupted.
func (m *Matrix) untried() (n int) {
	m.Places(func(_ Place, c *Cell) bool {
		if c.Grade == steps.NotRun {
			n++
		}
		return true
	})
	return n
}

// urgent is the order in which causes are told.
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

// explain takes the suspect that explains most, and goes on with what is left, until nothing is.
func (m *Matrix) explain(states []State, what steps.Measure) []Cause {
	open := map[Place]bool{}
	m.Places(func(p Place, c *Cell) bool {
		if p.What == what && slices.Contains(states, c.State) && c.Grade != steps.NotRun {
			open[p] = true
		}
		return true
	})
	if len(open) == 0 {
		return nil
	}
	var all []Cause
	suspects := m.suspects(what, open)
	for effort := 0; len(open) > 0 && len(all) < mostCauses; {
		if effort += len(open) * len(suspects); effort > mostEffort {
			break
		}
		best, most := -1, 1
		for i, s := range suspects {
			if n := count(s, open); n > most {
				best, most = i, n
			}
		}
		s := suspect{}
		if best >= 0 {
			s = suspects[best]
		} else {
			s = alone(open)
		}
		all = append(all, m.cause(s, what, states, take(s, open)))
	}
	if len(open) > 0 {
		c := m.cause(suspect{extent: ofRest}, what, states, take(suspect{extent: ofRest}, open))
		all = append(all, c)
	}
	return all
}

// mostEffort bounds how often a figure is held against a suspect, within a second or two: of 64 nodes
// on which everything differs nobody reads the twentieth cause.
const mostEffort = 50_000_000

// mostCauses bounds how many causes a measure has: beyond them nothing is explained any more.
const mostCauses = 20

// alone is the first pair that nothing else explains: both of its ways where both are open.
func alone(open map[Place]bool) suspect {
	first := sorted(open)[0]
	s := suspect{extent: oneWay, node: first.From, to: first.To, rails: 1 << first.Rail}
	if back := (Place{first.What, first.Rail, first.To, first.From}); open[back] {
		s.extent = ofPair
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

func count(s suspect, open map[Place]bool) (n int) {
	for p := range open {
		if s.touches(p) {
			n++
		}
	}
	return n
}

// suspects are those that all cells they touch speak against: a good figure acquits.
func (m *Matrix) suspects(what steps.Measure, open map[Place]bool) []suspect {
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
	}
	if len(m.Nodes) > 2 {
		for node := range m.Nodes {
			tried = append(tried, m.ofNode(what, node, every, touched)...)
		}
		for rail := range m.Rails {
			tried = append(tried, m.halves(open, rail)...)
		}
	}
	guilty := slices.DeleteFunc(tried, func(s suspect) bool { return m.acquitted(s, what, open) })
	slices.SortFunc(guilty, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.extent, b.extent), cmp.Compare(a.rails, b.rails), cmp.Compare(a.node, b.node),
			cmp.Compare(a.to, b.to))
	})
	return guilty
}

func (m *Matrix) ofNode(what steps.Measure, node int, every uint64, touched map[[2]int]bool) (all []suspect) {
	any := false
	for rail := range m.Rails {
		if !touched[[2]int{node, rail}] {
			continue
		}
		any = true
		all = append(all, suspect{extent: ofNodeRail, node: node, rails: 1 << rail})
		if Both(what) {
			all = append(all, suspect{extent: intoNode, node: node, rails: 1 << rail},
				suspect{extent: outOfNode, node: node, rails: 1 << rail})
		}
	}
	if !any {
		return nil
	}
	all = append(all, suspect{extent: ofNode, node: node, rails: every})
	if Both(what) {
		all = append(all, suspect{extent: intoNode, node: node, rails: every},
			suspect{extent: outOfNode, node: node, rails: every})
	}
	for _, g := range alike(m.Nodes[node].Halves) {
		all = append(all, suspect{extent: ofHalf, node: node, rails: g})
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
				if side[b] == 0 && !ill[Pair{min(queue[0], b), max(queue[0], b)}] {
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

// acquitted reports whether a suspect touches a cell that is none of those to be explained.
func (m *Matrix) acquitted(s suspect, what steps.Measure, open map[Place]bool) bool {
	good := false
	m.Places(func(p Place, _ *Cell) bool {
		good = good || p.What == what && s.touches(p) && !open[p]
		return !good
	})
	return good
}

// cause tells a suspect.
func (m *Matrix) cause(s suspect, what steps.Measure, states []State, covered []Place) Cause {
	c := Cause{What: what, Text: m.name(s, what, states), Cells: len(covered)}
	for _, p := range covered {
		if state := m.At(p.What, p.Rail, p.From, p.To).State; c.State == Unmeasured || state == Bad {
			c.State = state
		}
	}
	c.few = fmt.Sprintf("%d figures of %s", len(covered), what)
	if len(covered) == 1 {
		c.few = fmt.Sprintf("its %s", what)
	}
	c.Evidence = m.evidence(c, covered)
	return c
}

// name is what a suspect is called that explains figures in some states.
func (m *Matrix) name(s suspect, what steps.Measure, states []State) string {
	// Words that hold where the other figures have none of these states, nor a worse one: something else may have
	// explained theirs.
	only := func(words string, other func(Place) bool) string {
		m.Places(func(p Place, c *Cell) bool {
			good := c.State == Good || c.State == Warned && !slices.Contains(states, Warned)
			if p.What == what && !good && other(p) {
				words = ""
			}
			return words != ""
		})
		return words
	}
	over := "over " + m.railNames(s.rails)
	name := func(i int) string { return m.Nodes[i].Name }
	switch s.extent {
	case ofRest:
		return "other pairs, which have nothing in common"
	case ofAll:
		return "everything, between whatever nodes"
	case ofRail:
		return "everything " + over + ", between whatever nodes"
	case ofNode:
		return "everything to and from " + name(s.node) + " over every rail"
	case ofHalf:
		return "everything to and from " + name(s.node) + " " + over + ", which share a PCIe half there"
	case ofPort:
		return "everything to and from " + name(s.node) + " " + over + ", which share a cable there"
	case ofNodeRail:
		return "everything to and from " + name(s.node) + " " + over + " (its port, its cable, or what that is plugged into)"
	case intoNode:
		back := suspect{extent: outOfNode, node: s.node, rails: s.rails}
		return "everything to " + name(s.node) + " " + over + only(", and not what comes from it", back.touches)
	case outOfNode:
		back := suspect{extent: intoNode, node: s.node, rails: s.rails}
		return "everything from " + name(s.node) + " " + over + only(", and not what goes to it", back.touches)
	case between:
		return "everything between " + m.list(s.sides[0]) + " on one side and " + m.list(s.sides[1]) + " on the other " +
			over +
			" (what joins the two halves)"
	case ofPair:
		return "between " + name(s.node) + " and " + name(s.to) + " " + over +
			only(", and nowhere else", func(p Place) bool { return !s.touches(p) })
	default:
		if !Both(what) {
			return "between " + name(s.node) + " and " + name(s.to) + " " + over
		}
		back := suspect{extent: oneWay, node: s.to, to: s.node, rails: s.rails}
		return "from " + name(s.node) + " to " + name(s.to) + " " + over + only(", and not back", back.touches)
	}
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

// evidence is what a cause rests on: how many figures, from which to which, beside those of all others, and
// what the first of them that is as the cause says was told by its own judge.
func (m *Matrix) evidence(cause Cause, covered []Place) string {
	what := cause.What
	e := m.Extremes(what)
	var seen span
	slow, reason, own, alone, apt := 0, "", "", true, false
	for _, p := range covered {
		c := m.At(p.What, p.Rail, p.From, p.To)
		seen.add(float64(c.Value))
		if c.Value > 0 && bad(what, float64(c.Value), e.Best) {
			slow++
		}
		alone = alone && c.Beside == 1
		if is := c.State == cause.State; c.Reason != "" && (reason == "" || is && !apt) {
			apt = is
			if reason = strings.TrimRight(c.Reason, ".?"); len(covered) > 1 { // of one it is said already
				reason = m.words(p) + ": " + reason
			}
		}
		if why := causeIn(c.Reason); own == "" && why != "" {
			own = "; " + m.words(p) + ": " + why
		}
	}
	figures := seen.words(what)
	if alone && m.Conditions.Soft == "" {
		figures += ", also alone"
	}
	switch {
	case cause.State == Crowd:
		return fmt.Sprintf("%s, bad beside other pairs and good alone (%s): what they share is too narrow", cause.few,
			figures)
	case cause.State == Unmeasured:
		return cause.few + ", not measured or not judged: " + or(reason, "nobody tried")
	case cause.State == Bad && slow == len(covered):
		return fmt.Sprintf("%s, %s: %s%s%s", cause.few, rule(what, e.Best), figures, m.others(what), own)
	case reason == "":
		return cause.few + ": " + figures
	}
	return cause.few + ": " + reason
}

// causeIn is what a test's own judge took for the cause of its rate, behind what it held the rate against;
// empty where it saw none.
func causeIn(reason string) string {
	first, _, _ := strings.Cut(reason, ". ")
	i := strings.LastIndex(first, "): ")
	if i < 0 {
		return ""
	}
	why := strings.TrimRight(first[i+len("): "):], ".?")
	if strings.HasPrefix(why, wire.NoCause) {
		return ""
	}
	return why
}

// others are the good figures beside what is bad.
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
	return "; the good ones are " + good.words(what)
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
