package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// What stands between the ends of a rail: a route that leads elsewhere, a queue that delays or
// drops, a path that loses.

// routeOf is the way that a node takes to an address, of "ip route get".
var routeOf = lazyregexp.New(`(?:^| )dev (\S+)`)

// noRoute is how ip words what a route of the kinds blackhole, prohibit and unreachable does, and
// that there is none.
var noRoute = lazyregexp.New(`RTNETLINK answers: (.+)|^((?:blackhole|unreachable|prohibit|throw) .+)`)

// viaOf and srcOf are the router on that way, and the address that the node gives as its own there.
var (
	viaOf = lazyregexp.New(`(?:^| )via (\S+)`)
	srcOf = lazyregexp.New(`(?:^| )src (\S+)`)
	// mtuOf is the MTU that a route was given, or that the node learned on the way; its interface's is larger.
	mtuOf = lazyregexp.New(`(?:^| )mtu (?:lock )?(\d+)`)
)

// aside looks at a way that leads over the right interface, and yet not straight to its other end.
// "ip route get" prints in one line what a packet would do; via, src and mtu stand there only where
// a route has them.
func aside(node string, own, other steps.Rail, said string,
	rep func(code steps.Code, g steps.Grade, format string, args ...any),
) {
	if via := viaOf.Regexp().FindStringSubmatch(said); via != nil && via[1] != other.Addr {
		rep(steps.RouteViaRouter, steps.Warn, "%s reaches %s through the router %s, although a rail leads there directly. "+
			"Delete that route: ip route del", node, other.Addr, via[1])
	}
	if m := mtuOf.Regexp().FindStringSubmatch(said); m != nil {
		if mtu, ok := strictnum.Count(m[1]); ok && mtu < own.Netdev.MTU {
			rep(steps.RouteMTULow, steps.Warn, "%s sends at most %d bytes at once to %s, but %s has MTU %d. Remove the MTU "+
				"from the route, or run: ip route flush cache", node, mtu, other.Addr, own.Netdev.Name, own.Netdev.MTU)
		}
	}
	if src := srcOf.Regexp().FindStringSubmatch(said); src != nil && own.Addr != "" && own.Netdev.Master == "" &&
		src[1] != own.Addr {
		rep(steps.RouteSourceWrong, steps.Warn, "%s reaches %s with the source address %s instead of its rail's %s. Check "+
			"routes with src and second addresses on %s", node, other.Addr, src[1], own.Addr, own.Netdev.Name)
	}
}

// wayTo looks whether each node goes to each rail of the other over that rail. A ping that is
// bound to its interface asks no routing table, and RDMA and TCP do.
func wayTo(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	for i, p := range rig.Pairs {
		for _, e := range steps.Ends {
			own, other, node := rig.Rail(p, e), rig.Rail(p, e.Other()), rig.NameOf(e)
			said := facts[e]["way "+own.Netdev.Name+"="+other.Addr]
			way, before := fmt.Sprintf("%s route to %s", node, other.Addr), len(rep.Findings)
			rep.ShowAt(node, "route to "+other.Addr, registry.OrUnknown(said), "", nil)
			none, dev := noRoute.Regexp().FindStringSubmatch(said), routeOf.Regexp().FindStringSubmatch(said)
			switch {
			case !own.Netdev.Up:
				// What is down has no route, and what the path uses then means nothing.
				rep.At(rig, e, steps.InterfaceOff, steps.Inconclusive, "%s on %s is switched off, so its route was not checked",
					own.Netdev.Name, node)
			// ENETUNREACH is that there is none (fib_lookup), or a rule's word; a route's own are other errors.
			case none != nil && none[1] == "Network is unreachable":
				rep.At(rig, e, steps.NoRoute, steps.Fail, "%s has no route to %s (rail %d of %s): the route of %s is missing, or "+
					"a rule hides it. Check: ip route, ip rule", node, other.Addr, i+1, rig.NameOf(e.Other()), own.Netdev.Name)
				rep.Explain("Deleting the address of %s and adding it again (ip addr del, ip addr add) creates its route again",
					own.Netdev.Name)
			case none != nil:
				rep.At(rig, e, steps.RouteBlocked, steps.Fail, "%s cannot send to %s (rail %d of %s): a route blocks it. Find "+
					"it: ip route show table all. Delete it: ip route del", node, other.Addr, i+1, rig.NameOf(e.Other()))
				rep.Explain("Routes of the kinds blackhole, unreachable and prohibit drop packets")
			case dev == nil:
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the route to %s on %s", other.Addr, node)
			// The kernel takes every address of its own over lo, whichever interface it belongs to.
			case dev[1] == "lo":
				rep.At(rig, e, steps.DuplicateIP, steps.Fail, "%s treats %s (rail %d of %s) as its own address: see "+
					"duplicate-ip", node, other.Addr, i+1, rig.NameOf(e.Other()))
			// A bonded rail's packets leave over the bond.
			case dev[1] != own.Netdev.Name && dev[1] != own.Netdev.Master:
				rep.At(rig, e, steps.WrongRoute, steps.Fail, "%s reaches %s (rail %d of %s) over %s instead of %s. Show the "+
					"route: ip route get fibmatch %s. Delete it: ip route del ROUTE", node, other.Addr, i+1,
					rig.NameOf(e.Other()), dev[1], own.Netdev.Name, other.Addr)
				rep.Explain("A host route, or the route of a smaller network, takes precedence over the rail's")
			default:
				aside(node, own, other, said, func(code steps.Code, g steps.Grade, format string, args ...any) {
					rep.At(rig, e, code, g, format, args...)
				})
			}
			if len(rep.Findings) > before {
				rep.Decide(way)
			}
		}
	}
}

