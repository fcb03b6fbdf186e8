package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/probe"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// What a new family needs, in one file: a collective around a ring of nodes, which is not a family of railbench. Each
// node sends to the next one, and gets from the one before.

// ringRun is what each node's ring prints.
type ringRun struct {
	Messages, Bytes int
	Gbps            float64
}

func readRing(text string) (r ringRun, err error) {
	if _, err := fmt.Sscanf(text, "ring %d x %d: %f Gb/s", &r.Messages, &r.Bytes, &r.Gbps); err != nil ||
		r.Messages <= 0 || r.Bytes <= 0 {
		return r, errors.Join(parse.ErrNoResult, err)
	}
	return r, nil
}

// readRings is of a log that a user saved, of any number of runs.
func readRings(text string) (all []ringRun, err error) {
	for line := range strings.Lines(text) {
		if r, err := readRing(line); err == nil {
			all = append(all, r)
		}
	}
	if all == nil {
		return nil, parse.ErrNoResult
	}
	return all, nil
}

// judgeRing: every port of the ring sent and received what it had to.
func judgeRing(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	t := ringTest{result: r, rep: &rep}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: r.Stages[0], Rep: &rep, Add: rep.Add}
	if _, ok := line.Verify(&t); !ok {
		return rep.Verdict()
	}
	return rep.Verdict(fmt.Sprintf("%s around %d nodes", registry.Gbps(t.run.Gbps), len(r.Rig.Nodes)))
}

// A ringTest is what the verification stages ask of a ring; the line asks all the rest by itself.
type ringTest struct {
	result  steps.Result
	rep     *registry.Report
	outputs map[steps.End]steps.Output
	run     ringRun
}

func (t *ringTest) Ends() (ok bool) {
	t.outputs, ok = registry.OnBoth(t.result, t.rep)
	return ok && !registry.Exited(t.result, t.outputs[steps.Here], t.rep) &&
		!registry.Exited(t.result, t.outputs[steps.Peer], t.rep)
}

func (t *ringTest) Output() (ok bool) {
	t.run, ok = registry.Value[ringRun](t.result, t.outputs[steps.Here], t.rep)
	return ok
}

func (t *ringTest) Flows() (flows []traffic.Flow) {
	nodes := t.result.Rig.Nodes
	for i := range nodes {
		from, to := traffic.Port{Node: steps.End(i)}, traffic.Port{Node: steps.End((i + 1) % len(nodes))}
		f := traffic.Over([]traffic.Port{from}, []traffic.Port{to}, t.result.Rig.At(from.Node).Rails[0].MTU)
		f.Writes(float64(t.run.Messages), t.run.Bytes)
		flows = append(flows, f)
	}
	return flows
}

func (t *ringTest) Figure(traffic.Accounted) {
	t.rep.Measured(steps.Figure{
		What: steps.Throughput, Value: t.run.Gbps, Unit: "Gb/s", Rails: []int{1}, MessageBytes: t.run.Bytes,
	})
}

func (t *ringTest) Signs() {}

func ringKind() registry.Kind {
	return registry.Kind{
		Parsers:  map[string]registry.Parser{"ring": registry.Reads(readRing)},
		Judges:   map[string]registry.Judge{"ring": registry.Takes[ringRun](judgeRing)},
		Params:   []steps.Param{registry.SizeParam("RING_BYTES", "65536", "size of one message around the ring", 1, 1<<30)},
		Commands: registry.Versioned("ring-tools", "--version", "ring_perf"),
		Tools: []parse.Tool{{
			Name: "ring", Also: []string{"ring_perf"}, Shows: "lines \"ring MESSAGES x BYTES: RATE Gb/s\"",
			Reads: parse.List("ring", readRings),
			Marks: []parse.Mark{parse.Sign(3, `^ring \d+ x \d+: `)},
		}},
		Figures: map[string][]steps.Measure{"ring": {steps.Throughput}},
	}
}

