package linux

import (
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runFind knows -maxdepth and -name. It goes into no link: sysfs is full of circles.
func runFind(_ context.Context, c *host.Call) int {
	var roots []string
	args := c.Args[1:]
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") || len(args) > 0 && args[0] == "-L" {
		if args[0] != "-L" {
			roots = append(roots, args[0])
		}
		args = args[1:]
	}
	depth, pattern := 1<<30, "*"
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "-maxdepth":
			depth, _ = strconv.Atoi(args[i+1])
		case "-name":
			pattern = args[i+1]
		}
	}
	code := 0
	c.Locked(func() {
		var walk func(name string, i *host.Inode, level int)
		walk = func(name string, i *host.Inode, level int) {
			if ok, _ := path.Match(pattern, path.Base(name)); ok {
				c.Println(name)
			}
			if level >= depth {
				return
			}
			for _, kid := range i.Names() {
				walk(strings.TrimSuffix(name, "/")+"/"+kid, i.Kids[kid], level+1)
			}
		}
		for _, root := range roots {
			// A link that is named is not followed, unless a slash stands behind it.
			i, _, err := c.Node.Walk(c.Path(root), strings.HasSuffix(root, "/"), c.Root)
			if err != nil {
				code = c.Fail(1, "find: ‘%s’: %s", root, host.ErrorText(err))
				continue
			}
			walk(root, i, 0)
		}
	})
	return code
}
