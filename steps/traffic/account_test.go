package traffic

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// messages is how many of 64 KiB a flow of these tests has, each of which is 69,248 bytes
// in 64 packets.
const messages = 20000

func writes(from steps.End, pairs ...steps.Pair) Flow {
	f := Between(from, 1024, 1024, pairs...)
	f.Writes(messages, 65536)
	f.Text = "writes"
	return f
}

// moves are counters of all ports of a rig after some flows, each of them a part of the
// ports' counters: out of one, into another, and an acknowledgement for 32 packets back.
func moves(rig steps.Rig, hops ...[2]Port) []steps.RailBytes {
	const sent, acks = messages * 64 * (1024 + 58), messages * 64 / 32 * 62
	var all []steps.RailBytes
	for e := range rig.Nodes {
		for i, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{
				End: steps.End(e), Rail: i, Dev: rail.Dev, Known: true, Source: "port_xmit_data",
				Errors: map[string]uint64{},
			}
			for _, h := range hops {
				switch (Port{steps.End(e), i}) {
				case h[0]:
					b.Tx, b.Rx = b.Tx+sent, b.Rx+acks
				case h[1]:
					b.Tx, b.Rx = b.Tx+acks, b.Rx+sent
				}
			}
			all = append(all, b)
		}
	}
	return all
}

func port(node, rail int) Port { return Port{steps.End(node), rail} }

func counterOf(bytes []steps.RailBytes, p Port) *steps.RailBytes {
	return &bytes[slices.IndexFunc(bytes, func(b steps.RailBytes) bool { return Port{b.End, b.Rail} == p })]
}

func what(a Accounted) (all []What) {
	for _, f := range a.Findings {
		if !slices.Contains(all, f.What) {
			all = append(all, f.What)
		}
	}
	return all
}

