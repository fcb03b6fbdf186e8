package notebook

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// came is a session in which cells came to verdicts.
func came(t *testing.T, verdicts map[string]steps.Verdict) *Document {
	t.Helper()
	events := []steps.Event{steps.RigProbed{Rig: rig(false)}}
	for id, v := range verdicts {
		events = append(events, steps.CellStarted{Run: 1, Cell: id, At: began},
			steps.CellEnded{Run: 1, Cell: id, Verdict: v})
	}
	// As a file has it: its numbers are all of one type.
	d, err := Decode(encoded(t, told(t, events...)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func graded(g steps.Grade) map[string]steps.Verdict {
	return map[string]steps.Verdict{"bw": {Grade: g, Reason: "So."}}
}

func TestCompareVerdicts(t *testing.T) {
	for _, c := range []struct {
		a, b steps.Grade
		want Change
	}{
		{steps.Pass, steps.Pass, Same},
		{steps.Pass, steps.Warn, Worse},
		{steps.Pass, steps.Inconclusive, Worse},
		{steps.Pass, steps.Fail, Worse},
		{steps.Warn, steps.Inconclusive, Worse},
		{steps.Inconclusive, steps.Fail, Worse},
		{steps.Fail, steps.Pass, Better},
		{steps.Fail, steps.Inconclusive, Better},
		{steps.Pass, steps.Skipped, Other},
		{steps.Skipped, steps.Fail, Other},
		{steps.Fail, steps.Fail, Same},
	} {
		got := Compare(came(t, graded(c.a)), came(t, graded(c.b)), 5)
		if len(got.Cells) != 1 || got.Cells[0].Change != c.want || (got.Regressions == 1) != (c.want == Worse) {
			t.Errorf("%s to %s: %+v", c.a, c.b, got)
		}
	}
}

func TestCompareFigures(t *testing.T) {
	for _, c := range []struct {
		name, unit string
		a, b       any
		threshold  float64
		want       Change
		percent    float64
	}{
		{"bandwidth", "Gb/s", 100.0, 94.0, 5, Worse, -6},
		{"bandwidth", "Gb/s", 100.0, 95.0, 5, Same, -5}, // the threshold itself is allowed
		{"bandwidth", "Gb/s", 100.0, 96.0, 5, Same, -4},
		{"bandwidth", "Gb/s", 100.0, 106.0, 5, Better, 6},
		{"bandwidth", "Gb/s", 100.0, 99.0, 0, Worse, -1},
		{"bandwidth", "Gb/s", 100.0, 100.0, 0, Same, 0},
		{"bandwidth", "Gb/s", 50.0, 0.0, 5, Worse, -100},
		{"bandwidth", "Gb/s", 0.0, 50.0, 5, Better, 0},
		{"latency, typical", "us", 2.0, 2.2, 5, Worse, 10},
		{"latency, typical", "us", 2.0, 1.8, 5, Better, -10},
		{"round trip", "ms", 1, 2, 5, Worse, 100},
		{"latency, maximum", "us", 2.0, 200.0, 5, Other, 9900},
		{"bytes sent", "bytes", 100, 200, 5, Other, 100},
		{"retransmits", "segments", 3, 9, 5, Other, 200},
		{"streams", "", 4, 4, 5, Same, 0},
	} {
		with := func(v any) *Document {
			return came(t,
				map[string]steps.Verdict{"bw": {
					Grade:    steps.Pass,
					Evidence: []steps.Evidence{{Name: c.name, Unit: c.unit, Value: v}},
				}})
		}
		got := Compare(with(c.a), with(c.b), c.threshold)
		f := got.Cells[0].Figures
		if len(f) != 1 || f[0].Change != c.want || math.Abs(f[0].Percent-c.percent) > 0.01 ||
			(got.Regressions == 1) != (c.want == Worse) {
			t.Errorf("%s from %v to %v %s, threshold %g: %+v", c.name, c.a, c.b, c.unit, c.threshold, got)
		}
		if strings.Contains(got.Text(), "NaN") || strings.Contains(got.Text(), "Inf") {
			t.Error(got.Text())
		}
	}
}

// TestCompareWhatIsAlike: figures are matched by name and unit, and only those.
func TestCompareWhatIsAlike(t *testing.T) {
	rate := func(name, unit string, v any) steps.Evidence { return steps.Evidence{Name: name, Unit: unit, Value: v} }
	a := came(t, map[string]steps.Verdict{"bw": {Grade: steps.Pass, Evidence: []steps.Evidence{
		rate("twice", "Gb/s", 10.0), rate("twice", "Gb/s", 20.0),
		rate("gone", "Gb/s", 1.0), rate("unit", "us", 1.0), rate("word", "", "yes"),
	}}, "hosts": {Grade: steps.Pass}, "summary": {
		Grade:    steps.Pass,
		Evidence: []steps.Evidence{rate("copy", "Gb/s", 10.0)},
	}})
	b := came(t, map[string]steps.Verdict{"bw": {Grade: steps.Pass, Evidence: []steps.Evidence{
		rate("new", "Gb/s", 1.0), rate("twice", "Gb/s", 10.0), rate("unit", "ms", 9.0),
		rate("twice", "Gb/s", 10.0), rate("word", "", "no"), rate("twice", "Gb/s", 1.0),
	}}, "mtu-equal": {Grade: steps.Fail}, "summary": {
		Grade:    steps.Pass,
		Evidence: []steps.Evidence{rate("copy", "Gb/s", 1.0)},
	}})
	c := Compare(a, b, 5)
	if len(c.Cells) != 2 || c.Regressions != 1 || strings.Join(c.OnlyA, " ") != "hosts" ||
		strings.Join(c.OnlyB, " ") != "mtu-equal" {
		t.Fatalf("%+v", c)
	}
	if f := c.Cells[0].Figures; len(f) != 2 || f[0].Change != Same ||
		f[1].A != 20 || f[1].B != 10 || f[1].Change != Worse {
		t.Errorf("%+v", f)
	}
	if f := c.Cells[1].Figures; len(f) != 0 {
		t.Errorf("the summary's figures count twice: %+v", f)
	}
	for _, want := range []string{
		"  twice  20 Gb/s  10 Gb/s  -50.0 %  worse\n",
		"only in A: hosts\n", "only in B: mtu-equal\n", "1 worse, by more than 5 %",
	} {
		if !strings.Contains(c.Text(), want) {
			t.Errorf("there is no %q in %s", want, c.Text())
		}
	}
	page := string(c.HTML())
	all, words := tags(t, strings.TrimPrefix(page, "<!DOCTYPE html>"))
	rows, charts := 0, 0
	for _, x := range all {
		switch {
		case x.attrs["src"] != "" || x.attrs["href"] != "":
			t.Errorf("%v may load something", x)
		case x.name == "tr" && x.attrs["class"] == "worse":
			rows++
		case x.name == "svg":
			charts++
		}
	}
	if rows != 1 || charts != 1 || !strings.Contains(words, "only in A: hosts") ||
		!strings.Contains(words, "1 worse, by more than 5 %") {
		t.Errorf("%d rows are worse and there are %d charts in %s", rows, charts, words)
	}
	text, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(text), `"regressions":1`) ||
		!strings.Contains(string(text), `"change":"worse"`) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestCompareWhatIsNot: other parameters, another system, and simulated sessions are reported.
func TestCompareWhatIsNot(t *testing.T) {
	with := func(size string, v float64, change func(*steps.Rig)) *Document {
		r := rig(false)
		change(&r)
		return told(t, steps.RigProbed{Rig: r},
			steps.ParamsSet{Params: steps.Settings{All: map[string]string{"SIZE": size}}},
			steps.CellStarted{Run: 1, Cell: "bw"},
			steps.CellEnded{Run: 1, Cell: "bw", Verdict: steps.Verdict{
				Grade:    steps.Pass,
				Evidence: []steps.Evidence{{Name: "bandwidth", Unit: "Gb/s", Value: v}},
			}})
	}
	same := func(*steps.Rig) {}
	c := Compare(with("1", 100, same), with("2", 10, same), 5)
	if c.Regressions != 0 || c.Cells[0].Figures[0].Change != Other ||
		!strings.Contains(c.Text(), "bw: it ran with other parameters") || len(c.Notes) != 0 {
		t.Errorf("%+v", c)
	}
	c = Compare(with("1", 100, same), with("1", 100, func(r *steps.Rig) {
		r.Simulated = true
		r.Nodes[steps.Peer].Kernel = "6.17"
		r.Nodes[steps.Here].Tools = map[string]steps.Tool{"ib_write_bw": {Path: "x", Version: "6.99"}}
	}), 5)
	text := c.Text()
	if d := compareVerdicts(t, steps.Pass, steps.Fail, true).Cells[0]; d.Change != Other {
		t.Errorf("a real FAIL after a simulated PASS is %s", d.Change)
	}
	if n := compareVerdicts(t, steps.Pass, steps.Fail, false).Regressions; n != 1 {
		t.Errorf("a FAIL after a PASS: %d regressions", n)
	}
	for _, want := range []string{
		"only one of them is SIMULATED", "spark-01 kernel: 6.14 in A, 6.17 in B",
		"spark-02 ib_write_bw: 6.12 in A, 6.99 in B", "rig lab  SIMULATED",
		"nothing compares: only one of them is SIMULATED",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in %s", want, text)
		}
	}
}

// compareVerdicts compares two sessions of one cell, of which the first may be a simulated one.
func compareVerdicts(t *testing.T, a, b steps.Grade, simulated bool) Comparison {
	t.Helper()
	of := func(g steps.Grade, simulated bool) *Document {
		return told(t, steps.RigProbed{Rig: steps.Rig{Name: "lab", Simulated: simulated}},
			steps.CellStarted{Run: 1, Cell: "bw"},
			steps.CellEnded{Run: 1, Cell: "bw", Verdict: steps.Verdict{Grade: g}})
	}
	return Compare(of(a, simulated), of(b, false), 5)
}

// On a page it is a table and not a picture of one: a fence is broken where it is too wide, and a file's
// texts are not read as Markdown.
func TestCompareAsAPage(t *testing.T) {
	const sent = "rail 1 bytes sent"
	bw := func(gbps float64, bytes, messages float64) *Document {
		return came(t, map[string]steps.Verdict{"bw": {Grade: steps.Pass, Evidence: []steps.Evidence{
			{Name: "rail 1 bandwidth", Value: gbps, Unit: "Gb/s"},
			{Name: sent, Value: bytes, Unit: "bytes"},
			{Name: "messages", Value: messages, Unit: "messages of 65536 bytes"},
		}}})
	}
	c := Compare(bw(92.5, 34632000000, 500000), bw(52.5, 22164480000, 320000), 5)
	c.A.Name, c.B.Name = "lab|[x](y)", "now"
	page := c.Markdown()
	for _, want := range []string{
		"**1 worse, by more than 5 % where it is a figure.**", `lab|\[x\](y)`,
		"  rail 1 bandwidth | 92.5 Gb/s | 52.5 Gb/s | -43.2 % | worse |",
		"| 34.63 GB | 22.16 GB |", "messages of 65536 bytes | 500,000 | 320,000 |", "Rates are of payload",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in %s", want, page)
		}
	}
	if strings.Contains(page, "```") || strings.Contains(page, "00000000") {
		t.Error(page)
	}
}

// What was measured under other conditions is neither better nor worse, and they are named.
func TestCompareUnderOtherConditions(t *testing.T) {
	at := func(f steps.Figure, gbps float64) *Document {
		f.What, f.Value, f.Rails = steps.Throughput, gbps, []int{1}
		return came(t, map[string]steps.Verdict{"bw": {
			Grade: steps.Pass, Evidence: []steps.Evidence{{Name: "rail 1", Value: gbps, Unit: "Gb/s"}},
			Figures: []steps.Figure{f},
		}})
	}
	for name, c := range map[string]struct {
		a, b  steps.Figure
		worse int
		says  string
	}{
		"alike":        {steps.Figure{MTU: 4096}, steps.Figure{MTU: 4096}, 1, "worse"},
		"nobody knows": {steps.Figure{}, steps.Figure{MTU: 4096}, 1, "worse"},
		"another MTU":  {steps.Figure{MTU: 4096}, steps.Figure{MTU: 1024}, 0, "MTU 4096 and 1024"},
		"another size": {
			steps.Figure{MessageBytes: 65536},
			steps.Figure{MessageBytes: 256},
			0,
			"messages of 65536 and 256 bytes",
		},
		"another memory": {steps.Figure{Memory: "DRAM"}, steps.Figure{Memory: "VRAM"}, 0, "memory DRAM and VRAM"},
		"more streams":   {steps.Figure{Streams: 4}, steps.Figure{Streams: 1}, 0, "4 and 1 streams"},
		"the best block": {
			steps.Figure{MessageBytes: 1 << 20, Last: 90},
			steps.Figure{MessageBytes: 1 << 24, Last: 80},
			1,
			"worse",
		},
	} {
		got := Compare(at(c.a, 111), at(c.b, 92), 5)
		if got.Regressions != c.worse || !strings.Contains(got.Text(), c.says) ||
			!strings.Contains(got.Text(), "of payload") {
			t.Errorf("%s: %d worse: %s", name, got.Regressions, got.Text())
		}
	}
}

// Rail 1 of another device is another rail, whatever its number: what it carries is neither better nor worse.
func TestCompareOtherRails(t *testing.T) {
	on := func(pairs []steps.Pair, gbps float64) *Document {
		r := rig(false)
		r.Pairs = pairs
		d, err := Decode(encoded(t, told(t,
			steps.RigProbed{Rig: r},
			steps.CellStarted{Run: 1, Cell: "bw", At: began},
			steps.CellEnded{Run: 1, Cell: "bw", Verdict: steps.Verdict{
				Grade:    steps.Pass,
				Evidence: []steps.Evidence{{Name: "rail 1 bandwidth", Unit: "Gb/s", Value: gbps}},
				Figures:  []steps.Figure{{What: steps.Throughput, Value: gbps, Unit: "Gb/s", Rails: []int{1}}},
			}})))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	both := rig(false).Pairs
	if c := Compare(on(both, 100), on(both, 50), 5); c.Regressions != 1 {
		t.Errorf("the same rail: %+v", c)
	}
	c := Compare(on(both, 100), on(both[1:], 50), 5)
	if c.Regressions != 0 || !strings.Contains(c.Cells[0].Note, "rail 1 was rocep0s0f0 and is rocep1s0f0") ||
		len(c.Cells[0].Figures) != 1 || c.Cells[0].Figures[0].Change != Other {
		t.Errorf("another rail: %+v", c)
	}
}

// Two links may differ in their conditions: each is held against itself.
func TestCompareSeveralLinks(t *testing.T) {
	f := func(mtu int) steps.Figure {
		return steps.Figure{What: steps.Throughput, Value: 92, Unit: "Gb/s", Rails: []int{1}, MTU: mtu}
	}
	both := []steps.Figure{f(4096), f(1024)}
	if why := unlike(steps.Rig{}, steps.Rig{}, both, both); why != "" {
		t.Errorf("a session differs from itself: %s", why)
	}
	if why := unlike(steps.Rig{}, steps.Rig{}, both, []steps.Figure{f(4096), f(2048)}); why != "MTU 1024 and 2048" {
		t.Errorf("got %q", why)
	}
	if why := unlike(steps.Rig{}, steps.Rig{}, both[:1], both); why != "" {
		t.Errorf("a link that is new has nothing to differ from: %s", why)
	}
}
