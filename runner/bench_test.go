package runner_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// BenchmarkOverSSH runs a cell's script over a connection that stands and
// `ssh host true` in turn, against one real sshd, and reports the medians of
// their ratio: at most 0.2 is the aim.
func BenchmarkOverSSH(b *testing.B) {
	ssh := testform.Tool(b, "ssh")
	s := nodetest.StartSshd(b)
	target, err := runner.Resolve(b.Context(), "node", s.Config)
	if err != nil {
		b.Fatal(err)
	}
	n := runner.NewSSH(runner.SSHOptions{Name: "node", Target: target, Ask: runner.NoAsker{}})
	defer n.Close()
	if err := n.Connect(b.Context()); err != nil {
		b.Fatal(err)
	}
	// The spare shell of the connection starts in the background, once.
	for range 3 {
		if _, err := n.Run(b.Context(), runner.Script{Name: "warm", Body: "true"}, func(runner.Line) {}); err != nil {
			b.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	var ratios []float64
	var ours, theirs time.Duration
	for b.Loop() {
		began := time.Now()
		exit, err := n.Run(b.Context(), runner.Script{Name: "true", Body: "true"}, func(runner.Line) {})
		if err != nil || !exit.OK() {
			b.Fatal(exit, err)
		}
		one := time.Since(began)
		began = time.Now()
		if out, err := exec.Command(ssh, "-F", s.Config, "node", "true").CombinedOutput(); err != nil {
			b.Fatalf("ssh: %v: %s", err, out)
		}
		other := time.Since(began)
		ours += one
		theirs += other
		ratios = append(ratios, one.Seconds()/other.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "cell/ssh")
	b.ReportMetric(ours.Seconds()/float64(b.N)*1e3, "ms/cell")
	b.ReportMetric(theirs.Seconds()/float64(b.N)*1e3, "ms/ssh")
}
