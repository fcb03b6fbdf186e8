package notebook

import (
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Comparison is what changed from one session to another.
type Comparison struct {
	A         Side    `json:"a"`
	B         Side    `json:"b"`
	Threshold float64 `json:"thresholdPercent"`
	// Notes say what else is not the same: the rig, its software and MTUs, simulated or not.
	Notes []string    `json:"notes"`
	Cells []CellDelta `json:"cells"` // that ran in both
	OnlyA []string    `json:"onlyA"`
	OnlyB []string    `json:"onlyB"`
	// Regressions is how many verdicts and figures are worse.
	Regressions int `json:"regressions"`
}

// A Side is one of the two sessions.
type Side struct {
	Name      string `json:"name"`
	Rig       string `json:"rig"`
	Simulated bool   `json:"simulated"`
	Railbench string `json:"railbench"`
}

// A CellDelta is one cell in both sessions.
type CellDelta struct {
	Cell    string      `json:"cell"`
	A       steps.Grade `json:"a"`
	B       steps.Grade `json:"b"`
	Change  Change      `json:"change"` // of the verdict
	Reason  string      `json:"reason,omitempty"`
	Note    string      `json:"note,omitempty"` // why its figures don't count
	Figures []Figure    `json:"figures"`
}

// A Figure is a number that both verdicts rest on.
type Figure struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit,omitempty"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Percent float64 `json:"percent"` // from A to B; 0 where A is 0
	Change  Change  `json:"change"`
}

// Change is a judgement of a difference.
type Change string

// The judgements.
const (
	Same   Change = "same" // within the threshold
	Better Change = "better"
	Worse  Change = "worse"
	Other  Change = "other" // neither better nor worse by itself
)

// Compare sets b against a. A rate that falls by more than threshold percent is worse,
// and so is a time that grows by as much, and a verdict further from PASS.
func Compare(a, b *Document, threshold float64) Comparison {
	c := Comparison{
		A: side(a), B: side(b), Threshold: threshold,
		Notes: differences(a, b), Cells: []CellDelta{}, OnlyA: []string{}, OnlyB: []string{},
	}
	// One that only began in a session counts as not run there.
	for _, cell := range a.Ran() {
		if !ended(b, cell.ID) && ended(a, cell.ID) {
			c.OnlyA = append(c.OnlyA, cell.ID)
		}
	}
	for _, cell := range b.Ran() {
		switch {
		case !ended(b, cell.ID):
		case !ended(a, cell.ID):
			c.OnlyB = append(c.OnlyB, cell.ID)
		default:
			d := compareCell(a, b, cell, threshold)
			c.Cells = append(c.Cells, d)
			c.Regressions += d.worse()
		}
	}
	return c
}

// ended reports whether a cell has a verdict to be compared.
func ended(d *Document, cell string) bool {
	s := d.Book.Cells[cell]
	return !s.Running && s.Verdict.Grade != steps.NotRun
}

func side(d *Document) Side {
	return Side{Rig: d.Book.Rig.Name, Simulated: d.Book.Rig.Simulated, Railbench: d.Railbench}
}

// Unalike reports whether the two can't be compared at all: the state of a simulated rig was chosen.
func (c Comparison) Unalike() bool { return c.A.Simulated != c.B.Simulated }

func (d CellDelta) worse() int {
	n := 0
	if d.Change == Worse {
		n++
	}
	for _, f := range d.Figures {
		if f.Change == Worse {
			n++
		}
	}
	return n
}

// differences are how two sessions differ apart from what they measured.
func differences(a, b *Document) []string {
	all := []string{}
	add := func(what, x, y string) {
		// What is unknown in one of them is not a difference.
		if x != y && x != "" && y != "" {
			all = append(all, fmt.Sprintf("%s: %s in A, %s in B", what, x, y))
		}
	}
	x, y := a.Book.Rig, b.Book.Rig
	if x.Simulated != y.Simulated {
		all = append(all, "only one of them is SIMULATED: their figures have nothing to do with each other")
	}
	add("rig", x.Name, y.Name)
	ports := map[string][]string{} // whose MTU changed, by what it was and is
	for _, e := range steps.Ends {
		m, n := x.At(e), y.At(e)
		add(e.String()+" node", m.Name, n.Name)
		add(n.Name+" system", m.OS, n.OS)
		add(n.Name+" kernel", m.Kernel, n.Kernel)
		add(n.Name+" adapter", m.Adapter, n.Adapter)
		for _, rail := range n.Rails {
			i := slices.IndexFunc(m.Rails, func(r steps.Rail) bool { return r.Dev == rail.Dev })
			if i >= 0 && m.Rails[i].MTU > 0 && rail.MTU > 0 {
				if was, is := m.Rails[i].MTU, rail.MTU; was != is {
					changed := fmt.Sprintf("%s: %d in A, %d in B", rail.MTUName(), was, is)
					ports[changed] = append(ports[changed], n.Name+" "+rail.Dev)
				}
			}
		}
		for _, tool := range slices.Sorted(maps.Keys(n.Tools)) {
			add(n.Name+" "+tool, m.Tools[tool].Version, n.Tools[tool].Version)
		}
	}
	for _, changed := range slices.Sorted(maps.Keys(ports)) {
		which := strings.Join(ports[changed], ", ")
		if len(ports[changed]) > 2 {
			which = fmt.Sprintf("%d ports", len(ports[changed]))
		}
		all = append(all, which+" "+changed)
	}
	return all
}

