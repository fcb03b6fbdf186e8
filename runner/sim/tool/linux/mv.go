package linux

import (
	"context"
	"path"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runMv moves to a name or into a folder; -n leaves what is there, and -T wants a name.
func runMv(_ context.Context, c *host.Call) int {
	set, names, ok := c.Flags("")
	if !ok {
		return 1
	}
	switch len(names) {
	case 0:
		return c.Fail(1, "mv: missing file operand\nTry 'mv --help' for more information.")
	case 1:
		return c.Fail(1, "mv: missing destination file operand after '%s'\nTry 'mv --help' for more information.", names[0])
	}
	to := names[len(names)-1]
	code := 0
	c.Locked(func() {
		i, _, err := c.Node.Walk(c.Path(to), true, c.Root)
		// -T takes the target for a name even where it is a folder.
		into := err == nil && i.Kids != nil && !set.Has("T")
		if len(names) > 2 && !into {
			code = c.Fail(1, "mv: target '%s': No such file or directory", to)
			return
		}
		for _, from := range names[:len(names)-1] {
			code = max(code, move(c, from, to, into, set.Has("n")))
		}
	})
	return code
}

func move(c *host.Call, from, to string, into, keep bool) int {
	if into {
		to = strings.TrimRight(to, "/") + "/" + path.Base(from)
	}
	if _, _, err := c.Node.Walk(c.Path(from), false, c.Root); err != nil {
		return c.Fail(1, "mv: cannot stat '%s': %s", from, host.ErrorText(err))
	}
	if _, _, err := c.Node.Walk(c.Path(to), false, c.Root); err == nil && keep {
		return 0
	}
	if err := c.Node.Rename(c.Path(from), c.Path(to), c.Root); err != nil {
		return c.Fail(1, "mv: cannot move '%s' to '%s': %s", from, to, host.ErrorText(err))
	}
	return 0
}
