package linux

import (
	"context"
	"io"

	"github.com/railbench/railbench/runner/sim/host"
)

// runSh is another shell in its caller's place: of its own variables, with the caller's mask, folder and
// terminal.
func runSh(ctx context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("co")
	if !ok {
		return 2
	}
	sh := host.NewShell(c.Node, c.Root, c.Program() == "bash")
	sh.TTY, sh.Proc = c.Sh.TTY, c.Sh.Proc
	c.Locked(func() { sh.Umask = c.Umask() })
	j := host.Job{Name: c.Program(), Dir: c.Dir, Env: c.Exported(), Stdin: c.In, Stdout: c.Raw, Stderr: c.Err}
	text := set.Last('c', "")
	switch {
	case set.Has("c"):
		if len(rest) > 0 {
			j.Name, j.Params = rest[0], rest[1:]
		}
	case len(rest) > 0:
		var err error
		if text, err = c.Read(rest[0]); err != nil {
			return c.Fail(2, "%s: 0: cannot open %s: %s", c.Program(), rest[0], host.ErrorText(err))
		}
		j.Name, j.Params = rest[0], rest[1:]
	default:
		// The script is all of stdin, so that what it runs has none.
		b, _ := io.ReadAll(c.In)
		text, j.Stdin = string(b), nil
	}
	// What is asked for as an option is done by the script's first line.
	if set.Has("e") {
		text = "set -e\n" + text
	}
	if set.Has("x") {
		text = "set -x\n" + text
	}
	return sh.Run(ctx, text, j)
}
