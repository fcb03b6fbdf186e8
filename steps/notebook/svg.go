package notebook

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/chart"
	"github.com/railbench/railbench/steps/sanitize"
)

// The charts as SVG and as text. What a scale goes up to is steps/chart's to say, for the
// screen as well.

// chartStyle colours a chart for light and dark. A chart that stands alone has it in
// itself; a page has it once.
const chartStyle = `.chart text{font:12px system-ui,sans-serif;fill:#1f2328}.chart .dim{fill:#57606a}.chart .title{font-weight:600}` +
	`.chart .ground{fill:#ffffff}.chart .grid{stroke:#d0d7de;stroke-width:1}.chart .limit{stroke:#bc4c00;stroke-width:1.5;stroke-dasharray:4 3}.chart .l1{stroke-dasharray:none}.chart .l2{stroke-dasharray:9 3 2 3}` +
	`.chart .s0{fill:#0969da;stroke:#0969da}.chart .s1{fill:#1a7f37;stroke:#1a7f37}.chart .s2{fill:#8250df;stroke:#8250df}.chart .s3{fill:#bf3989;stroke:#bf3989}` +
	`.chart .s4{fill:#9a6700;stroke:#9a6700}.chart .s5{fill:#0e7490;stroke:#0e7490}.chart .s6{fill:#cf222e;stroke:#cf222e}.chart .s7{fill:#57606a;stroke:#57606a}` +
	`.chart .line{fill:none;stroke-width:1.8}.chart rect.bar{stroke:none}` +
	`@media(prefers-color-scheme:dark){.chart text{fill:#e6edf3}.chart .dim{fill:#9198a1}.chart .ground{fill:#0d1117}.chart .grid{stroke:#3d444d}.chart .limit{stroke:#f0883e}` +
	`.chart .s0{fill:#58a6ff;stroke:#58a6ff}.chart .s1{fill:#56d364;stroke:#56d364}.chart .s2{fill:#bc8cff;stroke:#bc8cff}.chart .s3{fill:#ff7bca;stroke:#ff7bca}` +
	`.chart .s4{fill:#e3b341;stroke:#e3b341}.chart .s5{fill:#39c5cf;stroke:#39c5cf}.chart .s6{fill:#ff7b72;stroke:#ff7b72}.chart .s7{fill:#9198a1;stroke:#9198a1}.chart .line{fill:none}}`

// Pixels, as all here.
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
	// A screen reader says it.
	fmt.Fprintf(&b, "<title>%s</title>", html.EscapeString(plain(what)))
	if alone {
		b.WriteString("<style>" + chartStyle + "</style>")
	}
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%s"/>`, svgWidth, at(d.height))
	return b.String() + d.b.String() + "</svg>\n"
}

// chartSVG draws a chart; alone it contains its style. A limit above the scale's top is named and not drawn:
// a scale up to it would flatten the measured values.
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
		top = chart.Lines(c).To
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
	for i, l := range chart.Limits(c) {
		text := fmt.Sprintf("%s %s %s", figure(l.Value), c.Unit, l.Name)
		if l.Value > top {
			text += ", above this scale"
		}
		d.height += 18
		d.line(limitClass(i), 8, d.height-4, 28, d.height-4)
		d.label(34, d.height, "", "dim", text)
	}
}

// limitClass draws each limit of a chart with another dash, so that it is recognized without colours.
func limitClass(i int) string { return fmt.Sprintf("limit l%d", i%3) }

