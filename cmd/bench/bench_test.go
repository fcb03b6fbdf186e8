package main

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// What ./... leaves out has to build all the same.
func TestProgramsBuild(t *testing.T) {
	testform.NeedsFull(t, "compiles programs")
	t.Parallel()
	for _, pkg := range []string{"./testdata/empty", "./testdata/load"} {
		if out, err := exec.Command("go", "vet", pkg).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", pkg, err, out)
		}
	}
}

func TestVerdict(t *testing.T) {
	for want, f := range map[string]figure{
		"reached":    below("x", 1.5, 1.5, " x"),
		"**missed**": below("x", 1.51, 1.5, " x"),
		"":           plain("x", "not measured"),
	} {
		if got := f.verdict(); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	enough, little := figure{value: 0.99, limit: 0.98, least: true}, figure{value: 0.97, limit: 0.98, least: true}
	for _, f := range []figure{below("x", math.NaN(), 1, ""), above("x", math.NaN(), 1, "")} {
		if f.verdict() != "**missed**" {
			t.Errorf("%+v: no number is %q", f, f.verdict())
		}
	}
	if enough.verdict() != "reached" || little.verdict() != "**missed**" {
		t.Errorf("%q, %q", enough.verdict(), little.verdict())
	}
}

func TestGrowth(t *testing.T) {
	at := []float64{1, 10, 100}
	for name, c := range map[string]struct {
		cost []float64
		want string
	}{
		"constant":  {[]float64{5, 5, 5}, "reached"},
		"linear":    {[]float64{2, 20, 200}, "reached"},
		"quadratic": {[]float64{1, 100, 10000}, "**missed**"},
	} {
		f := chart{title: "x", of: "cells", unit: "ms", at: at, cost: c.cost}.figure()
		if f.verdict() != c.want {
			t.Errorf("%s: %s", name, f)
		}
	}
}

// The file says what it aimed at, what it got, and what was missed or not measured.
func TestMarkdown(t *testing.T) {
	c := chart{title: "By its cells", of: "cells", unit: "ms", at: []float64{1, 10}, cost: []float64{1, 40}}
	r := report{
		machine: machine{cpu: "a processor", kernel: "Linux 6", cores: 2, loadBefore: "0.1", loadAfter: "3"},
		figures: []figure{
			below("idle", 0.7, 0.5, " %"), below("lines", 0.7, 1, " s"),
			plain("disturbance", "not measured: no rig"), c.figure(),
		},
		charts: []chart{c},
	}
	text := r.markdown()
	for _, want := range []string{
		"a processor, 2 cores, Linux 6", "| idle | at most 0.50 % | 0.70 % | **missed** |",
		"| lines | at most 1 s | 0.70 s | reached |",
		"| disturbance |  | not measured: no rig |  |", "2 aims are missed.", "By its cells:",
		strings.Repeat("█", chartWidth) + " 40 ms",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{
		"1234": 1234.4, "3": 3, "12.3": 12.34, "1.23": 1.234, "0.012": 0.0123,
		"0": 0,
	} {
		if got := number(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}
