package main

import (
	"bytes"
	gocmp "cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/plain"
	"github.com/railbench/railbench/tui/screen"
)

const readmePath = "../../README.md"

// A block is what a page has between <!-- NAME --> and <!-- /NAME -->: it comes from the
// program.
type block struct {
	name string
	make func(*testing.T) string
}

// blocks are the lists and pictures of README and of the pages, by file.
func blocks() map[string][]block {
	all := map[string][]block{
		docPath("checklist"): {{"check picture", checkPicture}, {"checks", checkTable}},
		docPath("commands"): {
			{"commands", commandTable}, {"rig flags", rigFlagTable}, {"flags", flagTables},
		},
		docPath("parts"):           {{"cells", cellTable}},
		docPath("runbooks"):        {{"attributes", attributeTable}, {"names", nameTable}},
		docPath("parameters"):      {{"parameters", parameterTable}},
		docPath("parse"):           {{"tools", toolTable}},
		docPath("troubleshooting"): {{"knowledge", knowledgeChapters}},
		docPath("limits"):          {{"limits", limitTable}},
		docPath("simulated"):       {{"faults", faultTable}},
		docPath("json"):            {{"codes", codeTable}},
		docPath("keys"):            nil,
	}
	for _, t := range tui.KeyTables() {
		rows := func(*testing.T) string { return keyTable(t) }
		all[docPath("keys")] = append(all[docPath("keys")], block{t.Screen, rows})
	}
	return all
}

// codeTable are the codes of steps/code.go with their meanings, by the groups in which they stand there.
func codeTable(t *testing.T) string {
	var b strings.Builder
	for _, g := range codeGroups(t) {
		fmt.Fprintf(&b, "\n%s\n\n| code | meaning |\n|---|---|\n", g.title)
		for _, c := range g.codes {
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.value, strings.TrimSuffix(c.means, "."))
		}
	}
	return b.String() + "\n"
}

func docPath(name string) string { return "../../assets/docs/" + name + ".md" }

// docFiles are README and all pages.
func docFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(docPath("*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range append(paths, readmePath) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(b)
	}
	return all
}

