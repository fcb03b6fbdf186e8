package nccl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// The collectives that the cells run.
const (
	allReduce = "all_reduce_perf"
	allGather = "all_gather_perf"
)

// surerCauses are how NCCL and nccl-tests word a failure that others follow from.
// The first group is the host that says so, as nccl-tests and NCCL begin their lines: HOST: or HOST:PID:TID.
var surerCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`([A-Za-z0-9._-]+): Test CUDA failure [^\n]*(?:no CUDA-capable device|driver version is insufficient)`),
		Code:    steps.CannotRun, Grade: steps.Skipped,
		Means: "%[2]s has no GPU that CUDA can use, and NCCL needs GPU memory. Run mpi-launch " +
			"to test the launch alone",
	},
	{
		Pattern: lazyregexp.New(`([A-Za-z0-9._-]+):\d+:\d+ [^\n]*no socket interface found`), Code: steps.NCCLInterfaceWrong,
		Grade: steps.Fail,
		Means: "NCCL on %[2]s finds no interface named in NCCL_SOCKET_IFNAME. Run: " +
			"railbench doctor nccl-settings",
	},
	{
		Pattern: lazyregexp.New(`([A-Za-z0-9._-]+):\d+:\d+ [^\n]*Mismatched NCCL version detected : rank \d+ version (\d)(\d\d)0?(\d+) rank \d+ version (\d)(\d\d)0?(\d+)`),
		Code:    steps.NCCLDiffers, Grade: steps.Fail,
		Means: "the nodes have different NCCL versions, %[3]s.%[4]s.%[5]s and " +
			"%[6]s.%[7]s.%[8]s (reported on %[2]s). Run: railbench doctor nccl-version",
	},
	{
		Pattern: lazyregexp.New(`([A-Za-z0-9._-]+): Test CUDA failure [^\n]*out of memory`), Code: steps.GPUMemoryShort,
		Grade: steps.Inconclusive,
		Means: "the buffers do not fit into the GPU memory of %[2]s. Lower NCCL_BYTES",
	},
	{
		Pattern: lazyregexp.New(`error while loading shared libraries: ([A-Za-z0-9._+-]+)`), Code: steps.LibraryMissing,
		Grade: steps.Fail,
		Means: "nccl-tests lack the library %[2]s (reported on %[1]s). Install it on every " +
			"node, or set LD_LIBRARY_PATH",
	},
}

// ncclCauses are how others are worded, the surest first.
var ncclCauses = slices.Concat(launchCauses, []registry.Cause{
	{
		Pattern: lazyregexp.New(`([A-Za-z0-9._-]+):\d+:\d+ \[\d+\] [^\n]*NCCL WARN ([^\n]{1,160})`), Code: steps.NCCLFailed,
		Grade: steps.Fail,
		Means: "NCCL on %[2]s failed: %[3]s",
	},
	{
		Pattern: lazyregexp.New(`([A-Za-z0-9._-]+): Test NCCL failure \S+ '([^\n]{1,160})`), Code: steps.NCCLFailed,
		Grade: steps.Fail,
		Means: "NCCL on %[2]s failed: %[3]s",
	},
})

// judgeCollective holds a run of nccl-tests on all nodes against the bytes that each half of each
// node's adapter had to carry, and against what such nodes reach.
func judgeCollective(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	t := collective{cell: c, result: r, stage: r.Stages[0], rep: &rep}
	// The launcher ends as a process of it did on any node: only its words say which.
	if s := r.Stages[0]; s.Restarted == nil && len(s.Outputs) == 1 && s.Outputs[0].Ran && !s.Outputs[0].Exit.OK() {
		rep.During(steps.ByEnds)
		if explain(r.Rig, s.Outputs[0], lostCauses, &rep) {
			return rep.Verdict()
		}
		rep.During("")
	}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: t.stage, Ports: t.active(), Rep: &rep, Add: rep.Add}
	_, ok := line.Verify(&t)
	if v, skipped := registry.Skips(&rep); skipped && !ok {
		return v
	}
	v := rep.Verdict(t.lead, t.carried())
	if ok {
		v.Tables, v.Charts = []steps.Table{table(t.run)}, []steps.Chart{t.chart()}
	}
	return v
}

