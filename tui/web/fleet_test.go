package web

import (
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps/meter"
)

// nodesOf is so many nodes with four rails each, at a rate.
func nodesOf(nodes int, rate float64) (b meter.Board) {
	for i := range nodes {
		for k := range 4 {
			b.Gauges = append(b.Gauges, meter.Gauge{
				Node: fmt.Sprintf("spark-%04d", i), No: i, Dev: fmt.Sprintf("mlx5_%d", k), LinkGbps: 200,
				Tx: meter.Flow{RDMA: rate + float64(i%7)}, Rx: meter.Flow{IP: rate},
			})
		}
		b.Hosts = append(b.Hosts, meter.Host{Node: fmt.Sprintf("spark-%04d", i), No: i, Cores: 20, Busy: rate, Known: true})
	}
	return b
}

// Of many nodes viewers get a strip and a few rows in place of every rail. So a viewer that stays, or joins
// after two minutes, gets no more than a screen has. On a rig of few nodes viewers get the rails again.
func TestManyNodesAreBounded(t *testing.T) {
	t.Parallel()
	p := newPage(Options{})
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	p.look()
	early := join(t, server, "")
	defer early.stop()
	early.until(p.lastID())
	for i := range 20 {
		p.Board(nodesOf(1024, float64(i)))
		p.look()
		p.point()
	}
	early.until(p.lastID())
	late := join(t, server, "")
	defer late.stop()
	late.until(p.lastID())
	if !reflect.DeepEqual(early.Fleet, late.Fleet) || !reflect.DeepEqual(early.Places, late.Places) {
		t.Errorf("early %v\nlate %v", early.Fleet, late.Fleet)
	}
	fleet := late.Fleet.(map[string]any)
	if len(fleet["sent"].(string)) != 1024 || len(fleet["received"].(string)) != 1024 || len(late.Places) != 1024 ||
		len(fleet["rows"].([]any)) != mostTold/2 || len(late.Dials) != 0 || len(late.History) != 0 {
		t.Errorf("%d places, %d dials, %d points, %v", len(late.Places), len(late.Dials), len(late.History), fleet)
	}
	if n := len(p.snapshot().text); n > 64<<10 {
		t.Errorf("a snapshot has %d bytes", n)
	}
	if hosts := late.Hosts.([]any); len(hosts) != mostTold/2 {
		t.Errorf("%d hosts", len(hosts))
	}

	p.Board(nodesOf(mostTold, 5))
	p.look()
	early.until(p.lastID())
	fleet = early.Fleet.(map[string]any)
	if len(early.Dials) != 4*mostTold || len(early.Places) != 0 || fleet["sent"] != "" ||
		len(fleet["rows"].([]any)) != mostTold {
		t.Errorf("%d dials, %d places, %v", len(early.Dials), len(early.Places), fleet)
	}
	row := fmt.Sprint(fleet["rows"].([]any)[0])
	if !strings.Contains(row, "spark-0000") || !strings.Contains(row, "mlx5_3") {
		t.Errorf("the first row is %s", row)
	}
	p.Board(nodesOf(2, 5))
	p.look()
	early.until(p.lastID())
	if rows := early.Fleet.(map[string]any)["rows"].([]any); len(rows) != 0 || len(early.Dials) != 8 {
		t.Errorf("%d rows, %d dials", len(rows), len(early.Dials))
	}
}
