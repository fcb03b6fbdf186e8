// Package gauges is the pane of rail gauges: a board of rates comes in and lines
// go out. It samples nothing and knows no clock: what is stale says so itself.
package gauges

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// A Pane is the room that the gauges have and what they say about themselves.
type Pane struct {
	Width, Height int
	Simulated     bool
	// Names are the nodes by End, which say who is asked while the board is empty.
	Names []string
	// Looked is set once the nodes were looked at: an empty board is the answer then.
	Looked bool
	// Cards gives each rail lines of its own, with its history; two columns of
	// nodes where there is room. It is for a pane that has more height than a strip.
	Cards bool
	// Folded is one line that says that nothing moves.
	Folded bool
}

// A density is how much of each gauge is shown.
type density uint8

const (
	merged density = iota // a line a rail; the rails of a node that are down share one
	single                // a line a rail
	double                // tx and rx below each other
	card                  // a title, tx and rx
	tall                  // and the history
)

// Lines draws the board in the pane: Height lines at most, each Width wide. The
// first line is the pane's title.
func (p Pane) Lines(k *theme.Styles, b meter.Board) []string {
	if p.Height < 1 || p.Width < 1 {
		return nil
	}
	if p.Folded {
		return []string{theme.Pad(p.titled(k, "rails", foldedText(b.Gauges), ""), p.Width)}
	}
	var lines []string
	if f := p.fleet(k, b); f != nil {
		lines = append([]string{p.titled(k, "nodes, slowest first", f.scale(), p.key(k, b))}, f.lines(p.Height-1)...)
	} else {
		lines = []string{p.title(k, b)}
		// The glyphs have a line of their own where the title has no room, unless it cost the sums.
		if key := p.key(k, b); p.Cards && p.Height >= keyHeight && key != "" && !strings.Contains(lines[0], key) &&
			len(p.sums(k, b, p.Height-1)) == len(p.sums(k, b, p.Height-2)) {
			lines = append(lines, " "+key)
		}
		lines = append(lines, p.body(k, b, p.Height-len(lines))...)
	}
	for i, l := range lines {
		lines[i] = theme.Pad(l, p.Width)
	}
	return lines[:min(len(lines), p.Height)]
}

// mostListed is how many nodes are named where a board has nothing of any.
const mostListed = 8

// keyHeight is the height from which a pane of cards has a line for its glyphs.
const keyHeight = 20

func (p Pane) body(k *theme.Styles, b meter.Board, height int) []string {
	if len(b.Gauges) == 0 {
		many := len(p.Names) > mostListed
		text := "no counters yet from " + listed(p.Names, "and")
		if many {
			text = fmt.Sprintf("no counters yet from any of %s nodes", steps.Thousands(len(p.Names)))
		}
		switch {
		case p.Looked && many:
			text = fmt.Sprintf("none of %s nodes has an RDMA device, so no rails to show", steps.Thousands(len(p.Names)))
		case p.Looked:
			text = "neither " + listed(p.Names, "nor") + " has an RDMA device, so no rails to show"
		}
		return []string{k.Dim.Render(ansi.Truncate(" "+theme.Clean(text), p.Width, "…"))}
	}
	sums := p.sums(k, b, height)
	height -= len(sums)
	if p.Cards && p.Width >= twoColumns {
		if lines, ok := p.columns(k, b, height); ok {
			return append(lines, sums...)
		}
	}
	return append(p.column(k, b.Gauges, p.Width, height), sums...)
}

// fleet is the board by node, where its rails are more than there are lines.
func (p Pane) fleet(k *theme.Styles, b meter.Board) *fleet {
	if merges(b) < p.Height {
		return nil
	}
	return newFleet(k, b.Gauges, p.Width)
}

// merges is how many lines the rails take at least: those of a node that are down share one.
func merges(b meter.Board) int {
	lines := 0
	down := map[int]bool{}
	for _, g := range b.Gauges {
		if quiet(g) {
			down[g.No] = true
		} else {
			lines++
		}
	}
	return lines + len(down)
}

