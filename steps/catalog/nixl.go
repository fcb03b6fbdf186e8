package catalog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// installed says that a fact about a tool names a path.
func installed(facts map[string]string, tool string) bool {
	where := facts["tool "+tool]
	return where != "" && where != "missing"
}

// judgeNIXLCheck: what is there, whether it is the same on both nodes, and
// whether UCX can use the rails and the GPU.
func judgeNIXLCheck(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	outputs, _ := onBoth(r, &rep)
	var setups [2]parse.NIXLSetup
	var release, python, ucx [2]string
	var read [2]bool
	broken := false // a nixlbench that doesn't start tells no release
	for _, e := range steps.Ends {
		o, ok := outputs[e]
		if !ok || exited(r, o, &rep) {
			continue
		}
		if setups[e], read[e] = value[parse.NIXLSetup](r, o, &rep); !read[e] {
			continue
		}
		s := setups[e]
		node := r.Rig.NameOf(e)
		if installed(s.Facts, "nixlbench") {
			release[e] = parse.NIXLBenchRelease(func(option string) bool { return s.Facts["nixlbench --"+option] == "yes" })
			if why := s.Facts["nixlbench error"]; why != "" {
				broken = true
				rep.add(steps.Fail, "nixlbench on %s does not start: %s", node, why)
			} else if s.Facts["nixlbench --benchmark_group"] != "yes" {
				rep.add(steps.Warn, "nixlbench on %s is %s and knows no --benchmark_group: the benchmarks need 0.5.0", node, release[e])
			}
		}
		if s.Python != nil {
			if s.Python.Error != "" {
				rep.show(node+" NIXL for Python", s.Python.Error, "", nil)
			} else {
				python[e] = orUnknown(s.Python.NIXL)
				rep.show(node+" NIXL for Python", s.Python.Path, "", nil)
			}
		}
		ucx[e] = s.UCX.Version
		rep.show(node+" nixlbench", orMissing(s.Facts["tool nixlbench"]), "", nil)
		rep.show(node+" UCX library", orUnknown(s.UCX.Library), "", nil)
	}
	if !read[steps.Here] || !read[steps.Peer] {
		return rep.verdict()
	}
	if release == [2]string{} && python == [2]string{} {
		why := "neither node has NIXL: neither nixlbench nor the Python package (pip install nixl[cu13]) was found"
		if p := setups[steps.Here].Python; p != nil && p.Error != "" {
			why += "; Python says: " + p.Error
		}
		return steps.Verdict{Grade: steps.Skipped, Reason: sentences([]string{capital(why)}), Evidence: rep.evidence}
	}
	if !broken {
		same(r, &rep, "nixlbench", release, "an option that only one end knows ends the other", "build it on both nodes, from one tag")
	}
	same(r, &rep, "NIXL for Python", python, "the two agents may not understand each other", "install one version on both nodes (pip install nixl[cu13])")
	same(r, &rep, "UCX", ucx, "NIXL then finds no way from one to the other (NIXL_ERR_NOT_FOUND)", "build one tag of UCX on both nodes")
	for _, e := range steps.Ends {
		judgeUCX(r, e, setups[e], &rep)
	}
	var have []string
	for _, w := range []struct{ what, version string }{{"nixlbench", release[steps.Here]}, {"NIXL for Python", python[steps.Here]}, {"UCX", ucx[steps.Here]}} {
		if w.version != "" {
			have = append(have, w.what+" "+w.version)
		}
	}
	rails := ""
	if len(r.Rig.Pairs) > 0 {
		rails = "UCX has rc on every rail"
	}
	return rep.verdict("both nodes have the same: "+strings.Join(have, ", "), rails)
}

func orMissing(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}