// distance is how far from PASS a verdict is; ok is false for one that is not on that scale. INCONCLUSIVE is
// nearer than FAIL, which is certain.
func distance(g steps.Grade) (n int, ok bool) {
	switch g {
	case steps.Pass:
		return 0, true
	case steps.Warn:
		return 1, true
	case steps.Inconclusive:
		return 2, true
	case steps.Fail:
		return 3, true
	default:
		return 0, false
	}
}

// compareCell compares the last runs of a cell. Figures are those of b's evidence that a
// has, too, by name.
func compareCell(a, b *Document, cell steps.Cell, threshold float64) CellDelta {
	x, y := a.Book.Cells[cell.ID], b.Book.Cells[cell.ID]
	d := CellDelta{Cell: cell.ID, A: x.Verdict.Grade, B: y.Verdict.Grade, Change: Same, Figures: []Figure{}}
	before, ok := distance(d.A)
	after, also := distance(d.B)
	switch {
	case d.A == d.B:
	case !ok || !also:
		d.Change = Other
	case after > before:
		d.Change = Worse
	default:
		d.Change = Better
	}
	if d.Change != Same {
		d.Reason = y.Verdict.Reason
	}
	if !maps.Equal(x.Params, y.Params) {
		d.Note = "it ran with other parameters, so its figures don't count"
	}
	if side(a).Simulated != side(b).Simulated {
		// Neither verdicts nor figures: a simulated rig that is well says nothing of a real one.
		d.Note = "only one of them is SIMULATED, so neither its verdict nor its figures compare"
		if d.Change != Same {
			d.Change = Other
		}
	}
	if why := unlike(a.Book.Rig, b.Book.Rig, x.Verdict.Figures, y.Verdict.Figures); why != "" {
		d.Note = "measured under other conditions in A and in B (" + why + "), so its figures don't compare"
	}
	if cell.Retells() {
		return d // its figures are those of other cells
	}
	d.figures(x.Verdict.Evidence, y.Verdict.Evidence, threshold)
	return d
}

// figures are the numbers of b that a has, too.
func (d *CellDelta) figures(a, b []steps.Evidence, threshold float64) {
	for i, e := range b {
		v, ok := e.Number()
		old, also := counterpart(a, b[:i], e)
		if !ok || !also {
			continue
		}
		f := Figure{Name: e.Name, Unit: e.Unit, A: old, B: v, Change: judge(e, old, v, threshold)}
		if old != 0 {
			// One decimal: two runs of one rig differ by tenths.
			f.Percent = math.Round((v-old)/math.Abs(old)*1000) / 10
		}
		// Shown, but not judged.
		if d.Note != "" && f.Change != Same {
			f.Change = Other
		}
		d.Figures = append(d.Figures, f)
	}
}

// unlike says which conditions differ of what a cell measured in both sessions: of the same
// measure over the same rails, and of several of those, as with several links, at the same
// place. A rail's number is its place among those that were found: the same one may be another
// device.
func unlike(rigA, rigB steps.Rig, a, b []steps.Figure) string {
	for i, y := range b {
		same := func(x steps.Figure) bool { return x.What == y.What && slices.Equal(x.Rails, y.Rails) }
		place := 0
		for _, earlier := range b[:i] {
			if same(earlier) {
				place++
			}
		}
		old := slices.DeleteFunc(slices.Clone(a), func(x steps.Figure) bool { return !same(x) })
		if place >= len(old) {
			continue
		}
		for _, no := range y.Rails {
			if was, is := devices(rigA, no), devices(rigB, no); was != is && was != "" && is != "" {
				return fmt.Sprintf("rail %d was %s and is %s", no, was, is)
			}
		}
		if why := old[place].Unlike(y); why != "" {
			return why
		}
	}
	return ""
}

// devices are those of a rail's two ends, by its number from 1; empty where the rig has no such rail.
func devices(r steps.Rig, no int) string {
	if !r.HasPair(no - 1) {
		return ""
	}
	here, peer := r.Rail(r.Pairs[no-1], steps.Here).Dev, r.Rail(r.Pairs[no-1], steps.Peer).Dev
	if here == peer {
		return here
	}
	return here + " to " + peer
}

