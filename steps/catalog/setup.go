package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/probe"
)

// judgeHosts: both nodes answer, they are two, and they run the same system.
func judgeHosts(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	facts := bothFacts(r, &rep)
	here, peer := facts[steps.Here], facts[steps.Peer]
	for _, e := range steps.Ends {
		f := facts[e]
		for _, name := range []string{"host", "kernel", "system", "up", "locked memory"} {
			if f[name] != "" {
				rep.show(r.Rig.NameOf(e)+" "+name, f[name], "", nil)
			}
		}
		if kb, err := strconv.Atoi(f["locked memory"]); err == nil && kb < leastMemlockKB {
			rep.add(steps.Warn, "on %s a user may lock only %d KiB of memory: registering buffers will fail (raise memlock in /etc/security/limits.conf)", r.Rig.NameOf(e), kb)
		}
	}
	if len(here) == 0 || len(peer) == 0 {
		return rep.verdict()
	}
	sameBoot := here["boot"] != "" && here["boot"] == peer["boot"]
	switch {
	case sameBoot:
		rep.add(steps.Fail, "%s and %s are one and the same machine (one boot id): the rig file names one host twice", r.Rig.NameOf(steps.Here), r.Rig.NameOf(steps.Peer))
	case here["host"] == peer["host"] && (here["boot"] == "" || peer["boot"] == ""):
		rep.add(steps.Inconclusive, "both call themselves %q, and nothing shows that they are two machines", here["host"])
	case here["host"] == peer["host"]:
		rep.add(steps.Warn, "both machines call themselves %q", here["host"])
	}
	for _, name := range []string{"kernel", "system"} {
		if here[name] != peer[name] {
			rep.add(steps.Warn, "the nodes differ in their %s: %s on %s, %s on %s", name,
				orUnknown(here[name]), r.Rig.NameOf(steps.Here), orUnknown(peer[name]), r.Rig.NameOf(steps.Peer))
		}
	}
	return rep.verdict(fmt.Sprintf("%s and %s are two machines with the same system: %s, kernel %s",
		here["host"], peer["host"], orUnknown(here["system"]), orUnknown(here["kernel"])))
}

// leastMemlockKB is what a 64 KiB test with a few queue pairs has to lock, and a
// good deal to spare.
const leastMemlockKB = 1024

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// bothFacts reads the lines "name: value" of both nodes.
func bothFacts(r steps.Result, rep *report) [2]map[string]string {
	var facts [2]map[string]string
	outputs, _ := onBoth(r, rep)
	for e, o := range outputs {
		if exited(r, o, rep) {
			continue
		}
		if f, ok := value[map[string]string](r, o, rep); ok {
			facts[e] = f
		}
	}
	return facts
}

// Without a needed command the tutorial can't be gone through. Without one that
// is called the cells that call it are skipped.
var (
	needed = []string{"ip", "ping", "ibv_devices", "ibv_devinfo", "ib_write_bw", "ib_write_lat"}
	called = []string{"iperf3", "netplan", "nixlbench", "nvidia-smi", "python3", "ucx_info"}
)

