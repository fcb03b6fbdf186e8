package notebook

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
)

// The charts as SVG and as text. What a scale goes up to, and what a limit is, is as
// on the screen (tui/cells/chart.go).

// chartStyle colours a chart for light and dark. A chart that stands alone has it in
// itself; a page has it once.
const chartStyle = `.chart text{font:12px system-ui,sans-serif;fill:#1f2328}.chart .dim{fill:#57606a}.chart .title{font-weight:600}` +
	`.chart .ground{fill:#ffffff}.chart .grid{stroke:#d0d7de;stroke-width:1}.chart .limit{stroke:#bc4c00;stroke-width:1.5;stroke-dasharray:4 3}` +
	`.chart .s0{fill:#0969da;stroke:#0969da}.chart .s1{fill:#1a7f37;stroke:#1a7f37}.chart .s2{fill:#8250df;stroke:#8250df}.chart .s3{fill:#bf3989;stroke:#bf3989}` +
	`.chart .s4{fill:#9a6700;stroke:#9a6700}.chart .s5{fill:#0e7490;stroke:#0e7490}.chart .s6{fill:#cf222e;stroke:#cf222e}.chart .s7{fill:#57606a;stroke:#57606a}` +
	`.chart .line{fill:none;stroke-width:1.8}.chart rect.bar{stroke:none}` +
	`@media(prefers-color-scheme:dark){.chart text{fill:#e6edf3}.chart .dim{fill:#9198a1}.chart .ground{fill:#0d1117}.chart .grid{stroke:#3d444d}.chart .limit{stroke:#f0883e}` +
	`.chart .s0{fill:#58a6ff;stroke:#58a6ff}.chart .s1{fill:#56d364;stroke:#56d364}.chart .s2{fill:#bc8cff;stroke:#bc8cff}.chart .s3{fill:#ff7bca;stroke:#ff7bca}` +
	`.chart .s4{fill:#e3b341;stroke:#e3b341}.chart .s5{fill:#39c5cf;stroke:#39c5cf}.chart .s6{fill:#ff7b72;stroke:#ff7b72}.chart .s7{fill:#9198a1;stroke:#9198a1}.chart .line{fill:none}}`

const (
	svgWidth   = 760
	lineHeight = 22
)

// A drawing is an SVG that grows downwards.
type drawing struct {
	b      strings.Builder
	height float64
}

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// label writes a text with its base line at y.
func (d *drawing) label(x, y float64, anchor, class, text string) {
	d.put(`<text x="%s" y="%s"`, at(x), at(y))
	if anchor != "" {
		d.put(` text-anchor="%s"`, anchor)
	}
	if class != "" {
		d.put(` class="%s"`, class)
	}
	d.put(">%s</text>", html.EscapeString(plain(text)))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.put(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, at(x1), at(y1), at(x2), at(y2))
}

// at writes a coordinate.
func at(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// finish gives the whole element. what is read to those who don't see it.
func (d *drawing) finish(what string, alone bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox="0 0 %d %s" width="%d" height="%s">`, svgWidth, at(d.height), svgWidth, at(d.height))
	fmt.Fprintf(&b, "<title>%s</title>", html.EscapeString(plain(what)))
	if alone {
		b.WriteString("<style>" + chartStyle + "</style>")
	}
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%s"/>`, svgWidth, at(d.height))
	return b.String() + d.b.String() + "</svg>\n"
}

func chartSVG(c steps.Chart, alone bool) string {
	c = finiteChart(c)
	var d drawing
	unit := c.Unit
	if c.Shape == steps.LogBars {
		unit += ", logarithmic"
	}
	d.label(8, 18, "", "title", c.Title)
	d.label(svgWidth-8, 18, "end", "dim", unit)
	d.height = 30
	top := math.Inf(1)
	if c.Shape == steps.Lines {
		top = lineScale(c).to
		d.lines(c)
	} else {
		d.bars(c)
	}
	d.limits(c, top)
	d.height += 6
	return d.finish(c.Title, alone)
}

// limits says what the limits are, and which of them are above the scale's top.
func (d *drawing) limits(c steps.Chart, top float64) {
	for _, l := range c.Limits {
		if !usable(l.Value) {
			continue
		}
		text := fmt.Sprintf("%s %s %s", figure(l.Value), c.Unit, l.Name)
		if l.Value > top {
			text += ", above this scale"
		}
		d.height += 18
		d.line("limit", 8, d.height-4, 28, d.height-4)
		d.label(34, d.height, "", "dim", text)
	}
}

