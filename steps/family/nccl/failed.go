package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

var (
	// As NCCL's src/misc/ibvwrap.cc has it since 2.25; before, the line ends behind the device, or says less.
	unmodified = lazyregexp.New(`([A-Za-z0-9._-]+):\d+:\d+ [^\n]*NCCL WARN [^\n]*ibv_modify_qp failed[^\n]*` +
		` dev ([A-Za-z0-9._-]+)([^\n]*)`)
	localIndex = lazyregexp.New(`local GID index (\d{1,3})`)
	remoteGID  = lazyregexp.New(`(?i)remote ?GIDs? ?([0-9a-f:.]+)`)
	// src/transport/net_ib: the status is a name with its number, or before 2.27 the number alone.
	unanswered = lazyregexp.New(`([A-Za-z0-9._-]+):\d+:\d+ [^\n]*Got completion[^\n]*status=(?:IBV_WC_RETRY_EXC_ERR|12\b)([^\n]*)`)
	adapter    = lazyregexp.New(` hca ([A-Za-z0-9._-]+)`)
)

// failed says why a run failed, by what NCCL, nccl-tests or the launcher said.
func (t *collective) failed() bool {
	if code, why := t.unconnected(); why != "" {
		t.rep.Add(code, steps.Fail, "%s", why)
		return true
	}
	// A library or memory that is missing on one node: the others get no answer then.
	return explain(t.result.Rig, t.out, surerCauses, t.rep) || t.silent() ||
		explain(t.result.Rig, t.out, ncclCauses, t.rep)
}

// unconnected says which node could not connect a queue pair, and why: the first whose GID is at fault, or else
// the first that says so.
func (t *collective) unconnected() (code steps.Code, why string) {
	rig := t.result.Rig
	for _, m := range unmodified.Regexp().FindAllStringSubmatch(t.out.Text, maxRanks) {
		at, dev, rest := called(rig, m[1]), m[2], m[3]
		text := fmt.Sprintf("NCCL on %s could not connect a queue pair of %s", at, dev)
		rail, known := t.rail(m[1], dev)
		if n := localIndex.Regexp().FindStringSubmatch(rest); n != nil && known && rail.GIDIndex >= 0 {
			if index, ok := strictnum.Count(n[1]); ok && index != rail.GIDIndex {
				return steps.GIDIndexWrong, fmt.Sprintf("%s: it used GID index %d, but RoCE v2 is at %d. Remove NCCL_IB_GID_INDEX "+
					"from its environment and /etc/nccl.conf", text, index, rail.GIDIndex)
			}
		}
		if why != "" {
			continue
		}
		cause := ". Remove NCCL_IB_GID_INDEX (environment, /etc/nccl.conf), then run: " +
			"railbench doctor rail-addresses"
		if n := remoteGID.Regexp().FindStringSubmatch(rest); n != nil && known && rail.Addr != "" {
			addr, mapped := strings.CutPrefix(strings.ToLower(n[1]), "::ffff:")
			switch {
			case !mapped:
				cause = ": the other end offered GID " + n[1] + ", which is not an IPv4 address. Run: railbench " +
					"doctor rail-addresses nccl-settings"
			default:
				cause = " to " + called(rig, addr) + ", which does not answer there. Run: railbench doctor " +
					"arp-flux link-up rail-addresses"
			}
		}
		code, why = steps.QueueUnconnected, text+cause
	}
	return code, why
}

// silent says between which nodes packets got no answer.
func (t *collective) silent() bool {
	m := unanswered.Regexp().FindStringSubmatch(t.out.Text)
	if m == nil {
		return false
	}
	rig, from, to := t.result.Rig, called(t.result.Rig, m[1]), ""
	if n := adapter.Regexp().FindStringSubmatch(m[2]); n != nil {
		from += " (" + n[1] + ")"
	}
	if n := remoteGID.Regexp().FindStringSubmatch(m[2]); n != nil {
		addr := strings.TrimPrefix(strings.ToLower(n[1]), "::ffff:")
		if all := having(rig, addr); len(all) > 1 {
			t.rep.Add(steps.DuplicateIP, steps.Fail, "NCCL's packets from %s to %s got no answer: %s share that address. Run: "+
				"railbench doctor duplicate-ip", from, addr,
				registry.List(all))
			return true
		}
		to = " to " + called(rig, addr)
	}
	t.rep.Add(steps.RDMAUnanswered, steps.Fail, "NCCL's packets from %s%s got no answer. Run: railbench doctor link-up "+
		"arp-flux firewall", from, to)
	return true
}

// having are the nodes that have an address on a rail.
func having(rig steps.Rig, addr string) (names []string) {
	for i, n := range rig.Nodes {
		if slices.ContainsFunc(n.Rails, func(r steps.Rail) bool { return r.Addr == addr }) {
			names = append(names, rig.NameOf(steps.End(i)))
		}
	}
	return names
}

// rail is the one that a host calls so.
// Hosts may have a domain in one place and none in another.
func (t *collective) rail(host, dev string) (rail steps.Rail, ok bool) {
	for _, n := range t.result.Rig.Nodes {
		if i := slices.IndexFunc(n.Rails, func(r steps.Rail) bool { return r.Dev == dev }); i >= 0 &&
			short(n.Host) == short(host) {
			return n.Rails[i], true
		}
	}
	return rail, false
}
