package notebook

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// headText is the Markdown above everything.
func (d *Document) headText() string {
	r := d.Book.Rig
	title := d.Book.Tutorial.Title
	if title == "" {
		title = "railbench"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", markdownText(d.mark(title)))
	if r.Simulated {
		b.WriteString("**SIMULATED**: nothing here was measured on hardware.\n\n")
	}
	fmt.Fprintf(&b, "A session of railbench %s on the rig %s, begun %s.\n",
		markdownText(d.Railbench), markdownText(r.Name), d.Created.UTC().Format("2006-01-02 15:04 UTC"))
	t := rigTable(r)
	if len(t.Rows) > 0 {
		b.WriteString("\n" + tableMarkdown(t) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// rigTable is what the nodes are.
// Only nodes with a name: a session that never got as far has none.
func rigTable(r steps.Rig) steps.Table {
	t := steps.Table{Columns: []steps.Column{
		{Name: "node"},
		{Name: "reached"},
		{Name: "system"},
		{Name: "adapter"},
		{Name: "rails"},
	}}
	for i, n := range r.Nodes {
		e := steps.End(i)
		if n.Name == "" {
			continue
		}
		var rails []string
		for _, x := range n.Rails {
			rails = append(rails, x.Dev)
		}
		t.Rows = append(t.Rows, []string{
			n.Name + " (" + e.String() + ")", n.Where,
			strings.Join(filled(n.OS, n.Kernel, n.Arch), ", "), n.Adapter, strings.Join(rails, " "),
		})
	}
	return t
}

// filled leaves out what is empty, so that nothing is joined with a comma too many.
func filled(all ...string) []string {
	var some []string
	for _, s := range all {
		if s != "" {
			some = append(some, s)
		}
	}
	return some
}

// marks are the signs of the verdicts, as on the screen.
var marks = map[steps.Grade]string{
	steps.Pass: "✓", steps.Warn: "!",
	steps.Fail: "✗", steps.Inconclusive: "?", steps.Skipped: "–",
}

// verdictTitle is the line above a verdict's reason.
func (d *Document) verdictTitle(s steps.CellState) string {
	return d.mark(marks[s.Verdict.Grade] + " " + s.Verdict.Grade.String())
}

// verdictText goes through the gate: reasons and evidence quote what a node printed.
func (d *Document) verdictText(s steps.CellState) string {
	var b strings.Builder
	sanitize.Fprintf(&b, "%s  %s\n", d.verdictTitle(s), s.Verdict.Reason)
	digest := s.Verdict.Digest()
	facts := func(all []steps.Evidence) {
		for _, e := range all {
			sanitize.Fprintf(&b, "  %s: %s%s\n", e.Name, valueText(e), bandText(e))
		}
	}
	facts(digest.Decided)
	if t, ok := railTable(digest); ok {
		for l := range strings.Lines(tableText(t)) {
			b.WriteString("  " + l)
		}
	}
	facts(digest.Rest)
	return b.String()
}

// verdictMarkdown has what decided and the figures of each rail; with full also the rest of the evidence.
func (d *Document) verdictMarkdown(s steps.CellState, full bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** %s\n", d.verdictTitle(s), markdownText(s.Verdict.Reason))
	digest := s.Verdict.Digest()
	if !full {
		digest.Rest = nil
	}
	for _, t := range tablesOf(digest) {
		b.WriteString("\n" + tableMarkdown(t))
	}
	return b.String()
}

// verdictColours are legible on white and on black.
var verdictColours = map[steps.Grade]string{
	steps.Pass: "#2e8b57", steps.Warn: "#b8860b", steps.Fail: "#d0342c",
	steps.Inconclusive: "#8a63d2", steps.Skipped: "#808080",
}

// verdictHTML has its colour as a style, too: Jupyter takes neither classes nor a sheet of
// ours.
func (d *Document) verdictHTML(s steps.CellState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<div class=\"verdict %s\"><p><strong style=\"color:%s\">%s</strong> %s</p>",
		strings.ToLower(s.Verdict.Grade.String()),
		verdictColours[s.Verdict.Grade], html.EscapeString(d.verdictTitle(s)), html.EscapeString(s.Verdict.Reason))
	digest := s.Verdict.Digest()
	if len(digest.Decided) > 0 {
		b.WriteString(tableHTML(factTable(digest.Decided)))
	}
	digest.Decided = nil
	if tables := tablesOf(digest); len(tables) > 0 {
		b.WriteString("<details><summary>what it rests on</summary>")
		for _, t := range tables {
			b.WriteString(tableHTML(t))
		}
		b.WriteString("</details>")
	}
	b.WriteString("</div>\n")
	return b.String()
}

// tablesOf are what a verdict rests on: what decided, a table by rail, and the rest.
func tablesOf(d steps.Digest) (all []steps.Table) {
	if len(d.Decided) > 0 {
		all = append(all, factTable(d.Decided))
	}
	if t, ok := railTable(d); ok {
		all = append(all, t)
	}
	if len(d.Rest) > 0 {
		all = append(all, factTable(d.Rest))
	}
	return all
}

func factTable(facts []steps.Evidence) steps.Table {
	t := steps.Table{Columns: []steps.Column{{Name: "what"}, {Name: "value", Number: true}, {Name: "expected"}}}
	for _, e := range facts {
		t.Rows = append(t.Rows, []string{e.Name, valueText(e), strings.TrimPrefix(bandText(e), "; expected ")})
	}
	return t
}

func railTable(d steps.Digest) (t steps.Table, ok bool) {
	return d.Table(valueText, func(e steps.Evidence) string {
		e.Expected = &steps.Expected{Min: e.Expected.Min, Max: e.Expected.Max}
		return strings.TrimPrefix(bandText(e), "; expected ")
	})
}

// valueText is a value with its unit; a dash where there was none to be had, which is not
// 0.
func valueText(e steps.Evidence) string {
	var text string
	switch v := e.Value.(type) {
	case float64:
		text = number(v)
	case int:
		text = steps.Thousands(v)
	case nil:
		text = "–"
	default:
		text = fmt.Sprint(v)
	}
	if e.Unit != "" {
		text += " " + e.Unit
	}
	return text
}

// number writes a value with all digits that say something.
func number(v float64) string {
	if !isFinite(v) {
		return "–"
	}
	// Beyond that a float has no digit for each.
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return steps.Thousands(int(v))
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// bandText is what was expected, and its source: a figure without a source can't be checked.
func bandText(e steps.Evidence) string {
	x := e.Expected
	if x == nil {
		return ""
	}
	var band string
	switch {
	case x.Min != nil && x.Max != nil:
		band = number(*x.Min) + " to " + number(*x.Max)
	case x.Min != nil:
		band = "at least " + number(*x.Min)
	case x.Max != nil:
		band = "at most " + number(*x.Max)
	}
	switch {
	case band == "":
		band = x.From
	case x.From != "":
		band += " (" + x.From + ")"
	}
	return "; expected " + band
}

// mostBlanks is how many bytes of blanks a table is aligned with at most. Where it takes more, as by one long value
// among many short ones, its values stand as they come.
const mostBlanks = 4 << 20

// tableText sets a table in columns.
func tableText(t steps.Table) string {
	t = oneLines(t)
	widths, sum := make([]int, len(t.Columns)), 0
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, r := range t.Rows {
			if i < len(r) {
				widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
			}
		}
		sum += widths[i]
	}
	if sum*len(t.Rows) > mostBlanks {
		clear(widths)
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	row := func(values []string) {
		var line strings.Builder
		for i, c := range t.Columns {
			value := ""
			if i < len(values) {
				value = values[i]
			}
			room := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(value)))
			if i > 0 {
				line.WriteString("  ")
			}
			if c.Number {
				line.WriteString(room + value)
			} else {
				line.WriteString(value + room)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	row(columnNames(t))
	for _, r := range t.Rows {
		row(r)
	}
	if t.Note != "" {
		b.WriteString(t.Note + "\n")
	}
	return b.String()
}

// oneLines is a table in which every value is one line.
func oneLines(t steps.Table) steps.Table {
	t.Title, t.Note = sanitize.Line(t.Title), sanitize.Line(t.Note)
	t.Columns = slices.Clone(t.Columns)
	for i := range t.Columns {
		t.Columns[i].Name = sanitize.Line(t.Columns[i].Name)
	}
	rows := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		for _, value := range r {
			rows[i] = append(rows[i], sanitize.Line(value))
		}
	}
	t.Rows = rows
	return t
}

func columnNames(t steps.Table) []string {
	var all []string
	for _, c := range t.Columns {
		all = append(all, c.Name)
	}
	return all
}

// tableMarkdown has a bar in a cell escaped: it would be a column.
func tableMarkdown(t steps.Table) string {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "**%s**\n\n", markdownText(t.Title))
	}
	row := func(values []string) {
		b.WriteString("|")
		for i := range t.Columns {
			value := ""
			if i < len(values) {
				value = strings.ReplaceAll(markdownText(values[i]), "|", "\\|")
			}
			b.WriteString(" " + value + " |")
		}
		b.WriteString("\n")
	}
	row(columnNames(t))
	b.WriteString("|")
	for _, c := range t.Columns {
		if c.Number {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		row(r)
	}
	if t.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", markdownText(t.Note))
	}
	return b.String()
}

// markdownText is a text in which nothing is Markdown: what a tool printed must not
// become a link or a picture.
func markdownText(s string) string {
	var b strings.Builder
	// In one line, or what follows a line's end could be a heading.
	all := []rune(sanitize.Line(plain(strings.ReplaceAll(s, "\n", " "))))
	for i, r := range all {
		// Inside a word an underscore is none: ib_write_bw stays legible.
		within := r == '_' && i > 0 && i+1 < len(all) && wordy(all[i-1]) && wordy(all[i+1])
		if strings.ContainsRune("\\`*_[]<>~&", r) && !within {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func tableHTML(t steps.Table) string { return rowsHTML(t, nil) }

// rowsHTML gives each row a class; class may be nil.
func rowsHTML(t steps.Table, class func(row int) string) string {
	var b strings.Builder
	b.WriteString("<table>")
	if t.Title != "" {
		fmt.Fprintf(&b, "<caption>%s</caption>", html.EscapeString(t.Title))
	}
	row := func(tag, name string, values []string) {
		b.WriteString("<tr" + attribute("class", name) + ">")
		for i, c := range t.Columns {
			value, style := "", ""
			if i < len(values) {
				value = values[i]
			}
			if c.Number {
				// Jupyter takes neither classes nor a sheet of ours.
				style = ` style="text-align:right"`
			}
			fmt.Fprintf(&b, "<%s%s>%s</%s>", tag, style, html.EscapeString(value), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("<thead>")
	row("th", "", columnNames(t))
	b.WriteString("</thead><tbody>\n")
	for i, r := range t.Rows {
		name := ""
		if class != nil {
			name = class(i)
		}
		row("td", name, r)
	}
	b.WriteString("</tbody></table>\n")
	if t.Note != "" {
		fmt.Fprintf(&b, "<p><small>%s</small></p>\n", html.EscapeString(t.Note))
	}
	return b.String()
}
