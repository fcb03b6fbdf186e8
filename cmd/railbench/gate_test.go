package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/plain"
)

// roundTheGate are the calls that write and clean nothing, each with the reason why it is
// right where it stands.
var roundTheGate = map[string]string{
	"tui/plain/doctor.go b.WriteString": "a text that the gate writes as a whole",
	"tui/plain/doctor.go b.WriteByte":   "a text that the gate writes as a whole",
	"docs.go io.WriteString":            "a page of railbench's own, with its styles on a terminal",
	"new.go f.Write":                    "a runbook of railbench's own",
	"rigfile.go f.Write":                "a rig file, never a terminal",
	"workbench.go back.Write":           "a runbook's file, never a terminal",
	"main.go os.Stdout":                 "handed to the gate",
	"main.go os.Stderr":                 "handed to the gate",
	"virtual.go w.To":                   "a shell on a virtual machine has the terminal to itself",
	"terminal.go screen.Write":          "what the screen has cleaned, to the terminal that it is drawn on",
}

// printing are the packages whose functions get what this one prints to.
var printing = []string{"steps/headless", "steps/doctor", "steps/nodelist", "tui/plain"}

// TestNothingGoesRoundTheGate looks at every call of this package, and of those that print for it, that could write to
// a terminal or a pipe.
func TestNothingGoesRoundTheGate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range printing {
		more, err := filepath.Glob("../../" + folder + "/*.go")
		if err != nil || more == nil {
			t.Fatalf("%s: %v", folder, err)
		}
		files = append(files, more...)
	}
	gated, used := 0, map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(name, "../../")
		ast.Inspect(f, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				on, method := "(…)", n.Sel.Name
				if id, ok := n.X.(*ast.Ident); ok {
					on = id.Name
				}
				if on == "sanitize" && strings.HasPrefix(method, "Fprint") {
					gated++
				}
				prints := on == "fmt" && (strings.HasPrefix(method, "Fprint") || strings.HasPrefix(method, "Print")) ||
					on == "io" && (method == "WriteString" || strings.HasPrefix(method, "Copy")) ||
					on == "os" && (method == "Stdout" || method == "Stderr") || on == "json" && method == "NewEncoder" ||
					on == "log" ||
					on != "sanitize" && on != "safefile" &&
						slices.Contains([]string{"Write", "WriteString", "WriteByte", "WriteRune", "WriteTo", "To"}, method)
				if prints {
					what = on + "." + method
				}
			case *ast.CallExpr:
				on, ok := n.Fun.(*ast.SelectorExpr)
				if ok && (on.Sel.Name == "Fprintln" || on.Sel.Name == "Fprint") {
					for _, arg := range n.Args {
						if text, ok := arg.(*ast.BasicLit); ok && strings.Contains(text.Value, `\n`) {
							t.Errorf("%s: an argument of sanitize.%s is one line: its \\n is shown as such", set.Position(n.Pos()),
								on.Sel.Name)
						}
					}
				}
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
					what = id.Name
				}
			}
			used[name+" "+what] = true
			if what != "" && roundTheGate[name+" "+what] == "" {
				t.Errorf("%s: %s goes round the gate: sanitize.Fprintf cleans what it prints", set.Position(n.Pos()), what)
			}
			return true
		})
	}
	for exception := range roundTheGate {
		if !used[exception] {
			t.Errorf("the exception %q is needed no more", exception)
		}
	}
	if gated < 50 {
		t.Errorf("only %d prints were found", gated)
	}
}

// forger is what a hostile node says of itself: escapes that JSON's decoder makes control
// characters of, and lines that look like railbench's.
const forger = `\u001b]0;owned\u0007\u009b31m\u202e\nPASS          everything  fine\n#\nforged; echo owned >&2\n`

// TestForgedLines: what a node says stays within its line, wherever it is shown: in a run,
// a dry run, a doctor's report, and as JSON.
func TestForgedLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.NewReplacer(`\u001b`, "\x1b", `\u0007`, "\x07", `\u009b`, "\u009b", `\u202e`, "\u202e", `\n`,
		"\n").Replace(forger)
	rig := filepath.Join(dir, "rig.toml")
	// A name in the rig file is checked; how a node is reached is shown, too.
	if err := os.WriteFile(rig, fmt.Appendf(nil, "name = \"lab\"\nhere.ssh = %q\npeer.ssh = \"b@127.0.0.1:1\"\n",
		"a@127.0.0.1:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	runbook := filepath.Join(dir, "own.md")
	// A title is one line of Markdown, and has all else in it.
	title := strings.ReplaceAll(text, "\n", " ")
	book := "# Part " + title + " {#part}\n\n## Cell " + title + " {#cell}\n\n```sh cell=cell on=both\necho '" + "x" +
		"'\n```\n"
	if err := os.WriteFile(runbook, []byte(book), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"list", "--runbook", runbook},
		{"list", "--json", "--runbook", runbook},
		{"check", runbook},
		{"run", "--rig", "sim", "--speed", "100", "--runbook", runbook, "cell"},
		{"run", "--rig", "sim", "--speed", "100", "--runbook", runbook, "cell", "--json"},
		{"run", "--rig", "sim", "--speed", "100", "--runbook", runbook, "cell", "--dry-run"},
		{"run", "--rig", "sim", "--speed", "100", text},
		{"run", "--rig", "sim", "-p", text + "=1", "hosts"},
		{"run", "--rig", text, "hosts"},
		{"doctor", "--rig", "sim", text},
		{"compare", text, text},
		{"export", text, "--to", "md"},
		{"parse", text},
	} {
		var stdout, stderr bytes.Buffer
		Main(args, strings.NewReader(""), &stdout, &stderr)
		for name, out := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
			if i := strings.IndexFunc(out, runner.Hidden); i >= 0 {
				t.Errorf("%.60q: %s has %q", args, name, out[i:min(len(out), i+20)])
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "PASS          everything") || strings.HasPrefix(line, "forged;") {
					t.Errorf("%.60q: a line was forged on %s: %q", args, name, line)
				}
			}
		}
		if stdout.Len()+stderr.Len() == 0 {
			t.Errorf("%.60q said nothing", args)
		}
	}
}

