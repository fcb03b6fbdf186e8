package gauges

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// A table is the columns that gauges below each other share.
type table struct {
	width     int
	node, dev int // columns of the names

	strong, dim, faint, warn, rdma, ip, mixed, ceiling, reached theme.Style
}

// Names longer than these are cut: the bars need the room.
const (
	longestNode = 14
	longestDev  = 13
)

func newTable(k *theme.Styles, gauges []meter.Gauge, width int) table {
	s := table{
		width: width, strong: k.Strong, dim: k.Dim, faint: k.Faint,
		warn: k.Warn, rdma: k.RDMA, ip: k.IP, mixed: k.Mixed,
		ceiling: k.Ceiling, reached: k.RDMACeiling,
	}
	for _, g := range gauges {
		s.node = max(s.node, lipgloss.Width(theme.Clean(g.Node)))
		s.dev = max(s.dev, lipgloss.Width(theme.Clean(g.Dev)))
	}
	s.node, s.dev = min(s.node, longestNode), min(s.dev, longestDev)
	if width < 70 {
		s.node, s.dev = min(s.node, 8), min(s.dev, 11)
	}
	return s
}

// names are the columns in front of a bar. A node is named once.
func (s table) names(g meter.Gauge, node, dev bool) string {
	n, d := "", ""
	if node {
		n = theme.Clean(g.Node)
	}
	if dev {
		d = theme.Clean(g.Dev)
	}
	style := s.strong
	if g.Down || g.Stale != "" {
		style = s.dim
	}
	return " " + s.dim.Render(theme.Pad(n, s.node)) + " " + style.Render(theme.Pad(d, s.dev)) + " "
}

// single draws both directions on one line.
func (s table) single(g meter.Gauge, node bool) string {
	names := s.names(g, node, true)
	room := s.width - lipgloss.Width(names)
	if text := state(g); text != "" {
		return names + s.dim.Render(ansi.Truncate(text, room, "…"))
	}
	if room < twoBars {
		// One bar that can be read, for the direction that is busier.
		dir, f, other, rest := "tx", g.Tx, "rx", g.Rx
		if busier(g.Rx, g.Tx) {
			dir, f, other, rest = "rx", g.Rx, "tx", g.Tx
		}
		return names + s.flow(g, dir, f, room-10) + " " + s.dim.Render(other+value(rest.Total())+" ")
	}
	half := (room - 2) / 2
	return names + s.flow(g, "tx", g.Tx, half) + "  " + s.flow(g, "rx", g.Rx, room-2-half)
}

// twoBars is the room from which both directions have a bar on one line.
const twoBars = 94

// busier reports whether a clearly has more to show than b. Nearly equal rates don't
// make the two change places all the time.
func busier(a, b meter.Flow) bool {
	if a.Total() < shown && b.Total() < shown {
		return a.Peak > b.Peak
	}
	return a.Total() > 1.25*b.Total()
}

// double draws the directions below each other.
func (s table) double(g meter.Gauge, node bool) []string {
	names, below := s.names(g, node, true), s.names(g, false, false)
	room := s.width - lipgloss.Width(names)
	if text := state(g); text != "" {
		return []string{names + s.dim.Render(ansi.Truncate(text, room, "…")), below}
	}
	return []string{names + s.flow(g, "tx", g.Tx, room), below + s.flow(g, "rx", g.Rx, room)}
}

// card draws a title, both directions and, in so many rows, the history of the
// busier one.
func (s table) card(g meter.Gauge, rows int) []string {
	history := rows > 0
	lines := []string{s.title(g)}
	if quiet(g) {
		// Nothing moves there: one line says it.
		if history {
			lines = append(lines, "")
		}
		return lines
	}
	text, moved := state(g), g.Tx.Peak > 0 || g.Rx.Peak > 0
	if text != "" && !moved {
		lines = append(lines, "   "+s.dim.Render(ansi.Truncate(text, s.width-3, "…")), "")
	} else {
		lines = append(lines, "   "+s.wide(g, "tx", g.Tx, s.width-4, history),
			"   "+s.wide(g, "rx", g.Rx, s.width-4, history))
	}
	switch {
	case !history:
		return lines
	case text != "" && moved:
		lines = append(lines, "   "+s.warn.Render(ansi.Truncate(text, s.width-4, "…")))
		return append(lines, make([]string, rows)...)
	}
	return append(lines, s.history(g, rows)...)
}