// TestDocs holds README and the pages to the program: what is in their blocks comes from it, and go test
// ./cmd/railbench -run Docs -update writes them again.
func TestDocs(t *testing.T) {
	t.Parallel()
	files := docFiles(t)
	for path, list := range blocks() {
		text := files[path]
		for _, b := range list {
			before, has, after := cutBlock(t, path, text, b.name)
			want := b.make(t)
			if *update {
				text = before + want + after
				continue
			}
			if d := cmp.Diff(want, has); d != "" {
				t.Errorf("%s: the %s are not the program's (go test ./cmd/railbench -run Docs -update): %s", path, b.name, d)
			}
		}
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDocsDifferences: a page has all that the source documents say otherwise, with the
// numbers of the notebook's margin.
func TestDocsDifferences(t *testing.T) {
	t.Parallel()
	carried, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	path := docPath("differences")
	want := carried.DifferencesPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, docFiles(t)[path]); d != "" {
		t.Errorf("%s is not the tutorial's (go test ./cmd/railbench -run Docs -update): %s", path, d)
	}
}

// A newcomer reads README to its end.
func TestDocsReadmeIsShort(t *testing.T) {
	t.Parallel()
	const most = 130
	if n := strings.Count(docFiles(t)[readmePath], "\n"); n > most {
		t.Errorf("README has %d lines, %d at most: what is a list belongs to assets/docs", n, most)
	}
}

// TestDocsExamples tries what README and the pages show.
func TestDocsExamples(t *testing.T) {
	t.Parallel()
	for path, text := range docFiles(t) {
		if path != docPath("troubleshooting") { // its commands are of all tools; TestKnowledge reads railbench's
			flagsExist(t, path, text)
		}
		commandsExist(t, path, text)
		for _, src := range fences(text, "toml") {
			if _, err := rigfile.Parse(path, []byte(src)); err != nil {
				t.Error(err)
			}
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	_, src, _ := strings.Cut(docFiles(t)[docPath("runbooks")], "````markdown\n")
	src, _, ok := strings.Cut(src, "````")
	if !ok {
		t.Fatal("no example of a runbook")
	}
	problems, err := checkRunbooks([]runbook.Document{runbook.Read("runbooks.md", []byte(src))})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestDocsIndex: the index names every page once, and no other.
func TestDocsIndex(t *testing.T) {
	t.Parallel()
	named := map[string]int{}
	for _, p := range pages() {
		named[docPath(p.Name)]++
		if p.About == "" || !strings.HasPrefix(p.Text, "# ") {
			t.Errorf("the page %s has no title, or the index doesn't say what is in it", p.Name)
		}
	}
	for path := range docFiles(t) {
		if path == readmePath || path == docPath(docsIndex) {
			continue
		}
		if named[path] != 1 {
			t.Errorf("the index names %s %d times", path, named[path])
		}
		delete(named, path)
	}
	if len(named) > 0 {
		t.Errorf("the index names pages that are not there: %v", named)
	}
}

// TestDocsFitATerminal: nothing that a terminal of 80 columns shows is wider, no line of
// an example is broken, and no table has a cell with nothing in it.
func TestDocsFitATerminal(t *testing.T) {
	t.Parallel()
	for path, text := range docFiles(t) {
		if path == readmePath {
			continue // GitHub's
		}
		for line := range strings.Lines(plain.Page(text, 0)) {
			if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > plain.PageWidth {
				t.Errorf("%s: %d columns: %s", path, w, line)
			}
		}
		fenced, opened := false, ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			// A block of four ticks has blocks of three in it.
			if ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]; len(ticks) >= 3 && (!fenced || ticks == opened) {
				fenced, opened = !fenced, ticks
			}
			if w := ansi.StringWidth(line); fenced && w > plain.PageWidth-4 {
				t.Errorf("%s: a line of an example is broken at %d columns: %s", path, plain.PageWidth, line)
			}
			if !fenced && regexp.MustCompile(`\| *\|`).MatchString(strings.ReplaceAll(line, `\|`, "")) {
				t.Errorf("%s: an empty cell: %s", path, line)
			}
		}
	}
}

// TestDocsJSON: what the page shows has the keys that the commands print, and no others.
func TestDocsJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runbookFile, a, b := filepath.Join(dir, "mine.md"), filepath.Join(dir, "a.ipynb"), filepath.Join(dir, "b.ipynb")
	wrong := filepath.Join(dir, "wrong.md")
	if err := os.WriteFile(wrong, []byte("# Wrong {#wrong}\n\n```sh cell=missing\ntrue\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		var out, errs bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errs); code == exitUsage {
			t.Fatalf("%v: %s", args, errs.String())
		}
		return out.Bytes()
	}
	run("new", runbookFile)
	run("run", "--rig", "sim", "--speed", "50", "ping", "--session", a)
	run("run", "--rig", "sim", "--speed", "50", "ping", "gids", "--session", b)
	printed := map[string][]byte{
		"run":           run("run", "--rig", "sim", "--speed", "50", "--json", "ib-write-bw"),
		"doctor":        run("doctor", "--rig", "sim", "--speed", "50", "--fault", "mtu-mismatch", "--json", "mtu-equal"),
		"doctor --list": run("doctor", "--list", "--json"),
		"list":          run("list", "--json"),
		"list --params": run("list", "--params", "--json"),
		"check":         run("check", "--json", wrong),
		"compare":       run("compare", "--json", a, b),
	}
	example := regexp.MustCompile("(?s)<!-- json: ([^>]*) -->\n```json\n(.*?)```")
	for _, m := range example.FindAllStringSubmatch(docFiles(t)[docPath("json")], -1) {
		name, shown := m[1], m[2]
		got, ok := printed[name]
		if !ok {
			t.Errorf("nothing is printed for the example %q", name)
			continue
		}
		delete(printed, name)
		want, has := keysOf(t, got), keysOf(t, []byte(shown))
		for k := range has {
			if !want[k] {
				t.Errorf("%s: the page has %s, which isn't printed", name, k)
			}
		}
		for k := range want {
			// An object that the example cuts short is shown whole elsewhere.
			if !has[k] && !(name == "doctor" && strings.HasPrefix(k, ".rig.")) {
				t.Errorf("%s: %s is printed, and the page doesn't have it", name, k)
			}
		}
	}
	for name := range printed {
		t.Errorf("the page has no example of %s", name)
	}
}

// keysOf are the paths of an object's keys; all elements of a list are one.
func keysOf(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	all := map[string]bool{}
	var visit func(path string, v any)
	visit = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				all[path+"."+k] = true
				visit(path+"."+k, inner)
			}
		case []any:
			for _, inner := range v {
				visit(path, inner)
			}
		}
	}
	visit("", v)
	return all
}

