package linux

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runLs shows files first and then folders, as the real one does, sorted by name; it knows -l, -d, -a and -A.
func runLs(_ context.Context, c *host.Call) int {
	set, names, ok := c.Flags("")
	if !ok {
		return 2
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	c.Locked(func() {
		var files, dirs []string
		for _, name := range names {
			i, _, err := c.Node.Walk(c.Path(name), true, c.Root)
			// -l and -d show a link itself, unless a slash asks for what it leads to.
			if err == nil && set.Has("ld") && !strings.HasSuffix(name, "/") {
				i, _, err = c.Node.Walk(c.Path(name), false, c.Root)
			}
			inside := err == nil && i.Kids != nil && !set.Has("d")
			switch {
			case err != nil:
				code = c.Fail(2, "ls: cannot access '%s': %s", name, host.ErrorText(err))
			case inside && !i.May(c.Root, host.ToRead):
				code = c.Fail(2, "ls: cannot open directory '%s': Permission denied", name)
			case inside:
				dirs = append(dirs, name)
			default:
				files = append(files, listed(name, i, set))
			}
		}
		listAll(c, set, files, dirs, len(names) > 1)
	})
	return code
}

// listAll shows the files, and then what is in the directories, named where there are more.
func listAll(c *host.Call, set host.Flags, files, dirs []string, named bool) {
	for _, f := range files {
		c.Println(f)
	}
	for k, name := range dirs {
		if k > 0 || len(files) > 0 {
			c.Println("")
		}
		if named {
			c.Printf("%s:\n", name)
		}
		listDir(c, name, set)
	}
}

// listDir shows what is in a directory.
func listDir(c *host.Call, name string, set host.Flags) {
	dir, _, _ := c.Node.Walk(c.Path(name), true, c.Root)
	if set.Has("l") {
		c.Println("total 0")
	}
	for e, kid := range c.Node.Entries(dir) {
		if !strings.HasPrefix(e, ".") || set.Has("aA") {
			c.Println(listed(e, kid, set))
		}
	}
}

// listed is an entry's line: its name, or with -l all of it.
func listed(name string, i *host.Inode, set host.Flags) string {
	if !set.Has("l") {
		return name
	}
	l := fmt.Sprintf("%s 1 %s %s %5d Nov 21 06:00 %s", modeText(i.Mode), i.Owner(), i.Owner(), i.Size(), name)
	if i.Target != "" {
		l += " -> " + i.Target
	}
	return l
}

// modeText has Go's nine letters behind the kind's one, which Go writes otherwise.
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