// same warns where a version differs, or only one node has it.
func same(r steps.Result, rep *report, what string, versions [2]string, harm, remedy string) {
	here, peer := versions[steps.Here], versions[steps.Peer]
	if here == "" && peer == "" {
		return
	}
	rep.show(what, orMissing(here)+" / "+orMissing(peer), "", nil)
	switch {
	case here == peer:
	case here == "" || peer == "":
		lacks, has := steps.Here, steps.Peer
		if peer == "" {
			lacks, has = has, lacks
		}
		rep.add(steps.Warn, "%s has no %s, and %s has: %s", r.Rig.NameOf(lacks), what, r.Rig.NameOf(has), remedy)
	default:
		rep.add(steps.Warn, "%s is %s on %s and %s on %s: %s; %s", what, here, r.Rig.NameOf(steps.Here), peer, r.Rig.NameOf(steps.Peer), harm, remedy)
	}
}

// judgeUCX: rc on every rail of the node, and the copies where it has a GPU.
func judgeUCX(r steps.Result, e steps.End, s parse.NIXLSetup, rep *report) {
	node := r.Rig.NameOf(e)
	if s.UCX.Version == "" && len(s.UCX.Domains) == 0 {
		rep.add(steps.Warn, "%s has no ucx_info, so nobody saw what its UCX can do", node)
		return
	}
	rep.show(node+" UCX transports", strings.Join(s.UCX.Transports(""), " "), "", nil)
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
		rep.add(steps.Fail, "UCX on %s has no verbs at all ('ib' is not available): it was built without them, or all links were down", node)
	case len(without) > 0:
		rep.add(steps.Fail, "UCX on %s has no rc on %s: is its port up?", node, and(without))
	}
	if installed(s.Facts, "nvidia-smi") && !slices.Contains(s.UCX.Transports(""), "cuda_copy") {
		rep.add(steps.Warn, "UCX on %s has no cuda_copy, so GPU memory cannot travel: build it --with-cuda", node)
	}
}

// pythonCauses are what the Python programs say when they fail.
var pythonCauses = []cause{
	{regexp.MustCompile(`No module named '?nixl`), steps.Skipped, "Python on %s has no NIXL: pip install nixl[cu13] there, or set NIXL_PYTHON to an interpreter that has it"},
	{regexp.MustCompile(`No module named`), steps.Inconclusive, "NIXL on %s lacks another Python module: see the message"},
	{regexp.MustCompile(`no CUDA driver|cuInit failed`), steps.Skipped, "there is no GPU that CUDA can use on %s"},
	{regexp.MustCompile(`Please set max locked memory`), steps.Fail, "the buffer could not be registered on %s, because a user may lock too little memory there (ulimit -l): raise memlock in /etc/security/limits.conf, and log in anew"},
	{regexp.MustCompile(`Cannot allocate memory|cuMemAlloc_v2 failed`), steps.Inconclusive, "the buffer does not fit into the memory of %s: set the NIXL_…BYTES parameters to less"},
	{regexp.MustCompile(`port \d+ is in use`), steps.Inconclusive, "its port is taken on %s: end the process that listens there (ss -ltnp), or set NIXL_PORT"},
	{regexp.MustCompile(`no usable transports/devices`), steps.Fail, "UCX on %s finds none of the rails that it was given: are their ports up (nixl-check)?"},
	{regexp.MustCompile(`NIXL_ERR_NOT_FOUND`), steps.Fail, "NIXL on %s found no way to the other end (NIXL_ERR_NOT_FOUND): do the UCX versions differ (nixl-check)?"},
	{regexp.MustCompile(`no active messages transport|Destination is unreachable`), steps.Fail, "the rails do not reach the other end (seen on %s): do the addresses and GIDs of both ends belong together (see the rail map)?"},
	{regexp.MustCompile(`NIXL_ERR_BACKEND`), steps.Fail, "NIXL's UCX backend failed on %s (NIXL_ERR_BACKEND): look at the memlock limit (ulimit -l), at nixl-check, and for a bond"},
	{regexp.MustCompile(`REMOTE_DISCONNECT`), steps.Inconclusive, "the other end died in the middle (seen on %s): look at its last lines, and run it again"},
	{regexp.MustCompile(`not done after`), steps.Inconclusive, "it was not done in time on %s: the other end never came, or a link went down in the middle, which UCX does not tell; look at the rail map, and run it again"},
	{regexp.MustCompile(`.`), steps.Fail, "it failed on %s: see the message"},
}

