// Package catalog holds what a cell can name as its parser and its judge: the
// knowledge of what a result means on this hardware. One file is one family of
// cells.
//
// A judge is pure: a cell and a result go in, a verdict comes out. All of them
// hold to this: PASS only where every role ended with status 0, the output was
// read completely, the counters make sense and the threshold is met. Whatever
// timed out, could not be reached, did not parse or was not counted is
// INCONCLUSIVE, and says what happened. How a tool's text is read is parse's,
// and how a node is looked at is probe's.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/probe"
)

// New lists every parser and judge. The judge of a cell that names none is
// "exit-status", which is registered under the empty name too.
func New() steps.Catalog {
	return steps.Catalog{
		Parsers: map[string]steps.Parser{
			"perftest-bandwidth": parser(parse.PerftestBandwidth),
			"perftest-latency":   parser(parse.PerftestLatency),
			"verbs-devices":      parser(parse.VerbsDevices),
			"ibv-devices":        parser(parse.IbvDevices),
			"ibv-devinfo":        parser(parse.IbvDevinfo),
			"gid-table":          parser(parse.ShowGids),
			"ibdev2netdev":       parser(parse.Ibdev2netdev),
			"ip-links":           parser(parse.Links),
			"ping":               parser(parse.Pings),
			"bonding":            parser(parse.Bonding),
			"bonds":              parser(parse.Bonds),
			"iperf3":             parser(parse.Iperf3Output),
			"facts":              parser(parse.Facts),
			"dual-link":          parser(parseDual),
			"nixlbench":          parser(parse.NIXLBenchOutput),
			"nixl-python":        parser(parse.NIXLPythonOutput),
			"nixl-check":         parser(parse.NIXLSetupOutput),
			"ucx":                parser(parse.UCXInfo),
			"host-staging":       parser(parse.StagingOutput),
			"hardware":           parser(parse.HardwareOutput),
			"readings":           parser(parse.Readings),
		},
		Judges: map[string]steps.Judge{
			"":                judgeExitStatus,
			"exit-status":     judgeExitStatus,
			"hosts":           judgeHosts,
			"tools":           judgeTools,
			"privileges":      judgePrivileges,
			"interfaces":      judgeInterfaces,
			"devices":         judgeDevices,
			"rail-map":        judgeRailMap,
			"ping":            judgePing,
			"gids":            judgeGIDs,
			"write-bandwidth": judgeWriteBandwidth,
			"write-latency":   judgeWriteLatency,
			"bond-check":      judgeBondCheck,
			"bond-status":     judgeBondStatus,
			"tcp":             judgeTCP,
			"mtu":             judgeMTU,
			"bond-setup":      judgeBondSetup,
			"bond-teardown":   judgeTeardown,
			"rail-ips":        judgeRailIPs,
			"dual-link":       judgeDual,
			"netplan":         judgeNetplan,
			"cleanup":         judgeCleanup,
			"nixl-check":      judgeNIXLCheck,
			"nixl-register":   judgeNIXLRegister,
			"nixl-transfer":   judgeNIXLTransfer,
			"nixl-latency":    judgeNIXLLatency,
			"etcd":            judgeEtcd,
			"nixlbench":       judgeNIXLBench,
			"host-staging":    judgeHostStaging,

			"tools-present": judgeToolsPresent,
			"versions":      judgeVersions,
			"ucx-build":     judgeUCXBuild,
			"ucx-settings":  judgeUCXSettings,
			"nixl-rails":    judgeNIXLRails,
			"nixl-threads":  judgeNIXLThreads,
			"libraries":     judgeLibraries,
			"memlock":       judgeMemlock,
			"free-memory":   judgeFreeMemory,
			"test-ports":    judgeTestPorts,
			"etcd-service":  judgeEtcdService,
			"etcd-keys":     judgeEtcdKeys,
			"sudo-access":   judgeSudoAccess,
			"nccl-settings": judgeNCCLSettings,
			"firewall":      judgeFirewall,
			"end-process":   judgeEndProcess,
			"delete-keys":   judgeDeleteKeys,

			"nodes":            judgeNodes,
			"link-up":          judgeLinkUp,
			"rail-addresses":   judgeRailAddresses,
			"address-conflict": judgeAddressConflict,
			"arp-flux":         judgeArpFlux,
			"duplicate-ip":     judgeDuplicateIP,
			"mtu-equal":        judgeMTUEqual,
			"rail-bond":        judgeRailBond,
			"bond-health":      judgeBondHealth,
			"gid-index":        judgeGIDIndex,
			"rdma-ports":       judgeRDMAPorts,
			"routes":           judgeRoutes,
			"reboot-safe":      judgeRebootSafe,
			"roce-lag":         judgeRoceLAG,
			"fix-link-up":      judgeFixLinkUp,
			"fix-rail-address": judgeRailIPs,
			"fix-addresses":    judgeFixAddresses,

			"pcie-link":           judgePCIeLink,
			"adapter-present":     judgeAdapterPresent,
			"adapter-power":       judgeAdapterPower,
			"adapter-temperature": judgeAdapterTemperature,
			"gpu":                 judgeGPU,
			"gpu-path":            judgeGPUPath,
			"secure-boot":         judgeSecureBoot,
			"bar1":                judgeBAR1,
			"port-counters":       judgePortCounters,
			"idle-rails":          judgeIdleRails,
			"error-counters":      judgeErrorCounters,
			"rail-speed":          judgeRailSpeed,
		},
		Plans: map[string]steps.Planner{
			"mtu":           planMTU,
			"bond-setup":    planBond,
			"bond-teardown": planTeardown,
			"rail-ips":      planRailIPs,
			"netplan":       planNetplan,
			"cleanup":       planCleanup,
			"dual-link":     planDual,

			"arp-flux":         planWays,
			"duplicate-ip":     planWays,
			"mtu-equal":        planWays,
			"reboot-safe":      planWays,
			"fix-link-up":      planLinkUp,
			"fix-rail-address": planRailAddress,
			"fix-addresses":    planAddresses,
		},
		Own: map[string]func(steps.History) steps.Verdict{
			"summary": summarize,
		},
		Live: map[string]func(string) (steps.Table, bool){
			"nixlbench": liveNIXLBench,
		},
	}
}

