package hardware

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// cableText is what the check prints on a node whose interfaces all have one cable, made of
// real output.
func cableText(t *testing.T, edit func(netdev, text string) string) string {
	t.Helper()
	module := kindtest.Corpus(t, "ethtool-module/mcp1600")
	_, module, _ = strings.Cut(module, "\n")
	var b strings.Builder
	for _, r := range kindtest.Spark().Nodes[0].Rails {
		one := module + "FEC parameters for x:\nActive FEC encoding: RS\n" + ethtool(t, "200g", "eth3", r.Netdev.Name)
		// The cable of the corpus was made for 100G: here it reports no rate.
		one = strings.ReplaceAll(one, "Transceiver type ", "Transceiver kind ")
		b.WriteString("interface " + r.Netdev.Name + "\n" + edit(r.Netdev.Name, one))
	}
	return b.String()
}

func TestCable(t *testing.T) {
	on := func(netdev string, edit func(string) string) func(string, string) string {
		return func(name, text string) string {
			if name == netdev {
				return edit(text)
			}
			return text
		}
	}
	swap := func(old, by string) func(string) string {
		return func(text string) string { return kindtest.Swap(t, text, old, by) }
	}
	all := func(edit func(string) string) func(string, string) string {
		return func(_, text string) string { return edit(text) }
	}
	same := cableText(t, all(func(s string) string { return s }))
	slow := kindtest.Spark()
	for e := range slow.Nodes {
		for i := range slow.Nodes[e].Rails {
			slow.Nodes[e].Rails[i].RateGbps = 100
		}
	}
	rated := cableText(t, all(swap("Transceiver kind ", "Transceiver type ")))
	long := cableText(t, all(swap(": 1m", ": 5m")))
	active := cableText(t, all(func(s string) string {
		equalized := swap("0xa0 (Copper cable unequalized)", "0xf0 (Copper cable, linear active equalizers)")
		return equalized(swap(": 1m", ": 5m")(s))
	}))
	light := cableText(t, on("enp1s0f0np0", swap("0xa0 (Copper cable unequalized)", "0x00 (850 nm VCSEL)")))
	other := cableText(t, on("enp1s0f0np0", swap("MCP1600-E001", "MCP1650-V001")))
	fec := cableText(t, on("enp1s0f0np0", swap("encoding: RS", "encoding: None")))
	refused := "interface enp1s0f0np0\nnetlink error: Operation not permitted\n"
	judged(t, "cable", "cables", []checkCase{
		{
			"one cable a port",
			steps.Rig{},
			same, same, steps.Pass, "", "",
			[]string{"Rail 1: copper, 1 m, Mellanox MCP1600-E001, QSFP+, FEC RS and rail 2"},
		},
		{
			"made for 100G, at 100", slow, rated, rated, steps.Warn, steps.CableSlow, "",
			[]string{"enp1s0f0np0 on spark-02 and spark-01 and enp1s0f1np1 on spark-02 and spark-01", "100 Gb/s", "200"},
		},
		{"an old memory on a link of 200", steps.Rig{}, rated, rated, steps.Pass, "", "", nil},
		{"too long", steps.Rig{}, long, long, steps.Warn, steps.CableTooLong, "", []string{"3 m"}},
		{"as long, with electronics", steps.Rig{}, active, active, steps.Pass, "", "", []string{"copper, 5 m"}},
		{
			"copper and light",
			steps.Rig{},
			same, light, steps.Warn, steps.CableEndsDiffer, "",
			[]string{"rail 1 (rocep1s0f0): copper on spark-02 but optical on spark-01", "crossed"},
		},
		{
			"other parts",
			steps.Rig{},
			same, other, steps.Warn, steps.CableEndsDiffer, "",
			[]string{"MCP1600-E001", "MCP1650-V001", "part number or length differ"},
		},
		{
			"error correction at one end",
			steps.Rig{},
			fec, same, steps.Warn, steps.FECDiffers, "",
			[]string{"None on spark-02", "RS on spark-01"},
		},
		{
			"not root",
			steps.Rig{},
			refused, refused, steps.Skipped, steps.NeedsRoot, "",
			[]string{"Operation not permitted: only root may read it, with sudo ethtool -m"},
		},
		{
			"not root at one end",
			steps.Rig{},
			same, refused, steps.Skipped, steps.NeedsRoot, "",
			[]string{"only root may read it"},
		},
	})
	r := saying(kindtest.Spark(), "cables", same, strings.Replace(same, "interface enp1s0f0np0", "interface eth7", 1))
	because(t, "one is missing", registered().Judges["cable"](steps.Cell{}, r), steps.Skipped, steps.Unreadable,
		"could not read the cables of enp1s0f0np0 (no device). Read: rail 2: copper")
	bare := kindtest.Spark()
	bare.Pairs = nil
	kindtest.Because(t, "no pair", registered().Judges["cable"](steps.Cell{}, saying(bare, "cables", same, same)),
		steps.Inconclusive, steps.NoRail)
}
