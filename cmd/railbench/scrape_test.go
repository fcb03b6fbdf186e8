package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railbench/railbench/runner"
)

// A neverAnswers is a node that says nothing until who asks gives up.
type neverAnswers struct {
	runner.Node
	asked int
}

func (s *neverAnswers) Run(ctx context.Context, _ runner.Script, _ func(runner.Line)) (runner.Exit, error) {
	s.asked++
	<-ctx.Done()
	return runner.Exit{}, context.Cause(ctx)
}

// A node that doesn't answer costs who asks the limit once, and not each who asks: Prometheus gives up as soon.
func TestASilentNodeIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := &neverAnswers{}
		s := &scraper{nodes: []runner.Node{node}, age: readAtMostEvery}
		for range 2 {
			began := time.Now()
			if _, down := s.read(t.Context()); down[0] == "" {
				t.Error("a silent node is not told as down")
			}
			if took := time.Since(began); node.asked != 1 || took > readLimit {
				t.Errorf("it was asked %d times, and that took %s", node.asked, took)
			}
		}
		// Who leaves in the middle of it has no answer, and neither has who comes next.
		time.Sleep(readAtMostEvery)
		gone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		s.read(gone)
		if s.read(t.Context()); node.asked != 3 {
			t.Errorf("it was asked %d times", node.asked)
		}
	})
}