// counterpart is the figure of the same name and unit; of several the one that stands
// at the same place among them.
func counterpart(all, earlier []steps.Evidence, e steps.Evidence) (float64, bool) {
	same := func(x steps.Evidence) bool { return x.Name == e.Name && x.Unit == e.Unit }
	skip := 0
	for _, x := range earlier {
		if same(x) {
			skip++
		}
	}
	for _, x := range all {
		if !same(x) {
			continue
		}
		if skip == 0 {
			return x.Number()
		}
		skip--
	}
	return 0, false
}

// timeUnits are those of which less is better.
var timeUnits = []string{"ns", "us", "µs", "ms", "s"}

// judge says whether a figure became better. A higher rate is better, and a shorter time; of a maximum, which
// one packet makes, and of other figures, it is unknown.
func judge(e steps.Evidence, before, after, threshold float64) Change {
	if before == after {
		return Same
	}
	grew := after > before
	// There are no percentages of 0: everything that grew from it grew by more.
	beyond := before == 0 || math.Abs(after-before)/math.Abs(before)*100 > threshold
	switch {
	case !beyond:
		return Same
	case strings.Contains(e.Name, "maximum"):
		return Other
	case strings.HasSuffix(e.Unit, "/s"):
		return better(grew)
	case slices.Contains(timeUnits, e.Unit):
		return better(!grew)
	}
	return Other
}

func better(yes bool) Change {
	if yes {
		return Better
	}
	return Worse
}

// Text is a comparison for people: every rate and every time, and what else changed.
func (c Comparison) Text() string {
	var b strings.Builder
	for _, s := range []struct {
		letter string
		side   Side
	}{{"A", c.A}, {"B", c.B}} {
		line := fmt.Sprintf("%s  %s  rig %s", s.letter, s.side.Name, s.side.Rig)
		if s.side.Simulated {
			line += "  " + simulated
		}
		b.WriteString(sanitize.Line(line) + "\n")
	}
	for _, n := range c.Notes {
		b.WriteString(sanitize.Line(n) + "\n")
	}
	b.WriteString(ofPayload + "\n\n")
	t, _ := c.table()
	b.WriteString(tableText(t))
	for _, line := range c.remarks() {
		b.WriteString(sanitize.Line(line) + "\n")
	}
	b.WriteString(c.sum() + "\n")
	return b.String()
}

// Markdown is a comparison as a page to read: what is worse first, and each side by its name.
func (c Comparison) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s.** ", markdownText(capital(c.sum())))
	side := func(s Side) string {
		text := markdownText(s.Name) + " (rig " + markdownText(s.Rig)
		if s.Simulated {
			text += ", " + simulated
		}
		return text + ")"
	}
	fmt.Fprintf(&b, "A is %s, B is %s. %s.\n\n", side(c.A), side(c.B), capital(ofPayload))
	list := func(lines []string) {
		for _, l := range lines {
			b.WriteString("- " + markdownText(l) + "\n")
		}
		if len(lines) > 0 {
			b.WriteString("\n")
		}
	}
	list(c.Notes)
	t, _ := c.table()
	b.WriteString(tableMarkdown(t) + "\n")
	list(c.remarks())
	return b.String()
}

// ofPayload says which of two measures the figures of a comparison are.
const ofPayload = "rates are of payload, without headers; bytes are as ports count them, with headers"

// table has every verdict, rate and time, and what else changed; changes are of its
// rows.
func (c Comparison) table() (t steps.Table, changes []Change) {
	t.Columns = []steps.Column{
		{Name: "cell"},
		{Name: "A", Number: true},
		{Name: "B", Number: true},
		{Name: "change", Number: true},
		{Name: ""},
	}
	add := func(change Change, row ...string) {
		t.Rows, changes = append(t.Rows, append(row, word(change))), append(changes, change)
	}
	for _, d := range c.Cells {
		add(d.Change, d.Cell, d.A.String(), d.B.String(), "")
		for _, f := range d.Figures {
			// Counts and names that stayed as they were say nothing.
			if !f.measured() && f.Change == Same {
				continue
			}
			change := fmt.Sprintf("%+.1f %%", f.Percent)
			if f.A == 0 && f.B != 0 {
				change = "from 0"
			}
			name, unit := f.Name, f.Unit
			if strings.Contains(unit, " ") { // "messages of 65536 bytes": once is enough
				head, _, _ := strings.Cut(unit, " ")
				if of, same := strings.CutSuffix(name, " "+head); same {
					name = of + " " + unit
				} else {
					name += ", " + unit
				}
				unit = ""
			}
			add(f.Change, "  "+name, withUnit(f.A, unit), withUnit(f.B, unit), change)
		}
	}
	return t, changes
}

