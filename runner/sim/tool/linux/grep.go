package linux

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/railbench/railbench/runner/sim/host"
)

// runGrep is grep with the options that scripts use on sysfs and on output:
// -E -F -q -i -v -x -w -c -o -n -l -L -h -H -s -r -e -m -A -B.
func runGrep(_ context.Context, c *host.Call) int {
	options, plain := grepArguments(c.Args[1:])
	sub := *c
	sub.Args = append([]string{c.Args[0]}, options...)
	set, _, ok := sub.Flags("emABCf")
	if !ok {
		return 2
	}
	patterns, files := set['e'], plain
	if patterns == nil {
		if len(plain) == 0 {
			return c.Fail(2, "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.")
		}
		patterns, files = plain[:1], plain[1:]
	}
	re, err := grepPattern(patterns, set, c.Program())
	if err != nil {
		return c.Fail(2, "grep: %v", err)
	}
	g := grep{c: c, set: set, re: re, code: 1, limit: 1 << 30}
	// What has no pattern in it is looked for as a text: scripts grep sysfs thousands of times.
	g.literal, g.plain = re.LiteralPrefix()
	number := func(letter byte, otherwise string) int {
		n, _ := strconv.Atoi(set.Last(letter, otherwise))
		return n
	}
	if set.Has("m") {
		g.limit = number('m', "1")
	}
	g.after, g.before = number('A', set.Last('C', "0")), number('B', set.Last('C', "0"))
	look, otherwise := g.file, "-"
	if set.Has("rR") {
		look, otherwise = g.walk, "."
	}
	if len(files) == 0 {
		files = []string{otherwise}
	}
	g.named = (len(files) > 1 || set.Has("rRH")) && !set.Has("h")
	for _, name := range files {
		if look(name); g.found && set.Has("q") {
			return 0
		}
	}
	// An unreadable file makes it 2 even where another matched, unless -q has ended it.
	if g.failed {
		return 2
	}
	return g.code
}

// grepArguments parts the options from the others: they may stand behind the pattern and
// between the files.
func grepArguments(args []string) (options, plain []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return options, append(plain, args[i+1:]...)
		case strings.HasPrefix(a, "--color"):
		case len(a) > 1 && a[0] == '-':
			options = append(options, a)
			if strings.ContainsRune("emABCf", rune(a[len(a)-1])) && i+1 < len(args) {
				i++
				options = append(options, args[i])
			}
		default:
			plain = append(plain, a)
		}
	}
	return options, plain
}

// grepPattern joins the patterns to one expression.
func grepPattern(patterns []string, set host.Flags, program string) (*regexp.Regexp, error) {
	var parts []string
	for _, p := range patterns {
		for p := range strings.SplitSeq(p, "\n") {
			switch {
			case set.Has("F") || program == "fgrep":
				p = regexp.QuoteMeta(p)
			case set.Has("EP") || program == "egrep":
			default:
				p = basicToExtended(p)
			}
			parts = append(parts, "(?:"+p+")")
		}
	}
	expr := strings.Join(parts, "|")
	if set.Has("w") {
		expr = `\b(?:` + expr + `)\b`
	}
	if set.Has("x") {
		expr = `^(?:` + expr + `)$`
	}
	if set.Has("i") {
		expr = `(?i)` + expr
	}
	return host.Compiled(expr)
}

