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
		rep(steps.RouteViaRouter, steps.Warn, "%s goes to %s by the router %s, where a rail leads there by itself: take "+
			"that route away with ip route del",
			node, other.Addr, via[1])
	}
	if m := mtuOf.Regexp().FindStringSubmatch(said); m != nil {
		if mtu, ok := strictnum.Count(m[1]); ok && mtu < own.Netdev.MTU {
			rep(steps.RouteMTULow, steps.Warn, "%s sends no more than %d bytes at once to %s, where %s takes %d: its route was "+
				"given an MTU, or something on the way asked for less. ip route flush cache forgets what was asked, and ip route "+
				"shows what was given", node, mtu,
				other.Addr, own.Netdev.Name, own.Netdev.MTU)
		}
	}
	if src := srcOf.Regexp().FindStringSubmatch(said); src != nil && own.Addr != "" && own.Netdev.Master == "" &&
		src[1] != own.Addr {
		rep(steps.RouteSourceWrong, steps.Warn, "%s goes to %s as %s, and its rail has %s: the other end answers another "+
			"address. A route that names a src, or a second address on %s", node, other.Addr, src[1], own.Addr, own.Netdev.Name)
	}
}

// wayTo looks whether each node goes to each rail of the other over that rail. A ping that is
// bound to its interface asks no routing table, and RDMA and TCP do.
func wayTo(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	for i, p := range rig.Pairs {
		for _, e := range steps.Ends {
			own, other, node := rig.Rail(p, e), rig.Rail(p, e.Other()), rig.NameOf(e)
			said := facts[e]["way "+own.Netdev.Name+"="+other.Addr]
			rep.Show(fmt.Sprintf("%s goes to %s", node, other.Addr), registry.OrUnknown(said), "", nil)
			none, dev := noRoute.Regexp().FindStringSubmatch(said), routeOf.Regexp().FindStringSubmatch(said)
			switch {
			case !own.Netdev.Up:
				// What is down has no route, and what the way leads over then is nobody's doing.
				rep.At(rig, e, steps.InterfaceOff, steps.Inconclusive, "%s on %s is switched off, so there is no way over it: see "+
					"link-up",
					own.Netdev.Name, node)
			// ENETUNREACH is that there is none (fib_lookup), or a rule's word; a route's own are other errors.
			case none != nil && none[1] == "Network is unreachable":
				rep.At(rig, e, steps.NoRoute, steps.Fail, "%s has no route to %s, rail %d of %s: that of the network of %s is "+
					"gone, or a rule hides it (ip route, ip rule). ip addr del and ip addr add of its address make the route again",
					node, other.Addr, i+1, rig.NameOf(e.Other()), own.Netdev.Name)
			case none != nil:
				rep.At(rig, e, steps.RouteBlocked, steps.Fail, "%s sends nothing to %s, rail %d of %s (%s): a route of its own "+
					"swallows or refuses it, which ip route show table all lists (blackhole, unreachable, prohibit). Take that one "+
					"away with ip route del",
					node, other.Addr, i+1, rig.NameOf(e.Other()), none[1]+none[2])
			case dev == nil:
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell which way it takes to %s", node, other.Addr)
			// The kernel takes every address of its own over lo, whichever interface it belongs to.
			case dev[1] == "lo":
				rep.At(rig, e, steps.DuplicateIP, steps.Fail, "%s takes %s, rail %d of %s, for an address of its own: see "+
					"duplicate-ip", node, other.Addr, i+1, rig.NameOf(e.Other()))
			// A bonded rail's packets leave over the bond.
			case dev[1] != own.Netdev.Name && dev[1] != own.Netdev.Master:
				rep.At(rig, e, steps.WrongRoute, steps.Fail, "%s goes to %s, rail %d of %s, over %s and not over %s: a host "+
					"route, or a second network that is nearer. ip route get %s shows it, and ip route del takes it away", node,
					other.Addr, i+1, rig.NameOf(e.Other()), dev[1], own.Netdev.Name, other.Addr)
			default:
				aside(node, own, other, said, func(code steps.Code, g steps.Grade, format string, args ...any) {
					rep.At(rig, e, code, g, format, args...)
				})
			}
		}
	}
}

// collapse is what losing a packet of a hundred does to RDMA, where it meets it.
func collapse(rail steps.Rail) string {
	if rail.Soft() {
		return "Soft-RoCE sends all behind a lost packet again, and collapses"
	}
	return "Where a cable, a port or a switch loses them RDMA collapses: it sends all behind a lost packet again; by " +
		"what a queue of the kernel's loses (shaping) it passes, and TCP alone suffers"
}

// limiting are the queueing disciplines that do something to packets beside sharing out the link:
// what each does, in words.
var limiting = map[string]string{
	"netem": "delays, loses or changes packets on purpose", "tbf": "limits the rate", "htb": "limits rates",
	"hfsc": "limits rates", "cbq": "limits rates", "plug": "holds packets back",
	"taprio": "lets packets out at times alone",
	"etf":    "lets packets out at times alone", "cbs": "limits the rate", "blackhole": "drops all packets",
	"red":  "drops packets early",
	"gred": "drops packets early", "sfb": "drops packets early", "choke": "drops packets early",
}

