package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// judgeHosts: both nodes answer, they are two, and they run the same system.
func judgeHosts(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	facts := registry.BothFacts(r, &rep)
	here, peer := facts[steps.Here], facts[steps.Peer]
	for _, e := range steps.Ends {
		f := facts[e]
		for _, name := range []string{"host", "kernel", "system", "architecture", "up", "locked memory"} {
			if f[name] != "" {
				rep.ShowAt(r.Rig.NameOf(e), name, f[name], "", nil)
			}
		}
		if kb, ok := strictnum.Count(f["locked memory"]); ok && kb < LeastMemlockKB && f["locks without a limit"] != "yes" {
			rep.Add(steps.MemlockLow, steps.Warn, "locked memory on %s is limited to %d KiB, so buffer registration will fail. "+
				"Raise memlock in /etc/security/limits.conf", r.Rig.NameOf(e), kb)
		}
	}
	if len(here) == 0 || len(peer) == 0 { // the report says why
		return rep.Verdict()
	}
	checkTwo(r.Rig, here, peer, &rep)
	for _, name := range []string{"kernel", "system"} {
		switch {
		case here[name] == "" && peer[name] == "":
			rep.Add(steps.Unreadable, steps.Inconclusive, "%s is unknown on both nodes",
				name) // two missing values do not agree
		case here[name] != peer[name]:
			rep.Add(steps.VersionsDiffer, steps.Warn, "the %s differs: %s on %s but %s on %s. Update both alike", name,
				registry.OrUnknown(here[name]), r.Rig.NameOf(steps.Here), registry.OrUnknown(peer[name]), r.Rig.NameOf(steps.Peer))
		}
	}
	// An older session's script doesn't report it.
	if a, b := here["architecture"], peer["architecture"]; a != b && a+b != "" {
		rep.Add(steps.ProcessorsDiffer, steps.Warn, "the nodes have different processors: %s on %s, %s on %s",
			registry.OrUnknown(a), r.Rig.NameOf(steps.Here),
			registry.OrUnknown(b), r.Rig.NameOf(steps.Peer))
	}
	return rep.Verdict(fmt.Sprintf("%s and %s both run %s with kernel %s",
		here["host"], peer["host"], registry.OrUnknown(here["system"]), registry.OrUnknown(here["kernel"])))
}

// checkTwo: two names have to lead to two machines. A boot id (the kernel's random/boot_id) belongs to one
// machine until it restarts; a name may belong to several. Without the ids, two machines with one name look
// like one machine, and nothing measured between them means anything.
func checkTwo(rig steps.Rig, here, peer map[string]string, rep *registry.Report) {
	switch {
	case here["boot"] != "" && here["boot"] == peer["boot"] && here["host"] != peer["host"]:
		rep.Add(steps.SameMachine, steps.Warn, "%s and %s are containers or namespaces of one machine (same boot id). What "+
			"is measured between them crosses no cable", rig.NameOf(steps.Here), rig.NameOf(steps.Peer))
	case here["boot"] != "" && here["boot"] == peer["boot"]:
		rep.Add(steps.SameMachine, steps.Fail, "%s and %s are the same machine (same boot id). Correct the rig file, which "+
			"lists one host twice",
			rig.NameOf(steps.Here), rig.NameOf(steps.Peer))
	case here["host"] == peer["host"] && (here["boot"] == "" || peer["boot"] == ""):
		rep.Add(steps.HostNamesEqual, steps.Inconclusive, "both nodes have the host name %q, so they may be one machine. "+
			"Check the rig file", here["host"])
	case here["host"] == peer["host"]:
		rep.Add(steps.HostNamesEqual, steps.Warn, "both machines have the host name %q", here["host"])
	}
}

// LeastMemlockKB is what a 64 KiB test with a few queue pairs has to lock, and a
// good deal to spare.
const LeastMemlockKB = 1024