func TestAccount(t *testing.T) {
	here := func(rail int) Port { return port(0, rail) }
	peer := func(rail int) Port { return port(1, rail) }
	const payload = messages * 65536
	just := func(share float64) uint64 { return uint64(share * payload) }
	for _, c := range []struct {
		name  string
		spoil func([]steps.RailBytes)
		want  []What
		grade steps.Grade
		words string
	}{
		{"as it should be", func([]steps.RailBytes) {}, nil, 0, ""},
		{
			"a half", func(b []steps.RailBytes) { counterOf(b, here(0)).Tx /= 2 },
			[]What{Less},
			steps.Inconclusive,
			"rocep1s0f0 on spark-02 counted 692.5 MB of the expected 1.39 GB",
		},
		{
			"a half at both", func(b []steps.RailBytes) { counterOf(b, here(0)).Tx /= 2; counterOf(b, peer(0)).Rx /= 2 },
			[]What{Less},
			steps.Inconclusive, "on both nodes",
		},
		{
			"32 bits of it", func(b []steps.RailBytes) { counterOf(b, here(0)).Tx &= 1<<30 - 1 },
			[]What{Less},
			steps.Inconclusive, "probably reset",
		},
		{
			"nothing", func(b []steps.RailBytes) { counterOf(b, peer(0)).Rx = 0 },
			[]What{Lost},
			steps.Inconclusive,
			"rocep1s0f0 on spark-01",
		},
		{
			"missing", func(b []steps.RailBytes) { *counterOf(b, here(0)) = steps.RailBytes{Rail: 0, Dev: "rocep1s0f0"} },
			[]What{Unknown},
			steps.Inconclusive, "not counted",
		},
		{
			"not in the list", func(b []steps.RailBytes) { counterOf(b, here(0)).Rail = 9 },
			[]What{Unknown},
			steps.Inconclusive,
			"rocep1s0f0",
		},
		{"backwards", func(b []steps.RailBytes) {
			counterOf(b, peer(0)).Known, counterOf(b, peer(0)).Why = false, "it went backwards"
		}, []What{Unknown}, steps.Inconclusive, "it went backwards"},
		{
			"an interface's only", func(b []steps.RailBytes) { counterOf(b, here(0)).Source = "netdev bytes" },
			[]What{Blind},
			steps.Inconclusive, "port counters",
		},
		{
			"a jump", func(b []steps.RailBytes) { counterOf(b, here(0)).Tx = 1 << 62 },
			[]What{Jumped},
			steps.Inconclusive,
			"jumped",
		},
		{
			"5 % more", func(b []steps.RailBytes) { counterOf(b, here(0)).Tx += just(0.05) },
			[]What{More},
			steps.Warn,
			"other traffic",
		},
		{"5 % more, sent again", func(b []steps.RailBytes) {
			counterOf(b, here(0)).Tx += just(0.05)
			counterOf(b, peer(0)).Errors["out_of_sequence"] = 60000
		}, []What{More}, steps.Warn, "out_of_sequence +60000"},
		{"5 % more, and nine packets that were sent again", func(b []steps.RailBytes) {
			counterOf(b, here(0)).Tx += just(0.05)
			counterOf(b, peer(0)).Errors["out_of_sequence"] = 9
		}, []What{More}, steps.Warn, "the rest is other traffic"},
		{"5 % more, and a time-out, behind which nobody counts what was sent again", func(b []steps.RailBytes) {
			counterOf(b, here(0)).Tx += just(0.05)
			counterOf(b, peer(0)).Errors["out_of_sequence"] = 9
			counterOf(b, peer(0)).Errors["local_ack_timeout_err"] = 1
		}, []What{More}, steps.Warn, "local_ack_timeout_err +1"},
		{
			"a flap", func(b []steps.RailBytes) { counterOf(b, peer(0)).Errors["link_downed"] = 1 },
			[]What{Flapped},
			steps.Fail,
			"rocep1s0f0 on spark-01",
		},
		{"the wrong rail", func(b []steps.RailBytes) {
			x, y := counterOf(b, here(0)), counterOf(b, here(2))
			x.Tx, x.Rx, y.Tx, y.Rx = y.Tx, y.Rx, x.Tx, x.Rx
		}, []What{WrongPort}, steps.Fail, "roceP2p1s0f0 carried the"},
		{"both rails", func(b []steps.RailBytes) {
			x, y := counterOf(b, here(0)), counterOf(b, here(1))
			x.Tx /= 2
			y.Tx = x.Tx
		}, []What{Foreign}, steps.Fail, "rocep1s0f1"},
		{
			"another rail, just below the share", func(b []steps.RailBytes) { counterOf(b, here(1)).Rx = just(0.0099) }, nil, 0,
			"",
		},
		{
			"another rail, just above the share", func(b []steps.RailBytes) { counterOf(b, here(1)).Rx = just(0.0101) },
			[]What{Foreign},
			steps.Fail, "rocep1s0f1",
		},
		{"two rails, below the share in sum", func(b []steps.RailBytes) {
			counterOf(b, peer(1)).Tx, counterOf(b, peer(2)).Rx = just(0.0049), just(0.0049)
		}, nil, 0, ""},
		{"three rails, above the share in sum", func(b []steps.RailBytes) {
			for i := 1; i < 4; i++ {
				counterOf(b, peer(i)).Tx = just(0.009)
			}
		}, []What{Foreign}, steps.Fail, "rocep1s0f1, roceP2p1s0f0 and roceP2p1s0f1 on spark-01"},
		{
			"another rail that nobody read", func(b []steps.RailBytes) { counterOf(b, here(3)).Known = false },
			[]What{Unread},
			steps.Inconclusive, "roceP2p1s0f1",
		},
		{
			"as many acknowledgements as there can be",
			func(b []steps.RailBytes) { counterOf(b, here(0)).Rx = messages * 64 * 62 }, nil, 0, "",
		},
		{
			"bytes the other way", func(b []steps.RailBytes) { counterOf(b, here(0)).Rx = just(0.1) },
			[]What{Reverse},
			steps.Warn, "rocep1s0f0 on spark-02 received 131.1 MB",
		},
		{"bytes the other way at both", func(b []steps.RailBytes) {
			counterOf(b, here(0)).Rx, counterOf(b, peer(0)).Tx = just(0.5), just(0.5)
		}, []What{Reverse}, steps.Warn, "rocep1s0f0 on spark-02 received 655.4 MB"},
		{"TCP beside it", func(b []steps.RailBytes) {
			x := counterOf(b, here(0))
			x.IPKnown, x.IPTx = true, just(0.2)
		}, []What{Beside}, steps.Warn, "enp1s0f0np0 on spark-02 also carried 262.1 MB"},
		{"as TCP", func(b []steps.RailBytes) {
			x := counterOf(b, here(0))
			x.Tx, x.IPKnown, x.IPTx = 0, true, just(1)
		}, []What{OtherWay}, steps.Fail, "the data went over enp1s0f0np0 as TCP"},
	} {
		rig := kindtest.Spark()
		bytes := moves(rig, [2]Port{here(0), peer(0)})
		c.spoil(bytes)
		a := Account(rig, bytes, writes(steps.Here, rig.Pairs[0]))
		check(t, c.name, a, c.want, c.grade, c.words)
	}
}

