package limits

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps/strictnum"
)

// NCCLRingRelease is the first NCCL that owners saw to use a ring of three without a switch, as NCCL itself counts
// its releases (facts.md#collectives).
const NCCLRingRelease = 23007

// NCCLRingNeeds is what nodes in a ring need.
const NCCLRingNeeds = "Nodes in a ring need NCCL 2.30.7 or later, NCCL_IB_SUBNET_AWARE_ROUTING=1 and " +
	"NCCL_IB_MERGE_NICS=0"

// NCCLRingSettings are those that a ring needs, by name.
func NCCLRingSettings() map[string]string {
	return map[string]string{"NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_IB_MERGE_NICS": "0"}
}

// NCCLNumber is a release as NCCL counts it: 22809 is 2.28.9 (NCCL_VERSION in its src/nccl.h.in). ok is false where
// it is none.
func NCCLNumber(release string) (n int, ok bool) {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 3 {
		return 0, false
	}
	for i, scale := range []int{10_000, 100, 1} {
		part, _, _ := strings.Cut(parts[i], "+") // of a build
		v, ok := strictnum.Count(part)
		if !ok || v > 99 {
			return 0, false
		}
		n += v * scale
	}
	return n, true
}

// NCCLRelease is NCCLNumber back: 2.28.9.
func NCCLRelease(n int) string { return fmt.Sprintf("%d.%d.%d", n/10_000, n/100%100, n%100) }