// Without a needed command the tutorial can't be gone through. Without one that is called the cells
// that call it are skipped, or see less; of the launchers LAUNCHER chooses one.
var (
	Needed = []string{"ip", "ping", "ibv_devices", "ibv_devinfo", "ib_write_bw", "ib_write_lat"}
	Called = []string{
		"all_gather_perf", "all_reduce_perf", "curl", "ethtool", "ib_read_bw", "ib_send_bw", "iperf3", "lspci", "netplan",
		"nixlbench", "nvidia-smi", "python3", "rdma", "ucx_info", "ucx_perftest",
	}
	launchers = []string{"mpirun", "srun"}
)

// judgeTools: what is missing, what brings it, and which versions differ.
func judgeTools(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	facts := registry.BothFacts(r, &rep)
	var optional []string
	without := map[string][]string{} // command that is called -> nodes
	for _, e := range steps.Ends {
		var needed []string
		// What no one asked for isn't there by that.
		for _, tool := range slices.Concat(Needed, Called, launchers) {
			if len(facts[e]) > 0 && facts[e]["tool "+tool] == "" {
				rep.Add(steps.Unreadable, steps.Inconclusive, "%s does not report whether it has %s", r.Rig.NameOf(e), tool)
			}
		}
		lacks := missing(r.Rig.NameOf(e), facts[e], &rep)
		if !slices.ContainsFunc(launchers, func(l string) bool { return !slices.Contains(lacks, l) }) {
			without[strings.Join(launchers, " or ")] = append(without[strings.Join(launchers, " or ")], r.Rig.NameOf(e))
		}
		for _, tool := range lacks {
			switch {
			case slices.Contains(launchers, tool):
			case slices.Contains(Called, tool):
				without[tool] = append(without[tool], r.Rig.NameOf(e))
			case slices.Contains(Needed, tool):
				needed = append(needed, tool)
			case !slices.Contains(optional, tool):
				optional = append(optional, tool)
			}
		}
		Packages(r.Rig, needed, func(pkg string, tools []string) {
			rep.Add(steps.CommandMissing, steps.Fail, "%s lacks %s. Install %s", r.Rig.NameOf(e), registry.List(tools), pkg)
		})
	}
	registry.SortEvidence(rep.Evidence)
	compareVersions(r.Rig, facts, &rep)
	pass, skips, note := "both nodes have every command that the cells need", "", ""
	if len(without) > 0 {
		pass = "both nodes have the commands that every cell needs"
		var all []string
		for _, tool := range slices.Sorted(maps.Keys(without)) {
			where := registry.And(without[tool])
			if len(without[tool]) == 2 {
				where = "both nodes"
			}
			all = append(all, fmt.Sprintf("%s (%s)", tool, where))
		}
		skips = fmt.Sprintf("Missing for some cells, which are skipped or show less: %s", strings.Join(all, ", "))
	}
	if len(optional) > 0 {
		slices.Sort(optional)
		note = fmt.Sprintf("Missing, but not needed: %s", strings.Join(optional, ", "))
	}
	return rep.Verdict(pass, skips, note)
}

// missing are the commands that a node lacks, in order; it puts all of them on record. The facts
// are a map: the evidence is sorted afterwards.
func missing(node string, facts map[string]string, rep *registry.Report) (tools []string) {
	for name, where := range facts {
		tool, ok := strings.CutPrefix(name, "tool ")
		if !ok {
			continue
		}
		if rep.ShowAt(node, tool, where, "", nil); where == "missing" {
			tools = append(tools, tool)
		}
	}
	slices.Sort(tools)
	return tools
}

// Packages gives the packages that bring some commands, in order, each with its commands.
func Packages(rig steps.Rig, commands []string, each func(pkg string, commands []string)) {
	by := map[string][]string{}
	for _, c := range slices.Sorted(slices.Values(commands)) {
		by[rig.PackageOf(c)] = append(by[rig.PackageOf(c)], c)
	}
	for _, pkg := range slices.Sorted(maps.Keys(by)) {
		each(pkg, by[pkg])
	}
}

