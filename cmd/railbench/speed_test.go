package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner/testform"
)

func transcript(t *testing.T, at speed) string {
	t.Helper()
	tp, err := everything(at)
	if err != nil {
		t.Fatal(err)
	}
	return unnamed(tp.transcript)
}

// unnamed is a transcript without the names of runs: a launcher's programs report theirs.
func unnamed(text string) string { return noise.ReplaceAllString(text, "~") }

// TestSpeedChangesNothing runs the tutorial and the checklist at several speeds, one of them on a machine
// that is busy with something else, and compares every byte.
func TestSpeedChangesNothing(t *testing.T) {
	testform.NeedsFull(t, "runs the tutorial many times")
	t.Parallel()
	want := unnamed(recordedWhole(t).transcript)
	if !strings.Contains(want, "▸ summary") || strings.Count(want, " PASS ") < 30 ||
		!strings.Contains(want, "2026-03-01T12:0") {
		t.Fatalf("that is not the tutorial on a rig without a fault:\n%s", want)
	}
	speeds := []speed{1000}
	if testform.Full() {
		speeds = append(speeds, 300, 30)
	}
	for _, at := range speeds {
		if got := transcript(t, at); got != want {
			t.Errorf("at the speed %s it is not as it is at max: %s", at.String(), byLine(want, got))
		}
	}
	if !testform.Full() {
		return
	}
	busy, rest := context.WithTimeout(t.Context(), time.Minute)
	over := hog(busy, 4)
	got := transcript(t, 1000)
	rest()
	over()
	if got != want {
		t.Errorf("on a busy machine it is not as it is: %s", byLine(want, got))
	}
}

func byLine(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

// hog keeps the processors busy until ctx ends; over waits for the end of that.
func hog(ctx context.Context, n int) (over func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for x := 1; ctx.Err() == nil; x++ {
				for range 1 << 16 {
					x *= 3
				}
			}
		})
	}
	return all.Wait
}
