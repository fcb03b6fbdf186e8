package linux

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runMktemp makes a file or, with -d, a directory that no other user can open.
func runMktemp(_ context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("p")
	if !ok {
		return 1
	}
	template := "/tmp/tmp.XXXXXXXXXX"
	if len(rest) > 0 {
		template = rest[0]
		if dir := set.Last('p', map[bool]string{true: "/tmp"}[set.Has("t")]); dir != "" {
			template = dir + "/" + template
		}
	} else if dir := set.Last('p', ""); dir != "" {
		template = dir + "/tmp.XXXXXXXXXX"
	}
	stem := strings.TrimRight(template, "X")
	// coreutils wants three at least.
	if len(template)-len(stem) < 3 {
		return c.Fail(1, "mktemp: too few X's in template ‘%s’", template)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	code := 0
	c.Locked(func() {
		rnd := c.Node.Random("mktemp")
		random := make([]byte, len(template)-len(stem))
		for i := range random {
			random[i] = letters[rnd.IntN(len(letters))]
		}
		name := stem + string(random)
		kind, err := "file", error(nil)
		if set.Has("d") {
			kind, err = "directory", c.Node.Mkdir(c.Path(name), c.Root, 0o700)
		} else {
			_, err = c.Node.Create(c.Path(name), c.Root, 0o600)
		}
		if err != nil {
			code = c.Fail(1, "mktemp: failed to create %s via template ‘%s’: %s", kind, template, host.ErrorText(err))
			return
		}
		c.Println(name)
	})
	return code
}
