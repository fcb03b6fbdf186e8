package tcp

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

var tcpCell = steps.Cell{ID: "tcp-single", Counters: true, Judge: "tcp", Needs: []string{"iperf3"}}

// client replaces what the client printed.
func client(r steps.Result, text string) steps.Result {
	r.Stages[0].Outputs[1] = kindtest.Read(kindtest.Ran("client", steps.Here, text), parse.Iperf3Output)
	return r
}

func server(r steps.Result, text string) steps.Result {
	r.Stages[0].Outputs[0] = kindtest.Read(kindtest.Ran("server", steps.Peer, text), parse.Iperf3Output)
	return r
}

func TestTCP(t *testing.T) {
	change := func(r steps.Result, f func(r *steps.Result, s *steps.Stage)) steps.Result {
		f(&r, &r.Stages[0])
		return r
	}
	mismatch := func() steps.Rig {
		rig := kindtest.Spark()
		rig.Nodes[steps.Peer].Rails[0].Netdev.MTU = 9000
		return rig
	}
	small := func(mtu int) steps.Rig {
		rig := kindtest.Spark()
		rig.Nodes[steps.Here].Rails[0].Netdev.MTU, rig.Nodes[steps.Peer].Rails[0].Netdev.MTU = mtu, mtu
		return rig
	}
	both := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	for name, c := range map[string]struct {
		r     steps.Result
		grade steps.Grade
		code  steps.Code
		words []string
	}{
		"one stream": {
			kindtest.TCP(kindtest.Spark(), 33.7, 1), steps.Pass, "",
			[]string{
				"33.7 Gb/s of TCP with one stream over rail 1, expected at least 27.0. enp1s0f0np0", "expected at least",
				"enp1s0f0np0 carried all of it",
			},
		},
		"four streams": {
			kindtest.TCP(kindtest.Spark(), 93, 4), steps.Pass, "",
			[]string{"93.0 Gb/s of TCP with 4 streams over rail 1"},
		},
		"bond, one stream": {
			kindtest.TCP(both, 33.7, 1, 1, 0), steps.Pass, "",
			[]string{
				"the bond", "enp1s0f0np0 carried all of it",
				"hashes each connection to one link",
			},
		},
		"bond, four streams": {
			kindtest.TCP(both, 93, 4), steps.Pass, "",
			[]string{"enp1s0f0np0 carried 50 % and enp1s0f1np1 50 % of", "counted neither"},
		},
		"bond, all on one": {
			kindtest.TCP(both, 93, 4, 0, 1), steps.Warn, steps.BondOneLinkUsed,
			[]string{"all 4 streams used one link of the bond"},
		},
		"active-backup": {
			kindtest.TCP(kindtest.InMode(kindtest.Bonded(kindtest.TutorialSpark(), steps.Here,
				steps.Peer), "active-backup"), 93, 4, 0, 1), steps.Pass, "",
			[]string{"enp1s0f1np1 carried all of it", "one link"},
		},
		"more than anybody saw": {
			kindtest.TCP(both, 104, 4), steps.Pass, "",
			[]string{"more than measured so far (93)", "the links"},
		},
		"the most that was seen": {kindtest.TCP(both, 101, 4), steps.Pass, "", []string{"101.0 Gb/s", "expected"}},
		"bond at one end": {
			kindtest.TCP(kindtest.Bonded(kindtest.TutorialSpark(), steps.Peer), 33.7, 1, 1),
			steps.Warn, steps.BytesDiffer,
			[]string{"spark-01 bonds its rails but spark-02"},
		},
		"a virtual link that crawls": {
			kindtest.TCP(func() steps.Rig {
				rig := kindtest.Virtual()
				for e := range rig.Nodes {
					rig.Nodes[e].Rails[0].Netdev.SpeedGbps = 100
				}
				return rig
			}(), 0.5, 1), steps.Warn, steps.BelowLimit,
			[]string{"0.5 Gb/s over rail 1, but the link declares 100 Gb/s"},
		},
		"no expected range": {
			kindtest.TCP(kindtest.Virtual(), 0.5, 1), steps.Pass, "",
			[]string{"0.5 Gb/s", "no expected range"},
		},
		"MTU mismatch": {
			client(kindtest.TCP(mismatch(), 0.012, 1), kindtest.IperfJSON(0.012, 1, 4143, 1448)),
			steps.Fail, steps.MTUDiffers,
			[]string{"1500 on enp1s0f0np0 of spark-02 and 9000", "4143 retransmits and a congestion window of at most 1.4"},
		},
		"near zero, MTUs alike": {
			kindtest.TCP(kindtest.Spark(), 0.4, 1), steps.Fail, steps.PathMTUSmall,
			[]string{"3 retransmits"},
		},
		"MTUs differ, fast": {kindtest.TCP(mismatch(), 33.7, 1), steps.Warn, steps.MTUDiffers, nil},
		"slow": {kindtest.TCP(both, 60, 4), steps.Warn, steps.BelowLimit, []string{
			"60.0 Gb/s",
			"processors",
		}},
		"less than usual": {
			kindtest.TCP(kindtest.Spark(), 13.1, 1), steps.Warn, steps.BelowLimit,
			[]string{"expected at least 27.0"},
		},
		"a small MTU": {
			kindtest.TCP(small(1280), 26.8, 1), steps.Warn, steps.MTUSmall,
			[]string{"26.8 Gb/s", "enp1s0f0np0 has an MTU of 1280"},
		},
		"degraded": {
			kindtest.TCP(kindtest.Spark(), 9.1, 1), steps.Fail, steps.BelowLimit,
			[]string{"adapter is degraded"},
		},
		"a stream stood still": {
			client(kindtest.TCP(both, 93, 4),
				strings.Replace(strings.ReplaceAll(kindtest.IperfJSON(93, 4, 0, 1<<20), `"bits_per_second":2.325e+10`,
					`"bits_per_second":3.1e+10`), `"bits_per_second":3.1e+10`, `"bits_per_second":0`, 2)), steps.Warn,
			steps.StreamsUneven,
			[]string{"1 of 4 streams carried nothing"},
		},
		"much was sent again": {client(kindtest.TCP(kindtest.Spark(), 33.7, 1),
			kindtest.IperfJSON(33.7, 1, 5_000_000, 1<<20)), steps.Warn, steps.PacketsResent, []string{
			"of the segments were retransmitted at 33.7 Gb/s",
			"17 %",
		}},
		"more than the link": {kindtest.TCP(kindtest.Spark(), 150, 4), steps.Inconclusive, steps.FigureImpossible, nil},
		"server is busy": {
			client(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				`{"start":{},"end":{},"error":"the server is busy running a test. try again later"}`), steps.Inconclusive,
			steps.ServerBusy,
			[]string{"server on spark-01 is busy"},
		},
		"no server": {
			client(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				`{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}`), steps.Inconclusive,
			steps.ServerUnreachable,
			[]string{"spark-02 cannot reach the server"},
		},
		"an error nobody knows": {client(kindtest.TCP(kindtest.Spark(), 33.7, 1),
			`{"start":{},"end":{},"error":"frobnicated"}`), steps.Inconclusive, steps.UnknownError, nil},
		"broken": {
			client(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				`{"start":{},"end":{},"error":"control socket has closed unexpectedly"}`), steps.Fail, steps.ConnectionBroke,
			nil,
		},
		"ended by somebody": {
			server(client(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				`{"start":{},"end":{},"error":"control socket has closed unexpectedly"}`),
				"iperf3: interrupt - the server has terminated by signal Terminated(15)\n"), steps.Inconclusive,
			steps.ProgramKilled,
			[]string{"seen on spark-01"},
		},
		"output that is cut": {
			client(kindtest.TCP(kindtest.Spark(), 33.7, 1), kindtest.IperfJSON(33.7, 1, 0, 0)[:90]),
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"could not read the output"},
		},
		"zero": {
			client(kindtest.TCP(kindtest.Spark(), 33.7, 1), kindtest.IperfJSON(0, 1, 0, 0)),
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"reports 0 Gb/s"},
		},
		"bond here only": {
			kindtest.TCP(kindtest.Bonded(kindtest.TutorialSpark(), steps.Here), 33.7, 1), steps.Warn, steps.BondOneSided,
			[]string{"spark-02 bonds"},
		},
		"not counted": {change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
			func(_ *steps.Result, s *steps.Stage) { s.Bytes = nil }), steps.Inconclusive, steps.NotCounted, nil},
		"a counter is missing": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).IPKnown = false }),
			steps.Inconclusive, steps.CounterBad,
			[]string{"of enp1s0f0np0"},
		},
		"no port counters": {change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
			func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Known = false }), steps.Pass, "", nil},
		"another way": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).IPTx = 0 }), steps.Fail,
			steps.NothingCarried,
			[]string{"enp1s0f0np0"},
		},
		"half of it": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Peer, 0).IPRx /= 2 }), steps.Inconclusive,
			steps.BytesDiffer,
			[]string{"enp1s0f0np0 on spark-01"},
		},
		"a second route": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Here, 2).IPTx = 1e10 }), steps.Fail,
			steps.OtherTraffic,
			[]string{"enP2p1s0f0np0"},
		},
		"too many bytes": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).IPTx *= 2 }), steps.Warn,
			steps.BytesDiffer,
			[]string{"retransmi"},
		},
		"RDMA meanwhile": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Tx = 1e10 }), steps.Warn,
			steps.OtherTraffic,
			[]string{"rocep1s0f0 on spark-02 also carried 10.00 GB"},
		},
		"the cable was out": {change(kindtest.TCP(kindtest.Spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) {
			kindtest.Counter(s, steps.Here, 0).Errors["carrier_changes"] = 2
		}), steps.Fail, steps.LinkFlapped, nil},
		"the cable was out, and the test lasted for longer": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) {
				late := s.Outputs[1].Value.(parse.Iperf3)
				late.Seconds, late.ReceivedSeconds = 35, 35
				s.Outputs[1].Value = late
				kindtest.Counter(s, steps.Here, 0).Errors["carrier_changes"] = 1
			}), steps.Fail, steps.LinkFlapped, nil,
		},
		"no link": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(r *steps.Result, _ *steps.Stage) { r.Rig.Nodes[steps.Peer].Rails[0].Netdev.Carrier = false }), steps.Fail,
			steps.LinkDown,
			[]string{"enp1s0f0np0 on spark-01 has no link"},
		},
		"the server died": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { s.Outputs[0].Exit = runner.Exit{Code: 1} }), steps.Inconclusive,
			steps.ScriptFailed,
			[]string{"the server on spark-01 ended with"},
		},
		"the client timed out": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { s.Outputs[1].Exit = runner.Exit{Why: runner.TimedOut} }),
			steps.Inconclusive, steps.TimedOut,
			nil,
		},
		"stopped": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { s.Err = "port 5201 on spark-01 is in use"; s.Outputs = nil }),
			steps.Inconclusive, steps.NotRunToEnd,
			[]string{"port 5201 on spark-01 is in use"},
		},
		"an end stood still until it was stopped": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) {
				s.Err, s.Stalled = "nothing was printed for 30s, so it was stopped", true
				for i := range s.Outputs {
					s.Outputs[i].Exit = runner.Exit{Why: runner.Cancelled}
					s.Outputs[i].Value = parse.Iperf3{Error: "select failed: Bad file descriptor"}
				}
			}), steps.Inconclusive, steps.TestStalled, []string{"doctor firewall path-loss"},
		},
		"no room in /tmp of the server": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) {
				s.Outputs[0].Exit = runner.Exit{Code: 1}
				s.Outputs[0].Value = parse.Iperf3{Error: "failed to read /dev/urandom: Bad address"}
				s.Outputs[1].Value = parse.Iperf3{Error: "control socket has closed unexpectedly"}
			}), steps.Inconclusive, steps.DiskFull, []string{"on spark-01", "Free space in /tmp"},
		},
		"it was stopped because a link went down": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1), func(_ *steps.Result, s *steps.Stage) {
				s.Err = "a link of the test went down, so it was stopped"
				s.Outputs[1].Exit = runner.Exit{Why: runner.Cancelled}
				kindtest.Counter(s, steps.Here, 0).Errors["carrier_changes"] = 1
			}), steps.Fail, steps.LinkFlapped, nil,
		},
		"a link of unknown rate": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(r *steps.Result, _ *steps.Stage) { r.Rig.Nodes[steps.Peer].Rails[0].RateGbps = 0 }), steps.Inconclusive,
			steps.NoLimitKnown,
			[]string{"is unknown", "enp1s0f0np0 on spark-01 is unknown"},
		},
		"no address leads there": {
			steps.Result{Rig: steps.Rig{}, Stages: []steps.Stage{{Pair: -1}}},
			steps.Inconclusive, steps.NoRail,
			nil,
		},
		"one of the ends is gone": {
			change(kindtest.TCP(kindtest.Spark(), 33.7, 1),
				func(_ *steps.Result, s *steps.Stage) { s.Outputs = s.Outputs[1:] }), steps.Inconclusive, steps.NotRunHere,
			nil,
		},
	} {
		v := judgeTCP(tcpCell, c.r)
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
	}
	// A 25 Gb/s link is the limit, and not the tutorial's figure.
	rig := kindtest.Spark()
	for e := range rig.Nodes {
		rig.Nodes[e].Rails[0].RateGbps = 25
	}
	kindtest.Want(t, "25G", judgeTCP(tcpCell, kindtest.TCP(rig, 23.5, 1)), steps.Warn,
		"25 Gb/s on both nodes, but rocep1s0f1 at 200")
	// Before 3.16 all streams have one thread, and reach what one stream does.
	old := func(r steps.Result, version string) steps.Result {
		return client(r, strings.Replace(r.Stages[0].Outputs[1].Text, `"tcp_mss_default"`,
			`"version":"iperf `+version+`","tcp_mss_default"`, 1))
	}
	for version, want := range map[string]steps.Grade{
		"3.12": steps.Pass, "3.15+": steps.Pass, "3.16": steps.Fail,
		"3.21": steps.Fail,
	} {
		kindtest.Want(t, "four streams of "+version, judgeTCP(tcpCell, old(kindtest.TCP(both, 36, 4), version)), want)
	}
	kindtest.Want(t, "one thread", judgeTCP(tcpCell, old(kindtest.TCP(both, 36, 4), "3.12")), steps.Pass,
		"All streams", "iperf3 3.12 on spark-02 is older than 3.16")
	kindtest.Want(t, "one thread, and slow", judgeTCP(tcpCell, old(kindtest.TCP(both, 8, 4), "3.12")), steps.Fail,
		"expected at least")
	v := judgeTCP(tcpCell, kindtest.TCP(both, 93, 4))
	if e, ok := kindtest.Evidence(v, "TCP bytes received by spark-01 over enp1s0f1np1"); !ok || e.Unit != "bytes" ||
		e.Value.(int64) < 5e10 {
		t.Errorf("%+v in %+v", e, v.Evidence)
	}
	if _, ok := kindtest.Evidence(v, "RDMA"); ok {
		t.Errorf("RDMA in the evidence of TCP: %+v", v.Evidence)
	}
	kindtest.Because(t, "skipped", judgeTCP(tcpCell, steps.Result{Skip: "spark-01 has no iperf3."}), steps.Skipped,
		steps.CannotRun)
}

