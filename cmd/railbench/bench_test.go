package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
)

// What the built program takes in a terminal, next to the least Bubble Tea program where there is one to compare with.
// .ci/measure runs these, and says what its figures mean.

// TestProgramsBuild: "./..." leaves testdata out, and the benchmarks' programs have to build all the same.
func TestProgramsBuild(t *testing.T) {
	testform.NeedsFull(t, "compiles programs")
	t.Parallel()
	for _, pkg := range []string{"./testdata/empty", "./testdata/flood"} {
		if out, err := exec.Command("go", "vet", pkg).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", pkg, err, out)
		}
	}
}

// firstFrame is the text of railbench's first picture: the name as it is drawn, with an escape sequence behind.
const firstFrame = "railbench\x1b"

// painted is the time to the first picture that holds a text, in milliseconds.
func painted(b *testing.B, text, bin string, args ...string) float64 {
	s, err := openTerminal(b.TempDir(), nil, bin, args...)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Kill()
	at, err := s.Wait(text)
	if err != nil {
		b.Fatal(err)
	}
	return at.Sub(s.began).Seconds() * 1e3
}

// middle is the median. v is not empty.
func middle(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// BenchmarkFirstFrame starts the workbench and an empty Bubble Tea program in turn and compares the medians.
func BenchmarkFirstFrame(b *testing.B) {
	empty, bin := build(b, "./testdata/empty"), shipped(b)
	var ours, theirs []float64
	for range 2 { // from the disk
		painted(b, "first frame", empty)
		painted(b, firstFrame, bin, "--rig", "sim")
	}
	for b.Loop() {
		theirs = append(theirs, painted(b, "first frame", empty))
		ours = append(ours, painted(b, firstFrame, bin, "--rig", "sim"))
	}
	b.ReportMetric(middle(ours)/middle(theirs), "x-empty")
	b.ReportMetric(middle(ours), "ms/frame")
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
}

// BenchmarkFirstFrameOfCells opens runbooks of more and more cells, each with some prose.
func BenchmarkFirstFrameOfCells(b *testing.B) {
	for _, cells := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(cells), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("# Many cells {#many}\n\nProse.\n")
			for i := range cells {
				fmt.Fprintf(&text, "\n## Cell %d {#cell-%d}\n\nWhat it *looks* at, and `why`.\n\n", i, i)
				fmt.Fprintf(&text, "```sh cell=cell-%d on=here\necho %d\n```\n", i, i)
			}
			path := filepath.Join(b.TempDir(), "cells.md")
			if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
				b.Fatal(err)
			}
			var took []float64
			for b.Loop() {
				took = append(took, painted(b, firstFrame, shipped(b), "--rig", "sim", path))
			}
			b.ReportMetric(middle(took), "ms/frame")
			b.ReportMetric(0, "ns/op") // with the end of the program, too
		})
	}
}

// BenchmarkIdle measures some seconds of the workbench on a simulated rig where nothing happens, and of an empty Bubble
// Tea program, whose renderer looks for something to draw sixty times a second.
func BenchmarkIdle(b *testing.B) {
	percent := func(text, bin string, args ...string) (core, memory float64) {
		s := start(b, bin, args...)
		defer s.Kill()
		s.wait(text)
		time.Sleep(4 * time.Second) // until the samplers of a rig where nothing moves have gone slow
		const span = 5 * time.Second
		before, _, err := s.Used()
		if err != nil {
			b.Skip(err)
		}
		time.Sleep(span)
		after, memory, err := s.Used()
		if err != nil {
			b.Fatal(err)
		}
		return (after - before).Seconds() / span.Seconds() * 100, memory
	}
	empty, bin := build(b, "./testdata/empty"), shipped(b)
	for b.Loop() {
		theirs, _ := percent("first frame", empty)
		ours, memory := percent("ports idle", bin, "--rig", "sim")
		b.ReportMetric(ours/theirs, "x-empty")
		b.ReportMetric(ours, "%core")
		b.ReportMetric(memory, "MiB")
	}
	b.ReportMetric(0, "ns/op") // it is how long was looked
}

// floodOver is the last line of a flood.
const floodOver = "flood is over"

// BenchmarkFlood runs a cell that prints a million lines and types meanwhile. Every line has to be in the log.
func BenchmarkFlood(b *testing.B) {
	const lines = 1_000_000
	bin := build(b, "./testdata/flood")
	var keys, seconds, peaks []float64
	for b.Loop() {
		logs := b.TempDir()
		s, err := openTerminal(b.TempDir(), []string{"LOGS=" + logs, fmt.Sprintf("LINES=%d", lines)}, bin)
		if err != nil {
			b.Fatal(err)
		}
		cpu, peak, took := flooded(b, terminalScreen{s, b})
		s.Kill()
		seconds, peaks, keys = append(seconds, cpu), append(peaks, peak), append(keys, took...)
		files, err := filepath.Glob(filepath.Join(logs, "*.log"))
		if err != nil || len(files) != 1 {
			b.Fatalf("logs of the flood: %q, %v", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			b.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n != lines {
			b.Fatalf("the log has %d of %d lines", n, lines)
		}
	}
	b.ReportMetric(middle(peaks), "MiB")
	b.ReportMetric(middle(seconds), "CPU-s")
	if len(keys) > 0 {
		slices.Sort(keys)
		b.ReportMetric(keys[len(keys)*95/100], "ms/key-p95")
	}
}

// flooded is what one flood uses, and the milliseconds that each key took: one is pressed and its answer awaited, over
// and over, while lines come in.
func flooded(b *testing.B, s terminalScreen) (cpuS, peakMB float64, keys []float64) {
	s.wait("Flood")
	before, _, err := s.Used()
	if err != nil {
		b.Skip(err)
	}
	s.send("\r\r") // the part's introduction, then the cell
	s.wait("running", floodOver)
	for !strings.Contains(s.Text(), floodOver) {
		for _, shows := range []string{"Jupyter", "seq -f"} { // the help covers the script
			at := time.Now()
			s.send("?")
			answered, err := s.Wait(shows)
			if err != nil {
				b.Fatal(err)
			}
			keys = append(keys, answered.Sub(at).Seconds()*1e3)
			time.Sleep(50 * time.Millisecond)
		}
	}
	after, peak, err := s.Used()
	if err != nil {
		b.Fatal(err)
	}
	return (after - before).Seconds(), peak, keys
}

// BenchmarkStart counts what is allocated before main, which is the same on every machine.
func BenchmarkStart(b *testing.B) {
	bin := shipped(b)
	own, all := 0, 0
	for b.Loop() {
		own, all = 0, 0
		for _, p := range initAllocations(b, bin) {
			all += p.allocs
			if p.own() {
				own += p.allocs
			}
		}
	}
	b.ReportMetric(float64(own), "own-allocs")
	b.ReportMetric(float64(all), "all-allocs")
}

// BenchmarkSimulated runs the whole tutorial and the checklist on the simulated rig, as fast as its time goes.
func BenchmarkSimulated(b *testing.B) {
	for name, args := range map[string][]string{
		"tutorial":  {"run", "--all", "--yes"},
		"checklist": {"doctor"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				home := b.TempDir()
				cmd := exec.Command(shipped(b), append(args, "--rig", "sim", "--speed", "max")...)
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				// 1 and 4 are verdicts.
				if err != nil && !(errors.As(err, &exit) && slices.Contains([]int{1, 4}, exit.ExitCode())) {
					b.Fatalf("%v: %s", err, out[max(0, len(out)-2000):])
				}
			}
		})
	}
}
