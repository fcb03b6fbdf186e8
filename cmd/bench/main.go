// Command bench measures what railbench takes on this machine and writes it down, each
// figure beside its aim and, where it has one, beside a peer that was measured in the same
// run. It is for development: nothing of it is in railbench.
//
//	go run ./cmd/bench
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// It measures one thing after the other: two at once would measure each other.
func run() error {
	out := flag.String("o", "PERFORMANCE.md", "the file that it makes")
	only := flag.String("run", "", "measure only what matches this; nothing is written then, but by -scale")
	quick := flag.Bool("quick", false, "once each and not for long: whether everything can be measured")
	rig := flag.Bool("rig", false, "measure the disturbance, too, on the virtual rig: builds and boots it, and takes "+
		"minutes")
	scale := flag.Bool("scale", false, "measure what grows with the nodes, and write it into "+scalePage+
		" in place of everything else")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "railbench-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	b := &bench{ctx: func() error { return ctx.Err() }, dir: dir, quick: *quick, rig: *rig}
	// From the sources, and not whatever is installed.
	if err := b.build(ctx); err != nil {
		return err
	}
	if *scale {
		return b.scale(ctx, chosen)
	}
	r := report{machine: thisMachine()}
	for _, m := range measurements() {
		if !chosen.MatchString(m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", m.name)
		made, err := m.measure(b)
		// An interrupted run writes nothing: half a table would be taken for all of it.
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var absent missing
		switch {
		case errors.As(err, &absent):
			made.figures = append(made.figures, figure{what: m.name, got: "not measured: " + absent.Error()})
		case err != nil:
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, f := range made.figures {
			fmt.Fprintln(os.Stderr, "  "+f.String())
		}
		r.figures, r.charts = append(r.figures, made.figures...), append(r.charts, made.charts...)
	}
	r.machine.loadAfter = load()
	// What is written is a whole run with all its repetitions.
	if *only != "" || *quick {
		return nil
	}
	return os.WriteFile(*out, []byte(r.markdown()), 0o644)
}

// missing is what this machine lacks for a measurement.
type missing string

func (m missing) Error() string { return string(m) }

// A bench has the programs and a folder.
type bench struct {
	ctx func() error // why the run ends early; nil while it goes on
	dir string
	// What the flags say.
	quick, rig bool
	// Paths of the programs that build has made.
	railbench, empty, load string
}

// build makes the programs from the sources around.
func (b *bench) build(ctx context.Context) error {
	for _, p := range []struct {
		to  *string
		pkg string
	}{
		{&b.railbench, "railbench"},
		{&b.empty, "bench/testdata/empty"},
		{&b.load, "bench/testdata/load"},
	} {
		*p.to = filepath.Join(b.dir, filepath.Base(p.pkg))
		cmd := exec.CommandContext(ctx, "go", "build", "-o", *p.to, "github.com/railbench/railbench/cmd/"+p.pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build cmd/%s: %w: %s", p.pkg, err, out)
		}
	}
	return nil
}

// times is how often something is measured.
func (b *bench) times(n int) int {
	if b.quick {
		return 1
	}
	return n
}

// home makes a new user's home.
func (b *bench) home() (string, error) { return os.MkdirTemp(b.dir, "home-") }

// A measurement is one look at railbench.
type measurement struct {
	name    string
	measure func(*bench) (result, error)
}

// Either may be empty.
type result struct {
	figures []figure
	charts  []chart
}

// In the order of the report.
func measurements() []measurement {
	return []measurement{
		{"first frame", firstFrame},
		{"idle, simulated rig", idleSim},
		{"idle, two SSH nodes", idleSSH},
		{"gauges", movingGauges},
		{"viewers", viewers},
		{"streams", streams},
		{"a million lines", millionLines},
		{"sampler", sampler},
		{"whole tutorial", wholeTutorial},
		{"doctor", doctor},
		{"doctor over SSH", doctorSSH},
		{"disturbance", disturbance},
		{"disturbance, virtual rig", virtualDisturbance},
		{"streams, virtual rig", virtualStreams},
		{"growth with cells", growCells},
		{"growth with lines", growLines},
		{"growth with rails", growRails},
		{"growth with nodes", growNodes},
		{"growth with hours", growHours},
	}
}
