package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
)

const readmePath = "../../README.md"

// TestReadme holds README to the program: the blocks between <!-- NAME --> and
// <!-- /NAME --> come from it, and go test ./cmd/railbench -run Readme -update
// writes them anew.
func TestReadme(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	for _, block := range []struct {
		name string
		make func(*testing.T) string
		same func(string) string // what has to be the same; all of it where nil
	}{
		{"picture", picture, steady},
		{"check picture", checkPicture, nil},
		{"commands", commandTree, nil},
		{"keys", keyTable, nil},
		{"cells", cellTable, nil},
		{"checks", checkTable, nil},
		{"attributes", attributeTable, nil},
		{"names", nameTable, nil},
	} {
		before, has, after := cutBlock(t, readme, block.name)
		want := block.make(t)
		if *update {
			readme = before + want + after
			continue
		}
		if block.same != nil {
			has, want = block.same(has), block.same(want)
		}
		if d := cmp.Diff(want, has); d != "" {
			t.Errorf("README's %s is not the program's (go test ./cmd/railbench -run Readme -update): %s", block.name, d)
		}
	}
	if *update {
		if err := os.WriteFile(readmePath, []byte(readme), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("flags", func(t *testing.T) { flagsExist(t, readme) })
	t.Run("rig file", func(t *testing.T) {
		for _, src := range fences(readme, "toml") {
			if _, err := parseRig("README.md", []byte(src)); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("runbook", func(t *testing.T) {
		_, src, _ := strings.Cut(readme, "````markdown\n")
		src, _, ok := strings.Cut(src, "````")
		if !ok {
			t.Fatal("no example of a runbook")
		}
		problems, err := checkRunbooks([]runbook.Document{runbook.Read("README.md", []byte(src))})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
	})
	t.Run("json", func(t *testing.T) {
		for _, src := range fences(readme, "json") {
			dec := json.NewDecoder(strings.NewReader(src))
			dec.DisallowUnknownFields()
			var r report
			if err := dec.Decode(&r); err != nil {
				t.Fatalf("%v in %s", err, src)
			}
			// Nothing is left out of it: what comes back has the same keys.
			back, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal(back, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(src), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the example is not what --json prints: %s", d)
			}
		}
	})
	t.Run("links", func(t *testing.T) {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme, -1) {
			if _, err := os.Stat("../../" + m[1]); err != nil {
				t.Error(err)
			}
		}
	})
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
			fix := ""
			if c.Check.Fix != "" {
				fix = "`" + c.Check.Fix + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.ID, c.Title, fix)
		}
	}
	return b.String()
}

func cutBlock(t *testing.T, text, name string) (before, block, after string) {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	i, j := strings.Index(text, begin), strings.Index(text, end)
	if i < 0 || j < i {
		t.Fatalf("README has no block %s", name)
	}
	return text[:i+len(begin)], text[i+len(begin) : j], text[j:]
}

// TestContributing looks for what CONTRIBUTING names and nobody has any more.
func TestContributing(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`((?:\\.ci|cmd|tui|steps|runner|assets)[\\w./-]*)`").FindAllStringSubmatch(string(b), -1) {
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
func flagsExist(t *testing.T, readme string) {
	known := map[string]bool{"help": true, "version": true}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		note := func(f *pflag.Flag) { known[f.Name] = true }
		c.Flags().VisitAll(note)
		c.PersistentFlags().VisitAll(note)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand())
	for _, m := range regexp.MustCompile("(?m)(?:^|[ `|(\\[])--([a-z][a-z-]*)").FindAllStringSubmatch(readme, -1) {
		if !known[m[1]] {
			t.Errorf("no command has --%s", m[1])
		}
	}
}

// commandTree is every command with what it is for.
func commandTree(*testing.T) string {
	type row struct{ use, short string }
	var rows []row
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		use := c.Use
		for p := c.Parent(); p != nil; p = p.Parent() {
			use = p.Name() + " " + use
		}
		if c.Runnable() && c.Name() != "help" && !c.Hidden {
			rows = append(rows, row{use, c.Short})
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand())
	wide := 0
	for _, r := range rows {
		wide = max(wide, len([]rune(r.use)))
	}
	var b strings.Builder
	b.WriteString("```\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %s\n", wide, r.use, r.short)
	}
	b.WriteString("```\n")
	return b.String()
}

func keyTable(*testing.T) string {
	var b strings.Builder
	b.WriteString("| key | what it does |\n|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, row := range tui.KeyTable() {
		keys := strings.Split(row[0], ", ")
		for i, k := range keys {
			keys[i] = "`" + cell.Replace(k) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(keys, " "), cell.Replace(row[1]))
	}
	return b.String()
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

func attributeTable(*testing.T) string {
	var b strings.Builder
	b.WriteString("| attribute | value | what it says |\n|---|---|---|\n")
	for _, a := range runbook.Attributes() {
		of := ""
		if a.Check {
			of = "for railbench's own checklist: "
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", a.Name, a.Value, of, strings.ReplaceAll(a.Doc, "*", `\*`))
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
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Judge, strings.Join(parsers, " "), strings.Join(cells, " "))
	}
	return b.String()
}

// picture is the workbench after ib-write-bw on the simulated rig.
func picture(t *testing.T) string {
	t.Helper()
	return shoot(t, rigFlags{rig: "sim", speed: 4, seed: 1}, 120, 36,
		wait{"0.0", []tea.KeyPressMsg{{Code: '4', Text: "4"}}},
		wait{"4 RDMA baseline", []tea.KeyPressMsg{{Code: tea.KeyDown}, {Code: tea.KeyEnter}}},
		wait{"PASS", nil})
}

// checkPicture is the checklist after a symptom, on a rig that has its cause.
func checkPicture(t *testing.T) string {
	t.Helper()
	keys := []tea.KeyPressMsg{{Code: 'C', Text: "C"}, {Code: '/', Text: "/"}}
	for _, r := range "message too long" {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return shoot(t, rigFlags{rig: "sim", speed: 4, seed: 1, faults: []string{"mtu-mismatch"}}, 80, 24,
		wait{"0.0", append(keys, tea.KeyPressMsg{Code: tea.KeyEnter})},
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
	c.Model = tui.New(s, tui.Options{Tutorial: b.options.Tutorial, Simulated: true, RigName: "sim", Hint: hint(b), NoColor: true, Background: tui.Dark})
	_, err = tea.NewProgram(c, tea.WithContext(t.Context()), tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithWindowSize(width, height), tea.WithoutSignals()).Run()
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

var (
	seconds = regexp.MustCompile(`\d+\.\d s`)
	gauge   = regexp.MustCompile(`^( *(?:spark-\d+)? +\w+ +[tr]x) *▕.*`)
	gaps    = regexp.MustCompile(` +`)
)

// steady is what is the same in every picture: neither times nor what the gauges
// happened to show, nor the order in which two nodes' lines came in.
func steady(picture string) string {
	var lines []string
	for line := range strings.Lines(picture) {
		line = strings.TrimRight(line, " ▐\n")
		line = seconds.ReplaceAllString(line, "N s")
		line = gauge.ReplaceAllString(line, "$1 …")
		_, cell, _ := strings.Cut(line, "▌ ")
		if strings.Contains(cell, "spark-0") && strings.Contains(cell, " │ ") || strings.Contains(cell, " · ") || strings.Contains(cell, "more lines") {
			line = "(output)"
		}
		lines = append(lines, gaps.ReplaceAllString(line, " "))
	}
	return strings.Join(slices.Compact(lines), "\n")
}