// judgeTools: what is missing, what brings it, and which versions differ.
func judgeTools(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	facts := bothFacts(r, &rep)
	var optional []string
	without := map[string][]string{} // command that is called -> nodes
	for _, e := range steps.Ends {
		missing := map[string][]string{} // package -> needed commands
		var packages []string
		for name, where := range facts[e] {
			tool, ok := strings.CutPrefix(name, "tool ")
			if !ok {
				continue
			}
			rep.show(r.Rig.NameOf(e)+" "+tool, where, "", nil)
			if where != "missing" {
				continue
			}
			if slices.Contains(called, tool) {
				without[tool] = append(without[tool], r.Rig.NameOf(e))
				continue
			}
			if !slices.Contains(needed, tool) {
				if !slices.Contains(optional, tool) {
					optional = append(optional, tool)
				}
				continue
			}
			pkg := probe.Package(tool)
			if missing[pkg] == nil {
				packages = append(packages, pkg)
			}
			missing[pkg] = append(missing[pkg], tool)
		}
		slices.Sort(packages)
		for _, pkg := range packages {
			slices.Sort(missing[pkg])
			rep.add(steps.Fail, "%s has no %s: install %s", r.Rig.NameOf(e), and(missing[pkg]), pkg)
		}
	}
	sortEvidence(rep.evidence)
	here, peer := facts[steps.Here], facts[steps.Peer]
	for _, what := range []string{"perftest", "iperf3", "UCX"} {
		a, b := here["version "+what], peer["version "+what]
		if a != "" || b != "" {
			rep.show(what+" version", orUnknown(a)+" / "+orUnknown(b), "", nil)
		}
		if a == "" || b == "" || a == b {
			continue
		}
		why := "the two ends must be given, and understand, the same options"
		if what == "UCX" {
			why = "NIXL then finds no common transport (NIXL_ERR_NOT_FOUND): build one version on both"
		}
		rep.add(steps.Warn, "%s is %s on %s and %s on %s: %s", what, a, r.Rig.NameOf(steps.Here), b, r.Rig.NameOf(steps.Peer), why)
	}
	pass, skips, note := "every command that the parts need is there on both nodes", "", ""
	if len(without) > 0 {
		pass = "the commands that every part needs are there on both nodes"
		var all []string
		for _, tool := range slices.Sorted(maps.Keys(without)) {
			where := and(without[tool])
			if len(without[tool]) == 2 {
				where = "both nodes"
			}
			all = append(all, fmt.Sprintf("%s (%s)", tool, where))
		}
		skips = fmt.Sprintf("Missing for some cells, which are skipped or see less: %s", strings.Join(all, ", "))
	}
	if len(optional) > 0 {
		slices.Sort(optional)
		note = fmt.Sprintf("Missing, and no cell needs it: %s", strings.Join(optional, ", "))
	}
	return rep.verdict(pass, skips, note)
}

func sortEvidence(all []steps.Evidence) {
	slices.SortFunc(all, func(a, b steps.Evidence) int { return strings.Compare(a.Name, b.Name) })
}

// judgePrivileges: whether the session may change the nodes' network later. That
// it may not is no failure of the rig.
func judgePrivileges(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	var able []string
	for _, s := range r.Stages {
		for _, o := range s.Outputs {
			node := r.Rig.NameOf(o.End)
			id := strings.TrimSpace(lastLine(o.Text))
			refused := strings.Contains(strings.ToLower(o.Err), "sudo") || strings.Contains(strings.ToLower(o.Err), "password")
			switch {
			case !o.Ran && refused:
				rep.add(steps.Skipped, "without root on %s (%s) the parts that change the network can't run; all others can", node, o.Err)
			case !o.Ran:
				rep.add(steps.Inconclusive, "%s could not be asked: %s", node, orUnknown(o.Err))
			case o.Exit.OK() && id == "0":
				able = append(able, node)
				rep.show(node+" user id", 0, "", nil)
			case o.Exit.OK():
				rep.add(steps.Skipped, "on %s the script ran as user %s and not as root: the parts that change the network can't run; all others can", node, orUnknown(id))
			default:
				if f, bad := trouble(r.Rig, o); bad {
					rep.add(f.grade, "%s", f.text)
					continue
				}
				rep.add(steps.Inconclusive, "the script on %s ended with %s", node, o.Exit)
			}
		}
		if s.Err != "" && len(s.Outputs) == 0 {
			rep.add(steps.Inconclusive, "it stopped: %s", s.Err)
		}
	}
	v := rep.verdict(fmt.Sprintf("root works on %s: the later parts can change the network there, and undo it", and(able)))
	switch skipped := slices.ContainsFunc(rep.findings, func(f finding) bool { return f.grade == steps.Skipped }); {
	case v.Grade == steps.Pass && skipped:
		// PASS ranks above SKIPPED, and half of the nodes isn't enough.
		v.Grade = steps.Skipped
		v.Reason = sentences([]string{capital(rep.findings[0].text)})
	case v.Grade == steps.Pass && len(able) < len(steps.Ends):
		v = inconclusive("Only %d of %d nodes answered.", len(able), len(steps.Ends))
	}
	return v
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}
