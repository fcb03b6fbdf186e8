package linux

import (
	"context"
	"io"

	"github.com/railbench/railbench/runner/sim/host"
)

// runTee writes its input to files once it has all of it, and passes it on.
func runTee(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("")
	if !ok {
		return 1
	}
	b, _ := io.ReadAll(c.In)
	code := 0
	for _, name := range files {
		c.Locked(func() {
			if name == "/dev/null" {
				return
			}
			f, err := c.Node.Create(c.Path(name), c.Root, 0o666&^c.Umask())
			if err != nil {
				code = c.Fail(1, "tee: %s: %s", name, host.ErrorText(err))
				return
			}
			if !set.Has("a") {
				f.Data = nil
			}
			if err := f.Append(b); err != nil {
				code = c.Fail(1, "tee: %s: %s", name, host.ErrorText(err))
			}
		})
	}
	c.Out.Write(b)
	return code
}
