package theory

import (
	"math"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind/kindtest"
)

func TestBand(t *testing.T) {
	for _, c := range []struct {
		name            string
		mtu             int
		change          func(*steps.Rail)
		expected, limit float64
		none            bool
	}{
		{"one half at 1024", 1024, nil, 92.6, 105.81, false},
		{"one half at 4096", 4096, nil, 110.23, 110.23, false},
		{"a link of 100 Gb/s at 1024", 1024, func(r *steps.Rail) { r.RateGbps = 100 }, 92.59, 92.59, false},
		{"a link of 100 Gb/s at 4096", 4096, func(r *steps.Rail) { r.RateGbps = 100 }, 98.04, 98.04, false},
		{"x16 carries the whole link", 4096, func(r *steps.Rail) { r.PCI.Width, r.PCI.MaxWidth = 16, 16 }, 196.07, 196.07, false},
		{"a narrow link is no excuse", 1024, func(r *steps.Rail) { r.PCI.Width = 2 }, 92.6, 105.81, false},
		{"no slot", 1024, func(r *steps.Rail) { r.PCI = steps.PCI{} }, 0, 0, true},
		{"no rate", 1024, func(r *steps.Rail) { r.RateGbps = 0 }, 0, 0, true},
		{"no MTU", 0, nil, 0, 0, true},
	} {
		rig := kindtest.Spark()
		for e := range rig.Nodes {
			if c.change != nil {
				c.change(&rig.Nodes[e].Rails[0])
			}
		}
		b := BandOf(rig, rig.Pairs[0], c.mtu)
		if math.Abs(b.Expected-c.expected) > 0.05 || math.Abs(b.Limit-c.limit) > 0.05 || (b.None != "") != c.none {
			t.Errorf("%s: %+v, want %.2f and %.2f", c.name, b, c.expected, c.limit)
		}
	}
}

func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		pci  steps.PCI
		want float64
		slot string
	}{
		{steps.PCI{GTps: 32, Width: 4}, 111.8, "PCIe Gen5 x4"},
		{steps.PCI{GTps: 32, Width: 2}, 55.9, "PCIe Gen5 x2"},
		{steps.PCI{GTps: 8, Width: 16}, 111.8, "PCIe Gen3 x16"},
		{steps.PCI{GTps: 5, Width: 8}, 28.4, "PCIe Gen2 x8"},
		{steps.PCI{}, 0, ""},
	} {
		got, from := Ceiling(steps.Rail{PCI: c.pci})
		if math.Abs(got-c.want) > 0.05 || !strings.HasPrefix(from, c.slot) {
			t.Errorf("Ceiling(%+v) = %.2f, %q", c.pci, got, from)
		}
	}
}
