package gauges

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps/meter"
)

// A Level is how much moves, as a strip shows it: 1 to Levels where something does.
type Level int

// The levels that are none.
const (
	Unheard Level = iota - 2 // nothing was heard
	Down                     // no link
	AtRest                   // nothing moves
)

// Levels is a full bar.
const Levels = 8

// levelOf is a flow's share of a full bar.
func levelOf(flow meter.Flow, top float64, down, stale bool) Level {
	switch {
	case stale:
		return Unheard
	case down:
		return Down
	case flow.Total() < shown || top <= 0:
		return AtRest
	}
	return Level(clamp(flow.Total()/top, Levels))
}

// levels are both directions of a node.
func (f roster) levels(m member) (tx, rx Level) {
	gone := m.down == len(m.rails)
	return levelOf(m.tx, f.top, gone, m.stale != ""), levelOf(m.rx, f.top, gone, m.stale != "")
}

// An Overview is a board by node as the pane shows it, for another screen to draw: it says which node comes first,
// and when a strip stands in place of the rails.
type Overview struct {
	// Rows are the nodes that have a row of their own, the slowest first.
	Rows []Row
	// Strip has all nodes in the order of the rig file, where they are more than Rows has room for; nil where it has
	// all.
	Strip []Column
	// Full is what fills a bar, Gb/s on the wire, and Scale says where that is from.
	Full  float64
	Scale string
	// Told is the text with the sum of all nodes, and how far the nodes are apart.
	Told string
}

// A Row is a node with the sums of its rails, Gb/s on the wire.
type Row struct {
	Node   string
	No     int
	Tx, Rx meter.Flow
	// Why is what is amiss: not heard, or how many rails are down; empty where nothing is.
	Why   string
	Rails []meter.Gauge
}

// A Column is a node of the strip.
type Column struct {
	Node   string // empty where nothing was ever heard of it
	Tx, Rx Level
}

// Look sums a board up by node: a row each for most of them, or of more nodes a strip and half as many rows. ok is
// false for a rig of so few nodes that they are shown rail by rail.
func Look(b meter.Board, most int) (o Overview, ok bool) {
	f, many := newRoster(b.Gauges)
	if !many {
		return o, false
	}
	a := f.apart()
	told := []string{a.count(), "sent " + strings.TrimSpace(value(a.tx)), "received " + strings.TrimSpace(value(a.rx))}
	if spread := a.spread(); spread != "" {
		told = append(told, strings.Join(strings.Fields(spread), " "))
	}
	if a.unheard > 0 {
		told = append(told, a.stale())
	}
	o = Overview{Full: f.top, Scale: f.scale(), Told: strings.Join(told, ", ")}
	least := f.leastDown()
	why := func(m member) string {
		if gone := m.gone(); gone != "" || m.down <= least {
			return gone
		}
		return fmt.Sprintf("%d of %d rails down", m.down, len(m.rails))
	}
	nodes := f.slowestFirst()
	if len(nodes) > most { // half of the room is the strip's, as in the pane
		nodes = nodes[:(most+1)/2]
		for _, m := range f.places() {
			tx, rx := f.levels(m)
			o.Strip = append(o.Strip, Column{m.name, tx, rx})
		}
	}
	for _, m := range nodes {
		o.Rows = append(o.Rows, Row{Node: m.name, No: m.no, Tx: m.tx, Rx: m.rx, Why: why(m), Rails: m.rails})
	}
	return o, true
}
