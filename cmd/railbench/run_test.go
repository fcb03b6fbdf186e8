package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// headlessly runs cells on the simulated rig and gives the object that --json
// prints, the exit status and what stderr got.
func headlessly(t *testing.T, args ...string) (headless.Object, int, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(append([]string{"run", "--rig", "sim", "--speed", "max", "--json", "--yes"}, args...),
		strings.NewReader(""), &stdout, &stderr)
	var r headless.Object
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v: exit %d: %v\n%s%s", args, code, err, stdout.String(), stderr.String())
	}
	return r, code, stderr.String()
}

// TestReportKeys holds the object to what scripts rely on. A key may be added; one that is gone or renamed breaks a
// user.
func TestReportKeys(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"run", "hosts", "ib-write-bw", "--rig", "sim", "--speed", "max", "--json"},
		strings.NewReader(""), &stdout, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var top map[string]any
	dec := json.NewDecoder(&stdout)
	if err := dec.Decode(&top); err != nil {
		t.Fatal(err)
	}
	if dec.More() {
		t.Error("there is more than one object on stdout")
	}
	keys := func(where string, v any, want ...string) map[string]any {
		t.Helper()
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%s is %T, no object", where, v)
		}
		slices.Sort(want)
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(m))); d != "" {
			t.Errorf("keys of %s: %s", where, d)
		}
		return m
	}
	first := func(where string, v any) any {
		t.Helper()
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			t.Fatalf("%s is %v, no list with something in it", where, v)
		}
		return list[len(list)-1]
	}
	keys("the object", top, "railbench", "rig", "cells", "summary")
	if s, ok := top["railbench"].(string); !ok || s == "" {
		t.Errorf("the version is %v", top["railbench"])
	}
	rig := keys("rig", top["rig"], "name", "simulated", "nodes", "rails")
	if rig["simulated"] != true {
		t.Errorf("simulated is %v", rig["simulated"])
	}
	keys("a node", first("nodes", rig["nodes"]), "name", "end", "where", "host", "kernel", "os")
	keys("a rail", first("rails", rig["rails"]), "node", "dev", "netdev", "address", "pair", "gidIndex", "mtu", "pci",
		"pcieGTps", "pcieLanes", "linkGbps", "state")
	cell := keys("a cell", first("cells", top["cells"]), "id", "part", "title", "verdict", "reason", "evidence", "figures",
		"exit", "elapsedMS", "rails", "log")
	if cell["id"] != "ib-write-bw" || cell["part"] != "rdma-baseline" || cell["verdict"] != "PASS" || cell["exit"] != 0.0 {
		t.Errorf("the cell: %v", cell)
	}
	keys("a rail of a cell", first("rails", cell["rails"]), "node", "rail", "txBytes", "rxBytes")
	expected := 0
	for _, e := range cell["evidence"].([]any) {
		m := e.(map[string]any)
		for k := range m {
			if !slices.Contains([]string{"name", "value", "unit", "expected", "of"}, k) {
				t.Errorf("evidence has the key %q", k)
			}
		}
		if x, ok := m["expected"].(map[string]any); ok {
			expected++
			for k := range x {
				if !slices.Contains([]string{"min", "max", "from"}, k) {
					t.Errorf("expected has the key %q", k)
				}
			}
			if x["from"] == "" || x["min"] == nil && x["max"] == nil {
				t.Errorf("a band without a bound or a source: %v", m)
			}
		}
	}
	if expected == 0 {
		t.Error("no evidence of ib-write-bw has a band")
	}
	figure := keys("a figure", first("figures", cell["figures"]),
		"what", "value", "unit", "rails", "messageBytes", "mtu", "memory")
	if v, _ := figure["value"].(float64); figure["what"] != "throughput" || figure["unit"] != "Gb/s" || v < 80 || v > 110 {
		t.Errorf("the figure: %v", figure)
	}
	keys("summary", top["summary"], "PASS", "WARN", "FAIL", "INCONCLUSIVE", "SKIPPED")
	log, _ := cell["log"].(string)
	if b, err := os.ReadFile(log); err != nil || !bytes.Contains(b, []byte("BW average")) {
		t.Errorf("the log %q: %v: %s", log, err, b)
	}
}

// A recorder is a node that remembers what it was given.
type recorder struct {
	runner.Node
	mu    sync.Mutex
	given []string
}

// Clock is the node's: what stands before it has no time of its own.
func (r *recorder) Clock() runner.Clock { return runner.ClockOf(r.Node) }

func (r *recorder) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	r.mu.Lock()
	r.given = append(r.given, s.Text())
	r.mu.Unlock()
	return r.Node.Run(ctx, s, emit)
}

