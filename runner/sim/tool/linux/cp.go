package linux

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runCp copies files, and with -a or -r folders, into a folder or to a name.
func runCp(_ context.Context, c *host.Call) int {
	set, names, ok := c.Flags("")
	if !ok {
		return 1
	}
	if len(names) < 2 {
		return c.Fail(1, "cp: missing file operand\nTry 'cp --help' for more information.")
	}
	to := names[len(names)-1]
	code := 0
	c.Locked(func() {
		i, _, err := c.Node.Walk(c.Path(to), true, c.Root)
		into := err == nil && i.Kids != nil
		if len(names) > 2 && !into {
			code = c.Fail(1, "cp: target '%s': No such file or directory", to)
			return
		}
		for _, from := range names[:len(names)-1] {
			dest := to
			if into {
				dest = strings.TrimRight(to, "/") + "/" + path.Base(from)
			}
			code = max(code, copyTo(c, from, dest, set.Has("a") || set.Has("r") || set.Has("R"), set.Has("a") || set.Has("p")))
		}
	})
	return code
}

// copyTo copies an entry to a name; keep is its mode, too.
func copyTo(c *host.Call, from, to string, deep, keep bool) (code int) {
	i, _, err := c.Node.Walk(c.Path(from), true, c.Root)
	switch {
	case err != nil:
		return c.Fail(1, "cp: cannot stat '%s': %s", from, host.ErrorText(err))
	case i.Kids != nil && !deep:
		return c.Fail(1, "cp: -r not specified; omitting directory '%s'", from)
	}
	mode := i.Mode
	if !keep {
		mode &^= c.Umask()
	}
	if i.Kids != nil {
		// Into one that is there it is merged.
		if _, _, err := c.Node.Walk(c.Path(to), true, c.Root); err != nil {
			if err := c.Node.Mkdir(c.Path(to), c.Root, mode.Perm()); err != nil {
				return c.Fail(1, "cp: cannot create directory '%s': %s", to, host.ErrorText(err))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(i.Kids)) {
			code = max(code, copyTo(c, from+"/"+name, to+"/"+name, deep, keep))
		}
		return code
	}
	text, err := c.Node.ReadFile(c.Path(from), c.Root)
	if err != nil {
		return c.Fail(1, "cp: cannot open '%s' for reading: %s", from, host.ErrorText(err))
	}
	if err := WriteFile(c, c.Path(to), text); err != nil {
		return c.Fail(1, "cp: cannot create regular file '%s': %s", to, host.ErrorText(err))
	}
	if copied, _, err := c.Node.Walk(c.Path(to), true, c.Root); err == nil && keep {
		copied.Mode = mode
	}
	return 0
}

// WriteFile puts a text in the place of what a file has, or makes it. Callers hold the rig's lock.
func WriteFile(c *host.Call, name, text string) error {
	f, err := c.Node.Create(name, c.Root, 0o666&^c.Umask())
	if err != nil {
		return err
	}
	f.Data = nil
	return f.Append([]byte(text))
}
