package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/plain"
)

// openPairs is the simulated rig of some nodes with a session for their pairs.
func openPairs(t *testing.T, nodes int, faults ...string) (*openRig, *session.Session, session.Pairing) {
	t.Helper()
	flags := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, nodeCount: nodes, faults: faults}
	b, err := flags.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	p, err := b.pairing()
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(b.options)
	b.onState = s.State
	t.Cleanup(func() { _ = s.Close() })
	return b, s, p
}

// What is wrong with one node of several is found by name: a slow node, a slow rail, a bad cable, one way
// that is slow, half of an adapter, a port that is down, a node that is dead.
func TestPairsNameTheFault(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		nodes int
		fault string
		grade steps.Grade
		says  []string
	}{
		{2, "", steps.Pass, []string{"between 2 nodes"}},
		{4, "", steps.Pass, []string{"between 4 nodes"}},
		{5, "", steps.Pass, []string{"between 5 nodes"}},
		{
			4, "degraded-adapter@spark-03", steps.Fail,
			[]string{"All traffic to and from spark-03 over every rail", "also alone", "probably degraded"},
		},
		{5, "slow-rail@spark-04", steps.Fail, []string{"All traffic to and from spark-04 over rail 1"}},
		{8, "slow-rail@spark-07", steps.Fail, []string{"All traffic to and from spark-07 over rail 1"}},
		{
			4, "bad-cable@spark-03", steps.Warn,
			[]string{"spark-03 over rail 1 and rail 3, which share a cable there", "symbol_error"},
		},
		{
			4, "hog@spark-03", steps.Fail,
			[]string{ // the rails share a PCIe link, and the traffic comes from spark-01
				"All traffic to spark-03 over rail 1 and rail 2, but not what comes from it", "72.",
				"21.2 Gb/s", "All traffic from spark-01 over rail 1 and rail 2, but not what goes to it",
			},
		},
		{3, "rail-ip-missing@spark-03", steps.Inconclusive, []string{"spark-03 has no rail 2"}},
		{
			3, "adapter-lost@spark-03", steps.Inconclusive,
			[]string{"spark-03 over rail 3 and rail 4, which it does not have", "spark-03 has no rail 3"},
		},
		{4, "pcie-x2@spark-02", steps.Fail, []string{"spark-02 over rail 3 and rail 4, which share a PCIe half there"}},
		{
			4, "link-down@spark-03", steps.Fail,
			[]string{"All traffic to and from spark-03 over rail 2", "the port is down on spark-03"},
		},
		{
			4, "peer-dead@spark-03", steps.Inconclusive,
			[]string{"All traffic to and from spark-03", "spark-03 does not answer"},
		},
		{4, "counter-missing@spark-02", steps.Inconclusive, []string{"spark-02", "no port counters"}},
		{2, "slow-rail", steps.Fail, []string{"rail 1"}},
	} {
		if c.nodes > 5 && !testform.Full() || sampled(i) {
			continue
		}
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			var faults []string
			if c.fault != "" {
				faults = []string{c.fault}
			}
			_, s, p := openPairs(t, c.nodes, faults...)
			m, err := s.Pairs(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			j := m.Judge()
			if j.Grade != c.grade {
				t.Errorf("%s: %s", j.Grade, j.Reason)
			}
			for _, want := range c.says {
				if !strings.Contains(j.Reason, want) {
					t.Errorf("%q is not in %s", want, j.Reason)
				}
			}
		})
	}
}

