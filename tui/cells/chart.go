package cells

import (
	"fmt"
	"math"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/chart"
	"github.com/railbench/railbench/tui/theme"
)

// chartWidth is the widest that a chart gets: a longer bar says no more.
const chartWidth = 110

// Chart draws a chart in lines of at most Width columns.
func (d Drawer) Chart(c steps.Chart) []string {
	d.Width = min(d.Width, chartWidth)
	unit := theme.Clean(c.Unit)
	if c.Shape == steps.LogBars {
		unit += ", logarithmic"
	}
	lines := d.title(c.Title, unit)
	switch {
	case d.Width < leastChart:
		lines = append(lines, d.note("Too narrow for a chart.")...)
	case c.Shape == steps.Lines:
		lines = append(lines, d.lines(c)...)
	default:
		lines = append(lines, d.bars(c)...)
	}
	return d.cut(lines)
}

const leastChart = 24

// A scale places values on size columns, or rows.
type scale struct {
	chart.Scale
	size int
}

// cells is where v lies, from 0 to size.
func (s scale) cells(v float64) float64 { return s.Share(v) * float64(s.size) }

// column is place as a column that a mark stands in.
func (s scale) column(v float64) int { return min(s.size-1, int(s.cells(v))) }

const leastBar = 16

// bars draws a bar a point, with its value at the end of the line.
func (d Drawer) bars(c steps.Chart) []string {
	k := d.Styles
	all := chart.Points(c)
	label, value := 0, 1
	for _, p := range all {
		label = max(label, lipgloss.Width(theme.Clean(p.Label)))
		value = max(value, lipgloss.Width(figure(p.Y)))
	}
	// Bars need leastBar columns to be readable, and cut labels are useless: where both don't fit, each label
	// has a line of its own above its bar.
	above := label > max(d.Width*2/5, d.Width-value-3-leastBar)
	indent := label + 1
	if above {
		indent = 0
	}
	s := scale{chart.Bars(c), d.Width - indent - value - 2}
	if s.size < 4 {
		return d.note("Too narrow for a chart.")
	}
	marks := d.marks(c, s)
	var lines []string
	for _, p := range all {
		text := figure(p.Y)
		strong := k.Strong
		if !chart.Usable(p.Y) {
			strong = k.Dim
		}
		name := theme.Clean(p.Label)
		if above {
			lines = append(lines, theme.Wrap(name, d.Width, "", "  ")...)
			name = ""
		}
		lines = append(lines, theme.Pad(name, indent)+k.Faint.Render("▏")+d.bar(p.Y, s, marks)+" "+
			strings.Repeat(" ", max(0, value-lipgloss.Width(text)))+strong.Render(text))
	}
	lines = append(lines, strings.Repeat(" ", indent+1)+d.axis(s, ticks(c, s)))
	return append(lines, d.legend(c)...)
}

// limitSigns separate the limits of one chart: across bars, and along the rows of a plot.
var limitSigns = struct{ across, along []rune }{[]rune("╎│║"), []rune("╌─═")}

// marks are the columns of lines across all bars: limits, and decades.
func (d Drawer) marks(c steps.Chart, s scale) map[int]rune {
	marks := map[int]rune{}
	if s.Log {
		for _, v := range s.Decades() {
			if v > s.From && v < s.To*0.99 {
				marks[s.column(v)] = decade
			}
		}
	}
	for i, l := range chart.Limits(c) {
		marks[s.column(l.Value)] = limitSigns.across[i%len(limitSigns.across)]
	}
	return marks
}

const decade = '┊'

// eighths of a block, from none to seven.
var eighths = []rune(" ▏▎▍▌▋▊▉")

func (d Drawer) bar(v float64, s scale, marks map[int]rune) string {
	k := d.Styles
	length := 0.0
	if chart.Usable(v) {
		// What is more than nothing is seen.
		length = max(s.cells(v), 0.125)
	}
	full := int(length)
	part := int((length - float64(full)) * 8)
	var b strings.Builder
	run := 0
	flush := func() {
		if run > 0 {
			b.WriteString(k.RDMA.Render(strings.Repeat("█", run)))
		}
		run = 0
	}
	for i := range s.size {
		mark := marks[i]
		limit := mark != 0 && mark != decade
		switch {
		case i < full && limit:
			flush()
			b.WriteString(k.RDMACeiling.Render(string(mark)))
		case i < full:
			run++
		case limit:
			flush()
			b.WriteString(k.Ceiling.Render(string(mark)))
		case i == full && part > 0:
			flush()
			b.WriteString(k.RDMA.Render(string(eighths[part])))
		case mark != 0:
			flush()
			b.WriteString(k.Faint.Render(string(mark)))
		default:
			flush()
			b.WriteByte(' ')
		}
	}
	flush()
	return b.String()
}

