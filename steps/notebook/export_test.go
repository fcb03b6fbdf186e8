package notebook

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

// exportable is a session in which everything ran.
func exportable(t *testing.T, sim bool) *Document {
	t.Helper()
	all := story(sim)
	d := told(t, all[:len(all)-3]...)
	bw := d.Book.Cells["bw"]
	bw.Running = true
	d.Book.Cells["bw"] = bw
	measured(d)
	bw.Running = false
	d.Book.Cells["bw"] = bw
	return d
}

// tag is an element of a page.
type tag struct {
	name  string
	attrs map[string]string
}

// tags reads a page as XML.
func tags(t *testing.T, page string) (all []tag, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(page))
	dec.Entity = xml.HTMLEntity
	var words strings.Builder
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all, words.String()
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			one := tag{x.Name.Local, map[string]string{}}
			for _, a := range x.Attr {
				one.attrs[a.Name.Local] = a.Value
			}
			all = append(all, one)
		case xml.CharData:
			words.Write(x)
		}
	}
}

func TestHTML(t *testing.T) {
	d := exportable(t, true)
	p := d.Book.Tutorial.Parts
	p[0].Prose += "\n\n![a picture](https://example.org/p.png) and <img src=\"http://example.org/q.png\">" +
		" <script>alert(1)</script>\n\n<iframe src=\"http://example.org\"></iframe>\n"
	b, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	all, text := tags(t, strings.TrimPrefix(page, "<!DOCTYPE html>"))
	count, ids := map[string]int{}, map[string]bool{}
	for _, x := range all {
		count[x.name]++
		if id := x.attrs["id"]; id != "" {
			if ids[id] {
				t.Errorf("two elements are %s", id)
			}
			ids[id] = true
		}
	}
	for _, x := range all {
		for name, value := range x.attrs {
			remote := strings.Contains(value, "//") && name != "xmlns" && !(x.name == "a" && name == "href")
			if name == "src" || name == "srcset" || name == "data" ||
				strings.HasPrefix(name, "on") || remote || strings.Contains(value, "url(") {
				t.Errorf("<%s %s=%q> may load something", x.name, name, value)
			}
			if to, ok := strings.CutPrefix(value, "#"); ok && name == "href" && !ids[to] {
				t.Errorf("%s leads nowhere", value)
			}
		}
	}
	for _, name := range []string{"script", "link", "img", "iframe", "object", "embed", "base", "form"} {
		if count[name] > 0 {
			t.Errorf("the page has %d %s", count[name], name)
		}
	}
	for name, want := range map[string]int{"h1": 1, "h2": 4, "h3": 7, "svg": 4} {
		if count[name] != want {
			t.Errorf("%d %s, want %d", count[name], name, want)
		}
	}
	for _, want := range []string{
		"SIMULATED", "Two rails & <one> bond", `printf '%s\n' "<b>"`,
		"It <works>, *and* is |slow|", "no <such> device", "92.62 Gb/s", "at most 0", "87.97 to 107.91 (one half)",
		"<p class=\"source\">spark-02</p>", "Not run: never.", "prefers-color-scheme:dark", "@media print",
		"Rails while it ran",
	} {
		if !strings.Contains(text, want) && !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "url(") || strings.Contains(text, "@import") {
		t.Error("a style loads something")
	}
	if b, err := exportable(t, false).HTML(); err != nil || strings.Contains(string(b), simulated) {
		t.Errorf("what was measured is SIMULATED: %v", err)
	}
	// An empty session is a page, too.
	if b, err := New("v1", steps.Tutorial{}, began).HTML(); err != nil {
		t.Error(err)
	} else {
		tags(t, strings.TrimPrefix(string(b), "<!DOCTYPE html>"))
	}
}

