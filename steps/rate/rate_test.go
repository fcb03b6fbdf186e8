package rate

import (
	"math"
	"testing"
)

// The figures were printed by the tools of others, or follow from a standard.
func TestConversions(t *testing.T) {
	roce1024 := Headers{Payload: 1024, Counted: 58, Cable: 82}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"perftest's 11,032.34 of the multi-rail tutorial", float64(MiBps(11032.34).Gbps()), 92.546},
		{"12,000 MiB/s, which no line of 100 Gb/s carries", float64(MiBps(12000).Gbps()), 100.663},
		{"there and back", float64(Payload(92.546).MiB()), 11032.3},
		{"nixlbench's 11.56 GB/s", float64(GBps(11.56).Gbps()), 92.48},
		{
			"counters and payload of the NIXL benchmark tutorial, 12.18 to 11.52", float64(Payload(11.52).Counted(roce1024)),
			12.1725,
		},
		{"a line of 100 Gb/s at a RoCE MTU of 1024", float64(roce1024.Carries(100)), 92.586},
		{"no packets", float64(Payload(1).Counted(Headers{})) + float64(Headers{}.Carries(100)), 0},
	} {
		if math.Abs(c.got-c.want) > 5e-4*max(1, c.want) {
			t.Errorf("%s: %.3f, want %.3f", c.name, c.got, c.want)
		}
	}
}