var chapter = regexp.MustCompile(`(?m)^## (.+)$`)

// TestDocsTroubleshooting: each chapter has its four paragraphs, a symptom leads to the
// checks that confirm it, and every check is in the page.
func TestDocsTroubleshooting(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	text := docFiles(t)[docPath("troubleshooting")]
	heads := chapter.FindAllStringSubmatchIndex(text, -1)
	named := map[string]bool{}
	for i, h := range heads[:len(heads)-1] { // the last one is about undo
		title, body := text[h[2]:h[3]], text[h[1]:heads[i+1][0]]
		paragraphs := map[string]string{}
		for p := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
			if label, rest, ok := strings.Cut(strings.TrimPrefix(p, "**"), ":**"); ok {
				paragraphs[label] = strings.ReplaceAll(rest, "\n", " ")
			}
		}
		for _, label := range []string{"Symptom", "Cause", "Confirm", "Fix"} {
			if strings.TrimSpace(paragraphs[label]) == "" {
				t.Errorf("%s: no %s", title, label)
			}
		}
		confirms := map[string]bool{}
		doctor := regexp.MustCompile("`railbench doctor ([^`]*)`")
		for _, command := range doctor.FindAllStringSubmatch(paragraphs["Confirm"]+paragraphs["Fix"], -1) {
			for id := range strings.FieldsSeq(command[1]) {
				confirms[id], named[id] = true, true
			}
		}
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(paragraphs["Symptom"], -1) {
			if !slices.ContainsFunc(tut.Symptom(m[1]), func(c steps.Cell) bool { return confirms[c.ID] }) {
				t.Errorf("%s: the symptom %q leads to none of the checks that confirm it", title, m[1])
			}
		}
	}
	for _, c := range tut.Checks() {
		if !named[c.ID] {
			t.Errorf("the check %s is in no chapter", c.ID)
		}
		delete(named, c.ID)
	}
	for id := range named {
		t.Errorf("there is no check %s", id)
	}
}

// TestDocsCoverage: each document has all its headings, and each heading a place that is there, or a
// reason.
func TestDocsCoverage(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, p := range slices.Concat(tut.Parts, tut.Checklist) {
		ids[p.ID] = true
		for _, c := range p.Cells {
			ids[c.ID] = true
		}
	}
	text := docFiles(t)[docPath("coverage")]
	row := regexp.MustCompile(`(?m)^\| (.+) \| (.+) \|$`)
	code := regexp.MustCompile("`([^`]*)`")
	headings := map[string]int{}
	at := chapter.FindAllStringSubmatchIndex(text, -1)
	for i, h := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		for _, m := range row.FindAllStringSubmatch(text[h[1]:end], -1) {
			if m[1] == "heading" || strings.HasPrefix(m[1], "-") {
				continue
			}
			headings[text[h[2]:h[3]]]++
			places := code.FindAllStringSubmatch(m[2], -1)
			for _, place := range places {
				if !ids[place[1]] {
					t.Errorf("%s: there is no part, cell or check %s", m[1], place[1])
				}
			}
			for _, page := range regexp.MustCompile(`\]\((\w+)\.md\)`).FindAllStringSubmatch(m[2], -1) {
				if _, ok := docFiles(t)[docPath(page[1])]; !ok {
					t.Errorf("%s: there is no page %s", m[1], page[1])
				}
			}
			why, left := strings.CutPrefix(m[2], "left out: ")
			if len(places) == 0 && !strings.Contains(m[2], ".md)") && (!left || len(why) < 20) {
				t.Errorf("%s: neither a place nor a reason: %s", m[1], m[2])
			}
		}
	}
	want := map[string]int{
		"NIXL Single-Rail vs Dual-Rail Benchmarks":                    16,
		"NIXL Multi-Rail Benchmarks: Getting Both 100G Links Working": 12,
		"RoCE Link Aggregation: Bonding vs NIXL":                      41,
		"DGX Spark Dual 100G Links: TCP Bonding vs RDMA":              37,
		"COTS RDMA Data-Transfer":                                     57,
	}
	if d := cmp.Diff(want, headings); d != "" {
		t.Errorf("the documents' headings: %s", d)
	}
}

