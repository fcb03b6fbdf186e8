package nixl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// Installed reports whether a fact about a tool names a path.
func Installed(facts map[string]string, tool string) bool {
	where := facts["tool "+tool]
	return where != "" && where != "missing"
}

// judgeNIXLCheck: what is there, whether it is the same on both nodes, and whether UCX can use the rails and the GPU.
// Without any NIXL on either node it is SKIPPED: a rig is not a worse for it.
func judgeNIXLCheck(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	outputs, _ := registry.OnBoth(r, &rep)
	var setups [2]parse.NIXLSetup
	var release, python, ucx [2]string
	var read [2]bool
	broken := false // a nixlbench that doesn't start reports no release, and is there all the same
	for _, e := range steps.Ends {
		o, ok := outputs[e]
		if !ok || registry.Exited(r, o, &rep) {
			continue
		}
		if setups[e], read[e] = registry.Value[parse.NIXLSetup](r, o, &rep); !read[e] {
			continue
		}
		s := setups[e]
		node := r.Rig.NameOf(e)
		release[e] = benchRelease(node, s, &rep)
		broken = broken || s.Facts["nixlbench error"] != ""
		python[e] = pythonRelease(node, s, &rep)
		ucx[e] = s.UCX.Version
		rep.ShowAt(node, "nixlbench", OrMissing(s.Facts["tool nixlbench"]), "", nil)
		rep.ShowAt(node, "UCX library", registry.OrUnknown(s.UCX.Library), "", nil)
	}
	if !read[steps.Here] || !read[steps.Peer] {
		return rep.Verdict()
	}
	if release == [2]string{} && python == [2]string{} && !broken {
		return rep.Skipped(steps.CannotRun, "%s", noNIXL(setups[steps.Here]))
	}
	if !broken {
		same(r, &rep, steps.NIXLDiffers, "nixlbench", release, "An option that only one end knows ends the other",
			"Build it on both nodes from one tag")
	}
	same(r, &rep, steps.NIXLDiffers, "NIXL for Python", python, "The two agents may be incompatible",
		"Install one version on both nodes: pip install nixl[cu13]")
	same(r, &rep, steps.UCXDiffers, "UCX", ucx, "NIXL then fails with NIXL_ERR_NOT_FOUND",
		"Install one version of UCX on both nodes")
	for _, e := range steps.Ends {
		judgeUCX(r, e, setups[e], &rep)
	}
	rails := ""
	if len(r.Rig.Pairs) > 0 {
		rails = "UCX has rc on every rail"
	}
	return rep.Verdict("both nodes have the same: "+had([]versions{
		{"nixlbench", [2]string{ByOptions(release[steps.Here])}}, {"NIXL for Python", python}, {"UCX", ucx},
	}), rails)
}

// ByOptions words the release of a nixlbench: it prints none, and two builds may have the same options.
func ByOptions(release string) string {
	if release == "" {
		return ""
	}
	return release + " (by its options)"
}

func noNIXL(here parse.NIXLSetup) string {
	why := "NIXL is not installed on either node (no nixlbench, no Python package " +
		"nixl[cu13])"
	if p := here.Python; p != nil && p.Error != "" {
		why += ". Python reports: " + p.Error
	}
	return why
}

// pythonRelease is that of a node's NIXL for Python; empty where it has none.
func pythonRelease(node string, s parse.NIXLSetup, rep *registry.Report) string {
	switch {
	case s.Python == nil:
		return ""
	case s.Python.Error != "":
		rep.ShowAt(node, "NIXL for Python", s.Python.Error, "", nil)
		return ""
	}
	rep.ShowAt(node, "NIXL for Python", s.Python.Path, "", nil)
	return registry.OrUnknown(s.Python.NIXL)
}

// benchRelease is the release of a node's nixlbench, and reports what is wrong with it; empty where the node
// has none. The release follows from the options that nixlbench knows.
func benchRelease(node string, s parse.NIXLSetup, rep *registry.Report) string {
	if !Installed(s.Facts, "nixlbench") {
		return ""
	}
	if why := s.Facts["nixlbench error"]; why != "" {
		rep.Add(steps.ProgramUnable, steps.Fail, "nixlbench on %s does not start (%s). Run: railbench doctor libraries", node,
			strings.TrimPrefix(why, "nixlbench: "))
		return ""
	}
	release := parse.NIXLBenchRelease(func(option string) bool { return s.Facts["nixlbench --"+option] == "yes" })
	if s.Facts["nixlbench --benchmark_group"] != "yes" {
		rep.Add(steps.ToolTooOld, steps.Warn, "nixlbench on %s is %s, which has no --benchmark_group. Install 0.5.0 or later",
			node, release)
	}
	return release
}

// versions are those of one thing at both ends.
type versions struct {
	what string
	of   [2]string
}

// had lists what this end has, with its version.
func had(all []versions) string {
	var have []string
	for _, v := range all {
		if v.of[steps.Here] != "" {
			have = append(have, v.what+" "+v.of[steps.Here])
		}
	}
	return strings.Join(have, ", ")
}

// OrMissing is for the path or the release of a tool.
func OrMissing(s string) string { return cmp.Or(s, "missing") }