// pythonEnds gives what the two ends reported, where both ended well; ok is
// false where the report says what happened instead.
func pythonEnds(r steps.Result, s steps.Stage, rep *report) (results [2]parse.NIXLResult, ok bool) {
	var messages []message
	var seen [2]bool
	well := s.Err == ""
	for _, o := range s.Outputs {
		seen[o.End] = true
		well = well && o.Ran && o.Exit.OK()
		v, _ := o.Value.(parse.NIXLPython)
		for _, x := range v.Results {
			if x.Error != "" {
				messages = append(messages, message{o.End, x.Error})
			}
			results[o.End] = x
		}
		logged, _ := parse.NIXLBenchOutput(o.Text) // UCX and NIXL log alike everywhere
		for _, text := range logged.Errors {
			messages = append(messages, message{o.End, text})
		}
	}
	well = well && seen[steps.Here] && seen[steps.Peer]
	init, target := results[steps.Here], results[steps.Peer]
	switch {
	case init.Test != "" && init.Error == "" && !init.Verified:
		rep.add(steps.Fail, "what %s read is not what %s had written", r.Rig.NameOf(steps.Here), r.Rig.NameOf(steps.Peer))
	case !well && explainNIXL(r.Rig, pythonCauses, messages, rep):
		for _, m := range messages {
			rep.show("message on "+r.Rig.NameOf(m.end), m.text, "", nil)
		}
	case s.Err != "":
		rep.add(steps.Inconclusive, "it stopped: %s", s.Err)
	case !well:
		explainExits(r, s, seen, rep)
	case init.Role != "initiator" || target.Role != "target" || !target.Served:
		rep.add(steps.Inconclusive, "not both ends reported what they did")
	default:
		return results, true
	}
	return results, false
}

// judgeNIXLRegister: each program registered its buffer, at both nodes.
func judgeNIXLRegister(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	var messages []message
	outputs, _ := onBoth(r, &rep)
	var good, without []string
	for _, e := range steps.Ends {
		o, ran := outputs[e]
		if !ran {
			continue
		}
		node := r.Rig.NameOf(e)
		v, ok := value[parse.NIXLPython](r, o, &rep)
		if !ok {
			continue
		}
		failed, cuda := false, false
		for _, x := range v.Results {
			cuda = cuda || x.Device == "cuda"
			if x.Error == "" && x.Registered {
				rep.show(fmt.Sprintf("%s descriptors of %s memory", node, memoryName(x.Device)), x.DescBytes, "bytes", nil)
				rep.show(fmt.Sprintf("%s registering %s memory", node, memoryName(x.Device)), x.Seconds*1e6, "us", nil)
				good = append(good, memoryName(x.Device))
				continue
			}
			failed = true
			messages = append(messages, message{e, x.Error})
			rep.show(fmt.Sprintf("message on %s about %s memory", node, memoryName(x.Device)), x.Error, "", nil)
			if x.Device == "cuda" && strings.Contains(x.Error, "NIXL_ERR_BACKEND") {
				rep.add(steps.Fail, "GPU memory could not be registered on %s (NIXL_ERR_BACKEND): has UCX cuda_copy (nixl-check)? Memory from cudaHostAlloc needs none of it", node)
				messages = messages[:len(messages)-1]
			}
		}
		if !cuda {
			without = append(without, node)
		}
		if !failed {
			exited(r, o, &rep)
		}
	}
	if len(messages) > 0 {
		explainNIXL(r.Rig, pythonCauses, messages, &rep)
	}
	if v, skipped := skips(&rep); skipped {
		return v
	}
	slices.Sort(good)
	good = slices.Compact(good)
	note := ""
	if len(without) > 0 {
		note = fmt.Sprintf("GPU memory was not tried on %s, which has no nvidia-smi", and(without))
	}
	return rep.verdict(fmt.Sprintf("NIXL registers %s memory on both nodes", and(good)), note)
}

