package linux

import (
	"context"
	"io/fs"
	"path"

	"github.com/railbench/railbench/runner/sim/host"
)

// runReadlink is readlink and realpath. Without -f, -e or -m it prints only what a link itself says, and for
// anything else nothing, with status 1.
func runReadlink(_ context.Context, c *host.Call) int {
	set, files, ok := c.Flags("")
	if !ok || len(files) == 0 {
		return c.Fail(1, "%s: missing operand", c.Program())
	}
	code := 0
	for _, name := range files {
		c.Locked(func() {
			if c.Program() == "realpath" || set.Has("fem") {
				_, real, err := c.Node.Walk(c.Path(name), true, c.Root)
				switch {
				case err == nil:
					c.Println(real)
				case !set.Has("e") && c.Program() != "realpath":
					// -f lets the last part be missing.
					if _, dir, err := c.Node.Walk(path.Dir(c.Path(name)), true, c.Root); err == nil {
						c.Println(path.Join(dir, path.Base(name)))
						return
					}
					code = 1
				default:
					code = 1
					if c.Program() == "realpath" {
						c.Fail(1, "realpath: %s: %s", name, host.ErrorText(err))
					}
				}
				return
			}
			i, _, err := c.Node.Walk(c.Path(name), false, c.Root)
			if err != nil || i.Mode&fs.ModeSymlink == 0 {
				code = 1
				return
			}
			c.Println(i.Target)
		})
	}
	return code
}