func check(t *testing.T, name string, a Accounted, want []What, g steps.Grade, words string) {
	t.Helper()
	var rep registry.Report
	a.Tell(&rep, rep.Add)
	v := rep.Verdict("well")
	if !slices.Equal(what(a), want) ||
		len(want) > 0 && (v.Grade != g || !strings.Contains(strings.ToLower(v.Said()), strings.ToLower(words))) {
		t.Errorf("%s: %v, %s: %s; want %v, %s: %s", name, what(a), v.Grade, v.Reason, want, g, words)
	}
	if (len(want) == 0) != a.OK() {
		t.Errorf("%s: OK is %v", name, a.OK())
	}
}

// Nothing to compare is never right.
func TestAccountOfNothing(t *testing.T) {
	rig := kindtest.Spark()
	f := writes(steps.Here, rig.Pairs[0])
	bytes := moves(rig, [2]Port{port(0, 0), port(1, 0)})
	unknown := Between(steps.Here, 0, 0, rig.Pairs[0])
	unknown.Writes(5, 64)
	away := writes(steps.Here, steps.Pair{Rails: [2]int{0, 9}})
	for name, a := range map[string]Accounted{
		"no flow": Account(rig, bytes), "no counters": Account(rig, nil, f), "no MTU": Account(rig, bytes, unknown),
		"no such rail": Account(rig, bytes, away), "no rig": Account(steps.Rig{}, bytes, f),
		"one of two without an MTU": Account(rig, bytes, f, unknown),
	} {
		check(t, name, a, []What{Uncounted}, steps.Inconclusive, "not counted")
	}
}

