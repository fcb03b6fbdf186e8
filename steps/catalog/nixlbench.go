package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// What GPU memory reaches through host memory on a DGX Spark, Gb/s: the rows of
// the tutorial lie between 2.1 and 4.9 (INVENTORY N3, N5, D17).
const (
	stagedLeast = 1.6
	stagedMost  = 10.0
)

// largeBlock: above it nixlbench divides its counts by large_blk_iter_ftr.
const largeBlock = 1 << 20

// nixlCauses are how nixlbench, NIXL and UCX word a failure. One failure has many
// lines at both ends, and the first pattern that matches counts: causes come
// before what follows from them.
var nixlCauses = []cause{
	{regexp.MustCompile(`error while loading shared libraries`), steps.Fail, "nixlbench on %s does not start, because a library that it needs is not there: ldd says which"},
	{regexp.MustCompile(`unknown command line flag`), steps.Inconclusive, "nixlbench on %s does not know one of the options: is it very old (see nixl-check)?"},
	{regexp.MustCompile(`Invalid runtime`), steps.Inconclusive, "nixlbench on %s does not know this runtime: before 1.1.0 there is only ETCD"},
	{regexp.MustCompile(`illegal value|must be >=|Incorrect buffer size|Total_buffer_size must|iter_factor must`), steps.Inconclusive, "nixlbench on %s refuses the sizes: check the NIXL_… parameters (bytes, without a suffix)"},
	{regexp.MustCompile(`VRAM not supported`), steps.Skipped, "nixlbench on %s was built without CUDA, so it cannot use GPU memory"},
	{regexp.MustCompile(`Incorrect device list`), steps.Inconclusive, "nixlbench on %s was given a --device_list: that is one device for each process, and two rails for one process go into UCX_NET_DEVICES"},
	{regexp.MustCompile(`^CUDA: .*out of memory`), steps.Inconclusive, "the buffer does not fit into the memory of the GPU on %s: set NIXL_VRAM_BUFFER to less"},
	{regexp.MustCompile(`^CUDA: .*no CUDA-capable device`), steps.Skipped, "there is no GPU that CUDA can use on %s"},
	{regexp.MustCompile(`^CUDA: `), steps.Fail, "CUDA failed on %s: is the GPU there (nvidia-smi), and is its memory free?"},
	{regexp.MustCompile(`Failed to allocate \d+ bytes`), steps.Inconclusive, "the buffer does not fit into the memory of %s: set NIXL_DRAM_BUFFER to less"},
	{regexp.MustCompile(`no usable transports/devices`), steps.Fail, "UCX on %s finds none of the rails that it was given: is RDMA there (nixl-check), are the ports up?"},
	{regexp.MustCompile(`no active messages transport|Destination is unreachable`), steps.Fail, "the rails do not reach the other end (seen on %s): do the addresses and GIDs of both ends belong together (see the rail map)?"},
	{regexp.MustCompile(`createBackend failed|Failed to create engine`), steps.Fail, "NIXL's UCX backend did not start on %s (NIXL_ERR_BACKEND): see the lines of UCX, and nixl-check"},
	{regexp.MustCompile(`Please set max locked memory`), steps.Fail, "the buffer could not be registered on %s, because a user may lock too little memory there (ulimit -l): raise memlock in /etc/security/limits.conf, and log in anew"},
	{regexp.MustCompile(`registerMem failed`), steps.Fail, "memory could not be registered on %s: raise the memlock limit (ulimit -l), and look for a bond"},
	{regexp.MustCompile(`Consistency check failed`), steps.Fail, "what arrived on %s is not what was sent"},
	{regexp.MustCompile(`NIXL_ERR_NOT_FOUND`), steps.Fail, "NIXL on %s found no way to the other end (NIXL_ERR_NOT_FOUND): do the UCX versions differ (nixl-check)?"},
	{regexp.MustCompile(`Rank \d+ is greater than or equal`), steps.Inconclusive, "etcd still had the ranks of a run that broke (seen on %s): look for keys that begin with xferbench (etcdctl get --prefix --keys-only xferbench), and delete those of this group"},
	{regexp.MustCompile(`connections to all backends failing|Failed to acquire lock`), steps.Inconclusive, "etcd could not be reached from %s: see the cell etcd"},
	{regexp.MustCompile(`ASIO Connection failed`), steps.Inconclusive, "the target on %s could not reach the initiator: its address, a firewall, or an initiator that ended early"},
	{regexp.MustCompile(`REMOTE_DISCONNECT`), steps.Inconclusive, "the other end died in the middle (seen on %s): look at its last lines, and run it again"},
	{regexp.MustCompile(`Transfer failed`), steps.Fail, "a transfer failed on %s"},
	{regexp.MustCompile(`start_barrier|start barrier`), steps.Inconclusive, "the other end never came (seen on %s), and nixlbench waited for it: look at its last lines, and run it again"},
	{regexp.MustCompile(`ASIO Receive timeout`), steps.Inconclusive, "the other end was silent for 15 s (seen on %s): look at its last lines and at the rail map, and run it again"},
	{regexp.MustCompile(`Timeout waiting|Error in barrier|Failed to synchronize`), steps.Inconclusive, "the two ends lost each other in the middle (seen on %s): one ended, or etcd did; run it again"},
	{regexp.MustCompile(`^NIXL: `), steps.Fail, "NIXL failed on %s"},
}

