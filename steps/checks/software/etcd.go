package software

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

const ownEtcd = "railbench brings its own when a cell needs one"

// judgeEtcdOn reports what is wrong with the etcd of a node, or returns what is well.
func judgeEtcdOn(rig steps.Rig, e steps.End, facts [2]map[string]string, rep *registry.Report) (well string) {
	f, node := facts[e], rig.NameOf(e)
	there := installed(f)
	answers := strings.Contains(f["answer"], "etcdserver")
	switch {
	case len(there) == 0 && f["listens"] == "":
		return judgeMasked(rig, e, facts, rep)
	case f["listens"] == "":
		rep.At(rig, e, steps.EtcdNotRunning, steps.Warn, "the etcd on %s is not running (%s). railbench does not "+
			"need it: start it only to run nixlbench yourself", node, registry.List(there))
		rep.Explain("Without an etcd, nixlbench before 1.1.0 ends with \"connections to all backends failing\". Nothing "+
			"listens on port 2379 on %s", node)
		rep.Decide(node+" etcd service", node+" etcd enabled")
	case answers && onLoopback(f["listens"]) && pointsTo(facts[e.Other()], rig, e):
		rep.At(rig, e, steps.EtcdLoopback, steps.Warn, "the etcd on %s listens only on loopback, but %s is set to use "+
			"it. Let it listen on a rail's address", node, rig.NameOf(e.Other()))
		rep.Explain("Or leave it to railbench, which brings its own. nixlbench on %s cannot reach this one",
			rig.NameOf(e.Other()))
		rep.Decide(node + " etcd listens")
	case answers && onLoopback(f["listens"]):
		return fmt.Sprintf("the etcd on %s answers on loopback only, so %s cannot reach it, and no cell needs to", node,
			rig.NameOf(e.Other()))
	case answers:
		return fmt.Sprintf("the etcd on %s answers", node)
	case f["curl"] == "missing":
		rep.At(rig, e, steps.CommandMissing, steps.Inconclusive, "port 2379 on %s is in use, but without curl it is "+
			"unknown whether an etcd answers. Install curl", node)
	case f["answer"] == "" && len(there) == 0:
		return fmt.Sprintf("the program on port 2379 of %s does not answer like an etcd without TLS", node)
	default:
		rep.At(rig, e, steps.EtcdSilent, steps.Warn, "the program on port 2379 on %s does not answer like etcd (%s). "+
			"Only nixlbench by hand needs it", node, registry.OrUnknown(registry.And(there)))
		rep.Explain("The program may use TLS. %s", ownEtcd)
		rep.Decide(node + " etcd listens")
	}
	return ""
}

// judgeEtcdService: what is installed of etcd answers. No cell needs it.
// So nothing here is worse than a WARN: only a nixlbench that is started by hand would miss it.
func judgeEtcdService(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var good, blind []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		for _, what := range []string{"enabled", "masked", "service", "container", "listens", "answer"} {
			if f[what] != "" {
				rep.ShowAt(node, "etcd "+what, f[what], "", nil)
			}
		}
		if f["ss"] == "missing" {
			blind = append(blind, node)
			continue
		}
		if well := judgeEtcdOn(r.Rig, e, facts, rep); well != "" {
			good = append(good, well)
		}
	}
	if blind != nil { // what is wrong on the other node is so all the same
		return checks.Unseen(*rep, steps.CommandMissing, "%s no ss, so whether an etcd listens is unknown. Install "+
			"iproute2", registry.HaveOrHas(blind))
	}
	if len(good) == 0 {
		return rep.Verdict("no etcd runs or starts at boot on either node, and none is needed: " + ownEtcd)
	}
	return rep.Verdict(strings.Join(good, "; "))
}