// same warns where a version differs, or only one node has it.
func same(
	r steps.Result, rep *registry.Report, differs steps.Code, what string, versions [2]string, harm, remedy string,
) {
	here, peer := versions[steps.Here], versions[steps.Peer]
	if here == "" && peer == "" {
		return
	}
	rep.Show(what, OrMissing(here)+" / "+OrMissing(peer), "", nil)
	switch {
	case here == peer:
	case here == "" || peer == "":
		lacks, has := steps.Here, steps.Peer
		if peer == "" {
			lacks, has = has, lacks
		}
		rep.Add(steps.MissingOnOneNode, steps.Warn, "%s has no %s, but %s has. %s", r.Rig.NameOf(lacks), what,
			r.Rig.NameOf(has), remedy)
	default:
		rep.Add(differs, steps.Warn, "%s is %s on %s but %s on %s. %s. %s", what, here, r.Rig.NameOf(steps.Here), peer,
			r.Rig.NameOf(steps.Peer), harm, remedy)
	}
}

// judgeUCX: rc on every rail of the node, and the copies where it has a GPU.
func judgeUCX(r steps.Result, e steps.End, s parse.NIXLSetup, rep *registry.Report) {
	node := r.Rig.NameOf(e)
	if s.UCX.Version == "" && len(s.UCX.Domains) == 0 {
		rep.Add(steps.CommandMissing, steps.Warn, "%s has no ucx_info, so the features of its UCX are unknown", node)
		return
	}
	rep.ShowAt(node, "UCX transports", strings.Join(s.UCX.Transports(""), " "), "", nil)
	var without []string
	for _, p := range r.Rig.Pairs {
		rail := r.Rig.Rail(p, e)
		found := s.UCX.Transports(fmt.Sprintf("%s:%d", rail.Dev, rail.Port))
		if !slices.ContainsFunc(found, func(t string) bool { return strings.HasPrefix(t, "rc") }) {
			without = append(without, rail.Dev)
		}
	}
	verbs := slices.ContainsFunc(s.UCX.Domains, func(d parse.UCXDomain) bool { return d.Component == "ib" })
	switch {
	case len(without) > 0 && !verbs:
		rep.Add(steps.UCXNoVerbs, steps.Fail, "UCX on %s has no verbs ('ib' is not available): it was built without them, "+
			"or all links were down. Run: railbench doctor ucx-build", node)
	case len(without) > 0:
		rep.Add(steps.UCXNoRail, steps.Fail, "UCX on %s has no rc transport on %s. Check the port", node,
			registry.List(without))
	}
	if Installed(s.Facts, "nvidia-smi") && !slices.Contains(s.UCX.Transports(""), "cuda_copy") {
		rep.Add(steps.UCXNoCUDA, steps.Warn, "UCX on %s has no cuda_copy and cannot transfer GPU memory. Build it "+
			"--with-cuda",
			node)
	}
}

// pythonCauses are what the Python programs say when they fail; as in nixlCauses, causes stand
// before what follows from them, and the last one takes any message.
var pythonCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`No module named '?nixl`), Code: steps.CannotRun, Grade: steps.Skipped,
		Means: "Python on %s has no NIXL. Run: pip install nixl[cu13], or set NIXL_PYTHON",
	},
	{
		Pattern: lazyregexp.New(`No module named`), Code: steps.PythonModuleMissing, Grade: steps.Inconclusive,
		Means: "NIXL on %s lacks a Python module. See the message",
	},
	{
		Pattern: lazyregexp.New(`no CUDA driver|cuInit failed`), Code: steps.CannotRun, Grade: steps.Skipped,
		Means: "no GPU on %s that CUDA can use",
	},
	{
		Pattern: lazyregexp.New(`Please set max locked memory`), Code: steps.MemlockLow, Grade: steps.Fail,
		Means: "the buffer could not be registered on %s: the memlock limit is too low " +
			"(ulimit -l). Raise it in /etc/security/limits.conf, and log in again",
	},
	{
		Pattern: lazyregexp.New(`Cannot allocate memory|cuMemAlloc_v2 failed`),
		Code:    steps.MemoryShort, Grade: steps.Inconclusive,
		Means: "the buffer does not fit into the memory of %s. Lower the NIXL_…BYTES " +
			"parameters",
	},
	{
		Pattern: lazyregexp.New(`port \d+ is in use`), Code: steps.PortTaken, Grade: steps.Inconclusive,
		Means: "its port is in use on %s. Stop the process that listens there (ss -ltnp), or " +
			"set NIXL_PORT",
	},
	{
		Pattern: lazyregexp.New(`no usable transports/devices`), Code: steps.UCXNoRail, Grade: steps.Fail,
		Means: "UCX on %s finds none of the given rails. Check the ports (railbench run nixl-check)",
	},
	noDevice,
	{
		Pattern: lazyregexp.New(`NIXL_ERR_NOT_FOUND`), Code: steps.NIXLNoPath, Grade: steps.Fail,
		Means: "NIXL on %s cannot reach the other end (NIXL_ERR_NOT_FOUND). Compare the UCX " +
			"versions (railbench run nixl-check)",
	},
	{
		Pattern: lazyregexp.New(`no active messages transport|Destination is unreachable`),
		Code:    steps.RailUnreachable, Grade: steps.Fail,
		Means: "the rails do not reach the other end (seen on %s). Check addresses and GIDs " +
			"of both ends (railbench doctor arp-flux)",
	},
	silent,
	{
		Pattern: lazyregexp.New(`NIXL_ERR_BACKEND`), Code: steps.BackendFailed, Grade: steps.Fail,
		Means: "NIXL's UCX backend failed on %s (NIXL_ERR_BACKEND). Look for a bond, and " +
			"run: railbench doctor memlock ucx-build",
	},
	{
		Pattern: late, Code: steps.TimedOut, Grade: steps.Inconclusive,
		Means: "timed out on %s: the other end never connected, or a link went down, which " +
			"UCX does not report. Run: railbench run rail-map",
	},
	// The end whose time is over goes away, and the other one says so.
	{
		Pattern: lazyregexp.New(`REMOTE_DISCONNECT`), Code: steps.OtherEndGone, Grade: steps.Inconclusive,
		Means: "%s lost contact with the other end, which ended or cannot be reached. Run: " +
			"railbench run ib-write-bw",
	},
	{Pattern: lazyregexp.New(`.`), Code: steps.NIXLFailed, Grade: steps.Fail, Means: "it failed on %s. See the message"},
}