// endings are error lines of a process that was ended: no finding.
var endings = regexp.MustCompile(`^free\(\): |Ctrl-C`)

// judgeNIXLBench holds a table of nixlbench against what its rails can do, and
// against the bytes that every rail moved. Only a run that both ends ended well
// counts: the initiator prints a row before the target has looked at the data.
func judgeNIXLBench(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	s := r.Stages[0]
	rt, ok := routeOf(c, r, s)
	if !ok {
		rep.add(steps.Inconclusive, "the rails that it uses do not lead from node to node: see the rail map")
		return rep.verdict()
	}
	var rows []parse.NIXLRow
	b := rt.band(r.Rig)
	rt.checkPorts(r.Rig, &rep)
	finish := func(v steps.Verdict) steps.Verdict {
		if len(rows) > 0 {
			v.Tables = append(v.Tables, nixlTable(rows))
			v.Charts = append(v.Charts, nixlChart(c.Title, rt, rows, b))
		}
		return v
	}
	ends, all := nixlEnds(r, s, &rep)
	init, _ := ends[steps.Here].Value.(parse.NIXLBench)
	rows = init.Rows
	if !all {
		if v, skipped := skips(&rep); skipped {
			return v
		}
		return finish(rep.verdict())
	}
	target, _ := ends[steps.Peer].Value.(parse.NIXLBench)
	switch {
	case init.Role == "target" || target.Role == "initiator":
		rep.add(steps.Inconclusive, "the ends are the wrong way round: %s came second and became the target, so nothing was measured as planned; run it again", r.Rig.NameOf(steps.Here))
		return finish(rep.verdict())
	case init.Role != "initiator" || target.Role != "target":
		rep.add(steps.Inconclusive, "nothing shows which end was the initiator: its output is not complete")
		return finish(rep.verdict())
	}
	if !complete(init, &rep) {
		return finish(rep.verdict())
	}
	vram := init.Config["initiator_seg_type"] == "VRAM" || init.Config["target_seg_type"] == "VRAM"
	peak := slices.MaxFunc(rows, func(x, y parse.NIXLRow) int { return cmpFloat(x.GBps, y.GBps) })
	last := rows[len(rows)-1]
	f := nixlFlow(rt, init)
	if f.warned = unavailable(ends); vram {
		f.staged()
	}
	carried := rt.account(r, s, f, &rep)
	lead := ""
	if vram {
		lead = judgeStaged(r, s, rt, peak, last, b, &rep)
	} else {
		lead = judgeNIXLFigure(r, s, rt, peak, last, b, &rep)
	}
	return finish(rep.verdict(lead, carried))
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// skips makes a SKIPPED of a cause that is one: PASS ranks above it.
func skips(rep *report) (steps.Verdict, bool) {
	i := slices.IndexFunc(rep.findings, func(f finding) bool { return f.grade == steps.Skipped })
	if i < 0 || slices.ContainsFunc(rep.findings, func(f finding) bool { return f.grade == steps.Fail }) {
		return steps.Verdict{}, false
	}
	v := rep.verdict()
	return steps.Verdict{Grade: steps.Skipped, Reason: sentences([]string{rep.findings[i].text}), Evidence: v.Evidence}, true
}

// nixlEnds gives the outputs of both ends, where both ran and ended well; ok is
// false where the report says what happened instead.
func nixlEnds(r steps.Result, s steps.Stage, rep *report) (ends [2]steps.Output, ok bool) {
	var seen [2]bool
	var messages []message
	for _, o := range s.Outputs {
		ends[o.End], seen[o.End] = o, true
		v, _ := o.Value.(parse.NIXLBench)
		for _, text := range v.Errors {
			if !endings.MatchString(text) {
				messages = append(messages, message{o.End, text})
			}
		}
	}
	well := seen[steps.Here] && seen[steps.Peer] && s.Err == ""
	for _, o := range s.Outputs {
		well = well && o.Ran && o.Exit.OK()
	}
	if well {
		for _, o := range s.Outputs {
			if o.ParseErr != "" {
				rep.add(steps.Inconclusive, "the output on %s does not parse: %s", r.Rig.NameOf(o.End), o.ParseErr)
				return ends, false
			}
			if _, read := o.Value.(parse.NIXLBench); !read {
				rep.add(steps.Inconclusive, "the output on %s was not read", r.Rig.NameOf(o.End))
				return ends, false
			}
		}
		return ends, true
	}
	defer func() {
		for _, m := range messages {
			rep.show("message on "+r.Rig.NameOf(m.end), m.text, "", nil)
		}
	}()
	explained := explainNIXL(r.Rig, nixlCauses, messages, rep)
	if s.Err != "" {
		hint := ""
		if strings.Contains(s.Err, "nothing was printed") {
			b, _ := ends[steps.Here].Value.(parse.NIXLBench)
			hint = fmt.Sprintf(", after %d rows: UCX does not tell of a link that goes down in the middle, the transfer just stops; look at the rail map, and run it again", len(b.Rows))
		}
		rep.add(steps.Inconclusive, "it stopped: %s%s", s.Err, hint)
	}
	if explained || s.Err != "" {
		return ends, false
	}
	explainExits(r, s, seen, rep)
	return ends, false
}

// explainNIXL finds the cause among all messages.
func explainNIXL(rig steps.Rig, causes []cause, messages []message, rep *report) bool {
	for _, c := range causes {
		for _, m := range messages {
			if c.pattern.MatchString(m.text) {
				text := fmt.Sprintf(c.means, rig.NameOf(m.end))
				rep.note(finding{grade: c.grade, text: capital(text)})
				return true
			}
		}
	}
	return false
}

// explainExits is for an end without a word.
func explainExits(r steps.Result, s steps.Stage, seen [2]bool, rep *report) {
	n := 0
	failed := slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return o.Ran && o.Exit.Why == runner.Ended && !o.Exit.OK() })
	for _, o := range s.Outputs {
		f, bad := trouble(r.Rig, o)
		switch {
		case failed && o.Exit.Why == runner.Cancelled:
			// It was ended because the other one had.
		case bad:
			rep.add(f.grade, "%s", f.text)
			n++
		case o.Exit.Code == 137:
			rep.add(steps.Inconclusive, "the %s on %s was killed (exit 137): did its memory run out (dmesg)?", o.Role, r.Rig.NameOf(o.End))
			n++
		}
	}
	if n > 0 {
		return // what the other end then did follows from it
	}
	for _, o := range s.Outputs {
		if !o.Exit.OK() {
			rep.add(steps.Fail, "the %s on %s ended with %s and no word about why", orUnknown(o.Role), r.Rig.NameOf(o.End), o.Exit)
			n++
		}
	}
	for _, e := range steps.Ends {
		if !seen[e] && n == 0 {
			rep.add(steps.Inconclusive, "nothing ran on %s", r.Rig.NameOf(e))
		}
	}
}

