package presentation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/chart"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// of are the dials of the view.
func (d drawing) of() []Dial {
	switch d.View {
	case Cables:
		return d.Dials.Cables
	case Rails:
		return d.Dials.Rails
	case Nodes:
		return d.Dials.Nodes
	case Halves, Results, views:
	}
	return d.Dials.Halves
}

// numerals are the total and the view's parts, side by side. They grow with the screen: at 200x60 the total's
// are four times as high. Their size depends on the screen only, or they would jump with a caption or a
// verdict.
func (d drawing) numerals(room int) []string {
	parts := d.of()
	if len(parts) == 0 {
		parts = d.Dials.Rails
	}
	height := digitRows + 2
	const gap = 3
	if d.roomy {
		width := d.Width * 2 / 5
		// The total has up to seven tenths of the width, as long as all parts have room in two rows, and the numerals
		// have two fifths of the height.
		least := (len(parts) + 1) / 2 * (leastNumeral + 2)
		dot := largest(min(d.Width*7/10, d.Width-gap-least)-2, d.Height*2/5-2)
		width = max(width, lipgloss.Width(numeral(widest, dot)[0])+2)
		height = digitRows*dot.rows + 2
		if len(parts) > 2 {
			height = max(height, 2*(digitRows+2)) // two rows of them
		}
		if two := 2 * (2*digitRows + 2); height < two && two <= d.Height*2/5 {
			height = two
		}
		first := d.panel(d.Dials.All, width, height)
		return beside(first, d.panels(parts, d.Width-width-gap, height), gap)
	}
	if d.View == Rails || len(parts) < 2 {
		// Rails have all of the width: there may be many.
		if len(parts) < 2 {
			parts = nil
		}
		if d.Width < 100 && len(parts) > 0 {
			return d.panels(parts, d.Width, height)
		}
	}
	first := largeNumeral + 4
	if rest := d.Width - first; len(parts) > 0 && (rest/len(parts) >= leastNumeral+2 || d.View == Nodes) {
		return beside(d.panel(d.Dials.All, first, height), d.panels(parts, rest, height), 0)
	}
	return d.panels(append([]Dial{d.Dials.All}, parts...), d.Width, height)
}

// panels puts dials side by side: as many as fit, the busiest ones, in their order.
func (d drawing) panels(dials []Dial, width, height int) []string {
	fit := max(1, width/(leastNumeral+2))
	rows := 1
	if len(dials) > 1 && height >= 2*(digitRows+2) {
		one, two := largest(width/len(dials)-2, height-2), largest(width/((len(dials)+1)/2)-2, height/2-2)
		if len(dials) > 2 || two.columns > one.columns {
			rows = 2
		}
	}
	all := len(dials)
	dials = d.foremost(dials, fit*rows)
	if len(dials) == 0 {
		return make([]string, height)
	}
	if hidden := all - len(dials); hidden > 0 {
		dials = slices.Clone(dials)
		dials[len(dials)-1].Detail = fmt.Sprintf("+%d more", hidden)
	}
	if rows == 2 && len(dials) > 1 {
		half := (len(dials) + 1) / 2
		return append(d.row(dials[:half], width, height/2, half), d.row(dials[half:], width, height/2, half)...)
	}
	return d.row(dials, width, height, len(dials))
}

func (d drawing) row(dials []Dial, width, height, columns int) []string {
	each := width / columns
	var all []string
	for i, x := range dials {
		p := d.panel(x, each, height)
		if i == 0 {
			all = p
			continue
		}
		all = beside(all, p, 0)
	}
	return all
}

// next to puts two blocks of lines next to each other.
func beside(a, b []string, gap int) []string {
	n := max(len(a), len(b))
	width := 0
	for _, l := range a {
		width = max(width, lipgloss.Width(l))
	}
	out := make([]string, n)
	for i := range out {
		var l, r string
		if i < len(a) {
			l = a[i]
		}
		if i < len(b) {
			r = b[i]
		}
		out[i] = theme.Pad(l, width+gap) + r
	}
	return out
}

// foremost are the n dials that there is room for: of nodes those on which the others wait.
func (d drawing) foremost(dials []Dial, n int) []Dial {
	if d.View == Nodes {
		return slowest(dials, n)
	}
	return busiest(dials, n)
}

// busiest are the n dials with the most to show, in their order.
func busiest(dials []Dial, n int) []Dial {
	for len(dials) > n {
		least := 0
		for i := range dials {
			if a, b := total(dials[i]), total(dials[least]); a < b || a == b && i > least {
				least = i
			}
		}
		dials = append(append([]Dial{}, dials[:least]...), dials[least+1:]...)
	}
	return dials
}

