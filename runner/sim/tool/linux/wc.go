package linux

import (
	"context"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runWc counts lines by their ends, as wc does: text without one at the end is not a line. Columns aren't
// padded: scripts read a number.
func runWc(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("")
	if !ok {
		return 1
	}
	return inputs(c, files, func(name, text string) {
		var cols []string
		for _, col := range []struct {
			letter string
			n      int
		}{{"l", strings.Count(text, "\n")}, {"w", len(strings.Fields(text))}, {"c", len(text)}} {
			if len(set) == 0 || set.Has(col.letter) {
				cols = append(cols, strconv.Itoa(col.n))
			}
		}
		if name != "-" {
			cols = append(cols, name)
		}
		c.Println(strings.Join(cols, " "))
	})
}