// setting reads a number of the configuration that the initiator printed.
func setting(b parse.NIXLBench, name string) (int, bool) {
	v, err := strconv.Atoi(b.Config[name])
	return v, err == nil && v > 0
}

// complete says whether every block size has its row.
func complete(b parse.NIXLBench, rep *report) bool {
	start, ok1 := setting(b, "start_block_size")
	most, ok2 := setting(b, "max_block_size")
	_, ok3 := setting(b, "num_iter")
	if !ok1 || !ok2 || !ok3 {
		rep.add(steps.Inconclusive, "the initiator did not print its configuration, so nothing shows which rows are missing")
		return false
	}
	firstBatch, mostBatch := 1, 1
	if v, ok := setting(b, "start_batch_size"); ok {
		firstBatch = v
	}
	if v, ok := setting(b, "max_batch_size"); ok {
		mostBatch = v
	}
	want, have := 0, 0
	for size := start; size <= most && want < 4096; size *= 2 {
		for batch := firstBatch; batch <= mostBatch && want < 4096; batch *= 2 {
			want++
			if slices.ContainsFunc(b.Rows, func(r parse.NIXLRow) bool { return r.Bytes == size && r.Batch == batch && r.GBps > 0 }) {
				have++
			}
		}
	}
	rep.show("rows", have, "", &steps.Expected{Min: new(float64(want)), Max: new(float64(want)), From: fmt.Sprintf("block sizes from %s to %s", blockSize(start), blockSize(most))})
	if have == 0 || have < want {
		rep.add(steps.Inconclusive, "the table has %d of its %d rows", have, want)
		return false
	}
	return true
}