// pythonEnds gives what the two ends reported, where both ended well; ok is
// false where the report says what happened instead.
func pythonEnds(
	r steps.Result, s steps.Stage, rep *registry.Report, ports ...traffic.Port,
) (results [2]parse.NIXLResult, ok bool) {
	results, messages := pythonSaid(s)
	seen, well := endedWell(s)
	init, target := results[steps.Here], results[steps.Peer]
	unread := slices.IndexFunc(s.Outputs, func(o steps.Output) bool { return o.ParseErr != "" })
	switch {
	case well && unread >= 0:
		o := s.Outputs[unread]
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the output on %s could not be parsed: %s", r.Rig.NameOf(o.End),
			o.ParseErr)
	// Wrong data before what the ends say: no message of a tool is worse, and one may be there.
	case init.Test != "" && init.Error == "" && !init.Verified:
		rep.Add(steps.DataCorrupt, steps.Fail, "data read by %s differs from what %s had written", r.Rig.NameOf(steps.Here),
			r.Rig.NameOf(steps.Peer))
	case !well && (atWork(r, s, messages, rep, ports) || explainNIXL(r.Rig, s, pythonCauses, messages, rep)):
		for _, m := range messages {
			rep.Show("message on "+r.Rig.NameOf(m.End), m.Text, "", nil)
		}
	case s.Err != "":
		rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", s.Err)
	case !well:
		explainExits(r, s, seen, rep, ports...)
	case init.Role != "initiator" || target.Role != "target" || !target.Served:
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "at least one end did not report its result")
	default:
		return results, true
	}
	return results, false
}

// late is what a program says of its own limit.
var late = lazyregexp.New(`not done after (\d{1,4} s)`)

// atWork is for a program that came to its limit although something went over its ports: it was asked for more than it
// has time for, or stopped in the middle.
func atWork(r steps.Result, s steps.Stage, messages []registry.Message, rep *registry.Report,
	ports []traffic.Port,
) bool {
	work := traffic.WorkOf(r.Rig, s.Bytes, ports...)
	for _, said := range messages {
		m := late.Regexp().FindStringSubmatch(said.Text)
		switch {
		case m == nil || !work.Any():
			continue
		case work.Share >= limits.AtWork.Value():
			rep.Add(steps.TimedOut, steps.Inconclusive, "not done after %s, but still working: %s. Lower its NIXL_…BYTES and "+
				"NIXL_…READS", m[1], work)
		default:
			rep.Add(steps.TimedOut, steps.Inconclusive, "not done after %s: %s, so the ends reach each other. Lower "+
				"NIXL_…READS, and check rail-map for lost links", m[1], work)
		}
		return true
	}
	return false
}

// pythonSaid is what the two ends reported, and what went wrong in their words. Of several
// reports of one end the last counts: a program prints one when it is done.
func pythonSaid(s steps.Stage) (results [2]parse.NIXLResult, messages []registry.Message) {
	for _, o := range s.Outputs {
		v, _ := o.Value.(parse.NIXLPython)
		for _, x := range v.Results {
			results[o.End] = x
		}
	}
	for _, o := range verify.Speak(s) {
		v, _ := o.Value.(parse.NIXLPython)
		for _, x := range v.Results {
			if x.Error != "" && !followed(s, o, x.Error) {
				messages = append(messages, registry.Message{End: o.End, Text: x.Error})
			}
		}
		logged, _ := parse.NIXLBenchOutput(o.Text) // UCX and NIXL log alike everywhere
		for _, text := range logged.Errors {
			if !followed(s, o, text) {
				messages = append(messages, registry.Message{End: o.End, Text: text})
			}
		}
		messages = append(messages, unknownDevices(o, logged.Warnings)...)
	}
	return results, messages
}

