package nodetest

import (
	"flag"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// Waiting runs the tests of a package that waits for limits, switches and processes far longer than it computes: the
// parallel ones side by side, and not only as many as there are processors. What -parallel says counts.
func Waiting(m *testing.M) int {
	flag.Parse()
	const parallel = "test.parallel"
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == parallel })
	if !asked {
		count := "24"
		if testform.Full() {
			count = "8" // there they compute, too
		}
		if err := flag.Set(parallel, count); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