// nixlFlow predicts what a whole run moves: each row its iterations and its
// warm-up, a sixteenth of both for large blocks.
func nixlFlow(rt route, b parse.NIXLBench) flow {
	count, _ := setting(b, "num_iter")
	warm, _ := setting(b, "warmup_iter")
	factor := 16 // a constant before 0.5.0
	if v, ok := setting(b, "large_blk_iter_ftr"); ok {
		factor = v
	}
	f := flow{from: steps.Here}
	if b.Config["op_type"] == "READ" {
		f.from = steps.Peer
	}
	times := 0
	for _, r := range b.Rows {
		n := count + warm
		if r.Bytes > largeBlock {
			n = count/factor + warm/factor
		}
		n *= max(r.Batch, 1)
		payload, wire := rt.moves(float64(n), float64(r.Bytes))
		f.payload, f.wire = f.payload+payload, f.wire+wire
		times += n
	}
	f.text = fmt.Sprintf("%d blocks, warm-up included, %s", times, size(f.payload))
	return f
}

// unavailable says that UCX had a rail's name and no such device.
func unavailable(ends [2]steps.Output) string {
	for _, o := range ends {
		v, _ := o.Value.(parse.NIXLBench)
		if s := notThere(v.Warnings); s != "" {
			return s
		}
	}
	return ""
}

var deviceGone = regexp.MustCompile(`network devices? (\S+) (?:is|are) not available`)

func notThere(warnings []string) string {
	for _, w := range warnings {
		if m := deviceGone.FindStringSubmatch(w); m != nil {
			return fmt.Sprintf(" (it only warns that %s is not available): is its port up, is the name right?", strings.ReplaceAll(m[1], "'", ""))
		}
	}
	return ""
}