// A test of several flows has a prediction for both ways of each port.
func TestAccountOfSeveralFlows(t *testing.T) {
	rig := kindtest.Spark()
	first, second := rig.Pairs[0], rig.Pairs[1]
	both := [][2]Port{{port(0, 0), port(1, 0)}, {port(1, 0), port(0, 0)}}
	two := [][2]Port{{port(0, 0), port(1, 0)}, {port(0, 1), port(1, 1)}}
	for _, c := range []struct {
		name  string
		hops  [][2]Port
		flows []Flow
		spoil func([]steps.RailBytes)
		want  []What
		grade steps.Grade
		words string
	}{
		{"both ways", both, []Flow{writes(steps.Here, first), writes(steps.Peer, first)}, nil, nil, 0, ""},
		{
			"both ways, and one came", both[:1],
			[]Flow{writes(steps.Here, first), writes(steps.Peer, first)},
			nil,
			[]What{Lost},
			steps.Inconclusive, "rocep1s0f0",
		},
		{
			"both ways, and one is asked for", both,
			[]Flow{writes(steps.Here, first)},
			nil,
			[]What{Reverse},
			steps.Warn,
			"the other way",
		},
		{
			"both ways, one short", both,
			[]Flow{writes(steps.Here, first), writes(steps.Peer, first)},
			func(b []steps.RailBytes) { counterOf(b, port(1, 0)).Tx /= 2 },
			[]What{Less},
			steps.Inconclusive,
			"rocep1s0f0 on spark-01",
		},
		{
			"twice the same",
			[][2]Port{both[0], both[0]},
			[]Flow{writes(steps.Here, first), writes(steps.Here, first)},
			nil,
			nil, 0, "",
		},
		{
			"twice, and one came", both[:1],
			[]Flow{writes(steps.Here, first), writes(steps.Here, first)},
			nil,
			[]What{Less},
			steps.Inconclusive, "2.77 GB",
		},
		{"two rails", two, []Flow{writes(steps.Here, first), writes(steps.Here, second)}, nil, nil, 0, ""},
		{
			"two rails, one lost and one short", two[1:],
			[]Flow{writes(steps.Here, first), doubled(writes(steps.Here, second))},
			nil,
			[]What{Lost, Less},
			steps.Inconclusive, "rocep1s0f0 on both nodes carried 0 bytes",
		},
		{
			"two rails, all over one",
			[][2]Port{two[0], two[0]},
			[]Flow{writes(steps.Here, first), writes(steps.Here, second)},
			nil,
			[]What{WrongPort},
			steps.Fail, "rocep1s0f1 on both nodes carried nothing; rocep1s0f0",
		},
		{"two that share", two, []Flow{doubled(writes(steps.Here, first, second))}, nil, nil, 0, ""},
		{
			"two that share, over one",
			[][2]Port{two[0], two[0]},
			[]Flow{doubled(writes(steps.Here, first, second))},
			nil,
			[]What{Idle},
			steps.Fail, "UCX used only rocep1s0f0",
		},
		{
			"two that share, over one and another interface", two[:1],
			[]Flow{doubled(writes(steps.Here, first, second))},
			nil,
			[]What{Idle},
			steps.Fail, "carried nothing, and 1.39 GB of 2.77 GB took another interface",
		},
		{
			"two that share, all over one, and the other had other traffic",
			[][2]Port{two[0], two[0]},
			[]Flow{doubled(writes(steps.Here, first, second))},
			func(b []steps.RailBytes) {
				for _, e := range steps.Ends {
					c := counterOf(b, port(int(e), 1))
					c.IdleGbps, c.IdleTx, c.IdleRx = 13.9, 6e9, 6e9
				}
			},
			[]What{Idle},
			steps.Fail, "rocep1s0f0",
		},
		{
			"two that share, and what one had is taken off", two[:1],
			[]Flow{doubled(writes(steps.Here, first, second))},
			func(b []steps.RailBytes) {
				for _, e := range steps.Ends {
					c := counterOf(b, port(int(e), 1))
					c.IdleGbps, c.IdleTx, c.IdleRx = 13.9, 6e9, 6e9
				}
			},
			[]What{Less},
			steps.Inconclusive, "whether the test used",
		},
		{
			"two that share, uneven",
			[][2]Port{two[0], two[0], two[0], two[1]},
			[]Flow{doubled(doubled(writes(steps.Here, first, second)))},
			nil,
			[]What{Uneven},
			steps.Warn, "rocep1s0f0 75 %",
		},
		{
			"staged, over one",
			[][2]Port{two[0], two[0]},
			[]Flow{staged(doubled(writes(steps.Here, first, second)))},
			nil, nil,
			0, "",
		},
	} {
		bytes := moves(rig, c.hops...)
		if c.spoil != nil {
			c.spoil(bytes)
		}
		a := Account(rig, bytes, c.flows...)
		check(t, c.name, a, c.want, c.grade, c.words)
	}
}

func doubled(f Flow) Flow {
	f.Payload, f.Wire, f.Least, f.Back = 2*f.Payload, 2*f.Wire, 2*f.Least, 2*f.Back
	return f
}

func staged(f Flow) Flow {
	f.Staged()
	return f
}

// Two rails with different MTUs have fewer headers than the smaller MTU alone would make.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		mtu, largest int
		low, high    float64
	}{{1024, 1024, 0.999, 1}, {1024, 4096, 0.95, 0.97}} {
		f := Between(steps.Here, c.mtu, c.largest)
		f.Writes(10, 1<<20)
		if got := f.Least / f.Wire; got < c.low || got > c.high {
			t.Errorf("%d and %d: %.4f, want %g to %g", c.mtu, c.largest, got, c.low, c.high)
		}
	}
}

