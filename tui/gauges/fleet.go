package gauges

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// A fleet is the gauges by node, for a rig of more nodes than rails have lines: a line a node, the
// slowest first, and a strip with a column a node where even these are too many.
type fleet struct {
	roster

	k     *theme.Styles
	table table
}

// A roster is a board by node: which node is slow, and the sum of all. It decides this for every view.
type roster struct {
	nodes []member
	rails int     // the most that a node has
	top   float64 // Gb/s of a full bar: the fastest node's cables together
}

// A member is one node with the sums of its rails, in Gb/s on the wire.
type member struct {
	name   string
	no     int
	rails  []meter.Gauge
	tx, rx meter.Flow
	link   float64 // of the cables of the rails that are up; 0 where one of them is unknown
	down   int     // how many rails are
	stale  string  // why nothing was heard, where all rails are stale
}

// fewNodes are shown rail by rail, however little room there is.
const fewNodes = 2

// newFleet is the board by node. It is nil for a rig of few nodes.
func newFleet(k *theme.Styles, gauges []meter.Gauge, width int) *fleet {
	r, many := newRoster(gauges)
	if !many {
		return nil
	}
	return &fleet{r, k, newTable(k, gauges, width)}
}

// newRoster sums a board up by node; many is false for a rig of few, which are shown rail by rail.
func newRoster(gauges []meter.Gauge) (f roster, many bool) {
	at := map[int]int{}
	for _, g := range gauges {
		i, known := at[g.No]
		if !known {
			i = len(f.nodes)
			at[g.No] = i
			f.nodes = append(f.nodes, member{name: theme.Clean(g.Node), no: g.No})
		}
		f.nodes[i].rails = append(f.nodes[i].rails, g)
	}
	if len(f.nodes) <= fewNodes {
		return f, false
	}
	for i := range f.nodes {
		f.nodes[i].sum()
		f.rails = max(f.rails, len(f.nodes[i].rails))
		f.top = max(f.top, f.nodes[i].link)
	}
	if f.top == 0 { // no link is known: the busiest direction is a full bar
		for _, m := range f.nodes {
			f.top = max(f.top, m.tx.Total(), m.rx.Total())
		}
	}
	return f, true
}

// sum adds up what is heard of. A rail that is down is none of the cables that a full bar is.
func (m *member) sum() {
	var up []meter.Gauge
	fresh := 0
	for _, g := range m.rails {
		switch {
		case g.Stale != "":
			m.stale = theme.Clean(g.Stale)
			continue
		case g.Down:
			m.down++
		}
		fresh++
		m.tx.RDMA, m.tx.IP = m.tx.RDMA+g.Tx.RDMA, m.tx.IP+g.Tx.IP
		m.rx.RDMA, m.rx.IP = m.rx.RDMA+g.Rx.RDMA, m.rx.IP+g.Rx.IP
		if !g.Down {
			up = append(up, g)
		}
	}
	m.link = meter.LinkOf(up)
	if fresh > 0 {
		m.stale = ""
	}
}

// alike is the share of the fastest node's rate from which a node does not count as slower.
const alike = 0.95

// busy is a node's stronger direction.
func (m member) busy() float64 { return max(m.tx.Total(), m.rx.Total()) }

// scale says what a full bar is.
func (f roster) scale() string {
	if !slices.ContainsFunc(f.nodes, func(m member) bool { return m.link > 0 }) {
		return "highest now " + rate(f.top)
	}
	return rate(f.top) + " a node"
}

// leastDown is how many rails are down on the node that lost least: a port without a cable on every node is
// not a loss.
func (f roster) leastDown() int {
	down := math.MaxInt
	for _, m := range f.nodes {
		if m.stale == "" {
			down = min(down, m.down)
		}
	}
	return down
}

// gone says why a node has no figures; empty where it has some.
func (m member) gone() string {
	switch {
	case m.stale != "":
		return "stale: " + m.stale
	case m.down == len(m.rails) && m.busy() < shown:
		return "down"
	}
	return ""
}

