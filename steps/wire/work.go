package wire

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/theory"
)

// Work is what the ports of a test carried, whether or not it came to an end: on the busier of its nodes, of each port
// the busier way. It asks no figure of the test's.
type Work struct {
	Bytes float64 // on the wire
	Gbps  float64 // over all of the time; 0 where nobody knows that
	// Share is Gbps as a part of what the fastest of these ports can carry; 0 where nobody knows that.
	Share float64
}

// WorkOf is what some ports carried.
func WorkOf(rig steps.Rig, bytes []steps.RailBytes, ports ...Port) (most Work) {
	for i := range rig.Nodes {
		e := steps.End(i)
		w := Work{}
		seconds, can := 0.0, 0.0
		for _, b := range bytes {
			if b.End != e || !b.Known || !slices.Contains(ports, Port{b.End, b.Rail}) {
				continue
			}
			w.Bytes += float64(max(b.Tx, b.Rx))
			seconds = max(seconds, b.Seconds)
			can = max(can, float64(theory.WireCeiling(rig.Nodes[i].Rails[b.Rail])))
		}
		if seconds > 0 {
			w.Gbps = w.Bytes * 8 / 1e9 / seconds
		}
		if can > 0 {
			w.Share = w.Gbps / can
		}
		if w.Bytes > most.Bytes {
			most = w
		}
	}
	return most
}

// Any reports whether it is more than ports carry by themselves.
func (w Work) Any() bool { return w.Bytes >= theory.BytesChatter.Value() }

func (w Work) String() string {
	if w.Gbps == 0 {
		return "its ports carried " + kind.Size(w.Bytes)
	}
	return fmt.Sprintf("its ports carried %s (%s on the wire, over all of it)", kind.Size(w.Bytes), kind.Gbps(w.Gbps))
}