// compareVersions: programs that talk to the other end have the same version there. A version that one node
// doesn't report is not a difference: the tool may be missing, which is reported elsewhere.
func compareVersions(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	for _, what := range []string{"perftest", "iperf3", "UCX"} {
		a, b := facts[steps.Here]["version "+what], facts[steps.Peer]["version "+what]
		if a != "" || b != "" {
			rep.Show(what+" version", registry.OrUnknown(a)+" / "+registry.OrUnknown(b), "", nil)
		}
		if a == "" || b == "" || a == b {
			continue
		}
		code, why := steps.VersionsDiffer, "Install one version on both: the two ends need the same options"
		if what == "UCX" {
			code, why = steps.UCXDiffers, "NIXL then finds no common transport (NIXL_ERR_NOT_FOUND). Build one version "+
				"on both"
		}
		rep.Add(code, steps.Warn, "%s is %s on %s but %s on %s. %s", what, a, rig.NameOf(steps.Here), b,
			rig.NameOf(steps.Peer), why)
	}
}

// judgePrivileges: whether the session may change the nodes' network later. That it may not is not a failure of the
// rig.
func judgePrivileges(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	var able, asked []string
	for _, s := range r.Stages {
		for _, o := range s.Outputs {
			if o.Failed == runner.SudoPassword {
				asked = append(asked, r.Rig.NameOf(o.End))
				rep.Explain("%s: %s", r.Rig.NameOf(o.End), o.Err)
			} else if isRoot(r.Rig, o, &rep) {
				able = append(able, r.Rig.NameOf(o.End))
			}
		}
		if s.Err != "" && len(s.Outputs) == 0 {
			rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", s.Err)
		}
	}
	if len(asked) > 0 {
		rep.Add(steps.NeedsRoot, steps.Skipped, "no root on %s: cells that change the network cannot run. Enter the sudo "+
			"password when asked, or allow sudo without one", registry.And(asked))
	}
	catches(r.Rig, &rep)
	v := rep.Verdict(fmt.Sprintf("root works on %s, as network changes need",
		registry.And(able)))
	switch skipped := slices.ContainsFunc(rep.Findings,
		func(f registry.Finding) bool { return f.Grade == steps.Skipped }); {
	case v.Grade == steps.Pass && skipped:
		// PASS ranks above SKIPPED, and half of the nodes isn't enough.
		v.Grade, v.Code = steps.Skipped, rep.Findings[0].Code
		v.Reason = registry.Sentences([]string{registry.Capital(rep.Findings[0].Text)})
	case v.Grade == steps.Pass && len(able) < len(steps.Ends):
		v = registry.Inconclusive(steps.NodeAway, "Only %d of %d nodes answered.", len(able), len(steps.Ends))
	}
	return v
}

// catches says at which node nothing ends a process that hides from its supervisor.
func catches(rig steps.Rig, rep *registry.Report) {
	for _, n := range rig.Nodes {
		switch n.Catches {
		case "group":
			rep.ShowAt(n.Name, "ends hidden processes by", "a control group", "", nil)
		case "parent":
			rep.ShowAt(n.Name, "ends hidden processes by", "being its parent", "", nil)
		case "nothing":
			rep.Add(steps.StraysUncaught, steps.Warn, "a process that hides from railbench on %s cannot be ended there (no "+
				"control group, perl or systemd-run --user). Install perl",
				n.Name)
		}
	}
}

// isRoot reports whether a script ran as root. The error of one that never started is the runner's: sudo that asks
// for a password there, or refuses, is not a defect of the rig.
func isRoot(rig steps.Rig, o steps.Output, rep *registry.Report) bool {
	node := rig.NameOf(o.End)
	id := strings.TrimSpace(registry.LastLine(o.Text))
	switch {
	case !o.Ran:
		rep.Add(steps.NotRunHere, steps.Inconclusive, "%s could not be tested for root: %s",
			node, registry.OrUnknown(o.Err))
	case o.Exit.OK() && id == "0":
		rep.ShowAt(node, "user id", 0, "", nil)
		return true
	case o.Exit.OK():
		rep.Add(steps.NeedsRoot, steps.Skipped, "the script on %s ran as user %s instead of root, so the cells that change "+
			"the network cannot run",
			node, registry.OrUnknown(id))
	default:
		if f, bad := registry.Trouble(rig, o); bad {
			rep.Note(f)
			return false
		}
		rep.Add(steps.ScriptFailed, steps.Inconclusive, "the script on %s ended with %s", node, o.Exit)
	}
	return false
}