// limited are the settings by which others do so that else share out the link: cake's and fq's rate, mqprio's
// shaper, and queues of a few packets.
var limited = lazyregexp.New(`bandwidth \d|maxrate \d|bw_rlimit|limit \d{1,2}p\b`)

// qdisc is one of "tc qdisc show": its kind, and its settings.
var qdisc = lazyregexp.New(`qdisc (\w+) \S+ (?:root|parent \S+|dev \S+)?(.*)`)

// idle is how a netem without a setting is told, whose queue is as long as it is by itself; newer ones tell the seed of
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
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells the queues of %s on %s", name, node)
				continue
			}
			looked++
			filters := facts[e][name+" filters"]
			rep.Show(node+" queues of "+name, queues, "", nil)
			passes := "RDMA over an adapter passes by it, and TCP doesn't"
			if rail.Soft() {
				passes = "soft-RoCE and TCP both go through it"
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
				rep.At(rig, e, steps.TrafficShaped, steps.Fail, "%s on %s has the queueing discipline %s (%s), which %s: %s. tc "+
					"qdisc del dev %s root takes it away", name, node, m[1], strings.TrimSpace(m[2]), does, passes, name)
			}
			// A filter alone only sorts packets; what it does with them is its action.
			if action := dropping.Regexp().FindString(filters); action != "" {
				rep.Show(node+" filters of "+name, filters, "", nil)
				rep.At(rig, e, steps.TrafficFiltered, steps.Fail, "a filter of tc on %s of %s drops, changes or redirects "+
					"packets, or limits their rate (%s): %s. tc filter show dev %s, with ingress and egress behind it, lists it", name,
					node, action, passes, name)
			}
		}
	}
	if unseen != nil {
		return checks.Unseen(*rep, steps.CommandMissing, "%s no tc (iproute2), so nobody saw the queues there",
			registry.HaveOrHas(unseen))
	}
	if looked == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.CannotRun, steps.Inconclusive, "no rail has an interface to look at")
	}
	return rep.Verdict(fmt.Sprintf("no queue of a rail delays, loses or limits what is sent (%d on both nodes)", looked))
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
		for i, p := range rig.Pairs {
			own, other, node := rig.Rail(p, e), rig.Rail(p, e.Other()), rig.NameOf(e)
			said := facts[e]["pings "+own.Netdev.Name+"="+other.Addr]
			m := pinged.Regexp().FindStringSubmatch(said)
			if m == nil {
				rep.At(rig, e, steps.NotTried, steps.Inconclusive, "rail %d (%s) was not tried from %s: %s", i+1, own.Netdev.Name,
					node, registry.OrUnknown(said))
				continue
			}
			out, _ := strictnum.Count(m[1])
			back, _ := strictnum.Count(m[2])
			rep.Show(fmt.Sprintf("%s over %s", node, own.Netdev.Name), back, fmt.Sprintf("answers to %d pings", out), nil)
			sent += out
			if t := fastest.Regexp().FindStringSubmatch(said); t != nil {
				least[i], _ = strictnum.Number(t[1])
			}
			if t := twice.Regexp().FindStringSubmatch(said); t != nil {
				rep.At(rig, e, steps.DuplicateAnswers, steps.Warn, "over rail %d (%s) %s answers to %s came more than once: two "+
					"machines have that address (duplicate-ip), or something between the nodes repeats packets", i+1, own.Netdev.Name,
					t[1], node)
			}
			if t := changed.Regexp().FindStringSubmatch(said); t != nil {
				rep.At(rig, e, steps.AnswerChanged, steps.Fail, "over rail %d (%s) %s answers to %s came back changed: look at "+
					"shaping and error-counters, and try another cable or port", i+1, own.Netdev.Name, t[1], node)
			}
			// The divisor is 1 where ping sent none, which then counts as nothing lost and nothing back.
			lost := float64(out-back) / float64(max(1, out))
			switch {
			case back == 0 && !checks.Linked(rig, p):
				// link-up says why nobody answers.
			case back == 0:
				rep.At(rig, e, steps.NoAnswer, steps.Inconclusive, "nothing came back over rail %d (%s) to %s, so nothing shows "+
					"what it loses: ping and routes look further", i+1, own.Netdev.Name, node)
			case lost >= limits.PathLossFail.Value():
				rep.At(rig, e, steps.PacketsLost, steps.Fail, "rail %d (%s) lost %d of %d pings from %s. %s. Look at shaping and "+
					"error-counters, and try another cable or port", i+1, own.Netdev.Name, out-back, out, node, collapse(own))
			case lost >= limits.PathLossWarn.Value():
				rep.At(rig, e, steps.PacketsLost, steps.Warn, "rail %d (%s) lost %d of %d pings from %s, and a cable loses none: "+
					"look at shaping and error-counters", i+1, own.Netdev.Name, out-back, out, node)
			}
		}
		slower(rig, e, least, rep)
	}
	if sent == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "no rail leads from node to node, so there is no path to try")
	}
	return rep.Verdict(fmt.Sprintf("of %d pings over all rails at once, both ways, none that counts was lost, and the "+
		"rails take alike", sent))
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
			rep.At(rig, e, steps.PathDelay, steps.Warn, "the fastest ping over rail %d took %.3g ms from %s, and %.3g over the "+
				"fastest rail: something on the way holds packets back (shaping, a switch, another way)", i+1, ms, rig.NameOf(e),
				best)
		}
	}
}
