package main

import (
	"bytes"
	"strings"
	"testing"
)

// A simulated rig has no more nodes than a real one.
func TestMostSimulatedNodes(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if got := Main([]string{"run", "hosts", "--nodes", "1025"}, strings.NewReader(""), &out, &errs); got != exitUsage ||
		!strings.Contains(errs.String(), "from 2 to 1024 nodes") {
		t.Errorf("1,025 simulated nodes: %d, %s", got, errs.String())
	}
}

// With more nodes than a subnet of a byte has room for, a check finds the node that differs, and what two
// nodes that are far apart have in common. Neither report has a line for each node.
func TestChecksOfManyNodesNameTheOne(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	got := Main([]string{
		"doctor", "--nodes", "80", "--speed", "max", "--fault", "mtu-mismatch@spark-40", "--fault", "duplicate-ip@spark-70",
		"mtu-equal", "duplicate-ip",
	}, strings.NewReader(""), &out, &errs)
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"79 of 80 have 1500 bytes, spark-40 has 9000 bytes", "FAIL mtu-equal: enp1s0f0np0",
		"spark-01:spark-70: 10.200.0.10 is assigned twice", "78 more spark-[03-80]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if lines := strings.Count(out.String(), "\n"); got != exitFail || lines > 80 || t.Failed() {
		t.Errorf("status %d, %d lines:\n%s%s", got, lines, out.String(), errs.String())
	}
}
