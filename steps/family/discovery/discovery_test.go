package discovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// ipText is what ip link show says about a rig's rails.
func ipText(n steps.Node) string {
	var b strings.Builder
	for i, r := range n.Rails {
		flags := "BROADCAST,MULTICAST"
		switch {
		case r.Netdev.Up && r.Netdev.Carrier:
			flags += ",UP,LOWER_UP"
		case r.Netdev.Up:
			flags = "NO-CARRIER," + flags + ",UP"
		}
		fmt.Fprintf(&b, "%d: %s: <%s> mtu %d qdisc mq state UP mode DEFAULT group default qlen 1000\n", i+2, r.Netdev.Name,
			flags, r.Netdev.MTU)
	}
	return b.String()
}

func TestInterfaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		rig    steps.Rig
		change func(*steps.Rig)
		want   steps.Grade
		code   steps.Code
		words  []string
	}{
		{"up", kindtest.Spark(), nil, steps.Pass, "", []string{"8 on both nodes"}},
		{
			"off", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[steps.Peer].Rails[1].Netdev.Up = false },
			steps.Fail, steps.InterfaceOff,
			[]string{"enp1s0f1np1 on spark-01 is switched off"},
		},
		{
			"no cable", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[steps.Here].Rails[0].Netdev.Carrier = false },
			steps.Fail, steps.LinkDown,
			[]string{"enp1s0f0np0 on spark-02 has no link"},
		},
		{
			"no cable where nothing is used", kindtest.TutorialSpark(),
			func(r *steps.Rig) { r.Nodes[steps.Here].Rails[2].Netdev.Carrier = false }, steps.Pass, "",
			[]string{"not used"},
		},
		{
			"no interface", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[steps.Here].Rails[0].Netdev.Name = "gone0" },
			steps.Fail, steps.InterfaceMissing,
			[]string{"rocep1s0f0 of spark-02 has no interface"},
		},
		{
			"no RDMA device", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[steps.Peer].Rails, r.Pairs = nil, nil },
			steps.Fail, steps.RDMADeviceMissing,
			[]string{"spark-01 has no RDMA device"},
		},
	} {
		here, peer := ipText(c.rig.Nodes[0]), ipText(c.rig.Nodes[1])
		if c.change != nil {
			c.change(&c.rig)
		}
		if !strings.HasPrefix(c.name, "no i") {
			here, peer = ipText(c.rig.Nodes[0]), ipText(c.rig.Nodes[1])
		}
		if peer == "" {
			peer = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n"
		}
		v := judgeInterfaces(steps.Cell{}, kindtest.Both(c.rig, parse.Links, here, peer))
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.words...)
	}
	r := kindtest.Both(kindtest.Spark(), parse.Links, ipText(kindtest.Spark().Nodes[0]), "sh: 1: ip: not found")
	r.Stages[0].Outputs[1].Exit.Code = 127
	kindtest.Want(t, "no ip", judgeInterfaces(steps.Cell{}, r), steps.Inconclusive,
		"spark-01 needs a command that is missing")
}

func verbs(n steps.Node, firmware string) string {
	list, info := "    device          \t   node GUID\n    ------          \t----------------\n", ""
	for i, r := range n.Rails {
		list += fmt.Sprintf("    %s      \t505400fffe0001%02d\n", r.Dev, i)
		info += fmt.Sprintf("hca_id:\t%s\n\tfw_ver:\t\t%s\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_%s (4)\n"+
			"\t\t\tactive_mtu:\t\t1024 (3)\n", r.Dev, firmware, r.State)
	}
	return list + info
}

