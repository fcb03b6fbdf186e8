package linux

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

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
		// Without a letter all are meant. chmod leaves out what the umask has, which no script relies on.
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

// runChmod changes modes of files that the user has, and below a folder with -R. A mode that can't be read
// changes nothing more, and what was changed before stays so.
func runChmod(_ context.Context, c *host.Call) int {
	args := c.Args[1:]
	recursive := len(args) > 0 && args[0] == "-R"
	if recursive {
		args = args[1:]
	}
	if len(args) < 2 {
		return c.Fail(1, "chmod: missing operand\nTry 'chmod --help' for more information.")
	}
	code := 0
	for _, name := range args[1:] {
		c.Locked(func() {
			i, real, err := c.Node.Walk(c.Path(name), true, c.Root)
			if err != nil {
				code = c.Fail(1, "chmod: cannot access '%s': %s", name, host.ErrorText(err))
				return
			}
			// What isn't among the files is the kernel's, sysfs and proc: its mode can't be changed.
			if c.Node.Files[real] != i || !c.Root && !i.User {
				code = c.Fail(1, "chmod: changing permissions of '%s': Operation not permitted", name)
				return
			}
			change := func(_ string, i *host.Inode) {
				mode, ok := fileMode(args[0], i.Mode)
				if !ok {
					code = 1
					return
				}
				i.Chmod(mode)
			}
			if change(name, i); recursive {
				i.Below(real, change)
			}
			if code != 0 {
				c.Fail(1, "chmod: invalid mode: ‘%s’\nTry 'chmod --help' for more information.", args[0])
			}
		})
	}
	return code
}
