package linux

import (
	"context"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runUname is a DGX Spark's: aarch64, with Ubuntu's kernel for it.
func runUname(_ context.Context, c *host.Call) int {
	set, _, ok := c.Flags("")
	if !ok {
		return 1
	}
	fields := []struct{ letter, value string }{
		{"s", "Linux"},
		{"n", c.Node.Name},
		{"r", c.Node.Release()},
		{"v", "#13-Ubuntu SMP PREEMPT_DYNAMIC Wed Aug 27 17:02:11 UTC 2025"},
		{"m", "aarch64"},
		{"p", "aarch64"},
		{"o", "GNU/Linux"},
	}
	var out []string
	for _, f := range fields {
		if set.Has(f.letter) || set.Has("a") && f.letter != "p" || len(set) == 0 && f.letter == "s" {
			out = append(out, f.value)
		}
	}
	// -a has the processor's type between machine and system, and -p alone prints it, too.
	if set.Has("a") {
		out = slices.Insert(out, 5, "aarch64")
	}
	c.Println(strings.Join(out, " "))
	return 0
}