// A third node's counters are in every result, and it is not an end of the path. Socket buffers that were asked for
// are the cause of a low rate, and the seconds left out that of more bytes.
func TestTCPOptions(t *testing.T) {
	cell := kindtest.Cell(t, "tcp-single")
	slow := kindtest.TCP(kindtest.Spark(), 2.1, 1)
	text := strings.Replace(kindtest.IperfJSON(2.1, 1, 3, 3<<20), `"start":{`, `"start":{"sock_bufsize":65536,`, 1)
	v := judgeTCP(cell, client(slow, text))
	if v.Grade != steps.Fail || v.Code != steps.WindowSmall {
		t.Errorf("a window of 64 KiB: %s (%s): %s", v.Grade, v.Code, v.Reason)
	}
	omitted := parse.Iperf3{Seconds: 10, ReceivedBytes: 42e9, Asked: parse.IperfAsked{Omit: 2}}
	test := tcpTest{cell: cell, result: slow, stage: slow.Stages[0], read: omitted}
	test.path, _ = slow.Rig.Path()
	if f := test.Flows()[0]; f.More < 1.2 {
		t.Errorf("10 s of 12 may be %.2f times as many bytes", f.More)
	}
}

func TestTCPBesideAThirdNode(t *testing.T) {
	r := kindtest.TCP(kindtest.Spark(), 13.1, 1)
	r.Rig.Nodes = append(r.Rig.Nodes, steps.Node{No: 2, Name: "spark-03", Rails: r.Rig.Nodes[0].Rails})
	r.Stages[0].Bytes = append([]steps.RailBytes{{
		End: 2, Rail: 0, Dev: "rocep1s0f0", Known: true, IPKnown: true, IdleGbps: 50, Source: "port_xmit_data",
	}}, r.Stages[0].Bytes...)
	v := judgeTCP(tcpCell, r)
	kindtest.Want(t, "a third node", v, steps.Warn, "13.1 Gb/s", "processors")
	if strings.Contains(v.Said(), "50.0") {
		t.Errorf("what a third node did is no cause: %s", v.Reason)
	}
}

