package sim

import (
	"context"
	"slices"
)

// runIperf3 answers what is asked before a test. The test itself is not simulated yet.
func runIperf3(_ context.Context, c *call) int {
	if slices.Contains(c.args, "--version") || slices.Contains(c.args, "-v") {
		c.printf("iperf 3.16 (cJSON 1.7.15)\nLinux %s %s #13-Ubuntu SMP PREEMPT_DYNAMIC aarch64\nOptional features available: CPU affinity setting, IPv6 flow label, SCTP, TCP congestion algorithm setting, sendfile / zerocopy, socket pacing, authentication, bind to device, support IPv4 don't fragment, POSIX threads\n", c.node.name, kernel)
		return 0
	}
	return c.fail(1, "iperf3: not simulated yet")
}
