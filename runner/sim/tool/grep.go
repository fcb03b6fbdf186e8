package tool

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
	// Options may stand behind the pattern and between the files.
	var options, plain []string
	args := c.Args[1:]
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			plain = append(plain, args[i+1:]...)
			i = len(args)
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
	g := grep{c: c, set: set, re: re, code: 1}
	recursive := set.Has("rR")
	if len(files) == 0 {
		if files = []string{"-"}; recursive {
			files = []string{"."}
		}
	}
	g.named = (len(files) > 1 || recursive || set.Has("H")) && !set.Has("h")
	for _, name := range files {
		if recursive {
			g.walk(name)
		} else {
			g.file(name)
		}
		if g.found && set.Has("q") {
			return 0
		}
	}
	if g.failed {
		return 2
	}
	return g.code
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
	return regexp.Compile(expr)
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
		case ch == '*' && i == 0:
			b.WriteString(`\*`)
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

type grep struct {
	c             *host.Call
	set           host.Flags
	re            *regexp.Regexp
	named         bool
	found, failed bool
	code          int
}

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
	if g.re.String() == anything {
		return line != ""
	}
	return g.re.MatchString(line)
}

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
	limit := 1 << 30
	if set.Has("m") {
		limit, _ = strconv.Atoi(set.Last('m', "1"))
	}
	number := func(letter byte) int {
		n, _ := strconv.Atoi(set.Last(letter, set.Last('C', "0")))
		return n
	}
	after, before := number('A'), number('B')
	lines := splitLines(text)
	count, printed, until := 0, -1, -1
	show := func(i int, mark string, l string) {
		if g.named {
			c.Out.WriteString(name + mark)
		}
		if set.Has("n") {
			c.Printf("%d%s", i+1, mark)
		}
		c.Println(l)
	}
	for i, l := range lines {
		if g.matches(l) == set.Has("v") || count >= limit {
			if i <= until {
				show(i, "-", l)
				printed = i
			}
			continue
		}
		count++
		g.found, g.code = true, 0
		if set.Has("qclL") {
			continue
		}
		if set.Has("o") {
			for _, m := range g.re.FindAllString(l, -1) {
				if m != "" {
					show(i, ":", m)
				}
			}
			continue
		}
		if (after > 0 || before > 0) && printed >= 0 && i-before > printed+1 {
			c.Println("--")
		}
		for k := max(printed+1, i-before); k < i; k++ {
			show(k, "-", lines[k])
		}
		show(i, ":", l)
		printed, until = i, i+after
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
