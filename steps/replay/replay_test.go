package replay

import (
	"context"
	"math"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// A session that is played shows its cells as they ended, and its gauges as they were kept.
func TestReplay(t *testing.T) {
	t.Parallel()
	tut := kindtest.Tutorial(t)
	rig := steps.NewRig("lab", true, 2)
	for e := range rig.Nodes {
		rig.Nodes[e].No, rig.Nodes[e].Name = e, []string{"a", "b"}[e]
		rig.Nodes[e].Rails = []steps.Rail{{Dev: "mlx5_0", RateGbps: 200, MTU: 1024, Layer: "Ethernet"}}
	}
	book := steps.NewNotebook(tut).Apply(steps.RigProbed{Rig: rig})
	for _, e := range []steps.Event{
		steps.CellStarted{Run: 3, Cell: "load-rail"},
		steps.CellEnded{Run: 3, Cell: "load-rail", Verdict: steps.Verdict{Grade: steps.Pass, Reason: "As it was."}},
		steps.CellStarted{Run: 2, Cell: "hosts"},
		steps.CellEnded{Run: 2, Cell: "hosts", Verdict: steps.Verdict{Grade: steps.Warn, Reason: "Before it."}},
	} {
		book = book.Apply(e)
	}
	doc := &notebook.Document{Book: book}
	s := Script(doc)
	if len(s.Slides) != 2 || s.Slides[0].ID != "hosts" || s.Slides[1].ID != "load-rail" {
		t.Fatalf("%+v", s.Slides)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := New(ctx, doc)
	defer r.Wait()
	defer stop()
	played := steps.NewNotebook(tut)
	until := func(id string) {
		for !(played.Cells[id].Run > 0 && !played.Cells[id].Running) {
			events, ok := r.Next(ctx)
			if !ok {
				t.Fatal("it ended")
			}
			for _, e := range events {
				played = played.Apply(e)
			}
		}
	}
	r.Run("hosts", "load-rail")
	until("load-rail")
	if v := played.Cells["load-rail"].Verdict; v.Grade != steps.Pass || v.Reason != "As it was." ||
		played.Rig.Name != "lab" {
		t.Errorf("%+v", v)
	}
	// The gauges: what is kept is both kinds together, and the run's bytes distinguish them.
	samples := &notebook.Samples{StepMS: 1, Rails: []notebook.RailSamples{
		{Node: "a", Dev: "mlx5_0", Tx: notebook.Rates{40, math.NaN(), 100}},
	}}
	r.move(ctx, samples, []steps.RailBytes{{End: steps.Here, Dev: "mlx5_0", Tx: 25, IPTx: 75}})
	b := <-r.Boards()
	f := b.Gauges[0].Tx
	if f.Total() != 0 || f.Peak != 100 || len(f.History) < 4 || f.History[0] != 40 || f.RDMAHistory[0] != 10 ||
		f.History[1] != 0 {
		t.Errorf("%+v", f)
	}
	if p, ok := b.Gauges[0].Payload(97.84, 0); !ok || math.Abs(float64(p)-92.6) > 0.1 {
		t.Errorf("payload %v", p)
	}
}
