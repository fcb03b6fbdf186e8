package notebook

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// pageStyle is light or dark as the reader's system is, and black on white on paper.
const pageStyle = `:root{color-scheme:light dark;--fore:#1f2328;--dim:#57606a;--back:#ffffff;--soft:#f6f8fa;--edge:#d0d7de}
@media(prefers-color-scheme:dark){:root{--fore:#e6edf3;--dim:#9198a1;--back:#0d1117;--soft:#161b22;--edge:#3d444d}}
body{margin:0 auto;padding:1.5rem;max-width:62rem;font:16px/1.5 system-ui,sans-serif;color:var(--fore);background:var(--back)}
h1,h2,h3{line-height:1.25}h2{margin-top:2.5em;border-bottom:1px solid var(--edge)}
a{color:inherit}
.simulated{background:#9a3412;color:#fff;padding:.4em .8em;border-radius:.3em;font-weight:700}
sup.mark a{color:#0969da;text-decoration:none;padding:0 .2em}:target{background:var(--soft);outline:.3em solid var(--soft)}
.dim,figcaption,small{color:var(--dim)}
pre{background:var(--soft);border:1px solid var(--edge);border-radius:.3em;padding:.7em;font:13px/1.4 ui-monospace,monospace;overflow:auto;max-height:32em}
pre.script{border-left:3px solid #0969da;max-height:none}
p.source{margin:.6em 0 -.5em;font-weight:600;font-size:13px;color:var(--dim)}
.nodes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:0 .8em}.nodes>div{min-width:0}
.counts{font-size:1.25rem}.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:0 .8em}
pre .err{color:#cf222e}pre .note{color:var(--dim)}
table{border-collapse:collapse;margin:1em 0;font-size:14px;display:block;overflow-x:auto}
td:has(>a){white-space:nowrap}
tr.worse td{background:#d0342c22}tr.better td{background:#2e8b5722}tr.cell td{font-weight:600}
caption{text-align:left;font-weight:600;padding:.3em 0}
th,td{border:1px solid var(--edge);padding:.25em .6em;text-align:left;vertical-align:top}th{background:var(--soft)}
.verdict{border-left:4px solid var(--edge);padding:.1em .9em;margin:1em 0}
.verdict.pass{border-color:#2e8b57}.verdict.warn{border-color:#b8860b}.verdict.fail{border-color:#d0342c}.verdict.inconclusive{border-color:#8a63d2}
svg.chart{max-width:100%;height:auto;display:block;margin:1em 0;border:1px solid var(--edge)}
.bold{font-weight:700}.faint{opacity:.65}.italic{font-style:italic}.underline{text-decoration:underline}
.f0{color:#57606a}.f1{color:#cf222e}.f2{color:#1a7f37}.f3{color:#9a6700}.f4{color:#0969da}.f5{color:#8250df}.f6{color:#0e7490}.f7{color:#6e7781}
.f8{color:#6e7781}.f9{color:#e5534b}.f10{color:#2da44e}.f11{color:#bf8700}.f12{color:#218bff}.f13{color:#a475f9}.f14{color:#1599b0}.f15{color:inherit}
.b0{background:#24292f;color:#fff}.b1{background:#ffcecb}.b2{background:#aceebb}.b3{background:#fae17d}.b4{background:#b6e3ff}.b5{background:#ecd8ff}.b6{background:#b3f0ff}.b7{background:#d0d7de}
.b8{background:#57606a;color:#fff}.b9{background:#ffcecb}.b10{background:#aceebb}.b11{background:#fae17d}.b12{background:#b6e3ff}.b13{background:#ecd8ff}.b14{background:#b3f0ff}.b15{background:#f6f8fa}
.b1,.b2,.b3,.b4,.b5,.b6,.b7,.b9,.b10,.b11,.b12,.b13,.b14,.b15{color:#1f2328}
@media print{:root{--fore:#000;--dim:#444;--back:#fff;--soft:#fff;--edge:#999}body{max-width:none;padding:0;font-size:11pt}
pre{max-height:none;white-space:pre-wrap;overflow-wrap:anywhere}section.cell>h3,.verdict,svg.chart,tr{break-inside:avoid}h2,h3{break-after:avoid}table{display:table}}
`

