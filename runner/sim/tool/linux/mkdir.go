package linux

import (
	"context"
	"syscall"

	"github.com/railbench/railbench/runner/sim/host"
)

// runMkdir knows -p and -m. With -p the folders above are made as the mask has it, and always so that their
// owner gets into them; -m is the last one's.
func runMkdir(_ context.Context, c *host.Call) int {
	set, dirs, ok := c.Flags("m")
	if !ok {
		return 1
	}
	if len(dirs) == 0 {
		return c.Fail(1, "mkdir: missing operand\nTry 'mkdir --help' for more information.")
	}
	code := 0
	for _, name := range dirs {
		c.Locked(func() {
			mode := 0o777 &^ c.Umask()
			if set.Has("p") {
				for i, r := range c.Path(name) {
					if r == '/' && i > 0 {
						// The last one reports what is wrong, if anything is.
						_ = c.Node.Mkdir(c.Path(name)[:i], c.Root, mode|0o300)
					}
				}
			}
			if text := set.Last('m', ""); text != "" {
				if mode, ok = fileMode(text, 0o777); !ok {
					code = c.Fail(1, "mkdir: invalid mode ‘%s’", text)
					return
				}
			}
			err := c.Node.Mkdir(c.Path(name), c.Root, mode)
			// -p takes one that is there for made.
			if i, _, found := c.Node.Walk(c.Path(name), true, c.Root); set.Has("p") && found == nil && i.Kids != nil {
				return
			}
			if err != nil {
				code = c.Fail(1, "mkdir: cannot create directory ‘%s’: %s", name, host.ErrorText(err))
			}
		})
	}
	return code
}

// runRmdir removes folders in which nothing is.
func runRmdir(_ context.Context, c *host.Call) int {
	_, dirs, ok := c.Flags("")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range dirs {
		c.Locked(func() {
			i, _, err := c.Node.Walk(c.Path(name), false, c.Root)
			switch {
			case err != nil:
			case i.Kids == nil:
				err = syscall.ENOTDIR
			case len(i.Kids) > 0:
				err = syscall.ENOTEMPTY
			default:
				_, err = c.Node.Leave(c.Path(name), c.Root)
			}
			if err != nil {
				code = c.Fail(1, "rmdir: failed to remove '%s': %s", name, host.ErrorText(err))
			}
		})
	}
	return code
}
