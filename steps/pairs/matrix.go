package pairs

import (
	"fmt"
	"slices"
	"time"

	"github.com/railbench/railbench/steps"
)

// What is measured between two nodes, in the order in which it is shown.
var Measures = [...]steps.Measure{steps.Throughput, steps.Latency}

// Unit is what a measure's figures are in.
func Unit(what steps.Measure) string {
	if what == steps.Latency {
		return "us"
	}
	return "Gb/s"
}

// A Cell is one rail from one node to another. It is small: 1,024 nodes have three million.
type Cell struct {
	// Value is what counts, in the measure's Unit: what was measured last. 0 is none.
	Value float32
	// First is what was measured next to all others, where it was measured again; 0 where it was not.
	First float32
	// Failed says that its own judge failed it at first, and not when it was measured again.
	Failed bool
	// Grade is what its own judge said: by its ends, its output, the bytes of its ports and the hardware. NotRun is:
	// no one measured it.
	Grade steps.Grade
	// State is what it is among the others; Judge sets it.
	State State
	// Next to is how many pairs ran at the same time when Value was measured, itself among them.
	Beside uint16
	// Code is the cause that the test's own judge saw; empty where it is PASS.
	Code steps.Code
	// Reason is why it is not PASS; empty where it is.
	Reason string
}

// A State is what a cell is among the others.
type State uint8

// The states.
const (
	Unmeasured State = iota // no one measured it, or no one could judge it
	Good
	Warned // its own judge has something to say
	Crowd  // bad next to others and good alone
	Bad    // bad by the rule, or by its own judge
)

// Conditions are what all figures of a matrix were measured under; 0 and empty is unknown.
type Conditions struct {
	MessageBytes int `json:"messageBytes"`
	LatencyBytes int `json:"latencyBytes"`
	// MTU is RoCE's, in bytes; where pairs differ it is the least, and MTUMost the largest.
	MTU     int    `json:"mtu"`
	MTUMost int    `json:"mtuMost"`
	Memory  string `json:"memory"`
	// Settings are the parameters that the tests read, in one line: figures of others don't compare.
	Settings string `json:"settings"`
	// Soft is why the rule is not held against these figures; empty where it is.
	Soft string `json:"soft,omitempty"`
}

// Add takes in the conditions of a figure.
func (c *Conditions) Add(f steps.Figure) {
	if f.What == steps.Latency {
		c.LatencyBytes = f.MessageBytes
		return
	}
	if f.What == steps.Throughput {
		c.MessageBytes = f.MessageBytes
		if c.MTU == 0 || f.MTU < c.MTU {
			c.MTU = f.MTU
		}
		c.MTUMost = max(c.MTUMost, f.MTU)
		c.Memory = f.Memory
	}
}

// String is the conditions in a line.
func (c Conditions) String() string {
	mtu := "unknown"
	switch {
	case c.MTU > 0 && c.MTU == c.MTUMost:
		mtu = fmt.Sprint(c.MTU)
	case c.MTU > 0:
		mtu = fmt.Sprintf("%d to %d", c.MTU, c.MTUMost)
	}
	return fmt.Sprintf("payload, not wire; messages of %d bytes, of %d for the latency; RoCE MTU %s; %s",
		c.MessageBytes, c.LatencyBytes, mtu, or(c.Memory, "memory unknown"))
}

// A Node is one of a matrix.
type Node struct {
	Name string `json:"name"`
	// Hardware is what its figures depend on, in a line: a matrix goes on over the same hardware alone.
	Hardware string `json:"hardware"`
	// Halves and Ports are the PCIe half and the connector of each rail, in the rails' order; empty where
	// they aren't known.
	Halves []string `json:"halves,omitempty"`
	Ports  []string `json:"ports,omitempty"`
	// Lacks says of each rail that the node has none of it; empty where it has.
	Lacks []string `json:"lacks,omitempty"`
}

// A Matrix is what goes between all nodes.
type Matrix struct {
	Rig        string
	Simulated  bool
	Began      time.Time
	Elapsed    time.Duration
	Nodes      []Node
	Rails      []string // their names: "rail 1"
	Conditions Conditions
	// Partners is with how many others each node is measured, where that is not all of them: rounds that lie
	// evenly among those of all pairs. 0 is all.
	Partners int
	// ByLink says that a rail is a place on each link, as in a ring: another port to each neighbour.
	ByLink bool
	// Uncabled are the pairs that no cable joins, as in a ring those that are not neighbours: there is nothing to
	// measure. Uncable adds one.
	Uncabled []Pair

	cells []Cell
	none  []bool // as Uncabled, by from and to: it is asked for each cell
	// slots are where a pair's cells are, by its lesser node and the other; -1 for one that is not measured. nil where
	// all are.
	slots []int32
	near  [][]int // of each node those with which it is measured, in their order
}

