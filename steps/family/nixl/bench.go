package nixl

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// largeBlock: above it nixlbench divides its counts by large_blk_iter_ftr.
// A block of exactly that size is still one of the small.
const largeBlock = 1 << 20

// noDevice is UCX where a name in UCX_NET_DEVICES is not a device: the rest of what it says follows from that.
var noDevice = registry.Cause{
	Pattern: deviceGone, Code: steps.UCXNoRail, Grade: steps.Fail,
	Means: "UCX on %s has no device %s. Check UCX_NET_DEVICES and the ports (railbench run " +
		"nixl-check)",
}

// nixlCauses are how nixlbench, NIXL and UCX word a failure. One failure has many
// lines at both ends, and the first pattern that matches counts: causes come
// before what follows from them.
var nixlCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`unknown command line flag`), Code: steps.ToolTooOld, Grade: steps.Inconclusive,
		Means: "nixlbench on %s does not know one of the options. Install a newer release " +
			"(railbench run nixl-check)",
	},
	{
		Pattern: lazyregexp.New(`Invalid runtime`), Code: steps.ToolTooOld, Grade: steps.Inconclusive,
		Means: "nixlbench on %s does not know this runtime: before 1.1.0 there is only ETCD",
	},
	{
		Pattern: lazyregexp.New(`illegal value|Invalid value for --|must be >=|Incorrect buffer size|Total_buffer_size must|iter_factor must`),
		Code:    steps.OptionsWrong, Grade: steps.Inconclusive,
		Means: "nixlbench on %s rejects the sizes. Check the NIXL_… parameters (bytes, " +
			"without a suffix)",
	},
	{
		Pattern: lazyregexp.New(`VRAM not supported`), Code: steps.CannotRun, Grade: steps.Skipped,
		Means: "nixlbench on %s was built without CUDA and cannot use GPU memory",
	},
	{
		Pattern: lazyregexp.New(`Incorrect device list`), Code: steps.OptionsWrong, Grade: steps.Inconclusive,
		Means: "nixlbench on %s got a --device_list, which is one device per process. Use " +
			"UCX_NET_DEVICES for two rails",
	},
	{
		Pattern: lazyregexp.New(`^CUDA: .*out of memory`), Code: steps.GPUMemoryShort, Grade: steps.Inconclusive,
		Means: "the buffer does not fit into the memory of the GPU on %s. Use a smaller one: -p " +
			"NIXL_VRAM_BUFFER=1G",
	},
	{
		Pattern: lazyregexp.New(`^CUDA: .*no CUDA-capable device`), Code: steps.CannotRun, Grade: steps.Skipped,
		Means: "no GPU on %s that CUDA can use",
	},
	{
		Pattern: lazyregexp.New(`^CUDA: `), Code: steps.CUDAFailed, Grade: steps.Fail,
		Means: "CUDA failed on %s. Check the GPU and its free memory (nvidia-smi)",
	},
	{
		Pattern: lazyregexp.New(`Failed to allocate \d+ bytes`), Code: steps.MemoryShort, Grade: steps.Inconclusive,
		Means: "the buffer does not fit into the memory of %s. Use a smaller one: -p NIXL_DRAM_BUFFER=1G",
	},
	{
		Pattern: lazyregexp.New(`no usable transports/devices`), Code: steps.UCXNoRail, Grade: steps.Fail,
		Means: "UCX on %s finds none of the given rails. Check the ports and RDMA support " +
			"(railbench run nixl-check)",
	},
	noDevice,
	{
		Pattern: lazyregexp.New(`no active messages transport|Destination is unreachable`),
		Code:    steps.RailUnreachable, Grade: steps.Fail,
		Means: "the rails do not reach the other end (seen on %s). Check addresses and GIDs " +
			"of both ends (railbench doctor arp-flux)",
	},
	{
		Pattern: lazyregexp.New(`Plugin file does not exist: (\S+)`), Code: steps.PluginMissing, Grade: steps.Fail,
		Means: "NIXL on %s lacks a plugin: %s does not exist. Set NIXL_PLUGIN_DIR to its " +
			"folder, or build NIXL with UCX",
	},
	{
		Pattern: lazyregexp.New(`Plugin (?:API version mismatch|initialization failed) for (\S+?):? `),
		Code:    steps.PluginUnfit, Grade: steps.Fail,
		Means: "NIXL on %s cannot use its plugin %s: it is from another release. Build both " +
			"from one tag",
	},
	{
		Pattern: lazyregexp.New(`unsupported backend '([^']*)'`), Code: steps.PluginMissing, Grade: steps.Fail,
		Means: "NIXL on %s finds no plugin for its backend %s. Set NIXL_PLUGIN_DIR to its " +
			"folder",
	},
	{
		Pattern: lazyregexp.New(`Failed to load plugin from (\S+): (.+)`), Code: steps.PluginUnfit, Grade: steps.Fail,
		Means: "NIXL on %s could not load its plugin %s (%s). Install what it needs, or " +
			"rebuild it",
	},
	{
		Pattern: lazyregexp.New(`Error accessing directory ?\(?([^():\s]+)`),
		Code:    steps.PluginMissing, Grade: steps.Fail,
		Means: "NIXL on %s cannot read the plugin folder %s. Set NIXL_PLUGIN_DIR to the " +
			"folder with the plugins",
	},
	{
		Pattern: lazyregexp.New(`createBackend failed|Failed to create engine`),
		Code:    steps.BackendFailed, Grade: steps.Fail,
		Means: "NIXL's UCX backend did not start on %s (NIXL_ERR_BACKEND). Read UCX's " +
			"messages, and see nixl-check",
	},
	{
		Pattern: lazyregexp.New(`Please set max locked memory`), Code: steps.MemlockLow, Grade: steps.Fail,
		Means: "the buffer could not be registered on %s: the memlock limit is too low " +
			"(ulimit -l). Raise it in /etc/security/limits.conf, and log in again",
	},
	{
		Pattern: lazyregexp.New(`registerMem failed`), Code: steps.MemoryUnregistered, Grade: steps.Fail,
		Means: "memory could not be registered on %s. Raise the memlock limit (ulimit -l), " +
			"and look for a bond",
	},
	{
		Pattern: lazyregexp.New(`Consistency check failed`), Code: steps.DataCorrupt, Grade: steps.Fail,
		Means: "data that arrived on %s differs from what was sent",
	},
	{
		Pattern: lazyregexp.New(`NIXL_ERR_NOT_FOUND`), Code: steps.NIXLNoPath, Grade: steps.Fail,
		Means: "NIXL on %s cannot reach the other end (NIXL_ERR_NOT_FOUND). Compare the UCX " +
			"versions (railbench run nixl-check)",
	},
	{
		Pattern: lazyregexp.New(`Rank \d+ is greater than or equal`),
		Code:    steps.EtcdStaleKeys, Grade: steps.Inconclusive,
		Means: "etcd still has the ranks of an aborted run (seen on %s). Delete this group's " +
			"keys (etcdctl get --prefix --keys-only xferbench)",
	},
	{
		Pattern: lazyregexp.New(`connections to all backends failing|Failed to acquire lock`),
		Code:    steps.EtcdUnreachable, Grade: steps.Inconclusive,
		Means: "%s cannot reach etcd. Run: railbench run etcd",
	},
	{
		Pattern: lazyregexp.New(`ASIO Connection failed`), Code: steps.ServerUnreachable, Grade: steps.Inconclusive,
		Means: "the target on %s could not reach the initiator. Run: railbench doctor firewall " +
			"rail-addresses",
	},
	{
		// The initiator takes one target; who came to its port besides is sent away.
		Pattern: lazyregexp.New(`ASIO (?:Read (?:head|data)|Write) failed`),
		Code:    steps.ForeignPeer, Grade: steps.Inconclusive,
		Means: "the end on %s was rejected at nixlbench's port, probably by another run. " +
			"Rerun alone, or change ASIO_PORT",
	},
	silent,
	{
		Pattern: lazyregexp.New(`REMOTE_DISCONNECT`), Code: steps.OtherEndGone, Grade: steps.Inconclusive,
		Means: "%s lost contact with the other end, which ended or cannot be reached. Run: " +
			"railbench run ib-write-bw",
	},
	{
		Pattern: lazyregexp.New(`Transfer failed`), Code: steps.TransferFailed, Grade: steps.Fail,
		Means: "a transfer failed on %s; its output has NIXL's and UCX's messages. Run: " +
			"railbench run ucx-perftest",
	},
	{
		Pattern: lazyregexp.New(`start_barrier|start barrier`), Code: steps.OtherEndGone, Grade: steps.Inconclusive,
		Means: "%s waited, but the other end never started. Read that end's output, and rerun",
	},
	{
		Pattern: lazyregexp.New(`ASIO Receive timeout`), Code: steps.OtherEndGone, Grade: steps.Inconclusive,
		Means: "the other end did not answer %s for 15 s. Run: railbench doctor firewall " +
			"link-up",
	},
	{
		Pattern: lazyregexp.New(`Timeout waiting|Error in barrier|Failed to synchronize`),
		Code:    steps.OtherEndGone, Grade: steps.Inconclusive,
		Means: "the two ends lost contact during the run (seen on %s): one of them or etcd " +
			"ended. Rerun the test",
	},
	{
		Pattern: lazyregexp.New(`NIXL Device API.*(?:not enabled in this build)`),
		Code:    steps.CannotRun, Grade: steps.Skipped,
		Means: "nixlbench on %s was built without UCX's device API (--use_device_api). " +
			"Rebuild it with ucp/api/device and nvcc",
	},
	{
		Pattern: lazyregexp.New(`^Invalid configuration for NIXL Device API: (.*)`),
		Code:    steps.OptionsWrong, Grade: steps.Inconclusive,
		Means: "nixlbench on %s cannot use the device API with these options: %s",
	},
	{
		Pattern: lazyregexp.New(`^NIXL Device API: .* failed: remote error counter`),
		Code:    steps.TransferFailed, Grade: steps.Fail,
		Means: "the GPU's own transfers to %s failed. Read UCX's messages, and run " +
			"ib-write-bw over the same rail",
	},
	{
		Pattern: lazyregexp.New(`^NIXL(?:: | Device API)`), Code: steps.NIXLFailed, Grade: steps.Fail,
		Means: "NIXL failed on %s. Read its messages",
	},
}

