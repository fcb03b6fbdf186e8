package summary

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/family/nixl"
	"github.com/railbench/railbench/steps/family/perftest"
	"github.com/railbench/railbench/steps/family/tcp"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// families are those whose figures the summary reads.
var families = registry.Merge(registry.Base(), perftest.Kind(), tcp.Kind(), nixl.Kind())

func dualParser(text string) (any, error) { return families.Parsers["dual-link"](text, "") }

// The results of a session, as the judges leave them.
func writes(rig steps.Rig, gbps float64) steps.Outcome {
	r := kindtest.Bandwidth(rig, gbps)
	return steps.Outcome{Cell: kindtest.BwCell, Result: r, Verdict: families.Judges["write-bandwidth"](kindtest.BwCell, r)}
}

func tcpSaid(id string, rig steps.Rig, g steps.Grade, gbps float64, streams int) steps.Outcome {
	rails := []int{1}
	if p, _ := rig.Path(); p.Bonded[steps.Here] {
		rails = nil
	}
	return steps.Outcome{
		Cell: steps.Cell{ID: id}, Result: steps.Result{Rig: rig},
		Verdict: steps.Verdict{Grade: g, Reason: "As measured.", Figures: []steps.Figure{
			{What: steps.Throughput, Value: gbps, Unit: "Gb/s", Streams: streams, Rails: rails},
		}},
	}
}

// benchedCell is what a cell of nixlbench leaves.
func benchedCell(id string, rails []int, rig steps.Rig, peak, last float64, sent map[int]uint64) steps.Outcome {
	s := steps.Stage{Pair: -1}
	for i, rail := range rig.Nodes[steps.Here].Rails {
		s.Bytes = append(s.Bytes, steps.RailBytes{End: steps.Here, Dev: rail.Dev, Rail: i, Tx: sent[i], Known: true})
	}
	return steps.Outcome{
		Cell:   steps.Cell{ID: id},
		Result: steps.Result{Rig: rig, Stages: []steps.Stage{s}},
		Verdict: steps.Verdict{Grade: steps.Pass, Figures: []steps.Figure{
			{What: steps.Throughput, Value: peak, Unit: "Gb/s", MessageBytes: 8 << 20, Last: last, Rails: rails},
		}, Charts: []steps.Chart{{
			Shape: steps.Lines, Unit: "Gb/s", XUnit: "bytes",
			Series: []steps.Series{{Name: "rail", Points: []steps.Point{{X: 65536, Y: 54}, {X: 8 << 20, Y: peak}}}},
		}}},
	}
}

func summaryOf(rig steps.Rig, outcomes ...steps.Outcome) steps.Verdict {
	return summarize(steps.History{Rig: rig, Outcomes: outcomes, Params: map[string]string{"KV_CACHE_GB": "1,4,8"}})
}

func tableOf(t *testing.T, v steps.Verdict, title string) steps.Table {
	t.Helper()
	i := slices.IndexFunc(v.Tables, func(x steps.Table) bool { return x.Title == title })
	if i < 0 {
		t.Fatalf("there is no table %q", title)
	}
	for _, row := range v.Tables[i].Rows {
		if len(row) > len(v.Tables[i].Columns) {
			t.Errorf("%s: %d values for %d columns: %q", title, len(row), len(v.Tables[i].Columns), row)
		}
	}
	return v.Tables[i]
}

// at is the value of a row, which its first words name, in a column.
func at(t *testing.T, table steps.Table, row, column string) string {
	t.Helper()
	j := slices.IndexFunc(table.Columns, func(c steps.Column) bool { return c.Name == column })
	for _, r := range table.Rows {
		if j >= 0 && strings.HasPrefix(r[0], row) {
			return r[j]
		}
	}
	t.Errorf("%s has no %q in %q", table.Title, column, row)
	return ""
}

