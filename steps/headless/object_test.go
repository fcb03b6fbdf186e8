package headless

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
)

// A rail's sum over the stages is left out where a stage doesn't know it.
func TestTotal(t *testing.T) {
	t.Parallel()
	rig := steps.Rig{Nodes: []steps.Node{{Name: "a"}, {No: 1, Name: "b"}}}
	got := Total(rig, []steps.RailBytes{
		{End: steps.Here, Dev: "x", Tx: 1, Rx: 2, Known: true},
		{End: steps.Peer, Dev: "x", Tx: 3, Rx: 4, Known: true},
		{End: steps.Here, Dev: "x", Tx: 10, Rx: 20, Known: true},
		{End: steps.Peer, Dev: "x"},
	})
	if d := cmp.Diff([]Bytes{{"a", "x", 11, 22}}, got); d != "" {
		t.Error(d)
	}
}