// collapse is what losing a packet of a hundred does to RDMA, where it meets it.
func collapse(rail steps.Rail) string {
	if rail.Soft() {
		return "Soft-RoCE repeats everything after a lost packet (go-back-N retransmission)"
	}
	return "Loss on a cable, a port or a switch makes RDMA collapse (go-back-N retransmission). Loss in a queue of the " +
		"kernel (check: shaping) affects TCP only"
}

// limiting are the queueing disciplines that do something to packets in addition to sharing out the link:
// what each does, in words.
var limiting = map[string]string{
	"netem": "delays, loses or changes packets on purpose", "tbf": "limits the rate", "htb": "limits rates",
	"hfsc": "limits rates", "cbq": "limits rates", "plug": "holds packets back",
	"taprio": "sends packets at set times only",
	"etf":    "sends packets at set times only", "cbs": "limits the rate", "blackhole": "drops all packets",
	"red":  "drops packets early",
	"gred": "drops packets early", "sfb": "drops packets early", "choke": "drops packets early",
}

// limited are the settings by which others do so that else share out the link: cake's and fq's rate, mqprio's
// shaper, and queues of a few packets.
var limited = lazyregexp.New(`bandwidth \d|maxrate \d|bw_rlimit|limit \d{1,2}p\b`)

// qdisc is one of "tc qdisc show": its kind, and its settings.
var qdisc = lazyregexp.New(`qdisc (\w+) \S+ (?:root|parent \S+|dev \S+)?(.*)`)

// idle is how a netem without a setting is printed, with the default length of its queue; newer ones print the seed of
// their chance, too.
var idle = lazyregexp.New(`^ (?:refcnt \d+ )?limit \d{4,}(?: seed \d+)?$`)

// acts reports whether a queueing discipline with such settings does something to packets, and says what.
// htb limits by its classes: where it has none all packets go by it (htb_enqueue).
func acts(name, settings, classes string) string {
	switch {
	case name == "netem" && idle.Regexp().MatchString(strings.TrimRight(settings, " ")),
		name == "htb" && classes == "none":
		return ""
	case limiting[name] == "" && limited.Regexp().MatchString(settings):
		return "limits the rate"
	}
	return limiting[name]
}

