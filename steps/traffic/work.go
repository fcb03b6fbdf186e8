package traffic

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// Work is what the ports of a test carried, whether or not it came to an end: on the node where that is less, because
// what one end sent may have arrived nowhere; of each port the busier way. It asks no figure of the test's.
type Work struct {
	Bytes float64 // on the wire
	Gbps  float64 // over all of the time; 0 where it is unknown that
	// Share is Gbps as a part of what the fastest of these ports can carry; 0 where it is unknown that.
	Share float64
}

// WorkOf is what some ports carried; nothing where a node's counters of all of them are missing.
func WorkOf(rig steps.Rig, bytes []steps.RailBytes, ports ...Port) (least Work) {
	looked := false
	for i := range rig.Nodes {
		own := portsAt(ports, steps.End(i))
		if len(own) == 0 {
			continue
		}
		var w Work
		seconds, can := 0.0, 0.0
		for _, b := range bytes {
			if !b.Known || !slices.Contains(own, Port{b.End, b.Rail}) {
				continue
			}
			w.Bytes += float64(max(b.Tx, b.Rx))
			seconds = max(seconds, b.Seconds)
			can = max(can, float64(limits.WireCeiling(rig.Nodes[i].Rails[b.Rail])))
		}
		if seconds > 0 {
			w.Gbps = w.Bytes * 8 / 1e9 / seconds
		}
		if can > 0 {
			w.Share = w.Gbps / can
		}
		if !looked || w.Bytes < least.Bytes {
			least, looked = w, true
		}
	}
	return least
}

// Any reports whether it is more than ports carry by themselves.
func (w Work) Any() bool { return w.Bytes >= limits.BytesChatter.Value() }

func (w Work) String() string {
	if w.Gbps == 0 {
		return "its ports carried " + registry.Size(w.Bytes)
	}
	return fmt.Sprintf("its ports carried %s (%s on average)", registry.Size(w.Bytes),
		registry.Gbps(w.Gbps))
}