// endedWell reports whether both ends ran and ended with status 0, and which ran at all.
func endedWell(s steps.Stage) (seen [2]bool, well bool) {
	well = s.Err == ""
	for _, o := range s.Outputs {
		seen[o.End] = true
		well = well && o.Ran && o.Exit.OK()
	}
	return seen, well && seen[steps.Here] && seen[steps.Peer]
}

// judgeNIXLRegister: each program registered its buffer, at both nodes.
func judgeNIXLRegister(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	var messages []registry.Message
	outputs, _ := registry.OnBoth(r, &rep)
	var gpus, without []string // nodes
	for _, e := range steps.Ends {
		o, ran := outputs[e]
		if !ran {
			continue
		}
		node := r.Rig.NameOf(e)
		v, ok := registry.Value[parse.NIXLPython](r, o, &rep)
		if !ok {
			continue
		}
		registered, said, failed := registrations(node, e, v, &rep)
		messages = append(messages, said...)
		if slices.Contains(registered, "GPU") {
			gpus = append(gpus, node)
		}
		if !slices.ContainsFunc(v.Results, func(x parse.NIXLResult) bool { return x.Device == "cuda" }) {
			without = append(without, node)
		}
		if !slices.ContainsFunc(v.Results, func(x parse.NIXLResult) bool { return x.Device != "cuda" }) {
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "%s does not report whether NIXL registers host memory", node)
		}
		if !failed {
			registry.Exited(r, o, &rep)
		}
	}
	if len(messages) > 0 {
		explainNIXL(r.Rig, steps.Stage{}, pythonCauses, messages, &rep) // registering asks no one
	}
	if v, skipped := registry.Skips(&rep); skipped {
		return v
	}
	lead, reach, note := "NIXL registers host memory on both nodes", "", ""
	switch len(gpus) {
	case 0:
	case len(steps.Ends):
		lead = "NIXL registers GPU and host memory on both nodes"
	default:
		lead += ", and GPU memory on " + registry.And(gpus)
	}
	if gpus != nil {
		reach = "The cell host-staging shows whether an adapter can reach GPU memory"
	}
	if len(without) > 0 {
		note = fmt.Sprintf("GPU memory was not tested on %s (nvidia-smi shows whether it has any)", registry.And(without))
	}
	return rep.Verdict(lead, reach, note)
}

// registrations are the memories that a node registered, and what it says of those that it
// did not.
// It is asked for each kind of memory by itself, and a GPU's may fail where the host's does not.
func registrations(node string, e steps.End, v parse.NIXLPython, rep *registry.Report) (good []string,
	said []registry.Message, failed bool,
) {
	for _, x := range v.Results {
		memory := memoryName(x.Device)
		if x.Error == "" && x.Registered {
			rep.ShowAt(node, "descriptors of "+memory+" memory", x.DescBytes, "bytes", nil)
			rep.ShowAt(node, "registering "+memory+" memory", x.Seconds*1e6, "us", nil)
			good = append(good, memory)
			continue
		}
		failed = true
		// No word is not a success: every cause is looked for in a text.
		x.Error = cmp.Or(x.Error, memory+" memory was not registered, without a reason")
		rep.Show(fmt.Sprintf("message on %s about %s memory", node, memory), x.Error, "", nil)
		if x.Device == "cuda" && strings.Contains(x.Error, "NIXL_ERR_BACKEND") {
			rep.Add(steps.MemoryUnregistered, steps.Fail, "GPU memory could not be registered on %s (NIXL_ERR_BACKEND). Check "+
				"that UCX has cuda_copy (railbench run nixl-check)", node)
			rep.Explain("Memory from cudaHostAlloc needs no cuda_copy")
			continue
		}
		said = append(said, registry.Message{End: e, Text: x.Error})
	}
	return good, said, failed
}

func memoryName(device string) string {
	if device == "cuda" {
		return "GPU"
	}
	return "host"
}

// judgeNIXLTransfer: the data is right, the rails were the right ones, and it was
// as fast as they are.
func judgeNIXLTransfer(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	s := r.Stages[0]
	rt, ok := traffic.RouteOf(c, r, s)
	if !ok {
		// A missing NIXL is a larger fault than the rails, and is reported first.
		if _, well := pythonEnds(r, s, &rep); !well {
			if v, skipped := registry.Skips(&rep); skipped {
				return v
			}
		}
		rep.Add(steps.NoRail, steps.Inconclusive,
			"the rails of this cell do not connect the nodes. Run: railbench run rail-map")
		return rep.Verdict()
	}
	rt.CheckPorts(r.Rig, &rep)
	t := transferTest{readTest: readTest{cell: c, result: r, stage: s, route: rt, rep: &rep, add: rep.Add}}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: s, Ports: rt.Ports(), Rep: &rep, Add: rep.Add}
	account, ok := line.Verify(&t)
	if v, skipped := registry.Skips(&rep); skipped && !ok {
		return v
	}
	carried := account.Carried(steps.Here)
	if carried != "" {
		carried += ", including one read before the clock"
	}
	return rep.Verdict(t.lead+", data correct", t.note, carried)
}

// A readTest is one run of NIXL from Python: what reads have in common, however many and
// however large.
type readTest struct {
	cell   steps.Cell
	result steps.Result
	stage  steps.Stage
	route  traffic.Route
	rep    *registry.Report
	add    verify.Adder

	ends [2]parse.NIXLResult
	flow traffic.Flow
}

