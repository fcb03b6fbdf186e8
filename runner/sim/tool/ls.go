package tool

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

func runLs(_ context.Context, c *host.Call) int {
	set, names, ok := c.Flags("")
	if !ok {
		return 2
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	long := func(name string, i *host.Inode) string {
		size := i.Size()
		l := fmt.Sprintf("%s 1 %s %s %5d Nov 21 06:00 %s", modeText(i.Mode), i.Owner(), i.Owner(), size, name)
		if i.Target != "" {
			l += " -> " + i.Target
		}
		return l
	}
	var files, dirs []string
	c.Locked(func() {
		for _, name := range names {
			i, _, err := c.Node.Walk(c.Path(name), true, c.Root)
			if err == nil && set.Has("ld") && !strings.HasSuffix(name, "/") {
				i, _, err = c.Node.Walk(c.Path(name), false, c.Root)
			}
			switch {
			case err != nil:
				code = c.Fail(2, "ls: cannot access '%s': %s", name, host.ErrorText(err))
			case i.Kids != nil && !set.Has("d") && !i.May(c.Root, host.ToRead):
				code = c.Fail(2, "ls: cannot open directory '%s': Permission denied", name)
			case i.Kids != nil && !set.Has("d"):
				dirs = append(dirs, name)
			case set.Has("l"):
				files = append(files, long(name, i))
			default:
				files = append(files, name)
			}
		}
		for _, f := range files {
			c.Println(f)
		}
		for k, name := range dirs {
			if len(names) > 1 {
				if k > 0 || len(files) > 0 {
					c.Println("")
				}
				c.Printf("%s:\n", name)
			}
			dir, _, _ := c.Node.Walk(c.Path(name), true, c.Root)
			if set.Has("l") {
				c.Println("total 0")
			}
			entries := dir.Names()
			if !set.Has("aA") {
				entries = slices.DeleteFunc(entries, func(n string) bool { return strings.HasPrefix(n, ".") })
			}
			for _, e := range entries {
				if set.Has("l") {
					c.Println(long(e, dir.Kids[e]))
				} else {
					c.Println(e)
				}
			}
		}
	})
	return code
}

func modeText(m fs.FileMode) string {
	kind := "-"
	switch {
	case m&fs.ModeSymlink != 0:
		kind = "l"
	case m.IsDir():
		kind = "d"
	case m&fs.ModeCharDevice != 0:
		kind = "c"
	}
	return kind + m.Perm().String()[1:]
}