// judgeShaping: nothing on a rail's way out delays, loses or limits what is sent.
// It FAILs for soft-RoCE and for an adapter alike: TCP over the rail suffers in both. What RDMA has
// of it, the text says.
func judgeShaping(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig, looked := r.Rig, 0
	var unseen []string
	for _, e := range steps.Ends {
		node := rig.NameOf(e)
		if facts[e]["tc"] == "missing" {
			unseen = append(unseen, node)
			continue
		}
		for _, rail := range rig.At(e).Rails {
			name := rail.Netdev.Name
			queues := facts[e][name+" queues"]
			if name == "" {
				continue
			}
			if queues == "" { // an interface without a queue has noqueue
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the queues of %s on %s", name, node)
				continue
			}
			looked++
			filters := facts[e][name+" filters"]
			rep.ShowAt(node, "queues of "+name, queues, "", nil)
			passes := "TCP suffers, RDMA bypasses it"
			if rail.Soft() {
				passes = "soft-RoCE and TCP suffer"
			}
			for part := range strings.SplitSeq(queues, " | ") {
				m := qdisc.Regexp().FindStringSubmatch(part)
				if m == nil {
					continue
				}
				does := acts(m[1], m[2], facts[e][name+" classes of htb"])
				if does == "" {
					continue
				}
				rep.At(rig, e, steps.TrafficShaped, steps.Fail, "%s on %s has a %s queue, which %s: %s. Run: tc qdisc del dev %s "+
					"root", name, node, m[1], does, passes, name)
				rep.Explain("%s on %s, settings of %s: %s", name, node, m[1], strings.TrimSpace(m[2]))
				rep.Decide(node + " queues of " + name)
			}
			// A filter alone only sorts packets; what it does with them is its action.
			if action := dropping.Regexp().FindString(filters); action != "" {
				rep.ShowAt(node, "filters of "+name, filters, "", nil)
				rep.At(rig, e, steps.TrafficFiltered, steps.Fail, "a tc filter of %s on %s drops, changes, redirects or limits "+
					"packets (%s): %s. List it: tc filter show dev %s ingress", name, node, action, passes, name)
				rep.Explain("With egress instead of ingress, tc filter show lists the filters of outgoing packets")
				rep.Decide(node + " filters of " + name)
			}
		}
	}
	if unseen != nil {
		return checks.Unseen(*rep, steps.CommandMissing, "%s no tc, so queues were not checked. Install iproute2",
			registry.HaveOrHas(unseen))
	}
	if looked == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.CannotRun, steps.Inconclusive, "no rail has an interface, so no queue was checked")
	}
	return rep.Verdict(fmt.Sprintf("no queue of a rail delays, drops or limits packets (%d interfaces on both nodes)",
		looked))
}

// dropping is what a filter's action is where packets don't get through it, or not all.
var dropping = lazyregexp.New(`gact action (?:drop|shot|trap)|action (?:drop|shot|trap)|random type \w+ (?:drop|shot)|police|netem|` +
	`classid \S*:ffff|mirred \((?:Egress|Ingress) Redirect|pedit`)

// pinged is what ping sums up.
// The counts that iputils' ping leaves out where they are 0 have a pattern each.
var (
	pinged  = lazyregexp.New(`(\d+) packets transmitted, (\d+) received`)
	changed = lazyregexp.New(`\+(\d+) corrupted`)
	twice   = lazyregexp.New(`\+(\d+) duplicates`)
	fastest = lazyregexp.New(`(?:rtt|round-trip) min/avg/max\S* = ([\d.]+)/`)
)