// Who sends follows from where the client runs, and from -R.
func TestTCPTheOtherWay(t *testing.T) {
	back := func() steps.Result {
		r := kindtest.TCP(kindtest.Spark(), 33.7, 1)
		for i, b := range r.Stages[0].Bytes {
			b.IPTx, b.IPRx = b.IPRx, b.IPTx
			r.Stages[0].Bytes[i] = b
		}
		return r
	}
	swapped := back()
	for i, o := range swapped.Stages[0].Outputs {
		swapped.Stages[0].Outputs[i].End = o.End.Other()
	}
	kindtest.Want(t, "a client at the peer", judgeTCP(tcpCell, swapped), steps.Pass, "carried all of it")
	reversed := tcpCell
	reversed.Roles = []steps.Role{{Name: "client", Script: "iperf3 -c $PEER_TCP_IP -R -J"}}
	kindtest.Want(t, "-R", judgeTCP(reversed, back()), steps.Pass, "carried all of it")
	kindtest.Because(t, "-R that nobody asked for", judgeTCP(tcpCell, back()), steps.Fail, steps.NothingCarried)
}

// Two halves of one port share its cable, and what is expected of several streams outside a bond is a floor.
func TestSeveralStreams(t *testing.T) {
	rig := kindtest.Spark()
	half, ok := rig.AcrossHalves()
	if !ok {
		t.Fatal("no rail behind the other half")
	}
	var p steps.Path
	for _, e := range steps.Ends {
		p.Netdevs[e] = rig.Rail(rig.Pairs[0], e).Netdev
		p.Rails[e] = []int{rig.Pairs[0].Rails[e], half.Rails[e]}
	}
	b := bandOf(rig, p, 8, "")
	if cable := limits.TCP(p.Netdevs[steps.Here].MTU).Carries(200); b.Limit > cable {
		t.Errorf("%.1f Gb/s are to go over a cable that carries %.1f", b.Limit, cable)
	}
	if !b.least || b.passes < 26.9 || b.passes > 27.1 {
		t.Errorf("%.1f Gb/s are expected, a floor: %v", b.passes, b.least)
	}
}