func (t *readTest) initiator() parse.NIXLResult { return t.ends[steps.Here] }

// Ends asks both programs, which also say what was read.
func (t *readTest) Ends() (ok bool) {
	t.ends, ok = pythonEnds(t.result, t.stage, t.rep, t.route.Ports()...)
	return ok
}

// pythonCalls are how the cells' scripts call the programs.
// Options are read behind these: a function of the script's preamble, or the interpreter itself.
var pythonCalls = []string{"transfer", "latency", `"$NIXL_PYTHON"`}

// notAsked says why an end's report is not the one that its script asked for.
func (t *readTest) notAsked(o steps.Output, test string) string {
	v, _ := o.Value.(parse.NIXLPython)
	x := t.ends[o.End]
	options := map[string]string{}
	for _, call := range pythonCalls {
		maps.Copy(options, verify.Options(t.cell, o, call))
	}
	other := func(is, asked string) bool { return is != "" && asked != "" && is != asked }
	number := func(is int, asked string) bool { return is > 0 && other(fmt.Sprint(is), asked) }
	device, bytes, reads := options["--device"], options["--bytes"], options["--iterations"]
	switch {
	case len(v.Results) > 1:
		return fmt.Sprintf("it has %d reports, expected one", len(v.Results))
	case x.Test != test:
		return fmt.Sprintf("it is the output of another test (%s)", x.Test)
	case x.Error != "":
		return "it reports an error: " + x.Error
	case other(x.Op, "READ"):
		return fmt.Sprintf("it did %s instead of reads", x.Op)
	case other(x.Device, device):
		return fmt.Sprintf("it used %s memory, but %s was requested", memoryName(x.Device), memoryName(device))
	case number(x.Bytes, bytes):
		return fmt.Sprintf("it reports reads of %d bytes, but %s were requested", x.Bytes, bytes)
	case number(x.Iterations, reads):
		return fmt.Sprintf("it reports %d reads, but %s were requested", x.Iterations, reads)
	}
	return ""
}

// ofThisRun reports whether both programs' reports are one of this test each, as their scripts
// asked for it.
func (t *readTest) ofThisRun(test string) bool {
	for _, o := range t.stage.Outputs {
		if why := t.notAsked(o, test); why != "" {
			t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the output on %s is not this test's: %s",
				t.result.Rig.NameOf(o.End), why)
			return false
		}
	}
	return true
}

// Flows are one: the reads, and the first that is not timed.
func (t *readTest) Flows() []traffic.Flow {
	x := t.initiator()
	t.flow = ReadFlow(t.route, x)
	if x.Device == "cuda" {
		t.flow.Staged()
	}
	for _, o := range t.stage.Outputs { // UCX's warnings stand in the log, not in the report
		if logged, _ := parse.NIXLBenchOutput(o.Text); t.flow.Warned == "" {
			t.flow.Warned = notThere(logged.Warnings)
		}
	}
	return []traffic.Flow{t.flow}
}

// A transferTest is the throughput of large reads.
type transferTest struct {
	readTest
	lead string
	note string // what else is to be said
}

// Output: the report is whole, and doesn't contradict itself.
func (t *transferTest) Output() bool {
	x := t.initiator()
	if !t.ofThisRun("nixl-transfer") {
		return false
	}
	if x.Gbps <= 0 || x.Bytes <= 0 || x.Iterations <= 0 || x.Seconds <= 0 {
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the initiator reports %g Gb/s in %d reads of %d bytes in %g "+
			"s, which is not a result",
			x.Gbps, x.Iterations, x.Bytes, x.Seconds)
		return false
	}
	// The program works its rate out of all digits of its clock and rounds afterwards.
	bits := float64(x.Bytes) * float64(x.Iterations) * 8
	for _, o := range t.stage.Outputs {
		if why := verify.TooShort(o, x.Seconds); why != "" && o.End == steps.Here {
			t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the initiator's report is not this test's: %s", why)
			return false
		}
	}
	if why := verify.Makes(x.Gbps, bits/8, x.Seconds, 0.01); why != "" && math.Abs(bits/x.Seconds/1e9-x.Gbps) > 0.0005 {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the initiator's report is inconsistent: %s", why)
		return false
	}
	return true
}

// Figure is the rate of all reads but the first.
func (t *transferTest) Figure(traffic.Accounted) {
	x := t.initiator()
	figure := t.route.Measured(steps.Throughput, "Gb/s")
	figure.Value, figure.MessageBytes = registry.Round(x.Gbps), x.Bytes
	figure.Memory = segment(x.Device == "cuda")
	t.rep.Measured(figure)
	t.rep.Show("reads", x.Iterations, "reads of "+registry.BlockSize(x.Bytes), nil)
	t.rep.Show("data", "every byte as the target wrote it", "", nil)
	t.lead, t.note = judgeRead(x, limits.Unified(t.result.Rig, t.route.Pairs...), verify.Figure{
		Got: rate.Payload(x.Gbps), Band: t.route.Band(t.result.Rig, x.Bytes, t.flow.Payload), Of: t.route.String(),
		Over: " over " + t.route.String(),
		Pass: limits.ReadPassShare, Warn: limits.ReadWarnShare,
		Cause: func() (string, steps.Code) { return t.route.Cause(t.result, t.stage, x.Gbps, besideUCX) },
	}, t.rep)
}

