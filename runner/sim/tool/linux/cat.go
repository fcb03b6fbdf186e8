package linux

import (
	"context"
	"io"

	"github.com/railbench/railbench/runner/sim/host"
)

func runCat(_ context.Context, c *host.Call) int {
	_, files, ok := c.Flags("")
	if !ok {
		return 1
	}
	if len(files) == 0 {
		// As it comes: what is piped in may not end for a while.
		if _, err := io.Copy(c.Raw, c.In); err != nil {
			return 1
		}
		return 0
	}
	return inputs(c, files, func(_, text string) { c.Out.WriteString(text) })
}
