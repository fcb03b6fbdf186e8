package software

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// untold is what the script prints if the name of a library's file has no version.
const untold = "(no version)"

// judgeNCCLVersion: what one node has of NCCL, the other has, too, and the same. NCCL's own rule is
// that all processes of a job have one version (it compares their peerInfo in its src/init.cc).
func judgeNCCLVersion(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	names := map[string]bool{}
	for _, e := range steps.Ends {
		for _, key := range registry.SortedNames(facts[e]) {
			if name, ok := strings.CutPrefix(key, "nccl "); ok {
				names[name] = true
				rep.ShowAt(r.Rig.NameOf(e), "NCCL of "+name, facts[e][key], "", nil)
			}
		}
	}
	if len(names) == 0 {
		return noNCCL(r, facts, rep)
	}
	unasked := unaskedNCCL(r, facts, rep)
	alike, unknown := compareNCCL(r.Rig, registry.SortedNames(names), facts, rep)
	if len(alike) == 0 && len(rep.Findings) == 0 {
		if unknown == nil {
			return rep.Skipped(steps.Unreadable, "nothing was compared: %s", strings.Join(unasked, "; "))
		}
		return rep.Skipped(steps.Unreadable, "the file name of %s shows no version on both nodes, so nothing was compared",
			registry.And(unknown))
	}
	if r.Rig.InRing() {
		for _, version := range registry.SortedNames(alike) {
			if n, ok := limits.NCCLNumber(version); ok && n < limits.NCCLRingRelease {
				rep.Add(steps.NCCLTooOld, steps.Warn, "%s, and %s on both nodes is %s", limits.NCCLRingNeeds,
					registry.List(alike[version]), version)
			}
		}
	}
	var same []string
	for _, version := range registry.SortedNames(alike) {
		same = append(same, registry.And(alike[version])+" "+version)
	}
	if unknown != nil {
		same = append(same, "not compared: "+registry.And(unknown)+", whose file name shows no version")
	}
	return rep.Verdict("the same on both nodes: " + strings.Join(append(same, unasked...), "; "))
}

// compareNCCL reports what differs between the nodes, and returns what is alike, by version, and what says no version.
func compareNCCL(
	rig steps.Rig, names []string, facts [2]map[string]string, rep *registry.Report,
) (alike map[string][]string, unknown []string) {
	here, peer := rig.NameOf(steps.Here), rig.NameOf(steps.Peer)
	// The loader's and nccl-tests' are one file as a rule, and then one finding.
	alike = map[string][]string{}
	differs := map[string][]string{}
	for _, name := range names {
		a, b := facts[steps.Here]["nccl "+name], facts[steps.Peer]["nccl "+name]
		switch {
		case a == "" || b == "":
			has, lacks := here, peer
			end := steps.Peer
			if a == "" {
				has, lacks, end = peer, here, steps.Here
			}
			if facts[end]["not asked "+teller(name)] != "" {
				continue // what it lacks is unknown
			}
			rep.Add(steps.MissingOnOneNode, steps.Warn, "%s has %s, but %s does not: a job of both starts on one node only", has,
				ncclOf(name), lacks)
		case strings.HasPrefix(a, untold) || strings.HasPrefix(b, untold):
			unknown = append(unknown, ncclOf(name))
		case a != b:
			pair := fmt.Sprintf("%s on %s and %s on %s", a, here, b, peer)
			differs[pair] = append(differs[pair], ncclOf(name))
			rep.Decide(fmt.Sprintf("%s NCCL of %s", here, name), fmt.Sprintf("%s NCCL of %s", peer, name))
		default:
			alike[a] = append(alike[a], ncclOf(name))
		}
	}
	for _, pair := range registry.SortedNames(differs) {
		rep.Add(steps.NCCLDiffers, steps.Fail, "NCCL differs between the nodes (%s): %s. Jobs fail (\"Mismatched NCCL "+
			"version detected\"). Install one version on both", registry.And(differs[pair]), pair)
	}
	return alike, unknown
}

// hasNCCL reports whether an NCCL was found on a node.
func hasNCCL(facts map[string]string) bool {
	for key := range facts {
		if strings.HasPrefix(key, "nccl ") {
			return true
		}
	}
	return false
}

// noNCCL is the verdict where no NCCL was found on either node.
func noNCCL(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	if unasked := unaskedNCCL(r, facts, rep); unasked != nil {
		return rep.Skipped(steps.Unreadable, "no NCCL was found, but not everything was checked: %s", strings.Join(unasked,
			"; "))
	}
	return rep.Skipped(steps.CannotRun, "neither node has an NCCL in its loader, nccl-tests or $NIXL_PYTHON. To check a "+
		"container: --container NAME")
}

// teller is what finds an NCCL: a node may lack it.
func teller(name string) string {
	switch name {
	case "loader", "nccl-tests":
		return name
	}
	return "Python"
}

// unaskedNCCL says of each node what could not be asked there.
func unaskedNCCL(r steps.Result, facts [2]map[string]string, rep *registry.Report) (all []string) {
	for _, e := range steps.Ends {
		for _, who := range []string{"loader", "Python"} {
			if why := facts[e]["not asked "+who]; why != "" {
				rep.ShowAt(r.Rig.NameOf(e), "NCCL of "+who, "not checked: "+why, "", nil)
				all = append(all, fmt.Sprintf("%s on %s was not checked: %s", map[string]string{
					"loader": "the loader",
					"Python": "Python",
				}[who], r.Rig.NameOf(e), why))
			}
		}
	}
	return all
}

// ncclOf names an NCCL by who takes it.
func ncclOf(name string) string {
	switch name {
	case "loader":
		return "the system's NCCL"
	case "nccl-tests":
		return "nccl-tests' NCCL"
	}
	return "the NCCL of Python's package " + name
}