// TestHTMLInABrowser: the page is dark on a dark system and light on a light one.
func TestHTMLInABrowser(t *testing.T) {
	testform.NeedsFull(t, "needs a browser")
	t.Parallel()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("Chromium is missing: install chromium")
		}
		t.Skip("Chromium is missing: the package is chromium")
	}
	b, err := exportable(t, true).HTML()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, b, 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(name string, flags ...string) image.Image {
		shot := filepath.Join(dir, name+".png")
		args := append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
			"--user-data-dir=" + filepath.Join(dir, name), "--window-size=900,1400", "--screenshot=" + shot,
		}, flags...)
		if out, err := exec.Command(browser, append(args, "file://"+page)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f, err := os.Open(shot)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		img, err := png.Decode(f)
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	for name, c := range map[string]struct {
		flags    []string
		from, to uint32 // brightness of the ground, of 255
	}{"light": {nil, 240, 255}, "dark": {[]string{"--blink-settings=preferredColorScheme=0"}, 0, 40}} {
		img := look(name, c.flags...)
		ground, other := map[uint32]int{}, 0
		for y := 0; y < img.Bounds().Dy(); y += 3 {
			for x := 0; x < img.Bounds().Dx(); x += 3 {
				r, g, b, _ := img.At(x, y).RGBA()
				grey := (r + g + b) / 3 >> 8
				ground[grey]++
				if grey < c.from || grey > c.to {
					other++
				}
			}
		}
		most := uint32(0)
		for grey, n := range ground {
			if n > ground[most] {
				most = grey
			}
		}
		if most < c.from || most > c.to {
			t.Errorf("%s: the ground is %d of 255", name, most)
		}
		if other < 1000 {
			t.Errorf("%s: the page is empty", name)
		}
	}
}

// A figure of this run and the same one of a file look alike, and as on the screen.
func TestValuesHaveThousands(t *testing.T) {
	for _, v := range []any{500_000, 500_000.0} {
		if got := valueText(steps.Evidence{Value: v, Unit: "messages"}); got != "500,000 messages" {
			t.Errorf("%T: %s", v, got)
		}
	}
}