func memoryName(device string) string {
	if device == "cuda" {
		return "GPU"
	}
	return "host"
}

// How near to what the rails can do a read from Python has to be: there is no
// pipeline, and each read ends before the next begins.
const (
	readPassShare = 0.80
	readWarnShare = 0.50
)

// judgeNIXLTransfer: the data is right, the rails were the right ones, and it was
// as fast as they are.
func judgeNIXLTransfer(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	s := r.Stages[0]
	rt, ok := routeOf(c, r, s)
	if !ok {
		// Without NIXL there is more to do than to look at the rails.
		if _, well := pythonEnds(r, s, &rep); !well {
			if v, skipped := skips(&rep); skipped {
				return v
			}
		}
		rep.add(steps.Inconclusive, "the rails that it uses do not lead from node to node: see the rail map")
		return rep.verdict()
	}
	rt.checkPorts(r.Rig, &rep)
	results, ok := pythonEnds(r, s, &rep)
	if !ok {
		if v, skipped := skips(&rep); skipped {
			return v
		}
		return rep.verdict()
	}
	x := results[steps.Here]
	if x.Gbps <= 0 || x.Bytes <= 0 || x.Iterations <= 0 {
		rep.add(steps.Inconclusive, "the initiator reports %g Gb/s in %d reads of %d bytes", x.Gbps, x.Iterations, x.Bytes)
		return rep.verdict()
	}
	b := rt.band(r.Rig)
	rep.show("reads", x.Iterations, "reads of "+blockSize(x.Bytes), nil)
	rep.show("data", "as the target wrote it, every byte", "", nil)
	f := readFlow(rt, x)
	if x.Device == "cuda" {
		f.staged()
	}
	for _, o := range s.Outputs {
		if logged, _ := parse.NIXLBenchOutput(o.Text); f.warned == "" {
			f.warned = notThere(logged.Warnings)
		}
	}
	carried := rt.account(r, s, f, &rep)
	lead := judgeRead(r, s, rt, x, b, &rep)
	return rep.verdict(lead+", and every byte is as the target wrote it", carried)
}

// readFlow predicts what reads move; the first one is not timed.
func readFlow(rt route, x parse.NIXLResult) flow {
	f := flow{from: steps.Peer, text: fmt.Sprintf("%d reads of %s, and one before", x.Iterations, blockSize(x.Bytes))}
	f.payload, f.wire = rt.moves(float64(x.Iterations+1), float64(x.Bytes))
	return f
}

func judgeRead(r steps.Result, s steps.Stage, rt route, x parse.NIXLResult, b band, rep *report) string {
	lead := fmt.Sprintf("%s over %s", gbps(x.Gbps), rt)
	e := &steps.Expected{From: b.from}
	staged := x.Device == "cuda" && (b.expected == 0 || x.Gbps < readWarnShare*b.expected)
	switch {
	case staged:
		e = &steps.Expected{Min: new(stagedLeast), Max: new(stagedMost), From: "GPU memory through host memory, as the tutorial measured on DGX Spark"}
	case b.expected > 0:
		e.Min, e.Max = new(round(readPassShare*b.expected)), new(round(overLimit*b.limit))
	default:
		e.From = "no band: " + b.none
	}
	rep.show("read throughput", round(x.Gbps), "Gb/s", e)
	switch share := x.Gbps / max(b.expected, 1); {
	case b.expected == 0:
		return lead + "; there is no band to judge by: " + b.none
	case x.Gbps > overLimit*b.limit:
		rep.add(steps.Inconclusive, "%s is more than the %.1f that %s can carry: did the data take another way?", gbps(x.Gbps), b.limit, rt)
	case staged && x.Gbps < stagedLeast:
		rep.add(steps.Fail, "%s from GPU memory, where even through host memory %g to 5 are usual: %s", gbps(x.Gbps), stagedLeast, rt.cause(r, s, x.Gbps))
	case staged && x.Gbps > stagedMost:
		rep.add(steps.Warn, "%s from GPU memory is more than staging on a DGX Spark gives and far less than the %.1f of the rails: see host-staging", gbps(x.Gbps), b.expected)
	case staged:
		return lead + fmt.Sprintf(", host-staged: with memory from cudaHostAlloc it would be %.0f", b.expected)
	case share < readWarnShare:
		rep.add(steps.Fail, "%s of %.1f (%s): %s", gbps(x.Gbps), b.expected, b.from, rt.cause(r, s, x.Gbps))
	case share < readPassShare:
		rep.add(steps.Warn, "%s of %.1f (%s): %s", gbps(x.Gbps), b.expected, b.from, rt.cause(r, s, x.Gbps))
	}
	return lead + fmt.Sprintf(", of %.1f that it can carry (%s)", b.expected, b.from)
}