// The announced time is the time that the matrix takes, by the nodes' clock.
func TestPairsTakeWhatIsTold(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{2, 3, 5} {
		if nodes > 3 && !testform.Full() {
			continue
		}
		_, s, p := openPairs(t, nodes)
		cost, wrong, err := s.PairsCost(t.Context(), p)
		if err != nil || wrong != nil {
			t.Fatal(wrong, err)
		}
		m, err := s.Pairs(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if off := m.Elapsed.Seconds() / cost.Time.Seconds(); off < 0.9 || off > 1.1 {
			t.Errorf("%d nodes: it took %s, and %s was told", nodes, m.Elapsed, cost.Time)
		}
	}
}

// The output of a test that did not pass is kept, and the verdict is followed by its path. Where all tests
// passed no output is kept.
func TestPairsKeepWhatDidNotPass(t *testing.T) {
	testform.NeedsFull(t, "runs several matrices")
	t.Parallel()
	state := t.TempDir()
	run := func(more ...string) (text, errs string) {
		t.Helper()
		var e bytes.Buffer
		cmd := asProcess(t, append([]string{"pairs", "--rig", "sim", "--nodes", "3", "--speed", "max"}, more...)...)
		cmd.Env, cmd.Stderr = append(cmd.Env, "XDG_STATE_HOME="+state), &e
		if _ = cmd.Run(); !slices.Contains([]int{exitOK, exitFail}, cmd.ProcessState.ExitCode()) {
			t.Fatalf("%s: %s", cmd.ProcessState, e.String())
		}
		files, err := filepath.Glob(filepath.Join(state, "railbench", "logs", "*", "*pairs.log"))
		if err != nil || len(files) > 1 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil || !strings.HasSuffix(e.String(), "output of failed tests: "+f+"\n") {
				t.Errorf("%v: it is not told that %s has them: %s", err, f, e.String())
			}
			text += string(b)
		}
		return text, e.String()
	}
	if text, errs := run(); text != "" || strings.Contains(errs, "failed tests") {
		t.Errorf("all passed, and it says %s, and keeps %s", errs, text)
	}
	text, _ := run("--fault", "slow-rail@spark-03")
	for _, want := range []string{
		"# throughput from spark-03 to spark-01, rail 1: FAIL: ", "\nspark-03:  65536 ", "\nspark-01:  65536 ",
		"\n# client on spark-03: exit 0\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not kept", want)
		}
	}
	if strings.Contains(text, "rail 2") || strings.Contains(text, "spark-02 to spark-01") {
		t.Error("what passed is kept, too")
	}
	if err := os.RemoveAll(filepath.Join(state, "railbench")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "railbench"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := run("--fault", "slow-rail@spark-03"); !strings.Contains(errs,
		"output of failed tests could not be saved: ") {
		t.Errorf("where it can't be kept it says %s", errs)
	}
}