// parser gives a function of package parse the shape that a cell calls. Tools
// mix their streams, and a failed one says why on either: both are read.
func parser[T any](read func(string) (T, error)) steps.Parser {
	return func(stdout, stderr string) (any, error) {
		text := stdout
		if stderr != "" {
			text = strings.TrimRight(stdout, "\n") + "\n" + stderr
		}
		v, err := read(text)
		return v, err
	}
}

// A finding is one thing that a judge noticed.
type finding struct {
	grade steps.Grade
	text  string // a sentence without its full stop
	// rail is the number of the rail that it is about, counted from 1, and dev its
	// device; 0 where it is about none.
	rail int
	dev  string
	// node is the one that it is about; empty for both or none.
	node string
}

// A report gathers findings and evidence into a verdict.
type report struct {
	findings []finding
	evidence []steps.Evidence
}

func (r *report) add(g steps.Grade, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	// What begins with an argument begins with a name, and a name keeps its spelling.
	if !strings.HasPrefix(format, "%") {
		text = capital(text)
	}
	r.note(finding{grade: g, text: text})
}

// at adds a finding that is about one node, which the text names.
func (r *report) at(rig steps.Rig, e steps.End, g steps.Grade, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(format, "%") {
		text = capital(text)
	}
	r.note(finding{grade: g, text: text, node: rig.NameOf(e)})
}

// on adds a finding about the rail of a measurement.
func (r *report) on(m measurement, g steps.Grade, format string, args ...any) {
	r.note(finding{grade: g, text: fmt.Sprintf(format, args...), rail: m.no, dev: m.dev})
}

func (r *report) note(f finding) {
	if !slices.Contains(r.findings, f) {
		r.findings = append(r.findings, f)
	}
}

func (r *report) show(name string, value any, unit string, expected *steps.Expected) {
	r.evidence = append(r.evidence, steps.Evidence{Name: name, Value: value, Unit: unit, Expected: expected})
}