// endings are error lines of a process that was ended: no finding. "free(): " begins what glibc
// says of a process whose tear-down went wrong.
var endings = lazyregexp.New(`^free\(\): |Ctrl-C`)

// follows is what an end says because the other one ended. Where railbench ended either,
// it was that.
var follows = lazyregexp.New(`REMOTE_DISCONNECT|Transfer failed|start.barrier|ASIO |Timeout waiting|Error in barrier|` +
	`Failed to synchronize|failed to receive metadata`)

// followed reports whether an end said something because railbench had ended it, or either at its limit.
func followed(s steps.Stage, o steps.Output, text string) bool {
	return (limited(s) || o.Exit.Why != runner.Ended) && follows.Regexp().MatchString(text)
}

// limited reports whether an end of a stage reached its limit.
func limited(s steps.Stage) bool {
	return slices.ContainsFunc(s.Outputs, func(o steps.Output) bool { return o.Exit.Why == runner.TimedOut })
}

// judgeNIXLBench holds a table of nixlbench against what its rails can do, and
// against the bytes that every rail moved. Only a run that both ends ended well
// counts: the initiator prints a row before the target has looked at the data.
func judgeNIXLBench(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	s := r.Stages[0]
	rt, ok := traffic.RouteOf(c, r, s)
	if !ok {
		rep.Add(steps.NoRail, steps.Inconclusive,
			"the rails of this cell do not connect the nodes. Run: railbench run rail-map")
		return rep.Verdict()
	}
	rt.CheckPorts(r.Rig, &rep)
	t := benchTest{cell: c, result: r, stage: s, route: rt, rep: &rep}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: s, Ports: rt.Ports(), Rep: &rep, Add: rep.Add}
	account, ok := line.Verify(&t)
	if v, skipped := registry.Skips(&rep); skipped && !ok {
		return v
	}
	v := rep.Verdict(t.lead, account.Carried(steps.Here))
	// What there is of a table is shown however the run ended: the row that is missing says
	// where it stopped.
	if init, _ := t.ends[steps.Here].Value.(parse.NIXLBench); len(init.Rows) > 0 {
		v.Tables = append(v.Tables, nixlTable(init.Rows))
		// the rows have blocks of many sizes
		v.Charts = append(v.Charts, nixlChart(c.Title, carriers(rt, account), init, rt.Band(r.Rig, 0, 0)))
	}
	return v
}

