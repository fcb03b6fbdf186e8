package tool

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

func runSudo(ctx context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("pugCrtThD")
	if !ok {
		return 1
	}
	if len(rest) == 0 && !set.Has("vklnK") {
		return c.Fail(1, "usage: sudo -h | -K | -k | -V")
	}
	password := ""
	c.Locked(func() { password = c.Node.Password })
	if password != "" && !c.Root && (len(rest) > 0 || set.Has("vl")) {
		switch {
		case set.Has("S"):
			prompt := "[sudo] password for nvidia: "
			if set.Has("p") {
				prompt = set.Last('p', "")
			}
			if !host.CheckPassword(c.In, c.Err, prompt, password) {
				return 1
			}
		case set.Has("n"):
			return c.Fail(1, "sudo: a password is required")
		default:
			c.Fail(1, "sudo: a terminal is required to read the password; "+
				"either use the -S option to read from standard input or configure an askpass helper")
			return c.Fail(1, "sudo: a password is required")
		}
	}
	for len(rest) > 0 && strings.Contains(rest[0], "=") && !strings.HasPrefix(rest[0], "=") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return 0
	}
	sub := *c
	sub.Root = true
	sub.Exported = func() []string {
		return []string{"HOME=/root", "USER=root", "LOGNAME=root", "SUDO_USER=nvidia", "SUDO_UID=1000", "LANG=en_US.UTF-8"}
	}
	if _, err := sub.Find(rest[0]); err != nil {
		return c.Fail(1, "sudo: %s: command not found", rest[0])
	}
	return sub.Exec(ctx, rest)
}
