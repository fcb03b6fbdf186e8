package software

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/family/host"
	"github.com/railbench/railbench/steps/family/nixl"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// onOneOnly finds what one node has and the other lacks.
func onOneOnly(facts [2]map[string]string, has func(map[string]string) bool) (lacks steps.End, one bool) {
	here, peer := has(facts[steps.Here]), has(facts[steps.Peer])
	if here == peer {
		return 0, false
	}
	if here {
		return steps.Peer, true
	}
	return steps.Here, true
}

// judgeNeeded: a node has the commands without which there is nothing to test.
func judgeNeeded(rig steps.Rig, e steps.End, facts map[string]string, rep *registry.Report) {
	node := rig.NameOf(e)
	var missing []string
	for _, tool := range host.Needed {
		switch facts["tool "+tool] {
		case "":
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read whether %s is installed on %s", tool, node)
		case "missing":
			missing = append(missing, tool)
		}
	}
	host.Packages(rig, missing, func(pkg string, tools []string) {
		rep.At(rig, e, steps.CommandMissing, steps.Fail, "missing on %s: %s. Tests that need %s are skipped or fail "+
			"(status 127). Install %s", node, registry.List(tools), registry.Plural(len(tools), "it", "them"), pkg)
	})
}

// judgeToolsPresent: what is missing, and what brings it.
func judgeToolsPresent(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var without []string
	names := map[string]bool{}
	for _, e := range steps.Ends {
		for name, where := range facts[e] {
			names[name] = true
			rep.ShowAt(r.Rig.NameOf(e), strings.TrimPrefix(name, "tool "), where, "", nil)
		}
		judgeNeeded(r.Rig, e, facts[e], rep)
	}
	registry.SortEvidence(rep.Evidence)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		what := strings.TrimPrefix(strings.TrimPrefix(name, "tool "), "package ")
		there := func(f map[string]string) bool { return f[name] != "" && f[name] != "missing" }
		if slices.Contains(host.Needed, what) || !strings.HasPrefix(name, "tool ") && !strings.HasPrefix(name, "package ") {
			continue
		}
		lacks, one := onOneOnly(facts, there)
		switch {
		case one:
			how := "Install it there, too"
			if pkg := r.Rig.PackageOf(what); pkg != "" {
				how = "Install " + pkg
			}
			rep.At(r.Rig, lacks, steps.MissingOnOneNode, steps.Warn, "%s is missing on %s but not on %s, so some tests cannot "+
				"run. %s", what, r.Rig.NameOf(lacks), r.Rig.NameOf(lacks.Other()), how)
		case !there(facts[steps.Here]):
			without = append(without, what)
		}
	}
	note := ""
	if len(without) > 0 {
		note = fmt.Sprintf("Neither has %s: cells that use it are skipped", registry.And(without))
	}
	return rep.Verdict("both nodes have the commands that the tests need, and neither lacks one that the other has", note)
}

