package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/railbench/railbench/steps/pairs"
)

// scalePage says how railbench grows with the nodes; what is measured stands between marks, a pair for each part.
const scalePage = "assets/docs/scale.md"

const scaleEnd = "<!-- /measured -->\n"

func scaleBegin(part string) string { return "<!-- measured " + part + " -->\n" }

// looked is one run over so many nodes.
type looked struct {
	nodes     int
	wall, cpu time.Duration
	peak      float64 // MB
	out       []byte
}

// over runs railbench on a simulated rig of so many nodes, as fast as it goes. A checklist ends with 1
// or 4 where it found something.
func (b *bench) over(ctx context.Context, nodes int, args ...string) (l looked, err error) {
	home, err := b.home()
	if err != nil {
		return l, err
	}
	cmd := exec.CommandContext(ctx, b.railbench,
		append(args, "--rig", "sim", "--speed", "max", "--nodes", strconv.Itoa(nodes))...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	began := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && slices.Contains([]int{1, 4}, exit.ExitCode())) {
		return l, fmt.Errorf("railbench %s: %w: %s", strings.Join(args, " "), err,
			complaint.Bytes()[max(0, complaint.Len()-2000):])
	}
	l = looked{
		nodes: nodes, wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		out: out.Bytes(),
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		l.peak = float64(usage.Maxrss) / 1024 // Linux has kB
	}
	return l, nil
}