// measured reports whether a figure is a rate or a time.
func (f Figure) measured() bool {
	return strings.HasSuffix(f.Unit, "/s") || slices.Contains(timeUnits, f.Unit)
}

// remarks are what the table has no place for.
func (c Comparison) remarks() (all []string) {
	for _, d := range c.Cells {
		if d.Change != Same {
			all = append(all, fmt.Sprintf("%s was %s and is %s: %s", d.Cell, d.A, d.B, d.Reason))
		}
		if d.Note != "" {
			all = append(all, d.Cell+": "+d.Note)
		}
	}
	for _, only := range []struct {
		letter string
		cells  []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.cells) > 0 {
			all = append(all, fmt.Sprintf("only in %s: %s", only.letter, strings.Join(only.cells, " ")))
		}
	}
	return all
}

// sum is the last line.
func (c Comparison) sum() string {
	if c.Unalike() {
		return "nothing compares: only one of them is SIMULATED"
	}
	if c.Regressions == 0 {
		return fmt.Sprintf("nothing is worse by more than %s %%", number(c.Threshold))
	}
	return fmt.Sprintf("%d worse, by more than %s %% where it is a figure", c.Regressions, number(c.Threshold))
}

// HTML is a comparison as one page that needs nothing but itself.
// SIMULATED stands at whichever side is, and as the page's banner only where both are.
func (c Comparison) HTML() []byte {
	var b strings.Builder
	sim := c.A.Simulated || c.B.Simulated
	title := "Two sessions compared"
	if sim {
		title += " " + simulated
	}
	b.WriteString(pageHead(title, c.B.Railbench, c.A.Simulated && c.B.Simulated))
	sides := steps.Table{Columns: []steps.Column{{Name: ""}, {Name: "session"}, {Name: "rig"}, {Name: "railbench"}}}
	for _, s := range []struct {
		letter string
		side   Side
	}{{"A", c.A}, {"B", c.B}} {
		rig := s.side.Rig
		if s.side.Simulated {
			rig += " " + simulated
		}
		sides.Rows = append(sides.Rows, []string{s.letter, s.side.Name, rig, s.side.Railbench})
	}
	b.WriteString(tableHTML(sides))
	list := func(lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("<ul>\n")
		for _, l := range lines {
			fmt.Fprintf(&b, "<li>%s</li>\n", html.EscapeString(l))
		}
		b.WriteString("</ul>\n")
	}
	list(append(slices.Clone(c.Notes), ofPayload))
	fmt.Fprintf(&b, "</header>\n<main>\n<p><strong>%s</strong></p>\n", html.EscapeString(capital(c.sum())+"."))
	t, changes := c.table()
	b.WriteString(rowsHTML(t, func(i int) string {
		class := word(changes[i])
		if !strings.HasPrefix(t.Rows[i][0], " ") {
			class = strings.TrimSpace("cell " + class)
		}
		return class
	}))
	list(c.remarks())
	for _, d := range c.Cells {
		for _, chart := range d.charts() {
			if sim {
				chart.Title += " " + simulated
			}
			b.WriteString(chartSVG(chart, false))
		}
	}
	b.WriteString(pageEnd)
	return []byte(sanitize.Text(b.String()))
}

// charts set the rates and times of a cell side by side, a chart a unit.
func (d CellDelta) charts() []steps.Chart {
	var all []steps.Chart
	for _, f := range d.Figures {
		if !f.measured() {
			continue
		}
		i := slices.IndexFunc(all, func(c steps.Chart) bool { return c.Unit == f.Unit })
		if i < 0 {
			i = len(all)
			title := d.Cell
			if strings.HasSuffix(f.Unit, "b/s") {
				title += ", payload"
			}
			if d.Note != "" {
				title += " (" + d.Note + ")"
			}
			all = append(all, steps.Chart{Title: title, Shape: steps.Bars, Unit: f.Unit, Series: []steps.Series{{}}})
		}
		s := &all[i].Series[0]
		s.Points = append(s.Points, steps.Point{Label: f.Name + ", A", Y: f.A}, steps.Point{Label: "B", Y: f.B})
	}
	return all
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func word(c Change) string {
	switch c {
	case Better, Worse:
		return string(c)
	default:
		return ""
	}
}

func withUnit(v float64, unit string) string {
	if unit == "bytes" && math.Abs(v) >= 1e6 { // eleven digits can't be counted at sight
		v, unit = v/1e9, "GB"
	}
	text := number(v)
	if v != math.Trunc(v) {
		text = strconv.FormatFloat(v, 'g', 4, 64)
	}
	if unit != "" {
		text += " " + unit
	}
	return text
}