// firmwares are the different releases of a node's adapters.
// Several functions of one adapter have one firmware, and it counts once.
func firmwares(f map[string]string) string {
	var all []string
	for name, v := range f {
		if strings.HasPrefix(name, "firmware ") && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return registry.And(all)
}

// leastNIXLBench is the first release that needs no etcd.
const leastNIXLBench = "1.1.0"

// judgeVersions: what both nodes have is the same release. That one lacks something is
// for tools-present to say.
func judgeVersions(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	setups, ok := bothSetups(r, &rep)
	if !ok {
		return rep.Verdict()
	}
	var compared, alone []string
	compare := func(code steps.Code, what, harm string, of func(parse.NIXLSetup) string) {
		a, b := of(setups[steps.Here]), of(setups[steps.Peer])
		if a == "" && b == "" {
			return
		}
		rep.Show(what, nixl.OrMissing(a)+" / "+nixl.OrMissing(b), "", nil)
		switch {
		case a == "" || b == "":
			alone = append(alone, what+" (unknown on "+r.Rig.NameOf(silentEnd(a))+")")
		case a != b:
			rep.Add(code, steps.Warn, "%s is %s on %s but %s on %s. %s", what, a, r.Rig.NameOf(steps.Here), b,
				r.Rig.NameOf(steps.Peer), harm)
			rep.Decide(what)
		default:
			if what == "nixlbench" {
				a = nixl.ByOptions(a)
			}
			compared = append(compared, what+" "+a)
		}
	}
	fact := func(name string) func(parse.NIXLSetup) string {
		return func(s parse.NIXLSetup) string { return s.Facts[name] }
	}
	compare(steps.UCXDiffers, "UCX", "NIXL finds no path (NIXL_ERR_NOT_FOUND). Install one version on both",
		func(s parse.NIXLSetup) string { return s.UCX.Version })
	compare(steps.VersionsDiffer, "perftest", "The ends refuse each other or measure different things. Install one "+
		"release on both", fact("version perftest"))
	compare(steps.NIXLDiffers, "nixlbench", "An option that one end does not know ends it. Install one version on both",
		nixlbenchOf)
	compare(steps.NIXLDiffers, "NIXL for Python", "The two agents may not understand each other. Install one version on "+
		"both",
		func(s parse.NIXLSetup) string {
			if s.Python == nil || s.Python.Error != "" {
				return ""
			}
			return s.Python.NIXL
		})
	compare(steps.VersionsDiffer, "The kernel", "Results of the ends may differ for that reason. Update both nodes alike",
		fact("kernel"))
	compare(steps.FirmwareDiffers, "The adapters' firmware", "Results of the ends may differ for that reason. Update "+
		"both adapters alike",
		func(s parse.NIXLSetup) string { return firmwares(s.Facts) })
	compare(steps.VersionsDiffer, "iperf3", "Newer releases use a thread for each stream, older ones one for all. "+
		"Install one release on both", fact("version iperf3"))
	judgeNIXLBench(r.Rig, setups, &rep)
	if len(compared) == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.Unreadable, steps.Inconclusive, "no release is known on both nodes, so nothing was compared")
	}
	return rep.Verdict("both nodes have the same releases: "+strings.Join(compared, ", "), noted("Not compared: ", alone))
}

// judgeNIXLBench looks whether each node's nixlbench starts, and is new enough.
func judgeNIXLBench(rig steps.Rig, setups [2]parse.NIXLSetup, rep *registry.Report) {
	for _, e := range steps.Ends {
		if why := setups[e].Facts["nixlbench error"]; why != "" {
			rep.At(rig, e, steps.ProgramUnable, steps.Inconclusive, "%s on %s does not start, so its release is unknown: "+
				"see libraries", "nixlbench", rig.NameOf(e))
			rep.Explain("%s on %s: %s", "nixlbench", rig.NameOf(e), strings.TrimPrefix(why, "nixlbench: "))
		}
		if f := setups[e].Facts; nixlbenchOf(setups[e]) != "" && f["nixlbench --asio_address"] != "yes" {
			rep.At(rig, e, steps.NIXLBenchOld, steps.Warn, "%s on %s is %s: before %s it needs an etcd and reports wrong "+
				"latencies. Build a newer one", "nixlbench", rig.NameOf(e), nixlbenchOf(setups[e]), leastNIXLBench)
			rep.Explain("The latency that nixlbench before 1.1.0 reports for several threads is too small")
		}
	}
}

// silentEnd is the end that printed nothing, of two of which the first printed a.
func silentEnd(a string) steps.End {
	if a == "" {
		return steps.Here
	}
	return steps.Peer
}

// noted is a note of some things, and empty where there are none.
func noted(of string, all []string) string {
	if all == nil {
		return ""
	}
	return of + strings.Join(all, ", ")
}

// nixlbenchOf is the release of a node's nixlbench; empty where there is none, or
// it doesn't start.
func nixlbenchOf(s parse.NIXLSetup) string {
	if s.Facts["nixlbench --etcd_endpoints"] != "yes" { // every release has it
		return ""
	}
	return parse.NIXLBenchRelease(func(option string) bool { return s.Facts["nixlbench --"+option] == "yes" })
}