func TestSummaryOfNothing(t *testing.T) {
	kindtest.Because(t, "no cell ran", summaryOf(kindtest.Spark()), steps.Inconclusive, steps.NothingRan)
	hosts := steps.Outcome{Cell: steps.Cell{ID: "hosts"}, Verdict: steps.Verdict{Grade: steps.Pass}}
	kindtest.Want(t, "no figure", summaryOf(kindtest.Spark(), hosts), steps.Inconclusive, "was measured yet",
		"1 cell: 1 PASS")
}

func TestSummaryPutsFiguresBesideTheLimits(t *testing.T) {
	rig := kindtest.Spark()
	v := summaryOf(rig, writes(rig, 92.5), tcpSaid("tcp-single", rig, steps.Pass, 33.7, 1),
		tcpSaid("tcp-parallel", rig, steps.Warn, 70, 4),
		benchedCell("nixl-dual-dram", []int{1, 2}, rig, 105.4, 105, map[int]uint64{0: 6_090_000_000, 1: 6_090_000_000}),
		benchedCell("nixl-single-dram", []int{1}, rig, 92.5, 92.5, map[int]uint64{0: 12_180_000_000}),
		benchedCell("nixl-halves-dram", []int{1, 3}, rig, 184, 183, map[int]uint64{0: 6_100_000_000, 2: 6_000_000_000}))
	kindtest.Want(t, "a session", v, steps.Pass, "6 cells: 5 PASS, 1 WARN",
		"184.0 Gb/s of 185", "worst is tcp-parallel with WARN")
	rates := tableOf(t, v, "Throughput")
	for _, c := range []struct{ row, column, want string }{
		{"RDMA write, rail 1", "Gb/s", "92.5"},
		{"RDMA write, rail 1", "tutorial Gb/s", "93.4*"},
		{"RDMA write, rail 1", "PCIe Gb/s", "105.4"},
		{"RDMA write, rail 1", "link Gb/s", "185.2"},
		{"RDMA write, rail 1", "measured with", "MTU 1024, 64 KiB"},
		{"RDMA write, rail 4", "cell", "PASS ib-write-bw"},
		{"TCP, 1 stream, rail 1", "Gb/s", "33.7"},
		{"TCP, 4 streams, rail 1", "cell", "WARN tcp-parallel"},
		// Two ports behind one PCIe link, and one port behind two.
		{"nixlbench, two rails", "PCIe Gb/s", "105.4"},
		{"nixlbench, two rails", "link Gb/s", "370.3"},
		{"nixlbench, both PCIe halves", "PCIe Gb/s", "210.8"},
		{"nixlbench, both PCIe halves", "link Gb/s", "185.2"},
		{"NIXL Python, one rail", "Gb/s", "not run"},
		{"NIXL Python, one rail", "cell", "nixl-transfer"},
		{"RDMA write, two rails", "Gb/s", "not run"},
	} {
		if got := at(t, rates, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	kv := tableOf(t, v, "Time to move a KV cache")
	for _, c := range []struct{ row, column, want string }{
		{"nixlbench, one rail", "8 GB ms", "692"},
		{"TCP, 1 stream", "1 GB ms", "237"},
		{"tutorial: one rail", "4 GB ms", "346"},
		{"seen through one rail's PCIe link", "1 GB ms", "76"},
	} {
		if got := at(t, kv, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	matrix := tableOf(t, v, "nixlbench")
	for _, c := range []struct{ row, column, want string }{
		{"two rails", "GB a rail", "6.09 + 6.09"},
		{"two rails", "split", "50/50 %"},
		{"one rail", "GB a rail", "12.18"},
		{"both PCIe halves", "split", "50/50 %"},
		{"both PCIe halves", "at block", "8 MiB"},
		{"GPU, one rail", "best Gb/s", "not run"},
	} {
		if got := at(t, matrix, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	advice := tableOf(t, v, "Which approach for which work")
	for work, words := range map[string]string{
		"KV cache": "NIXL measured: 184.0 Gb/s with nixlbench, both PCIe halves",
		"more than one": "the adapter's two PCIe halves measured: 184.0 Gb/s with nixlbench, both PCIe halves; " +
			"92.5 Gb/s with one: +99 %",
		"NFS":             "several connections (nconnect) measured",
		"what lies in GP": "memory from cudaHostAlloc general advice",
	} {
		if got := at(t, advice, work, "use") + " " + at(t, advice, work, "because"); !strings.HasPrefix(got, words) {
			t.Errorf("%s: %q", work, got)
		}
	}
	said := tableOf(t, v, "The documents' figures")
	if got := at(t, said, "RDMA write, rail 1", "in fact"); !strings.Contains(got, "98.0") {
		t.Errorf("perftest's MiB: %q", got)
	}
	var shapes []steps.Shape
	for _, c := range v.Charts {
		shapes = append(shapes, c.Shape)
	}
	if !slices.Equal(shapes, []steps.Shape{steps.Bars, steps.Lines}) || len(v.Charts[1].Series) != 3 {
		t.Errorf("charts %v", shapes)
	}
	if got := v.Charts[0].Limits; len(got) != 3 || got[1].Value != 105.4 || got[2].Value != 185.1718 {
		t.Errorf("limits %v", got)
	}
	if note := tableOf(t, v, "Latency").Note; !strings.Contains(note, "no chart") {
		t.Errorf("no latency, and the note says %q", note)
	}
}

// What the judges measure is what the summary reads.
func TestSummaryReadsWhatTheJudgesRecord(t *testing.T) {
	rig := kindtest.Spark()
	judged := func(id string, judge steps.Judge, result func(steps.Cell) steps.Result) steps.Outcome {
		c := kindtest.Cell(t, id)
		r := result(c)
		v := judge(c, r)
		if v.Grade != steps.Pass && v.Grade != steps.Warn {
			t.Fatalf("%s: %s: %s", id, v.Grade, v.Reason)
		}
		if len(v.Figures) == 0 {
			t.Fatalf("%s measured nothing", id)
		}
		for _, f := range v.Figures {
			if !slices.Contains(families.Figures[c.Judge], f.What) || f.Value <= 0 || f.Unit == "" || f.MTU == 0 {
				t.Errorf("%s: the family doesn't say that it gives %+v", id, f)
			}
		}
		return steps.Outcome{Cell: c, Result: r, Verdict: v}
	}
	bench := func(seg string, most int, rows []float64, shares map[int]float64) func(steps.Cell) steps.Result {
		return func(c steps.Cell) steps.Result {
			return kindtest.Benched(c, rig, kindtest.Bench(seg, most, rows), shares)
		}
	}
	reads := func(device string, gbps float64, shares map[int]float64) func(steps.Cell) steps.Result {
		return func(c steps.Cell) steps.Result {
			return steps.Result{Rig: rig, Stages: []steps.Stage{kindtest.Transferred(c, rig, -1,
				kindtest.ReadBack(device, 64<<20, 16, gbps, true), kindtest.Served, shares)}}
		}
	}
	v := summaryOf(rig,
		judged("ib-write-bw", families.Judges["write-bandwidth"],
			func(steps.Cell) steps.Result { return kindtest.Bandwidth(rig, 92.5) }),
		judged("ib-write-lat", families.Judges["write-latency"],
			func(steps.Cell) steps.Result { return kindtest.Latency(rig, 1.9, 2.2) }),
		judged("dual-link", families.Judges["dual-link"],
			func(steps.Cell) steps.Result { return kindtest.Dual(rig, kindtest.Healthy(), dualParser) }),
		judged("tcp-single", families.Judges["tcp"], func(steps.Cell) steps.Result { return kindtest.TCP(rig, 33.7, 1, 1) }),
		judged("tcp-parallel", families.Judges["tcp"], func(steps.Cell) steps.Result { return kindtest.TCP(rig, 93, 4, 1) }),
		judged("nixl-transfer", families.Judges["nixl-transfer"], reads("cpu", 88, kindtest.OnlyOne)),
		judged("nixl-transfer-dual", families.Judges["nixl-transfer"], reads("cpu", 93.4, kindtest.Evenly)),
		judged("nixl-transfer-gpu", families.Judges["nixl-transfer"], reads("cuda", 3.5, kindtest.OnlyOne)),
		judged("nixl-latency", families.Judges["nixl-latency"], func(c steps.Cell) steps.Result {
			r := steps.Result{Rig: rig}
			for i := range rig.Pairs {
				r.Stages = append(r.Stages, kindtest.Transferred(c, rig, i, kindtest.Timed(17.4, 16.2, 20.8, 31, 166),
					strings.ReplaceAll(kindtest.Served, "nixl-transfer", "nixl-latency"), map[int]float64{i: 1}))
			}
			return r
		}),
		judged("ucx-perftest", families.Judges["ucx-perftest"], func(c steps.Cell) steps.Result {
			return kindtest.UCXPerftest(c, rig, kindtest.UCXServer("put bandwidth", "host", 64<<20),
				kindtest.UCXClient(500, 64<<20, 92.4), 510)
		}),
		judged("ucx-perftest-gpu", families.Judges["ucx-perftest"], func(c steps.Cell) steps.Result {
			return kindtest.UCXPerftest(c, rig, kindtest.UCXServer("put bandwidth", "cuda", 64<<20),
				kindtest.UCXClient(50, 64<<20, 3.5), 55)
		}),
		judged("nixl-single-dram", families.Judges["nixlbench"],
			bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM, kindtest.OnlyOne)),
		judged("nixl-dual-dram", families.Judges["nixlbench"],
			bench("DRAM", kindtest.DramMax, kindtest.DualDRAM, kindtest.Evenly)),
		judged("nixl-mt", families.Judges["nixlbench"], bench("DRAM", kindtest.DramMax, kindtest.DualDRAM, kindtest.Evenly)),
		judged("nixl-halves-dram", families.Judges["nixlbench"],
			bench("DRAM", kindtest.DramMax, kindtest.Scaled(kindtest.SingleDRAM, 1.98), map[int]float64{0: 0.5, 2: 0.5})),
		judged("nixl-single-vram", families.Judges["nixlbench"],
			bench("VRAM", kindtest.VramMax, kindtest.SingleVRAM, kindtest.OnlyOne)),
		judged("nixl-dual-vram", families.Judges["nixlbench"],
			bench("VRAM", kindtest.VramMax, kindtest.DualVRAM, kindtest.OnlyOne)),
	)
	kindtest.Want(t, "everything", v, steps.Pass, "17 cells")
	for _, title := range []string{"Throughput", "nixlbench"} {
		for _, row := range tableOf(t, v, title).Rows {
			if !strings.ContainsAny(row[1], "0123456789") || !strings.Contains(strings.Join(row, " "), "PASS ") {
				t.Errorf("%s has no figure: %q", title, row)
			}
		}
	}
	matrix := tableOf(t, v, "nixlbench")
	for _, c := range []struct{ row, column, want string }{
		{"GPU, one rail", "best Gb/s", "4.84"},
		{"GPU, one rail", "at block", "8 MiB"},
		{"GPU, one rail", "last row Gb/s", "3.55"},
		{"two rails", "GB a rail", "6.09 + 6.09"},
		{"GPU, two rails", "split", "100/0 %"},
	} {
		if got := at(t, matrix, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	for _, row := range tableOf(t, v, "Latency").Rows {
		if row[1] == notRun && row[0] != "ping" || strings.HasPrefix(row[0], "NIXL") && row[2] != "20.80" {
			t.Errorf("latency: %q", row)
		}
	}
	for _, row := range tableOf(t, v, "Which approach for which work").Rows {
		if row[0] != "small messages" && row[2] != general && !strings.HasPrefix(row[2], "measured: ") {
			t.Errorf("everything was measured, and this is not: %q", row)
		}
	}
	if n := len(v.Charts); n != 3 {
		t.Fatalf("%d charts", n)
	}
	names := ""
	for i, s := range v.Charts[2].Series {
		names += s.Name + "\n"
		for _, o := range v.Charts[2].Series[:i] {
			if coincide(o.Points, s.Points, 1) {
				t.Errorf("%s hides %s", s.Name, o.Name)
			}
		}
	}
	if got := strings.Count(names, "\n") + strings.Count(names, "; "); got != 6 {
		t.Errorf("%d cells in the chart by block size:\n%s", got, names)
	}
}

// Two rails at once are next to what both of them carry, and decide what a second one is good for where NIXL did not
// run.
func TestSummaryOfTwoRails(t *testing.T) {
	rig := kindtest.Spark()
	dual := steps.Outcome{
		Cell: steps.Cell{ID: "dual-link"}, Result: steps.Result{Rig: rig},
		Verdict: steps.Verdict{Grade: steps.Pass, Figures: []steps.Figure{
			{What: steps.Throughput, Value: 105.4, Unit: "Gb/s", Rails: []int{1, 2}},
			{What: steps.Throughput, Value: 185.0, Unit: "Gb/s", Rails: []int{1, 3}},
		}},
	}
	v := summaryOf(rig, writes(rig, 92.5), dual)
	rates := tableOf(t, v, "Throughput")
	for _, c := range []struct{ row, column, want string }{
		{"RDMA write, rails 1 and 2", "Gb/s", "105.4"},
		{"RDMA write, rails 1 and 2", "tutorial Gb/s", "186.8*"},
		{"RDMA write, rails 1 and 2", "PCIe Gb/s", "105.4"},
		{"RDMA write, rails 1 and 3", "PCIe Gb/s", "210.8"},
		{"RDMA write, rails 1 and 3", "link Gb/s", "185.2"},
		{"RDMA write, rails 1 and 3", "tutorial Gb/s", ""},
	} {
		if got := at(t, rates, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	if got := at(t, tableOf(t, v, "Which approach for which work"), "more than one",
		"because"); got != "measured: 185.0 Gb/s with RDMA write, rails 1 and 3; 92.5 Gb/s with one: +100 %" {
		t.Errorf("a second rail: %q", got)
	}
	if got := at(t, tableOf(t, v, "Time to move a KV cache"), "RDMA write, rails 1 and 3", "1 GB ms"); got != "43" {
		t.Errorf("across the halves: %q", got)
	}
}

// What did not pass is shown with a mark, and nothing is made of it.
func TestSummaryUsesOnlyWhatPassed(t *testing.T) {
	rig := kindtest.Spark()
	v := summaryOf(rig, writes(rig, 40), tcpSaid("tcp-single", rig, steps.Inconclusive, 300, 1),
		tcpSaid("tcp-parallel", rig, steps.Pass, 93, 4))
	kindtest.Want(t, "marks", v, steps.Pass, "1 PASS, 1 FAIL, 1 INCONCLUSIVE", "Fastest: TCP, 4 streams",
		"worst is ib-write-bw with FAIL")
	rates := tableOf(t, v, "Throughput")
	for row, text := range map[string]string{
		"RDMA write, rail 2": "✗ 40.0", "TCP, 1 stream": "? 300.0",
		"TCP, 4 streams": "93.0",
	} {
		if got := at(t, rates, row, "Gb/s"); got != text {
			t.Errorf("%s: %q, want %q", row, got, text)
		}
	}
	for _, row := range tableOf(t, v, "Time to move a KV cache").Rows {
		if strings.HasPrefix(row[0], "RDMA") || strings.HasPrefix(row[0], "TCP, 1 stream") {
			t.Errorf("a time was made of %q", row)
		}
	}
	for _, row := range tableOf(t, v, "Which approach for which work").Rows {
		if strings.Contains(row[2], "40.0") || strings.Contains(row[2], "300") {
			t.Errorf("advice rests on %q", row)
		}
	}
	for _, c := range v.Charts {
		for _, p := range points(c) {
			if p.Y == 40 || p.Y == 300 {
				t.Errorf("%s draws %v", c.Title, p)
			}
		}
	}
	for _, e := range v.Evidence {
		if e.Unit == "Gb/s" && !strings.HasPrefix(e.Name, "TCP, 4") {
			t.Errorf("evidence %v", e)
		}
	}
}

func points(c steps.Chart) (all []steps.Point) {
	for _, s := range c.Series {
		all = append(all, s.Points...)
	}
	return all
}

// A test over a bond is next to what the bond's links carry, also when it is gone.
func TestSummaryRemembersTheBond(t *testing.T) {
	both := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	status := steps.Outcome{
		Cell:    steps.Cell{ID: "bond-status"},
		Verdict: steps.Verdict{Grade: steps.Pass, Figures: []steps.Figure{{What: steps.BondMode, Words: "balance-xor"}}},
	}
	v := summaryOf(kindtest.Spark(), status, tcpSaid("tcp-parallel", both, steps.Pass, 93, 4))
	if got := at(t, tableOf(t, v, "Throughput"), "TCP, 4 streams, bond", "link Gb/s"); got != "376.6" {
		t.Errorf("the bond's links: %q", got)
	}
	if got := at(t, tableOf(t, v, "Bond modes"), "2 balance-xor", "TCP over it here"); got != "4 streams 93.0 Gb/s" {
		t.Errorf("over the bond: %q", got)
	}
}

func TestSummaryOfLatencies(t *testing.T) {
	rig := kindtest.TutorialSpark()
	ping := steps.Outcome{
		Cell: steps.Cell{ID: "ping"}, Result: steps.Result{Rig: rig},
		Verdict: steps.Verdict{Grade: steps.Pass, Figures: []steps.Figure{
			{What: steps.RoundTrip, Value: 631, Unit: "us", Rails: []int{1}},
		}},
	}
	nixl := steps.Outcome{
		Cell: steps.Cell{ID: "nixl-latency"}, Result: steps.Result{Rig: rig},
		Verdict: steps.Verdict{Grade: steps.Pass, Figures: []steps.Figure{
			{What: steps.Latency, Value: 11.1, P95: 166.6, P99: 170, Unit: "us", Rails: []int{1}},
		}},
	}
	v := summaryOf(rig, ping, nixl)
	table := tableOf(t, v, "Latency")
	for _, c := range []struct{ row, column, want string }{
		{"ping, rail 1", "typical us", "631"},
		{"NIXL read, 4 KiB, rail 1", "typical us", "11.10"},
		{"NIXL read, 4 KiB, rail 1", "p95 us", "167"},
		{"RDMA write", "typical us", "not run"},
	} {
		if got := at(t, table, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	if len(v.Charts) != 1 || v.Charts[0].Shape != steps.LogBars || len(v.Charts[0].Series[0].Points) != 2 {
		t.Errorf("charts %+v", v.Charts)
	}
}

// On soft-RoCE there is no limit to compare it with.
func TestSummaryWithoutLimits(t *testing.T) {
	rig := kindtest.Virtual()
	v := summaryOf(rig, writes(rig, 0.1))
	if got := at(t, tableOf(t, v, "Throughput"), "RDMA write, rail 1", "PCIe Gb/s"); got != "–" {
		t.Errorf("the ceiling: %q", got)
	}
	for _, c := range v.Charts {
		if len(c.Limits) != 1 {
			t.Errorf("%s has the limits %v", c.Title, c.Limits)
		}
	}
}

// Loads count as the cells that measure: a presentation is made of them. One that did not run has no row.
func TestSummaryCountsLoads(t *testing.T) {
	rig := kindtest.Spark()
	load := func(id string, g steps.Grade, gbps float64, rails ...int) steps.Outcome {
		return steps.Outcome{
			Cell: steps.Cell{ID: id}, Result: steps.Result{Rig: rig},
			Verdict: steps.Verdict{Grade: g, Reason: "As measured.", Figures: []steps.Figure{{
				What: steps.Throughput, Value: gbps, Unit: "Gb/s", Rails: rails, MTU: 1024, MessageBytes: 65536, Memory: "DRAM",
			}}},
		}
	}
	v := summaryOf(rig, load("load-rail", steps.Pass, 92.5, 1), load("load-halves", steps.Pass, 185, 1, 3),
		tcpSaid("load-tcp", rig, steps.Pass, 76.9, 4),
		benchedCell("nixl-single-vram", []int{1}, rig, 4.84, 3.54, map[int]uint64{0: 1 << 30}))
	kindtest.Want(t, "a presentation", v, steps.Pass, "rails 1 and 3, 185.0 Gb/s")
	rates := tableOf(t, v, "Throughput")
	for _, c := range []struct{ row, column, want string }{
		{"load of RDMA writes, rail 1", "Gb/s", "92.5"},
		{"load of RDMA writes, rails 1 and 3", "link Gb/s", "185.2"},
		{"load of TCP, 4 streams", "Gb/s", "76.9"},
	} {
		if got := at(t, rates, c.row, c.column); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
	advice := tableOf(t, v, "Which approach for which work")
	if got := at(t, advice, "more than one rail's rate", "use"); got != "the adapter's two PCIe halves" {
		t.Errorf("two rails: %q", got)
	}
	for _, row := range rates.Rows {
		if row[0] == "load of nixlbench" || strings.Contains(row[len(row)-1], "load-half") {
			t.Errorf("a load that did not run has the row %q", row)
		}
	}
	kindtest.Because(t, "only a load that was stopped",
		summaryOf(rig, steps.Outcome{Cell: steps.Cell{ID: "load-rail"}, Verdict: steps.Verdict{Grade: steps.Inconclusive}}),
		steps.Inconclusive, steps.NothingRan)
}

func TestKVSizes(t *testing.T) {
	for _, c := range []struct {
		list string
		want []float64
		warn bool
	}{
		{"1,4,8", []float64{1, 4, 8}, false},
		{"1, 4, 8, 40, 1", []float64{1, 4, 8, 40}, false},
		{"0.5", []float64{0.5}, false},
		{"", []float64{1, 4, 8}, false},
		{"4,-1,x,NaN,Inf,1e9", []float64{4}, true},
		{"1,2,3,4,5,6,7,8,9", []float64{1, 2, 3, 4, 5, 6, 7, 8}, true},
	} {
		var rep registry.Report
		if got := kvSizes(c.list, &rep); !slices.Equal(got, c.want) || (len(rep.Findings) > 0) != c.warn {
			t.Errorf("%q: %v, %v", c.list, got, rep.Findings)
		}
	}
	rig := kindtest.Spark()
	v := summarize(steps.History{
		Rig: rig, Outcomes: []steps.Outcome{writes(rig, 92.5)},
		Params: map[string]string{"KV_CACHE_GB": "40,x"},
	})
	kindtest.Because(t, "a size that is none", v, steps.Warn, steps.ParameterUnusable)
	if got := at(t, tableOf(t, v, "Time to move a KV cache"), "RDMA write", "40 GB ms"); got != "3459" {
		t.Errorf("40 GB: %q", got)
	}
}

// What a document gives names its source, and its own sums are right.
func TestDocumentsAreSound(t *testing.T) {
	for id, d := range documentedGbps {
		if d.value > 0 && d.source() == "" || d.value == 0 && d.fact == "" {
			t.Errorf("%s: %+v", id, d)
		}
	}
	for _, d := range documentedKV {
		for gb, ms := range d.ms {
			if is := 8000 * gb / d.gbps; math.Abs(is-ms) > 1.2 {
				t.Errorf("%s, %g GB: %g ms, and the rate gives %.1f", d.what, gb, ms, is)
			}
		}
		if documentNames[d.from] == "" {
			t.Errorf("%s is from %q", d.what, d.from)
		}
	}
}

// The fastest figure of a rig that came up with less is not praised as all that there is.
func TestSummaryNamesANarrowLink(t *testing.T) {
	rig := kindtest.Spark()
	for _, e := range steps.Ends {
		for i := range rig.Nodes[e].Rails {
			rig.Nodes[e].Rails[i].PCI.Width = 2
		}
	}
	o := benchedCell("nixl-single-dram", []int{1}, rig, 54, 54, map[int]uint64{0: 1 << 30})
	o.Verdict.Grade = steps.Warn
	kindtest.Want(t, "narrow", summaryOf(rig, o), steps.Pass, "than it can", "(its cell is WARN)")
}