// TestDocsFacts: what a comment cites is there, and every fact is cited by a user.
func TestDocsFacts(t *testing.T) {
	t.Parallel()
	anchors := map[string]bool{}
	for _, m := range chapter.FindAllStringSubmatch(docFiles(t)[docPath("facts")], -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = false
	}
	cite := regexp.MustCompile(`assets/docs/facts\.md#([a-z0-9-]+)`)
	for _, root := range []string{"cmd", "tui", "steps", "runner", "assets"} {
		err := filepath.WalkDir("../../"+root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range cite.FindAllStringSubmatch(string(b), -1) {
				if _, ok := anchors[m[1]]; !ok {
					t.Errorf("%s cites %s, which isn't there", path, m[0])
				}
				anchors[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range limits.Limits() {
		anchors[l.Entry().Fact] = true // theory's test looks whether the chapter is there
	}
	for a, cited := range anchors {
		if !cited {
			t.Errorf("nobody relies on the fact %s", a)
		}
	}
}

// checkTable is the checklist: what each check looks at, and what puts it right.
func checkTable(t *testing.T) string {
	t.Helper()
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| check | what it looks at | fix |\n|---|---|---|\n")
	for _, p := range list.Checklist {
		for _, c := range p.Cells {
			if !c.Check.Any() {
				continue
			}
			fix := "–"
			if c.Check.Fix != "" {
				fix = "`" + c.Check.Fix + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.ID, c.Title, fix)
		}
	}
	return b.String()
}

func cutBlock(t *testing.T, path, text, name string) (before, block, after string) {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	i, j := strings.Index(text, begin), strings.Index(text, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no block %s", path, name)
	}
	return text[:i+len(begin)], text[i+len(begin) : j], text[j:]
}

// TestContributing looks for what CONTRIBUTING names and no one has any more.
func TestContributing(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile("`((?:\\.ci|cmd|tui|steps|runner|assets)[\\w./-]*)`")
	for _, m := range place.FindAllStringSubmatch(string(b), -1) {
		path, _, _ := strings.Cut(m[1], "/PARSER") // which stands for any
		if _, err := os.Stat("../../" + path); err != nil {
			t.Error(err)
		}
	}
	for _, m := range regexp.MustCompile(`-bench (\w+) \./([\w/]+)`).FindAllStringSubmatch(string(b), -1) {
		files, err := filepath.Glob("../../" + m[2] + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(f string) bool {
			src, err := os.ReadFile(f)
			return err == nil && bytes.Contains(src, []byte("func Benchmark"+m[1]+"("))
		}) {
			t.Errorf("%s has no benchmark %s", m[2], m[1])
		}
	}
	_, src, _ := strings.Cut(string(b), "````markdown\n")
	src, _, ok := strings.Cut(src, "````")
	if !ok {
		t.Fatal("no example of a part")
	}
	if _, err := runbook.Parse("CONTRIBUTING.md", []byte(src)); err != nil {
		t.Error(err)
	}
}

// fences are the fenced blocks of a language.
func fences(text, language string) (all []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// flagsExist finds flags in the text that no command has.
func flagsExist(t *testing.T, path, text string) {
	t.Helper()
	known := map[string]bool{"help": true, "version": true}
	for name := range strings.FieldsSeq(otherFlags) {
		known[name] = true
	}
	root := rootCommand()
	for _, c := range append(commandsUnder(root), root) {
		note := func(f *pflag.Flag) { known[f.Name] = true }
		c.Flags().VisitAll(note)
	}
	for _, m := range regexp.MustCompile("(?m)(?:^|[ `|(\\[])--([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
		if !known[m[1]] {
			t.Errorf("%s: no command has --%s", path, m[1])
		}
	}
}

// otherFlags are those of other programs that the pages name.
const otherFlags = "runtime n-bytes with-verbs with-rdmacm prefix keys-only device out query-gpu format network " +
	"ulimit ipc gpus shm-size asio use host map-by with-cuda enable-mt"

// commandsExist finds commands in the examples that there aren't.
func commandsExist(t *testing.T, path, text string) {
	t.Helper()
	shown := strings.Join(append(fences(text, "sh"), regexp.MustCompile("`[^`\n]+`").FindAllString(text, -1)...), "\n")
	for _, m := range regexp.MustCompile("(?m)(?:^`?|\\| )railbench ([a-z]+)(?:$|[ `])").FindAllStringSubmatch(shown, -1) {
		if c, _, err := rootCommand().Find([]string{m[1]}); err != nil || c.Name() != m[1] {
			t.Errorf("%s: there is no command %s", path, m[1])
		}
	}
}

// table is a table in Markdown. A cell's own | is none of its lines.
func table(head string, rows [][]string) string {
	columns := strings.Split(head, " | ")
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", head, strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

// commandTable is every command with what it is for.
func commandTable(*testing.T) string {
	root := rootCommand()
	rows := [][]string{{code(root.Use), "Open the workbench: the tutorial, or runbooks of your own"}}
	for _, c := range commandsUnder(root) {
		rows = append(rows, []string{code(strings.TrimPrefix(usageOf(c), "railbench ")), c.Short})
	}
	return table("command | what it does", rows)
}

func flagTable(flags *pflag.FlagSet) string {
	var rows [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			rows = append(rows, []string{code(flagName(f)), f.Usage})
		}
	})
	if len(rows) == 0 {
		return ""
	}
	return table("flag | what it does", rows)
}

func rigFlagTable(*testing.T) string {
	_, rig := split(rootCommand().Flags())
	return flagTable(rig)
}

// flagTables are the flags that commands have of their own.
func flagTables(*testing.T) string {
	root := rootCommand()
	var b strings.Builder
	for _, c := range append([]*cobra.Command{root}, commandsUnder(root)...) {
		name := usageOf(c)
		own, rig := split(c.LocalFlags())
		var uses []string
		rig.VisitAll(func(f *pflag.Flag) { uses = append(uses, code("--"+f.Name)) })
		t, of := flagTable(own), ""
		switch all := len(rigNames(newRigFlags(new(rigFlags)))); len(uses) {
		case 0:
		case all:
			of = "It takes all flags of the rig.\n"
		default:
			of = "Of the flags of the rig it takes: " + strings.Join(uses, ", ") + ".\n"
		}
		if t+of != "" {
			fmt.Fprintf(&b, "### %s\n\n%s\n", name, strings.TrimPrefix(t+"\n"+of, "\n"))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func keyTable(t tui.KeyTable) string {
	var rows [][]string
	for _, row := range t.Rows {
		keys := strings.Split(row[0], ", ")
		for i, k := range keys {
			keys[i] = code(k)
		}
		rows = append(rows, []string{strings.Join(keys, " "), row[1], gocmp.Or(row[2], "–")})
	}
	if !slices.ContainsFunc(t.Rows, func(row [3]string) bool { return row[2] != "" }) {
		for i := range rows {
			rows[i] = rows[i][:2]
		}
		return table("key | what it does", rows)
	}
	return table("key | what it does | in Jupyter", rows)
}

func parameterTable(t *testing.T) string {
	t.Helper()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, p := range session.Params(catalog.New(), tut) {
		value := p.Text(p.Default)
		if p.Default == "" {
			value = "(" + value + ")"
		}
		rows = append(rows, []string{code(p.Name), value, steps.Capital(p.Does)})
	}
	return table("parameter | default | what it is", rows)
}

func toolTable(*testing.T) string {
	var rows [][]string
	for _, tool := range catalog.New().Tools {
		rows = append(rows, []string{code(tool.Name), tool.Shows})
	}
	return table("tool | what its output looks like", rows)
}

// mostSymptoms are shown of an entry: the rest are other ways to say the same.
const mostSymptoms = 20

// knowledgeChapters is the knowledge as a page: a chapter for each entry with confirm, in the order of its file, and
// in it the entries of which it names the first check.
func knowledgeChapters(t *testing.T) string {
	t.Helper()
	causes := knowing(t).Causes
	var chapters []*explain.Cause
	for _, c := range causes {
		if c.Confirm != "" {
			chapters = append(chapters, c)
		}
	}
	related := map[string][]*explain.Cause{}
	for _, c := range causes {
		if c.Confirm == "" {
			in := chapterOf(chapters, c)
			related[in] = append(related[in], c)
		}
	}
	var b strings.Builder
	b.WriteString("\n")
	paragraph := func(label, text string) {
		plain.Hang(&b, "", "**"+label+":** "+text)
		b.WriteString("\n")
	}
	for _, c := range chapters {
		fmt.Fprintf(&b, "## %s\n\n", c.Title)
		var words []string
		for _, w := range c.Words[:min(len(c.Words), mostSymptoms)] {
			words = append(words, code(w))
		}
		paragraph("Symptom", strings.Join(words, ", "))
		paragraph("Cause", c.Why)
		paragraph("Confirm", code("railbench doctor "+strings.Join(c.Checks, " "))+". "+c.Confirm)
		paragraph("Fix", c.Fix)
		if len(related[c.ID]) > 0 {
			b.WriteString("More causes:\n\n")
		}
		for _, r := range related[c.ID] {
			fmt.Fprintf(&b, "- **%s.** %s Fix: %s Next: %s\n", r.Title, r.Why, r.Fix, code(r.Next))
		}
		if len(related[c.ID]) > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// chapterOf is the chapter of the check that an entry names first: where that check stands first, if there is one.
func chapterOf(chapters []*explain.Cause, c *explain.Cause) string {
	best, at := "", math.MaxInt
	for _, chapter := range chapters {
		if i := slices.Index(chapter.Checks, c.Checks[0]); i >= 0 && i < at {
			best, at = chapter.ID, i
		}
	}
	return best
}

func faultTable(*testing.T) string {
	var rows [][]string
	for _, f := range sim.Faults() {
		rows = append(rows, []string{code(f.Name), f.Title, f.Where.String()})
	}
	return table("fault | what is broken | where it is by itself", rows)
}

func cellTable(t *testing.T) string {
	t.Helper()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| part | id | cells |\n|---|---|---|\n")
	for i, p := range tut.Parts {
		var cells []string
		for _, c := range p.Cells {
			cells = append(cells, "`"+c.ID+"`")
		}
		fmt.Fprintf(&b, "| %d. %s | `%s` | %s |\n", i+1, p.Title, p.ID, strings.Join(cells, " "))
	}
	return b.String()
}

// limitTable has every figure that verdicts rest on, with its conditions and its source.
func limitTable(*testing.T) string {
	var b strings.Builder
	b.WriteString("| of what | figure | basis | when | source |\n|---|---|---|---|---|\n")
	for _, l := range limits.Limits() {
		e := l.Entry()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s ([facts](facts.md#%s)) |\n", e.Of, e.Figures(), e.Basis, e.When, e.Source,
			e.Fact)
	}
	return b.String()
}

func attributeTable(*testing.T) string {
	var b strings.Builder
	b.WriteString("| attribute | value | what it says |\n|---|---|---|\n")
	for _, a := range runbook.Attributes() {
		of := ""
		if a.Check {
			of = "for railbench's own checklist: "
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", a.Name, gocmp.Or(a.Value, "–"), of, strings.ReplaceAll(a.Doc, "*", `\*`))
	}
	return b.String()
}

// nameTable has the judges of the tutorial, each with the parsers whose work it reads.
func nameTable(t *testing.T) string {
	t.Helper()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| judge | parser | cells that show how |\n|---|---|---|\n")
	seen := map[string]bool{}
	for _, c := range tut.Cells() {
		if c.Judge == "" || seen[c.Judge] {
			continue
		}
		seen[c.Judge] = true
		var cells, parsers []string
		for _, other := range tut.Cells() {
			if other.Judge != c.Judge {
				continue
			}
			cells = append(cells, "`"+other.ID+"`")
			if p := "`" + other.Parser + "`"; other.Parser != "" && !slices.Contains(parsers, p) {
				parsers = append(parsers, p)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Judge, gocmp.Or(strings.Join(parsers, " "), "–"), strings.Join(cells, " "))
	}
	return b.String()
}

// checkPicture is the checklist after a symptom, on a rig that has its cause.
func checkPicture(t *testing.T) string {
	t.Helper()
	keys := []tea.KeyPressMsg{{Code: 'C', Text: "C"}, {Code: '/', Text: "/"}}
	for _, r := range "message too long" {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return shoot(t, rigFlags{rig: "sim", speed: 4, seed: 1, faults: []string{"mtu-mismatch"}}, 76, 24,
		wait{"ports idle", append(keys, tea.KeyPressMsg{Code: tea.KeyEnter})},
		wait{"1 FAIL", nil})
}

// shoot takes a picture of the workbench on a simulated rig, when the screen shows
// what the last wait is for.
func shoot(t *testing.T, flags rigFlags, width, height int, waits ...wait) string {
	t.Helper()
	b, err := flags.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Asker, b.options.Sample = session.NewAsker(), true
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	var taken string
	c := camera{taken: &taken, waits: waits}
	c.Model = tui.New(s, screen.Options{
		Tutorial: b.options.Tutorial,
		Rig:      screen.Rig{Simulated: true, Name: "sim", Hint: hint(b)},
		Terminal: screen.Terminal{NoColor: true, Background: screen.Dark},
	})
	_, err = tea.NewProgram(c, tea.WithContext(t.Context()), tea.WithInput(nil), tea.WithOutput(io.Discard),
		tea.WithWindowSize(width, height), tea.WithoutSignals()).Run()
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	out.WriteString("```\n")
	for line := range strings.Lines(taken) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	out.WriteString("```\n")
	return out.String()
}

// A camera is the workbench without a terminal: it presses keys when the screen
// shows what they wait for, and keeps the last picture.
type camera struct {
	*tui.Model
	waits []wait
	taken *string
}

type wait struct {
	text string // on the screen
	keys []tea.KeyPressMsg
}

func (c camera) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := c.Model.Update(msg)
	screen := ansi.Strip(c.View().Content)
	if len(c.waits) == 0 || !strings.Contains(screen, c.waits[0].text) {
		return c, cmd
	}
	var keys []tea.Cmd
	for _, k := range c.waits[0].keys {
		keys = append(keys, func() tea.Msg { return k })
	}
	if c.waits = c.waits[1:]; len(c.waits) == 0 {
		*c.taken = screen
		keys = append(keys, tea.Quit)
	}
	return c, tea.Batch(cmd, tea.Sequence(keys...))
}

// usageOf is a command's line with those above it.
func usageOf(c *cobra.Command) string {
	use := c.Use
	for p := c.Parent(); p != nil; p = p.Parent() {
		use = p.Name() + " " + use
	}
	return use
}

// flagName is how a flag is typed, with a word for its value.
func flagName(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	switch f.Value.Type() {
	case "bool":
	case "duration":
		name += " TIME"
	case "int", "float64", "uint64":
		name += " NUMBER"
	default:
		name += " TEXT"
	}
	return name
}