// judgeLibraries: the loader finds everything that the tools are linked with.
func judgeLibraries(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var looked, blind []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		for _, name := range slices.Sorted(maps.Keys(facts[e])) {
			lacks := facts[e][name]
			tool, ok := strings.CutPrefix(name, "libraries ")
			switch {
			case name == "ldd" && lacks == "missing":
				blind = append(blind, node)
			case name == "import nixl":
				rep.ShowAt(node, "import nixl", lacks, "", nil)
				rep.At(r.Rig, e, steps.LibraryMissing, steps.Fail, "Python on %s cannot load NIXL: %s. Add the library's folder "+
					"to /etc/ld.so.conf.d, and run ldconfig", node, lacks)
				rep.Decide(node + " import nixl")
			case !ok:
			default:
				rep.ShowAt(node, tool, lacks, "", nil)
				if !slices.Contains(looked, tool) {
					looked = append(looked, tool)
				}
				if lacks != "found" {
					rep.At(r.Rig, e, steps.LibraryMissing, steps.Fail, "%s on %s does not start: %s missing. Install it, or add its "+
						"folder to /etc/ld.so.conf.d and run ldconfig", tool, node, registry.And(strings.Fields(lacks))+" "+
						""+registry.Plural(len(strings.Fields(lacks)), "is", "are"))
					rep.Decide(node + " " + tool)
				}
			}
		}
	}
	// What was found on the other node stays: one that can't be looked into says nothing of it.
	if blind != nil {
		return checks.Unseen(*rep, steps.CommandMissing, "%s no ldd, so missing libraries are unknown",
			registry.HaveOrHas(blind))
	}
	if len(looked) == 0 && len(rep.Findings) == 0 {
		return rep.Skipped(steps.CannotRun, "neither node has any of the tools, so no libraries were checked")
	}
	var not []string
	for _, tool := range looked {
		for _, e := range steps.Ends {
			if facts[e]["libraries "+tool] == "" {
				not = append(not, tool+" on "+r.Rig.NameOf(e))
			}
		}
	}
	return rep.Verdict(fmt.Sprintf("the loader finds all libraries of %s", registry.And(looked)),
		noted("Not checked, or not installed: ", not))
}

// buffer is what a test asks for, in KiB; 0 where the parameter is not a number.
func buffer(s string) float64 {
	v, _ := strictnum.Number(s)
	return v / 1024
}

// judgeMemlock: what a user may lock holds the buffers of the tests.
func judgeMemlock(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var said []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		least, what := float64(host.LeastMemlockKB), "perftest"
		if want := buffer(f["buffer"]); nixl.Installed(f, "nixlbench") && want > least {
			least, what = want, "nixlbench (NIXL_DRAM_BUFFER)"
		}
		rep.ShowAt(node, "ulimit -l", f["limit"], "KiB", &steps.Expected{Min: new(least), From: what})
		for _, name := range slices.Sorted(maps.Keys(f)) {
			if strings.HasPrefix(name, "/") {
				rep.ShowAt(node, name, f[name], "KiB", nil)
			}
		}
		kb, number := strictnum.Number(f["limit"])
		switch {
		case f["limit"] == "unlimited":
			said = append(said, "no limit on "+node)
		case f["locks without a limit"] == "yes":
			said = append(said, "no limit on "+node+" (root)")
		case !number:
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the limit of locked memory on %s: %q", node,
				f["limit"])
		case kb < least:
			rep.At(r.Rig, e, steps.MemlockLow, steps.Fail, "users on %s may lock %.0f KiB, but %s needs %.0f KiB. Set memlock "+
				"to unlimited in /etc/security/limits.conf, and log in again", node, kb, what, least)
			rep.Decide(node + " ulimit -l")
			rep.Explain("A larger buffer cannot be registered: ibv_reg_mr ends with \"Cannot allocate memory\"")
		default:
			said = append(said, fmt.Sprintf("%.0f KiB on %s, enough for %s", kb, node, what))
		}
	}
	return rep.Verdict("users may lock enough memory: " + registry.And(said))
}

// memoryMargin is what a node keeps for everything else in addition to a test's buffer.
// Chosen: a node that swaps measures its disk.
const memoryMargin = 512 << 10 // KiB