// Signs: the program times all reads together, and reports no more of them.
func (t *transferTest) Signs() { t.loadedUCX() }

// loadedUCX looks at the UCX of both processes, which they report by themselves.
func (t *readTest) loadedUCX() {
	otherUCX(t.result, t.rep, t.add,
		[2]parse.UCXLog{{Libraries: t.ends[steps.Here].UCX}, {Libraries: t.ends[steps.Peer].UCX}})
	t.withoutCUDA()
}

// withoutCUDA looks whether the UCX that a process had loaded, a wheel's own or the system's, has its module for GPU
// memory: ucx_info reports the system's alone.
func (t *readTest) withoutCUDA() {
	if t.initiator().Device != "cuda" {
		return
	}
	for _, e := range steps.Ends {
		x := t.ends[e]
		if len(x.UCT) == 0 {
			continue // it was not reported
		}
		t.rep.ShowAt(t.result.Rig.NameOf(e), "UCX modules that NIXL has", strings.Join(x.UCT, " "), "", nil)
		if !slices.ContainsFunc(x.UCT, func(name string) bool { return strings.HasPrefix(name, "libuct_cuda") }) {
			t.add(steps.UCXNoCUDA, steps.Warn, "the UCX that NIXL loaded on %s has no libuct_cuda and treats GPU memory as "+
				"host memory. Install a wheel with CUDA", t.result.Rig.NameOf(e))
			t.rep.Explain("ucx_info may describe another UCX than the one that NIXL loaded. A UCX that " +
				"was built --with-cuda helps, too")
		}
	}
}

// ReadFlow predicts what reads move; the first one is not timed. The peer's memory is read, so
// the bytes leave there, though it is this end that asks.
func ReadFlow(rt traffic.Route, x parse.NIXLResult) traffic.Flow {
	f := rt.Flow(steps.Peer)
	f.Text = fmt.Sprintf("%s reads of %s, and one before", steps.Thousands(x.Iterations), registry.BlockSize(x.Bytes))
	f.Reads(float64(x.Iterations+1), x.Bytes)
	return f
}

// judgeRead compares reads from Python with the rails. The reads are not pipelined: each one ends before the
// next begins.
func judgeRead(x parse.NIXLResult, unified bool, f verify.Figure, rep *registry.Report) (lead, note string) {
	b := f.Band
	lead = fmt.Sprintf("%s over %s", registry.Gbps(x.Gbps), f.Of)
	// As with nixlbench, the rate alone says whether the adapter reached the GPU by itself.
	staged := x.Device == "cuda" && (b.Expected == 0 || x.Gbps < limits.ReadWarnShare.Value()*float64(b.Expected))
	if !staged {
		rep.Show("read throughput", registry.Round(x.Gbps), "Gb/s", f.Expected())
		if f.Judge(rep.Add); b.None != "" {
			return lead, ""
		}
		return lead + fmt.Sprintf(", %s", f.Range()), ""
	}
	least, most, e := stagedBand()
	rep.Show("read throughput", registry.Round(x.Gbps), "Gb/s", e)
	switch {
	case b.None != "":
		f.Judge(rep.Add)
		return lead, ""
	case !unified:
		notStaged(f, e, rep)
		return lead, ""
	case x.Gbps < least:
		why, code := f.Cause()
		rep.Add(code, steps.Fail, "%s from GPU memory, expected at least %.1f. %s",
			registry.Gbps(x.Gbps), least, why)
	case x.Gbps < limits.StagedGPU.Low():
		rep.Add(steps.BelowLimit, steps.Warn, "%s from GPU memory is less than any measured (%s). Check the processors and "+
			"other traffic, and rerun", registry.Gbps(x.Gbps), limits.StagedGPU.Entry().Figures())
	case x.Gbps > most:
		rep.Add(steps.GPUPathUnclear, steps.Warn, "%s from GPU memory is more than staging reaches (%s) but far below the "+
			"rails' %.1f. Run: railbench run host-staging", registry.Gbps(x.Gbps), limits.StagedGPU.Entry().Figures(),
			b.Expected)
	}
	return lead + fmt.Sprintf(", host-staged, expected %.1f to %.1f", limits.StagedGPU.Low(), most), hostMemory(b)
}

// hostMemory is what to do where GPU memory is staged. No one measured it in that run, so it is a sentence of its
// own.
func hostMemory(b limits.Band) string {
	return fmt.Sprintf("Host memory should reach %s (not measured here)",
		registry.Gbps(float64(b.Expected)))
}

// latencyBytes is the largest read whose time is a latency: those of the tutorial had 4 KiB,
// and at 64 KiB the bytes themselves take 5 us.
const latencyBytes = 4096