// A packet of InfiniBand has fewer headers than RoCE's, or with a GRH as many, and both are right.
func TestAccountOfInfiniBand(t *testing.T) {
	for _, c := range []struct {
		layer   string
		headers float64
		right   bool
	}{
		{"Ethernet", limits.RoCEHeaders, true},
		{"Ethernet", limits.InfiniBandHeaders, false},
		{"InfiniBand", limits.InfiniBandHeaders, true},
		{"InfiniBand", limits.InfiniBandHeaders + 40, true},
		{"InfiniBand", -40, false}, // bytes are missing
	} {
		rig := kindtest.Spark()
		for _, n := range rig.Nodes {
			for i := range n.Rails {
				n.Rails[i].Layer = c.layer
			}
		}
		p := rig.Pairs[0]
		bytes := moves(rig, [2]Port{{steps.Here, p.Rails[steps.Here]}, {steps.Peer, p.Rails[steps.Peer]}})
		for i := range bytes {
			for _, n := range []*uint64{&bytes[i].Tx, &bytes[i].Rx} {
				*n = uint64(float64(*n) * (1024 + c.headers) / (1024 + limits.RoCEHeaders))
			}
		}
		a := Account(rig, bytes, writes(steps.Here, p))
		if (len(a.Findings) == 0) != c.right {
			t.Errorf("%s with %g bytes of headers: %+v", c.layer, c.headers, a.Findings)
		}
	}
}

// What a stream of small writes moves, as it was counted between two network namespaces of one machine: most of them
// went as segments of their own, where large ones fill theirs.
func TestAccountOfSmallWrites(t *testing.T) {
	rig := kindtest.Spark()
	p := rig.Pairs[0]
	const header = 24 // of each block
	for _, c := range []struct {
		block, blocks  float64
		sent, answered uint64
	}{
		{1, 602585, 49534720, 1800938},
		{64, 651226, 92815916, 3901910},
		{1000, 838709, 881626674, 6089672},
		{30000, 243665, 7348427130, 7424174},
		{67108864, 101, 6828768114, 1009736},
	} {
		account := func(more uint64) Accounted {
			bytes := moves(rig)
			for i := range bytes {
				bytes[i].IPKnown = true
			}
			out, in := counterOf(bytes, port(0, p.Rails[0])), counterOf(bytes, port(1, p.Rails[1]))
			out.IPTx, out.IPRx = c.sent+more, c.answered
			in.IPTx, in.IPRx = out.IPRx, out.IPTx
			f := Stream(steps.Here, []int{p.Rails[0]}, steps.Peer, []int{p.Rails[1]}, c.blocks*(c.block+header), 1448)
			f.Pieces(c.blocks)
			return Account(rig, bytes, f)
		}
		if a := account(0); len(a.Findings) > 0 {
			t.Errorf("blocks of %g bytes: %+v", c.block, a.Findings)
		}
		if a := account(c.sent); !slices.Contains(what(a), More) && !slices.Contains(what(a), Jumped) {
			t.Errorf("blocks of %g bytes, and as much again: %+v", c.block, a.Findings)
		}
	}
}