// A tick is a word below a column of the axis.
type tick struct {
	column int
	text   string
}

// ticks are the axis's ends, the limits, and the decades.
func ticks(c steps.Chart, s scale) []tick {
	var all []tick
	if s.Log {
		for _, v := range s.Decades() {
			all = append(all, tick{s.column(v), figure(v)})
		}
		return all
	}
	all = append(all, tick{0, "0"}, tick{s.size - 1, figure(s.To)})
	for _, l := range chart.Limits(c) {
		all = append(all, tick{s.column(l.Value), figure(l.Value)})
	}
	return all
}

// axis writes the ticks that don't run into one another: the first ones first.
func (d Drawer) axis(s scale, all []tick) string {
	line := []rune(strings.Repeat(" ", s.size))
	for _, t := range all {
		text := []rune(t.text)
		at := min(max(0, t.column-len(text)/2), s.size-len(text))
		if at < 0 {
			continue
		}
		free := true
		for i := max(0, at-1); i < min(len(line), at+len(text)+1); i++ {
			free = free && line[i] == ' '
		}
		if free {
			copy(line[at:], text)
		}
	}
	return d.Styles.Dim.Render(strings.TrimRight(string(line), " "))
}

// legend says what the limits are.
func (d Drawer) legend(c steps.Chart) []string {
	var parts []string
	for i, l := range chart.Limits(c) {
		sign := string(limitSigns.across[i%len(limitSigns.across)])
		parts = append(parts, d.Styles.Ceiling.Render(sign)+" "+d.Styles.Dim.Render(figure(l.Value)+" "+theme.Clean(l.Name)))
	}
	return d.flow(parts)
}