func TestDevices(t *testing.T) {
	rig := kindtest.Spark()
	good := verbs(rig.Nodes[0], "28.45.4028")
	judge := func(rig steps.Rig, here, peer string) steps.Verdict {
		return judgeDevices(steps.Cell{}, kindtest.Both(rig, parse.VerbsDevices, here, peer))
	}
	kindtest.Want(t, "four", judge(rig, good, good), steps.Pass, "4 RDMA devices on each node")
	kindtest.Want(t, "down", judge(rig, good, strings.Replace(good, "PORT_ACTIVE (4)", "PORT_DOWN (1)", 1)), steps.Fail,
		"rocep1s0f0 on spark-01 is DOWN. Check enp1s0f0np0")
	unused := strings.Replace(good,
		"hca_id:\troceP2p1s0f1\n\tfw_ver:\t\t28.45.4028\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE",
		"hca_id:\troceP2p1s0f1\n\tfw_ver:\t\t28.45.4028\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN", 1)
	kindtest.Want(t, "down and unused", judge(kindtest.TutorialSpark(), good, unused), steps.Pass, "not used")
	idle := kindtest.Spark()
	for e := range idle.Nodes {
		for i := range idle.Nodes[e].Rails {
			idle.Nodes[e].Rails[i].Addr = ""
		}
	}
	idle.Pairs = nil
	dark := strings.ReplaceAll(good, "PORT_ACTIVE (4)", "PORT_DOWN (1)")
	kindtest.Because(t, "down, and none is used", judge(idle, dark, dark), steps.Fail, steps.PortDown)
	kindtest.Want(t, "none", judge(rig, good, "    device          \t   node GUID\nNo IB devices found\n"), steps.Fail,
		"spark-01 has no RDMA device")
	three := rig.Nodes[0]
	three.Rails = three.Rails[:3]
	kindtest.Want(t, "another number", judge(rig, good, verbs(three, "28.45.4028")), steps.Warn,
		"spark-02 has 4 RDMA devices but spark-01 has 3")
	kindtest.Because(t,
		"another firmware", judge(rig, good, verbs(rig.Nodes[1], "28.39.1002")), steps.Warn, steps.FirmwareDiffers)
	kindtest.Because(t, "garbage", judge(rig, good, "Segmentation fault\n"), steps.Inconclusive, steps.OutputIncomplete)
}