// A collective is one run of one of nccl-tests' programs.
type collective struct {
	cell   steps.Cell
	result steps.Result
	stage  steps.Stage
	rep    *registry.Report

	out  steps.Output
	run  parse.NCCLTest
	lead string
	// halves are what the account found of each half; nil before it.
	halves []half
}

// active are the ports of all nodes that could carry it: those with a link and an address.
func (t *collective) active() (ports []traffic.Port) {
	for i, n := range t.result.Rig.Nodes {
		for j, rail := range n.Rails {
			if rail.State == "ACTIVE" && rail.Addr != "" {
				ports = append(ports, traffic.Port{Node: steps.End(i), Rail: j})
			}
		}
	}
	return ports
}

// used are a node's ports that NCCL said it uses; those that it could use, where it said nothing.
func (t *collective) used(e steps.End) (ports []traffic.Port) {
	net, told := t.net(e, "IB")
	for _, p := range t.active() {
		if p.Node == e && (!told || slices.Contains(net.Devices, t.result.Rig.At(e).Rails[p.Rail].Dev)) {
			ports = append(ports, p)
		}
	}
	return ports
}

// net is what NCCL said that it uses of one kind on a node.
func (t *collective) net(e steps.End, by string) (parse.NCCLNet, bool) {
	for _, n := range t.run.Nets {
		if n.By == by && short(n.Host) == short(t.result.Rig.At(e).Host) {
			return n, true
		}
	}
	return parse.NCCLNet{}, false
}

// Ends: the launcher ended by itself and well, and so did what it started.
func (t *collective) Ends() bool {
	if t.stage.Err != "" {
		t.rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", t.stage.Err)
	}
	if len(t.stage.Outputs) != 1 {
		t.rep.Add(steps.NotRunToEnd, steps.Inconclusive, "%d scripts ran, expected one", len(t.stage.Outputs))
		return false
	}
	t.out = t.stage.Outputs[0]
	if why, ok := unlaunched(t.result.Rig, t.out); ok {
		t.rep.Add(steps.CommandMissing, steps.Skipped, "%s", why)
		return false
	}
	v, _ := t.out.Value.(parse.NCCLTest)
	for _, text := range v.Errors {
		t.rep.Show("message", text, "", nil)
	}
	if _, bad := registry.Trouble(t.result.Rig, t.out); !bad && t.out.ParseErr == "" && wrongValues(v) != "" {
		return t.stage.Err == "" // it ends with a status because of them
	}
	// 127 is a command that isn't there, on whichever node: nothing of NCCL ran.
	if t.out.Ran && !t.out.Exit.OK() && t.out.Exit.Code != 127 && t.failed() {
		t.run = v
		if why := t.unjoined(); why != "" {
			t.rep.Add(steps.RanksUnjoined, steps.Fail, "%s", why)
		}
		return false
	}
	if f, bad := registry.Trouble(t.result.Rig, t.out); bad {
		if n := len(v.Rows); n > 0 {
			if t.out.Exit.Why == runner.TimedOut { // NCCL waits for ever for a node that does something else
				f.Text += " nodes nccl-settings" // behind: Run: railbench doctor
			}
			f.Text += ". It ended after " + registry.Count(n, "row", "rows")
		}
		t.rep.Note(f)
		return false
	}
	return !registry.Exited(t.result, t.out, t.rep) && t.stage.Err == ""
}

