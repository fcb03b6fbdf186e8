package verify

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/traffic"
)

// A shell, a library or an interpreter reports a program that was ended in these words. Other lines that have
// the words in their middle do not count.
func TestCrashed(t *testing.T) {
	for line, want := range map[string]bool{
		"Killed": true,
		"sh: 3: Segmentation fault (core dumped)":                                                         true,
		"bash: line 12:  4711 Bus error               ib_x":                                               true,
		"/tmp/x.sh: line 3: 12 Aborted":                                                                   true,
		"Illegal instruction (core dumped)":                                                               true,
		"Traceback (most recent call last):":                                                              true,
		"terminate called after throwing an instance of 'x'":                                              true,
		"double free or corruption (fasttop)":                                                             true,
		"free(): invalid pointer":                                                                         true,
		"*** stack smashing detected ***: terminated":                                                     true,
		"CPU time limit exceeded (core dumped)":                                                           true,
		"bash: line 3: 77 User defined signal 1   nixlbench":                                              true,
		"panic: runtime error: index out of range":                                                        true,
		"Fatal Python error: Segmentation fault":                                                          true,
		"ib_write_bw: src/x.c:12: main: Assertion `p' failed.":                                            true,
		"==77==ERROR: AddressSanitizer: heap-use-after-free":                                              true,
		"sh: 3: printf: write error: No space left on device":                                             true,
		"[1795221293.84] [spark-02:1904 :0] ib_mlx5_log.c:179  UCX  ERROR Transport retry count exceeded": true,
		"[spark-02:1858 :0:1858] Caught signal 11 (Segmentation fault: address not mapped)":               true,
		"[1795221293.84] [spark-02:1904 :0] parser.c:1 UCX  WARN unused environment variable":             false,
		"sh: 3: 77 Terminated  ./its-own-server":                                                          false,
		" 65536 20000 0.00 11027.00 0.176":                                                                false,
		"the server was Killed":                                                                           false,
		"Abort on error: no":                                                                              false,
		"malloc: 3 calls":                                                                                 false,
		"":                                                                                                false,
	} {
		if got := Crashed("good\n  " + line + "\n"); (got != "") != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// A link that came up with less than it could is reported in addition to any figure, once.
func TestLinks(t *testing.T) {
	ports := []traffic.Port{{Node: steps.Here}, {Node: steps.Peer}}
	for name, c := range map[string]struct {
		do   func(here, peer *steps.Rail)
		says string // empty for nothing
	}{
		"as it should be": {func(_, _ *steps.Rail) {}, ""},
		"a slot with two lanes": {
			func(_, p *steps.Rail) { p.PCI.Width = 2 },
			"rocep1s0f0 on spark-01 runs at PCIe Gen5 x2 instead of PCIe Gen5 x4",
		},
		"a slot of another gen":      {func(h, _ *steps.Rail) { h.PCI.GTps = 8 }, "spark-02 runs at PCIe Gen3 x4"},
		"a slot with room all alike": {func(h, _ *steps.Rail) { h.PCI.Width, h.PCI.MaxWidth = 8, 16 }, ""},
		"no slot is known":           {func(h, p *steps.Rail) { h.PCI, p.PCI = steps.PCI{}, steps.PCI{} }, ""},
		"a slower end": {
			func(_, p *steps.Rail) { p.RateGbps = 50 },
			"rocep1s0f0 runs at 200 Gb/s on spark-02 but 50 on spark-01",
		},
		"another MTU": {
			func(h, _ *steps.Rail) { h.MTU = 4096 },
			"rocep1s0f0 is 4096 on spark-02 but 1024 on spark-01",
		},
		"a port that is down": {func(_, p *steps.Rail) { p.State = "DOWN" }, "the nodes"},
	} {
		rig := kindtest.Spark()
		c.do(&rig.Nodes[steps.Here].Rails[0], &rig.Nodes[steps.Peer].Rails[0])
		var rep registry.Report
		Line{Rig: rig, Ports: ports, Rep: &rep, Add: rep.Add}.links(true)
		switch {
		case c.says == "" && len(rep.Findings) > 0:
			t.Errorf("%s: %v", name, rep.Findings)
		case c.says != "":
			kindtest.Want(t, name, rep.Verdict(), steps.Warn, c.says)
		}
		if n := len(rep.Findings); n > 1 {
			t.Errorf("%s: %d findings", name, n)
		}
	}
	// Other rails than the test's do not matter to it.
	rig := kindtest.Spark()
	rig.Nodes[steps.Peer].Rails[1].PCI.Width = 1
	var rep registry.Report
	Line{Rig: rig, Ports: ports, Rep: &rep, Add: rep.Add}.links(true)
	if len(rep.Findings) > 0 {
		t.Errorf("another rail's slot: %v", rep.Findings)
	}
}

// Of several nodes, those that differ from the others are reported, each once with all of its rails,
// whichever two are the link under test.
func TestApart(t *testing.T) {
	four := func() (rig steps.Rig, ports []traffic.Port) {
		rig = steps.NewRig("", false, 4)
		for i := range rig.Nodes {
			n := &rig.Nodes[i]
			n.Name = string(rune('a' + i))
			for j, net := range []string{"10.0.1.", "10.0.2."} {
				n.Rails = append(n.Rails, steps.Rail{
					Dev: "dev" + string(rune('0'+j)), State: "ACTIVE", RateGbps: 200, MTU: 4096, Addr: net + string(rune('1'+i)),
					Prefix: 24,
				})
				ports = append(ports, traffic.Port{Node: steps.End(i), Rail: j})
			}
		}
		return rig, ports
	}
	for name, c := range map[string]struct {
		do   func(nodes []steps.Node)
		says []string
	}{
		"alike": {func([]steps.Node) {}, nil},
		"a link": {
			func(n []steps.Node) { n[2].Rails[1].RateGbps = 100 },
			[]string{"dev1 is 100 Gb/s on c but 200 Gb/s"},
		},
		"an MTU": {
			func(n []steps.Node) { n[0].Rails[0].MTU, n[0].Rails[1].MTU = 1024, 1024 },
			[]string{"dev0 and dev1 is 1024 on a but 4096"},
		},
		"a larger": {
			func(n []steps.Node) { n[0].Rails[0].MTU, n[1].Rails[0].MTU, n[3].Rails[0].MTU = 1024, 1024, 1024 },
			[]string{"dev0 is 4096 on c but 1024"},
		},
		"half of them": {func(n []steps.Node) { n[0].Rails[0].MTU, n[3].Rails[0].MTU = 1024, 1024 }, []string{
			"dev0 is 1024 on a but 4096", "dev0 is 1024 on a but 4096",
		}},
		"unknown":     {func(n []steps.Node) { n[1].Rails[0].MTU, n[1].Rails[0].RateGbps = 0, 0 }, nil},
		"never meets": {func(n []steps.Node) { n[1].Rails[0].MTU, n[1].Rails[0].Addr = 1024, "10.9.9.9" }, nil},
	} {
		rig, ports := four()
		c.do(rig.Nodes)
		var rep registry.Report
		Line{Rig: rig, Ports: ports, Rep: &rep, Add: rep.Add}.links(true)
		if len(rep.Findings) != len(c.says) {
			t.Errorf("%s: %v", name, rep.Findings)
		}
		for _, words := range c.says {
			kindtest.Want(t, name, rep.Verdict(), steps.Warn, words)
		}
	}
}