// TCP over a bond goes over its links as it comes, and has a prediction with headers.
func TestAccountOfTCP(t *testing.T) {
	rig := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	count := func(shares ...float64) []steps.RailBytes {
		bytes := moves(rig)
		for i := range bytes {
			b := &bytes[i]
			b.IPKnown = true
			if b.Rail < len(shares) {
				n := uint64(shares[b.Rail] * 1e9 * 1514 / 1448)
				if b.IPTx, b.IPRx = n, n/100; b.End == steps.Peer {
					b.IPTx, b.IPRx = b.IPRx, b.IPTx
				}
			}
		}
		return bytes
	}
	f := Stream(steps.Here, []int{0, 1}, steps.Peer, []int{0, 1}, 1e9, 1448)
	for _, c := range []struct {
		name  string
		bytes []steps.RailBytes
		want  []What
		grade steps.Grade
		words string
	}{
		{"evenly", count(0.5, 0.5), nil, 0, ""},
		{"over one", count(1), nil, 0, ""},
		{"without headers", count(0.478, 0.478), nil, 0, ""},
		{"a tenth is missing", count(0.9), []What{Less}, steps.Inconclusive, "counted"},
		{"nothing", count(), []What{Lost}, steps.Fail, "takes another"},
		{
			"a third link", count(0.5, 0.5, 0.1),
			[]What{Foreign},
			steps.Fail,
			"enP2p1s0f0np0",
		},
	} {
		check(t, c.name, Account(rig, c.bytes, f), c.want, c.grade, c.words)
	}
	if said := Account(rig, count(0.25, 0.75),
		f).Carried(steps.Here); said != "enp1s0f0np0 carried 25 % and enp1s0f1np1 75 % of 1.05 GB with headers" {
		t.Error(said)
	}
}

// What a load is called in the evidence is what saved sessions are compared by.
func TestAccountOnRecord(t *testing.T) {
	rig := kindtest.Spark()
	names := func(a Accounted) (all []string) {
		for _, e := range a.Evidence {
			all = append(all, fmt.Sprintf("%s %v", e.Name, e.Expected != nil))
		}
		return all
	}
	one := Account(rig, moves(rig, [2]Port{port(0, 0), port(1, 0)}), writes(steps.Here, rig.Pairs[0]))
	if want := []string{
		"rail 1 (rocep1s0f0) bytes sent by spark-02 true",
		"rail 1 (rocep1s0f0) bytes received by spark-01 true",
	}; !slices.Equal(names(one), want) {
		t.Errorf("one rail: %q", names(one))
	}
	two := Account(rig, moves(rig, [2]Port{port(0, 0), port(1, 0)}), writes(steps.Here, rig.Pairs[:2]...))
	want := []string{
		"rail 1 (rocep1s0f0) bytes sent by spark-02 false",
		"rail 2 (rocep1s0f1) bytes sent by spark-02 false", "bytes sent by spark-02 over rails 1 and 2 true",
	}
	if got := names(two); !slices.Equal(got[:3], want) {
		t.Errorf("two rails: %q", got)
	}
}

// Flows whose sides have a port in common are one load, whatever their order.
func TestLoadsJoin(t *testing.T) {
	rig := kindtest.Spark()
	for _, flows := range [][]Flow{
		{writes(steps.Here, rig.Pairs[0]), writes(steps.Here, rig.Pairs[1]), writes(steps.Here, rig.Pairs[:2]...)},
		{writes(steps.Here, rig.Pairs[:2]...), writes(steps.Here, rig.Pairs[0]), writes(steps.Here, rig.Pairs[1])},
	} {
		all := loads(flows)
		if len(all) != 4 {
			t.Errorf("%d loads: %+v", len(all), all)
		}
		for _, l := range all {
			if len(l.Ports) != 2 || !l.mixed || l.Wire != 0 && l.Wire != 3*flows[0].Wire || l.against != 0 && l.Wire != 0 {
				t.Errorf("%+v", l)
			}
		}
	}
}

// three is a rig of three nodes, alike.
func three() steps.Rig {
	rig := kindtest.Spark()
	third := rig.Nodes[steps.Peer]
	third.Name, third.Host = "spark-03", "spark-03"
	rig.Nodes = append(slices.Clone(rig.Nodes), third)
	return rig
}

