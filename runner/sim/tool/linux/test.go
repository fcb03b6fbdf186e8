package linux

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"github.com/railbench/railbench/runner/sim/host"
)

// runTest is /usr/bin/test, for who calls it by its path: the shell has its own. It knows whether a file is there.
func runTest(_ context.Context, c *host.Call) int {
	args := c.Args[1:]
	if len(args) == 2 && strings.HasPrefix(args[0], "-") {
		_, err := c.Read(args[1])
		if err == nil || errors.Is(err, syscall.EISDIR) && args[0] != "-f" {
			return 0
		}
	}
	return 1
}