// usable says that a value can be drawn. Nothing of a rig is above the bound, and
// what is would be lost in the scale's own arithmetic.
func usable(v float64) bool { return v > 0 && v < 1e18 }

// A scale places values between 0 and 1.
type scale struct {
	from, to float64
	log      bool
}

func (s scale) place(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log10(max(v, s.from)), math.Log10(s.from), math.Log10(s.to)
	}
	if to <= from {
		return 0
	}
	return min(max((v-from)/(to-from), 0), 1)
}

func points(c steps.Chart) []steps.Point {
	var all []steps.Point
	for _, s := range c.Series {
		for _, p := range s.Points {
			if p.Label == "" {
				p.Label = s.Name
			}
			all = append(all, p)
		}
	}
	return all
}

// mostDecades bounds a logarithmic scale: nobody tells more of them apart.
const mostDecades = 1e9

// barScale is pinned to the largest limit; with a logarithm it goes over whole decades.
func barScale(c steps.Chart) scale {
	s, least := scale{log: c.Shape == steps.LogBars}, math.Inf(1)
	see := func(v float64) {
		if usable(v) {
			s.to, least = max(s.to, v), min(least, v)
		}
	}
	for _, p := range points(c) {
		see(p.Y)
	}
	for _, l := range c.Limits {
		see(l.Value)
	}
	switch {
	case s.to == 0:
		return scale{to: 1}
	case s.log:
		s.from, s.to = math.Pow(10, math.Floor(math.Log10(least*0.8))), math.Pow(10, math.Ceil(math.Log10(s.to)))
		s.from = max(s.from, s.to/mostDecades)
	}
	return s
}

func (d *drawing) bars(c steps.Chart) {
	all, s := points(c), barScale(c)
	left, right := 8.0, 0.0
	for _, p := range all {
		left = max(left, 14+6.6*float64(min(44, utf8.RuneCountInString(p.Label))))
		right = max(right, 12+7.5*float64(utf8.RuneCountInString(figure(p.Y))))
	}
	width := svgWidth - left - right - 8
	top := d.height
	for _, p := range all {
		d.label(left-6, d.height+15, "end", "", cut(p.Label, 44))
		if usable(p.Y) {
			d.put(`<rect class="bar s0" x="%s" y="%s" width="%s" height="%d"/>`, at(left), at(d.height+4), at(max(1, s.place(p.Y)*width)), lineHeight-8)
		}
		d.label(left+max(0, s.place(p.Y)*width)+5, d.height+15, "", "", figure(p.Y))
		d.height += lineHeight
	}
	d.line("grid", left, top, left, d.height)
	if s.log {
		for v := s.from; v <= s.to*1.01; v *= 10 {
			d.line("grid", left+s.place(v)*width, top, left+s.place(v)*width, d.height)
			d.label(left+s.place(v)*width, d.height+13, "middle", "dim", figure(v))
		}
	}
	for _, l := range c.Limits {
		if usable(l.Value) {
			d.line("limit", left+s.place(l.Value)*width, top, left+s.place(l.Value)*width, d.height)
		}
	}
	if d.height += 4; s.log {
		d.height += 14
	}
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// lineScale goes up to the largest limit; where that is so far away that a line would
// lie on the floor, to the largest value.
func lineScale(c steps.Chart) scale {
	most, limit := 0.0, 0.0
	for _, p := range points(c) {
		if usable(p.Y) {
			most = max(most, p.Y)
		}
	}
	for _, l := range c.Limits {
		if usable(l.Value) && (l.Value <= 4*most || most == 0) {
			limit = max(limit, l.Value)
		}
	}
	if limit >= most && limit > 0 {
		return scale{to: limit}
	}
	return scale{to: max(rounded(most), 1e-9)}
}

// rounded is the next of 1, 2, 5, 10 …
func rounded(v float64) float64 {
	if v <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*p >= v*0.999 {
			return f * p
		}
	}
	return 10 * p
}

const plotHeight = 220

