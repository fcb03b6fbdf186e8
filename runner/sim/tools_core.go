package sim

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The small programs of every Unix, as far as scripts about a rig use them.

func runEcho(_ context.Context, c *call) int {
	args, end := c.args[1:], "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	c.printf("%s%s", strings.Join(args, " "), end)
	return 0
}

// inputs calls f with the text of each file, or of stdin where there is none.
func (c *call) inputs(files []string, f func(name, text string)) int {
	code := 0
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		text, err := c.read(name)
		if err != nil {
			code = c.fail(1, "%s: %s: %s", c.program(), name, errorText(err))
			continue
		}
		f(name, text)
	}
	return code
}

func runCat(_ context.Context, c *call) int {
	_, files, ok := c.flags("")
	if !ok {
		return 1
	}
	if len(files) == 0 {
		// As it comes: what is piped in may not end for a while.
		if _, err := io.Copy(c.raw, c.in); err != nil {
			return 1
		}
		return 0
	}
	return c.inputs(files, func(_, text string) { c.out.WriteString(text) })
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func lineCount(c *call, set map[byte][]string) (n int, from bool, ok bool) {
	value := last(set, 'n', "10")
	value, from = strings.CutPrefix(value, "+")
	n, err := strconv.Atoi(strings.TrimPrefix(value, "-"))
	if err != nil {
		c.fail(1, "%s: invalid number of lines: ‘%s’", c.program(), value)
		return 0, false, false
	}
	return n, from, true
}

// oldCount turns head's ancient -5 into -n 5.
func oldCount(args []string) []string {
	var out []string
	for _, a := range args {
		if len(a) > 1 && a[0] == '-' && a[1] >= '0' && a[1] <= '9' {
			a = "-n" + a[1:]
		}
		out = append(out, a)
	}
	return out
}

func runHead(_ context.Context, c *call) int {
	c.args = oldCount(c.args)
	set, files, ok := c.flags("nc")
	if !ok {
		return 1
	}
	if has(set, "c") {
		n, _ := strconv.Atoi(last(set, 'c', "0"))
		return c.inputs(files, func(_, text string) { c.out.WriteString(text[:min(n, len(text))]) })
	}
	n, _, ok := lineCount(c, set)
	if !ok {
		return 1
	}
	if len(files) == 0 {
		// Who writes may never come to an end by himself.
		in := bufio.NewReader(c.in)
		for range n {
			line, err := in.ReadString('\n')
			c.out.WriteString(line)
			if err != nil {
				break
			}
		}
		return 0
	}
	return c.inputs(files, func(_, text string) {
		for _, l := range splitLines(text)[:min(n, len(splitLines(text)))] {
			c.println(l)
		}
	})
}

func runTail(_ context.Context, c *call) int {
	c.args = oldCount(c.args)
	set, files, ok := c.flags("nc")
	if !ok {
		return 1
	}
	n, from, ok := lineCount(c, set)
	if !ok {
		return 1
	}
	return c.inputs(files, func(_, text string) {
		lines := splitLines(text)
		start := max(0, len(lines)-n)
		if from {
			start = min(max(0, n-1), len(lines))
		}
		for _, l := range lines[start:] {
			c.println(l)
		}
	})
}

func runWc(_ context.Context, c *call) int {
	set, files, ok := c.flags("")
	if !ok {
		return 1
	}
	return c.inputs(files, func(name, text string) {
		var cols []string
		for _, col := range []struct {
			letter string
			n      int
		}{{"l", strings.Count(text, "\n")}, {"w", len(strings.Fields(text))}, {"c", len(text)}} {
			if len(set) == 0 || has(set, col.letter) {
				cols = append(cols, strconv.Itoa(col.n))
			}
		}
		if name != "-" {
			cols = append(cols, name)
		}
		c.println(strings.Join(cols, " "))
	})
}

func runSort(_ context.Context, c *call) int {
	set, files, ok := c.flags("kt")
	if !ok {
		return 2
	}
	var lines []string
	code := c.inputs(files, func(_, text string) { lines = append(lines, splitLines(text)...) })
	key := func(l string) string {
		k, err := strconv.Atoi(strings.TrimRight(strings.Split(last(set, 'k', ""), ",")[0], "nr"))
		if err != nil || k < 1 {
			return l
		}
		fields := strings.Fields(l)
		if sep := last(set, 't', ""); sep != "" {
			fields = strings.Split(l, sep)
		}
		if k > len(fields) {
			return ""
		}
		return fields[k-1]
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		if has(set, "n") {
			x, _ := strconv.ParseFloat(strings.TrimSpace(key(a)), 64)
			y, _ := strconv.ParseFloat(strings.TrimSpace(key(b)), 64)
			if d := cmp.Compare(x, y); d != 0 {
				return d
			}
		}
		return cmp.Compare(key(a), key(b))
	})
	if has(set, "r") {
		slices.Reverse(lines)
	}
	if has(set, "u") {
		lines = slices.Compact(lines)
	}
	for _, l := range lines {
		c.println(l)
	}
	return code
}