// A benchTest is one run of nixlbench.
type benchTest struct {
	cell   steps.Cell
	result steps.Result
	stage  steps.Stage
	route  traffic.Route
	rep    *registry.Report

	ends [2]steps.Output
	init parse.NIXLBench // what the initiator printed
	flow traffic.Flow
	lead string
	// staged: the rows are of GPU memory that is copied through host memory, as their rate shows.
	staged bool
}

// Ends: only a run that both ends ended well counts.
func (t *benchTest) Ends() (ok bool) {
	t.ends, ok = benchEnds(t.result, t.stage, t.rep, t.route.Ports()...)
	return ok
}

// Output: the roles are as the script has them, and the initiator's table is whole.
func (t *benchTest) Output() bool {
	if !allRead(t.result.Rig, t.stage, t.rep) {
		return false
	}
	t.init, _ = t.ends[steps.Here].Value.(parse.NIXLBench)
	target, _ := t.ends[steps.Peer].Value.(parse.NIXLBench)
	switch {
	// nixlbench gives the roles by who registers first, not by an option: where the script's
	// order was not kept, the bytes went the other way.
	case t.init.Role == "target" || target.Role == "initiator":
		t.rep.Add(steps.RolesSwapped, steps.Inconclusive, "%s started second and became the target, so the direction is "+
			"reversed. Rerun the test", t.result.Rig.NameOf(steps.Here))
		return false
	case t.init.Role != "initiator" || target.Role != "target":
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the initiator's output is incomplete")
		return false
	case len(target.Rows) > 0:
		t.rep.Add(steps.OutputForeign, steps.Inconclusive,
			"%s printed rows, which a target never does: its output is from another run", t.result.Rig.NameOf(steps.Peer))
		return false
	}
	if !Complete(t.init, t.rep) {
		return false
	}
	seconds := 0.0 // without the warm-up
	for _, r := range t.init.Rows {
		n := orNone(t.init, "num_iter")
		if r.Bytes > largeBlock {
			n /= cmp.Or(orNone(t.init, "large_blk_iter_ftr"), 16)
		}
		if r.GBps > 0 {
			seconds += float64(n) * float64(max(r.Batch, 1)) * float64(r.Bytes) / r.GBps / 1e9
		}
	}
	if why := cmp.Or(t.notAsked(), contradicts(t.init), otherGroup(t.init, target),
		verify.TooShort(t.ends[steps.Here], seconds)); why != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the initiator's output is not this test's: %s", why)
		return false
	}
	return true
}

// otherGroup says that an end was registered in a group of another size than the two of a test.
func otherGroup(ends ...parse.NIXLBench) string {
	for _, b := range ends {
		if b.Items > 0 && b.Items != len(ends) {
			return fmt.Sprintf("the %s was one of %d processes instead of %d", b.Role, b.Items, len(ends))
		}
	}
	return ""
}

// counts are rounded up to what threads can share, so that they aren't what was asked for.
var counts = []string{"num_iter", "warmup_iter"}

// notAsked names an option that the script gave and that has another value in the initiator's configuration.
// UCX_NET_DEVICES and UCX_TLS are not options: the counters show what came of those.
func (t *benchTest) notAsked() string {
	options := verify.Options(t.cell, t.ends[steps.Here], "nixlbench")
	for _, option := range slices.Sorted(maps.Keys(options)) {
		name := strings.TrimLeft(option, "-")
		// With the device API it prints what --num_threads gives under another name.
		if name == "num_threads" && t.init.Config["device_block_threads"] != "" {
			name = "device_block_threads"
			options["--"+name] = options[option]
			option = "--" + name
		}
		if has, told := t.init.Config[name]; told && has != options[option] && !slices.Contains(counts, name) {
			return fmt.Sprintf("it ran with %s %s, but %s was requested", name, has, options[option])
		}
	}
	for _, d := range unasked {
		_, given := options["--"+d.name]
		if has, told := t.init.Config[d.name]; told && !given && !strings.EqualFold(has, d.value) {
			return fmt.Sprintf("it ran with %s %s, but %s was expected", d.name, has, d.value)
		}
	}
	return ""
}

// unasked are nixlbench's own values of options that make another test of it, where a script gives none.
var unasked = []struct{ name, value string }{
	{"backend", "UCX"},
	{"worker_type", "nixl"},
	{"scheme", "pairwise"},
	{"device_list", "all"},
	{"num_threads", "1"},
	{"use_device_api", "0"},
	{"mode", "SG"},
	{"num_initiator_dev", "1"},
	{"num_target_dev", "1"},
	{"pipeline_depth", "1"},
}