func TestRailMap(t *testing.T) {
	address := func(r *steps.Rig, e steps.End, rail int, addrs ...string) {
		x := &r.Nodes[e].Rails[rail]
		x.Netdev.Addrs = nil
		x.Addr, x.Prefix = "", 0
		for _, a := range addrs {
			x.Netdev.Addrs = append(x.Netdev.Addrs, a+"/24")
		}
		if len(addrs) > 0 {
			x.Addr, x.Prefix = addrs[0], 24
		}
		r.Pairs = steps.PairRails(r.Nodes[0], r.Nodes[1])
	}
	for _, c := range []struct {
		name   string
		rig    steps.Rig
		change func(*steps.Rig)
		want   steps.Grade
		code   steps.Code
		words  []string
	}{
		{
			"all four functions", kindtest.Spark(), nil, steps.Pass, "",
			[]string{
				"4 rails", "1 and 2 share one PCIe Gen5 x4",
				"105 Gb/s",
				"1 and 3 use two links and share one cable of 200 Gb/s",
			},
		},
		{
			"the tutorial's two", kindtest.TutorialSpark(), nil, steps.Warn, steps.RailsSharePCIe,
			[]string{
				"Gen5 x4 link (0000:01:00", "105 Gb/s",
				"rocep1s0f0 with roceP2p1s0f0",
			},
		},
		{"soft-RoCE", kindtest.Virtual(), nil, steps.Pass, "", []string{"2 rails"}},
		{"100G links behind one x16", kindtest.TutorialSpark(), func(r *steps.Rig) {
			for e := range r.Nodes {
				for i := range r.Nodes[e].Rails {
					x := &r.Nodes[e].Rails[i]
					x.RateGbps, x.PCI.Width, x.PCI.MaxWidth = 100, 16, 16
				}
			}
		}, steps.Pass, "", nil},
		{"a bond", kindtest.TutorialSpark(), func(r *steps.Rig) {
			for i := range 2 {
				r.Nodes[1].Rails[i].Netdev.Master = "bond0"
				address(r, steps.Peer, i)
			}
		}, steps.Fail, steps.RailInBond, []string{"bond0 on spark-01 holds enp1s0f0np0 and enp1s0f1np1"}},
		{
			"no addresses", kindtest.TutorialSpark(),
			func(r *steps.Rig) { address(r, steps.Peer, 0); address(r, steps.Peer, 1) }, steps.Fail, steps.AddressMissing,
			[]string{"no rail of spark-01 has an IPv4 address"},
		},
		{
			"no ip on a node", kindtest.TutorialSpark(),
			func(r *steps.Rig) {
				address(r, steps.Peer, 0)
				address(r, steps.Peer, 1)
				r.Nodes[steps.Peer].Tools = map[string]steps.Tool{"ip": {Package: "iproute2"}}
			}, steps.Inconclusive, steps.CommandMissing,
			[]string{"spark-01", "iproute2"},
		},
		{
			"different subnets", kindtest.TutorialSpark(),
			func(r *steps.Rig) { address(r, steps.Peer, 0, "10.0.0.1"); address(r, steps.Peer, 1, "10.0.1.1") },
			steps.Fail, steps.SubnetsDiffer,
			nil,
		},
		{
			"one address twice", kindtest.TutorialSpark(), func(r *steps.Rig) { address(r, steps.Peer, 0, "192.168.100.11") },
			steps.Fail, steps.DuplicateIP,
			[]string{"enp1s0f0np0 on spark-01. Run: railbench doctor duplicate-ip --fix. rocep1s0f0 on spark-02"},
		},
		{
			"soft-RoCE beside an adapter's own", kindtest.Spark(), func(r *steps.Rig) {
				for e := range r.Nodes {
					soft := r.Nodes[e].Rails[0]
					soft.Dev, soft.PCI, soft.PhysPort, soft.HasOctets = "rxe0", steps.PCI{}, -1, false
					r.Nodes[e].Rails = append(r.Nodes[e].Rails, soft)
				}
				r.Pairs = steps.PairRails(r.Nodes[0], r.Nodes[1])
			}, steps.Pass, "", nil,
		},
		{
			"two rails in one subnet", kindtest.TutorialSpark(), func(r *steps.Rig) {
				address(r, steps.Here, 1, "192.168.100.13")
				address(r, steps.Peer, 1, "192.168.100.12")
			}, steps.Warn, steps.SubnetShared,
			[]string{"enp1s0f0np0 and enp1s0f1np1 on spark-02 share the subnet 192.168.100.0/24"},
		},
		{
			"a second address in the subnet", kindtest.Spark(),
			func(r *steps.Rig) { address(r, steps.Peer, 2, "192.168.102.10", "192.168.100.15") }, steps.Warn, steps.SubnetShared,
			[]string{"enp1s0f0np0 and enP2p1s0f0np0 on spark-01"},
		},
		{
			"MTU", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[1].Rails[0].Netdev.MTU = 9000 }, steps.Warn, steps.MTUDiffers,
			[]string{"1500 on spark-02 but 9000 on spark-01"},
		},
		{
			"RoCE MTU", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[1].Rails[0].MTU = 512 }, steps.Warn, steps.MTUDiffers,
			[]string{"1024 on spark-02 but 512 on spark-01"},
		},
		{
			"down", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[1].Rails[1].State = "DOWN" }, steps.Fail, steps.PortDown,
			[]string{"Rail 2 is DOWN on spark-01 (rocep1s0f1)"},
		},
		{
			"narrow", kindtest.Spark(), func(r *steps.Rig) {
				r.Nodes[1].Rails[2].PCI.Width, r.Nodes[1].Rails[3].PCI.Width = 2,
					2
			}, steps.Warn, steps.PCIeNarrow,
			[]string{"roceP2p1s0f0 and roceP2p1s0f1 on spark-01 run at PCIe Gen5 x2 instead of PCIe " +
				"Gen5 x4"},
		},
		{
			"one end has no address", kindtest.Spark(), func(r *steps.Rig) { address(r, steps.Peer, 1) },
			steps.Warn, steps.AddressMissing,
			[]string{"rocep1s0f1 on spark-02 has 192.168.200.11/24", "enp1s0f1np1 has no IPv4 address"},
		},
		{"crossed cables", kindtest.Spark(), func(r *steps.Rig) {
			address(r, steps.Peer, 0, "192.168.200.10")
			address(r, steps.Peer, 1, "192.168.100.10")
		}, steps.Warn, steps.CablesCrossed, []string{"spark-02 to port 1 of spark-01"}},
		{
			"no device", kindtest.Spark(), func(r *steps.Rig) { r.Nodes[0].Rails, r.Pairs = nil, nil },
			steps.Fail, steps.RDMADeviceMissing,
			[]string{"spark-02 has no RDMA device"},
		},
		{
			"not looked at", kindtest.Spark(),
			func(r *steps.Rig) { r.Nodes[1] = steps.Node{Name: "spark-01", Err: "refused"}; r.Pairs = nil },
			steps.Inconclusive, steps.NodeAway,
			[]string{"spark-01 could not be"},
		},
	} {
		if c.change != nil {
			c.change(&c.rig)
		}
		r := steps.Result{Rig: c.rig, Stages: []steps.Stage{{
			Pair:    -1,
			Outputs: []steps.Output{kindtest.Ran("", steps.Here, "x"), kindtest.Ran("", steps.Peer, "x")},
		}}}
		v := judgeRailMap(steps.Cell{}, r)
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.words...)
		r.Stages[0].Outputs[1].Exit.Why = runner.TimedOut
		if v := judgeRailMap(steps.Cell{}, r); v.Grade != steps.Inconclusive {
			t.Errorf("%s, timed out: %s", c.name, v.Grade)
		}
	}
	v := judgeRailMap(steps.Cell{},
		steps.Result{
			Rig: kindtest.Spark(),
			Stages: []steps.Stage{{
				Pair:    -1,
				Outputs: []steps.Output{kindtest.Ran("", steps.Here, ""), kindtest.Ran("", steps.Peer, "")},
			}},
		})
	e, _ := kindtest.Evidence(v, "spark-02 rocep1s0f0")
	if want := "enp1s0f0np0, port 0, 0000:01:00.0 PCIe Gen5 x4 (about 105.4 Gb/s of payload), link 200 Gb/s, ACTIVE, " +
		"MTU 1500, RoCE MTU 1024, 192.168.100.11/24"; e.Value != want {
		t.Errorf("evidence %q, want %q", e.Value, want)
	}
	if len(v.Tables) != 1 || len(v.Tables[0].Rows) != 4 {
		t.Fatalf("tables: %+v", v.Tables)
	}
	want := []string{"3", "roceP2p1s0f0", "0", "Gen5 x4", "0002:01:00.0", "enP2p1s0f0np0", "200"}
	if row := v.Tables[0].Rows[2]; !slices.Equal(row, want) {
		t.Errorf("row of rail 3: %q, want %q", row, want)
	}
}