// judgeNIXLLatency looks at the median and the tail of each rail.
func judgeNIXLLatency(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	table := steps.Table{Title: "one read, us", Columns: []steps.Column{
		{Name: "rail"},
		{Name: "average", Number: true},
		{Name: "least", Number: true},
		{Name: "p50", Number: true},
		{Name: "p95", Number: true},
		{Name: "p99", Number: true},
		{Name: "most", Number: true},
	}}
	var rails []int
	var medians, all []float64 // of what has a band, and of every rail
	var tail float64
	carried := 0
	for _, s := range r.Stages {
		rt, ok := traffic.RouteOf(c, r, s)
		if !ok {
			rep.Add(steps.NoRail, steps.Inconclusive, "a stage belongs to no rail")
			continue
		}
		dev := r.Rig.Rail(rt.Pairs[0], steps.Here).Dev
		m := registry.Measurement{No: rt.Nos[0], Dev: dev, Pair: rt.Pairs[0]}
		// Each rail's report is its own: what is found there is put under the rail's name.
		var one registry.Report
		x, ok := judgeReadLatency(c, r, s, m, rt, &one, &carried)
		for _, f := range one.Findings {
			if f.Rail == 0 {
				f.Rail, f.Dev = m.No, m.Dev
			}
			rep.Note(f)
		}
		rep.Figures = append(rep.Figures, one.Figures...)
		for _, e := range one.Evidence {
			if rail := fmt.Sprintf("rail %d (%s)", m.No, m.Dev); e.Name != steps.NoteName && e.Of != rail {
				e.Name, e.Of, e.Node = rail+" "+e.Name, rail, ""
			}
			rep.Evidence = append(rep.Evidence, e)
		}
		if !ok {
			continue
		}
		rails = append(rails, m.No)
		tail, all = max(tail, x.P99US), append(all, x.P50US)
		if x.Bytes <= latencyBytes && limits.Soft(r.Rig, rt.Pairs[0]) == "" {
			medians = append(medians, x.P50US)
		}
		row := []string{fmt.Sprintf("%d %s", m.No, dev)}
		for _, v := range []float64{x.AvgUS, x.MinUS, x.P50US, x.P95US, x.P99US, x.MaxUS} {
			row = append(row, fmt.Sprintf("%.1f", v))
		}
		table.Rows = append(table.Rows, row)
	}
	if v, skipped := registry.Skips(&rep); skipped {
		return v
	}
	verify.EveryRail(c, r, &rep)
	verify.RailsApart(all, rails, &rep)
	lead := fmt.Sprintf("reads typically take %s, 99 %% below %s", verify.Across(rails, all, registry.Microseconds),
		registry.Microseconds(tail)) +
		usualRead(medians)
	account := ""
	if carried > 0 {
		account = "Each rail carried its own reads, and no other rail carried data"
	}
	v := rep.Verdict(lead, account)
	if len(table.Rows) > 0 {
		v.Tables = append(v.Tables, table)
	}
	return v
}

// usualRead says what a read of that size takes elsewhere, and from when there is a warning.
func usualRead(medians []float64) string {
	usual := limits.ReadLatency.Entry()
	switch {
	case len(medians) == 0:
		return ""
	case slices.Min(medians) < usual.Low:
		return fmt.Sprintf("; faster than the fastest known, %s", usual.Figures())
	}
	return fmt.Sprintf(", expected %g to %s",
		usual.Low, registry.Microseconds(limits.ReadLatencyPass.Value()))
}

func judgeReadLatency(c steps.Cell, r steps.Result, s steps.Stage, m registry.Measurement, rt traffic.Route,
	rep *registry.Report, carried *int,
) (parse.NIXLResult, bool) {
	rt.CheckPorts(r.Rig, rep)
	add := func(code steps.Code, g steps.Grade, format string, args ...any) { rep.On(m, code, g, format, args...) }
	t := latencyTest{readTest{cell: c, result: r, stage: s, route: rt, rep: rep, add: add}}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: s, Ports: rt.Ports(), Rep: rep, Add: rep.Add}
	account, ok := line.Verify(&t)
	if ok && account.OK() {
		*carried++
	}
	return t.initiator(), ok
}

// A latencyTest is the time of small reads over one rail.
type latencyTest struct{ readTest }

// Output: there are times, and in an order that times have.
func (t *latencyTest) Output() bool {
	return t.ofThisRun("nixl-latency") && timed(t.initiator(), t.rep)
}

// Figure is the median.
func (t *latencyTest) Figure(traffic.Accounted) {
	x, rep := t.initiator(), t.rep
	f := verify.Time{
		MedianUS: x.P50US, Soft: limits.Soft(t.result.Rig, t.route.Pairs[0]), Of: "reads of 4 KiB from Python: ",
		Usual: limits.ReadLatency, Least: limits.ReadLatencyLeast, Pass: limits.ReadLatencyPass, Warn: limits.ReadLatencyWarn,
		Far: "Check that UCX has rc there (railbench run nixl-check): TCP takes that long",
	}
	if x.Bytes > latencyBytes {
		f.None = fmt.Sprintf("no measurement exists for reads of %s",
			registry.BlockSize(x.Bytes))
	}
	figure := t.route.Measured(steps.Latency, "us")
	figure.Value, figure.P95, figure.P99, figure.MessageBytes, figure.Memory = x.P50US, x.P95US, x.P99US, x.Bytes, "DRAM"
	rep.Measured(figure)
	rep.Show("latency, median", x.P50US, "us", f.Expected())
	rep.Show("latency, 95 %", x.P95US, "us", nil)
	rep.Show("latency, 99 %", x.P99US, "us", nil)
	rep.Show("latency, maximum", x.MaxUS, "us", nil)
	rep.Show("latency, average", x.AvgUS, "us", nil)
	f.Judge(rep, t.add)
}

