package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

var (
	tcpCell   = steps.Cell{ID: "tcp-single", Counters: true, Judge: "tcp", Needs: []string{"iperf3"}}
	bondCells = steps.Cell{ID: "bond-check", Judge: "bond-check"}
)

const tcpSeconds = 10

// iperfJSON is what iperf3 -J prints.
func iperfJSON(gbps float64, streams, retransmits, cwnd int) string {
	bytes := gbps * 1e9 / 8 * tcpSeconds
	one := fmt.Sprintf(`{"sender":{"bits_per_second":%g,"max_snd_cwnd":%d},"receiver":{"bits_per_second":%g}}`, gbps*1e9/float64(streams), cwnd, gbps*1e9/float64(streams))
	return fmt.Sprintf(`{"start":{"tcp_mss_default":1448,"test_start":{"num_streams":%d}},"end":{"streams":[%s],`+
		`"sum_sent":{"bytes":%.0f,"bits_per_second":%g,"retransmits":%d},"sum_received":{"bytes":%.0f,"bits_per_second":%g}}}`,
		streams, strings.Join(slices.Repeat([]string{one}, streams), ","), bytes, gbps*1e9, retransmits, bytes, gbps*1e9)
}

// bonded puts both rails of the tutorial's rig into a bond at some ends.
func bonded(rig steps.Rig, ends ...steps.End) steps.Rig {
	for _, e := range ends {
		n := &rig.Nodes[e]
		b := steps.Netdev{Name: "bond0", MTU: 1500, Up: true, Carrier: true, Addrs: n.Rails[0].Netdev.Addrs}
		n.Netdevs = []steps.Netdev{b}
		for i := range 2 {
			r := &n.Rails[i]
			r.Netdev.Master, r.Netdev.Addrs, r.Addr = "bond0", nil, ""
			r.GIDs = []steps.GID{{Index: 0, Netdev: "bond0"}, {Index: 5, Netdev: "bond0"}}
		}
	}
	rig.Pairs = nil
	return rig
}

// inMode gives every bond of a rig a mode.
func inMode(rig steps.Rig, mode string) steps.Rig {
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Netdevs {
			rig.Nodes[e].Netdevs[i].BondMode = mode
		}
	}
	return rig
}