// title is a card's first line: the rail, and its scale.
func (s table) title(g meter.Gauge) string {
	style := s.strong
	if g.Down || g.Stale != "" {
		style = s.dim
	}
	title := " " + style.Render(theme.Clean(g.Node+" "+g.Dev))
	forms := facts(g)
	if quiet(g) {
		forms = []string{"down"}
	}
	// A stub of its name says nothing, and its name says more than what comes last of the facts.
	netdev := ""
	if g.Netdev != "" {
		netdev = "  " + theme.Clean(g.Netdev)
	}
	right := forms[len(forms)-1]
	for _, f := range append([][2]string{{netdev, forms[0]}, {netdev, forms[min(1, len(forms)-1)]}}, alone(forms)...) {
		if lipgloss.Width(title)+lipgloss.Width(f[0])+lipgloss.Width(f[1])+2 <= s.width {
			title, right = title+s.dim.Render(f[0]), f[1]
			break
		}
	}
	return theme.Sides(title, s.dim.Render(right)+" ", s.width)
}

// alone are the facts without the interface's name.
func alone(forms []string) (all [][2]string) {
	for _, f := range forms {
		all = append(all, [2]string{"", f})
	}
	return all
}

// history draws the busier direction over time, in so many rows and an empty one.
func (s table) history(g meter.Gauge, rows int) []string {
	busy, dir := g.Tx, "tx"
	if sum(g.Rx.History) > sum(g.Tx.History) {
		busy, dir = g.Rx, "rx"
	}
	if sum(busy.History) == 0 {
		return make([]string, rows+1)
	}
	// Six columns of the axis on the left, and " now (120 s)" on the right.
	n := min(meter.HistoryLen, s.width-18)
	top := full(g)
	var lines []string
	for i, trace := range Area(busy.History, n, rows, top) {
		left, right := strings.Repeat(" ", 6), ""
		switch i {
		case rows - 1: // the axis begins at 0, where the direction stands
			left = "   " + s.dim.Render(dir) + s.faint.Render("└")
			right = s.dim.Render(fmt.Sprintf(" now (%d s)", n*int(meter.HistoryStep/time.Millisecond)/1000))
		case 0:
			left = s.dim.Render(fmt.Sprintf("%5.0f", top)) + s.faint.Render("┤")
		}
		lines = append(lines, left+s.style(g, busy).Render(trace)+right)
	}
	return append(lines, "")
}

// quiet names the rails that are down, a line a node.
func (s table) quiet(gauges []meter.Gauge) []string {
	var lines []string
	for i := 0; i < len(gauges); {
		var devs []string
		node := gauges[i].Node
		for ; i < len(gauges) && gauges[i].Node == node; i++ {
			if quiet(gauges[i]) {
				devs = append(devs, theme.Clean(gauges[i].Dev))
			}
		}
		if len(devs) > 0 {
			lines = append(lines, " "+s.dim.Render(theme.Pad(theme.Clean(node), s.node)+" down: "+strings.Join(devs, ", ")))
		}
	}
	return lines
}

// state is what stands in place of the bars, empty while they say enough.
func state(g meter.Gauge) string {
	switch {
	case g.Stale != "":
		return "stale: " + theme.Clean(g.Stale)
	case g.Source == meter.NoCounters:
		return "no counters to read"
	case g.Down:
		return "down"
	}
	return ""
}

// facts are a rail's scale and its source, and then the same with less: what a title of the pane says already,
// and what is as a rule, is left out first.
func facts(g meter.Gauge) []string {
	link, mtu, ceiling, source := "link rate unknown", "", "", g.Source.String()
	if g.LinkGbps > 0 {
		link = "link " + rate(g.LinkGbps)
	}
	if g.RoCE.Payload > 0 && g.Source == meter.PortCounters {
		mtu = fmt.Sprintf("RoCE MTU %d", g.RoCE.Payload)
	}
	if g.CeilingGbps > 0 {
		ceiling = "PCIe " + rate(g.CeilingGbps) + " wire"
		if p, ok := g.Payload(g.CeilingGbps, 0); ok { // the verdicts' number, of the same link
			ceiling += ", " + rate(float64(p)) + " payload"
		}
	}
	usual := source
	if g.Source == meter.PortCounters {
		usual = ""
	}
	var forms []string
	for _, parts := range [][]string{
		{link, mtu, ceiling, source}, {link, mtu, ceiling, usual}, {strings.TrimPrefix(mtu, "RoCE "), ceiling, usual},
	} {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		forms = append(forms, strings.Join(parts, " · "))
	}
	return forms
}

// full is the rate of a full bar: the link's, so that a bar's length means the
// same from moment to moment. Where the kernel doesn't know the link, it is the
// highest rate that was seen.
func full(g meter.Gauge) float64 {
	if g.LinkGbps > 0 {
		return g.LinkGbps
	}
	return max(g.Tx.Peak, g.Rx.Peak, g.Tx.Total(), g.Rx.Total())
}

