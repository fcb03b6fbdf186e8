package pairs

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/sanitize"
)

// Table are the figures as rows of a table, with its header: nodes by name, rails from 1.
func (m *Matrix) Table() [][]string {
	rows := [][]string{{"measure", "from", "to", "rail", "value", "unit", "first", "verdict", "state", "beside", "reason"}}
	m.Places(func(p Place, c *Cell) bool {
		rows = append(rows, []string{
			string(p.What), m.Nodes[p.From].Name, m.Nodes[p.To].Name, strconv.Itoa(p.Rail + 1), number(c.Value), Unit(p.What),
			number(c.First),
			c.Grade.String(), c.State.String(), strconv.Itoa(int(c.Beside)), c.Reason,
		})
		return true
	})
	return rows
}

func number(v float32) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(rounded(v), 'f', -1, 64)
}

// CSV writes a line for each figure.
func (m *Matrix) CSV() ([]byte, error) {
	m.settle()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range m.Table() {
		for i, s := range row {
			row[i] = sanitize.Field(s)
		}
		if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

const style = `:root{color-scheme:light dark;--fore:#1f2328;--dim:#57606a;--back:#fff;--edge:#d0d7de}
@media(prefers-color-scheme:dark){:root{--fore:#e6edf3;--dim:#9198a1;--back:#0d1117;--edge:#3d444d}}
body{margin:0 auto;padding:1.5rem;max-width:80rem;font:16px/1.5 system-ui,sans-serif;color:var(--fore);background:var(--back)}
.simulated{background:#9a3412;color:#fff;padding:.4em .8em;border-radius:.3em;font-weight:700}
.dim{color:var(--dim)}.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:1em 0;font:12px/1.2 ui-monospace,monospace}
th,td{border:1px solid var(--edge);padding:.2em .35em;text-align:right}th{font-weight:400}
td{color:#1f2328}.good{background:#aceebb}.warned{background:#fae17d}.crowd{background:#ffd8a8}.bad{background:#ffcecb;font-weight:700}
.unmeasured{background:#d8ccf5}.self{background:transparent}
`

var classes = [...]string{"unmeasured", "good", "warned", "crowd", "bad"}

// HTML is a page that needs nothing else: the verdict, its causes, and a map for each measure and rail with
// the figures in it.
func (m *Matrix) HTML() []byte {
	j := m.Judge()
	var b strings.Builder
	text := func(s string) string { return html.EscapeString(sanitize.Line(s)) }
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Pairs of "+
		"%s</title>\n<style>%s</style>\n<h1>Pairs of %s</h1>\n",
		text(m.Rig), style, text(m.Rig))
	if m.Simulated {
		b.WriteString("<p class=\"simulated\">SIMULATED</p>\n")
	}
	fmt.Fprintf(&b, "<p><strong>%s</strong> %s</p>\n<p class=\"dim\">%s, %s; %s</p>\n", j.Grade, text(j.Brief),
		m.Began.UTC().Format(time.RFC3339), m.Elapsed.Round(time.Second), text(m.Conditions.String()))
	if len(j.Causes) > 0 {
		b.WriteString("<ul>\n")
		for _, c := range j.Causes {
			fmt.Fprintf(&b, "<li>%s: %s</li>\n", text(registry.Capital(c.Text)), text(c.Evidence))
		}
		b.WriteString("</ul>\n")
	}
	if n := m.fold(); n > 1 {
		fmt.Fprintf(&b, "<p>There are %d nodes: up to %d share a row and a column, the first of them is named, and a "+
			"square has the figure of the worst of its pairs, which its title names. CSV and JSON have every figure "+
			"(railbench pairs show FILE.json --csv FILE.csv).</p>\n", len(m.Nodes), n)
	}
	for _, what := range Measures {
		for rail := range m.Rails {
			m.htmlMap(&b, what, rail, text)
		}
	}
	b.WriteString("<p class=\"dim\">? is not measured, or not judged; x is bad and has no figure. Green is good, yellow " +
		"warned of, orange bad beside others and good alone, red bad, violet not measured.</p>\n</html>\n")
	return []byte(b.String())
}

// htmlMap draws a rail's map. Of more nodes than a map has squares several share a row and a column, as in the
// terminal: a table with a square for each pair of 400 nodes is more than a browser draws and a person reads.
func (m *Matrix) htmlMap(b *strings.Builder, what steps.Measure, rail int, text func(string) string) {
	fmt.Fprintf(b, "<h2>%s: %s</h2>\n<div class=\"scroll\"><table>\n<tr><th></th>", text(m.Rails[rail]),
		text(m.Title(what)))
	e, fold, n := m.Extremes(what), m.fold(), len(m.Nodes)
	for to := 0; to < n; to += fold {
		fmt.Fprintf(b, "<th>%s</th>", text(m.Nodes[to].Name+more(min(fold, n-to))))
	}
	b.WriteString("</tr>\n")
	for from := 0; from < n; from += fold {
		fmt.Fprintf(b, "<tr><th>%s</th>", text(m.Nodes[from].Name+more(min(fold, n-from))))
		for to := 0; to < n; to += fold {
			square, at := m.folded(what, rail, from, to, e)
			if square.Diagonal {
				fmt.Fprintf(b, "<td class=\"self\">%c</td>", square.Glyph)
				continue
			}
			c := m.At(what, rail, at.From, at.To)
			shown, title := number(c.Value), or(c.Reason, c.Grade.String())
			switch {
			case c.Value == 0 && c.State == Bad:
				shown, title = "x", c.Reason
			case c.Value == 0:
				shown, title = "?", c.Reason
			}
			if fold > 1 {
				title = strings.TrimSuffix(m.words(Place{what, rail, at.From, at.To})+": "+title, ": ")
			}
			fmt.Fprintf(b, "<td class=\"%s\" title=\"%s\">%s</td>", classes[c.State], text(title), shown)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table></div>\n")
}

// more says how many nodes share a row or a column with the one that it names.
func more(nodes int) string {
	if nodes > 1 {
		return fmt.Sprintf(" +%d", nodes-1)
	}
	return ""
}