// Output: all sizes that were asked for, all values right, a process on each node.
func (t *collective) Output() (ok bool) {
	if t.run, ok = registry.Value[parse.NCCLTest](t.result, t.out, t.rep); !ok {
		return false
	}
	wrong, well := wrongValues(t.run), true
	if wrong != "" {
		t.rep.Add(steps.DataCorrupt, steps.Fail, "%s: memory, an adapter or a GPU corrupts data", wrong)
	}
	for _, text := range t.run.Errors {
		switch {
		case ncclRemark(text): // what NCCL warned of did not end it
			t.rep.Add(steps.NCCLWarns, steps.Warn, "NCCL warned despite a good end: %s", text)
		case wrong == "":
			t.rep.Add(steps.NCCLFailed, steps.Fail, "it ended with status 0 but reported: %s", text)
			well = false
		}
	}
	// It ends with status 0 and a table that is whole, of fewer sizes than were asked for.
	if m := reducedSizes.Regexp().FindStringSubmatch(t.out.Text); m != nil {
		most, _ := strictnum.Count(m[1])
		t.rep.Add(steps.GPUMemoryShort, steps.Inconclusive, "nccl-tests stopped at %s because a GPU had too little memory. "+
			"Free GPU memory, or set NCCL_BYTES to that", registry.BlockSize(most))
		return false
	}
	if code, why := t.strange(); why != "" {
		t.rep.Add(code, steps.Inconclusive, "%s, so its traffic could not be checked", why)
		return false
	}
	if t.run.Differs != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "its table and its -J file contradict each other: %s",
			t.run.Differs)
		return false
	}
	if why := t.notWhole(); why != "" {
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "its output is not from this test: %s", why)
		return false
	}
	if why := cmp.Or(t.notAsked(), t.contradicts()); why != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "its output is not from this test: %s", why)
		return false
	}
	return well && wrong == ""
}

// reducedSizes is nccl-tests' line where the buffers do not fit.
var reducedSizes = lazyregexp.New(`(?m)^# Reducing maxBytes to (\d{1,15}) due to memory`)

// ncclRemark reports whether a complaint is of NCCL's log, which warns of much that it gets over.
func ncclRemark(text string) bool {
	return strings.Contains(text, "NCCL WARN ") || strings.HasPrefix(text, "error: ")
}

// program is the collective that the cell runs.
func (t *collective) program() string {
	for _, name := range []string{allReduce, allGather} {
		if verify.Calls(t.cell, t.out, name) {
			return name
		}
	}
	return ""
}

// number is what the script gave nccl-tests with an option; a size may have a K, M or G behind it.
// As nccl-tests read them, these are of 2^10.
func (t *collective) number(option string) (int, bool) {
	text := verify.Options(t.cell, t.out, t.program())[option]
	shift := 0
	if i := strings.IndexAny(text, "KMG"); i > 0 && i == len(text)-1 {
		shift = map[byte]int{'K': 10, 'M': 20, 'G': 30}[text[i]]
		text = text[:i]
	}
	n, ok := strictnum.Count(text)
	return n << shift, ok
}

// notWhole says what is missing in the output.
func (t *collective) notWhole() string {
	hosts := map[string]bool{}
	for _, k := range t.run.Ranks {
		hosts[short(k.Host)] = true
	}
	n := len(t.result.Rig.Nodes)
	for i := range t.result.Rig.Nodes {
		if e := steps.End(i); !hosts[short(t.result.Rig.At(e).Host)] {
			return fmt.Sprintf("it has no process on %s", t.result.Rig.NameOf(e))
		}
	}
	switch {
	case len(t.run.Ranks) != n || len(hosts) != n:
		return fmt.Sprintf("it lists %d processes on %d nodes, but %d were requested", len(t.run.Ranks), len(hosts), n)
	case t.run.AverageBusGBps == nil:
		return "it ends without an average"
	case t.run.OutOfBounds == nil:
		return "it does not report wrong values"
	case t.run.Version != "" && !t.concluded():
		return "its last line is missing"
	}
	return t.unmeasured()
}

// concluded reports whether the last line is there, which releases have that report their version.
func (t *collective) concluded() bool {
	for line := range strings.Lines(t.out.Text) {
		if strings.TrimSpace(line) == "# Collective test concluded: "+t.program() {
			return true
		}
	}
	return false
}

// strange says which device NCCL named that is not an active rail of its node.
func (t *collective) strange() (steps.Code, string) {
	for i := range t.result.Rig.Nodes {
		e := steps.End(i)
		net, _ := t.net(e, "IB")
		rails := t.result.Rig.At(e).Rails
		for _, dev := range net.Devices {
			if slices.ContainsFunc(t.used(e), func(p traffic.Port) bool { return rails[p.Rail].Dev == dev }) {
				continue
			}
			code, why := steps.NCCLDeviceUnknown, "the rig has no such rail there"
			if at := slices.IndexFunc(rails, func(r steps.Rail) bool { return r.Dev == dev }); at >= 0 && rails[at].Addr == "" {
				code, why = steps.AddressMissing, "that has no IPv4 address (railbench doctor rail-addresses)"
			} else if at >= 0 {
				code, why = steps.PortDown, "its port was "+rails[at].State+" at the last probe"
			}
			return code, fmt.Sprintf("NCCL uses %s on %s, but %s", dev, t.result.Rig.NameOf(e), why)
		}
	}
	return "", ""
}