// bars draws a bar a value, with its label before it and its figure behind. With limits it goes up to the
// highest.
func (d *drawing) bars(c steps.Chart) {
	all, s := chart.Points(c), chart.Bars(c)
	left, right := 8.0, 0.0
	for _, p := range all {
		// A letter of 12 px takes some 6.6 of the width, and a digit a little more: texts are not measured
		// here. Longer labels are cut.
		left = max(left, 14+6.6*float64(min(44, utf8.RuneCountInString(p.Label))))
		right = max(right, 12+7.5*float64(utf8.RuneCountInString(figure(p.Y))))
	}
	width := svgWidth - left - right - 8
	top := d.height
	for _, p := range all {
		d.label(left-6, d.height+15, "end", "", cut(p.Label, 44))
		if chart.Usable(p.Y) {
			d.put(`<rect class="bar s0" x="%s" y="%s" width="%s" height="%d"/>`, at(left), at(d.height+4),
				at(max(1, s.Share(p.Y)*width)), lineHeight-8)
		}
		d.label(left+max(0, s.Share(p.Y)*width)+5, d.height+15, "", "", figure(p.Y))
		d.height += lineHeight
	}
	d.line("grid", left, top, left, d.height)
	if s.Log {
		for _, v := range s.Decades() {
			d.line("grid", left+s.Share(v)*width, top, left+s.Share(v)*width, d.height)
			d.label(left+s.Share(v)*width, d.height+13, "middle", "dim", figure(v))
		}
	}
	for i, l := range chart.Limits(c) {
		d.line(limitClass(i), left+s.Share(l.Value)*width, top, left+s.Share(l.Value)*width, d.height)
	}
	if d.height += 4; s.Log {
		d.height += 14
	}
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

const plotHeight = 220

// lines draws each series over a logarithmic X.
func (d *drawing) lines(c steps.Chart) {
	y := chart.Lines(c)
	x, xs := chart.X(c)
	if xs == nil {
		d.label(8, d.height+14, "", "dim", "There is nothing to draw.")
		d.height += 20
		return
	}
	f := d.frame(y)
	// Some twelve ticks are legible on this width.
	each := 1 + len(xs)/12
	for i, v := range xs {
		if i%each == 0 {
			d.label(f.x(x.Share(v)), d.height+14, "middle", "dim", chart.Tick(v, c.XUnit, figure))
		}
	}
	d.height += 18
	for i, l := range chart.Limits(c) {
		if l.Value <= y.To {
			d.line(limitClass(i), f.left, f.y(y.Share(l.Value)), f.left+f.width, f.y(y.Share(l.Value)))
		}
	}
	for i, s := range c.Series {
		var path, dots strings.Builder
		for _, p := range s.Points {
			if chart.Usable(p.X) && isFinite(p.Y) {
				px, py := at(f.x(x.Share(p.X))), at(f.y(y.Share(p.Y)))
				fmt.Fprintf(&path, "%s,%s ", px, py)
				fmt.Fprintf(&dots, `<circle cx="%s" cy="%s" r="2.6"><title>%s: %s %s</title></circle>`, px, py,
					html.EscapeString(chart.Tick(p.X, c.XUnit, figure)), figure(p.Y), html.EscapeString(c.Unit))
			}
		}
		d.put(`<polyline class="line s%d" points="%s"/><g class="s%d">%s</g>`, i%8, strings.TrimSpace(path.String()), i%8,
			dots.String())
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
func (d *drawing) frame(y chart.Scale) frame {
	f := frame{top: d.height + 4}
	for i := range 5 {
		f.left = max(f.left, 20+7*float64(utf8.RuneCountInString(figure(y.To*float64(i)/4))))
	}
	f.width = svgWidth - f.left - 20
	for i := range 5 {
		v := y.To * float64(i) / 4
		d.line("grid", f.left, f.y(y.Share(v)), f.left+f.width, f.y(y.Share(v)))
		d.label(f.left-6, f.y(y.Share(v))+4, "end", "dim", figure(v))
	}
	d.height = f.top + plotHeight
	return f
}

// legend names the series, one after the other.
func (d *drawing) legend(all []string) {
	// The eight colours come again from the ninth series on.
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

// textBar is how many signs the longest bar has: with a label and a figure a line is below 80 as a rule.
const textBar = 40

// chartText draws a chart for those who see no picture: a bar a value.
func chartText(c steps.Chart) string {
	c = finiteChart(c)
	var b strings.Builder
	sanitize.Fprintf(&b, "%s (%s)\n", c.Title, c.Unit)
	s := chart.Bars(c)
	if c.Shape == steps.Lines {
		s = chart.Lines(c)
	}
	bar := func(label string, wide int, v float64) {
		n := 0
		if chart.Usable(v) {
			// Something, however little, is seen.
			n = max(1, int(math.Round(s.Share(v)*textBar)))
		}
		sanitize.Fprintf(&b, "  %s%s %s %s\n", label, strings.Repeat(" ", max(0, wide-utf8.RuneCountInString(label))),
			strings.Repeat("█", n)+strings.Repeat("·", textBar-n), figure(v))
	}
	if c.Shape == steps.Lines {
		for _, series := range c.Series {
			sanitize.Fprintf(&b, "%s\n", series.Name)
			wide := 0
			for _, p := range series.Points {
				wide = max(wide, utf8.RuneCountInString(chart.Tick(p.X, c.XUnit, figure)))
			}
			for _, p := range series.Points {
				bar(chart.Tick(p.X, c.XUnit, figure), wide, p.Y)
			}
		}
	} else {
		all, wide := chart.Points(c), 0
		for _, p := range all {
			wide = max(wide, utf8.RuneCountInString(p.Label))
		}
		if wide*len(all) > mostBlanks {
			wide = 0
		}
		for _, p := range all {
			bar(p.Label, wide, p.Y)
		}
	}
	for _, l := range chart.Limits(c) {
		sanitize.Fprintf(&b, "  limit: %s %s %s\n", figure(l.Value), c.Unit, l.Name)
	}
	return b.String()
}

const gaugesTitle = "Rails while it ran"

// gaugesSVG draws what each rail sent while a cell ran, over its time.
func gaugesSVG(title string, s *Samples, alone bool) string {
	var d drawing
	d.label(8, 18, "", "title", title)
	d.label(svgWidth-8, 18, "end", "dim", "Gb/s sent on the wire, over seconds")
	d.height = 30
	most, slots := 0.0, 0
	for _, r := range s.Rails {
		most, slots = max(most, r.Tx.peak()), max(slots, len(r.Tx), len(r.Rx))
	}
	y := chart.Scale{To: chart.Rounded(most)}
	f := d.frame(y)
	// From the first slot's beginning to the last one's.
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
				fmt.Fprintf(&path, "%s,%s ", at(f.x(float64(to)/float64(max(1, slots-1)))), at(f.y(y.Share(r.Tx[to]))))
			}
			if to == from+1 { // one value alone makes no line
				d.put(`<circle class="s%d" cx="%s" cy="%s" r="2"/>`, i%8, at(f.x(float64(from)/float64(max(1, slots-1)))),
					at(f.y(y.Share(r.Tx[from]))))
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

// gaugesText is the same for those who see no picture: a sign for each slot, in eighths of the highest of all
// rails, and a question mark where nothing was known.
func gaugesText(title string, s *Samples) string {
	var b strings.Builder
	most, wide := 0.0, 0
	for _, r := range s.Rails {
		most, wide = max(most, r.Tx.peak(), r.Rx.peak()), max(wide, utf8.RuneCountInString(r.Node+" "+r.Dev))
	}
	sanitize.Fprintf(&b, "%s (Gb/s on the wire, one sign each %s s)\n", title, number(float64(s.StepMS)/1000))
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
				case chart.Usable(v) && most > 0:
					line.WriteRune(sparks[max(1, int(math.Round(v/most*8)))])
				default:
					line.WriteRune(sparks[0])
				}
			}
			name := r.Node + " " + r.Dev
			sanitize.Fprintf(&b, "  %s%s %s peak %s %s\n", name, strings.Repeat(" ", wide-utf8.RuneCountInString(name)),
				flow.name, figure(flow.rates.peak()), strings.TrimRight("│"+line.String(), " "))
		}
	}
	return b.String()
}