// judgeMasked looks at a unit that cannot be started: that is well, unless a setting names it.
func judgeMasked(rig steps.Rig, e steps.End, facts [2]map[string]string, rep *registry.Report) (good string) {
	unit, node, by := facts[e]["masked"], rig.NameOf(e), ""
	switch {
	case unit == "":
		return ""
	case names(facts[e], "127.0.0.1", "localhost", "[::1]") || pointsTo(facts[e], rig, e):
		by = node
	case pointsTo(facts[e.Other()], rig, e):
		by = rig.NameOf(e.Other())
	default:
		return fmt.Sprintf("%s on %s is masked, and nothing refers to it", unit, node)
	}
	rep.At(rig, e, steps.EtcdMasked, steps.Warn, "%s on %s is masked, but an environment variable of %s names it. Only "+
		"nixlbench by hand needs it: sudo systemctl unmask %s", unit, node, by, unit)
	rep.Explain("nixlbench by hand ends with \"connections to all backends failing\". %s", ownEtcd)
	rep.Decide(node + " etcd masked")
	return ""
}

// installed is what a node has of etcd.
func installed(f map[string]string) []string {
	var there []string
	if f["enabled"] != "" {
		there = append(there, f["enabled"]+" enabled")
	}
	if s := f["service"]; s == "active" || s == "failed" || s == "activating" {
		there = append(there, "service "+s)
	}
	if f["container"] != "" {
		there = append(there, "container nixl-etcd "+f["container"])
	}
	return there
}

// onLoopback reports whether no address of a list can be reached from elsewhere.
func onLoopback(addresses string) bool {
	return !slices.ContainsFunc(strings.Fields(addresses),
		func(a string) bool { return !strings.HasPrefix(a, "127.") && a != "[::1]" })
}

// pointsTo reports whether a node's environment names an etcd on another one, or itself.
func pointsTo(f map[string]string, rig steps.Rig, e steps.End) bool {
	var hosts []string
	for _, rail := range rig.At(e).Rails {
		if rail.Addr != "" {
			hosts = append(hosts, rail.Addr)
		}
	}
	if host := rig.At(e).Host; host != "" {
		hosts = append(hosts, host)
	}
	return names(f, hosts...)
}

// names reports whether a node's environment has an etcd on one of some hosts.
func names(f map[string]string, hosts ...string) bool {
	for _, v := range []string{"NIXL_ETCD_ENDPOINTS", "ETCD_ENDPOINTS", "ETCDCTL_ENDPOINTS"} {
		for end := range strings.SplitSeq(f["environment "+v], ",") {
			if _, rest, ok := strings.Cut(end, "://"); ok {
				end = rest
			}
			if slices.ContainsFunc(hosts, func(h string) bool { return strings.HasPrefix(end+":", h+":") }) {
				return true
			}
		}
	}
	return false
}

// A keyList is what etcd's JSON gateway answers to a range; numbers of 64 bits are
// text there, and zeros are left out.
type keyList struct {
	Header *struct{} `json:"header"`
	Count  string    `json:"count"`
	Keys   []struct {
		Key   []byte `json:"key"`
		Lease string `json:"lease"`
	} `json:"kvs"`
	Deleted string `json:"deleted"`
}

func readKeys(text string) (keyList, bool) {
	var l keyList
	err := json.Unmarshal([]byte(text), &l)
	return l, err == nil && l.Header != nil
}

// groupsOf are the groups of nixlbench's keys: xferbench/GROUP/…
// A run's keys are of the group that its benchmark was given, and two runs in one group see each other's.
func (l keyList) groupsOf() []string {
	var all []string
	for _, k := range l.Keys {
		parts := strings.Split(string(k.Key), "/")
		group := "(no group)"
		if len(parts) > 2 {
			group = parts[1]
		}
		if !slices.Contains(all, group) {
			all = append(all, group)
		}
	}
	return all
}

