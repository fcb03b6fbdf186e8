package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// The programs that make, move and remove files.

func (i *inode) owner() string {
	if i.user {
		return "nvidia"
	}
	return "root"
}

// fileMode reads chmod's modes: 700, u+x, go-rwx, a=r. A directory's letters
// are the same.
func fileMode(text string, was fs.FileMode) (fs.FileMode, bool) {
	if bits, err := strconv.ParseUint(text, 8, 16); err == nil {
		return was&^fs.ModePerm | fs.FileMode(bits)&fs.ModePerm, true
	}
	mode := was
	for clause := range strings.SplitSeq(text, ",") {
		at := strings.IndexAny(clause, "+-=")
		if at < 0 {
			return 0, false
		}
		var who, bits fs.FileMode
		for _, c := range clause[:at] {
			group, ok := map[rune]fs.FileMode{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}[c]
			if !ok {
				return 0, false
			}
			who |= group
		}
		if at == 0 {
			who = 0o777
		}
		for _, c := range clause[at+1:] {
			bit, ok := map[rune]fs.FileMode{'r': 0o444, 'w': 0o222, 'x': 0o111, 'X': 0o111}[c]
			if !ok {
				return 0, false
			}
			bits |= bit
		}
		switch clause[at] {
		case '+':
			mode |= who & bits
		case '-':
			mode &^= who & bits
		default:
			mode = mode&^who | who&bits
		}
	}
	return mode, true
}

func runMkdir(_ context.Context, c *call) int {
	set, dirs, ok := c.flags("m")
	if !ok {
		return 1
	}
	if len(dirs) == 0 {
		return c.fail(1, "mkdir: missing operand\nTry 'mkdir --help' for more information.")
	}
	code := 0
	for _, name := range dirs {
		c.locked(func() {
			mode := 0o777 &^ c.umask()
			if has(set, "p") {
				for i, r := range c.path(name) {
					if r == '/' && i > 0 {
						// The last one tells what is wrong, if anything is.
						_ = c.node.mkdir(c.path(name)[:i], c.root, mode|0o300)
					}
				}
			}
			if text := last(set, 'm', ""); text != "" {
				if mode, ok = fileMode(text, 0o777); !ok {
					code = c.fail(1, "mkdir: invalid mode ‘%s’", text)
					return
				}
			}
			err := c.node.mkdir(c.path(name), c.root, mode)
			if i, _, found := c.node.walk(c.path(name), true, c.root); has(set, "p") && found == nil && i.kids != nil {
				return
			}
			if err != nil {
				code = c.fail(1, "mkdir: cannot create directory ‘%s’: %s", name, errorText(err))
			}
		})
	}
	return code
}

func runRmdir(_ context.Context, c *call) int {
	_, dirs, ok := c.flags("")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range dirs {
		c.locked(func() {
			i, _, err := c.node.walk(c.path(name), false, c.root)
			switch {
			case err != nil:
			case i.kids == nil:
				err = syscall.ENOTDIR
			case len(i.kids) > 0:
				err = syscall.ENOTEMPTY
			default:
				_, err = c.node.leave(c.path(name), c.root)
			}
			if err != nil {
				code = c.fail(1, "rmdir: failed to remove '%s': %s", name, errorText(err))
			}
		})
	}
	return code
}

func runRm(_ context.Context, c *call) int {
	set, files, ok := c.flags("")
	if !ok {
		return 1
	}
	if len(files) == 0 && !has(set, "f") {
		return c.fail(1, "rm: missing operand\nTry 'rm --help' for more information.")
	}
	code := 0
	for _, name := range files {
		c.locked(func() {
			i, _, err := c.node.walk(c.path(name), false, c.root)
			switch {
			case errors.Is(err, syscall.ENOENT) && has(set, "f"):
				return
			case err == nil && i.kids != nil && !has(set, "rR"):
				err = syscall.EISDIR
			case err == nil:
				_, err = c.node.leave(c.path(name), c.root)
			}
			if err != nil {
				code = c.fail(1, "rm: cannot remove '%s': %s", name, errorText(err))
			}
		})
	}
	return code
}

func runMv(_ context.Context, c *call) int {
	set, names, ok := c.flags("")
	if !ok {
		return 1
	}
	switch len(names) {
	case 0:
		return c.fail(1, "mv: missing file operand\nTry 'mv --help' for more information.")
	case 1:
		return c.fail(1, "mv: missing destination file operand after '%s'\nTry 'mv --help' for more information.", names[0])
	}
	to := names[len(names)-1]
	code := 0
	c.locked(func() {
		i, _, err := c.node.walk(c.path(to), true, c.root)
		into := err == nil && i.kids != nil && !has(set, "T")
		if len(names) > 2 && !into {
			code = c.fail(1, "mv: target '%s': No such file or directory", to)
			return
		}
		for _, from := range names[:len(names)-1] {
			code = max(code, c.move(from, to, into, has(set, "n")))
		}
	})
	return code
}