// Where colours are not seen, the dashes say which limit is which.
func TestLimitsOfAChartDiffer(t *testing.T) {
	c := steps.Chart{
		Title: "Rates", Unit: "Gb/s",
		Limits: []steps.Limit{{Name: "of nobody"}, {Name: "PCIe", Value: 112}, {Name: "link", Value: 200}},
	}
	c.Series = []steps.Series{{Points: []steps.Point{{Label: "rail 1", X: 1, Y: 92}, {Label: "rail 2", X: 2, Y: 93}}}}
	for _, c.Shape = range []steps.Shape{steps.Bars, steps.Lines} {
		svg := chartSVG(c, true)
		for _, class := range []string{`class="limit l0"`, `class="limit l1"`} {
			if n := strings.Count(svg, class); n != 2 { // in the chart, and in its key
				t.Errorf("%v: %d lines of %s", c.Shape, n, class)
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	d := exportable(t, true)
	d.Apply(steps.CellStarted{Run: 9, Cell: "hosts", At: began})
	d.Apply(steps.CellPrinted{Run: 9, Cell: "hosts", Lines: []steps.OutputLine{
		out("spark-02", "", "```"), out("spark-02", "", "# no heading"), out("spark-02", "", "\x1b[31mred\x1b[0m"),
	}})
	d.Apply(steps.CellEnded{Run: 9, Cell: "hosts", Verdict: verdict()})
	text := string(d.Markdown())
	for _, want := range []string{
		"# Two rails \\& \\<one\\> bond SIMULATED\n", "\n### Bandwidth (bw)\n",
		"````text\nspark-02\n  ```\n  # no heading\n  red\n",
		"**! WARN SIMULATED** It \\<works\\>, \\*and\\* is |slow|: see ib_write_bw.\n",
		"| 1 \\| \\<a\\> | 92.6 |\n", "| rail | Gb/s |\n|---|---:|\n", "**Rates SIMULATED**",
		"Bars SIMULATED (Gb/s)\n  rail <1> ██████", "limit: 200 Gb/s link",
		"Not run: never.", "And so on.", "[2], 2026-03-04 05:06:10 UTC, 6s, timed out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("it has escape sequences")
	}
}

func TestCSV(t *testing.T) {
	d := exportable(t, true)
	bw := d.Book.Cells["bw"]
	bw.Verdict.Figures = []steps.Figure{
		{
			What: steps.Latency, Value: 3.25, Unit: "us", Rails: []int{1, 3}, MessageBytes: 4096, MTU: 1024,
			Memory: "VRAM", Streams: 2, P95: 4, P99: 5.5,
		},
		{What: steps.BondMode, Words: "=balance-xor"},
	}
	d.Book.Cells["bw"] = bw
	b, err := d.CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	figures := []string{
		"latency;3.25;us;;;;figure;1 3;4096;1024;VRAM;2;4;5.5;",
		"bond-mode;'=balance-xor;;;;;figure;;;;;;;;", // no formula for a spreadsheet
	}
	for _, r := range rows[1:] {
		if r[14] == "figure" {
			if got := strings.Join(r[8:], ";"); len(figures) == 0 || got != figures[0] {
				t.Fatalf("the figure's row is %s, not one of %q", got, figures)
			}
			figures = figures[1:]
		}
		if r[1] != "true" {
			t.Errorf("%q is not simulated", r)
		}
		if r[8] == "rail 1 bandwidth" {
			found = true
			if got := strings.Join(r,
				";"); got != "lab;true;look;bw;2;2026-03-04T05:06:10Z;6.000;WARN;rail"+
				" 1 bandwidth;92.62;Gb/s;87.97;107.91;one half;evidence;;;;;;;;" {
				t.Errorf("the row is %s", got)
			}
		}
	}
	if !found || len(figures) > 0 || len(rows) != 1+1+4+1+1+2 {
		t.Errorf("%d rows: %s", len(rows), b)
	}
}

// forged is what a user may have written into a session: it would control a terminal, begin a line of its own, be
// calculated by a spreadsheet, or be a picture that loads.
var forged = []string{
	"a\x1b]0;t\x07b", "a\u009b31mb", "a\u202eb", "a\nFORGED b", "a\u2028b",
	"a\x7fb", "![x](http://192.0.2.1/x.png)", "<img src=x>",
	"=HYPERLINK(1)", "+1+cmd", "-2+3", "@SUM(1)", "\t=1", "\r=1",
	"a;=1", "a; -2+cmd", "a;\"=1\"", " =1", "\u3000=1", "＝1", "a\u3164b", "[x](javascript:x)", "| a | b |", "~~~",
	"</script><script>",
}

// TestForgedSession: whatever stands in a session, its exports show it and do nothing else.
func TestForgedSession(t *testing.T) {
	for _, text := range forged {
		d := exportable(t, false)
		d.Railbench, d.Book.Tutorial.Title, d.Book.Rig.Name = text, text, text
		for e := range d.Book.Rig.Nodes {
			n := &d.Book.Rig.Nodes[e]
			n.Name, n.Where, n.OS, n.Kernel, n.Arch, n.Adapter = text, text, text, text, text, text
		}
		name := func(cells []steps.Cell) {
			for i := range cells {
				cells[i].Title = text
				for j := range cells[i].Roles {
					cells[i].Roles[j].Name = text
				}
			}
		}
		for i := range d.Book.Tutorial.Parts {
			d.Book.Tutorial.Parts[i].Title = text
			name(d.Book.Tutorial.Parts[i].Cells)
		}
		for id, c := range d.ran {
			cells := []steps.Cell{c}
			name(cells)
			d.ran[id] = cells[0]
		}
		for id, s := range d.Book.Cells {
			s.Params = map[string]string{"P": text, text: "1"}
			s.Verdict.Reason, s.Log = text, text
			s.Verdict.Evidence = []steps.Evidence{{
				Name: text, Value: text,
				Unit: text, Expected: &steps.Expected{From: text},
			}}
			s.Verdict.Tables = []steps.Table{{
				Title:   text,
				Columns: []steps.Column{{Name: text}}, Rows: [][]string{{text}}, Note: text,
			}}
			s.Verdict.Charts = []steps.Chart{{
				Title: text, Unit: text,
				Series: []steps.Series{{Name: text, Points: []steps.Point{{Label: text, Y: 1}}}},
			}}
			d.Book.Cells[id] = s
		}
		page, err := d.HTML()
		if err != nil {
			t.Fatal(err)
		}
		table, err := d.CSV()
		if err != nil {
			t.Fatal(err)
		}
		file, err := d.Encode(began)
		if err != nil {
			t.Fatal(err)
		}
		c := Compare(d, d, 5)
		c.A.Name, c.B.Name = text, text
		for form, out := range map[string]string{
			"Markdown": string(d.Markdown()), "HTML": string(page), "CSV": string(table), "ipynb": string(file),
			"a comparison": c.Text(), "a comparison as HTML": string(c.HTML()),
		} {
			if i := strings.IndexFunc(out, runner.Hidden); i >= 0 {
				t.Errorf("%q in %s: %q", text, form, out[i:min(len(out), i+20)])
			}
			if form != "ipynb" && !strings.Contains(form, "HTML") && strings.Contains(out, "\nFORGED") {
				t.Errorf("%q begins a line of %s", text, form)
			}
		}
		if strings.Contains(text, "http") && strings.Contains(outsideFences(string(d.Markdown())), text) {
			t.Errorf("%q is Markdown of the Markdown", text)
		}
		tags(t, string(page)) // it is well-formed still
		rows, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			for _, value := range row {
				if _, err := strconv.ParseFloat(value, 64); err != nil &&
					value != "" && strings.ContainsRune("=+-@\t\r", rune(value[0])) {
					t.Errorf("a spreadsheet calculates %q", value)
				}
				// One that parts columns at semicolons, takes blanks away and full widths for halves.
				for column := range strings.SplitSeq(value, ";") {
					column = strings.TrimLeft(column, " \u00a0\"\u3000")
					if _, err := strconv.ParseFloat(value, 64); err != nil && column != "" &&
						strings.ContainsRune("=+-@＝＋－＠", []rune(column)[0]) {
						t.Errorf("a spreadsheet somewhere calculates %q of %q", column, value)
					}
				}
			}
		}
	}
}

// outsideFences is Markdown without its blocks of code.
func outsideFences(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// What two nodes printed at the same time is read node by node, in the rig's order, in a page and
// in a text; railbench's own lines stay between what they stand between.
func TestExportsKeepNodesApart(t *testing.T) {
	for name, wide := range map[string]string{"side by side": "", "below each other": strings.Repeat("w", 80)} {
		d := exportable(t, true)
		d.Apply(steps.CellStarted{Run: 9, Cell: "hosts", At: began})
		d.Apply(steps.CellPrinted{Run: 9, Cell: "hosts", Lines: []steps.OutputLine{
			{Kind: steps.Note, Text: "rail 1"},
			out("spark-01", "", "one, 1"), out("spark-02", "", "two, 1"), out("spark-01", "", "one, 2"+wide),
			out("spark-02", "", "two, 2"),
			{Kind: steps.Note, Text: "rail 2"},
			out("spark-02", "", "two, 3"), out("spark-01", "", "one, 3"),
		}})
		d.Apply(steps.CellEnded{Run: 9, Cell: "hosts", Verdict: verdict()})
		want := "· rail 1\nspark-02\n  two, 1\n  two, 2\nspark-01\n  one, 1\n  one, 2" + wide +
			"\n· rail 2\nspark-02\n  two, 3\nspark-01\n  one, 3\n"
		if text := string(d.Markdown()); !strings.Contains(text, want) {
			t.Errorf("%s: there is no\n%s\nin\n%s", name, want, text)
		}
		page, err := d.HTML()
		if err != nil {
			t.Fatal(err)
		}
		columns := 2 // the sections
		if wide != "" {
			columns = 1
		}
		_, cell, _ := strings.Cut(string(page), `id="cell-hosts"`)
		cell, _, _ = strings.Cut(cell, "</section>")
		if got := strings.Count(cell, `<div class="nodes">`); got != columns {
			t.Errorf("%s: %d sections have columns, not %d:\n%s", name, got, columns, cell)
		}
		all, _ := tags(t, strings.TrimPrefix(string(page), "<!DOCTYPE html>"))
		if len(all) == 0 {
			t.Error("the page is empty")
		}
		order := []string{"rail 1", "two, 1", "two, 2", "one, 1", "one, 2", "rail 2", "two, 3", "one, 3"}
		for _, next := range order {
			var ok bool
			if _, cell, ok = strings.Cut(cell, next); !ok {
				t.Errorf("%s: %q is not where it should be", name, next)
			}
		}
	}
}

// TestVerdictColours: each verdict has a colour that a browser knows.
func TestVerdictColours(t *testing.T) {
	for _, g := range []steps.Grade{steps.Pass, steps.Warn, steps.Fail, steps.Inconclusive, steps.Skipped} {
		if c := verdictColours[g]; !regexp.MustCompile(`^#[0-9a-f]{6}$`).MatchString(c) {
			t.Errorf("%s has the colour %q", g, c)
		}
	}
}