// scale measures what grows with the nodes and puts it into its page, a part when it is done. Parts that chosen doesn't
// match stay as they are, with the day of theirs.
func (b *bench) scale(ctx context.Context, chosen *regexp.Regexp) error {
	for _, part := range []struct {
		name    string
		measure func(context.Context, *strings.Builder) error
	}{{"checklist", b.scaleChecklist}, {"pairs", b.scalePairs}, {"gauges", b.scaleGauges}} {
		if !chosen.MatchString(part.name) {
			continue
		}
		var text strings.Builder
		m := thisMachine()
		fmt.Fprintf(&text, "Measured by `go run ./cmd/bench -scale -run %s` on %s: %s, %d cores, %s, %s, load %s before.\n",
			part.name, time.Now().UTC().Format("2006-01-02"), m.cpu, m.cores, m.kernel, runtime.Version(), m.loadBefore)
		if err := part.measure(ctx, &text); err != nil {
			return err
		}
		if b.quick {
			continue
		}
		page, err := os.ReadFile(scalePage)
		if err != nil {
			return err
		}
		told, err := replaced(string(page), part.name, text.String())
		if err == nil {
			err = os.WriteFile(scalePage, []byte(told), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaced is the page with another text for a part.
func replaced(page, part, text string) (string, error) {
	before, rest, ok := strings.Cut(page, scaleBegin(part))
	_, after, closed := strings.Cut(rest, scaleEnd)
	if !ok || !closed {
		return "", fmt.Errorf("%s has no place for what is measured, between %q and %q", scalePage, scaleBegin(part),
			scaleEnd)
	}
	return before + scaleBegin(part) + text + scaleEnd + after, nil
}

// sizes are the first so many of the rigs that are measured.
func (b *bench) sizes(all ...int) []int {
	if b.quick {
		return all[:2]
	}
	return all
}

// scaleChecklist runs the whole checklist. What a check takes by the nodes' time is what it would take on a
// real rig, but for the network to it.
func (b *bench) scaleChecklist(ctx context.Context, to *strings.Builder) error {
	to.WriteString("\n| the checklist, nodes | processor | memory | rail-speed | checks of NIXL | all that only looks " +
		"|\n|---|---|---|---|---|---|\n")
	c := chart{title: "checklist", of: "nodes"}
	for _, nodes := range b.sizes(2, 4, 8, 16, 32, 64, 256, 1024) {
		l, err := b.over(ctx, nodes, "doctor", "--json")
		if err != nil {
			return err
		}
		var told struct {
			Checks []struct {
				ID        string
				ElapsedMS float64
			}
		}
		if err := json.Unmarshal(l.out, &told); err != nil {
			return fmt.Errorf("read the checklist: %w", err)
		}
		speed, nixl, looks := 0.0, 0.0, 0.0
		for _, check := range told.Checks {
			switch took := check.ElapsedMS / 1000; {
			case check.ID == "rail-speed":
				speed += took
			case strings.HasPrefix(check.ID, "nixl-"):
				nixl += took
			default:
				looks += took
			}
		}
		line := fmt.Sprintf("| %d | %s s | %.0f MB | %.0f s | %.0f s | %.0f s |\n", nodes, number(l.cpu.Seconds()), l.peak,
			speed, nixl, looks)
		fmt.Fprint(os.Stderr, line)
		to.WriteString(line)
		c.at, c.cost = append(c.at, float64(nodes)), append(c.cost, l.cpu.Seconds())
	}
	fmt.Fprintf(to, "\nThe times of checks are the nodes' own, as a real rig would take them. The processor's grows as "+
		"the nodes\nto the power of %.2f: nearly all of it is the simulated nodes themselves.\n", c.exponent())
	return nil
}

// scalePairs measures the matrix, and says what is told of it before.
func (b *bench) scalePairs(ctx context.Context, to *strings.Builder) error {
	to.WriteString("\n| pairs, nodes | each with | rounds | tests | told before | took | processor | memory " +
		"|\n|---|---|---|---|---|---|---|---|\n")
	const rails, all = 4, 0
	line := func(c pairs.Cost, took, cpu, memory string) {
		with := "all others"
		if c.Partners != all {
			with = fmt.Sprintf("%d others", c.Partners)
		}
		row := fmt.Sprintf("| %d | %s | %d | %d | %s | %s | %s | %s |\n", c.Nodes, with, c.Rounds, c.Tests,
			pairs.Rounded(c.Time), took, cpu, memory)
		fmt.Fprint(os.Stderr, row)
		to.WriteString(row)
	}
	measure := func(nodes, partners int) error {
		args := []string{"pairs", "--json"}
		if partners != all {
			args = append(args, "--partners", strconv.Itoa(partners))
		}
		l, err := b.over(ctx, nodes, args...)
		if err != nil {
			return err
		}
		var told struct {
			ElapsedMS       float64
			Verdict, Reason string
		}
		if err := json.Unmarshal(l.out, &told); err != nil {
			return fmt.Errorf("read the pairs: %w", err)
		}
		if told.Verdict != "PASS" { // one that was broken off has a matrix, too
			return fmt.Errorf("pairs of %d nodes: %s: %s", nodes, told.Verdict, told.Reason)
		}
		took := time.Duration(told.ElapsedMS) * time.Millisecond
		line(pairs.CostOf(nodes, rails, partners, 0), pairs.Rounded(took), number(l.cpu.Seconds())+" s",
			fmt.Sprintf("%.0f MB", l.peak))
		return nil
	}
	for _, nodes := range b.sizes(2, 4, 8, 16, 32, 64) {
		if err := measure(nodes, all); err != nil {
			return err
		}
	}
	if b.quick {
		return nil
	}
	// All pairs are an hour of processor for the one; a matrix has no room for the other.
	const some = 8
	for _, nodes := range []int{256, 1024} {
		line(pairs.CostOf(nodes, rails, all, 0), "–", "–", "–")
		if err := measure(nodes, some); err != nil {
			return err
		}
	}
	return nil
}

// scaleGauges draws the boards of more and more nodes.
func (b *bench) scaleGauges(_ context.Context, to *strings.Builder) error {
	to.WriteString("\n| gauges at 10 Hz, nodes with 4 rails each | of a core | to the terminal |\n|---|---|---|\n")
	for _, nodes := range b.sizes(2, 8, 16, 32, 64, 256, 1024) {
		core, kBps, _, err := b.moving(nodes)
		if err != nil {
			return err
		}
		row := fmt.Sprintf("| %d | %s %% | %s kB/s |\n", nodes, number(core), number(kBps))
		fmt.Fprint(os.Stderr, row)
		to.WriteString(row)
	}
	return nil
}