// contradicts says where a row's latency doesn't make its bandwidth: a block takes as long as the
// threads together take for theirs. Before 1.1.0 the time was divided by all threads' blocks.
func contradicts(b parse.NIXLBench) string {
	if orNone(b, "pipeline_depth") > 1 {
		return unlikeTail(b.Rows) // blocks wait for each other
	}
	threads := float64(max(1, orNone(b, "num_threads")))
	for _, r := range b.Rows {
		one := float64(r.Bytes) / r.GBps / 1e3
		apart := func(us float64) bool { return math.Abs(us-r.LatencyUS) > 0.02*us+1 }
		if apart(one) && apart(one*threads) {
			return fmt.Sprintf("blocks of %s in %s each are %s, but it reports %s", registry.BlockSize(r.Bytes),
				registry.Microseconds(r.LatencyUS), registry.Gbps(float64(r.Bytes)*threads*8/r.LatencyUS/1e3),
				registry.Gbps(r.Gbps()))
		}
	}
	return unlikeTail(b.Rows)
}

// unlikeTail says where a 99th percentile is not a part of its average: one of a hundred that takes a hundred times
// the average is all of it already. Averages have one decimal, and the percentiles none.
func unlikeTail(rows []parse.NIXLRow) string {
	for _, r := range rows {
		for _, of := range []struct {
			what      string
			mean, p99 *float64
		}{{"prepared", r.PrepUS, r.PrepP99US}, {"posted", r.PostUS, r.PostP99US}, {"transferred", r.TxUS, r.TxP99US}} {
			mean, p99 := parse.OrZero(of.mean), parse.OrZero(of.p99)
			if p99-1 > 100*(mean+0.1) {
				return fmt.Sprintf("blocks of %s took %s %s on average, but 1 %% of them took %s, which does not "+
					"fit",
					registry.BlockSize(r.Bytes), of.what, registry.Microseconds(mean), registry.Microseconds(p99))
			}
		}
	}
	return ""
}

func (t *benchTest) vram() bool {
	return t.init.Config["initiator_seg_type"] == "VRAM" || t.init.Config["target_seg_type"] == "VRAM"
}

// Flows are one: what every row moved.
func (t *benchTest) Flows() []traffic.Flow {
	t.flow = BenchFlow(t.route, t.init)
	if t.flow.Warned = Unavailable(t.ends); t.vram() {
		t.flow.Staged()
	}
	return []traffic.Flow{t.flow}
}

// fastest is the best of some rows; there is one at least.
func fastest(rows []parse.NIXLRow) parse.NIXLRow {
	return slices.MaxFunc(rows, func(x, y parse.NIXLRow) int { return cmp.Compare(x.GBps, y.GBps) })
}

// judged is the row that is held against the rails. It is the best; but where that is one of small blocks, which have
// no band, and is nothing that large ones could not reach, the best of those: rails that lose packets are as slow with
// all.
func (t *benchTest) judged(rows []parse.NIXLRow) parse.NIXLRow {
	peak := fastest(rows)
	large := slices.DeleteFunc(slices.Clone(rows),
		func(r parse.NIXLRow) bool { return float64(r.Bytes) < limits.LeastBlock.Value() })
	if t.vram() || float64(peak.Bytes) >= limits.LeastBlock.Value() || len(large) == 0 {
		return peak
	}
	best := fastest(large)
	f := verify.Figure{Got: rate.GBps(peak.GBps).Gbps(), Band: t.route.Band(t.result.Rig, best.Bytes, t.flow.Payload)}
	if s := f.Standing(); s == limits.Impossible || s == limits.Unseen {
		return peak
	}
	return best
}

// Figure is the best row.
func (t *benchTest) Figure(traffic.Accounted) {
	rows := t.init.Rows
	peak := t.judged(rows)
	last := rows[len(rows)-1]
	figure := t.route.Measured(steps.Throughput, "Gb/s")
	figure.Value, figure.MessageBytes, figure.Last = registry.Round(peak.Gbps()), peak.Bytes, registry.Round(last.Gbps())
	figure.Memory = segment(t.vram())
	held := verify.Figure{
		Got: rate.GBps(peak.GBps).Gbps(), Band: t.route.Band(t.result.Rig, peak.Bytes, t.flow.Payload), Of: t.route.String(),
		Over:  " over " + t.route.String(),
		Cause: func() (string, steps.Code) { return t.route.Cause(t.result, t.stage, peak.Gbps(), besideUCX) },
	}
	unified := limits.Unified(t.result.Rig, t.route.Pairs...)
	_, most, _ := stagedBand()
	figure.Staged = t.vram() && unified && held.Band.None == "" && !direct(held) && float64(held.Got) <= most
	t.rep.Measured(figure)
	if mode := t.init.Config["device_api_mode"]; mode != "" || t.init.Config["use_device_api"] == "1" {
		mode = cmp.Or(mode, "unknown mode")
		t.rep.Show("device API mode", mode, "", nil)
		t.rep.Add(steps.NoLimitKnown, steps.Warn, "it ran with the device API (%s), for which no measurement exists. The "+
			"expected range is for runs without it", mode)
	}
	if t.vram() {
		t.staged = !direct(held)
		t.lead = judgeStaged(held, unified, rows, peak, t.rep)
	} else {
		t.lead = judgeNIXLFigure(held, rows, peak, t.rep)
	}
}

// Signs: rows that fall behind, and blocks of which one in a hundred takes much longer.
func (t *benchTest) Signs() {
	target, _ := t.ends[steps.Peer].Value.(parse.NIXLBench)
	otherUCX(t.result, t.rep, t.rep.Add, [2]parse.UCXLog{t.init.UCXLog, target.UCXLog})
	uneven(t.init.Rows, fastest(t.init.Rows), t.staged, t.rep)
	slowest(t.init.Rows, t.rep)
}

