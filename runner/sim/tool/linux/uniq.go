package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runUniq takes repetitions that follow each other together, and counts them with -c.
func runUniq(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("")
	if !ok {
		return 1
	}
	return inputs(c, files, func(_, text string) {
		lines := splitLines(text)
		for i := 0; i < len(lines); {
			j := i
			for j < len(lines) && lines[j] == lines[i] {
				j++
			}
			if set.Has("c") {
				c.Printf("%7d %s\n", j-i, lines[i])
			} else {
				c.Println(lines[i])
			}
			i = j
		}
	})
}