// TestDryRunIsWhatRuns compares, byte for byte, what a dry run prints with what
// the nodes are then given, in that order.
func TestDryRunIsWhatRuns(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"run", "--all", "--rig", "sim", "--speed", "max", "--dry-run"}, strings.NewReader(""),
		&stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(bytes.NewReader(stdout.Bytes()),
		"dry run"); err != nil {
		t.Error(err)
	}

	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	nodes := map[string]*recorder{}
	for e, n := range b.options.Nodes {
		r := &recorder{Node: n}
		nodes[n.Name()], b.options.Nodes[e] = r, r
	}
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	// A dry run looks at the rig as it is, and a change makes it another one. The
	// ports and names of what railbench runs for a cell are known when it runs.
	fixed := func(c steps.Cell) bool { return !c.Change.Any() && len(c.With) == 0 }
	for _, c := range b.options.Tutorial.Cells() {
		if fixed(c) {
			s.Run(c.ID)
		}
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	scripts := strings.Split("\n"+stdout.String(), "\n# --- ")[1:]
	scripts = slices.DeleteFunc(scripts, func(script string) bool {
		header, _, _ := strings.Cut(script, "\n")
		id, _, _ := strings.Cut(header, ",")
		c, ok := b.options.Tutorial.Cell(id)
		return ok && !fixed(c) || strings.Contains(header, "nothing would run")
	})
	if len(scripts) < 20 {
		t.Errorf("only %d scripts", len(scripts))
	}
	for i, script := range scripts {
		header, text, _ := strings.Cut(script, "\n")
		if i == len(scripts)-1 {
			text = strings.TrimSuffix(text, "\n")
		}
		text += "\n"
		if i < len(scripts)-1 {
			text = strings.TrimSuffix(text, "\n") // the empty line before the next one
		}
		_, where, _ := strings.Cut(header, ", on ")
		name, _, _ := strings.Cut(where, " ")
		node := nodes[name]
		if node == nil || !strings.HasSuffix(header, " SIMULATED") {
			t.Fatalf("the header %q", header)
		}
		at := slices.Index(node.given, text)
		if at < 0 {
			t.Errorf("%s was not run after the one before it:\n%s", header, text)
			continue
		}
		node.given = node.given[at+1:]
	}
}

// Whatever a value is, the assignment in front of a script gives it back, and nothing in
// what is shown of it is hidden.
func TestAssignmentsQuote(t *testing.T) {
	t.Parallel()
	values := append(slices.Clone(nasty), "a\x1b]0;t\x07\n", "\u202eb\n\n", "-n\x07", "%d%%\x9b\\n", "\u2028", "\xff'",
		"\r\n", "a\x7f'; reboot; '")
	for _, v := range values {
		text := runner.Script{Body: "printf %s \"$V\"\n", Vars: map[string]string{"V": v}}.Text()
		if !utf8.ValidString(text) || strings.ContainsFunc(text, runner.Hidden) {
			t.Errorf("%q is shown as %q", v, text)
		}
		f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
		if err != nil {
			t.Errorf("%q: %v", v, err)
			continue
		}
		calls := 0
		syntax.Walk(f, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.BinaryCmd:
				t.Errorf("%q became syntax: %s", v, text)
			case *syntax.CallExpr:
				if calls++; len(n.Args) > 0 && n.Args[0].Lit() != "printf" {
					t.Errorf("%q became a command: %s", v, text)
				}
			}
			return true
		})
		if calls > 4 {
			t.Errorf("%q: %d commands: %s", v, calls, text)
		}
		// The shell of this machine, and that of the simulated nodes.
		out, err := exec.Command("sh", "-c", text).Output()
		if err != nil || string(out) != v {
			t.Errorf("sh makes %q of %q (%v): %s", out, v, err, text)
		}
		var simulated strings.Builder
		sh, err := interp.New(interp.StdIO(nil, &simulated, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := sh.Run(t.Context(), f); err != nil || simulated.String() != v {
			t.Errorf("the simulated shell makes %q of %q (%v): %s", simulated.String(), v, err, text)
		}
	}
}

func TestStatusOfAReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grades []steps.Grade
		want   int
	}{
		{nil, exitOK},
		{[]steps.Grade{steps.Pass, steps.Warn, steps.Skipped}, exitOK},
		{[]steps.Grade{steps.Pass, steps.Inconclusive}, exitInconclusive},
		{[]steps.Grade{steps.Inconclusive, steps.Fail}, exitFail},
	} {
		var cells []steps.Cell
		ended := map[string]steps.CellEnded{}
		for _, g := range c.grades {
			cells = append(cells, steps.Cell{ID: g.String()})
			ended[g.String()] = steps.CellEnded{Verdict: steps.Verdict{Grade: g}}
		}
		got := exitOK
		if err := outcome(headless.NewObject("", steps.Rig{}, cells, ended).Summary); err != nil {
			got = err.(status).code //nolint:errorlint // outcome gives nothing else
		}
		if got != c.want {
			t.Errorf("%v: %d, want %d", c.grades, got, c.want)
		}
	}
}
