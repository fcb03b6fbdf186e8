package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

func runTouch(_ context.Context, c *host.Call) int {
	code := 0
	for _, name := range c.Args[1:] {
		c.Locked(func() {
			if _, err := c.Node.Create(c.Path(name), c.Root, 0o666&^c.Umask()); err != nil {
				code = c.Fail(1, "touch: cannot touch '%s': %s", name, host.ErrorText(err))
			}
		})
	}
	return code
}