// slowest looks for large blocks of which one in a hundred takes much longer than the others do.
func slowest(rows []parse.NIXLRow, rep *registry.Report) {
	for _, r := range rows {
		usual := parse.OrZero(r.PostUS) + parse.OrZero(r.TxUS)
		tail := max(parse.OrZero(r.PostP99US), parse.OrZero(r.TxP99US))
		if float64(r.Bytes) >= limits.LeastBlock.Value() && usual > 0 &&
			tail > limits.BlockTail.Value()*usual {
			rep.Add(steps.LatencyTail, steps.Warn, "1 %% of the blocks of %s take %s or longer, %s is usual. Check power "+
				"saving (cpufreq), pauses and other traffic", registry.BlockSize(r.Bytes), registry.Microseconds(tail),
				registry.Microseconds(usual))
			return
		}
	}
}

// segment is nixlbench's word for a memory.
func segment(gpu bool) string {
	if gpu {
		return "VRAM"
	}
	return "DRAM"
}

// BenchEnds gives the outputs of both ends, where both ran, ended well and were read; ok is
// false where the report says what happened instead.
// ports are looked at for a link that went down meanwhile, which explains whatever the ends say.
func BenchEnds(r steps.Result, s steps.Stage, rep *registry.Report, ports ...traffic.Port) (ends [2]steps.Output,
	ok bool,
) {
	if f, known := verify.First(r.Rig, s, ports...); known {
		for _, o := range s.Outputs {
			ends[o.End] = o
		}
		rep.Add(f.Code, f.Grade, "%s", registry.Capital(f.Text))
		return ends, false
	}
	if ends, ok = benchEnds(r, s, rep, ports...); !ok {
		return ends, false
	}
	return ends, allRead(r.Rig, s, rep)
}

// benchEnds is BenchEnds for ends of which none was killed, and no link went down.
func benchEnds(
	r steps.Result, s steps.Stage, rep *registry.Report, ports ...traffic.Port,
) (ends [2]steps.Output, ok bool) {
	var messages []registry.Message
	for _, o := range s.Outputs {
		ends[o.End] = o
	}
	for _, o := range verify.Speak(s) {
		v, _ := o.Value.(parse.NIXLBench)
		for _, text := range v.Errors {
			if !endings.Regexp().MatchString(text) && !followed(s, o, text) {
				messages = append(messages, registry.Message{End: o.End, Text: text})
			}
		}
		if !o.Exit.OK() {
			messages = append(messages, unknownDevices(o, v.Warnings)...)
		}
	}
	seen, well := endedWell(s)
	// Releases before 1.0 end with status 0 although the data is wrong: what they say counts.
	explained := explainNIXL(r.Rig, s, nixlCauses, messages, rep)
	if well && !explained {
		return ends, true
	}
	// Every message goes on record, whatever is said of them: one failure has many lines.
	defer func() {
		for _, m := range messages {
			rep.Show("message on "+r.Rig.NameOf(m.End), m.Text, "", nil)
		}
	}()
	if s.Err != "" {
		code, hint := steps.NotRunToEnd, ""
		// A link that was seen to go down ends the run at once, so it was none.
		if s.Stalled {
			b, _ := ends[steps.Here].Value.(parse.NIXLBench)
			code = steps.TestStalled
			hint = fmt.Sprintf(", after %d rows. Run: railbench doctor firewall path-loss", len(b.Rows))
		}
		rep.Add(code, steps.Inconclusive, "not completed: %s%s", s.Err, hint)
	}
	if explained || s.Err != "" {
		return ends, false
	}
	explainExits(r, s, seen, rep, ports...)
	return ends, false
}

// allRead reports whether the output of each end was read. The target prints no figure, and
// yet has to be read: of a WRITE only it sees the data that arrived.
func allRead(rig steps.Rig, s steps.Stage, rep *registry.Report) bool {
	for _, o := range s.Outputs {
		if o.ParseErr != "" {
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the output on %s could not be parsed: %s", rig.NameOf(o.End),
				o.ParseErr)
			return false
		}
		if _, read := o.Value.(parse.NIXLBench); !read {
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the output on %s was not read", rig.NameOf(o.End))
			return false
		}
	}
	return true
}

// explainNIXL finds the cause among all messages, of whichever end: causes in the outer loop,
// because the end that fails first is often not the one that says why. It reports whether one
// was found, and adds no more than one.
func explainNIXL(rig steps.Rig, s steps.Stage, causes []registry.Cause, messages []registry.Message,
	rep *registry.Report,
) bool {
	for _, c := range causes {
		// Its place among the causes is fixed, and its meaning depends on the stage.
		if c.Pattern == silent.Pattern {
			c = unanswered(rig, s)
		}
		for _, m := range messages {
			found := c.Pattern.Regexp().FindStringSubmatch(m.Text)
			if found == nil {
				continue
			}
			args := []any{rig.NameOf(m.End)}
			for _, part := range found[1:] {
				args = append(args, part)
			}
			args = args[:min(len(args), strings.Count(c.Means, "%s"))]
			rep.Note(registry.Finding{Code: c.Code, Grade: c.Grade, Text: registry.Capital(fmt.Sprintf(c.Means, args...))})
			if c.Pattern == silent.Pattern {
				rep.Explain(silentWhy)
			}
			return true
		}
	}
	return false
}

// lastWords reports the ends that failed, each with its last line. failed: an end did by itself.
func lastWords(r steps.Result, s steps.Stage, failed bool, rep *registry.Report) (any bool) {
	for _, o := range s.Outputs {
		if o.Exit.OK() || failed && o.Exit.Why == runner.Cancelled {
			continue
		}
		any = true
		if said := registry.LastLine(o.Text); said == "" {
			rep.Add(steps.ScriptFailed, steps.Fail, "the %s on %s ended with %s and printed no reason",
				registry.OrUnknown(o.Role), r.Rig.NameOf(o.End), o.Exit)
		} else {
			rep.Add(steps.ScriptFailed, steps.Fail, "the %s on %s ended with %s. Its last line: %s",
				registry.OrUnknown(o.Role), r.Rig.NameOf(o.End), o.Exit, said)
		}
	}
	return any
}