func (c *call) move(from, to string, into, keep bool) int {
	if into {
		to = strings.TrimRight(to, "/") + "/" + path.Base(from)
	}
	if _, _, err := c.node.walk(c.path(from), false, c.root); err != nil {
		return c.fail(1, "mv: cannot stat '%s': %s", from, errorText(err))
	}
	if _, _, err := c.node.walk(c.path(to), false, c.root); err == nil && keep {
		return 0
	}
	if err := c.node.rename(c.path(from), c.path(to), c.root); err != nil {
		return c.fail(1, "mv: cannot move '%s' to '%s': %s", from, to, errorText(err))
	}
	return 0
}

func runTouch(_ context.Context, c *call) int {
	code := 0
	for _, name := range c.args[1:] {
		c.locked(func() {
			if _, err := c.node.create(c.path(name), c.root, 0o666&^c.umask()); err != nil {
				code = c.fail(1, "touch: cannot touch '%s': %s", name, errorText(err))
			}
		})
	}
	return code
}

func runChmod(_ context.Context, c *call) int {
	args := c.args[1:]
	recursive := len(args) > 0 && args[0] == "-R"
	if recursive {
		args = args[1:]
	}
	if len(args) < 2 {
		return c.fail(1, "chmod: missing operand\nTry 'chmod --help' for more information.")
	}
	code := 0
	for _, name := range args[1:] {
		c.locked(func() {
			i, real, err := c.node.walk(c.path(name), true, c.root)
			if err != nil {
				code = c.fail(1, "chmod: cannot access '%s': %s", name, errorText(err))
				return
			}
			if c.node.files[real] != i || !c.root && !i.user {
				code = c.fail(1, "chmod: changing permissions of '%s': Operation not permitted", name)
				return
			}
			change := func(_ string, i *inode) {
				mode, ok := fileMode(args[0], i.mode)
				if !ok {
					code = 1
					return
				}
				i.mode = mode
			}
			if change(name, i); recursive {
				i.below(real, change)
			}
			if code != 0 {
				c.fail(1, "chmod: invalid mode: ‘%s’\nTry 'chmod --help' for more information.", args[0])
			}
		})
	}
	return code
}

// runMktemp makes a file or, with -d, a directory that nobody else can open.
func runMktemp(_ context.Context, c *call) int {
	set, rest, ok := c.flags("p")
	if !ok {
		return 1
	}
	template := "/tmp/tmp.XXXXXXXXXX"
	if len(rest) > 0 {
		template = rest[0]
		if dir := last(set, 'p', map[bool]string{true: "/tmp"}[has(set, "t")]); dir != "" {
			template = dir + "/" + template
		}
	} else if dir := last(set, 'p', ""); dir != "" {
		template = dir + "/tmp.XXXXXXXXXX"
	}
	stem := strings.TrimRight(template, "X")
	if len(template)-len(stem) < 3 {
		return c.fail(1, "mktemp: too few X's in template ‘%s’", template)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	code := 0
	c.locked(func() {
		rnd := c.node.Random("mktemp")
		random := make([]byte, len(template)-len(stem))
		for i := range random {
			random[i] = letters[rnd.IntN(len(letters))]
		}
		name := stem + string(random)
		kind, err := "file", error(nil)
		if has(set, "d") {
			kind, err = "directory", c.node.mkdir(c.path(name), c.root, 0o700)
		} else {
			_, err = c.node.create(c.path(name), c.root, 0o600)
		}
		if err != nil {
			code = c.fail(1, "mktemp: failed to create %s via template ‘%s’: %s", kind, template, errorText(err))
			return
		}
		c.println(name)
	})
	return code
}

// umask is the shell's; sudo's is at least root's own.
func (c *call) umask() fs.FileMode {
	if c.root && !c.sh.root {
		return c.sh.umask | 0o022
	}
	return c.sh.umask
}

func runUmask(_ context.Context, c *call) int {
	code := 0
	c.locked(func() {
		if len(c.args) == 1 {
			c.println(fmt.Sprintf("%04o", c.sh.umask))
			return
		}
		bits, err := strconv.ParseUint(c.args[1], 8, 16)
		if err != nil {
			code = c.fail(2, "sh: 1: umask: Illegal number: %s", c.args[1])
			return
		}
		c.sh.umask = fs.FileMode(bits) & fs.ModePerm
	})
	return code
}
