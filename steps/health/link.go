package health

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Link is an RDMA device's PCIe link.
type Link struct {
	Dev, Half          string  // the RDMA device, and its slot without the function
	GTps, Most, Slot   float64 // GT/s: as it came up, what the device can do, and what the slot can
	Width, Lanes, Wire int     // lanes, in the same order; 0 where the slot doesn't report
}

var linkForm = lazyregexp.New(`^([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})\.\d ([\d.]+) x(\d+) of ([\d.]+) x(\d+)(?:, slot ([\d.]+) x(\d+))?$`)

// ReadLink reads "0000:01:00.0 32.0 x4 of 32.0 x4, slot 32.0 x4".
func ReadLink(dev, text string) (l Link, ok bool) {
	m := linkForm.Regexp().FindStringSubmatch(text)
	if m == nil {
		return l, false
	}
	// The pattern lets only numbers through; a slot that isn't reported is 0.
	float := func(s string) float64 { v, _ := strictnum.Number(s); return v }
	whole := func(s string) int { v, _ := strictnum.Count(s); return v }
	l = Link{
		Dev: dev, Half: m[1], GTps: float(m[2]), Width: whole(m[3]), Most: float(m[4]), Lanes: whole(m[5]),
		Slot: float(m[6]), Wire: whole(m[7]),
	}
	return l, l.GTps > 0 && l.Width > 0 && l.Most > 0 && l.Lanes > 0
}

// Carries is what it lets through, Carried what the device could have, and Wired what its slot
// lets through; in Gb/s, 0 where unknown.
func (l Link) Carries() float64 { return gbps(l.GTps, l.Width) }

// Could is what a link that came up as the device can have it would let through.
func (l Link) Could() float64 { return gbps(l.Most, l.Lanes) }

// Wired is what the slot's own link lets through.
func (l Link) Wired() float64 { return gbps(l.Slot, l.Wire) }

// Narrow reports whether it came up with less than the device can do.
func (l Link) Narrow() bool { return l.Carries() < 0.99*l.Could() }

// Name is the link as it came up, "PCIe Gen5 x2", and Best what the device can have.
func (l Link) Name() string { return limits.Slot(l.GTps, l.Width) }

// Best is the link that the device can have.
func (l Link) Best() string { return limits.Slot(l.Most, l.Lanes) }

func gbps(gtps float64, width int) float64 {
	c, _ := limits.Ceiling(steps.Rail{PCI: steps.PCI{GTps: gtps, Width: width}})
	return float64(c)
}

// halves are the links that devices share, in the order of their slots.
func halves(links []Link) (all [][]Link) {
	for _, l := range links {
		i := slices.IndexFunc(all, func(of []Link) bool { return of[0].Half == l.Half })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], l)
	}
	slices.SortFunc(all, func(a, b []Link) int { return strings.Compare(a[0].Half, b[0].Half) })
	return all
}

func devs(links []Link) string {
	var names []string
	for _, l := range links {
		names = append(names, l.Dev)
	}
	return strings.Join(names, ", ")
}
