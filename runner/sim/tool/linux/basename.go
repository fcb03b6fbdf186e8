package linux

import (
	"context"
	"path"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

func runBasename(_ context.Context, c *host.Call) int {
	if len(c.Args) < 2 {
		return c.Fail(1, "basename: missing operand")
	}
	b := path.Base(c.Args[1])
	// A name that is nothing but the suffix keeps it.
	if len(c.Args) > 2 && b != c.Args[2] {
		b = strings.TrimSuffix(b, c.Args[2])
	}
	c.Println(b)
	return 0
}

func runDirname(_ context.Context, c *host.Call) int {
	if len(c.Args) < 2 {
		return c.Fail(1, "dirname: missing operand")
	}
	c.Println(path.Dir(strings.TrimRight(c.Args[1], "/")))
	return 0
}