// Thresholds for one read of 4 KiB from Python, microseconds: the tutorial has
// medians of 11 and 16, and TCP takes 50 and more (INVENTORY N4).
const (
	passReadUS = 30.0
	warnReadUS = 50.0
	leastRead  = 1.0
	// outliers: where p95 is so many times the median the average says nothing
	// (D24: 166.6 against 11.1).
	outliers = 5.0
)

// judgeNIXLLatency looks at the median and the tail of each rail.
func judgeNIXLLatency(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
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
	var figures []string
	var tail float64
	carried := 0
	for _, s := range r.Stages {
		rt, ok := routeOf(c, r, s)
		if !ok {
			rep.add(steps.Inconclusive, "a stage belongs to no rail")
			continue
		}
		dev := r.Rig.Rail(rt.pairs[0], steps.Here).Dev
		m := measurement{no: rt.nos[0], dev: dev, pair: rt.pairs[0]}
		var one report
		x, ok := judgeReadLatency(r, s, m, rt, &one, &carried)
		for _, f := range one.findings {
			if f.rail == 0 && !strings.Contains(f.text, dev) {
				f.rail, f.dev = m.no, m.dev
			}
			rep.note(f)
		}
		for _, e := range one.evidence {
			e.Name = fmt.Sprintf("rail %d (%s) %s", m.no, m.dev, e.Name)
			rep.evidence = append(rep.evidence, e)
		}
		if !ok {
			continue
		}
		rails, figures = append(rails, m.no), append(figures, microseconds(x.P50US))
		tail = max(tail, x.P99US)
		row := []string{fmt.Sprintf("%d %s", m.no, dev)}
		for _, v := range []float64{x.AvgUS, x.MinUS, x.P50US, x.P95US, x.P99US, x.MaxUS} {
			row = append(row, fmt.Sprintf("%.1f", v))
		}
		table.Rows = append(table.Rows, row)
	}
	if v, skipped := skips(&rep); skipped {
		return v
	}
	lead := fmt.Sprintf("typically %s a read; at most %s for 99 %%", perRail(rails, figures), microseconds(tail))
	account := ""
	if carried > 0 {
		account = "Each rail carried its own reads, and no other moved anything"
	}
	v := rep.verdict(lead, account)
	if len(table.Rows) > 0 {
		v.Tables = append(v.Tables, table)
	}
	return v
}