// judgeFreeMemory: the buffers of the tests fit.
func judgeFreeMemory(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var said []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		least, what := float64(host.LeastMemlockKB), "perftest's buffers"
		if nixl.Installed(f, "nixlbench") {
			least, what = max(buffer(f["buffer"]), buffer(f["read"]))+memoryMargin, "NIXL's largest buffer, and 512 MiB "+
				"for everything else"
		}
		available, ok := strictnum.Number(f["MemAvailable"])
		if !ok {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the available memory on %s", node)
			continue
		}
		rep.ShowAt(node, "available memory", available, "KiB", &steps.Expected{Min: new(least), From: what})
		if total, ok := strictnum.Number(f["SwapTotal"]); ok && total > 0 {
			if free, ok := strictnum.Number(f["SwapFree"]); ok {
				rep.ShowAt(node, "swap in use", total-free, "KiB", nil)
			}
		}
		total, ok1 := strictnum.Number(f["CmaTotal"])
		free, ok2 := strictnum.Number(f["CmaFree"])
		if ok1 && ok2 {
			rep.ShowAt(node, "free CMA", free, "KiB", &steps.Expected{Max: new(total), From: "CmaTotal"})
		}
		switch {
		case ok1 && ok2 && free > total:
			unpinnable(r.Rig, e, f, free-total, rep)
		case available < least:
			rep.At(r.Rig, e, steps.MemoryShort, steps.Fail, "only %s of memory are available on %s, but tests need %s. Stop "+
				"what uses the memory, or lower the buffer (-p NIXL_DRAM_BUFFER=1G)", mebibytes(available), node, mebibytes(least))
			rep.Explain("Needed: %s. With less, a test fails to allocate, or the node swaps", what)
		default:
			said = append(said, fmt.Sprintf("%s on %s", mebibytes(available), node))
		}
	}
	return rep.Verdict("memory is available for the tests: " + registry.And(said))
}

// unpinnable reports free memory that belongs to no CMA area and yet is kept for what can be
// moved: nothing in it can be pinned.
func unpinnable(rig steps.Rig, e steps.End, f map[string]string, kib float64, rep *registry.Report) {
	node, kernel := rig.NameOf(e), f["kernel"]
	rep.ShowAt(node, "kernel", registry.OrUnknown(kernel), "",
		&steps.Expected{From: "kho=" + registry.OrUnknown(f["kho"]) + " on its command line"})
	major, _, _ := strings.Cut(kernel, ".")
	if n, ok := strictnum.Count(major); ok && n >= handoverKernel && f["kho"] != "off" {
		rep.At(rig, e, steps.MemoryUnpinnable, steps.Warn, "the kernel on %s reserves %s that RDMA cannot pin (KHO), so "+
			"ibv_reg_mr fails. Add kho=off to GRUB_CMDLINE_LINUX", node, mebibytes(kib))
		rep.Explain("Kernel %s keeps this memory for a kexec handover: ibv_reg_mr ends with \"Cannot allocate memory\" "+
			"while memory is free. After the change run update-grub, and restart", kernel)
		rep.Decide(node+" kernel", node+" free CMA")
		return
	}
	rep.At(rig, e, steps.MemoryMiscounted, steps.Warn, "the kernel on %s (%s) reports %s more free CMA memory than it "+
		"has. Do not rely on free memory; a reboot corrects it", node, registry.OrUnknown(kernel), mebibytes(kib))
}

// handoverKernel is the release from which distributions' kernels hand memory over to the next
// one by default (CONFIG_KEXEC_HANDOVER_ENABLE_DEFAULT; NVIDIA/NV-Kernels PR 590).
const handoverKernel = 7

func mebibytes(kib float64) string { return fmt.Sprintf("%.0f MiB", kib/1024) }

// judgeSudoAccess: whether root needs a password.
func judgeSudoAccess(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	for _, e := range steps.Ends {
		root, node, user := facts[e]["root"], r.Rig.NameOf(e), registry.OrUnknown(facts[e]["user"])
		rep.ShowAt(node, "root for "+user, registry.OrUnknown(root), "", nil)
		switch {
		case root == "yes":
		case strings.Contains(root, "password is required"):
			rep.At(r.Rig, e, steps.SudoPassword, steps.Warn, "%s on %s needs the password of user %s. Type it when "+
				"railbench asks, or allow NOPASSWD for unattended runs", "sudo", node, user)
		default:
			rep.At(r.Rig, e, steps.NeedsRoot, steps.Warn, "%s cannot become root on %s (%s), so cells that change the network "+
				"cannot run there", user, node, registry.OrUnknown(root))
		}
	}
	return rep.Verdict("both users can become root without a password")
}
