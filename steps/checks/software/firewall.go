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
// More are counted and not printed, so that nobody takes a part of them for all.
const mostRules = 2000

// torchPort is where torchrun's first process listens.
const torchPort = 29500

// judgeFirewall: no rule keeps the other node out.
func judgeFirewall(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var unread, read, none []string
	why := ""
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		for _, s := range []string{"ufw", "firewalld", "nftables"} {
			if f["service "+s] == "active" {
				rep.Show(node+" service "+s, "active", "", nil)
			}
		}
		rep.Show(node+" packet filter", registry.OrUnknown(f["loaded"]), "", nil)
		switch f["loaded"] {
		case "":
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "%s does not tell whether a packet filter is loaded", node)
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
			rep.Show(node+" rules not read", why, "", nil)
		case len(testPorts(f)) == 0:
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "%s does not tell which ports the tests use, so nobody "+
				"knows whether a rule is about one", node)
			continue
		case !counted:
			rep.At(r.Rig, e, steps.OutputIncomplete, steps.Inconclusive, "the rules of the firewall on %s were not listed to "+
				"their end", node)
			continue
		case number > mostRules:
			rep.At(r.Rig, e, steps.OutputIncomplete, steps.Inconclusive, "the firewall on %s has %d lines of rules, and only "+
				"%d of them were read",
				node, number, mostRules)
		default:
			read = append(read, node)
			rep.Show(node+" lines of rules", number, "", nil)
		}
		// Also of rules that were read in part: what was seen of nft counts where iptables' could not be read.
		for _, b := range blocking(rules, r.Rig.At(e), ports) {
			judgeBlock(r.Rig, e, b, rep)
		}
	}
	switch {
	case len(unread) > 0 && len(rep.Findings) == 0:
		return rep.Skipped(steps.Unreadable, "a packet filter is loaded on %s, and its rules could not be read (%s), so "+
			"nobody saw whether one keeps the other node out", registry.And(unread), why)
	case len(read) == 0:
		return rep.Verdict("no packet filter is loaded on either node, so no rule can keep the other one out")
	case len(none) > 0:
		return rep.Verdict(fmt.Sprintf("no rule on %s keeps the other node out, and %s has no packet filter",
			registry.And(read), registry.And(none)))
	}
	return rep.Verdict(fmt.Sprintf("no rule on %s keeps the other node out", registry.And(read)))
}

// judgeBlock is for a rule that keeps packets from the other node out, or in.
func judgeBlock(rig steps.Rig, e steps.End, b block, rep *registry.Report) {
	node := rig.NameOf(e)
	rep.Show(node+" rule", b.text, "", nil)
	switch {
	case b.roce:
		judgeRoCEDropped(rig, e, b, rep)
	case b.names && b.out:
		rep.At(rig, e, steps.FirewallBlocks, steps.Fail, "a rule of %s on %s lets nothing out to the other node over its "+
			"rails (%s): the tools' ends can't meet over TCP; let out what goes over the rails", b.of, node, b.text)
	case b.out:
		rep.At(rig, e, steps.FirewallMayBlock, steps.Warn, "%s on %s may keep it from the other node, because no rule lets "+
			"out all that goes over %s (%s)", b.of, node, registry.And(b.rails), b.text)
	case b.names:
		rep.At(rig, e, steps.FirewallBlocks, steps.Fail, "a rule of %s on %s keeps the other node out of its rails (%s): "+
			"the tools' ends can't meet over TCP, though ping answers; let in what comes over the rails", b.of, node, b.text)
	default:
		rep.At(rig, e, steps.FirewallMayBlock, steps.Warn, "%s on %s may keep the other node out, because no rule lets in "+
			"all that comes over %s (%s)", b.of, node, registry.And(b.rails), b.text)
	}
}

// judgeRoCEDropped is for a rule that keeps RoCE's own packets out. An adapter's pass by the
// kernel's filter.
func judgeRoCEDropped(rig steps.Rig, e steps.End, b block, rep *registry.Report) {
	node := rig.NameOf(e)
	if strings.Contains(rig.At(e).Adapter, "soft-RoCE") {
		rep.At(rig, e, steps.RoCEFiltered, steps.Fail, "a rule of %s on %s drops RoCE's packets, UDP 4791 (%s): a test over "+
			"soft-RoCE waits until its time is over, though its ends meet and ping answers", b.of, node, b.text)
		return
	}
	rep.At(rig, e, steps.RoCEFiltered, steps.Warn, "a rule of %s on %s is against RoCE's packets, UDP 4791 (%s): those "+
		"of an adapter pass by it, and soft-RoCE's don't", b.of, node, b.text)
}

// rulesOf are the lines of the rules, in their order.
func rulesOf(f map[string]string) []string {
	var lines []string
	for n := 1; ; n++ {
		line, ok := f["rule "+strconv.Itoa(n)]
		if !ok && f["rule "+strconv.Itoa(n+1)] == "" && f["rule "+strconv.Itoa(n+2)] == "" {
			return lines // an empty line is no fact, and two in a row there are not
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