// An InfiniBand rail has no RoCE in its line, nor in what its ends don't agree on.
func TestRailOfInfiniBand(t *testing.T) {
	rail := steps.Rail{
		Dev: "mlx5_7", Port: 1, Layer: "InfiniBand", PhysPort: -1, RateGbps: 400, MTU: 4096,
		Netdev: steps.Netdev{Name: "ibp7s0", MTU: 2044},
	}
	if got := Describe(rail); !strings.Contains(got, "MTU 2044, InfiniBand MTU 4096") || strings.Contains(got, "RoCE") {
		t.Error(got)
	}
	var rep registry.Report
	other := rail
	other.MTU = 2048
	checkAlike(kindtest.Spark(), 8, rail, other, &rep)
	if got := fmt.Sprint(rep.Findings); !strings.Contains(got, "rail 8 has InfiniBand MTU 4096") {
		t.Error(got)
	}
}

// cutLast is strings.Cut around the last of several.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 || i == strings.Index(s, sep) {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func TestPing(t *testing.T) {
	run := func(sent, received int, ms float64, errs string) string {
		return fmt.Sprintf("+ ping -c 3 x\nPING x (192.168.100.10) 56(84) bytes of data.\n%s\n--- x ping statistics ---\n"+
			"%d packets transmitted, %d received, %d%% packet loss, time 2ms\nrtt min/avg/max/mdev = %g/%g/%g/0.1 ms\n",
			errs, sent, received, 100-100*received/sent, ms, ms, ms)
	}
	good, lost := run(3, 3, 0.6, ""), run(3, 0, 0, "")
	for _, c := range []struct {
		name, text string
		exit       int
		change     func(*steps.Rig)
		want       steps.Grade
		code       steps.Code
		words      []string
	}{
		{"answers", good + good, 0, nil, steps.Pass, "", []string{"the rail answers"}},
		{"no answer", lost + lost, 1, nil, steps.Fail, steps.NoAnswer, []string{"does not answer at 192.168.100.10"}},
		{"a network that is away", "+ ping -c 3 x\nping: connect: Network is unreachable\n+ ping -c 3 x\n" +
			"ping: connect: Network is unreachable\n", 1, nil, steps.Fail, steps.NoAnswer, nil},
		{
			"large packets are lost", good + lost, 1, nil, steps.Fail, steps.PathMTUSmall,
			[]string{"small packets arrive, but packets of MTU 1500 do not"},
		},
		{
			"too long on the way", good + run(3, 0, 0, "From 192.168.100.1 icmp_seq=1 Frag needed and DF set (mtu = 1400)"), 1,
			nil, steps.Fail, steps.PathMTUSmall,
			[]string{"path MTU 1400"},
		},
		{
			"lost, and the ends differ", good + lost, 1, func(r *steps.Rig) { r.Nodes[0].Rails[0].Netdev.MTU = 9000 },
			steps.Fail, steps.MTUDiffers,
			[]string{"9000 on spark-02 but 1500 on spark-01"},
		},
		{
			"arrives, and the ends differ", good + good, 0, func(r *steps.Rig) { r.Nodes[1].Rails[0].Netdev.MTU = 9000 },
			steps.Warn, steps.MTUDiffers,
			nil,
		},
		{
			"two answer", strings.Replace(good, "received,", "received, +2 duplicates,", 1) + good, 0, nil,
			steps.Warn, steps.DuplicateAnswers,
			[]string{"2 duplicate answers"},
		},
		{"some are lost", run(4, 3, 0.6, "") + good, 0, nil, steps.Warn, steps.PacketsLost, []string{"25 %"}},
		{"slow", run(3, 3, 40, "") + good, 0, nil, steps.Warn, steps.LatencyHigh, []string{"40.0 ms"}},
		{
			"changed on the way", strings.Replace(good, "\n\n", "\n64 bytes from 192.168.100.10: icmp_seq=1 ttl=64 time=0.6 "+
				"ms\nwrong data byte #16 should be 0x10 but was 0x11\n\n", 1) + good, 0, nil, steps.Warn, steps.AnswerChanged,
			nil,
		},
		{
			"changed, and only summed up", strings.Replace(good, "received,", "received, +2 corrupted,", 1) + good, 0, nil,
			steps.Warn, steps.AnswerChanged,
			[]string{"+2 corrupted"},
		},
		{
			"another answers", strings.Replace(good, "\n\n",
				"\n64 bytes from 192.168.100.77: icmp_seq=1 ttl=64 time=0.6 ms (DIFFERENT ADDRESS!)\n\n", 1) + good, 0, nil,
			steps.Warn, steps.AnswerChanged,
			[]string{"192.168.100.77"},
		},
		{
			"a router answers", strings.Replace(good, "\n\n",
				"\nFrom 192.168.100.1 icmp_seq=1 Redirect Host(New nexthop: 192.168.100.10)\n\n", 1) + good, 0, nil,
			steps.Warn, steps.AnswerChanged,
			[]string{"192.168.100.1"},
		},
		{"the second as small", good + good, 0, nil, steps.Inconclusive, steps.SizeTooSmall, []string{"84 bytes", "1500"}},
		{
			"an answer from another address",
			strings.Replace(good, "\n\n", "\n64 bytes from 10.1.1.1: icmp_seq=1 ttl=64 time=0.6 ms\n\n", 1) + good, 0, nil,
			steps.Warn, steps.AnswerChanged,
			[]string{"10.1.1.1"},
		},
		{
			"an answer from a name at another address",
			strings.Replace(good, "\n\n", "\n64 bytes from x (10.1.1.1): icmp_seq=1 ttl=64 time=0.6 ms\n\n", 1) + good, 0, nil,
			steps.Warn, steps.AnswerChanged,
			[]string{"10.1.1.1"},
		},
		{"over a router", strings.Replace(good, "\n\n", "\n64 bytes from 192.168.100.10: icmp_seq=1 ttl=63 time=0.6 ms\n\n",
			1) + good, 0, nil, steps.Warn, steps.RouterBetween, nil},
		{
			"errors beside answers", run(4, 3, 0.6, "From 192.168.100.11 icmp_seq=2 Destination Host Unreachable") + good, 0,
			nil, steps.Warn, steps.PacketsLost, nil,
		},
		{
			"another address was asked", strings.ReplaceAll(good, "192.168.100.10", "192.168.100.99") + good, 0, nil,
			steps.Inconclusive, steps.OutputForeign,
			[]string{"192.168.100.99"},
		},
		{
			"a decimal comma", strings.ReplaceAll(good, "0.6", "0,6") + good, 0, nil,
			steps.Inconclusive, steps.OutputForeign, nil,
		},
		{
			"more received than sent", strings.Replace(good, "3 received", "5 received", 1) + good, 0, nil,
			steps.Inconclusive, steps.OutputForeign,
			nil,
		},
		{
			"one answer is late", strings.Replace(good, "= 0.6/0.6/0.6/", "= 0.6/0.9/900/", 1) + good, 0, nil,
			steps.Warn, steps.LatencyTail,
			[]string{"900"},
		},
		{
			"not a number", strings.Replace(good, "= 0.6/0.6/0.6/", "= nan/nan/nan/", 1) + good, 0, nil,
			steps.Inconclusive, steps.OutputForeign,
			nil,
		},
		{
			"negative", strings.Replace(good, "= 0.6/0.6/0.6/", "= -0.6/-0.6/-0.6/", 1) + good, 0, nil,
			steps.Inconclusive, steps.OutputForeign, nil,
		},
		{"three runs", good + good + good, 0, nil, steps.Inconclusive, steps.OutputIncomplete, nil},
		{"one of two", good, 0, nil, steps.Inconclusive, steps.OutputIncomplete, []string{"1 of 2"}},
		{"nothing", "", 0, nil, steps.Inconclusive, steps.OutputIncomplete, nil},
		{"a status that does not fit", good + good, 2, nil, steps.Inconclusive, steps.ScriptFailed, []string{"exit 2"}},
	} {
		rig := kindtest.Spark()
		rig.Pairs = rig.Pairs[:1]
		if c.change != nil {
			c.change(&rig)
		}
		text := c.text
		if first, second, ok := cutLast(text, "56(84)"); ok && c.name != "the second as small" {
			mtu := rig.Nodes[steps.Here].Rails[0].Netdev.MTU
			text = fmt.Sprintf("%s%d(%d)%s", first, mtu-icmpHeaders, mtu, second)
		}
		o := kindtest.Read(kindtest.Ran("", steps.Here, text), parse.Pings)
		o.Exit.Code = c.exit
		v := judgePing(steps.Cell{EachRail: true},
			steps.Result{Rig: rig, Stages: []steps.Stage{{Pair: 0, Outputs: []steps.Output{o}}}})
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.words...)
		trips := v.Measured(steps.RoundTrip)
		silent := slices.Contains([]string{
			"no answer", "a network that is away", "one of two", "nothing", "another address was asked", "a decimal comma",
			"more received than sent", "not a number", "negative", "three runs",
		}, c.name)
		if silent != (len(trips) == 0) {
			t.Errorf("%s: round trips %+v", c.name, trips)
		}
		if c.name == "answers" && (trips[0].Value != 600 || trips[0].Rails[0] != 1) {
			t.Errorf("600 us over rail 1 are %+v", trips[0])
		}
	}
}

