package linux

import (
	"context"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runEnv is env and printenv: it changes the environment by -i, -u and NAME=value in the order in which they
// stand, and runs the rest in it or prints it.
func runEnv(ctx context.Context, c *host.Call) int {
	if c.Program() == "printenv" && len(c.Args) > 1 {
		v := c.Env(c.Args[1])
		// An empty variable counts as an unset one: Env doesn't know the difference.
		if v == "" {
			return 1
		}
		c.Println(v)
		return 0
	}
	args := c.Args[1:]
	sub := *c
	list := c.Exported()
	for len(args) > 0 {
		switch {
		case args[0] == "-i" || args[0] == "-":
			list = nil
		case args[0] == "-u" && len(args) > 1:
			list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, args[1]+"=") })
			args = args[1:]
		case strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "="):
			name, _, _ := strings.Cut(args[0], "=")
			list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			list = append(list, args[0])
		default:
			sub.Exported = func() []string { return list }
			sub.Env = host.ValueIn(list)
			return sub.Exec(ctx, args)
		}
		args = args[1:]
	}
	for _, kv := range list {
		c.Println(kv)
	}
	return 0
}