// total is what moves now, in both directions.
func total(d Dial) float64 {
	if d.Stale != "" {
		return 0
	}
	return d.To.total() + d.Back.total()
}

// panel is one dial in numerals: its name, its rate, and what that is.
func (d drawing) panel(x Dial, width, height int) []string {
	k := d.k
	arrow, way := x.ways()
	name := k.Strong.Render(x.Name)
	if detail := theme.Clean(x.Detail); detail != "" && lipgloss.Width(x.Name+"  "+detail)+3 <= width {
		name += "  " + k.Dim.Render(detail)
	}
	v, unit := x.value()
	style := d.style(x)
	text, below := figure(v), ""
	switch {
	case x.Stale != "":
		text, style, below = "--", k.Dim, "stale: "+theme.Clean(x.Stale)
	case x.Down:
		text, style, below = "--", k.Dim, "down"
	case way.total() < shown:
		style, below = k.Dim, "Gb/s"
	case way.Known:
		below = fmt.Sprintf("%s Gb/s %s · %s wire", arrow, unit, figure(way.total()))
	default:
		below = arrow + " Gb/s " + unit
	}
	if lipgloss.Width(below)+3 > width && way.Known && way.total() >= shown {
		if below = arrow + " payload · " + figure(way.total()) + " wire"; lipgloss.Width(below)+3 > width {
			below = arrow + " Gb/s payload"
		}
	}
	lines := []string{theme.Pad(" "+name, width)}
	for _, l := range numeral(text, largest(width-2, height-2)) {
		lines = append(lines, theme.Pad("  "+style.Render(l), width))
	}
	return append(lines, theme.Pad("  "+k.Dim.Render(ansi.Truncate(below, width-2, "…")), width))
}

// style is the colour of a dial's traffic.
func (d drawing) style(x Dial) theme.Style {
	_, w := x.ways()
	switch {
	case w.total() < shown:
		return d.k.Dim
	case x.Mixed:
		return d.k.Mixed
	case w.IP > w.RDMA:
		return d.k.IP
	}
	return d.k.RDMA
}

// bars draws one bar for each rail, or one for each part of the view where there is no room for all rails,
// with the scale below.
func (d drawing) bars(room int) []string {
	dials := d.Dials.Rails
	all := len(dials)
	// The history with its axis and the processors' line come before a bar for each rail.
	spare := leastHistory + 1 + len(d.hosts())
	if len(dials)+1 > room-spare {
		dials = d.of()
		if all = len(dials); all+1 > room-spare {
			dials = d.foremost(dials, max(1, room-spare-1))
		}
	}
	if len(dials) == 0 {
		return nil
	}
	name := 0
	for _, x := range dials {
		name = max(name, lipgloss.Width(x.Name))
	}
	top, end := scaleOf(dials)
	details := make([]string, len(dials))
	detail := 0
	for i, x := range dials {
		switch {
		case d.Width >= 100:
			details[i] = theme.Clean(x.Detail)
		case x.Lost > 0:
			details[i] = fmt.Sprintf("%d down", x.Lost)
		}
		if details[i] != "" {
			detail = max(detail, min(24, lipgloss.Width(details[i])+1))
		}
	}
	// "888.8 wire" and a blank: the bars don't change their length with what moves.
	says := 11
	for _, x := range dials {
		says = max(says, lipgloss.Width(x.says()))
	}
	width := d.Width - name - detail - says - 6
	if width < 12 {
		return nil
	}
	var lines []string
	for i, x := range dials {
		w := x.stronger()
		if x.Stale != "" {
			w = Way{}
		}
		line := " " + d.k.Strong.Render(theme.Pad(x.Name, name)) + " " + d.k.Dim.Render(theme.Pad(details[i], detail)) +
			d.k.Faint.Render("▕") + d.bar(x, w, top, width) + d.k.Faint.Render("▏")
		switch {
		case x.Down:
			line += d.k.Dim.Render("  down")
		case x.Stale != "":
			line += d.k.Dim.Render(" stale")
		default:
			line += d.k.Strong.Render(fmt.Sprintf("%*s", says, x.says()))
		}
		lines = append(lines, line)
	}
	left := name + detail + 3
	more := ""
	if hidden := all - len(dials); hidden > 0 {
		more = d.k.Dim.Render(ansi.Truncate(fmt.Sprintf(" +%d more", hidden), left, ""))
	}
	return append(lines, theme.Pad(more, left)+d.scale(dials[0], top, end, width))
}