// flow sets parts one after the other on a line, and begins a new line where a part doesn't fit.
func (d Drawer) flow(parts []string) []string {
	var lines []string
	line := ""
	for _, p := range parts {
		if line != "" && lipgloss.Width(line)+3+lipgloss.Width(p) <= d.Width {
			line += "   " + p
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		wrapped := theme.Wrap(p, d.Width, "", "  ")
		lines, line = append(lines, wrapped[:len(wrapped)-1]...), wrapped[len(wrapped)-1]
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// figure writes a value as short as it can be read.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v == math.Trunc(v) && a < 1e9:
		return steps.Thousands(int(v))
	case a >= 1e15: // a tool's output may have any: as an int it would be another number
		return fmt.Sprintf("%.3g", v)
	case a >= 1000:
		return steps.Thousands(int(math.Round(v)))
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

// round writes a value of an axis, which is not a measurement: 2.5 instead of 2.50.
func round(v float64) string {
	text := figure(v)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// seriesMarks separate the lines without colour.
var seriesMarks = []rune("●▲■◆○△□◇")

// lines draws each series over a logarithmic X: dots of braille, and a mark of its
// own at every value.
func (d Drawer) lines(c steps.Chart) []string {
	k := d.Styles
	y := scale{Scale: chart.Lines(c)}
	over, values := chart.X(c)
	if values == nil {
		return d.note("There is nothing to draw.")
	}
	label := max(lipgloss.Width(round(y.To)), lipgloss.Width(round(y.To/2)), 1)
	width, height := d.Width-label-2, min(14, max(6, d.Width/6))
	if width < 8 {
		return d.note("Too narrow for a chart.")
	}
	p := newPlot(width, height)
	x := scale{over, width*2 - 1}
	y.size = height*4 - 1
	limits := chart.Limits(c)
	for i, l := range limits {
		if l.Value <= y.To {
			p.limit(height-1-int(y.cells(l.Value))/4, limitSigns.along[i%len(limitSigns.along)])
		}
	}
	for i, s := range c.Series {
		p.series(i, s, x, y)
	}
	var lines []string
	middle := height - 1 - int(y.cells(y.To/2))/4
	for row := range height {
		text := ""
		switch row {
		case 0:
			text = round(y.To)
		case middle:
			text = round(y.To / 2)
		case height - 1:
			text = "0"
		}
		lines = append(lines, k.Dim.Render(strings.Repeat(" ", max(0, label-lipgloss.Width(text)))+text)+" "+
			k.Faint.Render("▏")+p.row(k, row))
	}
	lines = append(lines, strings.Repeat(" ", label+2)+d.axis(scale{size: width}, xTicks(values, c.XUnit, x, width)))
	var parts []string
	for i, s := range c.Series {
		parts = append(parts, seriesStyle(k, i).Render(string(seriesMarks[i%len(seriesMarks)]))+" "+theme.Clean(s.Name))
	}
	lines = append(lines, d.flow(parts)...)
	var parted []string
	for i, l := range limits {
		text := figure(l.Value) + " " + theme.Clean(l.Name)
		if l.Value > y.To {
			text += ", above this scale"
		}
		parted = append(parted, k.Ceiling.Render(string(limitSigns.along[i%len(limitSigns.along)]))+" "+k.Dim.Render(text))
	}
	return append(lines, d.flow(parted)...)
}

// xTicks are the values of X, the ends first.
func xTicks(values []float64, unit string, x scale, width int) []tick {
	var all []tick
	add := func(v float64) {
		// Where series puts its mark.
		all = append(all, tick{min(width-1, int(math.Round(x.cells(v)))/2), chart.Tick(v, unit, figure)})
	}
	add(values[0])
	add(values[len(values)-1])
	for i := 2; i < len(values)-1; i += 2 {
		add(values[i])
	}
	for i := 1; i < len(values)-1; i += 2 {
		add(values[i])
	}
	return all
}

func seriesStyle(k *theme.Styles, i int) theme.Style {
	return []theme.Style{k.RDMA, k.IP, k.Mixed, k.Inconclusive, k.Code, k.Pass, k.Fail, k.Accent}[i%8]
}

// A plot is a field of braille: two dots wide and four high in each column.
type plot struct {
	width, height int
	dots          []rune // of a cell, as bits
	owner         []int  // the series whose dots they are
	marks         []rune
	limits        map[int]rune // by row
}

func newPlot(width, height int) *plot {
	n := width * height
	return &plot{
		width: width, height: height, dots: make([]rune, n), owner: make([]int, n), marks: make([]rune, n),
		limits: map[int]rune{},
	}
}

func (p *plot) limit(row int, sign rune) { p.limits[min(p.height-1, max(0, row))] = sign }

// brailleBits are the bits of U+2800, by row and column of a dot.
var brailleBits = [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// dot sets one; x counts from the left and y from below.
func (p *plot) dot(series, x, y int) int {
	y = p.height*4 - 1 - y
	if x < 0 || y < 0 || x >= p.width*2 || y >= p.height*4 {
		return -1
	}
	i := y/4*p.width + x/2
	p.dots[i] |= brailleBits[y%4][x%2]
	p.owner[i] = series
	return i
}

func (p *plot) series(n int, s steps.Series, x, y scale) {
	before := [2]int{-1, -1}
	var marked []int
	for _, q := range s.Points {
		if !chart.Usable(q.X) || math.IsNaN(q.Y) || math.IsInf(q.Y, 0) {
			continue
		}
		at := [2]int{int(math.Round(x.cells(q.X))), int(math.Round(y.cells(q.Y)))}
		if before[0] >= 0 {
			length := max(at[0]-before[0], before[0]-at[0], at[1]-before[1], before[1]-at[1], 1)
			for i := range length {
				p.dot(n, before[0]+(at[0]-before[0])*i/length, before[1]+(at[1]-before[1])*i/length)
			}
		}
		if i := p.dot(n, at[0], at[1]); i >= 0 {
			marked = append(marked, i)
		}
		before = at
	}
	for _, i := range marked {
		p.marks[i], p.owner[i] = seriesMarks[n%len(seriesMarks)], n
	}
}

func (p *plot) row(k *theme.Styles, row int) string {
	var b strings.Builder
	for i := row * p.width; i < (row+1)*p.width; i++ {
		switch {
		case p.marks[i] != 0:
			b.WriteString(seriesStyle(k, p.owner[i]).Render(string(p.marks[i])))
		case p.dots[i] != 0:
			b.WriteString(seriesStyle(k, p.owner[i]).Render(string(0x2800 + p.dots[i])))
		case p.limits[row] != 0:
			b.WriteString(k.Ceiling.Render(string(p.limits[row])))
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}