// explainExits is for an end that printed nothing. An end that railbench ended because the other had failed
// is not a finding, and with trouble at one end the other's status follows from it. For an end that reached
// its time limit, the finding also reports what the ports carried until then.
func explainExits(r steps.Result, s steps.Stage, seen [2]bool, rep *registry.Report, ports ...traffic.Port) {
	n := 0
	failed := slices.ContainsFunc(s.Outputs, func(o steps.Output) bool {
		return o.Ran && o.Exit.Why == runner.Ended &&
			!o.Exit.OK()
	})
	for _, o := range s.Outputs {
		f, bad := registry.Trouble(r.Rig, o)
		switch {
		case failed && o.Exit.Why == runner.Cancelled:
			// It was ended because the other one had.
		case bad:
			reached := ""
			if n == 0 && o.Exit.Why == runner.TimedOut {
				reached = verify.Reached(r.Rig, s, ports...)
			}
			rep.Add(f.Code, f.Grade, "%s%s", f.Text, reached)
			n++
		}
	}
	if n > 0 {
		return // what the other end then did follows from it
	}
	if lastWords(r, s, failed, rep) {
		installedUCX(r.Rig, rep)
		return
	}
	for _, e := range steps.Ends {
		if !seen[e] {
			rep.Add(steps.NotRunHere, steps.Inconclusive, "nothing ran on %s", r.Rig.NameOf(e))
		}
	}
}

// setting reads a number of the configuration that the initiator printed. What isn't above 0 is not a setting: it
// would divide or multiply a prediction.
func setting(b parse.NIXLBench, name string) (int, bool) {
	v, ok := strictnum.Count(b.Config[name])
	return v, ok && v > 0
}

// orNone is a setting, or 0 where there is none.
func orNone(b parse.NIXLBench, name string) int {
	v, ok := setting(b, name)
	if !ok {
		return 0
	}
	return v
}

// Complete reports whether every block size has its row, of each batch size: nixlbench doubles
// both. A run that ended in the middle has a good-looking table, and its bytes would be
// predicted from those rows alone.
func Complete(b parse.NIXLBench, rep *registry.Report) bool {
	start, ok1 := setting(b, "start_block_size")
	most, ok2 := setting(b, "max_block_size")
	_, ok3 := setting(b, "num_iter")
	if !ok1 || !ok2 || !ok3 {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive,
			"the initiator did not print its configuration, so missing rows cannot be seen")
		return false
	}
	firstBatch, mostBatch := cmp.Or(orNone(b, "start_batch_size"), 1), cmp.Or(orNone(b, "max_batch_size"), 1)
	if firstBatch > mostBatch || start > most {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the initiator's configuration has no row: blocks of %d to %d "+
			"bytes, %d to %d at once", start, most, firstBatch, mostBatch)
		return false
	}
	// Bounded, as the configuration is what a tool printed: doubling may never pass its end.
	want, have := 0, 0
	for size := start; size <= most && want < 4096; size *= 2 {
		for batch := firstBatch; batch <= mostBatch && want < 4096; batch *= 2 {
			want++
			if slices.ContainsFunc(b.Rows, func(r parse.NIXLRow) bool {
				return r.Bytes == size && r.Batch == batch &&
					r.GBps > 0
			}) {
				have++
			}
		}
	}
	for i := range b.Rows[min(1, len(b.Rows)):] {
		if before, row := b.Rows[i], b.Rows[i+1]; row.Bytes < before.Bytes {
			rep.Add(steps.OutputForeign, steps.Inconclusive, "the table has rows of several runs: %s follows %s",
				registry.BlockSize(row.Bytes), registry.BlockSize(before.Bytes))
			return false
		}
	}
	rep.Show("rows", have, "", &steps.Expected{
		Min: new(float64(want)), Max: new(float64(want)),
		From: fmt.Sprintf("block sizes %s to %s", registry.BlockSize(start), registry.BlockSize(most)),
	})
	if have == 0 || have < want {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the table has only %d of its %d rows", have, want)
		return false
	}
	return true
}

// BenchFlow predicts what a whole run moves: each row its iterations and its
// warm-up, a sixteenth of both for large blocks.
func BenchFlow(rt traffic.Route, b parse.NIXLBench) traffic.Flow {
	count, _ := setting(b, "num_iter")
	warm, _ := setting(b, "warmup_iter") // 0 is allowed, and is not a setting
	factor := 16                         // a constant before 0.5.0
	if v, ok := setting(b, "large_blk_iter_ftr"); ok {
		factor = v
	}
	f, move := rt.Flow(steps.Here), (*traffic.Flow).Writes
	if b.Config["op_type"] == "READ" {
		f, move = rt.Flow(steps.Peer), (*traffic.Flow).Reads
	}
	times := 0
	for _, r := range b.Rows {
		n := count + warm
		if r.Bytes > largeBlock {
			n = count/factor + warm/factor // whole numbers, each by itself, as nixlbench divides
		}
		n *= max(r.Batch, 1)
		move(&f, float64(n), r.Bytes)
		times += n
	}
	f.Text = fmt.Sprintf("%d blocks with warm-up, %s", times, registry.Size(f.Payload))
	return f
}

// Unavailable says that UCX had a rail's name and no such device. To UCX that is a warning: it
// goes on with what is left, and half of the bytes are missing on a rail.
// nixlbench then ends with status 0 and a table that looks well.
func Unavailable(ends [2]steps.Output) string {
	for _, o := range ends {
		v, _ := o.Value.(parse.NIXLBench)
		if s := notThere(v.Warnings); s != "" {
			return s
		}
	}
	return ""
}

var deviceGone = lazyregexp.New(`network devices? (\S+) (?:is|are) not available`)

// unknownDevices are the warnings about devices that UCX was given and does not have.
func unknownDevices(o steps.Output, warnings []string) (all []registry.Message) {
	for _, text := range warnings {
		if deviceGone.Regexp().MatchString(text) {
			all = append(all, registry.Message{End: o.End, Text: text})
		}
	}
	return all
}