// judgeEtcdKeys: no run has left its ranks in an etcd of the nodes.
func judgeEtcdKeys(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var unseen, clean []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		rep.ShowAt(node, "etcd", registry.OrUnknown(f["etcd"]), "", nil)
		if f["etcd"] == "none" {
			continue
		}
		list, ok := readKeys(f["keys"])
		if !ok {
			why := "the answer is not a list of keys: TLS, a password or an older gateway"
			for _, tool := range []string{"ss", "curl"} {
				if f[tool] == "missing" {
					why = "no " + tool
				}
			}
			unseen = append(unseen, fmt.Sprintf("could not read the keys of the etcd on %s (%s)", node, why))
			continue
		}
		count, ok := strictnum.Count(cmp.Or(list.Count, "0")) // a zero is left out
		if !ok {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "the etcd on %s answers with %q as its number of keys, "+
				"which is not a number", node, list.Count)
			continue
		}
		rep.ShowAt(node, "nixlbench keys", count, "", &steps.Expected{
			Max:  new(0.0),
			From: "no nixlbench is running",
		})
		// A rank's key has a lease of 30 s since nixlbench 1.1.0, which a living run renews; the key of the
		// group's size has none and stays behind a run that was killed.
		leased := slices.ContainsFunc(list.Keys, func(k struct {
			Key   []byte `json:"key"`
			Lease string `json:"lease"`
		},
		) bool {
			return k.Lease != "" && k.Lease != "0"
		})
		switch {
		case count == 0:
			clean = append(clean, node)
		case leased:
			rep.At(r.Rig, e, steps.EtcdInUse, steps.Warn, "the etcd on %s has %d nixlbench keys (%s) of a run that is in "+
				"progress. Check again when it is over", node, count, registry.List(list.groupsOf()))
			rep.Explain("A key of nixlbench has a lease, which ends 30 s after its run")
		default:
			rep.At(r.Rig, e, steps.EtcdStaleKeys, steps.Warn, "the etcd on %s has %d stale nixlbench keys (group %s): the "+
				"next run in that group fails. Delete them", node, count, registry.List(list.groupsOf()))
			rep.Explain("The next run in such a group ends with \"Rank 2 is greater than or equal to global size 2\". Do not " +
				"delete the keys while a nixlbench before 1.1.0 runs: its keys have no lease")
		}
	}
	switch {
	case len(unseen) > 0 && len(rep.Findings) == 0:
		return rep.Skipped(steps.Unreadable, "%s", strings.Join(unseen, "; "))
	case len(unseen) > 0: // said with what was found on another node
		rep.Add("", steps.Pass, "%s", registry.Capital(strings.Join(unseen, "; ")))
		return rep.Verdict()
	case len(clean) > 0:
		return rep.Verdict(fmt.Sprintf("the etcd on %s has no keys of nixlbench", registry.And(clean)))
	}
	return rep.Verdict("no etcd listens on port 2379 of either node, so no keys of nixlbench",
		"The etcd of railbench deletes the keys after each run")
}

// judgeDeleteKeys: no key is left.
func judgeDeleteKeys(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var said []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		rep.ShowAt(node, "etcd", registry.OrUnknown(f["etcd"]), "", nil)
		if f["etcd"] == "none" {
			continue
		}
		if f["kept"] != "" {
			rep.At(r.Rig, e, steps.EtcdInUse, steps.Warn, "nothing was deleted on %s: %s", node, f["kept"])
			continue
		}
		done, ok1 := readKeys(f["answer"])
		left, ok2 := readKeys(f["keys"])
		if !ok1 || !ok2 {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "the etcd on %s did not answer as expected, so whether the "+
				"keys are gone is unknown", node)
			continue
		}
		gone, _ := strictnum.Count(done.Deleted)
		rep.ShowAt(node, "keys deleted", gone, "", nil)
		if left.Count != "" && left.Count != "0" {
			rep.At(r.Rig, e, steps.EtcdInUse, steps.Fail, "the etcd on %s still has %s nixlbench keys: another process writes "+
				"them", node, left.Count)
			continue
		}
		said = append(said, fmt.Sprintf("%d keys were deleted in the etcd on %s; none is left", gone, node))
	}
	if len(said) == 0 {
		said = []string{"there was nothing to delete"}
	}
	return rep.Verdict(said...)
}