// Signs: the tail.
func (t *latencyTest) Signs() {
	t.loadedUCX()
	x := t.initiator()
	why := traffic.Outliers(t.stage.Bytes, t.route.Ports(), "Check power saving (cpufreq) and other load on the node")
	switch {
	case limits.Soft(t.result.Rig, t.route.Pairs[0]) != "":
	case x.P95US > limits.Outliers.Value()*x.P50US:
		t.add(steps.LatencyTail, steps.Warn, "5 %% of the reads take %s or longer, the median is %s. %s",
			registry.Microseconds(x.P95US), registry.Microseconds(x.P50US), why)
	case x.P99US > limits.WriteLatencyTail.Value()*x.P50US:
		t.add(steps.LatencyTail, steps.Warn, "1 %% of the reads take %s or longer, the median is %s. %s",
			registry.Microseconds(x.P99US), registry.Microseconds(x.P50US), why)
	}
}

// timed reports whether an initiator's report has times, and in an order that times have.
func timed(x parse.NIXLResult, rep *registry.Report) bool {
	if x.P50US <= 0 || x.P95US <= 0 || x.P99US <= 0 || x.Iterations <= 0 || x.Bytes <= 0 {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the initiator reports no latency or no 99 %% value")
		return false
	}
	if why := verify.Ascending(verify.Quantile{Name: "least", Value: x.MinUS},
		verify.Quantile{Name: "median", Value: x.P50US},
		verify.Quantile{Name: "95 %", Value: x.P95US}, verify.Quantile{Name: "99 %", Value: x.P99US},
		verify.Quantile{Name: "most", Value: x.MaxUS}); why != "" {
		rep.Add(steps.OutputForeign, steps.Inconclusive, "the initiator's report is inconsistent: %s", why)
		return false
	}
	return true
}

// leftKeys is how many keys of nixlbench a node sees; empty where it did not look. protobuf's
// JSON has 64-bit numbers as strings, and leaves out one that is 0.
func leftKeys(node, answer string, rep *registry.Report) string {
	var keys struct {
		Count string `json:"count"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(answer), &keys); err != nil || keys.Error != "" {
		rep.Show("keys of nixlbench", "not read on "+node, "", nil)
		return ""
	}
	n := cmp.Or(keys.Count, "0")
	rep.Show("keys of nixlbench", n, "keys under xferbench, as "+node+" sees them", nil)
	return n
}

// corrupting are the releases of etcd whose data may be damaged (etcd's own
// advisory of March 2022).
var corrupting = lazyregexp.New(`^3\.5\.[0-2]$`)

// judgeEtcd: both nodes reach it, it is one, and it is not a release that loses
// data.
func judgeEtcd(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	facts := registry.BothFacts(r, &rep)
	var versions [2]string
	keys := ""
	for _, e := range steps.Ends {
		if len(facts[e]) == 0 {
			continue
		}
		node := r.Rig.NameOf(e)
		var answer struct {
			Server string `json:"etcdserver"`
		}
		if err := json.Unmarshal([]byte(facts[e]["version"]), &answer); err != nil || answer.Server == "" {
			said := ""
			if text := facts[e]["version"]; text != "" {
				said = fmt.Sprintf(" (its answer: %.60q)", text)
			}
			rep.Add(steps.EtcdUnreachable, steps.Fail, "etcd at %s does not answer %s%s. Check the firewall and whether this "+
				"address is reachable from there", registry.OrUnknown(facts[e]["endpoint"]), node, said)
			continue
		}
		versions[e] = answer.Server
		rep.Show("etcd as "+node+" sees it", answer.Server, "", nil)
		switch n := leftKeys(node, facts[e]["keys"], &rep); {
		case e != steps.Here:
		case n == "":
			keys = "the number of nixlbench keys is unknown without curl"
		case n == "0":
			keys = "it holds no keys of nixlbench"
		default:
			rep.Add("", steps.Pass, "It holds %s keys of aborted or running nixlbench runs, which do no harm", n)
		}
	}
	if versions[0] != versions[1] && versions[0] != "" && versions[1] != "" {
		rep.Add(steps.EtcdDiffers, steps.Fail, "the nodes reach two different etcd servers: %s and %s", versions[0],
			versions[1])
	}
	if corrupting.Regexp().MatchString(versions[steps.Here]) {
		rep.Add(steps.EtcdCorrupting, steps.Warn, "etcd %s can corrupt its data. Install 3.5.3 or later",
			versions[steps.Here])
	}
	return rep.Verdict(fmt.Sprintf("both nodes reach etcd %s at %s", versions[steps.Here], facts[steps.Here]["endpoint"]),
		keys, "nixlbench 1.1.0 and later do not need etcd")
}