func notThere(warnings []string) string {
	for _, w := range warnings {
		if m := deviceGone.Regexp().FindStringSubmatch(w); m != nil {
			return fmt.Sprintf(". It only warned that %s is not available: check its port and name",
				strings.ReplaceAll(m[1], "'", ""))
		}
	}
	return ""
}

// bestAndLast reports both, because the last row is not always the peak.
func bestAndLast(peak, last parse.NIXLRow) string {
	switch {
	case peak.Bytes == last.Bytes:
		return fmt.Sprintf("%s with blocks of %s", registry.Gbps(peak.Gbps()),
			registry.BlockSize(last.Bytes))
	case registry.Gbps(peak.Gbps()) == registry.Gbps(last.Gbps()):
		return fmt.Sprintf("%s with blocks of %s and %s", registry.Gbps(peak.Gbps()),
			registry.BlockSize(peak.Bytes), registry.BlockSize(last.Bytes))
	}
	return fmt.Sprintf("%s with blocks of %s, %s with %s", registry.Gbps(peak.Gbps()),
		registry.BlockSize(peak.Bytes), registry.Gbps(last.Gbps()), registry.BlockSize(last.Bytes))
}

// showFigures puts the peak and the largest block on record; the tutorial quotes the one here
// and the other there.
func showFigures(peak, last parse.NIXLRow, e *steps.Expected, rep *registry.Report) {
	rep.Show("peak throughput", registry.Round(peak.Gbps()), "Gb/s", e)
	rep.Show("peak at block size", peak.Bytes, "bytes", nil)
	rep.Show("throughput of the largest block", registry.Round(last.Gbps()), "Gb/s", nil)
	rep.Show("latency of the largest block", last.LatencyUS, "us", nil)
	if last.PostUS != nil {
		rep.Show("post of the largest block", *last.PostUS, "us", nil)
	}
	if last.TxUS != nil {
		rep.Show("transfer of the largest block", *last.TxUS, "us", nil)
	}
}

// judgeNIXLFigure is for host memory: nearly all that the rails can do.
func judgeNIXLFigure(f verify.Figure, rows []parse.NIXLRow, peak parse.NIXLRow, rep *registry.Report) string {
	last := rows[len(rows)-1]
	showFigures(peak, last, f.Expected(), rep)
	lead := bestAndLast(peak, last)
	f.Judge(rep.Add)
	if f.Band.None != "" {
		return lead
	}
	return lead + ", " + f.Range()
}

// uneven looks for large blocks that are much slower than the best: a good row hides them.
// Rows of staged GPU memory differ as much as the measured ones.
func uneven(rows []parse.NIXLRow, peak parse.NIXLRow, staged bool, rep *registry.Report) {
	least, share := peak, limits.WarnShare.Value()
	if staged {
		share = limits.StagedGPU.Low() / limits.StagedGPU.High()
	}
	for _, r := range rows {
		if float64(r.Bytes) >= limits.LeastBlock.Value() && r.GBps < least.GBps {
			least = r
		}
	}
	switch {
	case least.GBps >= share*peak.GBps && !staged && float64(peak.Bytes) < limits.LeastBlock.Value() &&
		fastestLarge(rows) < limits.PassShare.Value()*peak.GBps:
		rep.Add(steps.BlocksUneven, steps.Warn, "blocks of %s reached %s, more than any large block (%s). Check for other "+
			"traffic, and rerun", registry.BlockSize(peak.Bytes), registry.Gbps(peak.Gbps()),
			registry.Gbps(8*fastestLarge(rows)))
	case least.GBps >= share*peak.GBps:
	case least.Bytes > peak.Bytes:
		rep.Add(steps.BlocksUneven, steps.Warn, "throughput falls from %s to %s with blocks of %s. Check for other traffic",
			registry.Gbps(peak.Gbps()), registry.Gbps(least.Gbps()), registry.BlockSize(least.Bytes))
	default:
		rep.Add(steps.BlocksUneven, steps.Warn, "blocks of %s reached only %s, but blocks of %s reached %s. Check for other "+
			"traffic, and rerun", registry.BlockSize(least.Bytes), registry.Gbps(least.Gbps()),
			registry.BlockSize(peak.Bytes),
			registry.Gbps(peak.Gbps()))
	}
}

// fastestLarge is the best of the rows that have a band, GB/s.
func fastestLarge(rows []parse.NIXLRow) (most float64) {
	for _, r := range rows {
		if float64(r.Bytes) >= limits.LeastBlock.Value() {
			most = max(most, r.GBps)
		}
	}
	return most
}

// stagedBand is what GPU memory reaches through host memory, as far as that was measured,
// with the room that railbench allows around it, Gb/s.
func stagedBand() (least, most float64, e *steps.Expected) {
	g, room := limits.StagedGPU, limits.StagedRoom.Value()
	least, most = g.Low()/room, g.High()*room
	return least, most, &steps.Expected{
		Min: new(registry.Round(g.Low())), Max: new(registry.Round(most)),
		From: "GPU memory staged through host memory: " + g.Entry().Says() + ", with a factor of two " +
			"allowed above and before it fails",
	}
}

// judgeStaged is for GPU memory: the rows next to what staged says of the best.
func judgeStaged(f verify.Figure, unified bool, rows []parse.NIXLRow, peak parse.NIXLRow, rep *registry.Report) string {
	last := rows[len(rows)-1]
	why := ""
	if post, tx := parse.OrZero(last.PostUS), parse.OrZero(last.TxUS); post > tx && tx > 0 {
		why = fmt.Sprintf(" (call %.0f us, rest %.0f us: copied inside the call)", post, tx)
	}
	lead, e := staged(f, unified, bestAndLast(peak, last), why, rep)
	showFigures(peak, last, e, rep)
	return lead
}

