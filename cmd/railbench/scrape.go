package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/metrics"
)

// A node's counters are read once in this long, however many ask; and a node that hasn't
// answered for so long is told as down.
const (
	readAtMostEvery = 5 * time.Second
	readLimit       = 10 * time.Second
)

// A scraper reads the counters of a rig's nodes for a monitoring system.
type scraper struct {
	nodes []runner.Node
	told  func() (steps.Notebook, meter.Board)
	state metrics.State // what of it stays
	age   time.Duration // of a reading that is new enough

	mu       sync.Mutex
	at       time.Time
	readings map[int]metrics.Reading
	down     map[int]string
}

func newScraper(b *bench, told func() (steps.Notebook, meter.Board)) *scraper {
	return &scraper{
		nodes: b.options.Nodes, told: told, age: readAtMostEvery,
		state: metrics.State{Railbench: version(), Simulated: b.options.Simulated},
	}
}

// read gives what was read of the nodes, by their numbers, and why of others nothing was.
func (s *scraper) read(ctx context.Context) (readings map[int]metrics.Reading, down map[int]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < s.age && s.readings != nil {
		return s.readings, s.down
	}
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	all, errs := make([]metrics.Reading, len(s.nodes)), make([]error, len(s.nodes))
	var work sync.WaitGroup
	for i, n := range s.nodes {
		work.Go(func() { all[i], errs[i] = readNode(limited, n) })
	}
	work.Wait()
	readings, down = map[int]metrics.Reading{}, map[int]string{}
	for i := range s.nodes {
		if errs[i] != nil {
			down[i] = errs[i].Error()
		} else {
			readings[i] = all[i]
		}
	}
	// Who asked has not left in the middle of it. A limit that was reached is an answer: without it one silent node
	// would cost everybody who asks another ten seconds, one after the other.
	if ctx.Err() == nil {
		s.readings, s.down, s.at = readings, down, time.Now()
	}
	return readings, down
}

func readNode(ctx context.Context, n runner.Node) (metrics.Reading, error) {
	script := runner.Script{Name: "metrics", Body: metrics.Script(), Vars: metrics.Vars(), Limit: readLimit, Patient: true}
	text, err := runner.Text(ctx, n, script)
	if err != nil {
		return metrics.Reading{}, err
	}
	return metrics.Parse(text)
}

// ServeHTTP is /metrics.
func (s *scraper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	state := s.state
	state.Readings, state.Down = s.read(r.Context())
	state.Book, state.Board = s.told()
	w.Header().Set("Content-Type", metrics.ContentType)
	_ = metrics.Write(w, state) // whoever asked is gone
}