// sums are the totals of the nodes, and of all, where a pane has room for them and there is more
// than one rail to sum up.
func (p Pane) sums(k *theme.Styles, b meter.Board, height int) []string {
	if !p.Cards || len(b.Gauges) < 2 || height < 2*len(b.Gauges)+4 {
		return nil
	}
	s := newTable(k, b.Gauges, p.Width)
	var lines []string
	of := map[int][]meter.Gauge{}
	for _, g := range b.Gauges {
		of[g.No] = append(of[g.No], g)
	}
	wide := lipgloss.Width("all nodes")
	for _, gauges := range of {
		wide = max(wide, min(longestNode, lipgloss.Width(theme.Clean(gauges[0].Node))))
	}
	for _, no := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, s.total(theme.Pad(theme.Clean(of[no][0].Node), wide), of[no]))
	}
	if len(of) > 1 {
		lines = append(lines, s.total(theme.Pad("all nodes", wide), b.Gauges))
	}
	return lines
}

// listed joins names: a, b and c.
func listed(names []string, last string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
}

// twoColumns is the width from which two nodes stand side by side: each needs half.
const twoColumns = 130

// columns puts the nodes side by side, as they are wired. ok is false if not all nodes with rails fit, or
// only one has rails.
func (p Pane) columns(k *theme.Styles, b meter.Board, height int) ([]string, bool) {
	of := map[int][]meter.Gauge{}
	for _, g := range b.Gauges {
		of[g.No] = append(of[g.No], g)
	}
	if len(of) < 2 || p.Width < len(of)*twoColumns/2 {
		return nil, false
	}
	width := (p.Width - 3*(len(of)-1)) / len(of)
	var columns [][]string
	most := 0
	for _, no := range slices.Sorted(maps.Keys(of)) {
		lines := p.column(k, of[no], width, height)
		columns, most = append(columns, lines), max(most, len(lines))
	}
	lines := make([]string, most)
	for i := range lines {
		var parts []string
		for _, c := range columns {
			parts = append(parts, theme.Pad(at(c, i), width))
		}
		lines[i] = strings.Join(parts, k.Faint.Render(" │ "))
	}
	return lines, true
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// column draws gauges below each other, as densely as the height asks for.
func (p Pane) column(k *theme.Styles, gauges []meter.Gauge, width, height int) []string {
	d := p.density(gauges, height)
	rows := 1
	if active := moving(gauges); d == tall && active > 0 {
		rows += min(highest-1, (height-active*5-(len(gauges)-active)*2)/active)
	}
	s := newTable(k, gauges, width)
	var lines []string
	for i, g := range gauges {
		if d == merged && quiet(g) {
			continue
		}
		first := i == 0 || gauges[i-1].Node != g.Node || d == merged && i > 0 && quiet(gauges[i-1])
		switch d {
		case merged, single:
			lines = append(lines, s.single(g, first))
		case double:
			lines = append(lines, s.double(g, first)...)
		case card:
			lines = append(lines, s.card(g, 0)...)
		case tall:
			lines = append(lines, s.card(g, rows)...)
		}
	}
	if d == merged {
		lines = append(lines, s.quiet(gauges)...)
	}
	return p.cut(k, lines, height)
}

// cut leaves as many lines as there is room for, and says that there are more.
func (p Pane) cut(k *theme.Styles, lines []string, height int) []string {
	if len(lines) <= height || height <= 0 {
		return lines
	}
	more := fmt.Sprintf(" … %d lines more than fit", len(lines)-height+1)
	if !p.Cards {
		more += ": g shows the rails alone"
	}
	return append(lines[:height-1], k.Dim.Render(more))
}

// highest is the most rows that a history has.
const highest = 8

// moving counts the rails that have something to show.
func moving(gauges []meter.Gauge) int {
	n := 0
	for _, g := range gauges {
		if !quiet(g) {
			n++
		}
	}
	return n
}

// density is the most that a height has room for: a card has three lines, and five with its history; that of a
// rail that is down has one, and an empty one. A strip's bounds are those of Height.
func (p Pane) density(gauges []meter.Gauge, height int) density {
	n := len(gauges)
	active := moving(gauges)
	down := n - active
	switch {
	case p.Cards && active*5+down*2 <= height:
		return tall
	case p.Cards && active*3+down <= height:
		return card
	case n*2 <= height && (p.Cards || n*2 <= 8):
		return double
	case n <= height && n <= 4 || p.Cards && n <= height:
		return single
	default:
		return merged
	}
}

// quiet reports whether a rail is down and shows nothing else.
func quiet(g meter.Gauge) bool {
	return g.Down && g.Tx.Total() == 0 && g.Rx.Total() == 0
}

// Moves reports whether a rail carries more than what is 0.0 in its gauge.
func Moves(g meter.Gauge) bool { return max(g.Tx.Total(), g.Rx.Total()) >= 0.05 }

// foldedText is what a line has to say of rails on which nothing moves.
func foldedText(gauges []meter.Gauge) string {
	down, stale := 0, 0
	for _, g := range gauges {
		switch {
		case g.Down:
			down++
		case g.Stale != "":
			stale++
		}
	}
	text := fmt.Sprintf("%d ports idle", len(gauges)-down-stale)
	if down > 0 {
		text += fmt.Sprintf(", %d down", down)
	}
	if stale > 0 {
		text += fmt.Sprintf(", %d not sampled", stale)
	}
	return text + ": g shows them"
}

// Height is how many lines the pane would like to have as a strip of at most
// most lines.
func Height(b meter.Board, most int) int {
	n := len(b.Gauges)
	switch {
	case n == 0:
		return min(2, most)
	case n*2 <= 8 && n*2+1 <= most:
		return n*2 + 1
	case n <= 4 && n+1 <= most:
		return n + 1
	}
	lines := merges(b)
	if nodes := map[int]bool{}; lines+1 > most {
		for _, g := range b.Gauges {
			nodes[g.No] = true
		}
		if len(nodes) > fewNodes {
			lines = len(nodes) + 1 // a line each, and the sum of all
		}
	}
	return max(1, min(most, lines+1))
}

// title names the unit, the scale and the marks.
func (p Pane) title(k *theme.Styles, b meter.Board) string {
	return p.titled(k, "rails", scale(b), p.key(k, b))
}

func (p Pane) titled(k *theme.Styles, what, scale, key string) string {
	left := k.Faint.Render("── ") + k.Strong.Render(what)
	if p.Simulated {
		left += " " + k.Badge.Render(" SIMULATED ")
	}
	legend := scale
	if !p.Folded {
		legend = "Gb/s on the wire"
		if scale != "" {
			legend += ", scale = " + scale
		}
	}
	right := k.Dim.Render(legend) + k.Faint.Render(" ──")
	if lipgloss.Width(left)+lipgloss.Width(key)+lipgloss.Width(right)+8 <= p.Width {
		right = key + "   " + right
	}
	gap := p.Width - lipgloss.Width(left) - lipgloss.Width(right) - 2
	return left + " " + k.Faint.Render(strings.Repeat("─", max(0, gap))) + " " + right
}

// key explains the glyphs that are on the board.
func (p Pane) key(k *theme.Styles, b meter.Board) string {
	var ports, netdevs, ceilings bool
	for _, g := range b.Gauges {
		ports = ports || g.Source == meter.PortCounters
		netdevs = netdevs || g.Source == meter.NetdevBytes
		ceilings = ceilings || g.CeilingGbps > 0
	}
	ceilings = ceilings && p.fleet(k, b) == nil // a node's rails together have none
	var parts []string
	if ports {
		parts = append(parts, k.RDMA.Render("█")+k.Dim.Render(" RDMA"), k.IP.Render("▒")+k.Dim.Render(" IP"))
	}
	if netdevs {
		parts = append(parts, k.Mixed.Render("▓")+k.Dim.Render(" RDMA and IP together (netdev bytes)"))
	}
	if ceilings {
		parts = append(parts, k.Ceiling.Render("╎")+k.Dim.Render(" PCIe ceiling"))
	}
	return strings.Join(parts, "  ")
}

// scale says what a full bar is.
func scale(b meter.Board) string {
	link, same, unknown := 0.0, true, false
	for _, g := range b.Gauges {
		switch {
		case g.LinkGbps <= 0:
			unknown = true
		case link == 0:
			link = g.LinkGbps
		case link != g.LinkGbps:
			same = false
		}
	}
	switch {
	case link == 0 && unknown:
		return "highest seen (link rate unknown)"
	case link == 0:
		return ""
	case !same:
		return "each link's rate"
	case unknown:
		return "link " + rate(link) + ", highest seen where unknown"
	}
	return "link " + rate(link)
}

func rate(v float64) string {
	if v == float64(int(v)) {
		return fmt.Sprint(int(v))
	}
	return fmt.Sprintf("%.1f", v)
}