// slowestFirst puts the nodes that move something least in front: on one that lags, the others wait. One that has
// lost a rail stands before them, and one that isn't heard before all; nodes at rest come last. A tenth of the
// fastest is one step, so that equals keep their places.
func (f roster) slowestFirst() []member {
	fastest, down := 0.0, f.leastDown()
	for _, m := range f.nodes {
		fastest = max(fastest, m.busy())
	}
	step := func(m member) int {
		switch {
		case m.stale != "":
			return -2
		case m.down > down:
			return -1
		case m.busy() < shown:
			return math.MaxInt
		}
		return int(10 * m.busy() / fastest)
	}
	nodes := slices.Clone(f.nodes)
	slices.SortStableFunc(nodes, func(a, b member) int { return cmp.Compare(step(a), step(b)) })
	return nodes
}

// lines draws the fleet in height lines at most.
func (f *fleet) lines(height int) []string {
	nodes := f.slowestFirst()
	lines := make([]string, 0, height)
	var strip []string
	if len(nodes) >= height { // some have no line, but a column in the strip
		strip = f.strip(nodes, max(2, height/2))
		strip = strip[:min(len(strip), height)]
		nodes = nodes[:max(0, height-len(strip)-1)]
	}
	for _, m := range nodes {
		lines = append(lines, f.line(m))
	}
	lines = append(lines, strip...)
	if len(lines) < height {
		lines = append(lines, f.total())
	}
	return lines[:min(len(lines), height)]
}

// line is one node: both directions together, and what each of its rails has of them.
func (f *fleet) line(m member) string {
	name := " " + f.k.Dim.Render(theme.Pad(m.name, f.table.node)) + " "
	room := f.table.width - lipgloss.Width(name)
	if gone := m.gone(); gone != "" {
		return name + f.k.Dim.Render(theme.Pad(gone, room))
	}
	half := (room - 2) / 2
	return name + f.way("tx", m, m.tx, half) + "  " + f.way("rx", m, m.rx, room-2-half)
}

// way is one direction of a node: a bar of the sum, its figure, and a glyph a rail.
func (f *fleet) way(dir string, m member, sum meter.Flow, width int) string {
	g := meter.Gauge{LinkGbps: f.top, Source: m.rails[0].Source}
	glyphs, rails := "", 0
	// The direction, the bar's ends and the figure, as in a table's line.
	bar := width - 3 - 2 - 6
	if rails = f.rails + 1; bar-rails >= 6 {
		bar -= rails
		for i := range f.rails {
			if i < len(m.rails) {
				r := m.rails[i]
				flow := r.Tx
				if dir == "rx" {
					flow = r.Rx
				}
				glyphs += f.glyph(flow, levelOf(flow, full(r), r.Down, r.Stale != ""))
			}
		}
		glyphs = " " + theme.Pad(glyphs, f.rails)
	}
	if bar < 3 {
		return theme.Pad(dir+" "+value(sum.Total()), width)
	}
	style := f.k.Strong
	if sum.Total() < shown {
		style = f.k.Dim
	}
	return theme.Pad(f.k.Dim.Render(dir)+" "+f.k.Faint.Render("▕")+f.table.bar(g, sum, bar)+f.k.Faint.Render("▏")+
		style.Render(value(sum.Total()))+glyphs, width)
}

// glyph is a flow in one column: its height is its share of a full bar.
func (f *fleet) glyph(flow meter.Flow, level Level) string {
	switch level {
	case Unheard:
		return f.k.Warn.Render("?")
	case Down:
		return f.k.Dim.Render("×")
	case AtRest:
		return f.k.Faint.Render("·")
	}
	style := f.k.RDMA
	if flow.IP > flow.RDMA {
		style = f.k.IP
	}
	return style.Render(sparks[level])
}