// tcp is a test with all as it should be; shares says how the streams divide over
// the rails of the path.
func tcp(rig steps.Rig, gbps float64, streams int, shares ...float64) steps.Result {
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{
		read(ran("server", steps.Peer, "[  5] local 192.168.100.10 port 5201 connected to 192.168.100.11 port 4000\n[  5]   0.00-10.00  sec  39.2 GBytes  33.7 Gbits/sec                  receiver\n"), parse.Iperf3Output),
		read(ran("client", steps.Here, iperfJSON(gbps, streams, 3, 1<<20)), parse.Iperf3Output),
	}}
	path, _ := rig.Path()
	bytes := gbps * 1e9 / 8 * tcpSeconds * 1514 / 1448
	for _, e := range steps.Ends {
		for i, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{End: e, Dev: rail.Dev, Rail: i, Known: true, Source: "port_xmit_data", IPKnown: true, Errors: map[string]uint64{}}
			if !rail.HasOctets {
				b.Source = "netdev bytes"
			}
			if at := slices.Index(path.Rails[e], i); at >= 0 {
				share := 1 / float64(len(path.Rails[e]))
				if at < len(shares) {
					share = shares[at]
				}
				if b.IPTx, b.IPRx = uint64(bytes*share), uint64(bytes*share/600); e == steps.Peer {
					b.IPTx, b.IPRx = b.IPRx, b.IPTx
				}
				if !rail.HasOctets {
					b.Tx, b.Rx = b.IPTx, b.IPRx
				}
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

// client replaces what the client printed.
func client(r steps.Result, text string) steps.Result {
	r.Stages[0].Outputs[1] = read(ran("client", steps.Here, text), parse.Iperf3Output)
	return r
}

func TestTCP(t *testing.T) {
	change := func(r steps.Result, f func(r *steps.Result, s *steps.Stage)) steps.Result {
		f(&r, &r.Stages[0])
		return r
	}
	mismatch := func() steps.Rig {
		rig := spark()
		rig.Nodes[steps.Peer].Rails[0].Netdev.MTU = 9000
		return rig
	}
	both := bonded(tutorialSpark(), steps.Here, steps.Peer)
	for name, c := range map[string]struct {
		r     steps.Result
		grade steps.Grade
		words []string
	}{
		"one stream":   {tcp(spark(), 33.7, 1), steps.Pass, []string{"33.7 Gb/s of TCP with one stream over rail 1 (enp1s0f0np0 192.168.100.11 to", "processor core", "enp1s0f0np0 carried all of it"}},
		"four streams": {tcp(spark(), 93, 4), steps.Pass, []string{"93.0 Gb/s of TCP with 4 streams over rail 1"}},
		"bond, one stream": {
			tcp(both, 33.7, 1, 1, 0), steps.Pass,
			[]string{"the bond (bond0 192.168.100.11 to bond0 192.168.100.10)", "enp1s0f0np0 carried all of it", "hashes each connection to one link"},
		},
		"bond, four streams":      {tcp(both, 93, 4), steps.Pass, []string{"enp1s0f0np0 50 % and enp1s0f1np1 50 %", "counted neither"}},
		"bond, all on one":        {tcp(both, 93, 4, 0, 1), steps.Warn, []string{"all 4 streams went over one link of the bond"}},
		"active-backup":           {tcp(inMode(bonded(tutorialSpark(), steps.Here, steps.Peer), "active-backup"), 93, 4, 0, 1), steps.Pass, []string{"enp1s0f1np1 carried all of it", "one link at a time"}},
		"bond at one end":         {tcp(bonded(tutorialSpark(), steps.Peer), 33.7, 1, 1), steps.Warn, []string{"spark-01 bonds its rails and spark-02 doesn't"}},
		"no band":                 {tcp(virtual(), 0.5, 1), steps.Pass, []string{"0.5 Gb/s", "no band to judge by"}},
		"MTU mismatch":            {client(tcp(mismatch(), 0.012, 1), iperfJSON(0.012, 1, 4143, 1448)), steps.Fail, []string{"an MTU mismatch looks like this", "1500 on enp1s0f0np0 of spark-02 and 9000", "4143 retransmits and a congestion window of 1.4 kB"}},
		"near zero, MTUs alike":   {tcp(spark(), 0.4, 1), steps.Fail, []string{"the MTUs look alike", "3 retransmits"}},
		"MTUs differ, fast":       {tcp(mismatch(), 33.7, 1), steps.Warn, []string{"the MTUs differ"}},
		"slow":                    {tcp(spark(), 60, 4), steps.Warn, []string{"60.0 Gb/s of 93.0", "processors"}},
		"degraded":                {tcp(spark(), 13.1, 1), steps.Fail, []string{"adapter came up degraded"}},
		"more than the link":      {tcp(spark(), 150, 4), steps.Inconclusive, []string{"more than"}},
		"server is busy":          {client(tcp(spark(), 33.7, 1), `{"start":{},"end":{},"error":"the server is busy running a test. try again later"}`), steps.Inconclusive, []string{"server on spark-01 is busy"}},
		"no server":               {client(tcp(spark(), 33.7, 1), `{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}`), steps.Inconclusive, []string{"no server could be reached from spark-02"}},
		"an error nobody knows":   {client(tcp(spark(), 33.7, 1), `{"start":{},"end":{},"error":"frobnicated"}`), steps.Inconclusive, []string{"frobnicated"}},
		"broken":                  {client(tcp(spark(), 33.7, 1), `{"start":{},"end":{},"error":"control socket has closed unexpectedly"}`), steps.Fail, []string{"broke in the middle"}},
		"output that is cut":      {client(tcp(spark(), 33.7, 1), iperfJSON(33.7, 1, 0, 0)[:90]), steps.Inconclusive, []string{"does not parse"}},
		"zero":                    {client(tcp(spark(), 33.7, 1), iperfJSON(0, 1, 0, 0)), steps.Inconclusive, []string{"reports 0 Gb/s"}},
		"bond here only":          {tcp(bonded(tutorialSpark(), steps.Here), 33.7, 1), steps.Warn, []string{"spark-02 bonds"}},
		"not counted":             {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { s.Bytes = nil }), steps.Inconclusive, []string{"not counted"}},
		"a counter is missing":    {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 0).IPKnown = false }), steps.Inconclusive, []string{"bytes of enp1s0f0np0 are unknown"}},
		"no port counters":        {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 0).Known = false }), steps.Pass, nil},
		"another way":             {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 0).IPTx = 0 }), steps.Fail, []string{"nothing went over enp1s0f0np0"}},
		"half of it":              {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Peer, 0).IPRx /= 2 }), steps.Inconclusive, []string{"received only"}},
		"a second route":          {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 2).IPTx = 1e10 }), steps.Fail, []string{"enP2p1s0f0np0", "doesn't lead over it"}},
		"too many bytes":          {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 0).IPTx *= 2 }), steps.Warn, []string{"sent again"}},
		"RDMA meanwhile":          {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 0).Tx = 1e10 }), steps.Warn, []string{"RDMA moved 10.00 GB on rocep1s0f0"}},
		"the cable was out":       {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { counter(s, steps.Here, 0).Errors["carrier_changes"] = 2 }), steps.Fail, []string{"went down during the test"}},
		"no link":                 {change(tcp(spark(), 33.7, 1), func(r *steps.Result, _ *steps.Stage) { r.Rig.Nodes[steps.Peer].Rails[0].Netdev.Carrier = false }), steps.Fail, []string{"enp1s0f0np0 on spark-01 has no link"}},
		"the server died":         {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { s.Outputs[0].Exit = runner.Exit{Code: 1} }), steps.Inconclusive, []string{"the server on spark-01 ended with"}},
		"the client timed out":    {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { s.Outputs[1].Exit = runner.Exit{Why: runner.TimedOut} }), steps.Inconclusive, []string{"timed out"}},
		"stopped":                 {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { s.Err = "port 5201 on spark-01 is in use"; s.Outputs = nil }), steps.Inconclusive, []string{"port 5201 on spark-01 is in use"}},
		"a link of unknown rate":  {change(tcp(spark(), 33.7, 1), func(r *steps.Result, _ *steps.Stage) { r.Rig.Nodes[steps.Peer].Rails[0].RateGbps = 0 }), steps.Pass, []string{"no band", "enp1s0f0np0 on spark-01 is unknown"}},
		"no address leads there":  {steps.Result{Rig: steps.Rig{}, Stages: []steps.Stage{{Pair: -1}}}, steps.Inconclusive, []string{"no address leads"}},
		"one of the ends is gone": {change(tcp(spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) { s.Outputs = s.Outputs[1:] }), steps.Inconclusive, []string{"not both ends ran"}},
	} {
		want(t, name, judgeTCP(tcpCell, c.r), c.grade, c.words...)
	}
	// A 25 Gb/s link is the limit, and not the tutorial's figure.
	rig := spark()
	for e := range rig.Nodes {
		rig.Nodes[e].Rails[0].RateGbps = 25
	}
	want(t, "25G", judgeTCP(tcpCell, tcp(rig, 23.5, 1)), steps.Pass, "all that the link can carry")
	v := judgeTCP(tcpCell, tcp(both, 93, 4))
	if e, ok := evidence(v, "TCP bytes received by spark-01 over enp1s0f1np1"); !ok || e.Unit != "bytes" || e.Value.(int64) < 5e10 {
		t.Errorf("%+v in %+v", e, v.Evidence)
	}
	if _, ok := evidence(v, "RDMA"); ok {
		t.Errorf("RDMA in the evidence of TCP: %+v", v.Evidence)
	}
	want(t, "skipped", judgeTCP(tcpCell, steps.Result{Skip: "spark-01 has no iperf3."}), steps.Skipped)
}

