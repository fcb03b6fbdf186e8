package host

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// shellWords are what the shell itself answers for.
var shellWords = []string{
	"echo", "printf", "test", "[", "cd", "pwd", "read", "set", "unset", "export", "exit", "return", "shift",
	"eval", "exec", "trap", "wait", "command", "type", "ulimit", "umask", "kill", "true", "false", ":", ".",
	"alias", "break", "continue", "getopts", "hash", "jobs", "local", "readonly", "times", "unalias",
}

// runCommandV is command -v: a builtin by its name, a program by its path. dash's status is 127
// where there is neither.
func runCommandV(_ context.Context, c *Call) int {
	code := 127
	for _, name := range c.Args[1:] {
		if slices.Contains(shellWords, name) {
			c.Println(name)
			code = 0
		} else if p, ok := c.Where(name); ok {
			c.Println(p)
			code = 0
		}
	}
	return code
}

// runStatus ends with the status that it is given.
func runStatus(_ context.Context, c *Call) int {
	code, _ := strconv.Atoi(c.Args[1])
	return code
}

// runType is command -V, and type.
func runType(_ context.Context, c *Call) int {
	code := 0
	for _, name := range c.Args[1:] {
		if slices.Contains(shellWords, name) {
			c.Printf("%s is a shell builtin\n", name)
		} else if p, ok := c.Where(name); ok {
			c.Printf("%s is %s\n", name, p)
		} else {
			c.Printf("%s: not found\n", name)
			code = 127
		}
	}
	return code
}

// runRefuse says why the shell did not do something, with the status that dash has for a wrong use.
func runRefuse(_ context.Context, c *Call) int {
	return c.Fail(2, "sh: 1: %s", strings.Join(c.Args[1:], " "))
}

// Umask is the shell's; sudo's is at least root's own.
func (c *Call) Umask() fs.FileMode {
	if c.Root && !c.Sh.root {
		return c.Sh.Umask | 0o022
	}
	return c.Sh.Umask
}

// The mask is changed at once, and holds for the jobs of this shell, too: in a real one a subshell
// has its own.
func runUmask(_ context.Context, c *Call) int {
	code := 0
	c.Locked(func() {
		if len(c.Args) == 1 {
			c.Println(fmt.Sprintf("%04o", c.Sh.Umask))
			return
		}
		bits, err := strconv.ParseUint(c.Args[1], 8, 16)
		if err != nil {
			code = c.Fail(2, "sh: 1: umask: Illegal number: %s", c.Args[1])
			return
		}
		c.Sh.Umask = fs.FileMode(bits) & fs.ModePerm
	})
	return code
}

// Pwd is pwd -P: the directory without links, as the program pwd prints it.
func Pwd(_ context.Context, c *Call) int {
	c.Locked(func() {
		if _, real, err := c.Node.Lookup(c.Dir, true); err == nil {
			c.Dir = real
		}
	})
	c.Println(c.Dir)
	return 0
}

func runUlimit(_ context.Context, c *Call) int {
	set, rest, _ := c.Flags("")
	switch {
	case len(rest) > 0:
	case set.Has("n"):
		c.Println("1024")
	case set.Has("l"):
		// More than any node has: whether there is a limit at all.
		limit := "unlimited"
		c.Locked(func() {
			if !c.Node.Lockable(1<<62, c.Root) {
				limit = strconv.FormatInt(c.Node.MemlockKB, 10)
			}
		})
		c.Println(limit)
	default:
		c.Println("unlimited")
	}
	return 0
}

// Kill ends the script's own background jobs, what runs apart, alone or by
// its group, and the forgotten server that the fault port-busy leaves. Nothing
// else on the node can be killed.
func Kill(_ context.Context, c *Call) int {
	args := c.Args[1:]
	ask := false
	switch {
	// Signal 0 sends nothing and only asks; every other ends, whichever it is.
	case len(args) > 1 && args[0] == "-s":
		ask, args = args[1] == "0", args[2:]
	case len(args) > 1 && strings.HasPrefix(args[0], "-"):
		ask, args = args[0] == "-0", args[1:]
	}
	code := 0
	for _, a := range args {
		pid, err := strconv.Atoi(strings.TrimPrefix(a, "-"))
		if err != nil {
			if a != "--" {
				code = c.Fail(2, "sh: 1: kill: Illegal number: %s", a)
			}
			continue
		}
		code = max(code, c.kill(pid, strings.HasPrefix(a, "-"), ask))
	}
	return code
}

// A job goes before the node's table: its process id may be that of a process in a session of its
// own, too, which setsid has put there.
func (c *Call) kill(pid int, group, ask bool) int {
	if !group && c.Sh.killJob(pid, ask) {
		return 0
	}
	code := 0
	c.Locked(func() {
		p := c.Node.Procs[pid]
		switch {
		case p == nil || group && p.End == nil:
			code = c.Fail(1, "sh: 1: kill: No such process")
		case p.Root && !c.Root:
			code = c.Fail(1, "sh: 1: kill: Operation not permitted")
		case ask:
		case p.End != nil:
			p.End()
		default:
			c.Node.endForgotten(p)
		}
	})
	return code
}

// builtins are what the shell answers for itself, under names that no script can write as a
// path; see beforeCall.
func builtins() map[string]Tool {
	all := map[string]Tool{}
	for name, run := range map[string]func(context.Context, *Call) int{
		"@command-v": runCommandV, "@command-V": runType, "@type": runType, "@refuse": runRefuse, "@status": runStatus,
		"@kill": Kill, "@ulimit": runUlimit, "@umask": runUmask, "@pwd": Pwd,
		"@jobs": func(context.Context, *Call) int { return 0 },
	} {
		all[name] = Tool{Run: run}
	}
	return all
}
