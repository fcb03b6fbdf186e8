package meter

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Dial is the rate that came last.
type Dial struct {
	mu       sync.Mutex
	gauge    Gauge
	at       time.Time
	packets  int
	rejected map[string]int
}

// NewDial shows rates as a gauge.
func NewDial(g Gauge) *Dial { return &Dial{gauge: g, rejected: map[string]int{}} }

// dialStale is how long nothing comes before a gauge says so: who reports a rate here reports it four times a second.
const dialStale = 3 * time.Second

// Report takes a rate, or why there is none.
func (d *Dial) Report(gbps float64, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if why == "" && math.IsInf(gbps, 0) { // finite in its unit, and no number of Gb/s: JSON has none for it
		why = "infinite"
	}
	if why != "" {
		d.rejected[why]++
		return
	}
	d.packets++
	d.at = time.Now()
	d.gauge.Tx.IP = gbps
	d.gauge.Tx.Peak = max(d.gauge.Tx.Peak, gbps)
}

// Board is the dial like a rail, which is stale when nothing comes.
func (d *Dial) Board(now time.Time) Board {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.gauge
	switch {
	case d.packets == 0:
		g.Stale = "nothing has come yet"
	case now.Sub(d.at) > dialStale:
		g.Stale = "nothing has come for " + now.Sub(d.at).Round(time.Second).String()
	}
	return Board{Gauges: []Gauge{g}}
}

// Sums counts what came, and what was rejected.
func (d *Dial) Sums() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []string{fmt.Sprintf("%d packets", d.packets)}
	for _, why := range slices.Sorted(maps.Keys(d.rejected)) {
		all = append(all, fmt.Sprintf("%d rejected: %s", d.rejected[why], why))
	}
	return strings.Join(all, ", ")
}