const ringBook = "# Rings {#rings}\n\nAll nodes at once.\n\n## Around {#ring}\n\nWhat goes around.\n\n" +
	"```sh cell=ring on=both parse=ring judge=ring counters needs=ring_perf limit=1m\n" +
	"ring_perf --bytes \"$RING_BYTES\" -d \"$RAIL1_DEV\"\n```\n"

// ringOf is what three nodes' ports count of a ring, and what the two ends printed.
func ringOf(cell steps.Cell) steps.Result {
	rig := kindtest.Spark()
	third := rig.Nodes[steps.Peer]
	third.No, third.Name, third.Host = 2, "spark-03", "spark-03"
	rig.Nodes = append(slices.Clone(rig.Nodes), third)
	s := steps.Stage{Pair: -1}
	for i, n := range rig.Nodes {
		if e := steps.End(i); e <= steps.Peer {
			s.Outputs = append(s.Outputs, kindtest.Read(kindtest.Ran(cell.Roles[0].Name, e, "ring 20000 x 65536: 90.5 Gb/s\n"),
				readRing))
		}
		for j, rail := range n.Rails {
			b := steps.RailBytes{
				End: steps.End(i), Rail: j, Dev: rail.Dev, Known: true, Source: "port_xmit_data",
				Errors: map[string]uint64{},
			}
			if j == 0 {
				b.Tx, b.Rx = kindtest.Wire(rail.MTU), kindtest.Wire(rail.MTU)
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

// A family that no one else knows of is checked, planned, probed for, read and judged.
func TestANewFamily(t *testing.T) {
	all := registry.Merge(registry.Base(), ringKind())
	part, err := runbook.Parse("rings.md", []byte(ringBook))
	if err != nil {
		t.Fatal(err)
	}
	tut := steps.Tutorial{Parts: []steps.Part{part}}
	if err := runbook.Check(tut, all); err != nil {
		t.Error(err)
	}
	if err := runbook.Check(tut, New()); err == nil {
		t.Error("railbench has a ring of its own now: this test needs another name")
	}
	if asked := probe.Script(all.Commands).Vars; asked["TOOLS"] != "ring_perf" ||
		asked["VERSIONS"] != "ring_perf --version" ||
		!slices.Contains(all.Probed(), "ring_perf") {
		t.Errorf("nobody looks for ring_perf: %s", all.Probed())
	}
	node, err := probe.Parse("#railbench node\nx\n#railbench tools\n#railbench end\n", all.Commands)
	if err != nil || node.Tools["ring_perf"] != (steps.Tool{Package: "ring-tools"}) {
		t.Errorf("%+v, %v", node.Tools, err)
	}
	node, err = probe.Parse("#railbench node\nx\n#railbench tools\n/opt/bin/ring_perf\n"+
		"#railbench version ring_perf\n[1.5] ring WARN no hugepages\nring_perf 2.1-rc1\n#railbench end\n", all.Commands)
	if tool := node.Tools["ring_perf"]; err != nil || tool.Path != "/opt/bin/ring_perf" || tool.Version != "2.1-rc1" {
		t.Errorf("%+v, %v", tool, err)
	}
	if got, err := session.CheckParam(all, tut, "ring", "RING_BYTES", "4K"); got != "4096" || err != nil {
		t.Errorf("RING_BYTES is %q, %v", got, err)
	}

	cell := part.Cells[0]
	good := ringOf(cell)
	options := session.Options{Tutorial: tut, Catalog: all, Params: map[string]string{"RING_BYTES": "4096"}}
	planned := session.Plan(options, good.Rig, part.Cells)
	if len(planned) != 2 {
		t.Fatalf("%d scripts are planned", len(planned))
	}
	for _, p := range planned {
		if p.Script.Vars["RING_BYTES"] != "4096" || p.Script.Vars["RAIL1_DEV"] != "rocep1s0f0" {
			t.Errorf("%s reads %v", p.Script.Name, p.Script.Vars)
		}
	}

	value, err := all.Parsers["ring"]("ring 20000 x 65536: 90.5 Gb/s\n", "")
	if err != nil || value != (ringRun{20000, 65536, 90.5}) {
		t.Errorf("read as %+v, %v", value, err)
	}
	v := all.Judges["ring"](cell, good)
	kindtest.Want(t, "a ring", v, steps.Pass, "90.5 Gb/s around 3 nodes")
	if f := v.Measured(steps.Throughput); len(f) != 1 || !slices.Contains(all.Figures["ring"], f[0].What) {
		t.Errorf("figures %+v", f)
	}
	for name, c := range map[string]struct {
		spoil   func(*steps.Result)
		want    steps.Grade
		decided steps.Verification
		words   string
	}{
		"the way back is missing": {
			func(r *steps.Result) { r.Stages[0].Bytes[8].Tx /= 2 }, steps.Inconclusive, steps.ByBytes,
			"rocep1s0f0 on spark-03",
		},
		"another port": {
			func(r *steps.Result) { r.Stages[0].Bytes[9].Tx = 1e9 }, steps.Fail, steps.ByBytes,
			"rocep1s0f1 on spark-03",
		},
		"no output": {
			func(r *steps.Result) { r.Stages[0].Outputs[0].Value = nil }, steps.Inconclusive,
			steps.ByOutput, "could not read the output",
		},
		"one node": {
			func(r *steps.Result) { r.Stages[0].Outputs = r.Stages[0].Outputs[:1] },
			steps.Inconclusive, steps.ByEnds, "nothing ran on spark-01",
		},
		"killed": {
			func(r *steps.Result) { r.Stages[0].Outputs[1].Exit.Code = 137 }, steps.Inconclusive,
			steps.ByEnds, "was killed",
		},
		"lost packets": {
			func(r *steps.Result) { r.Stages[0].Bytes[4].Errors["packet_seq_err"] = 9 }, steps.Warn,
			steps.BySigns, "packet_seq_err +9",
		},
		"pauses": {
			func(r *steps.Result) { r.Stages[0].Bytes[4].Errors["port_xmit_wait"] = 9 }, steps.Warn,
			steps.BySigns, "signalled congestion",
		},
		"heat": {
			func(r *steps.Result) { r.Stages[0].Bytes[4].Degrees = 107 }, steps.Warn, steps.BySigns,
			"107 degrees",
		},
		"not there": {
			func(r *steps.Result) { r.Skip = "spark-01 has no ring_perf." }, steps.Skipped, "",
			"no ring_perf",
		},
	} {
		r := ringOf(cell)
		c.spoil(&r)
		v := all.Judges["ring"](cell, r)
		kindtest.Want(t, name, v, c.want, c.words)
		if v.Decided != c.decided {
			t.Errorf("%s: %q decided, want %q", name, v.Decided, c.decided)
		}
	}
}

// The output of a family's tool is read, and distinguished from all other tools' output, without a cell.
func TestANewFamilysTool(t *testing.T) {
	all := append(slices.Clone(New().Tools), registry.Merge(ringKind()).Tools...)
	saved := "warming up\nring 20000 x 65536: 90.5 Gb/s\nring 10 x 8: 0.1 Gb/s\n"
	names, sure := all.Detect(saved)
	tool, ok := all.Named("ring_perf")
	if !sure || names[0] != "ring" || !ok || tool.Name != "ring" {
		t.Fatalf("%v, %t, %+v", names, sure, tool)
	}
	if o, err := readObject(t, tool, saved); err != nil || len(o.Rows) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := readObject(t, tool, "ring is gone\n"); err == nil || len(o.Rows) > 0 {
		t.Errorf("nothing is read as %+v", o)
	}
}

// Two families that take one name are found when railbench is built, not on a node.
func TestNamesAreTakenOnce(t *testing.T) {
	for name, twice := range map[string]registry.Kind{
		"a parser":    {Parsers: map[string]registry.Parser{"ring": registry.Reads(readRing)}},
		"a parameter": {Params: []steps.Param{registry.PortParam("RING_BYTES", "1", "x")}},
		"a command":   {Commands: registry.Others("x", "ring_perf")},
		"a tool":      {Tools: []parse.Tool{{Name: "another", Also: []string{"ring"}}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken twice", name)
				}
			}()
			registry.Merge(ringKind(), twice)
		}()
	}
}