// A ring, as a collective makes it: each of three nodes sends to the next one. Every port has a prediction
// both ways, and what one port lacks is reported at its node.
func TestAccountOfARing(t *testing.T) {
	var hops [][2]Port
	var ring []Flow
	for n := range 3 {
		from, to := port(n, 0), port((n+1)%3, 0)
		hops = append(hops, [2]Port{from, to})
		f := Over([]Port{from}, []Port{to}, 1024)
		f.Writes(messages, 65536)
		ring = append(ring, f)
	}
	for _, c := range []struct {
		name  string
		flows []Flow
		spoil func([]steps.RailBytes)
		want  []What
		grade steps.Grade
		words string
	}{
		{"as it should be", ring, func([]steps.RailBytes) {}, nil, 0, ""},
		{
			"the third sent half", ring, func(b []steps.RailBytes) { counterOf(b, port(2, 0)).Tx /= 2 },
			[]What{Less},
			steps.Inconclusive, "rocep1s0f0 on spark-03",
		},
		{
			"the third got nothing", ring, func(b []steps.RailBytes) { counterOf(b, port(2, 0)).Rx = 0 },
			[]What{Lost},
			steps.Inconclusive, "on spark-03",
		},
		{
			"another rail of the third", ring, func(b []steps.RailBytes) { counterOf(b, port(2, 1)).Tx = 1e9 },
			[]What{Foreign},
			steps.Fail, "rocep1s0f1 on spark-03",
		},
		{"a flap at two", ring, func(b []steps.RailBytes) {
			counterOf(b, port(0, 0)).Errors["link_downed"], counterOf(b, port(2, 0)).Errors["link_downed"] = 1, 1
		}, []What{Flapped}, steps.Fail, "rocep1s0f0 on spark-02 and spark-03"},
		{"the third is not of the test", ring[:1], func(b []steps.RailBytes) {
			counterOf(b, port(1, 0)).Tx, counterOf(b, port(0, 0)).Rx = 0, 0
		}, []What{Foreign}, steps.Warn, "rocep1s0f0 on spark-03"},
		{"nobody counted at the third", ring, func(b []steps.RailBytes) {
			for i := range b {
				b[i].Known = b[i].Known && b[i].End != 2
			}
		}, []What{Unknown}, steps.Inconclusive, "on spark-03"},
	} {
		rig := three()
		bytes := moves(rig, hops...)
		c.spoil(bytes)
		check(t, c.name, Account(rig, bytes, c.flows...), c.want, c.grade, c.words)
	}
}

// A test of a few MB doesn't warn of the SSH connections that lead over its rail.
func TestChatter(t *testing.T) {
	port0, port1 := port(0, 0), port(1, 0)
	for _, c := range []struct {
		name  string
		rig   steps.Rig
		bytes uint64 // of TCP, out of this end and back
		want  []What
	}{
		{"a little beside RDMA", kindtest.Spark(), 8e6, nil},
		{"more than a little", kindtest.Spark(), 12e6, []What{Beside}},
		{"a little back, at an interface", kindtest.Virtual(), 8e6, nil},
		{"more back, at an interface", kindtest.Virtual(), 12e6, []What{Reverse}},
	} {
		f := Over([]Port{port0}, []Port{port1}, 1024)
		f.Reads(1001, 4096)
		bytes := moves(c.rig)
		for _, p := range []Port{port0, port1} {
			b := counterOf(bytes, p)
			way, back := &b.Tx, &b.Rx
			if p == port1 {
				way, back = back, way
			}
			*way = uint64(f.Wire)
			if b.IPKnown, b.IPTx = true, c.bytes; c.rig.Nodes[0].Rails[0].PCI.Addr == "" {
				b.Source, *back = "netdev bytes", c.bytes
			}
		}
		check(t, c.name, Account(c.rig, bytes, f), c.want, steps.Warn, "")
	}
}

// A message that is too small to be cut goes over one rail of two, and that is not a finding; one that is large
// enough is.
func TestSmallMessagesAreNotSplit(t *testing.T) {
	rig := kindtest.Spark()
	for size, want := range map[int]bool{4096: true, 16384: false, 1 << 20: false} {
		f := Between(steps.Here, 1024, 1024, rig.Pairs[0], rig.Pairs[1])
		f.Writes(10000, size)
		bytes := kindtest.Moved(rig, steps.Here, f.Wire, kindtest.OnlyOne)
		if a := Account(rig, bytes, f); a.OK() != want {
			t.Errorf("blocks of %d bytes over one rail of two: %+v", size, a.Findings)
		}
	}
}