// staged judges a figure of GPU memory, and gives what a verdict leads with and what was expected.
// Where the memory travels through host memory, a few Gb/s are all that there is, and no fault;
// where it reaches the rails' own rate, the adapter reads it by itself. why is what else shows
// that a processor copies.
// unified is true on machines where staging was measured.
func staged(f verify.Figure, unified bool, lead, why string, rep *registry.Report) (string, *steps.Expected) {
	b, got := f.Band, f.Got
	least, most, e := stagedBand()
	if direct(f) {
		e = f.Expected()
	}
	switch {
	case direct(f) || b.None != "" || f.Standing() == limits.Impossible:
		f.Judge(rep.Add)
		if f.Standing() == limits.Good {
			lead += ". The adapter reads GPU memory directly (GPUDirect)"
		}
		return lead, e
	case !unified:
		notStaged(f, e, rep)
		return lead, e
	case float64(got) < least:
		why, code := f.Cause()
		rep.Add(code, steps.Fail, "%s from GPU memory, expected at least %.1f. %s",
			registry.Gbps(float64(got)), least, why)
	case float64(got) < limits.StagedGPU.Low():
		rep.Add(steps.BelowLimit, steps.Warn, "%s from GPU memory is less than any measured (%s). Check the processors and "+
			"other traffic, and rerun", registry.Gbps(float64(got)), limits.StagedGPU.Entry().Figures())
	case float64(got) > most:
		rep.Add(steps.GPUPathUnclear, steps.Warn, "%s from GPU memory is more than staging reaches (%s) but far below the "+
			"rails' %.1f. Run: railbench run host-staging", registry.Gbps(float64(got)),
			limits.StagedGPU.Entry().Figures(),
			b.Expected)
	}
	rep.Explain("Without GPUDirect, GPU memory is copied through host memory (%s)%s", limits.StagedGPU.Entry().Says(), why)
	rep.Explain("%s", hostMemory(b))
	return fmt.Sprintf("%s; host-staged, expected %.1f to %.1f", lead, limits.StagedGPU.Low(), most), e
}

// direct reports whether the adapter reads GPU memory by itself: no output says so, but the rate shows it.
func direct(f verify.Figure) bool {
	return f.Band.Expected > 0 && float64(f.Got) >= limits.WarnShare.Value()*float64(f.Band.Expected)
}

// notStaged is for GPU memory at far less than the rails carry, on a machine where staging was never measured.
func notStaged(f verify.Figure, e *steps.Expected, rep *registry.Report) {
	e.Min, e.Max, e.From = nil, nil, "no expected range: staging was measured on DGX Spark only"
	rep.Add(steps.GPUPathUnclear, steps.Warn, "%s from GPU memory, far below the %.1f of host memory: GPUDirect is "+
		"probably off. Load nvidia-peermem, then run: railbench run host-staging", registry.Gbps(float64(f.Got)),
		float64(f.Band.Expected))
}

// nixlTable is what the screen shows of the rows, what is read first on the left: a narrow screen
// has its last columns on a key.
func nixlTable(rows []parse.NIXLRow) steps.Table {
	t := steps.Table{Title: "nixlbench", Columns: []steps.Column{
		{Name: "block"},
		{Name: "Gb/s", Number: true},
		{Name: "latency us", Number: true},
		{Name: "post us", Number: true},
		{Name: "tx us", Number: true},
	}}
	tails := slices.ContainsFunc(rows, func(r parse.NIXLRow) bool { return r.PostP99US != nil || r.TxP99US != nil })
	if tails {
		t.Columns = append(t.Columns, steps.Column{Name: "post p99 us", Number: true},
			steps.Column{Name: "tx p99 us", Number: true})
	}
	batches := slices.ContainsFunc(rows, func(r parse.NIXLRow) bool { return r.Batch > 1 })
	for _, r := range rows {
		block := registry.BlockSize(r.Bytes)
		if batches {
			block += fmt.Sprintf(" x %d", r.Batch)
		}
		row := []string{
			block, fmt.Sprintf("%.2f", r.Gbps()), fmt.Sprintf("%.1f", r.LatencyUS),
			measuredUS(r.PostUS), measuredUS(r.TxUS),
		}
		if tails {
			row = append(row, measuredUS(r.PostP99US), measuredUS(r.TxP99US))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func measuredUS(v *float64) string {
	if v == nil {
		return "" // releases before 0.5.1 don't report it
	}
	return fmt.Sprintf("%.1f", *v)
}

// carriers names the rails of a run: where UCX used one of several it is not a curve of all of them.
func carriers(rt traffic.Route, account traffic.Accounted) string {
	p, alone := account.Alone(steps.Here)
	if !alone {
		return rt.String()
	}
	for i, pair := range rt.Pairs {
		if pair.Rails[steps.Here] == p.Rail {
			return fmt.Sprintf("rail %d, of %s", rt.Nos[i], rt)
		}
	}
	return rt.String()
}

func nixlChart(title, rails string, init parse.NIXLBench, b limits.Band) steps.Chart {
	series := steps.Series{Name: rails}
	for _, r := range init.Rows {
		series.Points = append(series.Points, steps.Point{
			Label: registry.BlockSize(r.Bytes), X: float64(r.Bytes),
			Y: registry.Round(r.Gbps()),
		})
	}
	c := steps.Chart{Title: title, Shape: steps.Lines, Unit: "Gb/s", XUnit: "bytes", Series: []steps.Series{series}}
	if b.Expected > 0 {
		c.Limits = []steps.Limit{{Name: b.From, Value: registry.Round(float64(b.Expected))}}
	}
	return c
}

// liveNIXLBench is the table of a run that goes on: what was printed so far is not a result yet, so the parser's
// error says nothing here.
func liveNIXLBench(stdout string) (steps.Table, bool) {
	b, _ := parse.NIXLBenchOutput(stdout)
	return nixlTable(b.Rows), len(b.Rows) > 0
}