func (s table) flow(g meter.Gauge, dir string, f meter.Flow, width int) string {
	return s.wide(g, dir, f, width, false)
}

// wide draws one direction in exactly width columns: a bar and, as far as there is
// room, the peak, what kind of traffic it is, the mean and the history, unless that
// has a line of its own.
func (s table) wide(g meter.Gauge, dir string, f meter.Flow, width int, history bool) string {
	const (
		fixed  = 3 + 2 + 6 // "tx ", the bar's ends, the value
		wireW  = 5
		saysW  = wireW + 16
		peakW  = 11
		kindW  = 8
		meanW  = 10
		sparkW = 2
	)
	bar := width - fixed
	says, peak, kind, mean, spark := false, false, false, false, 0
	if bar-saysW >= 12 {
		says, bar = true, bar-saysW
	}
	if bar-peakW >= 12 {
		peak, bar = true, bar-peakW
	}
	if bar-kindW >= 14 {
		kind, bar = true, bar-kindW
	}
	if bar-meanW >= 24 {
		mean, bar = true, bar-meanW
	}
	if bar >= 36 && !history {
		spark = min(longestSpark, bar/3)
		bar -= spark + sparkW
	}
	if bar < 3 {
		return theme.Pad(dir+" "+value(f.Total()), width)
	}
	label, strong := s.dim, s.strong
	if g.Stale != "" || g.Down || f.Total() < shown {
		strong = s.dim
	}
	out := label.Render(dir) + " " + s.faint.Render("▕") + s.bar(g, f, bar) +
		s.faint.Render("▏") + strong.Render(value(f.Total()))
	if says {
		wire := ""
		if f.Total() >= shown {
			wire = " wire"
		}
		out += label.Render(theme.Pad(wire, wireW))
	}
	if peak {
		out += label.Render(fmt.Sprintf("%*s", peakW, once("peak", f.Peak)))
	}
	if mean {
		out += label.Render(fmt.Sprintf("%*s", meanW, once("avg", f.Avg)))
	}
	if says { // what is on the wire stands together
		out += s.says(g, f, saysW-wireW)
	}
	if spark > 0 {
		out += "  " + s.style(g, f).Render(Spark(f.History, spark, full(g)))
	}
	if kind {
		out += " " + s.kind(g, f, kindW-1)
	}
	return theme.Pad(out, width)
}

// longestSpark is a quarter of a minute: the sparkline shows the present, as the bar does.
const longestSpark = 30

// says gives the payload of what is on the wire; for a run that is over, its rate.
func (s table) says(g meter.Gauge, f meter.Flow, width int) string {
	text := ""
	switch p, ok := g.Payload(f.RDMA, f.IP); {
	case f.Total() < shown && f.Run.Bytes > 0:
		least := ""
		if f.Run.Least {
			least = "≥"
		}
		text = " last " + least + strings.TrimSpace(value(f.Run.Gbps)) + " wire"
	case f.Total() >= shown && ok && carries(g, f):
		text = value(float64(p)) + " payload"
	}
	return s.dim.Render(theme.Pad(text, width))
}

// carries reports whether a direction has payload to show. The acknowledgements that flow back have none.
func carries(g meter.Gauge, f meter.Flow) bool {
	return f.Total() >= 0.1*max(g.Tx.Total(), g.Rx.Total())
}

// once names a figure where there was ever something to measure.
func once(name string, v float64) string {
	if v == 0 {
		return ""
	}
	return name + value(v)
}

// shown is the rate from which a direction is not called idle: below it 0.0 is read, or a soft rail's three
// decimals.
const shown = 0.05

// kind names the traffic; its colour and glyph show it, too.
func (s table) kind(g meter.Gauge, f meter.Flow, width int) string {
	name := ""
	switch {
	case f.Total() < shown:
	case g.Source == meter.NetdevBytes:
		name = "netdev"
	case f.IP < shown:
		name = "RDMA"
	case f.RDMA < shown:
		name = "IP"
	default:
		name = "RDMA+IP"
	}
	return s.style(g, f).Render(theme.Pad(name, width))
}

func (s table) style(g meter.Gauge, f meter.Flow) theme.Style {
	switch {
	case g.Stale != "" || g.Down:
		return s.dim
	case g.Source == meter.NetdevBytes:
		return s.mixed
	case f.IP > f.RDMA:
		return s.ip
	default:
		return s.rdma
	}
}