// Uncable takes a pair out, the lesser node first. It reports whether there was one to take out.
func (m *Matrix) Uncable(p Pair) bool {
	n := len(m.Nodes)
	if p.From < 0 || p.From >= p.To || p.To >= n {
		return false
	}
	if m.none == nil {
		m.none = make([]bool, n*n)
	}
	if m.none[p.From*n+p.To] {
		return false
	}
	m.none[p.From*n+p.To] = true
	m.Uncabled = append(m.Uncabled, p)
	return true
}

// New is a matrix in which nothing was measured, of each node with so many others; 0 is all.
func New(rig string, nodes []Node, rails []string, partners int) *Matrix {
	n := len(nodes)
	m := &Matrix{Rig: rig, Nodes: nodes, Rails: rails, Partners: PartnersOf(n, partners), near: make([][]int, n)}
	if m.Partners == 0 {
		everybody := make([]int, n)
		for i := range everybody {
			everybody[i], m.near[i] = i, everybody
		}
		m.cells = make([]Cell, len(Measures)*len(rails)*n*n)
		return m
	}
	m.slots = slices.Repeat([]int32{-1}, n*n)
	pairs := int32(0)
	for _, round := range Rounds(n, m.Partners) {
		for _, p := range round {
			m.slots[p.From*n+p.To] = pairs
			m.near[p.From], m.near[p.To] = append(m.near[p.From], p.To), append(m.near[p.To], p.From)
			pairs++
		}
	}
	for _, near := range m.near {
		slices.Sort(near)
	}
	m.cells = make([]Cell, len(Measures)*len(rails)*2*int(pairs))
	return m
}

// LeftOut reports whether a pair is none of those that are measured, although a cable may join it.
func (m *Matrix) LeftOut(a, b int) bool {
	return m.slots != nil && a != b && m.slots[min(a, b)*len(m.Nodes)+max(a, b)] < 0
}

// Both reports whether each way between two nodes has a figure of its own: a latency is that of a ping
// and its answer.
func Both(what steps.Measure) bool { return what != steps.Latency }

// At is a cell; nil on the diagonal, where no cable is, of a pair that is left out, and outside.
func (m *Matrix) At(what steps.Measure, rail, from, to int) *Cell {
	n := len(m.Nodes)
	if from == to || min(from, to, rail) < 0 || max(from, to) >= n || rail >= len(m.Rails) {
		return nil
	}
	if m.none != nil && m.none[min(from, to)*n+max(from, to)] {
		return nil
	}
	k := 0
	if what == steps.Latency {
		k, from, to = 1, min(from, to), max(from, to)
	}
	row := k*len(m.Rails) + rail
	if m.slots == nil {
		return &m.cells[(row*n+from)*n+to]
	}
	slot := int(m.slots[min(from, to)*n+max(from, to)])
	if slot < 0 {
		return nil
	}
	if slot *= 2; from > to {
		slot++
	}
	return &m.cells[row*len(m.cells)/(len(Measures)*len(m.Rails))+slot]
}

// A Place is where a cell is.
type Place struct {
	What     steps.Measure
	Rail     int
	From, To int
}

// Places are all cells that there are to measure, in a fixed order.
func (m *Matrix) Places(yield func(Place, *Cell) bool) {
	for _, what := range Measures {
		for rail := range m.Rails {
			for from := range m.Nodes {
				for _, to := range m.near[from] {
					c := m.At(what, rail, from, to)
					if c == nil || !Both(what) && from > to {
						continue
					}
					if !yield(Place{what, rail, from, to}, c) {
						return
					}
				}
			}
		}
	}
}

// Measured reports whether a cell has a figure that a user judged.
func (c *Cell) Measured() bool { return c.Value > 0 && c.Grade != steps.NotRun }

// Done reports whether a run that goes on can leave out this direction of a pair: it was measured on every
// rail, and no result was INCONCLUSIVE.
func (m *Matrix) Done(what steps.Measure, p Pair) bool {
	for rail := range m.Rails {
		c := m.At(what, rail, p.From, p.To)
		if c == nil || !c.Measured() || c.Grade == steps.Inconclusive {
			return false
		}
	}
	return true
}

// words are a pair's: "spark-01 to spark-02 over rail 1".
func (m *Matrix) words(p Place) string { return m.nodes(p) + " over " + m.Rails[p.Rail] }

// nodes are those of a pair: "spark-01 to spark-02".
func (m *Matrix) nodes(p Place) string {
	way := " to "
	if !Both(p.What) {
		way = " and "
	}
	return m.Nodes[p.From].Name + way + m.Nodes[p.To].Name
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