// strip has a column for each node in the order of the rig file, with both directions one above the other: a
// low column shows a node that waits. If there are more columns than most, neighbours share one, which shows
// the first of them among sorted: the slowest.
func (f *fleet) strip(sorted []member, most int) []string {
	label := func(s string) string { return " " + f.k.Dim.Render(theme.Pad(s, f.table.node)) + " " }
	room := max(1, f.table.width-f.table.node-6)
	nodes := f.places()
	rank := make(map[int]int, len(sorted))
	for i, m := range sorted {
		rank[m.no] = i
	}
	each := 1 // nodes in a column
	count := func(all, size int) int { return (all + size - 1) / size }
	for each < len(nodes) && 2*count(count(len(nodes), each), room) > most {
		each++
	}
	var columns []member
	for part := range slices.Chunk(nodes, each) {
		columns = append(columns, slices.MinFunc(part, func(a, b member) int { return rank[a.no] - rank[b.no] }))
	}
	second := ""
	if each > 1 {
		second = fmt.Sprintf("%d each", each)
	}
	var lines []string
	from := 1
	for part := range slices.Chunk(columns, room) {
		var tx, rx strings.Builder
		for _, m := range part {
			sent, received := f.levels(m)
			tx.WriteString(f.glyph(m.tx, sent))
			rx.WriteString(f.glyph(m.rx, received))
		}
		last := min(from+len(part)*each-1, len(nodes))
		name := fmt.Sprintf("%d–%d", from, last)
		from = last + 1
		lines = append(lines, label(name)+f.k.Dim.Render("tx ")+tx.String(),
			label(second)+f.k.Dim.Render("rx ")+rx.String())
	}
	return lines
}

// places are the nodes in the order of the rig file, each at its number: one of which nothing was ever heard is
// stale there.
func (f roster) places() []member {
	last := 0
	for _, m := range f.nodes {
		last = max(last, m.no)
	}
	all := make([]member, last+1)
	for i := range all {
		all[i] = member{no: i, stale: "not heard"}
	}
	for _, m := range f.nodes {
		all[m.no] = m
	}
	return all
}

// total is what all nodes come to, and how far they are apart.
func (f *fleet) total() string {
	a := f.apart()
	line := " " + f.k.Strong.Render(a.count()) + f.k.Dim.Render("  tx") + f.k.Strong.Render(value(a.tx)) +
		f.k.Dim.Render("  rx") + f.k.Strong.Render(value(a.rx))
	if spread := a.spread(); spread != "" {
		line += f.k.Dim.Render("  " + spread)
	}
	if a.unheard > 0 {
		line += f.k.Warn.Render("  " + a.stale())
	}
	return theme.Pad(line, f.table.width)
}

// apart is what all nodes come to, and how far those that move something are apart.
type apart struct {
	nodes, moving, unheard int
	tx, rx                 float64
	least, most            float64
	slowest                string
}

func (f roster) apart() apart {
	a := apart{nodes: len(f.nodes), least: math.Inf(1)}
	for _, m := range f.nodes {
		a.tx, a.rx = a.tx+m.tx.Total(), a.rx+m.rx.Total()
		b := m.busy()
		if m.stale != "" {
			a.unheard++
		}
		if b < shown || m.stale != "" {
			continue
		}
		a.moving++
		a.most = max(a.most, b)
		if b < a.least {
			a.least, a.slowest = b, m.name
		}
	}
	return a
}

func (a apart) count() string {
	return fmt.Sprintf("%s nodes, %s moving", steps.Thousands(a.nodes), steps.Thousands(a.moving))
}

// spread says which nodes lag, or that none does; empty if fewer than two move data.
func (a apart) spread() string {
	switch {
	case a.moving < 2:
		return ""
	case a.least > alike*a.most:
		return "alike: each" + value(a.most)
	}
	return fmt.Sprintf("slowest %s: %s of%s", a.slowest, strings.TrimSpace(value(a.least)), value(a.most))
}

func (a apart) stale() string { return steps.Thousands(a.unheard) + " stale" }