// blockSize is how nixlbench's sizes are read best: 64 KiB, 8 MiB.
func blockSize(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// bestAndLast tells both, because the last row is not always the peak.
func bestAndLast(peak, last parse.NIXLRow) string {
	switch {
	case peak.Bytes == last.Bytes:
		return fmt.Sprintf("%s with blocks of %s, the largest and the best", gbps(peak.Gbps()), blockSize(last.Bytes))
	case gbps(peak.Gbps()) == gbps(last.Gbps()):
		return fmt.Sprintf("%s with blocks of %s and with the largest (%s)", gbps(peak.Gbps()), blockSize(peak.Bytes), blockSize(last.Bytes))
	}
	return fmt.Sprintf("%s at best, with blocks of %s, and %s with the largest (%s)", gbps(peak.Gbps()), blockSize(peak.Bytes), gbps(last.Gbps()), blockSize(last.Bytes))
}

func showFigures(peak, last parse.NIXLRow, e *steps.Expected, rep *report) {
	rep.show("peak throughput", round(peak.Gbps()), "Gb/s", e)
	rep.show("peak at block size", peak.Bytes, "bytes", nil)
	rep.show("throughput of the largest block", round(last.Gbps()), "Gb/s", nil)
	rep.show("latency of the largest block", last.LatencyUS, "us", nil)
	if last.PostUS > 0 || last.TxUS > 0 {
		rep.show("post of the largest block", last.PostUS, "us", nil)
		rep.show("transfer of the largest block", last.TxUS, "us", nil)
	}
}

// judgeNIXLFigure is for host memory: nearly all that the rails can do.
func judgeNIXLFigure(r steps.Result, s steps.Stage, rt route, peak, last parse.NIXLRow, b band, rep *report) string {
	e := &steps.Expected{From: b.from}
	if b.expected > 0 {
		e.Min, e.Max = new(round(passShare*b.expected)), new(round(overLimit*b.limit))
	} else {
		e.From = "no band: " + b.none
	}
	showFigures(peak, last, e, rep)
	lead := bestAndLast(peak, last)
	if b.expected == 0 {
		return lead + "; there is no band to judge by: " + b.none
	}
	got := peak.Gbps()
	switch share := got / b.expected; {
	case got > overLimit*b.limit:
		rep.add(steps.Inconclusive, "%s is more than the %.1f that %s can carry: did the data take another way?", gbps(got), b.limit, rt)
	case share < warnShare:
		rep.add(steps.Fail, "%s of %.1f (%s): %s", gbps(got), b.expected, b.from, rt.cause(r, s, got))
	case share < passShare:
		rep.add(steps.Warn, "%s of %.1f (%s): %s", gbps(got), b.expected, b.from, rt.cause(r, s, got))
	case last.Gbps() < warnShare*got:
		rep.add(steps.Warn, "it falls from %s to %s with the largest blocks: other traffic, or caches that end there?", gbps(got), gbps(last.Gbps()))
	}
	return lead + fmt.Sprintf(": what %s can do (%.1f: %s)", rt, b.expected, b.from)
}

// judgeStaged is for GPU memory. Where it travels through host memory, a few Gb/s
// are all that there is, and no fault; where it reaches the rails' own rate, the
// adapter reads it by itself.
func judgeStaged(r steps.Result, s steps.Stage, rt route, peak, last parse.NIXLRow, b band, rep *report) string {
	e := &steps.Expected{Min: new(stagedLeast), Max: new(stagedMost), From: "GPU memory through host memory, as the tutorial measured on DGX Spark"}
	got := peak.Gbps()
	direct := b.expected > 0 && got >= warnShare*b.expected
	if direct {
		e = &steps.Expected{Min: new(round(passShare * b.expected)), Max: new(round(overLimit * b.limit)), From: b.from}
	}
	showFigures(peak, last, e, rep)
	lead := bestAndLast(peak, last)
	switch {
	case b.expected > 0 && got > overLimit*b.limit:
		rep.add(steps.Inconclusive, "%s is more than the %.1f that %s can carry: did the data take another way?", gbps(got), b.limit, rt)
	case direct && got < passShare*b.expected:
		rep.add(steps.Warn, "%s of %.1f (%s): %s", gbps(got), b.expected, b.from, rt.cause(r, s, got))
	case direct:
		return lead + ": the adapter reaches the GPU's memory by itself (GPUDirect)"
	case b.expected == 0:
		return lead + "; there is no band to judge by: " + b.none
	case got < stagedLeast:
		rep.add(steps.Fail, "%s from GPU memory, where even through host memory %g to 5 are usual: %s", gbps(got), stagedLeast, rt.cause(r, s, got))
	case got > stagedMost:
		rep.add(steps.Warn, "%s from GPU memory is more than staging on a DGX Spark gives and far less than the %.1f of the rails: see host-staging", gbps(got), b.expected)
	}
	why := ""
	if last.PostUS > last.TxUS && last.TxUS > 0 {
		why = fmt.Sprintf(" (the call takes %.0f us and the rest %.0f: a processor copies)", last.PostUS, last.TxUS)
	}
	return lead + fmt.Sprintf(": host-staged%s, as GPU memory is on hardware without GPUDirect. The rails could do %.0f; memory from cudaHostAlloc gets there", why, b.expected)
}

// nixlTable is what the screen shows of the rows.
func nixlTable(rows []parse.NIXLRow) steps.Table {
	t := steps.Table{Title: "nixlbench", Columns: []steps.Column{{Name: "block"}, {Name: "Gb/s", Number: true}, {Name: "latency us", Number: true}, {Name: "post us", Number: true}, {Name: "tx us", Number: true}}}
	batches := slices.ContainsFunc(rows, func(r parse.NIXLRow) bool { return r.Batch > 1 })
	for _, r := range rows {
		block := blockSize(r.Bytes)
		if batches {
			block += fmt.Sprintf(" x %d", r.Batch)
		}
		t.Rows = append(t.Rows, []string{block, fmt.Sprintf("%.2f", r.Gbps()), fmt.Sprintf("%.1f", r.LatencyUS), measuredUS(r.PostUS), measuredUS(r.TxUS)})
	}
	return t
}

func measuredUS(v float64) string {
	if v == 0 {
		return "" // releases before 0.5.1 don't tell it
	}
	return fmt.Sprintf("%.1f", v)
}

func nixlChart(title string, rt route, rows []parse.NIXLRow, b band) steps.Chart {
	series := steps.Series{Name: rt.String()}
	for _, r := range rows {
		series.Points = append(series.Points, steps.Point{Label: blockSize(r.Bytes), X: float64(r.Bytes), Y: round(r.Gbps())})
	}
	c := steps.Chart{Title: title, Shape: steps.Lines, Unit: "Gb/s", XUnit: "bytes", Series: []steps.Series{series}}
	if b.expected > 0 {
		c.Limits = []steps.Limit{{Name: b.from, Value: round(b.expected)}}
	}
	return c
}

// liveNIXLBench is the table of a run that goes on.
func liveNIXLBench(stdout string) (steps.Table, bool) {
	b, _ := parse.NIXLBenchOutput(stdout)
	return nixlTable(b.Rows), len(b.Rows) > 0
}
