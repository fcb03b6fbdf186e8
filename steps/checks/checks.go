// Package checks is what the judges of the checklist share: reading both nodes' facts,
// and which rail is meant to lead where. The checks themselves stand in its folders.
package checks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// OnBoth makes a judge of one that gets what the check's script printed on both nodes,
// read. It is asked only where both ran to their end and were read: one node's answer
// alone would be taken for both.
func OnBoth[T any](judge func(r steps.Result, read [2]T, rep *registry.Report) steps.Verdict) registry.Judge {
	return registry.Takes[T](func(c steps.Cell, r steps.Result) steps.Verdict {
		var rep registry.Report
		read, v, done := ReadBoth[T](c, r, &rep)
		if done {
			return v
		}
		return judge(r, read, &rep)
	})
}

// ReadBoth is what a check's script printed on both nodes, for a judge that looks at more
// than that. done is true where there is nothing to judge, and then v is the verdict.
func ReadBoth[T any](c steps.Cell, r steps.Result, rep *registry.Report) (read [2]T, v steps.Verdict, done bool) {
	if v, done := registry.Gate(c, r); done {
		return read, v, true
	}
	read, ok := registry.Both[T](r, rep)
	if !ok {
		return read, rep.Verdict(), true
	}
	return read, v, false
}

// Unseen is a verdict on what a check could not look at: nothing that it needs is
// there, or it may not be read.
func Unseen(rep registry.Report, code steps.Code, format string, args ...any) steps.Verdict {
	v := rep.Verdict()
	if v.Grade == steps.Pass {
		v.Grade, v.Code = steps.Skipped, code
		v.Reason = registry.Sentences([]string{registry.Capital(fmt.Sprintf(format, args...))})
	}
	return v
}

// AllTell reports whether a script printed something about every rail's interface; what it
// left out is INCONCLUSIVE and in the report.
func AllTell(rig steps.Rig, facts [2]map[string]string, what string, rep *registry.Report) bool {
	ok := true
	for _, e := range steps.Ends {
		for _, rail := range rig.At(e).Rails {
			if facts[e][rail.Netdev.Name+" "+what] == "" {
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the %s of %s (%s) on %s", what, rail.Dev,
					registry.OrUnknown(rail.Netdev.Name), rig.NameOf(e))
				ok = false
			}
		}
	}
	return ok
}

// Counterpart is the rail at the other end that a rail leads to, or should: its pair, or the same
// device, or the only one that is left behind the same PCIe link. -1 where there is none, as of a rail that leads
// to a node other than the link's two: of three in a ring each has one of these.
func Counterpart(rig steps.Rig, e steps.End, rail int) int {
	for _, p := range rig.Pairs {
		if p.Rails[e] == rail {
			return p.Rails[e.Other()]
		}
	}
	own, theirs := rig.At(e).Rails[rail], rig.At(e.Other()).Rails
	free := func(i int) bool {
		paired := slices.ContainsFunc(rig.Pairs, func(p steps.Pair) bool { return p.Rails[e.Other()] == i })
		return !paired && !rig.LeadsElsewhere(theirs[i])
	}
	same := slices.IndexFunc(theirs, func(r steps.Rail) bool { return r.Dev == own.Dev && r.Port == own.Port })
	if same >= 0 && free(same) {
		return same
	}
	away := func(n steps.Node) bool { return n.Err != "" } // a rail may lead there
	if rig.LeadsElsewhere(own) || slices.ContainsFunc(rig.Nodes[len(steps.Ends):], away) {
		return -1
	}
	var left []int
	for i, r := range theirs {
		if free(i) && r.PCI.Half() != "" && r.PCI.Half() == own.PCI.Half() {
			left = append(left, i)
		}
	}
	switch {
	case len(left) == 1:
		return left[0]
	case len(rig.Nodes) == len(steps.Ends):
		return same
	}
	return -1
}

// Missing adds a finding where one node has rails and the other has none: what holds of
// one end alone is not what a check says.
func Missing(rig steps.Rig, rep *registry.Report) {
	for _, e := range steps.Ends {
		if len(rig.At(e).Rails) == 0 && len(rig.At(e.Other()).Rails) > 0 {
			rep.At(rig, e, steps.NoRail, steps.Inconclusive, "no rail on %s, so that end was not checked", rig.NameOf(e))
		}
	}
}

// Linked reports whether both ends of a pair are switched on and have a carrier. Silence of
// one that isn't is expected: link-up says why.
func Linked(rig steps.Rig, p steps.Pair) bool {
	for _, e := range steps.Ends {
		if d := rig.Rail(p, e).Netdev; !d.Up || !d.Carrier {
			return false
		}
	}
	return true
}

// Wanted reports whether a rail is meant to carry something, as seen from either end.
func Wanted(rig steps.Rig, e steps.End, rail int) bool {
	if rig.InUse(e, rail) {
		return true
	}
	other := Counterpart(rig, e, rail)
	return other >= 0 && rig.InUse(e.Other(), other)
}

// AddressesOf are the IPv4 addresses of an interface in the facts of its node: the
// line that ip prints, or "none".
func AddressesOf(facts map[string]string, netdev string) []netip.Prefix {
	var all []netip.Prefix
	for _, word := range parse.BriefAddrs(strings.Fields(facts[netdev+" addresses"])) {
		if p, err := netip.ParsePrefix(word); err == nil && p.Addr().Is4() {
			all = append(all, p)
		}
	}
	return all
}

func Joined(all []netip.Prefix) string {
	var words []string
	for _, p := range all {
		words = append(words, p.String())
	}
	return strings.Join(words, " ")
}