// lines draws each series over a logarithmic X.
func (d *drawing) lines(c steps.Chart) {
	y, x := lineScale(c), scale{from: math.Inf(1), log: true}
	var xs []float64
	for _, p := range points(c) {
		if usable(p.X) {
			x.from, x.to = min(x.from, p.X), max(x.to, p.X)
			xs = append(xs, p.X)
		}
	}
	if x.to == 0 {
		d.label(8, d.height+14, "", "dim", "There is nothing to draw.")
		d.height += 20
		return
	}
	f := d.frame(y)
	slices.Sort(xs)
	xs = slices.Compact(xs)
	each := 1 + len(xs)/12
	for i, v := range xs {
		if i%each == 0 {
			d.label(f.x(x.place(v)), d.height+14, "middle", "dim", sizeName(v, c.XUnit))
		}
	}
	d.height += 18
	for _, l := range c.Limits {
		if usable(l.Value) && l.Value <= y.to {
			d.line("limit", f.left, f.y(y.place(l.Value)), f.left+f.width, f.y(y.place(l.Value)))
		}
	}
	for i, s := range c.Series {
		var path, dots strings.Builder
		for _, p := range s.Points {
			if usable(p.X) && isFinite(p.Y) {
				px, py := at(f.x(x.place(p.X))), at(f.y(y.place(p.Y)))
				fmt.Fprintf(&path, "%s,%s ", px, py)
				fmt.Fprintf(&dots, `<circle cx="%s" cy="%s" r="2.6"><title>%s: %s %s</title></circle>`, px, py, html.EscapeString(sizeName(p.X, c.XUnit)), figure(p.Y), html.EscapeString(c.Unit))
			}
		}
		d.put(`<polyline class="line s%d" points="%s"/><g class="s%d">%s</g>`, i%8, strings.TrimSpace(path.String()), i%8, dots.String())
	}
	var all []string
	for _, s := range c.Series {
		all = append(all, s.Name)
	}
	d.legend(all)
}

// A frame is where a plot lies.
type frame struct{ left, top, width float64 }

func (f frame) x(share float64) float64 { return f.left + share*f.width }
func (f frame) y(share float64) float64 { return f.top + (1-share)*plotHeight }

// frame draws the values of Y; d stands below it then.
func (d *drawing) frame(y scale) frame {
	f := frame{top: d.height + 4}
	for i := range 5 {
		f.left = max(f.left, 20+7*float64(utf8.RuneCountInString(figure(y.to*float64(i)/4))))
	}
	f.width = svgWidth - f.left - 20
	for i := range 5 {
		v := y.to * float64(i) / 4
		d.line("grid", f.left, f.y(y.place(v)), f.left+f.width, f.y(y.place(v)))
		d.label(f.left-6, f.y(y.place(v))+4, "end", "dim", figure(v))
	}
	d.height = f.top + plotHeight
	return f
}

// legend names the series, one after the other.
func (d *drawing) legend(all []string) {
	x := 8.0
	d.height += 18
	for i, name := range all {
		wide := 34 + 6.8*float64(utf8.RuneCountInString(name))
		if x > 8 && x+wide > svgWidth {
			x = 8
			d.height += 18
		}
		d.put(`<rect class="s%d" x="%s" y="%s" width="12" height="8"/>`, i%8, at(x), at(d.height-8))
		d.label(x+18, d.height, "", "", name)
		x += wide
	}
}

// sizeName writes a value of X: bytes as 64K.
func sizeName(v float64, unit string) string {
	if unit != "bytes" {
		return figure(v)
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}} {
		if v >= u.size && math.Mod(v, u.size) == 0 {
			return figure(v/u.size) + u.name
		}
	}
	return figure(v)
}

// figure writes a value as short as it can be read.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case !isFinite(v):
		return "–"
	case a >= 1e9:
		return fmt.Sprintf("%.4g", v)
	case v == math.Trunc(v), a >= 1000:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

const textBar = 40