// value writes a rate in six columns.
func value(v float64) string {
	switch {
	case math.IsNaN(v) || v < 0:
		return "     ?"
	case v >= 9999.5:
		return lipgloss.PlaceHorizontal(6, lipgloss.Right, ansi.Truncate(fmt.Sprintf("%.0fk", v/1000), 6, "…"))
	case v >= 999.5:
		return fmt.Sprintf("%6.0f", v)
	case v >= 0.0005 && v < 0.05: // soft-RoCE's, whose bar moves
		return fmt.Sprintf("%6.3f", v)
	default:
		return fmt.Sprintf("%6.1f", v)
	}
}

// bar draws f in width columns: RDMA first, then IP, with the ceiling's mark.
func (s table) bar(g meter.Gauge, f meter.Flow, width int) string {
	top := full(g)
	mark := -1
	if g.CeilingGbps > 0 && g.CeilingGbps < top {
		mark = min(width-1, int(float64(width)*g.CeilingGbps/top))
	}
	rdma, ip := f.RDMA, f.IP
	rdmaStyle, reached := s.rdma, s.reached
	ipStyle, ipGlyph := s.ip, "▒"
	if g.Source == meter.NetdevBytes {
		ipStyle, ipGlyph = s.mixed, "▓"
	}
	if g.Stale != "" || g.Down {
		rdmaStyle, ipStyle, reached = s.faint, s.faint, s.ceiling
	}
	var b strings.Builder
	eighths := 0
	if top > 0 {
		eighths = clamp(rdma/top, width*8)
	}
	end := eighths
	if top > 0 {
		end = max(end, clamp((rdma+ip)/top, width*8))
	}
	whole, part := eighths/8, eighths%8
	last := 0
	if ip >= shown && whole < width {
		// The shaded glyphs have no eighths. Traffic that is there is seen.
		last, part = max(whole+1, (end+4)/8), 0
	}
	// Runs of one glyph are painted at once.
	put := func(style, ceiling theme.Style, glyph string, from, to int) {
		if mark >= from && mark < to {
			b.WriteString(style.Render(strings.Repeat(glyph, mark-from)) + ceiling.Render("╎"))
			from = mark + 1
		}
		if from < to {
			b.WriteString(style.Render(strings.Repeat(glyph, to-from)))
		}
	}
	put(rdmaStyle, reached, "█", 0, whole)
	at := whole
	if part > 0 {
		put(rdmaStyle, s.ceiling, eighthBlocks[part], at, at+1)
		at++
	}
	if last > at {
		put(ipStyle, s.ceiling, ipGlyph, at, last)
		at = last
	}
	put(theme.Style{}, s.ceiling, " ", at, width)
	return b.String()
}

var eighthBlocks = [...]string{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// clamp gives a share of n in whole steps. Something that is not nothing is one step.
func clamp(share float64, n int) int {
	if math.IsNaN(share) || share <= 0 {
		return 0
	}
	if share >= 1 {
		return n
	}
	return max(1, int(math.Round(share*float64(n))))
}

// Spark draws the last n values on a scale from 0 to top. A value above the scale
// is drawn as a full one.
func Spark(values []float64, n int, top float64) string {
	if n <= 0 {
		return ""
	}
	return Area(values, n, 1, top)[0]
}

// Area is Spark in so many rows, the highest first.
func Area(values []float64, n, rows int, top float64) []string {
	n = max(0, n)
	if len(values) > n {
		values = values[len(values)-n:]
	}
	lines := make([]string, rows)
	for i := range lines {
		below := (rows - 1 - i) * 8
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", n-len(values)))
		for _, v := range values {
			step := 0
			if top > 0 {
				step = clamp(v/top, rows*8)
			}
			b.WriteString(sparks[max(0, min(8, step-below))])
		}
		lines[i] = b.String()
	}
	return lines
}

var sparks = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// total sums gauges up, those of a node or of all: " total  tx  195.7 wire 185.2 payload   rx  1.4 wire".
func (s table) total(name string, gauges []meter.Gauge) string {
	var line strings.Builder
	line.WriteString(" " + s.strong.Render(theme.Clean(name)))
	for _, dir := range []string{"tx", "rx"} {
		wire, payload, known := 0.0, 0.0, true
		for _, g := range gauges {
			f := g.Tx
			if dir == "rx" {
				f = g.Rx
			}
			if g.Stale != "" {
				continue
			}
			wire += f.Total()
			if f.Total() < shown || !carries(g, f) {
				continue
			}
			p, ok := g.Payload(f.RDMA, f.IP)
			payload, known = payload+float64(p), known && ok
		}
		line.WriteString(s.dim.Render("   "+dir) + s.strong.Render(value(wire)) + s.dim.Render(" wire"))
		if known && payload >= shown {
			line.WriteString(s.strong.Render(value(payload)) + s.dim.Render(" payload"))
		}
	}
	return theme.Pad(line.String(), s.width)
}