// Rails are held against each other, also where each alone is fast enough; soft-RoCE's answer when a processor comes
// to it.
func TestPingsApart(t *testing.T) {
	for _, x := range []struct {
		adapter string
		second  string // ms
		want    steps.Grade
		words   []string
	}{
		{"ConnectX-7", "0.7", steps.Pass, []string{"both rails answer"}},
		{"ConnectX-7", "1.5", steps.Pass, nil},
		{"ConnectX-7", "6", steps.Warn, []string{"Rail 2", "fastest ping 6 ms, 0.6 on the fastest rail"}},
		{"soft-RoCE", "6", steps.Pass, nil},
	} {
		r := steps.Result{Rig: kindtest.Spark()}
		r.Rig.Pairs = r.Rig.Pairs[:2]
		for i, p := range r.Rig.Pairs {
			ms := []string{"0.6", x.second}[i]
			ping := strings.ReplaceAll("+ ping -c 3 x\nPING x (ADDR) 56(84) bytes of data.\n\n--- x ping statistics ---\n"+
				"3 packets transmitted, 3 received, 0% packet loss, time 2ms\n"+
				"rtt min/avg/max/mdev = "+ms+"/"+ms+"/"+ms+"/0.1 ms\n", "ADDR", r.Rig.Rail(p, steps.Peer).Addr)
			if x.adapter == "soft-RoCE" {
				r.Rig.Nodes[steps.Here].Rails[i].PCI, r.Rig.Nodes[steps.Here].Rails[i].HasOctets = steps.PCI{}, false
			}
			r.Stages = append(r.Stages, steps.Stage{
				Pair: i,
				Outputs: []steps.Output{kindtest.Read(kindtest.Ran("", steps.Here,
					ping+strings.Replace(ping, "56(84)", "1472(1500)", 1)), parse.Pings)},
			})
		}
		kindtest.Want(t, x.adapter+" "+x.second, judgePing(steps.Cell{EachRail: true}, r), x.want, x.words...)
	}
}