func runUniq(_ context.Context, c *call) int {
	set, files, ok := c.flags("")
	if !ok {
		return 1
	}
	return c.inputs(files, func(_, text string) {
		lines := splitLines(text)
		for i := 0; i < len(lines); {
			j := i
			for j < len(lines) && lines[j] == lines[i] {
				j++
			}
			if has(set, "c") {
				c.printf("%7d %s\n", j-i, lines[i])
			} else {
				c.println(lines[i])
			}
			i = j
		}
	})
}

// trSet expands ranges and escapes.
func trSet(s string) []rune {
	s = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\000`, "\x00", `\0`, "\x00", `\\`, `\`, "[:space:]", " \t\n\r\v\f",
		"[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]", "abcdefghijklmnopqrstuvwxyz",
		"[:digit:]", "0123456789").Replace(s)
	in := []rune(s)
	var out []rune
	for i := 0; i < len(in); i++ {
		if i+2 < len(in) && in[i+1] == '-' && in[i] <= in[i+2] {
			for r := in[i]; r <= in[i+2]; r++ {
				out = append(out, r)
			}
			i += 2
			continue
		}
		out = append(out, in[i])
	}
	return out
}

func runTr(_ context.Context, c *call) int {
	set, sets, ok := c.flags("")
	if !ok || len(sets) == 0 {
		return c.fail(1, "tr: missing operand")
	}
	from := trSet(sets[0])
	var to []rune
	if len(sets) > 1 {
		to = trSet(sets[1])
	}
	b, _ := io.ReadAll(c.in)
	var prev rune = -1
	for _, r := range string(b) {
		i := slices.Index(from, r)
		if has(set, "cC") {
			// What is not in the set is what is meant, as its last letter.
			if i >= 0 {
				i = -1
			} else {
				i = max(0, len(to)-1)
			}
		}
		if i >= 0 && has(set, "d") {
			continue
		}
		squeezed := i >= 0 && has(set, "s")
		if i >= 0 && len(to) > 0 {
			r = to[min(i, len(to)-1)]
		}
		if squeezed && r == prev {
			continue
		}
		prev = r
		c.out.WriteRune(r)
	}
	return 0
}

func runCut(_ context.Context, c *call) int {
	set, files, ok := c.flags("dfcb")
	if !ok {
		return 1
	}
	list := last(set, 'f', last(set, 'c', last(set, 'b', "")))
	if list == "" {
		return c.fail(1, "cut: you must specify a list of bytes, characters, or fields")
	}
	wanted := func(i int) bool {
		for part := range strings.SplitSeq(list, ",") {
			lo, hi, isRange := strings.Cut(part, "-")
			a, _ := strconv.Atoi(lo)
			b := a
			if isRange {
				if b, _ = strconv.Atoi(hi); hi == "" {
					b = 1 << 30
				}
			}
			if i >= a && i <= b {
				return true
			}
		}
		return false
	}
	sep := last(set, 'd', "\t")
	return c.inputs(files, func(_, text string) {
		for _, l := range splitLines(text) {
			if has(set, "cb") {
				for i, r := range []byte(l) {
					if wanted(i + 1) {
						c.out.WriteByte(r)
					}
				}
				c.println("")
				continue
			}
			fields := strings.Split(l, sep)
			if len(fields) == 1 {
				if !has(set, "s") {
					c.println(l)
				}
				continue
			}
			var kept []string
			for i, f := range fields {
				if wanted(i + 1) {
					kept = append(kept, f)
				}
			}
			c.println(strings.Join(kept, sep))
		}
	})
}

func runSeq(_ context.Context, c *call) int {
	var n []float64
	for _, a := range c.args[1:] {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return c.fail(1, "seq: invalid floating point argument: ‘%s’", a)
		}
		n = append(n, v)
	}
	first, step := 1.0, 1.0
	switch len(n) {
	case 1:
	case 2:
		first = n[0]
	case 3:
		first, step = n[0], n[1]
	default:
		return c.fail(1, "seq: missing operand")
	}
	if step == 0 {
		return c.fail(1, "seq: invalid Zero increment value: ‘0’")
	}
	end := n[len(n)-1]
	for i := 0; ; i++ {
		v := first + float64(i)*step
		if step > 0 && v > end || step < 0 && v < end || i > 1e6 {
			return 0
		}
		c.println(strconv.FormatFloat(v, 'f', -1, 64))
	}
}

// seconds reads sleep's and timeout's times: 0.1, 5s, 2m.
func seconds(text string) (time.Duration, bool) {
	unit := time.Second
	if text != "" {
		switch text[len(text)-1] {
		case 's':
			text = text[:len(text)-1]
		case 'm':
			unit, text = time.Minute, text[:len(text)-1]
		case 'h':
			unit, text = time.Hour, text[:len(text)-1]
		case 'd':
			unit, text = 24*time.Hour, text[:len(text)-1]
		}
	}
	if text == "infinity" {
		return 1 << 62, true
	}
	v, err := strconv.ParseFloat(text, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
}

func runSleep(ctx context.Context, c *call) int {
	var sum time.Duration
	for _, a := range c.args[1:] {
		d, ok := seconds(a)
		if !ok {
			return c.fail(1, "sleep: invalid time interval ‘%s’\nTry 'sleep --help' for more information.", a)
		}
		sum += d
	}
	if len(c.args) == 1 {
		return c.fail(1, "sleep: missing operand\nTry 'sleep --help' for more information.")
	}
	if !c.node.rack.Clock.Sleep(ctx, sum) {
		return 143
	}
	return 0
}

func runTimeout(ctx context.Context, c *call) int {
	args := c.args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if (args[0] == "-k" || args[0] == "-s") && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return c.fail(125, "timeout: missing operand\nTry 'timeout --help' for more information.")
	}
	limit, ok := seconds(args[0])
	if !ok {
		return c.fail(125, "timeout: invalid time interval ‘%s’", args[0])
	}
	inner := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		inner, cancel = c.node.rack.Clock.WithTimeout(ctx, limit, nil)
		defer cancel()
	}
	sub := *c
	sub.in = c.in
	if in, ok := c.in.(pipeReader); ok {
		sub.in = pipeReader{inner, in.p}
	}
	code := sub.exec(inner, args[1:])
	if inner.Err() != nil && ctx.Err() == nil {
		return 124
	}
	return code
}

// runNice is for programs that run another one unchanged.
func runNice(ctx context.Context, c *call) int {
	args := c.args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-n" && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	return c.exec(ctx, args)
}

func runStdbuf(ctx context.Context, c *call) int {
	set, rest, ok := c.flags("ioe")
	if !ok || len(rest) == 0 {
		return c.fail(125, "stdbuf: missing operand")
	}
	sub := *c
	if mode := last(set, 'o', ""); mode == "L" || mode == "0" {
		sub.live = true
	}
	return sub.exec(ctx, rest)
}

func runEnv(ctx context.Context, c *call) int {
	if c.program() == "printenv" && len(c.args) > 1 {
		v := c.env(c.args[1])
		if v == "" {
			return 1
		}
		c.println(v)
		return 0
	}
	args := c.args[1:]
	sub := *c
	list := c.exported()
	for len(args) > 0 {
		switch {
		case args[0] == "-i" || args[0] == "-":
			list = nil
		case args[0] == "-u" && len(args) > 1:
			list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, args[1]+"=") })
			args = args[1:]
		case strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "="):
			name, _, _ := strings.Cut(args[0], "=")
			list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			list = append(list, args[0])
		default:
			sub.exported = func() []string { return list }
			sub.env = valueIn(list)
			return sub.exec(ctx, args)
		}
		args = args[1:]
	}
	for _, kv := range list {
		c.println(kv)
	}
	return 0
}

// valueIn looks variables up in an environment.
func valueIn(env []string) func(string) string {
	return func(name string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

func runDate(_ context.Context, c *call) int {
	t := c.node.rack.Clock.Wall().UTC()
	format := "%a %b %e %H:%M:%S %Z %Y"
	for _, a := range c.args[1:] {
		switch {
		case strings.HasPrefix(a, "+"):
			format = a[1:]
		case a == "-Is" || a == "-Iseconds":
			format = "%Y-%m-%dT%H:%M:%S+00:00"
		case a == "-u":
		case a == "-R":
			format = "%a, %d %b %Y %H:%M:%S +0000"
		}
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		digits := 9
		if format[i] >= '1' && format[i] <= '9' && i+1 < len(format) {
			digits = int(format[i] - '0')
			i++
		}
		switch format[i] {
		case 's':
			fmt.Fprint(&b, t.Unix())
		case 'N':
			b.WriteString(fmt.Sprintf("%09d", t.Nanosecond())[:digits])
		case 'e':
			fmt.Fprintf(&b, "%2d", t.Day())
		case 'Z':
			b.WriteString("UTC")
		case 'n':
			b.WriteByte('\n')
		case '%':
			b.WriteByte('%')
		default:
			layout, ok := map[byte]string{
				'a': "Mon", 'b': "Jan", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'Y': "2006", 'm': "01",
				'y': "06", 'F': "2006-01-02", 'T': "15:04:05", 'z': "-0700", 'A': "Monday", 'B': "January",
				'j': "002", 'R': "15:04", 'D': "01/02/06", 'I': "03", 'p': "PM", 'c': "Mon Jan _2 15:04:05 2006",
			}[format[i]]
			if !ok {
				b.WriteString(format[i-1 : i+1])
				continue
			}
			b.WriteString(t.Format(layout))
		}
	}
	c.println(b.String())
	return 0
}

func runPwd(_ context.Context, c *call) int {
	c.locked(func() {
		if _, real, err := c.node.lookup(c.dir, true); err == nil {
			c.dir = real
		}
	})
	c.println(c.dir)
	return 0
}

func runBasename(_ context.Context, c *call) int {
	if len(c.args) < 2 {
		return c.fail(1, "basename: missing operand")
	}
	b := path.Base(c.args[1])
	if len(c.args) > 2 && b != c.args[2] {
		b = strings.TrimSuffix(b, c.args[2])
	}
	c.println(b)
	return 0
}

func runDirname(_ context.Context, c *call) int {
	if len(c.args) < 2 {
		return c.fail(1, "dirname: missing operand")
	}
	c.println(path.Dir(strings.TrimRight(c.args[1], "/")))
	return 0
}

func runReadlink(_ context.Context, c *call) int {
	set, files, ok := c.flags("")
	if !ok || len(files) == 0 {
		return c.fail(1, "%s: missing operand", c.program())
	}
	code := 0
	for _, name := range files {
		c.locked(func() {
			if c.program() == "realpath" || has(set, "fem") {
				_, real, err := c.node.walk(c.path(name), true, c.root)
				switch {
				case err == nil:
					c.println(real)
				case !has(set, "e") && c.program() != "realpath":
					// -f lets the last part be missing.
					if _, dir, err := c.node.walk(path.Dir(c.path(name)), true, c.root); err == nil {
						c.println(path.Join(dir, path.Base(name)))
						return
					}
					code = 1
				default:
					code = 1
					if c.program() == "realpath" {
						c.fail(1, "realpath: %s: %s", name, errorText(err))
					}
				}
				return
			}
			i, _, err := c.node.walk(c.path(name), false, c.root)
			if err != nil || i.mode&fs.ModeSymlink == 0 {
				code = 1
				return
			}
			c.println(i.target)
		})
	}
	return code
}

func runLs(_ context.Context, c *call) int {
	set, names, ok := c.flags("")
	if !ok {
		return 2
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	long := func(name string, i *inode) string {
		size := info{name, i}.Size()
		l := fmt.Sprintf("%s 1 %s %s %5d Nov 21 06:00 %s", modeText(i.mode), i.owner(), i.owner(), size, name)
		if i.target != "" {
			l += " -> " + i.target
		}
		return l
	}
	var files, dirs []string
	c.locked(func() {
		for _, name := range names {
			i, _, err := c.node.walk(c.path(name), true, c.root)
			if err == nil && has(set, "ld") && !strings.HasSuffix(name, "/") {
				i, _, err = c.node.walk(c.path(name), false, c.root)
			}
			switch {
			case err != nil:
				code = c.fail(2, "ls: cannot access '%s': %s", name, errorText(err))
			case i.kids != nil && !has(set, "d") && !i.may(c.root, toRead):
				code = c.fail(2, "ls: cannot open directory '%s': Permission denied", name)
			case i.kids != nil && !has(set, "d"):
				dirs = append(dirs, name)
			case has(set, "l"):
				files = append(files, long(name, i))
			default:
				files = append(files, name)
			}
		}
		for _, f := range files {
			c.println(f)
		}
		for k, name := range dirs {
			if len(names) > 1 {
				if k > 0 || len(files) > 0 {
					c.println("")
				}
				c.printf("%s:\n", name)
			}
			dir, _, _ := c.node.walk(c.path(name), true, c.root)
			if has(set, "l") {
				c.println("total 0")
			}
			entries := dir.names()
			if !has(set, "aA") {
				entries = slices.DeleteFunc(entries, func(n string) bool { return strings.HasPrefix(n, ".") })
			}
			for _, e := range entries {
				if has(set, "l") {
					c.println(long(e, dir.kids[e]))
				} else {
					c.println(e)
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

func runStat(_ context.Context, c *call) int {
	set, files, ok := c.flags("c")
	if !ok || len(files) == 0 {
		return c.fail(1, "stat: missing operand")
	}
	code := 0
	c.locked(func() {
		for _, name := range files {
			i, _, err := c.node.walk(c.path(name), false, c.root)
			if err != nil {
				code = c.fail(1, "stat: cannot statx '%s': %s", name, errorText(err))
				continue
			}
			c.println(strings.NewReplacer("%n", name, "%s", fmt.Sprint(info{name, i}.Size()),
				"%U", i.owner(), "%u", map[bool]string{true: "1000", false: "0"}[i.user],
				"%a", fmt.Sprintf("%o", i.mode.Perm())).Replace(last(set, 'c', "  File: %n\n  Size: %s")))
		}
	})
	return code
}

func runTest(_ context.Context, c *call) int {
	args := c.args[1:]
	if len(args) == 2 && args[0][0] == '-' {
		_, err := c.read(args[1])
		if err == nil || errors.Is(err, syscall.EISDIR) && args[0] != "-f" {
			return 0
		}
	}
	return 1
}

func runFind(_ context.Context, c *call) int {
	var roots []string
	args := c.args[1:]
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") || len(args) > 0 && args[0] == "-L" {
		if args[0] != "-L" {
			roots = append(roots, args[0])
		}
		args = args[1:]
	}
	depth, pattern := 1<<30, "*"
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "-maxdepth":
			depth, _ = strconv.Atoi(args[i+1])
		case "-name":
			pattern = args[i+1]
		}
	}
	code := 0
	c.locked(func() {
		var walk func(name string, i *inode, level int)
		walk = func(name string, i *inode, level int) {
			if ok, _ := path.Match(pattern, path.Base(name)); ok {
				c.println(name)
			}
			if level >= depth {
				return
			}
			for _, kid := range i.names() {
				walk(strings.TrimSuffix(name, "/")+"/"+kid, i.kids[kid], level+1)
			}
		}
		for _, root := range roots {
			i, _, err := c.node.walk(c.path(root), strings.HasSuffix(root, "/"), c.root)
			if err != nil {
				code = c.fail(1, "find: ‘%s’: %s", root, errorText(err))
				continue
			}
			walk(root, i, 0)
		}
	})
	return code
}

func runTee(_ context.Context, c *call) int {
	set, files, ok := c.flags("")
	if !ok {
		return 1
	}
	b, _ := io.ReadAll(c.in)
	code := 0
	for _, name := range files {
		c.locked(func() {
			if name == "/dev/null" {
				return
			}
			f, err := c.node.create(c.path(name), c.root, 0o666&^c.umask())
			if err != nil {
				code = c.fail(1, "tee: %s: %s", name, errorText(err))
				return
			}
			if !has(set, "a") {
				f.data = nil
			}
			f.data = append(f.data, b...)
		})
	}
	c.out.Write(b)
	return code
}
