package pairs

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// A figure has its digits whatever its size: a slow link does not show 0.0.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		what steps.Measure
		v    float64
		want string
	}{
		{steps.Throughput, 92.57, "92.6 Gb/s"},
		{steps.Throughput, 0.0123, "0.0123 Gb/s"},
		{steps.Latency, 4.2, "4.20 us"},
		{steps.Latency, 10544.97, "10545 us"},
	} {
		if got := figure(c.what, c.v); got != c.want {
			t.Errorf("%v %g: %s, want %s", c.what, c.v, got, c.want)
		}
	}
}