// scaleOf is where bars end, and its name: the fastest link, because a PCIe link that is faster
// than its cable limits nothing. Where no link is known it is the PCIe link, or what moves.
func scaleOf(dials []Dial) (top float64, name string) {
	ceiling := 0.0
	for _, x := range dials {
		top, ceiling = max(top, x.Link), max(ceiling, x.Ceiling)
	}
	switch {
	case top > 0:
		return top, "link " + round(top)
	case ceiling > 0:
		return ceiling, "PCIe " + round(ceiling)
	}
	top = chart.Rounded(max(1, largestOf(dials, total)))
	return top, round(top)
}

// bar is one dial on a scale from 0 to top: RDMA, then IP, then what headers take of both.
func (d drawing) bar(x Dial, w Way, top float64, width int) string {
	at := func(v float64) int { return column(v, top, width) }
	rdma, ip, end := w.RDMA, w.IP, at(w.total())
	if w.Known && w.total() > 0 { // each has its share of the headers
		share := w.Payload / w.total()
		rdma, ip = rdma*share, ip*share
	}
	cells := make([]struct {
		glyph string
		style theme.Style
	}, width)
	rdmaStyle, ipStyle := d.k.RDMA, d.k.IP
	if x.Mixed {
		ipStyle = d.k.Mixed
	}
	first, second := at(rdma), at(rdma+ip)
	if w.RDMA >= shown {
		first = max(1, first)
	}
	if w.IP >= shown {
		second = min(width, max(second, first+1))
	}
	if w.total() < shown {
		first, second, end = 0, 0, 0
	}
	for i := range cells {
		c := &cells[i]
		switch {
		case i < first:
			c.glyph, c.style = "█", rdmaStyle
		case i < second:
			c.glyph, c.style = "▒", ipStyle
		case i < end:
			c.glyph, c.style = "░", d.style(x)
		default:
			c.glyph = " "
		}
		for _, m := range []struct {
			v     float64
			glyph string
		}{{x.Limit, "┊"}, {x.Ceiling, "╎"}} {
			if m.v > 0 && m.v < top && i == mark(m.v, top, width) {
				c.glyph = m.glyph
				if c.style = d.k.Ceiling; i < first {
					c.style = d.k.RDMACeiling
				}
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(cells); {
		j := i
		for j < len(cells) && cells[j].glyph == cells[i].glyph {
			j++
		}
		b.WriteString(cells[i].style.Render(strings.Repeat(cells[i].glyph, j-i)))
		i = j
	}
	return b.String()
}

// column is how far a value reaches into a bar, in cells.
func column(v, top float64, width int) int {
	return int(math.Round(min(1, max(0, v/top)) * float64(width)))
}

// mark is the cell of a bar in which a limit stands.
func mark(v, top float64, width int) int { return min(width-1, column(v, top, width)) }

// scale is the axis below the bars: what their marks and their end are.
func (d drawing) scale(x Dial, top float64, end string, width int) string {
	line := []rune(strings.Repeat(" ", width))
	put := func(at int, text string) bool {
		runes := []rune(text)
		at = max(0, min(width-len(runes), at))
		for i := at - 1; i <= at+len(runes) && i < width; i++ {
			if i >= 0 && line[i] != ' ' {
				return false
			}
		}
		copy(line[at:], runes)
		return true
	}
	put(0, "0")
	put(width, end)
	// Each glyph stands under its marks, with its words on the side where the other one is not. Where both
	// are, it is one limit of the PCIe link, in two units.
	ceiling, limit := mark(x.Ceiling, top, width), mark(x.Limit, top, width)
	hasCeiling, hasLimit := x.Ceiling > 0 && x.Ceiling < top, x.Limit > 0 && x.Limit < top
	payload, wire := round(x.Limit)+" payload ┊", "╎ "+round(x.Ceiling)+" wire"
	if hasCeiling && hasLimit {
		payload = "PCIe " + payload
	} else {
		wire = "╎ PCIe " + round(x.Ceiling) + " wire"
	}
	if hasCeiling && hasLimit && limit >= ceiling-1 { // side by side: one label for both
		payload += " "
		put(ceiling-len([]rune(payload)), payload+wire)
		hasCeiling, hasLimit = false, false
	}
	if hasCeiling {
		put(ceiling, wire)
	}
	if hasLimit {
		put(limit-len([]rune(payload))+1, payload)
	}
	for _, key := range []string{"Gb/s on the wire, ░ headers", "Gb/s, ░ headers", "░ headers", "Gb/s"} {
		if x.Limit <= 0 && strings.Contains(key, "░") { // the headers are unknown
			continue
		}
		if put(3, key) {
			break
		}
	}
	return d.k.Dim.Render(string(line))
}

func round(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// key names the glyphs of the bars.
func (d drawing) key() string {
	if d.Dials.All.Mixed {
		return d.k.Mixed.Render("▒") + d.k.Dim.Render(" RDMA and IP")
	}
	return d.k.RDMA.Render("█") + d.k.Dim.Render(" RDMA  ") + d.k.IP.Render("▒") + d.k.Dim.Render(" IP  ░ headers")
}

// history draws two minutes of all rails on the wire, RDMA below and IP above it, in so many rows
// with the axis.
func (d drawing) history(rows int) []string {
	const left = 7
	all := d.Dials.All
	width := d.Width - left - 2
	if width < 20 || rows < 2 {
		return nil
	}
	rows-- // the axis
	top := all.Link
	name := "top: all cables"
	if all.Ceiling > 0 && (top == 0 || all.Ceiling < top) {
		top, name = all.Ceiling, "top: all PCIe links"
	}
	if most := largestValue(all.History); most > top {
		top, name = most, "top: the most so far"
	}
	if top <= 0 {
		top, name = 1, ""
	}
	total, rdma := fit(all.History, width), fit(all.RDMAHistory, width)
	lines := make([]string, rows)
	rdmaStyle, ipStyle := d.k.RDMA, d.k.IP
	if all.Mixed {
		ipStyle = d.k.Mixed
	}
	for i := range lines {
		label := ""
		switch i {
		case 0:
			label = fmt.Sprintf("%.0f", top)
		case rows / 2:
			if rows >= 4 && rows%2 == 0 { // else no row begins in the middle
				label = fmt.Sprintf("%.0f", top*float64(rows-i)/float64(rows))
			}
		}
		lines[i] = d.k.Dim.Render(fmt.Sprintf("%5s ", label)) + d.k.Faint.Render("┤") +
			curve(total, rdma, top, rows, rows-1-i, rdmaStyle, ipStyle)
	}
	seconds := meter.HistoryLen * int(meter.HistoryStep.Milliseconds()) / 1000
	axis := []rune(strings.Repeat("─", width))
	put := func(share float64, text string) {
		at := max(0, min(width-len(text), int(share*float64(width))-len(text)/2))
		copy(axis[at:], []rune(text))
	}
	if width >= 60 {
		put(0.25, " Gb/s on the wire ")
		if name != "" {
			put(0.75, " "+name+" ")
		}
	}
	put(0, fmt.Sprintf("-%d s ", seconds))
	put(0.5, fmt.Sprintf(" -%d s ", seconds/2))
	put(1, " now")
	return append(lines, d.k.Dim.Render(fmt.Sprintf("%5s ", "0"))+d.k.Faint.Render("└")+d.k.Dim.Render(string(axis)))
}

func largestValue(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

// fit spreads two minutes over so many columns: the highest value of each column's time, from
// the right. A column whose time was before the first sample is -1.
func fit(history []float64, columns int) []float64 {
	out := make([]float64, columns)
	for c := range out {
		from := meter.HistoryLen * c / columns
		to := max(from+1, meter.HistoryLen*(c+1)/columns)
		out[c] = -1
		for i := from; i < to; i++ {
			if j := i - (meter.HistoryLen - len(history)); j >= 0 && j < len(history) {
				out[c] = max(out[c], history[j])
			}
		}
	}
	return out
}

var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// curve is one row of the history, counted from below.
func curve(total, rdma []float64, top float64, rows, row int, rdmaStyle, ipStyle theme.Style) string {
	var b strings.Builder
	run, style := strings.Builder{}, 0
	styles := []theme.Style{rdmaStyle, ipStyle}
	flush := func() {
		b.WriteString(styles[style].Render(run.String()))
		run.Reset()
	}
	step := func(v float64) int {
		if v < shown || math.IsNaN(v) {
			return 0
		}
		return max(1, int(math.Round(min(1, v/top)*float64(rows*8))))
	}
	for i, v := range total {
		n := max(0, min(8, step(v)-row*8))
		// A cell has one colour: IP's only where RDMA doesn't reach into it.
		of := 0
		if i < len(rdma) && step(rdma[i])-row*8 < n && step(rdma[i]) <= row*8 {
			of = 1 // above what RDMA reaches
		}
		if of != style {
			flush()
			style = of
		}
		run.WriteString(eighths[n])
	}
	flush()
	return b.String()
}