// sorted puts the worst findings first and says once what is true of several
// rails.
func (r *report) sorted() []finding {
	var merged []finding
	for _, f := range r.findings {
		var rails []string
		for _, g := range r.findings {
			if g.rail > 0 && g.grade == f.grade && g.text == f.text {
				rails = append(rails, fmt.Sprint(g.rail))
			}
		}
		switch {
		case f.rail == 0:
		case len(rails) == 1:
			f.text = fmt.Sprintf("Rail %d (%s): %s", f.rail, f.dev, f.text)
		default:
			f.text = fmt.Sprintf("Rails %s: %s", and(rails), f.text)
		}
		f.rail, f.dev = 0, ""
		if !slices.Contains(merged, f) {
			merged = append(merged, f)
		}
	}
	slices.SortStableFunc(merged, func(a, b finding) int { return int(b.grade) - int(a.grade) })
	return merged
}

// maxSentences keeps a reason readable; the rest is in the evidence.
const maxSentences = 3

// verdict puts the worst findings first. pass is what is said where nothing was
// found amiss.
func (r *report) verdict(pass ...string) steps.Verdict {
	v := steps.Verdict{Grade: steps.Pass, Evidence: r.evidence}
	if v.Evidence == nil {
		v.Evidence = []steps.Evidence{}
	}
	var texts []string
	for i, f := range r.sorted() {
		v.Grade = v.Grade.Worst(f.grade)
		texts = append(texts, f.text)
		switch {
		case f.grade < v.Grade || v.Grade <= steps.Pass: // what is worse is what it is about
		case i == 0:
			v.Node = f.node
		case f.node != v.Node:
			v.Node = ""
		}
	}
	if v.Grade == steps.Pass {
		var first []string
		for _, p := range pass {
			first = append(first, capital(p))
		}
		texts = append(first, texts...)
	}
	v.Reason = sentences(texts)
	return v
}

// sentences joins the first texts to sentences.
func sentences(texts []string) string {
	var b strings.Builder
	n := 0
	for _, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			continue
		}
		if n++; n > maxSentences {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t)
		if !strings.HasSuffix(t, ".") && !strings.HasSuffix(t, "?") && !strings.HasPrefix(t, "(") {
			b.WriteByte('.')
		}
	}
	if more := n - maxSentences; more > 0 {
		fmt.Fprintf(&b, " And %d more: see the evidence.", more)
	}
	return b.String()
}

// inconclusive is a verdict with one reason.
func inconclusive(format string, args ...any) steps.Verdict {
	return steps.Verdict{Grade: steps.Inconclusive, Reason: fmt.Sprintf(format, args...), Evidence: []steps.Evidence{}}
}

// gate answers for the judge where there is nothing to judge: the cell was
// skipped, or nothing ran.
func gate(c steps.Cell, r steps.Result) (steps.Verdict, bool) {
	if r.Skip != "" {
		return steps.Verdict{Grade: steps.Skipped, Reason: skipReason(c, r), Evidence: []steps.Evidence{}}, true
	}
	if len(r.Stages) > 0 {
		return steps.Verdict{}, false
	}
	for _, e := range steps.Ends {
		if r.Rig.Nodes[e].Err != "" && c.Check.Any() {
			return inconclusive("Not looked at, because %s does not answer: see the check nodes.", r.Rig.NameOf(e)), true
		}
		if r.Rig.Nodes[e].Err != "" {
			return inconclusive("Nothing ran, because %s could not be looked at: %s", r.Rig.NameOf(e), r.Rig.Nodes[e].Err), true
		}
	}
	if c.EachRail && len(r.Rig.Pairs) == 0 {
		return inconclusive("Nothing ran, because no rail leads from node to node: see the rail map."), true
	}
	return inconclusive("Nothing ran."), true
}

// skipReason says which package brings what is missing, where the session's
// reason doesn't already.
func skipReason(c steps.Cell, r steps.Result) string {
	reason := r.Skip
	for _, need := range c.Needs {
		pkg := probe.Package(need)
		if pkg == "" || strings.Contains(reason, pkg) {
			continue
		}
		for _, e := range steps.Ends {
			if t, looked := r.Rig.Nodes[e].Tools[need]; looked && t.Path == "" {
				reason = strings.TrimRight(reason, ".") + fmt.Sprintf(". %s comes with %s.", need, pkg)
				break
			}
		}
	}
	return reason
}

