package cells

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// Mark is the sign of a grade: what is said in colour is said by a sign, too.
func Mark(g steps.Grade) string {
	switch g {
	case steps.Pass:
		return "✓"
	case steps.Warn:
		return "!"
	case steps.Fail:
		return "✗"
	case steps.Inconclusive:
		return "?"
	case steps.Skipped:
		return "–"
	default:
		return " "
	}
}

// GradeStyle is the colour of a grade.
func GradeStyle(k *theme.Styles, g steps.Grade) theme.Style {
	switch g {
	case steps.Pass:
		return k.Pass
	case steps.Warn:
		return k.Warn
	case steps.Fail:
		return k.Fail
	case steps.Inconclusive:
		return k.Inconclusive
	case steps.Skipped:
		return k.Skipped
	default:
		return k.Dim
	}
}

func (b *body) verdict(c Cell) {
	v := c.State.Verdict
	if v.Grade == steps.NotRun || c.State.Running {
		return
	}
	grade := GradeStyle(b.k, v.Grade).Render(Mark(v.Grade) + " " + v.Grade.String())
	if c.Simulated {
		// A picture of this line must not pass for a measurement.
		grade += " " + b.k.Dim.Render("SIMULATED")
	}
	text := grade + "  " + strings.Join(strings.Fields(theme.Clean(v.Reason)), " ")
	if n := len(v.Evidence) + len(v.Findings) + len(c.State.Bytes); n > 0 && c.Evidence == NoEvidence {
		text += " " + b.k.Dim.Render("(e shows why)")
	}
	// A verdict is read as prose is, however wide the screen.
	for _, l := range theme.Wrap(text, min(b.width-2, proseWidth), "  ", "    ") {
		b.add(l)
	}
	for _, f := range v.Advice {
		b.wrap(b.k.Dim.Render("advice: "+theme.Clean(f.Text)), "    ", "    ")
	}
	if c.Stale != "" {
		b.wrap(b.k.Warn.Render("stale: ")+theme.Clean(c.Stale), "  ", "    ")
	}
}

// Levels of a cell's evidence: what decided and a table a rail, or all of it.
const (
	NoEvidence = iota
	Decided
	AllEvidence
)

// EvidenceLevel is how much of a cell's evidence is shown after some presses of its key, from the level where it stands
// without any.
func EvidenceLevel(s steps.CellState, without, presses int) int {
	levels := AllEvidence
	if folds(s) {
		levels++
	}
	return (without + presses) % levels
}

// fewFacts is how much stays unfolded: a line about what is left out would save nothing.
const fewFacts = 4

// folds reports whether some of a cell's evidence is shown by a second press of its key only.
func folds(s steps.CellState) bool {
	d := s.Verdict.Digest()
	return len(d.Decided)+len(d.Measures) > 0 && len(d.Rest)+len(s.Bytes) > fewFacts
}

func (b *body) evidence(c Cell) {
	v := c.State.Verdict
	if c.State.Running || v.Grade == steps.NotRun {
		return
	}
	d := v.Digest()
	b.facts(d.Decided)
	if t, ok := RailTable(d); ok {
		drawer := Drawer{Styles: b.k, Width: min(b.width-6, proseWidth)}
		for _, l := range drawer.Table(t) {
			b.add("    " + l)
		}
	}
	if c.Evidence == Decided && folds(c.State) {
		n := len(d.Rest) + len(c.State.Bytes)
		b.add("    " + b.k.Dim.Render(fmt.Sprintf("e shows %d more", n)))
		return
	}
	b.facts(d.Rest)
	for i, r := range c.State.Bytes {
		if r.Test > 0 && (i == 0 || c.State.Bytes[i-1].Test != r.Test) {
			b.add("    " + b.k.Dim.Render(fmt.Sprintf("during rail %d's test:", r.Test)))
		}
		b.add("    " + b.k.Dim.Render(theme.Clean(railBytes(r, c.Names))))
	}
	if len(v.Evidence)+len(c.State.Bytes) == 0 {
		b.add("    " + b.k.Dim.Render("no evidence was recorded"))
	}
	if c.State.Log != "" {
		b.wrap(b.k.Dim.Render("full output in "+theme.Clean(c.State.Log)), "    ", "      ")
	}
}

// facts sets evidence with its names in a column.
func (b *body) facts(all []steps.Evidence) {
	name := 0
	for _, e := range all {
		name = max(name, lipgloss.Width(e.Name))
	}
	name = min(name, max(12, b.width*2/5))
	for _, e := range all {
		b.fact(name, e)
	}
}

