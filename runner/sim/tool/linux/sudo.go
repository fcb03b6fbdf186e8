package linux

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runSudo runs a command as root in sudo's environment, once it may. -v and -k run nothing.
func runSudo(ctx context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("pugCrtThD")
	if !ok {
		return 1
	}
	if len(rest) == 0 && !set.Has("vklnK") {
		return c.Fail(1, "usage: sudo -h | -K | -k | -V")
	}
	if (len(rest) > 0 || set.Has("vl")) && !mayBecomeRoot(c, set) {
		return 1
	}
	// NAME=value before the command is for its environment, of which nothing here wants one.
	for len(rest) > 0 && strings.Contains(rest[0], "=") && !strings.HasPrefix(rest[0], "=") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return 0
	}
	sub := *c
	sub.Root = true
	// env_reset, sudo's default: nothing of the caller's gets through.
	sub.Exported = func() []string {
		return []string{"HOME=/root", "USER=root", "LOGNAME=root", "SUDO_USER=nvidia", "SUDO_UID=1000", "LANG=en_US.UTF-8"}
	}
	if _, err := sub.Find(rest[0]); err != nil {
		return c.Fail(1, "sudo: %s: command not found", rest[0])
	}
	return sub.Exec(ctx, rest)
}

// mayBecomeRoot asks for the password where sudo wants one.
func mayBecomeRoot(c *host.Call, set host.Flags) bool {
	password := ""
	c.Locked(func() { password = c.Node.Password })
	switch {
	// NOPASSWD, unless a fault has set one; root is asked nothing anywhere.
	case password == "", c.Root:
		return true
	case set.Has("S"):
		prompt := "[sudo] password for nvidia: "
		if set.Has("p") {
			prompt = set.Last('p', "")
		}
		return host.CheckPassword(c.In, c.Err, prompt, password)
	case !set.Has("n"):
		c.Fail(1, "sudo: a terminal is required to read the password; "+
			"either use the -S option to read from standard input or configure an askpass helper")
	}
	c.Fail(1, "sudo: a password is required")
	return false
}