// bondText is what the cell prints for a bond.
func bondText(mode, policy string, slaves ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bond bond0\nEthernet Channel Bonding Driver: v6.1.0\n\nBonding Mode: %s\n", mode)
	if policy != "" {
		fmt.Fprintf(&b, "Transmit Hash Policy: %s (1)\n", policy)
	}
	b.WriteString("MII Status: up\nMII Polling Interval (ms): 100\n")
	for _, s := range slaves {
		name, state, _ := strings.Cut(s, " ")
		if state == "" {
			state = "up"
		}
		fmt.Fprintf(&b, "\nSlave Interface: %s\nMII Status: %s\nSpeed: 200000 Mbps\nDuplex: full\nLink Failure Count: 0\n", name, state)
	}
	return b.String()
}

func TestBonds(t *testing.T) {
	on := func(rig steps.Rig, here, peer string) steps.Result {
		return steps.Result{Rig: rig, Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{
			read(ran("", steps.Here, here), parse.Bonds), read(ran("", steps.Peer, peer), parse.Bonds),
		}}}}
	}
	const none = "no bond\n"
	xor := bondText("load balancing (xor)", "layer3+4", "enp1s0f0np0", "enp1s0f1np1")
	rails := tutorialSpark()
	both := bonded(tutorialSpark(), steps.Here, steps.Peer)
	kept := bonded(tutorialSpark(), steps.Here, steps.Peer)
	kept.Nodes[steps.Peer].Rails[0].Netdev.Addrs = []string{"192.168.100.10/24"}
	jumbo := bonded(tutorialSpark(), steps.Here, steps.Peer)
	jumbo.Nodes[steps.Here].Netdevs[0].MTU = 9000
	bare := bonded(tutorialSpark(), steps.Here, steps.Peer)
	bare.Nodes[steps.Here].Netdevs[0].Addrs = []string{"fe80::1/64"}
	for name, c := range map[string]struct {
		r      steps.Result
		check  steps.Grade
		says   string
		status steps.Grade
		shows  string
	}{
		"none":      {on(rails, none, none), steps.Pass, "no bond holds a rail", steps.Pass, "are its own interface's"},
		"both":      {on(both, xor, xor), steps.Pass, "RDMA per rail doesn't work although its ports stay ACTIVE", steps.Pass, "bond0 on both nodes: balance-xor by layer3+4 over enp1s0f0np0 and enp1s0f1np1"},
		"one":       {on(bonded(tutorialSpark(), steps.Peer), none, xor), steps.Fail, "bond0 on spark-01 holds enp1s0f0np0 and enp1s0f1np1, and spark-02 has no bond", steps.Fail, "spark-01 bonds its rails and spark-02 doesn't"},
		"kept":      {on(kept, xor, xor), steps.Fail, "kept 192.168.100.10/24", steps.Fail, "kept 192.168.100.10/24"},
		"by itself": {on(rails, none, bondText("load balancing (round-robin)", "")), steps.Warn, "File exists", steps.Pass, ""},
		"management": {
			on(rails, bondText("fault-tolerance (active-backup)", "", "eno1", "eno2"), none),
			steps.Pass, "no bond holds a rail", steps.Pass, "",
		},
		"round-robin": {
			on(both, bondText("load balancing (round-robin)", "", "enp1s0f0np0", "enp1s0f1np1"), xor),
			steps.Pass, "", steps.Warn, "reorders",
		},
		"layer2":     {on(both, bondText("load balancing (xor)", "layer2", "enp1s0f0np0", "enp1s0f1np1"), xor), steps.Pass, "", steps.Warn, "hashes by layer2"},
		"LACP":       {on(both, bondText("IEEE 802.3ad Dynamic link aggregation", "layer3+4", "enp1s0f0np0", "enp1s0f1np1"), xor), steps.Pass, "", steps.Warn, "needs a switch"},
		"cable":      {on(both, bondText("load balancing (xor)", "layer3+4", "enp1s0f0np0 down", "enp1s0f1np1"), xor), steps.Pass, "", steps.Fail, "is down: check its cable"},
		"one link":   {on(both, bondText("load balancing (xor)", "layer3+4", "enp1s0f0np0"), xor), steps.Pass, "", steps.Warn, "one link only"},
		"MTU":        {on(jumbo, xor, xor), steps.Pass, "", steps.Warn, "enp1s0f0np0 on spark-02 has MTU 1500 and bond0 has 9000"},
		"no address": {on(bare, xor, xor), steps.Pass, "", steps.Fail, "has no IPv4 address"},
		"unreadable": {on(rails, "bond bond0\ncat: No such file\n", none), steps.Inconclusive, "does not parse", steps.Inconclusive, "does not parse"},
	} {
		want(t, name+", check", judgeBondCheck(bondCells, c.r), c.check, c.says)
		want(t, name+", status", judgeBondStatus(bondCells, c.r), c.status, c.shows)
	}
	foreign := tutorialSpark()
	foreign.Nodes[steps.Here].Rails[0].GIDs = []steps.GID{{Index: 3, Netdev: "bond7"}}
	want(t, "left over", judgeBondStatus(bondCells, on(foreign, none, none)), steps.Warn, "belong to bond7")
	if e, ok := evidence(judgeBondStatus(bondCells, on(both, xor, xor)), "spark-02 bond0 rocep1s0f0"); !ok || e.Value != "ACTIVE, GIDs of bond0 at index 0 and 5" {
		t.Errorf("what happened to the GIDs: %+v", e)
	}
}
