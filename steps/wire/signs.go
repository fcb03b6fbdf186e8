package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/theory"
)

// LikelyCause looks for what ends a rail early, the surest sign first.
func LikelyCause(r steps.Result, s steps.Stage, m kind.Measurement, got float64, mtu int) string {
	for _, e := range steps.Ends {
		rail := r.Rig.Rail(m.Pair, e)
		if theory.Narrow(rail) {
			ceiling, _ := theory.Ceiling(rail)
			if got < 1.1*ceiling {
				return fmt.Sprintf("its PCIe link on %s came up as %s where it can do %s, and that ends at %.0f Gb/s", r.Rig.NameOf(e),
					theory.Slot(rail.PCI.GTps, rail.PCI.Width), theory.Slot(rail.PCI.MaxGTps, rail.PCI.MaxWidth), ceiling)
			}
		}
	}
	for _, b := range s.Bytes {
		if b.IdleGbps > 1 && b.Rail == m.Pair.Rails[b.End] {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on the rail at %s before it began", b.IdleGbps, r.Rig.NameOf(b.End))
		}
	}
	for _, b := range s.Bytes {
		own := r.Rig.Rail(m.Pair, b.End).PCI.Half()
		if other := r.Rig.At(b.End).Rails[b.Rail]; b.IdleGbps > 1 && own != "" && other.PCI.Half() == own {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on %s at %s before it began, behind the same PCIe link", b.IdleGbps, other.Dev, r.Rig.NameOf(b.End))
		}
	}
	for _, e := range steps.Ends {
		// NVIDIA/dgx-spark-playbooks PR 108: 8 to 25 Gb/s with healthy links.
		if rail := r.Rig.Rail(m.Pair, e); got >= 8 && got <= 25 && rail.RateGbps >= 100 {
			return "link and PCIe look right, and some 13 Gb/s is how an adapter looks that came up degraded: shut the node down and take its power away for a minute"
		}
	}
	if mtu < 1024 {
		return fmt.Sprintf("a RoCE MTU of %d wastes the link on headers", mtu)
	}
	if grown := GrownErrors(s, m); grown != "" {
		return "packets were sent again (" + grown + "): look at the cable and the link's errors"
	}
	return "no cause shows here; compare the other direction, look for PCIe errors (dmesg) and other traffic behind the same PCIe link"
}

// GrownErrors lists the error counters of the rail under test that grew.
func GrownErrors(s steps.Stage, m kind.Measurement) string {
	sum := map[string]uint64{}
	for _, b := range s.Bytes {
		if b.Rail == m.Pair.Rails[b.End] {
			for name, n := range b.Errors {
				sum[name] += n
			}
		}
	}
	var names []string
	for name, n := range sum {
		if n > 0 {
			names = append(names, fmt.Sprintf("%s +%d", name, n))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// FlapCounters grow when a link goes down. perftest ends with status 0 all the
// same where it comes back in time (a cable pulled and put back during the run).
var FlapCounters = []string{"link_downed", "carrier_changes", "carrier_down_count", "link_error_recovery"}

// Flaps lists those that grew on the rail under test.
func Flaps(s steps.Stage, m kind.Measurement) string {
	var grown []string
	for _, b := range s.Bytes {
		if b.Rail != m.Pair.Rails[b.End] {
			continue
		}
		for _, name := range FlapCounters {
			if b.Errors[name] > 0 && !slices.Contains(grown, name) {
				grown = append(grown, name)
			}
		}
	}
	return strings.Join(grown, ", ")
}