// trouble says in words why an output can't be judged, and how bad that is; ok
// is false where it can.
func trouble(rig steps.Rig, o steps.Output) (finding, bool) {
	where := "the script on " + rig.NameOf(o.End)
	if o.Role != "" {
		where = "the " + o.Role + " on " + rig.NameOf(o.End)
	}
	switch {
	case !o.Ran && o.Err != "":
		return finding{grade: steps.Inconclusive, text: fmt.Sprintf("%s did not run to its end: %s", where, o.Err)}, true
	case !o.Ran:
		return finding{grade: steps.Inconclusive, text: where + " did not run"}, true
	case o.Exit.Why == runner.TimedOut:
		return finding{grade: steps.Inconclusive, text: where + " " + o.Exit.String()}, true
	case o.Exit.Why == runner.Cancelled:
		return finding{grade: steps.Inconclusive, text: where + " was interrupted"}, true
	case o.Exit.Code == 127:
		return finding{grade: steps.Inconclusive, text: where + " did not find a command (exit 127)"}, true
	}
	return finding{}, false
}

// onBoth gathers the outputs of a cell that runs one script on both nodes, by
// end. ok is false where an end is missing: then the report says why, and what
// the other end alone shows may only be a consequence of that.
func onBoth(r steps.Result, rep *report) (good map[steps.End]steps.Output, ok bool) {
	good = map[steps.End]steps.Output{}
	seen := map[steps.End]bool{}
	for _, s := range r.Stages {
		if s.Err != "" {
			rep.add(steps.Inconclusive, "it stopped: %s", s.Err)
		}
		for _, o := range s.Outputs {
			seen[o.End] = true
			if f, bad := trouble(r.Rig, o); bad {
				rep.add(f.grade, "%s", f.text)
				continue
			}
			good[o.End] = o
		}
	}
	for _, e := range steps.Ends {
		if !seen[e] {
			rep.add(steps.Inconclusive, "nothing ran on %s", r.Rig.NameOf(e))
		}
	}
	return good, len(good) == len(steps.Ends)
}

// value reads what the parser made of an output. A missing or foreign value is
// INCONCLUSIVE and in the report.
func value[T any](r steps.Result, o steps.Output, rep *report) (T, bool) {
	v, ok := o.Value.(T)
	switch {
	case o.ParseErr != "":
		said := ""
		if last := strings.TrimSpace(lastLine(o.Text)); last != "" {
			said = " (its last line: " + last + ")"
		}
		rep.add(steps.Inconclusive, "the output on %s does not parse: %s%s", r.Rig.NameOf(o.End), o.ParseErr, said)
		return v, false
	case !ok:
		rep.add(steps.Inconclusive, "the output on %s was not read", r.Rig.NameOf(o.End))
	}
	return v, ok
}

// exited reports a non-zero status.
func exited(r steps.Result, o steps.Output, rep *report) bool {
	if o.Exit.OK() {
		return false
	}
	rep.add(steps.Inconclusive, "the script on %s ended with %s", r.Rig.NameOf(o.End), o.Exit)
	return true
}

// judgeExitStatus is for cells that nothing else judges.
func judgeExitStatus(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	n := 0
	for _, s := range r.Stages {
		if s.Err != "" {
			rep.add(steps.Inconclusive, "it stopped: %s", s.Err)
		}
		for _, o := range s.Outputs {
			n++
			if f, bad := trouble(r.Rig, o); bad {
				rep.add(f.grade, "%s", f.text)
			} else if !o.Exit.OK() {
				rep.add(steps.Fail, "the script on %s ended with %s", r.Rig.NameOf(o.End), o.Exit)
			}
		}
	}
	if n == 0 {
		rep.add(steps.Inconclusive, "nothing ran")
	}
	return rep.verdict("every script ended with status 0; nothing else was judged")
}

// and joins words: a, b and c.
func and(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// capital begins a sentence. A name keeps its spelling: enp1s0f0np0, ib_write_bw.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "" || strings.ContainsAny(first, "0123456789_-.") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
