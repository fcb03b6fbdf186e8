package network

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
)

// judgeRebootSafe: each rail's address is in a configuration that a boot reads.
func judgeRebootSafe(r steps.Result, facts [2]map[string]string, rep *kind.Report) steps.Verdict {
	rig := r.Rig
	saved, closed, without := 0, "", 0
	for _, e := range steps.Ends {
		node, f := rig.NameOf(e), facts[e]
		by := f["configured by"]
		rep.Show(node+" is configured by", kind.OrUnknown(by), "", nil)
		switch by {
		case "":
			rep.At(rig, e, steps.Inconclusive, "%s doesn't tell what configures its network", node)
			continue
		case "nothing":
			without++
			continue
		}
		for _, rail := range rig.At(e).Rails {
			if rail.Addr == "" || rail.Netdev.Master != "" {
				continue
			}
			where := f[rail.Netdev.Name+"="+rail.Addr+" is in"]
			rep.Show(fmt.Sprintf("%s %s of %s", node, rail.Addr, rail.Netdev.Name), kind.OrUnknown(where), "", nil)
			switch {
			case where == "":
				rep.At(rig, e, steps.Inconclusive, "nothing tells where %s has %s from", rail.Netdev.Name, rail.Addr)
			case where != "nothing":
				saved++
			case !rail.Netdev.Up || !rail.Netdev.Carrier:
				// A profile is in force only with a link.
			case f["only root may read"] != "nothing":
				closed = fmt.Sprintf("%s of %s is in no configuration that this user may read on %s: only root reads %s",
					rail.Addr, rail.Netdev.Name, node, kind.OrUnknown(f["only root may read"]))
			default:
				rep.At(rig, e, steps.Warn, "%s of %s on %s is in no configuration of %s, and gone after a reboot. nmcli "+
					"connection modify, or a file in /etc/netplan, makes it last", rail.Addr, rail.Netdev.Name, node, by)
			}
		}
	}
	if without == 1 {
		unconfigured(rig, facts, rep)
	}
	skipped := ""
	switch {
	case len(rep.Findings) > 0:
	case without == len(steps.Ends):
		skipped = "Neither node has NetworkManager, systemd-networkd, netplan or ifupdown: where its addresses come from " +
			"is not known here."
	case closed != "":
		skipped = kind.Sentences([]string{kind.Capital(closed)})
	case saved == 0:
		skipped = "No rail with a link has an address on a node that something configures."
	}
	v := rep.Verdict(fmt.Sprintf("%s of rails come from a configuration, and are there again after a reboot",
		kind.Count(saved, "address", "addresses")))
	if skipped != "" {
		v.Grade, v.Reason = steps.Skipped, skipped
	}
	return v
}

// unconfigured adds a finding about a node whose rails have addresses that nothing known
// gives them, while the other node tells where its are from.
func unconfigured(rig steps.Rig, facts [2]map[string]string, rep *kind.Report) {
	for _, e := range steps.Ends {
		rail := func(r steps.Rail) bool { return r.Addr != "" && r.Netdev.Master == "" }
		if facts[e]["configured by"] == "nothing" && slices.ContainsFunc(rig.At(e).Rails, rail) {
			rep.At(rig, e, steps.Inconclusive, "where %s has its rails' addresses from is not known: it has no "+
				"NetworkManager, systemd-networkd, netplan or ifupdown", rig.NameOf(e))
		}
	}
}
