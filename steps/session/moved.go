package session

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// shownShare is the share of the busiest rail's bytes from which another one is named, too.
const shownShare = 0.05

// moved says what an interrupted run had moved until then, by the counters; the tools do not say it. It is
// empty if the counters are unknown.
func moved(r steps.Result) string {
	var all []steps.RailBytes
	for _, s := range r.Stages {
		all = append(all, s.Bytes...)
	}
	most := uint64(0)
	for _, b := range all {
		most = max(most, sent(b))
	}
	var texts []string
	for _, b := range all {
		if n := sent(b); n > 0 && float64(n) >= shownShare*float64(most) && b.Seconds > 0 {
			texts = append(texts, fmt.Sprintf("%s sent %s in %.1f s (%s)",
				b.Dev+" of "+r.Rig.NameOf(b.End), registry.Size(float64(n)), b.Seconds, registry.Gbps(float64(n)*8/b.Seconds/1e9)))
		}
	}
	// A short run moves a few other bytes, which mean nothing.
	if most < 1e6 || texts == nil {
		return ""
	}
	return " Until then " + strings.Join(texts, ", and ") + "."
}

// sent are the bytes that a rail sent, RDMA's and those of its interface.
func sent(b steps.RailBytes) uint64 {
	switch {
	case b.Known && b.IPKnown && b.Source == "port_xmit_data":
		return b.Tx + b.IPTx
	case b.Known:
		return b.Tx
	}
	return 0
}
