package sim

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// runGrep is grep with the options that scripts use on sysfs and on output:
// -E -F -q -i -v -x -w -c -o -n -l -L -h -H -s -r -e -m -A -B.
func runGrep(_ context.Context, c *call) int {
	// Options may stand behind the pattern and between the files.
	var options, plain []string
	args := c.args[1:]
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
	sub.args = append([]string{c.args[0]}, options...)
	set, _, ok := sub.flags("emABCf")
	if !ok {
		return 2
	}
	patterns, files := set['e'], plain
	if patterns == nil {
		if len(plain) == 0 {
			return c.fail(2, "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.")
		}
		patterns, files = plain[:1], plain[1:]
	}
	re, err := grepPattern(patterns, set, c.program())
	if err != nil {
		return c.fail(2, "grep: %v", err)
	}
	g := grep{c: c, set: set, re: re, code: 1}
	recursive := has(set, "rR")
	if len(files) == 0 {
		if files = []string{"-"}; recursive {
			files = []string{"."}
		}
	}
	g.named = (len(files) > 1 || recursive || has(set, "H")) && !has(set, "h")
	for _, name := range files {
		if recursive {
			g.walk(name)
		} else {
			g.file(name)
		}
		if g.found && has(set, "q") {
			return 0
		}
	}
	if g.failed {
		return 2
	}
	return g.code
}

// grepPattern joins the patterns to one expression.
func grepPattern(patterns []string, set map[byte][]string, program string) (*regexp.Regexp, error) {
	var parts []string
	for _, p := range patterns {
		for p := range strings.SplitSeq(p, "\n") {
			switch {
			case has(set, "F") || program == "fgrep":
				p = regexp.QuoteMeta(p)
			case has(set, "EP") || program == "egrep":
			default:
				p = basicToExtended(p)
			}
			parts = append(parts, "(?:"+p+")")
		}
	}
	expr := strings.Join(parts, "|")
	if has(set, "w") {
		expr = `\b(?:` + expr + `)\b`
	}
	if has(set, "x") {
		expr = `^(?:` + expr + `)$`
	}
	if has(set, "i") {
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
	c             *call
	set           map[byte][]string
	re            *regexp.Regexp
	named         bool
	found, failed bool
	code          int
}

func (g *grep) walk(name string) {
	var kids []string
	dir := false
	g.c.locked(func() {
		i, _, err := g.c.node.lookup(g.c.path(name), true)
		if err != nil || i.kids == nil {
			return
		}
		dir = true
		for _, k := range i.names() {
			if i.kids[k].mode&fs.ModeSymlink == 0 {
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
	text, err := c.read(name)
	if err != nil {
		g.failed = g.failed || !errors.Is(err, syscall.EISDIR)
		if !has(set, "s") {
			c.fail(2, "grep: %s: %s", name, errorText(err))
		}
		return
	}
	if name == "-" {
		name = "(standard input)"
	}
	limit := 1 << 30
	if has(set, "m") {
		limit, _ = strconv.Atoi(last(set, 'm', "1"))
	}
	number := func(letter byte) int {
		n, _ := strconv.Atoi(last(set, letter, last(set, 'C', "0")))
		return n
	}
	after, before := number('A'), number('B')
	lines := splitLines(text)
	count, printed, until := 0, -1, -1
	show := func(i int, mark string, l string) {
		if g.named {
			c.out.WriteString(name + mark)
		}
		if has(set, "n") {
			c.printf("%d%s", i+1, mark)
		}
		c.println(l)
	}
	for i, l := range lines {
		if g.matches(l) == has(set, "v") || count >= limit {
			if i <= until {
				show(i, "-", l)
				printed = i
			}
			continue
		}
		count++
		g.found, g.code = true, 0
		if has(set, "qclL") {
			continue
		}
		if has(set, "o") {
			for _, m := range g.re.FindAllString(l, -1) {
				if m != "" {
					show(i, ":", m)
				}
			}
			continue
		}
		if (after > 0 || before > 0) && printed >= 0 && i-before > printed+1 {
			c.println("--")
		}
		for k := max(printed+1, i-before); k < i; k++ {
			show(k, "-", lines[k])
		}
		show(i, ":", l)
		printed, until = i, i+after
	}
	switch {
	case has(set, "q"):
	case has(set, "l") && count > 0, has(set, "L") && count == 0:
		c.println(name)
	case has(set, "c"):
		if g.named {
			c.out.WriteString(name + ":")
		}
		c.println(strconv.Itoa(count))
	}
}