// gidTable is what the cell prints on a node: v1 and v2 of each address.
func gidTable(n steps.Node, index int) string {
	b := "DEV PORT INDEX GID IPv4 VER NETDEV\n"
	for _, r := range n.Rails {
		b += fmt.Sprintf("%s 1 0 fe80:0000:0000:0000:0000:0000:0000:0001  v1 %s\n", r.Dev, r.Netdev.Name)
		if r.Addr == "" {
			continue
		}
		for i, version := range []string{"v1", "v2"} {
			b += fmt.Sprintf("%s 1 %d 0000:0000:0000:0000:0000:ffff:c0a8:640b %s %s %s\n", r.Dev, index-1+i, r.Addr, version,
				r.Netdev.Name)
		}
	}
	return b
}

func TestGIDs(t *testing.T) {
	judge := func(rig steps.Rig, here, peer string) steps.Verdict {
		return judgeGIDs(steps.Cell{}, kindtest.Both(rig, parse.ShowGids, here, peer))
	}
	rig := kindtest.Spark()
	here, peer := gidTable(rig.Nodes[0], 3), gidTable(rig.Nodes[1], 3)
	kindtest.Want(t, "3 everywhere", judge(rig, here, peer), steps.Pass, "rail 1: 3, rail 2: 3", "the same on both nodes",
		"tutorial's index 3 is right")

	one := kindtest.Virtual()
	v := judge(one, gidTable(one.Nodes[0], 1), gidTable(one.Nodes[1], 1))
	kindtest.Want(t, "1 on soft-RoCE", v, steps.Pass, "rail 1: 1", "3 would be wrong 4",
		"empty")

	// InfiniBand's own GID is the first, is of no IPv4 address, and is "v1" to sysfs.
	ib := kindtest.Spark()
	for e := range ib.Nodes {
		for i := range ib.Nodes[e].Rails {
			ib.Nodes[e].Rails[i].Layer, ib.Nodes[e].Rails[i].GIDIndex, ib.Nodes[e].Rails[i].Addr = "InfiniBand", 0, ""
		}
	}
	own := func(n steps.Node) string {
		b := "DEV PORT INDEX GID IPv4 VER NETDEV\n"
		for _, r := range n.Rails {
			b += r.Dev + " 1 0 fe80:0000:0000:0000:08c0:eb03:00aa:0001 v1\n"
		}
		return b
	}
	kindtest.Want(t, "InfiniBand", judge(ib, own(ib.Nodes[0]), own(ib.Nodes[1])), steps.Pass, "InfiniBand GID index",
		"rail 1: 0", "would be wrong")
	kindtest.Want(t, "InfiniBand without an entry 0",
		judge(ib, own(ib.Nodes[0]), strings.ReplaceAll(own(ib.Nodes[1]), " 1 0 ", " 1 1 ")), steps.Fail,
		"on spark-01")
	mixed := kindtest.Spark()
	mixed.Nodes[0].Rails[0].Layer, mixed.Nodes[1].Rails[0].Layer = "InfiniBand", "InfiniBand"
	mixed.Nodes[0].Rails[0].GIDIndex, mixed.Nodes[1].Rails[0].GIDIndex = 0, 0
	with := func(n steps.Node) string {
		return gidTable(n, 3) + n.Rails[0].Dev + " 1 0 fe80:0000:0000:0000:08c0:eb03:00aa:0001 v1\n"
	}
	kindtest.Want(t, "both layers", judge(mixed, with(mixed.Nodes[0]), with(mixed.Nodes[1])), steps.Pass,
		"RoCE v2 or InfiniBand", "rail 1: 0, rail 2: 3")

	drift := rig
	drift.Nodes[1].Rails = append([]steps.Rail{}, rig.Nodes[1].Rails...)
	for i := range drift.Nodes[1].Rails {
		drift.Nodes[1].Rails[i].GIDIndex = 5
	}
	kindtest.Want(t, "drifted", judge(drift, here, gidTable(rig.Nodes[1], 5)), steps.Warn,
		"3 on spark-02 but 5 on spark-01")
	kindtest.Want(t, "changed since the probe", judge(rig, gidTable(rig.Nodes[0], 5), gidTable(rig.Nodes[1], 5)),
		steps.Warn, "3 at the last probe but is 5")
	kindtest.Want(t, "no v2", judge(rig, here, strings.ReplaceAll(peer, " v2 ", " v1 ")), steps.Fail,
		"spark-01: no RoCE v2 GID for 192.168.100.10")
	kindtest.Want(t, "another interface's", judge(rig, here, strings.ReplaceAll(peer, "enp1s0f0np0", "bond0")), steps.Fail,
		"bond0 instead of enp1s0f0np0")
	bonded := kindtest.TutorialSpark()
	bonded.Nodes[1].Rails[2].Netdev.Master = "bond0"
	kindtest.Want(t, "held by a bond",
		judge(bonded, gidTable(bonded.Nodes[0], 3),
			strings.ReplaceAll(gidTable(bonded.Nodes[1], 3), "enP2p1s0f0np0", "bond0")), steps.Fail,
		"GIDs of roceP2p1s0f0 on spark-01 belong to bond0")
	kindtest.Because(t, "no pair", judge(steps.Rig{Nodes: rig.Nodes}, here, peer), steps.Fail, steps.NoRail)
	kindtest.Because(t, "unreadable", judge(rig, here, "permission denied\n"), steps.Inconclusive, steps.OutputIncomplete)
}