// unmeasured says which size lacks a figure.
func (t *collective) unmeasured() string {
	for _, row := range t.run.Rows {
		for _, f := range figures(row) {
			switch {
			case f == nil:
				return "a size was not measured out of place and in place"
			case f.Wrong == nil:
				return "its values were not checked (#wrong is N/A)"
			case f.TimeUS <= 0 || f.BusGBps < 0 || f.AlgGBps < 0:
				return fmt.Sprintf("it reports %g us for %s, which is not a result", f.TimeUS, registry.BlockSize(row.Bytes))
			}
		}
	}
	return ""
}

func figures(row parse.NCCLRow) [2]*parse.NCCLFigure {
	return [2]*parse.NCCLFigure{row.OutOfPlace, row.InPlace}
}

// notAsked says what it did otherwise than its script asked for: the program, and every size from
// the first to the last.
func (t *collective) notAsked() string {
	if t.run.Program != "" && t.run.Program != t.program() {
		return fmt.Sprintf("it is %s, but %s was requested", t.run.Program, t.program())
	}
	from, a := t.number("-b")
	to, b := t.number("-e")
	factor, c := t.number("-f")
	if !a || !b || !c || from <= 0 || factor < 2 {
		return "its script does not state its sizes"
	}
	n := 0
	for size := from; size <= to; size *= factor {
		// An all-gather's size is a multiple of all parts of 16 bytes.
		if room := 16 * len(t.result.Rig.Nodes); n >= len(t.run.Rows) || t.run.Rows[n].Bytes > size ||
			t.run.Rows[n].Bytes <= size-room {
			return fmt.Sprintf("size %s is missing, expected %s to %s", registry.BlockSize(size),
				registry.BlockSize(from),
				registry.BlockSize(to))
		}
		n++
	}
	if n == 0 || n != len(t.run.Rows) {
		return fmt.Sprintf("it has %d sizes, but %d were requested", len(t.run.Rows), n)
	}
	return ""
}

// perRank is what each rank sends of a size around a ring, which is what busbw is of algbw, too.
func (t *collective) perRank() float64 {
	n := float64(len(t.result.Rig.Nodes))
	if t.program() == allGather {
		return (n - 1) / n
	}
	return 2 * (n - 1) / n
}

// contradicts says where a row's size and time don't make its bandwidths, or the rows its average.
func (t *collective) contradicts() string {
	sum := 0.0
	for _, row := range t.run.Rows {
		for _, f := range figures(row) {
			made := float64(row.Bytes) / f.TimeUS / 1e3
			// Two decimals of a figure, and at least three digits of the time, or two from 10 s on.
			room := 0.0051 + 0.006*made
			if f.TimeUS >= 1e7 {
				room += 0.05 * made
			}
			// Each link carries up to twice a size, and what rounding leaves open is as much more.
			if math.Abs(made-f.AlgGBps) > room || math.Abs(made*t.perRank()-f.BusGBps) > room*2 {
				return fmt.Sprintf("%s in %s are %.2f GB/s, %.2f on each link, but it reports %.2f and %.2f",
					registry.BlockSize(row.Bytes),
					registry.Microseconds(f.TimeUS), made, made*t.perRank(), f.AlgGBps, f.BusGBps)
			}
			sum += f.BusGBps
		}
	}
	// Two decimals of each row are off by half of the last one at most, and so is their mean.
	average := sum / float64(2*len(t.run.Rows))
	if math.Abs(average-*t.run.AverageBusGBps) > 0.006+0.001*average {
		return fmt.Sprintf("its rows average %.3f GB/s, but it reports %.3f", average, *t.run.AverageBusGBps)
	}
	return ""
}

