package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner/testform"
)

// What TestSimulation runs, in place of the seeds that everybody runs:
//
//	go test ./cmd/railbench -run 'Simulation$' -seed 4711 -v   that seed alone, with its steps
//	go test ./cmd/railbench -run 'Simulation$' -seeds 10000    so many seeds
//	go test ./cmd/railbench -run 'Simulation$' -for 1h -timeout 2h
var (
	oneSeed     = flag.Uint64("seed", 0, "TestSimulation runs this seed alone, and tells its steps")
	seedCount   = flag.Uint64("seeds", 0, "TestSimulation runs so many seeds")
	seedsFor    = flag.Duration("for", 0, "TestSimulation runs seeds for so long")
	seedScreens = flag.Bool("screens", false, "TestSimulation: the trace has every screen, not only its hash")
	seedsFrom   = flag.Uint64("from", 0, "TestSimulation: the first of -seeds or -for; by itself of the clock")
)

// TestSimulation drives the whole workbench on the simulated rig by seeds: each is a user, a
// rig that breaks and is repaired, and what must hold whatever they do (see simulated_test.go).
// What a seed does changes with the program, the rig and the tutorial: what seeds have found has
// tests of its own (simulation_found_test.go).
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *oneSeed != 0 {
		trace := simulate(t, *oneSeed)
		t.Logf("the steps of seed %d:\n%s", *oneSeed, trace)
		return
	}
	count, first, until := uint64(10), uint64(1), time.Now().Add(24*time.Hour)
	if testform.Full() {
		count = 200
	}
	if *seedCount > 0 || *seedsFor > 0 {
		// Others each time.
		if count, first = *seedCount, *seedsFrom; first == 0 {
			first = uint64(time.Now().UnixNano()) % 1_000_000_000
		}
	}
	if *seedsFor > 0 {
		count, until = max(count, 1<<40), time.Now().Add(*seedsFor)
	}
	began := time.Now()
	done := manySeeds(t, first, count, until)
	t.Logf("%d seeds from %d on: %.0f a minute", done, first, float64(done)/time.Since(began).Minutes())
}

// manySeeds runs seeds, as many at once as there are processors, and gives how many.
func manySeeds(t *testing.T, first, count uint64, until time.Time) uint64 {
	var next, done atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= count || time.Now().After(until) {
					return
				}
				// By name, so that a panic in another user's goroutine is under it.
				t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) { simulate(t, first+n) })
				done.Add(1)
			}
		})
	}
	all.Wait()
	return done.Load()
}

// TestSimulationRepeats runs seeds twice: the same steps at the same instants, the same
// events, and the same screens after each of them, byte for byte.
func TestSimulationRepeats(t *testing.T) {
	t.Parallel()
	count := uint64(2)
	if testform.Full() {
		count = 40
	}
	first, lines := max(*oneSeed, 1), 0
	for seed := first; seed < first+count; seed++ {
		a, b := anyOrder(simulate(t, seed)), anyOrder(simulate(t, seed))
		if a != b {
			t.Errorf("seed %d is not the same twice (-screens shows more): %s", seed,
				cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
		}
		lines += strings.Count(a, "\n")
	}
	if uint64(lines) < 10*count {
		t.Errorf("%d seeds do nearly nothing: %d lines", count, lines)
	}
}

// stepLine is a time, the screen's size and its sum, and then the events.
var stepLine = regexp.MustCompile(`^(\S+ +\d+x\d+ [0-9a-f]+ )(.*)$`)

// anyOrder sorts what happened in a step that interrupted checks. Several checks run in parallel and are all
// interrupted in one moment. Which of their goroutines notices it first does not depend on the rig's clock.
func anyOrder(seen string) string {
	lines := strings.Split(seen, "\n")
	for i, l := range lines {
		if m := stepLine.FindStringSubmatch(l); m != nil && strings.Contains(l, "was interrupted") {
			events := strings.Split(m[2], "; ")
			slices.Sort(events)
			lines[i] = m[1] + strings.Join(events, "; ")
		}
	}
	return strings.Join(lines, "\n")
}

// BenchmarkSimulation says how many seeds a minute this machine does.
func BenchmarkSimulation(b *testing.B) {
	var seed atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := seed.Add(1)
			// A bubble is a test's, not a benchmark's.
			ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil },
				[]testing.InternalTest{{Name: fmt.Sprint("seed ", n), F: func(t *testing.T) { simulate(t, n) }}})
			if !ok {
				b.Errorf("seed %d fails", n)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Minutes(), "seeds/min")
}

// simulate lives through one seed and gives the trace of it. A failure reports the seed, the steps up to it, and how
// to see it again.
func simulate(t *testing.T, seed uint64) (trace string) {
	t.Helper()
	dir := inMemory(t)
	defer os.RemoveAll(dir) // an hour has thousands
	if _, err := theTutorial(); err != nil {
		t.Fatal(err) // and not in a bubble: who waits for it would be in another
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(seed, dir)
		defer func() { trace = s.trace.String() }()
		s.live((*simulated).user)
		if len(s.found) > 0 {
			t.Errorf("seed %d: %s\n\nthe steps:\n%s\nagain: go test ./cmd/railbench -run 'Simulation$' -seed %d -v",
				seed, strings.Join(s.found, "\n"), s.trace.String(), seed)
		}
	})
	return trace
}

// inMemory is a folder whose files wait for no disk, where this machine has one: every save
// does, and would take longer than all else.
func inMemory(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // t.TempDir is where the disk is
	if dir, err := os.MkdirTemp("/dev/shm", "railbench-simulation-"); err == nil {
		return dir
	}
	return t.TempDir()
}
