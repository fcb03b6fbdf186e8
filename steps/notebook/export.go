package notebook

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// What ran, for people and programs that have no Jupyter. A cell that never ran is
// named and not shown.

// A chapter is a part with the cells that ran.
type chapter struct {
	part  steps.Part
	cells []steps.Cell
}

// chapters are the parts with what ran in them, or was written by the user. The others are
// named only.
func (d *Document) chapters() (all []chapter, never []string) {
	for _, p := range d.shown() {
		c := chapter{part: p}
		for _, cell := range p.Cells {
			if _, ran := d.Book.Cells[cell.ID]; ran || cell.Note() {
				c.cells = append(c.cells, d.cell(cell))
			} else {
				never = append(never, cell.ID)
			}
		}
		if len(c.cells) > 0 {
			all = append(all, c)
		}
	}
	return all, never
}

// Ran lists the cells that ran, in the session's order, as they were then.
func (d *Document) Ran() []steps.Cell {
	var cells []steps.Cell
	all, _ := d.chapters()
	for _, chapter := range all {
		for _, c := range chapter.cells {
			if !c.Note() {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// overview is a line a cell.
func (d *Document) overview() steps.Table {
	t := steps.Table{
		Title:   d.mark("Verdicts"),
		Columns: []steps.Column{{Name: "cell"}, {Name: "verdict"}, {Name: "reason"}},
	}
	all, never := d.chapters()
	for _, p := range all {
		for _, c := range p.cells {
			if c.Note() {
				continue
			}
			s := d.Book.Cells[c.ID]
			t.Rows = append(t.Rows, []string{c.ID, gradeName(s), s.Verdict.Reason})
		}
	}
	if len(never) > 0 {
		t.Note = "Not run: " + strings.Join(never, " ") + "."
	}
	var hidden []string
	for _, c := range d.Book.Tutorial.Cells() {
		if c.Hidden {
			hidden = append(hidden, c.ID)
		}
	}
	if len(hidden) > 0 {
		t.Note = strings.TrimSpace(t.Note + " Hidden on the screen: " + strings.Join(hidden, " ") + ".")
	}
	return t
}

// gradeName is the verdict in a file that may be written while a cell runs.
func gradeName(s steps.CellState) string {
	if s.Running {
		return "running"
	}
	return s.Verdict.Grade.String()
}

// ran is the line about a run: when, how long, with which status and parameters. value writes values that
// come from outside.
func ran(s steps.CellState, value func(string) string) string {
	var parts []string
	if s.Run > 0 {
		parts = append(parts, fmt.Sprintf("[%d]", s.Run))
	}
	if !s.Started.IsZero() {
		parts = append(parts, s.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if s.Elapsed > 0 {
		parts = append(parts, s.Elapsed.Round(100*time.Millisecond).String())
	}
	if s.HasExit {
		parts = append(parts, s.Exit.String())
	}
	if s.Running {
		parts = append(parts, "running")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		parts = append(parts, value(name+"="+s.Params[name]))
	}
	return strings.Join(parts, ", ")
}

// Markdown is what ran, as Markdown with the charts as text.
func (d *Document) Markdown() []byte {
	var b strings.Builder
	b.WriteString(d.headText() + "\n\n" + tableMarkdown(d.overview()))
	all, _ := d.chapters()
	n := d.notes()
	for _, p := range all {
		fmt.Fprintf(&b, "\n%s\n", titled("## "+markdownText(p.part.Title), n.marked(p.part.Prose, p.part.Title, noteSign)))
		for _, c := range p.cells {
			// The tail stands behind what the cell came to.
			where := noteWhere(p.part, c)
			c.Prose, c.Tail = n.marked(c.Prose, where, noteSign), n.marked(c.Tail, where, noteSign)
			d.cellMarkdown(&b, c)
		}
	}
	if text := n.markdown(); text != "" {
		b.WriteString("\n" + text)
	}
	return []byte(sanitize.Text(b.String()))
}

// BriefMarkdown is what to read of a session: the verdicts, what decided those that are not PASS, and the tables of
// railbench's own cells. Scripts, outputs and the prose are in Markdown.
func (d *Document) BriefMarkdown() []byte {
	var b strings.Builder
	b.WriteString(d.headText() + "\n\n" + tableMarkdown(d.overview()))
	all, _ := d.chapters()
	for _, p := range all {
		for _, c := range p.cells {
			s := d.Book.Cells[c.ID]
			passed := s.Verdict.Grade == steps.Pass || s.Verdict.Grade == steps.NotRun
			if c.Note() || passed && (c.Own == "" || len(s.Verdict.Tables) == 0) {
				continue
			}
			fmt.Fprintf(&b, "\n## %s (%s)\n", markdownText(c.Title), c.ID)
			if !passed {
				b.WriteString("\n" + d.verdictMarkdown(s, false))
			}
			if c.Own == "" {
				continue
			}
			for _, t := range s.Verdict.Tables {
				t.Title = d.mark(t.Title)
				b.WriteString("\n" + tableMarkdown(t))
			}
		}
	}
	b.WriteString("\nScripts, outputs and evidence: `railbench export --full --to md SESSION`.\n")
	return []byte(sanitize.Text(b.String()))
}

// cellMarkdown fences what a tool printed: nothing of it is Markdown.
// The order is the screen's: prose, script, output, and what it came to.
func (d *Document) cellMarkdown(b *strings.Builder, c steps.Cell) {
	if c.Note() {
		fmt.Fprintf(b, "\n%s\n", c.Prose)
		return
	}
	s := d.Book.Cells[c.ID]
	fmt.Fprintf(b, "\n%s\n\n", titled("### "+markdownText(c.Title)+" ("+c.ID+")", c.Prose))
	fenced(b, "sh", d.source(c)+"\n")
	fmt.Fprintf(b, "%s\n\n", ran(s, markdownText))
	if text := outputText(c, s); text != "" {
		fenced(b, "text", text)
	}
	if s.Verdict.Grade != steps.NotRun {
		b.WriteString(d.verdictMarkdown(s, true) + "\n")
	}
	for _, t := range s.Verdict.Tables {
		t.Title = d.mark(t.Title)
		b.WriteString(tableMarkdown(t) + "\n")
	}
	for _, x := range s.Verdict.Charts {
		x.Title = d.mark(x.Title)
		fenced(b, "text", chartText(x))
	}
	switch g := d.samples[c.ID]; {
	case !g.moved():
	case g.curve():
		fenced(b, "text", gaugesText(d.mark(gaugesTitle), g))
	default:
		b.WriteString(tableMarkdown(g.runs(d.mark(gaugesTitle))) + "\n")
	}
	if c.Tail != "" {
		b.WriteString(strings.TrimSpace(c.Tail) + "\n")
	}
}

// fenced writes a block of code that nothing in it can end.
func fenced(b *strings.Builder, language, text string) {
	// Longer than any within.
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s\n%s\n\n", fence, language, strings.TrimRight(text, "\n"), fence)
}

// CSV is a row for each thing that a verdict rests on and for each figure, and one for a
// cell without any. A figure's conditions stand in columns of their own, behind those
// that evidence has, and are empty where they don't apply.
func (d *Document) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{
		"rig", "simulated", "part", "cell", "run", "started", "elapsed_s",
		"verdict", "name", "value", "unit", "expected_min", "expected_max", "expected_from",
		"kind", "rails", "message_bytes", "mtu", "memory", "streams", "p95", "p99", "last",
	}}
	add := func(row ...string) { rows = append(rows, append(row, make([]string, len(rows[0])-len(row))...)) }
	all, _ := d.chapters()
	for _, p := range all {
		for _, c := range p.cells {
			if c.Note() {
				continue
			}
			s := d.Book.Cells[c.ID]
			started := ""
			if !s.Started.IsZero() {
				started = s.Started.UTC().Format(time.RFC3339)
			}
			cell := []string{
				d.Book.Rig.Name, strconv.FormatBool(d.Book.Rig.Simulated),
				p.part.ID, c.ID, strconv.Itoa(int(s.Run)), started,
				strconv.FormatFloat(s.Elapsed.Seconds(), 'f', 3, 64), gradeName(s),
			}
			for _, e := range s.Verdict.Evidence {
				x := e.Expected
				if x == nil {
					x = &steps.Expected{}
				}
				add(append(slices.Clip(cell), e.Name, csvValue(e.Value), e.Unit, bound(x.Min), bound(x.Max), x.From, "evidence")...)
			}
			for _, f := range s.Verdict.Figures {
				add(append(slices.Clip(cell), csvFigure(f)...)...)
			}
			if len(s.Verdict.Evidence)+len(s.Verdict.Figures) == 0 {
				add(cell...)
			}
		}
	}
	// A spreadsheet runs what begins as a formula; the gate takes that away.
	for _, row := range rows {
		for i := range row {
			row[i] = sanitize.Field(row[i])
		}
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("write CSV: %w", err)
	}
	return b.Bytes(), nil
}

// csvFigure are the columns of a figure, from its name on.
func csvFigure(f steps.Figure) []string {
	known := func(v float64) string {
		if v == 0 {
			return ""
		}
		return csvValue(v)
	}
	value := csvValue(f.Value)
	if f.Words != "" {
		value = f.Words
	}
	rails := make([]string, len(f.Rails))
	for i, r := range f.Rails {
		rails[i] = strconv.Itoa(r)
	}
	return []string{
		string(f.What), value, f.Unit, "", "", "", "figure", strings.Join(rails, " "),
		known(float64(f.MessageBytes)), known(float64(f.MTU)), f.Memory, known(float64(f.Streams)),
		known(f.P95), known(f.P99), known(f.Last),
	}
}

// csvValue has every digit and no grouping: a program reads it. A number that is not finite is an empty
// field.
func csvValue(v any) string {
	if x, ok := v.(float64); ok {
		if !isFinite(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func bound(v *float64) string {
	if v == nil {
		return ""
	}
	return csvValue(*v)
}
