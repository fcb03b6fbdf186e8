package software

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// mostRules is how many lines of rules the check's script prints.
// More are counted and not printed, so that a part is not taken for all.
const mostRules = 2000

// torchPort is where torchrun's first process listens.
const torchPort = 29500

// judgeFirewall: no rule blocks the other node.
func judgeFirewall(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var unread, read, none []string
	why := ""
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		for _, s := range []string{"ufw", "firewalld", "nftables"} {
			if f["service "+s] == "active" {
				rep.ShowAt(node, "service "+s, "active", "", nil)
			}
		}
		rep.ShowAt(node, "packet filter", registry.OrUnknown(f["loaded"]), "", nil)
		switch f["loaded"] {
		case "":
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read whether a packet filter is loaded on "+
				"%s. Read its rules as root: nft list ruleset", node)
			continue
		case "none":
			none = append(none, node)
			continue
		}
		rules := rulesOf(f)
		ports := []int{rocePort, torchPort}
		for _, p := range testPorts(f) {
			ports = append(ports, p.port)
		}
		number, counted := strictnum.Count(strings.TrimSuffix(f["rules"], " lines"))
		switch {
		case f["unread"] != "":
			unread, why = append(unread, node), f["unread"]
			rep.ShowAt(node, "rules not read", why, "", nil)
		case len(testPorts(f)) == 0:
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the ports of the tests on %s, so rules "+
				"about them are unknown", node)
			continue
		case !counted:
			rep.At(r.Rig, e, steps.OutputIncomplete, steps.Inconclusive, "the firewall rules on %s were not listed "+
				"completely", node)
			continue
		case number > mostRules:
			rep.At(r.Rig, e, steps.OutputIncomplete, steps.Inconclusive, "the firewall on %s has %d lines of rules, but only "+
				"%d were read", node, number, mostRules)
		default:
			read = append(read, node)
			rep.ShowAt(node, "lines of rules", number, "", nil)
		}
		// Also of rules that were read in part: what was seen of nft counts where iptables' could not be read.
		for _, b := range blocking(rules, r.Rig.At(e), ports) {
			judgeBlock(r.Rig, e, b, rep)
		}
	}
	switch {
	case len(unread) > 0 && len(rep.Findings) == 0:
		return rep.Skipped(steps.Unreadable, "could not read the firewall rules on %s (%s), so whether they block the "+
			"other node is unknown", registry.And(unread), why)
	case len(read) == 0:
		return rep.Verdict("no packet filter is loaded on either node, so no rule blocks the other node")
	case len(none) > 0:
		return rep.Verdict(fmt.Sprintf("no rule on %s blocks the other node, and %s has no packet filter", registry.And(read),
			registry.And(none)))
	}
	return rep.Verdict(fmt.Sprintf("no rule on %s blocks the other node", registry.And(read)))
}

// judgeBlock is for a rule that blocks packets from the other node, or to it.
func judgeBlock(rig steps.Rig, e steps.End, b block, rep *registry.Report) {
	node := rig.NameOf(e)
	rep.ShowAt(node, "rule", b.text, "", nil)
	rep.Decide(node + " rule")
	switch {
	case b.roce:
		judgeRoCEDropped(rig, e, b, rep)
	case b.names && b.out:
		rep.At(rig, e, steps.FirewallBlocks, steps.Fail, "a rule of %s on %s blocks traffic to the other node over its "+
			"rails: TCP tests fail. Allow all traffic on the rails", b.of, node)
	case b.out:
		rep.At(rig, e, steps.FirewallMayBlock, steps.Warn, "%s on %s may block the other node: no rule allows all traffic "+
			"sent over %s. Add one", b.of, node, registry.List(b.rails))
	case b.names:
		rep.At(rig, e, steps.FirewallBlocks, steps.Fail, "a rule of %s on %s blocks the other node on its rails: TCP tests "+
			"fail, although ping works. Allow traffic on the rails", b.of, node)
	default:
		rep.At(rig, e, steps.FirewallMayBlock, steps.Warn, "%s on %s may block the other node: no rule allows all traffic "+
			"received over %s. Add one", b.of, node, registry.List(b.rails))
	}
}

// judgeRoCEDropped is for a rule that blocks RoCE's own packets. An adapter bypasses the
// kernel's filter.
func judgeRoCEDropped(rig steps.Rig, e steps.End, b block, rep *registry.Report) {
	node := rig.NameOf(e)
	if strings.Contains(rig.At(e).Adapter, "soft-RoCE") {
		rep.At(rig, e, steps.RoCEFiltered, steps.Fail, "a rule of %s on %s blocks RoCE packets (UDP 4791): soft-RoCE tests "+
			"time out, although ping works. Allow UDP 4791", b.of, node)
		return
	}
	rep.At(rig, e, steps.RoCEFiltered, steps.Warn, "a rule of %s on %s blocks RoCE packets (UDP 4791). Hardware "+
		"RoCE is not affected. With soft-RoCE (rxe), delete the rule", b.of, node)
}

// rulesOf are the lines of the rules, in their order.
func rulesOf(f map[string]string) []string {
	var lines []string
	for n := 1; ; n++ {
		line, ok := f["rule "+strconv.Itoa(n)]
		if !ok && f["rule "+strconv.Itoa(n+1)] == "" && f["rule "+strconv.Itoa(n+2)] == "" {
			return lines // an empty line is not a fact, and two in a row there are not
		}
		lines = append(lines, line)
	}
}

// netdevsOf are the interfaces of a node's rails.
func netdevsOf(n steps.Node) []string {
	var all []string
	for _, rail := range n.Rails {
		if rail.Netdev.Name != "" {
			all = append(all, rail.Netdev.Name)
		}
	}
	return all
}