func judgeReadLatency(r steps.Result, s steps.Stage, m measurement, rt route, rep *report, carried *int) (parse.NIXLResult, bool) {
	rt.checkPorts(r.Rig, rep)
	results, ok := pythonEnds(r, s, rep)
	x := results[steps.Here]
	if !ok {
		return x, false
	}
	if x.P50US <= 0 || x.Iterations <= 0 || x.Bytes <= 0 {
		rep.add(steps.Inconclusive, "the initiator reports no latency")
		return x, false
	}
	b := rt.band(r.Rig)
	e := &steps.Expected{Min: new(leastRead), Max: new(passReadUS), From: "reads of 4 KiB from Python, as the tutorial measured"}
	if b.none != "" {
		e = &steps.Expected{From: "no band: " + b.none}
	}
	rep.show("latency, median", x.P50US, "us", e)
	rep.show("latency, 95 %", x.P95US, "us", nil)
	rep.show("latency, 99 %", x.P99US, "us", nil)
	rep.show("latency, maximum", x.MaxUS, "us", nil)
	rep.show("latency, average", x.AvgUS, "us", nil)
	switch {
	case b.none != "":
		rep.note(finding{grade: steps.Pass, text: "there is no band to judge by: " + b.none})
	case x.P50US < leastRead:
		rep.on(m, steps.Inconclusive, "%s is less than a cable and two adapters can take", microseconds(x.P50US))
	case x.P50US > warnReadUS:
		rep.on(m, steps.Fail, "%s typical is what TCP takes, and no RDMA: does UCX have rc there (nixl-check)?", microseconds(x.P50US))
	case x.P50US > passReadUS:
		rep.on(m, steps.Warn, "%s typical, where 11 to 16 are usual: power saving (cpufreq), or other traffic", microseconds(x.P50US))
	case x.P95US > outliers*x.P50US:
		rep.on(m, steps.Warn, "one read of twenty takes %s and more, and the median %s: power saving (cpufreq), or something else on the node", microseconds(x.P95US), microseconds(x.P50US))
	}
	f := readFlow(rt, x)
	before := len(rep.findings)
	rt.account(r, s, f, rep)
	if len(rep.findings) == before {
		*carried++
	}
	return x, true
}

// corrupting are the releases of etcd whose data may be damaged (etcd's own
// advisory of March 2022).
var corrupting = regexp.MustCompile(`^3\.5\.[0-2]$`)

// judgeEtcd: both nodes reach it, it is one, and it is not a release that loses
// data.
func judgeEtcd(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	facts := bothFacts(r, &rep)
	var versions [2]string
	for _, e := range steps.Ends {
		if len(facts[e]) == 0 {
			continue
		}
		node := r.Rig.NameOf(e)
		var answer struct {
			Server string `json:"etcdserver"`
		}
		var keys struct {
			Count string `json:"count"`
			Error string `json:"error"`
		}
		if err := json.Unmarshal([]byte(facts[e]["version"]), &answer); err != nil || answer.Server == "" {
			said := ""
			if text := facts[e]["version"]; text != "" {
				said = fmt.Sprintf(" (it answers %.60q)", text)
			}
			rep.add(steps.Fail, "etcd at %s does not answer %s%s: a firewall, or an address that only this machine has?", orUnknown(facts[e]["endpoint"]), node, said)
			continue
		}
		versions[e] = answer.Server
		rep.show("etcd as "+node+" sees it", answer.Server, "", nil)
		switch err := json.Unmarshal([]byte(facts[e]["keys"]), &keys); {
		case err != nil || keys.Error != "":
			rep.show("keys of nixlbench", "not looked at on "+node, "", nil)
		default:
			if keys.Count == "" {
				keys.Count = "0"
			}
			rep.show("keys of nixlbench", keys.Count, "keys under xferbench, as "+node+" sees them", nil)
			if keys.Count != "0" && e == steps.Here {
				rep.add(steps.Pass, "It holds %s keys of nixlbench, of runs that broke or go on: no harm, as each run has a group of its own", keys.Count)
			}
		}
	}
	if versions[0] != versions[1] && versions[0] != "" && versions[1] != "" {
		rep.add(steps.Fail, "the nodes see two etcd: %s and %s", versions[0], versions[1])
	}
	if corrupting.MatchString(versions[steps.Here]) {
		rep.add(steps.Warn, "etcd %s can corrupt its data: take 3.5.3 or later", versions[steps.Here])
	}
	return rep.verdict(fmt.Sprintf("both nodes reach etcd %s at %s", versions[steps.Here], facts[steps.Here]["endpoint"]))
}