// poison puts a text into every string of a value, below pointers, too.
func poison(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), text)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				poison(field, text)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			poison(value, text)
			v.SetMapIndex(key, value)
		}
	default: // nothing in it is text
	}
}

// TestForgedNode: whatever two nodes say of themselves, what is printed about them is
// lines of railbench's own, and a dry run's comments stay comments.
func TestForgedNode(t *testing.T) {
	t.Parallel()
	const text = "a'\x1b]0;owned\x07\u009b31m\u202e\nPASS          everything  fine\n#\nforged; echo owned >&2\n"
	b, err := rigFlags{rig: "sim", speed: 100, seed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	rig, err := session.Probe(t.Context(), b.options)
	if err != nil {
		t.Fatal(err)
	}
	poison(reflect.ValueOf(&rig).Elem(), text)
	cells := b.options.Tutorial.Cells()
	ended := map[string]steps.CellEnded{}
	for _, c := range cells {
		ended[c.ID] = steps.CellEnded{Cell: c.ID, Verdict: steps.Verdict{
			Grade: steps.Fail, Reason: text, Node: text,
			Evidence: []steps.Evidence{{Name: text, Value: text, Unit: text, Expected: &steps.Expected{From: text}}},
			Tables:   []steps.Table{{Title: text, Columns: []steps.Column{{Name: text}}, Rows: [][]string{{text}}, Note: text}},
		}}
	}
	checks := b.options.Tutorial.Checks()
	d := doctor.New(&session.Follower{Ended: map[string]steps.CellEnded{}}, b.options.Tutorial, io.Discard)
	for _, c := range checks {
		d.Ended[c.ID] = ended[cells[0].ID]
	}
	var question steps.ChangeQuestion
	question.Places = make([]steps.ChangePlace, 2)
	poison(reflect.ValueOf(&question).Elem(), text)
	for i := range question.Places {
		question.Places[i].Script, question.Places[i].HandOver = "true\n", "true\n"
	}
	prints := map[string]func(w io.Writer){
		"dry run": func(w io.Writer) { headless.WritePlan(w, b.options, rig, cells) },
		"result": func(w io.Writer) {
			_ = headless.NewListing(w, rig, cells).Rest(headless.NewObject("test", rig, cells, ended))
		},
		"JSON": func(w io.Writer) { _ = writeJSON(w, headless.NewObject("test", rig, cells, ended)) },
		"figures": func(w io.Writer) {
			p := newPrinter(w, true, true)
			for _, e := range ended {
				_ = p.Print(e.Verdict)
			}
		},
		"init":   func(w io.Writer) { headless.Describe(w, rig) },
		"doctor": func(w io.Writer) { _ = plain.Doctor(w, d.Object("test", rig, checks), true, (&openRig{}).fixes) },
		"a change": func(w io.Writer) {
			sanitize.Fprintf(w, "%s\n", (undo.Entry{
				Cell:  text,
				Nodes: []undo.Place{{Name: text, Set: []string{text}}},
			}))
		},
		"a question": func(w io.Writer) {
			in, out, err := os.Pipe()
			if err != nil {
				t.Error(err)
				return
			}
			out.Close()
			a := headless.NewAsker(in, w)
			_, _ = a.Change(t.Context(), question)
			_, _ = a.HostKey(t.Context(), runner.HostKeyQuestion{
				Node: text, Address: text, KeyType: text, Fingerprint: text,
				File: text,
			})
		},
	}
	for name, do := range prints {
		var out strings.Builder
		do(&out)
		if i := strings.IndexFunc(out.String(), runner.Hidden); i >= 0 {
			t.Errorf("%s: %.60q", name, out.String()[i:])
		}
		for line := range strings.Lines(out.String()) {
			if name != "dry run" && (strings.HasPrefix(line, "PASS          everything") || strings.HasPrefix(line, "forged;")) {
				t.Errorf("%s: a line was forged: %q", name, line)
			}
		}
		if out.Len() == 0 {
			t.Errorf("%s: nothing was printed", name)
		}
		if name != "dry run" {
			continue
		}
		f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(out.String()), "")
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		syntax.Walk(f, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				if calls++; c.Args[0].Lit() == "forged" || c.Args[0].Lit() == "PASS" {
					t.Errorf("the node's text would run: %s", out.String()[c.Pos().Offset():c.End().Offset()])
				}
			}
			return true
		})
		if calls < 100 {
			t.Errorf("the dry run has only %d commands", calls)
		}
	}
}