// paperStyle undoes the charts' dark colours on paper.
const paperStyle = `@media print{.chart text,.chart .dim{fill:#000}.chart .ground{fill:#fff}}`

// HTML is what ran, as one page that needs nothing but itself. It is well-formed XML,
// too, so that programs can read it.
func (d *Document) HTML() ([]byte, error) {
	var b strings.Builder
	title := d.Book.Tutorial.Title
	if title == "" {
		title = "railbench"
	}
	b.WriteString(pageHead(d.mark(title), d.Railbench, d.Book.Rig.Simulated))
	fmt.Fprintf(&b, "<p>A session of railbench %s on the rig %s, begun %s.</p>\n", html.EscapeString(d.Railbench),
		html.EscapeString(d.Book.Rig.Name), d.Created.UTC().Format("2006-01-02 15:04 UTC"))
	if t := rigTable(d.Book.Rig); len(t.Rows) > 0 {
		b.WriteString(tableHTML(t))
	}
	b.WriteString("</header>\n<main>\n" + d.overviewHTML())
	all, _ := d.chapters()
	n := d.notes()
	for _, p := range all {
		fmt.Fprintf(&b, "<section class=\"part\">\n<h2>%s</h2>\n", html.EscapeString(p.part.Title))
		if err := prose(&b, n.marked(p.part.Prose, p.part.Title, noteRunes)); err != nil {
			return nil, err
		}
		for _, c := range p.cells {
			where := noteWhere(p.part, c)
			c.Prose, c.Tail = n.marked(c.Prose, where, noteRunes), n.marked(c.Tail, where, noteRunes)
			if err := d.cellHTML(&b, c); err != nil {
				return nil, err
			}
		}
		b.WriteString("</section>\n")
	}
	if err := n.html(&b); err != nil {
		return nil, err
	}
	b.WriteString(pageEnd)
	return []byte(sanitize.Text(b.String())), nil
}

