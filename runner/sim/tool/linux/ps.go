package linux

import (
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runPgrep looks for a text in the names of processes, or with -f in their command lines: 1 where there is
// none.
func runPgrep(_ context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("uP")
	if !ok || len(rest) == 0 {
		return c.Fail(2, "pgrep: no matching criteria specified\nTry `pgrep --help' for more information.")
	}
	code := 1
	c.Locked(func() {
		for _, p := range c.Node.Processes() {
			name, line := path.Base(p.Args[0]), strings.Join(p.Args, " ")
			if set.Has("f") && !strings.Contains(line, rest[0]) ||
				!set.Has("f") && !strings.Contains(name, rest[0]) ||
				set.Has("x") && name != rest[0] {
				continue
			}
			code = 0
			switch {
			case set.Has("a"):
				c.Printf("%d %s\n", p.PID, line)
			case set.Has("l"):
				c.Printf("%d %s\n", p.PID, name)
			default:
				c.Println(strconv.Itoa(p.PID))
			}
		}
	})
	return code
}

func runPs(_ context.Context, c *host.Call) int {
	c.Println("    PID TTY          TIME CMD")
	c.Locked(func() {
		for _, p := range c.Node.Processes() {
			c.Printf("%7d ?        00:00:00 %s\n", p.PID, strings.Join(p.Args, " "))
		}
	})
	return 0
}
