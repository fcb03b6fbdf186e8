package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps/session"
)

// serviceSays is what an etcd of this machine, which isn't simulated, says of itself: it
// knows its cluster's and its storage's version some moments after its start.
var serviceSays = regexp.MustCompile(`"etcdcluster":"[^"]*","storage":"[^"]*"`)

// transcript runs the whole tutorial on the simulated rig and gives all that was printed
// and judged, with the times of it. Where the logs are is all that is left out.
func transcript(t *testing.T, at speed) string {
	t.Helper()
	b, err := rigFlags{
		rig: "sim", speed: at, seed: 7, start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Confirm = always{}
	b.options.Logs = t.TempDir()
	s := session.New(b.options)
	b.onState = s.State
	var said, object bytes.Buffer
	cells := b.options.Tutorial.Cells()
	headless := newHeadless(s, &said, true)
	s.Open()
	headless.run(t.Context(), cells)
	rig, _ := s.Rig()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range cells {
		ended := headless.Ended[c.ID]
		log, err := os.ReadFile(ended.Log)
		if err != nil && ended.Log != "" {
			t.Error(err)
		}
		fmt.Fprintf(&said, "%s ended at %s after %s\n%s", c.ID, ended.At.UTC().Format(time.RFC3339Nano), ended.Elapsed, log)
		ended.Log = ""
		headless.Ended[c.ID] = ended
	}
	if err := writeJSON(&object, newObject(rig, cells, headless.Ended)); err != nil {
		t.Fatal(err)
	}
	return serviceSays.ReplaceAllString(said.String()+object.String(), "...")
}

// TestSpeedChangesNothing runs the tutorial at several speeds, one of them on a machine
// that is busy with something else, and compares every byte.
func TestSpeedChangesNothing(t *testing.T) {
	t.Parallel()
	want := transcript(t, speed(sim.Max))
	if !strings.Contains(want, "▸ summary") || strings.Count(want, " PASS ") < 30 || !strings.Contains(want, "2026-03-01T12:0") {
		t.Fatalf("that is not the tutorial on a rig without a fault:\n%s", want)
	}
	speeds := []speed{1000}
	if nodetest.Whole() {
		speeds = append(speeds, 300, 30)
	}
	for _, at := range speeds {
		if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(transcript(t, at), "\n")); d != "" {
			t.Errorf("at the speed %s it is not as it is at max: %s", at.String(), d)
		}
	}
	if !nodetest.Whole() {
		return
	}
	busy, rest := context.WithTimeout(t.Context(), time.Minute)
	over := hog(busy, 20)
	got := transcript(t, 1000)
	rest()
	over()
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("on a busy machine it is not as it is: %s", d)
	}
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
