package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A figure is what was measured, beside its aim. limit is 0 where there is no aim, or
// nothing was measured.
// A figure without an aim is for the reader's own judgement.
type figure struct {
	what, aim, got string
	// As numbers, in the unit that got and aim are written in.
	value, limit float64
	least        bool // the aim is a lower bound
}

// below makes a figure whose aim is an upper bound.
func below(what string, value, limit float64, unit string) figure {
	return figure{
		what: what, aim: "at most " + number(limit) + unit, got: number(value) + unit, value: value, limit: limit,
	}
}

// above makes a figure whose aim is a lower bound.
func above(what string, value, limit float64, unit string) figure {
	f := below(what, value, limit, unit)
	f.aim, f.least = "at least "+number(limit)+unit, true
	return f
}

// plain makes a figure without an aim.
func plain(what, got string) figure { return figure{what: what, got: got} }

// verdict is empty where there is no aim. A figure that is no number has missed its own.
func (f figure) verdict() string {
	reached := f.value <= f.limit
	if f.least {
		reached = f.value >= f.limit
	}
	switch {
	case f.limit == 0:
		return ""
	case reached:
		return "reached"
	default:
		return "**missed**"
	}
}

func (f figure) String() string {
	s := f.what + ": " + f.got
	if f.aim != "" {
		s += " (" + f.aim + ": " + strings.Trim(f.verdict(), "*") + ")"
	}
	return s
}

// number has three digits that count.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// A chart is how something grows.
type chart struct {
	title, of, unit string // what grows, with what
	at              []float64
	cost            []float64
}

// exponent is the slope between logarithms: 1 is linear.
// By least squares over all points. It wants two different values of at, and costs above 0.
func (c chart) exponent() float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(c.at))
	for i := range c.at {
		x, y := math.Log(c.at[i]), math.Log(c.cost[i])
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// linear is the largest exponent that still counts as linear: figures vary.
const linear = 1.1

// figure says whether it grows faster than what it grows with.
func (c chart) figure() figure {
	e := c.exponent()
	return figure{
		what: c.title, aim: "no worse than linear", got: fmt.Sprintf("grows as %s to the power of %.2f", c.of, e),
		value: e, limit: linear,
	}
}

// In cells of a terminal.
const chartWidth = 40

func (c chart) lines() string {
	var b strings.Builder
	most := slices.Max(c.cost)
	for i, cost := range c.cost {
		bar := max(1, int(math.Round(cost/most*chartWidth)))
		drawn := strings.Repeat("█", bar) + strings.Repeat(" ", chartWidth-bar)
		fmt.Fprintf(&b, "%8s %-6s %s %s %s\n", number(c.at[i]), c.of, drawn, number(cost), c.unit)
	}
	return b.String()
}

// A machine is where it was measured.
type machine struct {
	// As the machine names them; the architecture and the system where it doesn't.
	cpu, kernel string
	cores       int
	// As /proc/loadavg has it.
	loadBefore, loadAfter string
}

func thisMachine() machine {
	m := machine{cpu: runtime.GOARCH, kernel: runtime.GOOS, cores: runtime.NumCPU(), loadBefore: load()}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.kernel = "Linux " + strings.TrimSpace(string(release))
	}
	return m
}

// load is what else the machine has to do.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

type report struct {
	machine machine
	figures []figure
	charts  []chart
}

func (r report) markdown() string {
	var b strings.Builder
	m := r.machine
	fmt.Fprintf(&b, `# What railbench takes

Made by `+"`go run ./cmd/bench`"+` on %s: %s, %d cores, %s, %s. The machine's load was %s
before (over 1, 5 and 15 minutes) and %s after: with another load than 0 the absolute times say
little, and the ratios, each measured in one run beside its peer, say more.

| | aim | measured | |
|---|---|---|---|
`, time.Now().UTC().Format("2006-01-02"), m.cpu, m.cores, m.kernel, runtime.Version(), m.loadBefore, m.loadAfter)
	missed := 0
	for _, f := range r.figures {
		if f.verdict() == "**missed**" {
			missed++
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.what, f.aim, f.got, f.verdict())
	}
	switch missed {
	case 0:
		fmt.Fprintf(&b, "\nEvery aim that was measured is reached.\n")
	case 1:
		fmt.Fprintf(&b, "\n1 aim is missed.\n")
	default:
		fmt.Fprintf(&b, "\n%d aims are missed.\n", missed)
	}
	if len(r.charts) > 0 {
		fmt.Fprintf(&b, "\n## Growth\n")
	}
	for _, c := range r.charts {
		fmt.Fprintf(&b, "\n%s:\n\n```\n%s```\n", c.title, c.lines())
	}
	return b.String()
}
