package notebook

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// A Comparison is what changed from one session to another.
type Comparison struct {
	A         Side    `json:"a"`
	B         Side    `json:"b"`
	Threshold float64 `json:"thresholdPercent"`
	// Notes say what else is not the same: the rig, its software, simulated or not.
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

func ended(d *Document, cell string) bool {
	s := d.Book.Cells[cell]
	return !s.Running && s.Verdict.Grade != steps.NotRun
}

func side(d *Document) Side {
	return Side{Rig: d.Book.Rig.Name, Simulated: d.Book.Rig.Simulated, Railbench: d.Railbench}
}

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

// differences are what makes two sessions not alike beside what they measured.
func differences(a, b *Document) []string {
	all := []string{}
	add := func(what, x, y string) {
		if x != y && x != "" && y != "" {
			all = append(all, fmt.Sprintf("%s: %s in A, %s in B", what, x, y))
		}
	}
	x, y := a.Book.Rig, b.Book.Rig
	if x.Simulated != y.Simulated {
		all = append(all, "only one of them is SIMULATED: their figures have nothing to do with each other")
	}
	add("rig", x.Name, y.Name)
	for _, e := range steps.Ends {
		m, n := x.Nodes[e], y.Nodes[e]
		add(e.String()+" node", m.Name, n.Name)
		add(n.Name+" system", m.OS, n.OS)
		add(n.Name+" kernel", m.Kernel, n.Kernel)
		add(n.Name+" adapter", m.Adapter, n.Adapter)
		for _, tool := range slices.Sorted(maps.Keys(n.Tools)) {
			add(n.Name+" "+tool, m.Tools[tool].Version, n.Tools[tool].Version)
		}
	}
	return all
}

// distance is how far from PASS a verdict is; ok is false for one that tells nothing
// of that.
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
	if !maps.Equal(a.params[cell.ID], b.params[cell.ID]) {
		d.Note = "it ran with other parameters, so its figures don't count"
	}
	if cell.Own != "" {
		return d // its figures are those of other cells
	}
	for i, e := range y.Verdict.Evidence {
		v, ok := numeric(e.Value)
		old, also := counterpart(x.Verdict.Evidence, y.Verdict.Evidence[:i], e)
		if !ok || !also {
			continue
		}
		f := Figure{Name: e.Name, Unit: e.Unit, A: old, B: v, Change: judge(e, old, v, threshold)}
		if old != 0 {
			f.Percent = math.Round((v-old)/math.Abs(old)*1000) / 10
		}
		if d.Note != "" && f.Change != Same {
			f.Change = Other
		}
		d.Figures = append(d.Figures, f)
	}
	return d
}

func numeric(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, isFinite(x)
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	}
	return 0, false
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
			return numeric(x.Value)
		}
		skip--
	}
	return 0, false
}

// timeUnits are those of which less is better.
var timeUnits = []string{"ns", "us", "µs", "ms", "s"}

// judge says whether a figure became better. Of a rate more is better, of a time less;
// of a maximum, which one packet makes, and of what is neither, nobody can say.
func judge(e steps.Evidence, before, after, threshold float64) Change {
	if before == after {
		return Same
	}
	grew := after > before
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
		b.WriteString(line + "\n")
	}
	for _, n := range c.Notes {
		b.WriteString(n + "\n")
	}
	b.WriteByte('\n')
	t := steps.Table{Columns: []steps.Column{{Name: "cell"}, {Name: "A", Number: true}, {Name: "B", Number: true}, {Name: "change", Number: true}, {Name: ""}}}
	for _, d := range c.Cells {
		t.Rows = append(t.Rows, []string{d.Cell, d.A.String(), d.B.String(), "", word(d.Change)})
		for _, f := range d.Figures {
			rate := strings.HasSuffix(f.Unit, "/s") || slices.Contains(timeUnits, f.Unit)
			if !rate && f.Change == Same {
				continue
			}
			change := fmt.Sprintf("%+.1f %%", f.Percent)
			if f.A == 0 && f.B != 0 {
				change = "from 0"
			}
			t.Rows = append(t.Rows, []string{"  " + f.Name, withUnit(f.A, f.Unit), withUnit(f.B, f.Unit), change, word(f.Change)})
		}
	}
	b.WriteString(tableText(t))
	for _, d := range c.Cells {
		if d.Change != Same {
			fmt.Fprintf(&b, "%s was %s and is %s: %s\n", d.Cell, d.A, d.B, d.Reason)
		}
		if d.Note != "" {
			fmt.Fprintf(&b, "%s: %s\n", d.Cell, d.Note)
		}
	}
	for _, only := range []struct {
		letter string
		cells  []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.cells) > 0 {
			fmt.Fprintf(&b, "only in %s: %s\n", only.letter, strings.Join(only.cells, " "))
		}
	}
	if c.Regressions == 0 {
		fmt.Fprintf(&b, "nothing is worse by more than %s %%\n", number(c.Threshold))
	} else {
		fmt.Fprintf(&b, "%d worse, by more than %s %% where it is a figure\n", c.Regressions, number(c.Threshold))
	}
	return b.String()
}

func word(c Change) string {
	switch c {
	case Better, Worse:
		return string(c)
	default:
		return ""
	}
}

func withUnit(v float64, unit string) string {
	if unit == "" {
		return number(v)
	}
	return number(v) + " " + unit
}