// judgePathLoss: of hundreds of large packets, all rails and both ways at once, none is lost, and
// the rails take alike.
func judgePathLoss(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig, sent := r.Rig, 0
	for _, e := range steps.Ends {
		least := map[int]float64{} // ms, by rail
		var losses lossyRails
		for i, p := range rig.Pairs {
			own, other, node := rig.Rail(p, e), rig.Rail(p, e.Other()), rig.NameOf(e)
			said := facts[e]["pings "+own.Netdev.Name+"="+other.Addr]
			m := pinged.Regexp().FindStringSubmatch(said)
			if m == nil {
				rep.At(rig, e, steps.NotTried, steps.Inconclusive, "rail %d (%s) was not tested from %s: %s", i+1, own.Netdev.Name,
					node, registry.OrUnknown(said))
				continue
			}
			out, _ := strictnum.Count(m[1])
			back, _ := strictnum.Count(m[2])
			rep.ShowAt(node, "over "+own.Netdev.Name, back, fmt.Sprintf("answers to %d pings", out), nil)
			sent += out
			if t := fastest.Regexp().FindStringSubmatch(said); t != nil {
				least[i], _ = strictnum.Number(t[1])
			}
			if t := twice.Regexp().FindStringSubmatch(said); t != nil {
				rep.At(rig, e, steps.DuplicateAnswers, steps.Warn, "%s answers over rail %d (%s) reached %s more than once. Two "+
					"hosts may have that address: see duplicate-ip", t[1], i+1, own.Netdev.Name, node)
				rep.Explain("Or something between the nodes repeats packets")
			}
			if t := changed.Regexp().FindStringSubmatch(said); t != nil {
				rep.At(rig, e, steps.AnswerChanged, steps.Fail, "%s answers to %s over rail %d (%s) were corrupted. Check "+
					"shaping and error-counters, then try another cable or port", t[1], node, i+1, own.Netdev.Name)
			}
			// The divisor is 1 where ping sent none, which then counts as nothing lost and nothing back.
			lost := float64(out-back) / float64(max(1, out))
			switch {
			case back == 0 && !checks.Linked(rig, p):
				// link-up says why there is no answer.
			case back == 0:
				rep.At(rig, e, steps.NoAnswer, steps.Inconclusive, "rail %d (%s) on %s got no answer, so its loss is unknown: "+
					"see ping and routes", i+1, own.Netdev.Name, node)
			case lost >= limits.PathLossFail.Value():
				losses.add(i+1, own, out-back, out)
			case lost >= limits.PathLossWarn.Value():
				rep.At(rig, e, steps.PacketsLost, steps.Warn, "rail %d (%s) lost %d of %d pings from %s; a healthy cable loses "+
					"none. Run: railbench doctor shaping error-counters", i+1, own.Netdev.Name, out-back, out, node)
				rep.Decide(fmt.Sprintf("%s over %s", node, own.Netdev.Name))
			}
		}
		losses.report(rig, e, rep)
		slower(rig, e, least, rep)
	}
	if sent == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "no rail connects the nodes, so no path to test")
	}
	return rep.Verdict(fmt.Sprintf("no relevant loss in %d pings over all rails in both directions; all rails are "+
		"equally fast", sent))
}

// lossyRails are the rails of one end that lose so many packets that RDMA collapses.
type lossyRails struct {
	nos, netdevs []string
	lost, sent   int // of the worst
	first        steps.Rail
}

func (l *lossyRails) add(no int, rail steps.Rail, lost, sent int) {
	if l.nos == nil {
		l.first = rail
	}
	l.nos, l.netdevs = append(l.nos, fmt.Sprint(no)), append(l.netdevs, rail.Netdev.Name)
	if lost > l.lost {
		l.lost, l.sent = lost, sent
	}
}

func (l *lossyRails) report(rig steps.Rig, e steps.End, rep *registry.Report) {
	if l.nos == nil {
		return
	}
	which := fmt.Sprintf("rail %s (%s) on", l.nos[0], l.netdevs[0])
	if len(l.nos) > 1 {
		which = "rails " + registry.And(l.nos) + " on"
	}
	rep.At(rig, e, steps.PacketsLost, steps.Fail, "%d of %d pings lost over %s %s: RDMA collapses. Run: railbench "+
		"doctor shaping error-counters. If both pass, swap the cables", l.lost, l.sent, which, rig.NameOf(e))
	rep.Explain("%s", collapse(l.first))
	for _, name := range l.netdevs {
		rep.Decide(fmt.Sprintf("%s over %s", rig.NameOf(e), name))
	}
}

// slower looks for rails whose fastest ping is much slower than the best one's: something on
// the way holds packets back.
// The fastest of hundreds is compared, as a busy processor makes any one of them late and none
// early. A multiple alone would be nothing between pings of some hundredths of a ms, so the
// difference has to be large, too.
func slower(rig steps.Rig, e steps.End, least map[int]float64, rep *registry.Report) {
	best := 0.0
	for _, ms := range least {
		if best == 0 || ms < best {
			best = ms
		}
	}
	var rails []int
	for i := range least {
		rails = append(rails, i)
	}
	slices.Sort(rails)
	for _, i := range rails {
		if ms := least[i]; ms > limits.RailsApart.Value()*best && ms-best > limits.PathDelay.Value() {
			rep.At(rig, e, steps.PathDelay, steps.Warn, "rail %d answers %s in %.3g ms at best, the fastest rail in %.3g ms: "+
				"something on the path delays packets. Check shaping and switches", i+1, rig.NameOf(e), ms, best)
		}
	}
}