// A node that dies in the middle stops its own pairs alone.
func TestPairsNodeDies(t *testing.T) {
	t.Parallel()
	b, s, p := openPairs(t, 4)
	p.Measured = func(_ *pairs.Matrix, at pairs.Progress) error {
		if at.Round == 1 && !at.Again {
			return b.simRig.Inject("peer-dead@spark-04")
		}
		return nil
	}
	m, err := s.Pairs(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	m.Judge()
	m.Places(func(at pairs.Place, c *pairs.Cell) bool {
		dead := m.Nodes[at.From].Name == "spark-04" || m.Nodes[at.To].Name == "spark-04"
		if !dead && c.State != pairs.Good {
			t.Errorf("%+v: %s: %s", at, c.State, c.Reason)
		}
		return true
	})
	if j := m.Judge(); j.Grade == steps.Pass || !strings.Contains(j.Reason, "spark-04") {
		t.Errorf("%s: %s", j.Grade, j.Reason)
	}
}

// What was interrupted goes on where it was, over the same hardware and with the same settings alone; and
// nothing is left on a node.
func TestPairsGoOn(t *testing.T) {
	t.Parallel()
	b, s, p := openPairs(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Measured = func(m *pairs.Matrix, at pairs.Progress) error {
		if at.Round == 1 {
			if m.Elapsed < time.Second {
				t.Errorf("after a round it says that it took %s", m.Elapsed)
			}
			cancel()
		}
		return nil
	}
	first, err := s.Pairs(ctx, p)
	if err == nil || first == nil || first.Judge().Grade != steps.Inconclusive {
		t.Fatalf("interrupted: %v", err)
	}
	for i, n := range b.options.Nodes {
		out, err := runner.Text(t.Context(), n, runner.Script{Name: "look", Body: "ps -eo args | grep ib_write || true"})
		if err != nil || strings.Contains(out, "ib_write_bw -d") {
			t.Errorf("node %d has %q left: %v", i, out, err)
		}
	}
	text, err := first.JSON("")
	if err != nil {
		t.Fatal(err)
	}
	_, s, p = openPairs(t, 4)
	if p.Known, err = pairs.Read(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	tests := 0
	p.Measured = func(_ *pairs.Matrix, at pairs.Progress) error { tests = at.Tests; return nil }
	m, err := s.Pairs(t.Context(), p)
	if err != nil || m.Judge().Grade != steps.Pass {
		t.Fatalf("it went on: %v: %s", err, m.Judge().Reason)
	}
	if whole := 4 * (12 + 6); tests != whole*2/3 {
		t.Errorf("%d tests of %d were run after a third was known", tests, whole)
	}
	_, s, p = openPairs(t, 3)
	p.Known = first
	if _, err := s.Pairs(t.Context(), p); err == nil || !strings.Contains(err.Error(), "nodes") {
		t.Errorf("it goes on over another rig: %v", err)
	}
}

// The verb pairs: what it announces, what it writes to which file, and what a saved matrix is good for.
func TestPairsVerb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	run := func(status int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		if code := Main(append([]string{"pairs"}, args...), strings.NewReader(""), &o, &e); code != status {
			t.Errorf("%q: status %d: %s", args, code, e.String())
		}
		return o.String(), e.String()
	}
	out, errs := run(exitOK, "--rig", "sim", "--nodes", "3", "--speed", "max", "--dry-run")
	if errs != "" || !strings.Contains(out, "3 pairs of 3 nodes, over 4 rails: 3 rounds of 1 pair, 36 tests") {
		t.Errorf("before: %s%s", out, errs)
	}
	out, _ = run(exitOK, "--rig", "sim", "--nodes", "3", "--speed", "max", "--save", in("a.json"), "--csv", in("a.csv"),
		"--html", in("a.html"))
	for _, want := range []string{
		"rows send, columns receive  SIMULATED", "· █ █", "? not measured", "RoCE MTU 1024",
		"PASS  ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	for name, want := range map[string]string{
		"a.csv": "throughput,spark-02,spark-01,1,", "a.html": "SIMULATED",
		"a.json": `"pairs": 1`,
	} {
		text, err := os.ReadFile(in(name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v: no %q", name, err, want)
		}
	}
	if shown, _ := run(exitOK, "show", in("a.json")); shown != out {
		t.Errorf("what is shown later differs:\n%s", shown)
	}
	run(exitFail, "--rig", "sim", "--nodes", "3", "--speed", "max", "--fault", "slow-rail@spark-03", "--save",
		in("b.json"))
	out, _ = run(exitFail, "compare", in("a.json"), in("b.json"))
	if !strings.Contains(out, "worse") || !strings.Contains(out, "spark-03") || !strings.Contains(out, "FAIL, was PASS") {
		t.Errorf("compared: %s", out)
	}
	run(exitOK, "--rig", "sim", "--speed", "max", "--save", in("two.json"))
	if _, errs := run(exitUsage, "compare", in("a.json"), in("two.json")); !strings.Contains(errs,
		"it has 3 nodes, but the other has 2") {
		t.Errorf("compared with one of two nodes: %s", errs)
	}
	run(exitOK, "compare", in("a.json"), in("a.json"))
	if _, errs := run(exitUsage, "--rig", "sim", "--nodes", "3", "--speed", "max", "--save", in("a.json"), "-p",
		"SIZE=4096"); !strings.Contains(errs, "SIZE=4096") {
		t.Errorf("other settings: %s", errs)
	}
	// A run in which a node was dead goes on once the node is there. Other hardware is reported, and compared
	// all the same.
	run(exitInconclusive, "--rig", "sim", "--nodes", "3", "--speed", "max", "--fault", "peer-dead@spark-03", "--save",
		in("dead.json"))
	run(exitOK, "--rig", "sim", "--nodes", "3", "--speed", "max", "--save", in("dead.json"))
	run(exitInconclusive, "--rig", "ring", "--nodes", "4", "--speed", "max", "--fault", "peer-dead@spark-03", "--save",
		in("ring.json"))
	run(exitOK, "--rig", "ring", "--nodes", "4", "--speed", "max", "--save", in("ring.json"))
	run(exitFail, "--rig", "sim", "--nodes", "3", "--speed", "max", "--fault", "pcie-x2@spark-03", "--save", in("x2.json"))
	out, _ = run(exitFail, "compare", in("a.json"), in("x2.json"))
	if !strings.Contains(out, "other hardware: rail 3 of spark-03 was") || !strings.Contains(out, "FAIL, was PASS") {
		t.Errorf("compared with other hardware: %s", out)
	}
	_, errs = run(exitUsage, "--rig", "sim", "--nodes", "3", "--speed", "max", "--save", in("x2.json"))
	if !strings.Contains(errs, "it cannot be continued: rail 3 of spark-03 was") ||
		!strings.Contains(errs, "Save to another file") {
		t.Errorf("it goes on over other hardware: %s", errs)
	}
	for text, says := range map[string]string{
		"": "is empty or cut off", `{"pairs": 1, "rig"`: "cut off",
		`{"a": 1}`: "no version found",
	} {
		if err := os.WriteFile(in("odd.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs := run(exitUsage, "show", in("odd.json")); !strings.Contains(errs, says) {
			t.Errorf("%q: %s", text, errs)
		}
	}
	run(exitUsage, "--rig", "sim", "--link", "1:2")
	run(exitUsage, "show", in("a.csv"))
}

// A narrow terminal cuts no word: sentences are broken between words, and no line is too wide. PARTNERS: only
// some of the rounds run, which is announced before the run and reported in the verdict. A saved matrix of
// some pairs goes on to all pairs, and figures that another number of partners would leave out are not lost.
func TestPairsOfSome(t *testing.T) {
	testform.NeedsFull(t, "runs several matrices")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "some.json")
	run := func(want int, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main(append([]string{"pairs", "--speed", "max"}, args...), strings.NewReader(""), &out,
			&errs); code != want {
			t.Fatalf("%v: status %d, want %d: %s%s", args, code, want, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	out, errs := run(exitFail, "--rig", "sim", "--nodes", "4", "--partners", "2", "--fault", "slow-rail@spark-03",
		"--save", file)
	const told = "4 pairs of 4 nodes, each with 2 of its 3 others, over 4 rails: 2 rounds of 2 pairs at once, 48 tests"
	if !strings.Contains(errs, told) || !strings.Contains(out, "All traffic to and from spark-03 over rail 1") ||
		!strings.Contains(out, "Each node was measured with 2 of its 3 others") {
		t.Errorf("%s%s", errs, out)
	}
	_, errs = run(exitUsage, "--rig", "sim", "--nodes", "4", "--partners", "1", "--save", file)
	if !strings.Contains(errs, "which is not a pair that PARTNERS=1 measures") {
		t.Error(errs)
	}
	out, errs = run(exitFail, "--rig", "sim", "--nodes", "4", "--fault", "slow-rail@spark-03", "--save", file)
	if strings.Contains(out, "of its 3 others") || !strings.Contains(errs, "round 3 of 3, 2 at once: 24 tests done") {
		t.Errorf("of 72 tests 48 were there: %s%s", errs, out)
	}
	_, errs = run(exitUsage, "--rig", "sim", "--partners", "0")
	if !strings.Contains(errs, "PARTNERS") {
		t.Error(errs)
	}
	out, errs = run(exitOK, "--rig", "ring", "--nodes", "4", "--partners", "2")
	if !strings.Contains(errs, "PARTNERS is ignored: cables join only some pairs") ||
		!strings.Contains(errs, "4 pairs of 4 nodes") || strings.Contains(out, "of its 3 others") {
		t.Errorf("a ring: %s%s", errs, out)
	}
}

func TestPairsOnNarrowTerminals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.json")
	args := []string{
		"pairs", "--rig", "sim", "--speed", "max", "--nodes", "3", "--fault", "slow-rail@spark-03", "--save",
		file,
	}
	if code := Main(args, strings.NewReader(""), io.Discard, io.Discard); code != exitFail {
		t.Fatalf("exit %d", code)
	}
	m, err := pairs.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{24, 41, 60, 80, 200} {
		var out strings.Builder
		if err := plain.Pairs(&out, m, width, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns: a line has %d: %q", width, n, line)
			}
		}
		shown, j := strings.Join(strings.Fields(out.String()), " "), m.Judge()
		for _, text := range []string{j.Brief, j.Causes[0].Text, j.Causes[0].Evidence} {
			if text = strings.Join(strings.Fields(text), " "); !strings.Contains(shown, text) {
				t.Errorf("%d columns: %q is cut: %s", width, text, out.String())
			}
		}
		if strings.Count(shown, j.Causes[0].Evidence) != 1 {
			t.Errorf("%d columns: what it rests on is said twice: %s", width, out.String())
		}
	}
}
