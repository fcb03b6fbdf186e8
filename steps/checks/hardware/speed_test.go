package hardware

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// ethtool is what the tool prints of a rail's interface, made of a real output.
func ethtool(t *testing.T, file, from, netdev string) string {
	t.Helper()
	return kindtest.Swap(t, kindtest.Corpus(t, "ethtool/"+file), "Settings for "+from+":", "Settings for "+netdev+":")
}

func TestLinkSpeed(t *testing.T) {
	rig := kindtest.Spark()
	all := func(file, from string) string {
		var b strings.Builder
		for _, rail := range rig.Nodes[0].Rails {
			b.WriteString(ethtool(t, file, from, rail.Netdev.Name))
		}
		return b.String()
	}
	full := all("200g", "eth3")
	// Each time the first rail is another.
	with := func(text string) string {
		return text + strings.Join(strings.SplitAfter(full, "Link detected: yes\n")[1:], "")
	}
	told := ethtool(t, "100g-of-200g", "swp1", "enp1s0f0np0")
	offered := kindtest.Swap(t, ethtool(t, "200g", "eth3", "enp1s0f0np0"), "Speed: 200000Mb/s", "Speed: 100000Mb/s")
	auto := kindtest.Swap(t, offered, "Auto-negotiation: off", "Auto-negotiation: on")
	plain := ethtool(t, "virtio", "enp1s0f0np0", "enp1s0f0np0")
	down := kindtest.Swap(t, offered, "Link detected: yes", "Link detected: no")
	for name, c := range map[string]struct {
		here, peer string
		grade      steps.Grade
		code       steps.Code
		words      []string
	}{
		"all as they can be": {
			full, full, steps.Pass, "",
			[]string{"all 8 links run at the full speed of their ports: 200 Gb/s"},
		},
		"told to offer less": {
			with(told), full, steps.Warn, steps.SpeedNotOffered,
			[]string{"enp1s0f0np0 on spark-02", "100 Gb/s", "200 Gb/s"},
		},
		"set by hand": {
			full, with(offered), steps.Warn, steps.AutonegOff,
			[]string{"spark-01", "100 Gb/s"},
		},
		"the cable or the end": {
			full, with(auto), steps.Warn, steps.LinkSlow,
			[]string{"on spark-01 came up at 100 Gb/s", "check cable"},
		},
		"both ends": {
			with(auto), with(auto), steps.Warn, steps.LinkSlow,
			[]string{"on spark-02 and spark-01 came up"},
		},
		"a driver without": {
			with(plain), full, steps.Pass, "",
			[]string{"all 7 links", "not checked: enp1s0f0np0 on spark-02"},
		},
		"no link is no news": {with(down), full, steps.Pass, "", []string{"all 7 links"}},
		"one is missing": {
			strings.Join(strings.SplitAfter(full, "Link detected: yes\n")[1:], ""), full,
			steps.Inconclusive, steps.Unreadable,
			[]string{"spark-02", "enp1s0f0np0"},
		},
		"nothing was printed": {full, "", steps.Inconclusive, steps.OutputIncomplete, nil},
		"a speed that is none": {
			with(kindtest.Swap(t, told, "Speed: 100000Mb/s", "Speed: 0x186a0Mb/s")), full, steps.Pass, "",
			[]string{"not checked: enp1s0f0np0"},
		},
	} {
		r := kindtest.Both(rig, parse.EthtoolLinks, c.here, c.peer)
		var rep registry.Report
		read, v, done := checks.ReadBoth[[]parse.EthtoolLink](steps.Cell{}, r, &rep)
		if !done {
			v = judgeLinkSpeed(r, read, &rep)
		}
		because(t, name, v, c.grade, c.code, c.words...)
	}
	soft := kindtest.Virtual()
	one := func(netdev string) string { return ethtool(t, "virtio", "enp1s0f0np0", netdev) }
	both := one("enp1s0f0np0") + one("enp1s0f1np1")
	r := kindtest.Both(soft, parse.EthtoolLinks, both, both)
	var rep registry.Report
	read, _, _ := checks.ReadBoth[[]parse.EthtoolLink](steps.Cell{}, r, &rep)
	kindtest.Because(t, "soft-RoCE", judgeLinkSpeed(r, read, &rep), steps.Skipped, steps.CannotRun)
}