// chartText draws a chart for those who see no picture: a bar a value.
func chartText(c steps.Chart) string {
	c = finiteChart(c)
	var b strings.Builder
	gate.Fprintf(&b, "%s (%s)\n", c.Title, c.Unit)
	s := barScale(c)
	if c.Shape == steps.Lines {
		s = lineScale(c)
	}
	bar := func(label string, wide int, v float64) {
		n := 0
		if usable(v) {
			n = max(1, int(math.Round(s.place(v)*textBar)))
		}
		gate.Fprintf(&b, "  %s%s %s %s\n", label, strings.Repeat(" ", max(0, wide-utf8.RuneCountInString(label))), strings.Repeat("█", n)+strings.Repeat("·", textBar-n), figure(v))
	}
	if c.Shape == steps.Lines {
		for _, series := range c.Series {
			gate.Fprintf(&b, "%s\n", series.Name)
			wide := 0
			for _, p := range series.Points {
				wide = max(wide, utf8.RuneCountInString(sizeName(p.X, c.XUnit)))
			}
			for _, p := range series.Points {
				bar(sizeName(p.X, c.XUnit), wide, p.Y)
			}
		}
	} else {
		all, wide := points(c), 0
		for _, p := range all {
			wide = max(wide, utf8.RuneCountInString(p.Label))
		}
		for _, p := range all {
			bar(p.Label, wide, p.Y)
		}
	}
	for _, l := range c.Limits {
		if usable(l.Value) {
			gate.Fprintf(&b, "  limit: %s %s %s\n", figure(l.Value), c.Unit, l.Name)
		}
	}
	return b.String()
}

const gaugesTitle = "Rails while it ran"

// gaugesSVG draws what each rail sent while a cell ran, over its time.
func gaugesSVG(title string, s *Samples, alone bool) string {
	var d drawing
	d.label(8, 18, "", "title", title)
	d.label(svgWidth-8, 18, "end", "dim", "Gb/s sent, over seconds")
	d.height = 30
	most, slots := 0.0, 0
	for _, r := range s.Rails {
		most, slots = max(most, r.Tx.peak()), max(slots, len(r.Tx), len(r.Rx))
	}
	y := scale{to: rounded(most)}
	f := d.frame(y)
	seconds := float64(max(1, slots-1)) * float64(s.StepMS) / 1000
	for i := range 5 {
		d.label(f.x(float64(i)/4), d.height+14, "middle", "dim", figure(math.Round(seconds*float64(i)*25)/100))
	}
	d.height += 18
	var all []string
	for i, r := range s.Rails {
		all = append(all, r.Node+" "+r.Dev)
		// A gap is where nothing was known: a line across it would be invented.
		for from := 0; from < len(r.Tx); {
			if math.IsNaN(r.Tx[from]) {
				from++
				continue
			}
			var path strings.Builder
			to := from
			for ; to < len(r.Tx) && !math.IsNaN(r.Tx[to]); to++ {
				fmt.Fprintf(&path, "%s,%s ", at(f.x(float64(to)/float64(max(1, slots-1)))), at(f.y(y.place(r.Tx[to]))))
			}
			if to == from+1 { // one value alone is no line
				d.put(`<circle class="s%d" cx="%s" cy="%s" r="2"/>`, i%8, at(f.x(float64(from)/float64(max(1, slots-1)))), at(f.y(y.place(r.Tx[from]))))
			} else {
				d.put(`<polyline class="line s%d" points="%s"/>`, i%8, strings.TrimSpace(path.String()))
			}
			from = to
		}
	}
	d.legend(all)
	d.height += 8
	return d.finish(title, alone)
}

// sparks are the eighths that a value is drawn with.
var sparks = []rune(" ▁▂▃▄▅▆▇█")

func gaugesText(title string, s *Samples) string {
	var b strings.Builder
	most, wide := 0.0, 0
	for _, r := range s.Rails {
		most, wide = max(most, r.Tx.peak(), r.Rx.peak()), max(wide, utf8.RuneCountInString(r.Node+" "+r.Dev))
	}
	gate.Fprintf(&b, "%s (Gb/s, one sign each %s s)\n", title, number(float64(s.StepMS)/1000))
	for _, r := range s.Rails {
		for _, flow := range []struct {
			name  string
			rates Rates
		}{{"tx", r.Tx}, {"rx", r.Rx}} {
			var line strings.Builder
			for _, v := range flow.rates {
				switch {
				case math.IsNaN(v):
					line.WriteRune('?')
				case usable(v) && most > 0:
					line.WriteRune(sparks[max(1, int(math.Round(v/most*8)))])
				default:
					line.WriteRune(sparks[0])
				}
			}
			name := r.Node + " " + r.Dev
			gate.Fprintf(&b, "  %s%s %s peak %s %s\n", name, strings.Repeat(" ", wide-utf8.RuneCountInString(name)), flow.name, figure(flow.rates.peak()), strings.TrimRight("│"+line.String(), " "))
		}
	}
	return b.String()
}