// RailTable is what was measured of several rails.
func RailTable(d steps.Digest) (t steps.Table, ok bool) {
	return d.Table(
		func(e steps.Evidence) string { return Value(e.Value, e.Unit) },
		func(e steps.Evidence) string {
			return strings.TrimPrefix(Band(steps.Expected{Min: e.Expected.Min, Max: e.Expected.Max}, e.Unit), "expected ")
		})
}

// fact is one piece of evidence, on one line where it fits.
func (b *body) fact(name int, e steps.Evidence) {
	label := theme.Clean(e.Name)
	text := b.k.Strong.Render(Value(e.Value, e.Unit))
	if e.Outside() {
		text = b.k.Warn.Render(Value(e.Value, e.Unit))
	}
	if e.Expected != nil {
		text += ", " + b.k.Dim.Render(Band(*e.Expected, e.Unit))
	}
	first := "    " + b.k.Dim.Render(theme.Pad(label, name)) + "  "
	if lipgloss.Width(label) > name {
		b.wrap(b.k.Dim.Render(label), "    ", "    ")
		first = strings.Repeat(" ", name+6)
	}
	b.wrap(text, first, strings.Repeat(" ", name+6))
}

// Evidence is a piece of evidence as a line: its name, its value, and what that was compared with.
func Evidence(e steps.Evidence) string {
	text := e.Name + ": " + Value(e.Value, e.Unit)
	if e.Expected != nil {
		text += ", " + Band(*e.Expected, e.Unit)
	}
	return text
}

// Value writes a piece of evidence with its unit.
func Value(v any, unit string) string {
	s := ""
	switch v := v.(type) {
	case float64:
		s = Number(v)
	case float32:
		s = Number(float64(v))
	case int:
		s = steps.Thousands(v)
	case int64:
		s = Number(float64(v))
	case uint64:
		s = Number(float64(v))
	case bool:
		s = map[bool]string{true: "yes", false: "no"}[v]
	default:
		s = theme.Clean(fmt.Sprint(v))
	}
	if unit != "" {
		s += " " + theme.Clean(unit)
	}
	return s
}

// Number writes v with the digits that matter.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e15:
		return steps.Thousands(int(v))
	case a >= 0.1:
		return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// Band writes what a value was compared with, and where that comes from.
func Band(x steps.Expected, unit string) string {
	s := "expected"
	switch {
	case x.Min == nil && x.Max == nil:
		return theme.Clean(x.From)
	case x.Min != nil && x.Max != nil && *x.Min == *x.Max:
		s += " " + Value(*x.Min, unit)
	case x.Min != nil && x.Max != nil:
		s += " " + Number(*x.Min) + " to " + Value(*x.Max, unit)
	case x.Min != nil:
		s += " at least " + Value(*x.Min, unit)
	case x.Max != nil:
		s += " at most " + Value(*x.Max, unit)
	}
	if x.From != "" {
		s += " · " + theme.Clean(x.From)
	}
	return s
}

// railBytes says what one rail carried.
func railBytes(r steps.RailBytes, names []string) string {
	s := nameAt(names, r.End) + " " + r.Dev + "  "
	if !r.Known {
		return s + "bytes unknown: " + r.Why
	}
	source := r.Source
	if source == "port_xmit_data" {
		source = "port counters" // of each way its own
	}
	s += "tx " + Bytes(r.Tx) + "  rx " + Bytes(r.Rx) + "  (" + source + ")"
	for _, name := range slices.Sorted(maps.Keys(r.Errors)) {
		s += fmt.Sprintf("  %s +%d", name, r.Errors[name])
	}
	return s
}

// Bytes writes a number of bytes in decimal units.
func Bytes(n uint64) string {
	switch v := float64(n); {
	case v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1f kB", v/1e3)
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// figures are the tables and charts of a verdict; of a run that goes on, or that
// broke off, what it had measured.
func (b *body) figures(c Cell) {
	d := Drawer{Styles: b.k, Width: b.width - 4, Simulated: c.Simulated, Key: WideKey, Whole: c.Whole}
	tables, charts := c.State.Verdict.Tables, c.State.Verdict.Charts
	if c.State.Running {
		tables, charts = nil, nil
	}
	if live := c.State.Live; len(tables) == 0 && len(live.Rows) > 0 {
		tables = []steps.Table{live}
	}
	for _, lines := range d.Figures(tables, charts) {
		b.figure(lines)
	}
}

func (b *body) figure(lines []string) {
	b.add("")
	for _, l := range lines {
		b.add("  " + l)
	}
}