// pageHead begins a page, up to its heading. It may load nothing, and says so to the
// browser.
func pageHead(title, version string, sim bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="generator" content="railbench %s"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>%s</title>
<style>
%s%s
%s
</style>
</head>
<body>
<header>
<h1>%s</h1>
`, html.EscapeString(version), html.EscapeString(title), pageStyle, chartStyle, paperStyle, html.EscapeString(title))
	if sim {
		b.WriteString("<p class=\"simulated\">SIMULATED: nothing here was measured on hardware.</p>\n")
	}
	return b.String()
}

const pageEnd = "</main>\n</body>\n</html>\n"

// overviewHTML is the table of the verdicts, whose cells lead to theirs.
// The table is made first, since its cells are escaped there.
func (d *Document) overviewHTML() string {
	t := d.overview()
	text := d.countsHTML() + tableHTML(t)
	for g, colour := range verdictColours {
		text = strings.ReplaceAll(text, "<td>"+g.String()+"</td>",
			fmt.Sprintf(`<td><strong style="color:%s">%s %s</strong></td>`, colour, marks[g], g))
	}
	for _, r := range t.Rows {
		id := html.EscapeString(r[0])
		text = strings.Replace(text, "<tr><td>"+id+"</td>", `<tr><td><a href="#`+anchor(r[0])+`">`+id+"</a></td>", 1)
	}
	return text
}

// countsHTML says how many cells came to which verdict, the worst first.
func (d *Document) countsHTML() string {
	counts := map[steps.Grade]int{}
	for _, c := range d.Ran() {
		if s := d.Book.Cells[c.ID]; !s.Running {
			counts[s.Verdict.Grade]++
		}
	}
	var all []string
	for _, g := range []steps.Grade{steps.Fail, steps.Inconclusive, steps.Warn, steps.Pass, steps.Skipped} {
		if n := counts[g]; n > 0 {
			all = append(all, fmt.Sprintf(`<strong style="color:%s">%s %d %s</strong>`, verdictColours[g], marks[g], n, g))
		}
	}
	if all == nil {
		return ""
	}
	return "<p class=\"counts\">" + strings.Join(all, " · ") + "</p>\n"
}

// anchor is a cell's place in the page.
func anchor(id string) string {
	return "cell-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \"'<>&#%", r) || r < ' ' {
			return '-'
		}
		return r
	}, id)
}

// cellHTML escapes everything but the prose, which has its own way out.
// The order is the screen's. Charts have no style in themselves: the page's head has it once.
func (d *Document) cellHTML(b *strings.Builder, c steps.Cell) error {
	if c.Note() {
		return prose(b, c.Prose)
	}
	s := d.Book.Cells[c.ID]
	fmt.Fprintf(b, "<section class=\"cell\" id=\"%s\">\n<h3>%s <small>%s</small></h3>\n",
		anchor(c.ID), html.EscapeString(c.Title), html.EscapeString(c.ID))
	if err := prose(b, c.Prose); err != nil {
		return err
	}
	fmt.Fprintf(b, "<pre class=\"script\">%s</pre>\n<p class=\"dim\">%s</p>\n",
		html.EscapeString(d.source(c)), html.EscapeString(ran(s, sanitize.Line)))
	b.WriteString(outputHTML(c, s))
	if s.Verdict.Grade != steps.NotRun {
		b.WriteString(d.verdictHTML(s))
	}
	for _, t := range s.Verdict.Tables {
		t.Title = d.mark(t.Title)
		b.WriteString(tableHTML(t))
	}
	if len(s.Verdict.Charts) > 0 {
		b.WriteString("<div class=\"charts\">\n")
		for _, x := range s.Verdict.Charts {
			x.Title = d.mark(x.Title)
			b.WriteString(chartSVG(x, false))
		}
		b.WriteString("</div>\n")
	}
	switch g := d.samples[c.ID]; {
	case !g.moved():
	case g.curve():
		b.WriteString(gaugesSVG(d.mark(gaugesTitle), g, false))
	default:
		b.WriteString(tableHTML(g.runs(d.mark(gaugesTitle))))
	}
	if err := prose(b, c.Tail); err != nil {
		return err
	}
	b.WriteString("</section>\n")
	return nil
}

// prose writes Markdown as HTML. HTML in it is left out, and a picture becomes a link
// to it: the page loads nothing.
func prose(b *strings.Builder, markdown string) error {
	if strings.TrimSpace(markdown) == "" {
		return nil
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithRendererOptions(gmhtml.WithXHTML()),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(noPictures{}, 100))))
	var out bytes.Buffer
	if err := md.Convert([]byte(sanitize.Markdown(markdown)), &out); err != nil {
		return fmt.Errorf("prose as HTML: %w", err)
	}
	b.WriteString(linked(out.String()))
	return nil
}

// noPictures has a page load nothing: a picture's text and address stay, as a link.
type noPictures struct{}

// Transform puts a link in each picture's place.
func (noPictures) Transform(doc *ast.Document, _ gmtext.Reader, _ parser.Context) {
	// First all of them: a tree that changes can't be walked.
	var found []*ast.Image
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below gives no error
		if i, ok := n.(*ast.Image); ok && entering {
			found = append(found, i)
		}
		return ast.WalkContinue, nil
	})
	for _, i := range found {
		link := ast.NewLink()
		link.Destination, link.Title = i.Destination, i.Title
		for c := i.FirstChild(); c != nil; c = i.FirstChild() {
			link.AppendChild(link, c)
		}
		i.Parent().ReplaceChild(i.Parent(), i, link)
	}
}
