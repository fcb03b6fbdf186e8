package gauges

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// A caller that draws a board elsewhere gets the same order, the same levels and the same words as the pane
// shows.
func TestLookIsThePane(t *testing.T) {
	k := theme.New(true, colorprofile.TrueColor)
	for _, nodes := range []int{3, 8, 40, 1024} {
		b := fleetOf(nodes, func(i int) float64 {
			if i == 2 {
				return 20
			}
			return 90
		})
		for i := range b.Gauges {
			switch b.Gauges[i].No {
			case 1:
				b.Gauges[i].Stale = "no sample for 3s"
			case nodes - 1:
				b.Gauges[i].Down = i == len(b.Gauges)-1
			}
		}
		o, ok := Look(b, 16)
		if !ok {
			t.Fatalf("%d nodes are few", nodes)
		}
		f := newFleet(k, b.Gauges, 200)
		var order []string
		for _, m := range f.slowestFirst() {
			order = append(order, m.name)
		}
		var rows []string
		for _, r := range o.Rows {
			rows = append(rows, r.Node)
		}
		want := nodes
		if nodes > 16 {
			want = 8
		}
		if len(rows) != want || !slices.Equal(rows, order[:want]) {
			t.Errorf("%d: rows of %q, and the pane begins with %q", nodes, rows, order[:min(len(order), want)])
		}
		if !strings.HasPrefix(o.Rows[0].Why, "stale: no sample") {
			t.Errorf("%d: the first is %+v", nodes, o.Rows[0])
		}
		if (len(o.Strip) == nodes) != (nodes > 16) {
			t.Errorf("%d: a strip of %d", nodes, len(o.Strip))
		}
		for _, words := range []string{f.apart().count(), strings.TrimSpace(f.apart().stale())} {
			if !strings.Contains(o.Told, words) || !strings.Contains(ansi.Strip(f.total()), words) {
				t.Errorf("%d: %q is missing in %q or in %q", nodes, words, o.Told, ansi.Strip(f.total()))
			}
		}
		if o.Strip == nil {
			continue
		}
		if s := o.Strip; s[1].Tx != Unheard || s[2].Tx >= s[0].Tx || s[2].Tx < 1 || s[0].Tx > Levels {
			t.Errorf("%d: levels %v", nodes, s[:3])
		}
	}
	if _, ok := Look(fleetOf(2, func(int) float64 { return 1 }), 16); ok {
		t.Error("two nodes are many")
	}
	if _, ok := Look(meter.Board{}, 16); ok {
		t.Error("no nodes are many")
	}
}