// What is missing or slow is said where the rails are looked at, as it is next to a figure.
func TestDiscoveryOfWhatIsMissing(t *testing.T) {
	cells := map[string]func(steps.Rig) steps.Verdict{
		"interfaces": func(rig steps.Rig) steps.Verdict {
			return judgeInterfaces(steps.Cell{}, kindtest.Both(rig, parse.Links, ipText(rig.Nodes[0]), ipText(rig.Nodes[1])))
		},
		"gids": func(rig steps.Rig) steps.Verdict {
			return judgeGIDs(steps.Cell{}, kindtest.Both(rig, parse.ShowGids, gidTable(rig.Nodes[0], 3), gidTable(rig.Nodes[1],
				3)))
		},
		"rail-map": func(rig steps.Rig) steps.Verdict {
			return judgeRailMap(steps.Cell{}, kindtest.Both(rig, parse.Links, ipText(rig.Nodes[0]), ipText(rig.Nodes[1])))
		},
	}
	rate := func(gbps float64, rails ...int) func(*steps.Rig) {
		return func(r *steps.Rig) {
			for _, i := range rails {
				r.Nodes[steps.Here].Rails[i].RateGbps, r.Nodes[steps.Peer].Rails[i].RateGbps = gbps, gbps
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*steps.Rig)
		codes  map[string]steps.Code
	}{
		{"nothing", func(*steps.Rig) {}, map[string]steps.Code{"interfaces": "", "gids": "", "rail-map": ""}},
		{"one end has no address", func(r *steps.Rig) {
			r.Nodes[steps.Peer].Rails[1].Addr, r.Nodes[steps.Peer].Rails[1].Netdev.Addrs = "", nil
		}, map[string]steps.Code{
			"interfaces": steps.PortLeftOut, "gids": steps.PortLeftOut, "rail-map": steps.AddressMissing,
		}},
		{"both have one address", func(r *steps.Rig) {
			a, b := &r.Nodes[steps.Here].Rails[1], &r.Nodes[steps.Peer].Rails[1]
			b.Addr, b.Netdev.Addrs = a.Addr, a.Netdev.Addrs
		}, map[string]steps.Code{
			"interfaces": steps.PortLeftOut, "gids": steps.PortLeftOut, "rail-map": steps.DuplicateIP,
		}},
		{"a device is gone", func(r *steps.Rig) {
			r.Nodes[steps.Peer].Rails = r.Nodes[steps.Peer].Rails[:3]
		}, map[string]steps.Code{
			"interfaces": steps.PortLeftOut, "gids": steps.PortLeftOut, "rail-map": steps.SubnetsDiffer,
		}},
		{"slow links", rate(100, 1, 3), map[string]steps.Code{
			"interfaces": steps.LinkSlow, "gids": "", "rail-map": steps.LinkSlow,
		}},
		{"all links are slow", rate(25, 0, 1, 2, 3), map[string]steps.Code{
			"interfaces": steps.LinkSlow, "gids": "", "rail-map": steps.LinkSlow,
		}},
		{"one end is slower", func(r *steps.Rig) { r.Nodes[steps.Peer].Rails[0].RateGbps = 100 }, map[string]steps.Code{
			"interfaces": steps.LinkSlow, "gids": "", "rail-map": steps.LinkSlow,
		}},
	} {
		for id, want := range c.codes {
			rig := kindtest.Spark()
			c.change(&rig)
			rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
			grade := steps.Warn
			switch want { //nolint:exhaustive // all other codes are warnings
			case "":
				grade = steps.Pass
			case steps.DuplicateIP:
				grade = steps.Fail
			}
			kindtest.Because(t, c.name+": "+id, cells[id](rig), grade, want)
		}
	}
}
