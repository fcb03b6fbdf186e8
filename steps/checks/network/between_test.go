package network

import (
	"maps"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// between judges the facts of two nodes that are right, but for what a test changes.
func between(judge func(steps.Result, [2]map[string]string, *registry.Report) steps.Verdict,
	good func(dev, addr string) map[string]string,
	change func(facts *[2]map[string]string),
) steps.Verdict {
	rig := kindtest.Netdevs(kindtest.Spark())
	var facts [2]map[string]string
	for _, e := range steps.Ends {
		facts[e] = map[string]string{"default routes": "none", "default routes of IPv6": "none"}
		for _, p := range rig.Pairs {
			maps.Copy(facts[e], good(rig.Rail(p, e).Netdev.Name, rig.Rail(p, e.Other()).Addr))
		}
	}
	change(&facts)
	var rep registry.Report
	return judge(steps.Result{Rig: rig}, facts, &rep)
}

func TestWays(t *testing.T) {
	good := func(dev, addr string) map[string]string {
		own := map[string]string{"0": "1", "1": "0"}[addr[len(addr)-1:]] // 192.168.100.10 and .11 are the two ends
		return map[string]string{"way " + dev + "=" + addr: addr + " dev " + dev + " src " + addr[:len(addr)-1] + own +
			" uid 1000 cache"}
	}
	const way = "way enp1s0f0np0=192.168.100.10"
	for name, c := range map[string]struct {
		said  string
		grade steps.Grade
		code  steps.Code
		names []string
	}{
		"as it should be": {
			"192.168.100.10 dev enp1s0f0np0 src 192.168.100.11 uid 0 cache", steps.Pass, "",
			[]string{"the other's 4 rails"},
		},
		"a blackhole": {
			"RTNETLINK answers: Invalid argument", steps.Fail, steps.RouteBlocked,
			[]string{"spark-02 cannot send to 192.168.100.10", "blackhole"},
		},
		"unreachable": {"RTNETLINK answers: No route to host", steps.Fail, steps.RouteBlocked, []string{"No route to host"}},
		"a host route": {
			"192.168.100.10 dev enp1s0f1np1 src 192.168.200.11 uid 0 cache", steps.Fail, steps.WrongRoute,
			[]string{"over enp1s0f1np1 instead of enp1s0f0np0"},
		},
		"a gateway": {
			"192.168.100.10 via 10.0.0.1 dev eth0 src 10.0.0.2 uid 0 cache", steps.Fail, steps.WrongRoute,
			[]string{"over eth0"},
		},
		"a router": {
			"192.168.100.10 via 192.168.100.1 dev enp1s0f0np0 src 192.168.100.11 uid 0 cache", steps.Warn, steps.RouteViaRouter,
			[]string{"192.168.100.1"},
		},
		"another source": {
			"192.168.100.10 dev enp1s0f0np0 src 192.168.100.77 uid 0 cache", steps.Warn, steps.RouteSourceWrong,
			[]string{"192.168.100.77", "192.168.100.11"},
		},
		"an MTU of its own": {
			"192.168.100.10 dev enp1s0f0np0 src 192.168.100.11 uid 0 cache mtu 1280", steps.Warn, steps.RouteMTULow,
			[]string{"at most 1280 bytes", "has MTU 1500"},
		},
		"a locked MTU": {
			"192.168.100.10 dev enp1s0f0np0 src 192.168.100.11 uid 0 cache mtu lock 576", steps.Warn, steps.RouteMTULow,
			[]string{"at most 576 bytes"},
		},
		"the link's MTU": {"192.168.100.10 dev enp1s0f0np0 src 192.168.100.11 uid 0 cache mtu 1500", steps.Pass, "", nil},
		"a blackhole of old": {
			"blackhole 192.168.100.10 dev lo uid 0 cache", steps.Fail, steps.RouteBlocked,
			[]string{"cannot send to", "a route blocks it"},
		},
		"no route": {
			"RTNETLINK answers: Network is unreachable", steps.Fail, steps.NoRoute,
			[]string{"spark-02", "192.168.100.10", "enp1s0f0np0"},
		},
		"an unreachable one": {
			"RTNETLINK answers: No route to host", steps.Fail, steps.RouteBlocked, []string{
				"cannot send to",
				"a route blocks it",
			},
		},
		"no source told": {"192.168.100.10 dev enp1s0f0np0 uid 0 cache", steps.Pass, "", nil},
		"its own": {
			"local 192.168.100.10 dev lo src 192.168.100.10 uid 0 cache <local>", steps.Fail, steps.DuplicateIP,
			nil,
		},
		"no word": {"", steps.Inconclusive, steps.Unreadable, []string{"Could not read the route to"}},
		"old ip": {
			"Object \"get\" is unknown", steps.Inconclusive, steps.Unreadable,
			[]string{"Could not read the route to"},
		},
	} {
		v := between(judgeRoutes, good, func(facts *[2]map[string]string) { facts[steps.Here][way] = c.said })
		because(t, name, v, c.grade, c.code, c.names...)
	}
}

func TestShaping(t *testing.T) {
	good := func(dev, _ string) map[string]string {
		return map[string]string{dev + " queues": "qdisc mq 0: root | qdisc fq_codel 0: parent :2 limit 10240p flows 1024"}
	}
	for name, c := range map[string]struct {
		queues, filters string
		grade           steps.Grade
		code            steps.Code
		names           []string
	}{
		"the kernel's own":        {"qdisc mq 0: root", "", steps.Pass, "", []string{"no queue of a rail"}},
		"none":                    {"qdisc noqueue 0: root refcnt 2", "", steps.Pass, "", nil},
		"netem without a setting": {"qdisc netem 8001: root refcnt 2 limit 1000", "", steps.Pass, "", nil},
		"netem with a seed alone": {"qdisc netem 8001: root refcnt 2 limit 1000 seed 42 ", "", steps.Pass, "", nil},
		"netem with a short queue": {
			"qdisc netem 8001: root refcnt 2 limit 5", "", steps.Fail, steps.TrafficShaped,
			[]string{"limit 5"},
		},
		"htb": {
			"qdisc htb 1: root refcnt 2 r2q 10 default 0x1", "", steps.Fail, steps.TrafficShaped,
			[]string{"limits rates"},
		},
		"netem": {
			"qdisc netem 8001: root refcnt 2 limit 1000 loss 5%", "", steps.Fail, steps.TrafficShaped,
			[]string{"netem", "loss 5%", "spark-02", "tc qdisc del dev enp1s0f0np0 root"},
		},
		"corruption": {
			"qdisc netem 8002: root refcnt 2 limit 1000 corrupt 10%", "", steps.Fail, steps.TrafficShaped,
			[]string{"corrupt 10%"},
		},
		"a token bucket": {
			"qdisc tbf 8001: root refcnt 2 rate 1Mbit burst 4Kb lat 400ms", "", steps.Fail, steps.TrafficShaped,
			[]string{"tbf", "limits the rate"},
		},
		"below another": {
			"qdisc mq 0: root | qdisc netem 10: parent :1 limit 1000 delay 20ms", "", steps.Fail, steps.TrafficShaped,
			[]string{"netem", "delay 20ms"},
		},
		"cake": {
			"qdisc cake 8001: root refcnt 2 bandwidth 1Gbit diffserv3 triple-isolate", "", steps.Fail, steps.TrafficShaped,
			[]string{"cake", "limits the rate"},
		},
		"cake without one": {"qdisc cake 8001: root refcnt 2 bandwidth unlimited diffserv3", "", steps.Pass, "", nil},
		"fq with a rate": {
			"qdisc fq 8001: root refcnt 2 limit 10000p flow_limit 100p maxrate 1Gbit", "", steps.Fail, steps.TrafficShaped,
			[]string{"maxrate 1Gbit"},
		},
		"fq": {"qdisc fq 8001: root refcnt 2 limit 10000p flow_limit 100p buckets 1024", "", steps.Pass, "", nil},
		"a blackhole": {
			"qdisc blackhole 8001: root refcnt 2", "", steps.Fail, steps.TrafficShaped,
			[]string{"drops all packets"},
		},
		"a short queue": {
			"qdisc pfifo 8001: root refcnt 2 limit 3p", "", steps.Fail, steps.TrafficShaped,
			[]string{"pfifo", "limit 3p"},
		},
		"mqprio": {
			"qdisc mqprio 8001: root tc 4 map 0 1 shaper:bw_rlimit max_rate:1Gbit", "", steps.Fail, steps.TrafficShaped,
			[]string{"mqprio"},
		},
		"at random": {
			"qdisc ingress ffff: parent ffff:fff1",
			"filter u32 action order 1: gact action pass random type netrand drop 10", steps.Fail, steps.TrafficFiltered,
			[]string{"random type netrand drop"},
		},
		"to an ifb": {
			"qdisc ingress ffff: parent ffff:fff1",
			"filter u32 action order 1: mirred (Egress Redirect to device ifb0) stolen", steps.Fail, steps.TrafficFiltered,
			[]string{"redirects"},
		},
		"a mirror": {
			"qdisc ingress ffff: parent ffff:fff1",
			"filter u32 action order 1: mirred (Egress Mirror to device eth0) pipe", steps.Pass, "", nil,
		},
		"a filter": {
			"qdisc ingress ffff: parent ffff:fff1 ----------------",
			"filter protocol ip pref 1 u32 chain 0 fh 800::800 match 000012b7/0000ffff at 20 action order 1: gact action " +
				"drop random type none", steps.Fail, steps.TrafficFiltered,
			[]string{"a tc filter", "drop"},
		},
		"a policer": {
			"qdisc ingress ffff: parent ffff:fff1",
			"filter u32 police 0x1 rate 1Mbit burst 10Kb mtu 2Kb action drop", steps.Fail, steps.TrafficFiltered,
			[]string{"limits packets"},
		},
		"one that sorts": {
			"qdisc prio 1: root refcnt 2 bands 3", "filter protocol ip pref 1 u32 flowid 1:1", steps.Pass, "",
			nil,
		},
		"no queue at all": {
			"", "", steps.Inconclusive, steps.Unreadable,
			[]string{"the queues of enp1s0f0np0 on spark-02"},
		},
		"nobody looked": {
			"\x00", "", steps.Inconclusive, steps.Unreadable,
			[]string{"the queues of enp1s0f0np0 on spark-02"},
		},
	} {
		v := between(judgeShaping, good, func(facts *[2]map[string]string) {
			facts[steps.Here]["enp1s0f0np0 queues"], facts[steps.Here]["enp1s0f0np0 filters"] = c.queues, c.filters
			if c.queues == "\x00" {
				delete(facts[steps.Here], "enp1s0f0np0 queues")
			}
		})
		because(t, name, v, c.grade, c.code, c.names...)
	}
	v := between(judgeShaping, good,
		func(facts *[2]map[string]string) { facts[steps.Peer] = map[string]string{"tc": "missing"} })
	because(t, "no tc", v, steps.Skipped, steps.CommandMissing, "spark-01", "tc")
	for classes, grade := range map[string]steps.Grade{
		"none": steps.Pass, "class htb 1:1 root prio 0 rate 1Mbit": steps.Fail,
	} {
		v := between(judgeShaping, good, func(facts *[2]map[string]string) {
			facts[steps.Here]["enp1s0f0np0 queues"] = "qdisc htb 1: root refcnt 2 r2q 10 default 0x1"
			facts[steps.Here]["enp1s0f0np0 classes of htb"] = classes
		})
		kindtest.Want(t, "htb with "+classes, v, grade)
	}
	// A node that has tc is checked, though the first node has none.
	v = between(judgeShaping, good, func(facts *[2]map[string]string) {
		facts[steps.Here] = map[string]string{"tc": "missing"}
		facts[steps.Peer]["enp1s0f0np0 queues"] = "qdisc netem 8001: root refcnt 2 limit 1000 loss 5%"
	})
	because(t, "no tc, and netem on the other", v, steps.Fail, steps.TrafficShaped, "spark-01", "loss 5%")
}

func TestPathLoss(t *testing.T) {
	const fine = "PING 1 bytes --- statistics --- 500 packets transmitted, 500 received, 0% packet loss, " +
		"time 1020ms rtt min/avg/max/mdev = 0.080/0.110/0.300/0.020 ms"
	good := func(dev, addr string) map[string]string { return map[string]string{"pings " + dev + "=" + addr: fine} }
	const way = "pings enp1s0f1np1=192.168.200.10"
	for name, c := range map[string]struct {
		said  string
		grade steps.Grade
		code  steps.Code
		names []string
	}{
		"as it should be": {fine, steps.Pass, "", []string{"4000 pings"}},
		"one": {"500 packets transmitted, 499 received, 0.2% packet loss rtt min/avg/max/mdev = " +
			"0.080/0.110/0.300/0.020 ms", steps.Warn, steps.PacketsLost, []string{"lost 1 of 500"}},
		"five percent": {
			"500 packets transmitted, 474 received, 5.2% packet loss, " +
				"time 1020ms rtt min/avg/max/mdev = 0.080/0.110/0.300/0.020 ms", steps.Fail, steps.PacketsLost,
			[]string{"26 of 500 pings lost over rail 2 (enp1s0f1np1) on spark-02"},
		},
		"errors between": {
			"500 packets transmitted, 440 received, +3 errors, 12% packet loss", steps.Fail, steps.PacketsLost,
			[]string{"60 of 500 pings lost"},
		},
		"duplicates": {
			"500 packets transmitted, 500 received, +500 duplicates, " +
				"0% packet loss rtt min/avg/max/mdev = 0.080/0.110/0.300/0.020 ms", steps.Warn, steps.DuplicateAnswers,
			[]string{"500 answers over rail 2 (enp1s0f1np1)"},
		},
		"changed": {
			"500 packets transmitted, 500 received, +7 corrupted, " +
				"0% packet loss rtt min/avg/max/mdev = 0.080/0.110/0.300/0.020 ms", steps.Fail, steps.AnswerChanged,
			[]string{"7 answers to spark-02"},
		},
		"nothing": {
			"500 packets transmitted, 0 received, 100% packet loss, time 1020ms", steps.Inconclusive, steps.NoAnswer,
			[]string{"rail 2"},
		},
		"late": {
			"500 packets transmitted, 500 received, 0% packet loss, " +
				"time 1020ms rtt min/avg/max/mdev = 20.1/20.4/21.9/0.02 ms", steps.Warn, steps.PathDelay,
			[]string{"rail 2", "20.1 ms"},
		},
		"an old ping": {
			"ping: cannot flood; minimal interval allowed for user is 200ms", steps.Inconclusive, steps.NotTried,
			[]string{"minimal interval"},
		},
		"nobody tried": {"", steps.Inconclusive, steps.NotTried, []string{"was not tested from spark-02"}},
		"busybox": {"500 packets transmitted, 500 packets received, 0% packet loss round-trip min/avg/max = " +
			"0.080/0.110/0.300 ms", steps.Inconclusive, steps.NotTried, []string{"was not tested"}},
	} {
		v := between(judgePathLoss, good, func(facts *[2]map[string]string) { facts[steps.Here][way] = c.said })
		because(t, name, v, c.grade, c.code, c.names...)
	}
	// Several rails and both nodes are one sentence, with the worst of a node.
	lossy := between(judgePathLoss, good, func(facts *[2]map[string]string) {
		for _, ends := range facts {
			for way := range ends {
				ends[way] = "500 packets transmitted, 474 received, 5.2% packet loss"
			}
		}
	})
	because(t, "everywhere", lossy, steps.Fail, steps.PacketsLost,
		"26 of 500 pings lost over rails 1, 2, 3 and 4 on spark-02 and spark-01")
	if len(lossy.Findings) != 0 {
		t.Errorf("losses of all rails are %d findings", len(lossy.Findings))
	}
}
