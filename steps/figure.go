package steps

import (
	"fmt"
	"slices"
	"strings"
)

// A Figure is one thing that a cell measured, with the conditions that it was measured
// under: what other cells read of it. Evidence is for people to read, and is named as they
// like it; a figure is for the program.
type Figure struct {
	What Measure `json:"what"`
	// Value is of payload where it is a throughput: headers count in the account of the
	// wire, never here, so that figures of different tools compare. 0 where Words is
	// what there is to say.
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	Words string  `json:"words,omitempty"`
	// Rails are the pairs that were used, by their numbers counted from 1; empty where
	// they are none of the rig's pairs, as under a bond.
	Rails []int `json:"rails,omitempty"`

	// P95 and P99 are the tail of a latency, in Unit; 0 where it was not measured.
	P95 float64 `json:"p95,omitempty"`
	P99 float64 `json:"p99,omitempty"`
	// Last is a throughput's value with the largest message, where Value is the best of
	// several sizes.
	Last float64 `json:"last,omitempty"`

	// MessageBytes is the size of one message: of the best one where there are several.
	MessageBytes int `json:"messageBytes,omitempty"`
	// MTU is RoCE's for RDMA and the interface's for all else, bytes; 0 where unknown.
	MTU    int    `json:"mtu,omitempty"`
	Memory string `json:"memory,omitempty"` // DRAM or VRAM
	// Staged says that a processor copied between GPU memory and the adapter.
	Staged  bool `json:"staged,omitempty"`
	Streams int  `json:"streams,omitempty"` // connections at once
}

// A Measure is what a figure is of.
type Measure string

// The measures.
const (
	Throughput Measure = "throughput"
	Latency    Measure = "latency"    // of one operation; the median where there are many
	RoundTrip  Measure = "round-trip" // of a packet and its answer, the average
	BondMode   Measure = "bond-mode"  // in words
)

// Measured are the figures of a verdict that are of one measure, by the number of their first rail.
func (v Verdict) Measured(what Measure) []Figure {
	var all []Figure
	for _, f := range v.Figures {
		if f.What == what && (f.Value > 0 || f.Words != "") {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Figure) int { return a.first() - b.first() })
	return all
}

func (f Figure) first() int {
	if len(f.Rails) == 0 {
		return 0
	}
	return f.Rails[0]
}

// Unlike says which conditions of two figures differ, each with both of its values; empty if they can be
// compared. A condition that is known for one of them only does not count, nor does the size of the best of
// several messages: that was found, not set.
func (f Figure) Unlike(g Figure) string {
	var all []string
	number := func(what string, a, b int) {
		if a != b && a > 0 && b > 0 {
			all = append(all, fmt.Sprintf(what, a, b))
		}
	}
	number("MTU %d and %d", f.MTU, g.MTU)
	if f.Last == 0 && g.Last == 0 {
		number("messages of %d and %d bytes", f.MessageBytes, g.MessageBytes)
	}
	if f.Memory != g.Memory && f.Memory != "" && g.Memory != "" {
		all = append(all, fmt.Sprintf("memory %s and %s", f.Memory, g.Memory))
	}
	number("%d and %d streams", f.Streams, g.Streams)
	return strings.Join(all, ", ")
}