// basicToExtended swaps what a backslash means: in a basic expression \| is an
// alternative and | is a letter.
func basicToExtended(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch ch := p[i]; {
		case ch == '\\' && i+1 < len(p):
			i++
			if !strings.ContainsRune("|+?(){}", rune(p[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(p[i])
		case ch == '[':
			// A ] that stands first in a bracket is one of its letters.
			end := strings.IndexByte(p[min(i+2, len(p)):], ']')
			if end < 0 {
				b.WriteString(p[i:])
				return b.String()
			}
			b.WriteString(p[i : i+3+end])
			i += 2 + end
		case strings.ContainsRune("|+?(){}", rune(ch)):
			b.WriteByte('\\')
			b.WriteByte(ch)
		// Nothing is before it that could come again.
		case ch == '*' && i == 0:
			b.WriteString(`\*`)
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// grep is one run over files: what is asked for, and what has come of it up to now.
type grep struct {
	c             *host.Call
	set           host.Flags
	re            *regexp.Regexp
	literal       string // what every match begins with
	plain         bool   // a line with it matches
	named         bool
	found, failed bool
	code          int
	limit         int // matches of a file, at most
	after, before int // lines that are shown around one
	single        [1]string
}

// walk looks into a folder and all below it, in the order of names. The lock is let go before a file is read:
// reading takes it.
func (g *grep) walk(name string) {
	var kids []string
	dir := false
	g.c.Locked(func() {
		i, _, err := g.c.Node.Lookup(g.c.Path(name), true)
		if err != nil || i.Kids == nil {
			return
		}
		dir = true
		for _, k := range i.Names() {
			// -r follows no links: sysfs is full of circles.
			if i.Kids[k].Mode&fs.ModeSymlink == 0 {
				kids = append(kids, strings.TrimSuffix(name, "/")+"/"+k)
			}
		}
	})
	if !dir {
		g.file(name)
		return
	}
	for _, k := range kids {
		g.walk(k)
	}
}

// anything is the expression that every line with something in it matches.
const anything = "(?:.)"

func (g *grep) matches(line string) bool {
	switch {
	case g.re.String() == anything:
		return line != ""
	case g.plain:
		return strings.Contains(line, g.literal)
	}
	return host.Matches(g.re, line)
}

// file reads one file and prints what is to be printed of it as a whole: its name, or a number. One that can't be read
// makes the status 2, unless it is a folder.
func (g *grep) file(name string) {
	c, set := g.c, g.set
	text, err := c.Read(name)
	if err != nil {
		g.failed = g.failed || !errors.Is(err, syscall.EISDIR)
		if !set.Has("s") {
			c.Fail(2, "grep: %s: %s", name, host.ErrorText(err))
		}
		return
	}
	if name == "-" {
		name = "(standard input)"
	}
	// A file of sysfs is mostly one line, which needs no list of its own.
	lines := g.single[:]
	if lines[0] = strings.TrimSuffix(text, "\n"); text == "" || strings.Contains(lines[0], "\n") {
		lines = splitLines(text)
	}
	count := g.lines(name, lines)
	if count > 0 {
		g.found, g.code = true, 0
	}
	switch {
	case set.Has("q"):
	case set.Has("l") && count > 0, set.Has("L") && count == 0:
		c.Println(name)
	case set.Has("c"):
		if g.named {
			c.Out.WriteString(name + ":")
		}
		c.Println(strconv.Itoa(count))
	}
}

// lines shows what is to be shown of a file's lines, and counts those that match.
func (g *grep) lines(name string, lines []string) (count int) {
	inverted, silent, parts := g.set.Has("v"), g.set.Has("qclL"), g.set.Has("o")
	printed, until := -1, -1
	for i, l := range lines {
		if g.matches(l) == inverted || count >= g.limit {
			if i <= until {
				g.show(name, "-", i, l)
				printed = i
			}
			continue
		}
		if count++; silent {
			continue
		}
		if parts {
			g.parts(name, i, l)
			continue
		}
		if (g.after > 0 || g.before > 0) && printed >= 0 && i-g.before > printed+1 {
			g.c.Println("--")
		}
		for k := max(printed+1, i-g.before); k < i; k++ {
			g.show(name, "-", k, lines[k])
		}
		g.show(name, ":", i, l)
		printed, until = i, i+g.after
	}
	return count
}

// parts shows what matches of a line.
func (g *grep) parts(name string, i int, line string) {
	for _, m := range g.re.FindAllString(line, -1) {
		if m != "" {
			g.show(name, ":", i, m)
		}
	}
}

// show prints a line, which a mark parts from what stands before it.
func (g *grep) show(name, mark string, i int, line string) {
	if g.named {
		g.c.Out.WriteString(name)
		g.c.Out.WriteString(mark)
	}
	if g.set.Has("n") {
		g.c.Printf("%d%s", i+1, mark)
	}
	g.c.Println(line)
}