// wrongValues says of which size most values came out wrong; empty where none did.
func wrongValues(run parse.NCCLTest) string {
	most, of := 0, 0
	for _, row := range run.Rows {
		for _, f := range figures(row) {
			if f != nil && f.Wrong != nil && *f.Wrong > most {
				most, of = *f.Wrong, row.Bytes
			}
		}
	}
	switch {
	case most > 0:
		return fmt.Sprintf("%s of %s had wrong results", registry.Count(most, "value", "values"), registry.BlockSize(of))
	case run.OutOfBounds != nil && *run.OutOfBounds > 0: // how often, not how many
		return registry.Count(*run.OutOfBounds, "measurement has", "measurements have") + " wrong values"
	}
	return ""
}

// chunk is a message of NCCL's as the account takes it, bytes: only the packets in it count.
const chunk = 128 << 10

// moved is what all runs of all sizes together move of their sizes, bytes (common.cu): each size out
// of place and in place, once before it is timed, -n times, and once to look at what came of it;
// the largest and the smallest -w times before all.
func (t *collective) moved() float64 {
	iterations, _ := t.number("-n")
	warmup, _ := t.number("-w")
	sum := 0.0
	for _, row := range t.run.Rows {
		sum += 2 * float64(1+iterations+1) * float64(row.Bytes)
	}
	first, last := t.run.Rows[0].Bytes, t.run.Rows[len(t.run.Rows)-1].Bytes
	return sum + float64(warmup)*float64(first+last)
}

// Flows are what each node had to send to another, by a ring or by a tree: NCCL chooses for each
// size, and doesn't say. Which node is the next one doesn't matter to what each port counts.
func (t *collective) Flows() (flows []traffic.Flow) {
	rig, n := t.result.Rig, len(t.result.Rig.Nodes)
	ring := t.moved() * t.perRank()
	for i := range n {
		from, to := t.used(steps.End(i)), t.used(steps.End((i+1)%n))
		if len(from) == 0 || len(to) == 0 {
			return nil
		}
		mtu := math.MaxInt
		for _, p := range slices.Concat(from, to) {
			mtu = min(mtu, rig.At(p.Node).Rails[p.Rail].MTU) // one that is unknown makes all unknown
		}
		f := traffic.Over(from, to, mtu)
		f.Sharing = traffic.Freely
		f.Writes(ring/chunk, chunk)
		// By rank, as each has another place in the trees; which rank is on which node isn't asked, so the
		// least and the most of any rank hold for all.
		low, high := 1.0, 1.0
		if t.program() == allReduce {
			for k := range n {
				share := treeShare(n, k) / t.perRank()
				low, high = min(low, share), max(high, share)
			}
		}
		f.Least *= low
		f.More = high * limits.NCCLMore.Value()
		f.Text = fmt.Sprintf("%s of %s in sizes of %s to %s on %d nodes", registry.Size(t.moved()),
			strings.TrimSuffix(t.program(), "_perf"),
			registry.BlockSize(t.run.Rows[0].Bytes), registry.BlockSize(t.run.Rows[len(t.run.Rows)-1].Bytes), n)
		flows = append(flows, f)
	}
	return flows
}

// treeShare is what a rank of n sends of a size along NCCL's double tree, in an all-reduce: half of
// it to each neighbour in either tree (ncclGetDtree in NCCL's src/graph/trees.cc).
func treeShare(n, rank int) float64 {
	other := n - 1 - rank // an even number of ranks: the second tree is the first one mirrored
	if n%2 == 1 {
		other = (rank - 1 + n) % n // an odd one: shifted
	}
	return float64(neighbours(n, rank)+neighbours(n, other)) / 2
}

// neighbours is how many ranks a rank is joined to in NCCL's binary tree (ncclGetBtree).
// A rank's lowest bit that is set is its height there: odd ranks are leaves, and rank 0 is the root, with one
// child.
func neighbours(n, rank int) (count int) {
	bit := 1
	for bit < n && rank&bit == 0 {
		bit <<= 1
	}
	if rank == 0 {
		if n > 1 {
			return 1
		}
		return 0
	}
	count = 1 // its parent
	low := bit >> 1
	if low == 0 {
		return count
	}
	count++ // the lower child is always there
	for up := rank + low; low > 0; up = rank + low {
		if up < n {
			return count + 1
		}
		low >>= 1
	}
	return count
}
