package linux

import (
	"context"
	"errors"
	"syscall"

	"github.com/railbench/railbench/runner/sim/host"
)

// runRm removes files, with -r folders and all below them; -f is silent about what isn't there, and about
// nothing else.
func runRm(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("")
	if !ok {
		return 1
	}
	if len(files) == 0 && !set.Has("f") {
		return c.Fail(1, "rm: missing operand\nTry 'rm --help' for more information.")
	}
	code := 0
	for _, name := range files {
		c.Locked(func() {
			i, _, err := c.Node.Walk(c.Path(name), false, c.Root)
			switch {
			case errors.Is(err, syscall.ENOENT) && set.Has("f"):
				return
			case err == nil && i.Kids != nil && !set.Has("rR"):
				err = syscall.EISDIR
			case err == nil:
				_, err = c.Node.Leave(c.Path(name), c.Root)
			}
			if err != nil {
				code = c.Fail(1, "rm: cannot remove '%s': %s", name, host.ErrorText(err))
			}
		})
	}
	return code
}
