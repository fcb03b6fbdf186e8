package host

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter reads each directory of a pattern, and each part of it again, with a regular expression of
// its own, which was most of the time that it takes to read all counters. So where a command has a literal
// pattern of files in sysfs,
//
//	grep -s . /sys/class/net/*/mtu
//
// the command is given the pattern under a mark, as text, and globbed makes names of it. What the shell would
// expand first stays with the interpreter: a pattern in a variable, a list of braces, the words of a loop.
const (
	globMark = "\x1d"
	globRoot = "/sys/"
	wild     = "*?["
)

// quickGlobs marks the patterns among a command's arguments.
func quickGlobs(c *syntax.CallExpr) {
	for _, w := range c.Args[min(1, len(c.Args)):] {
		text := w.Lit()
		if !strings.HasPrefix(text, globRoot) || !strings.ContainsAny(text, wild) ||
			strings.ContainsAny(text, `\{}()`) || path.Clean(text) != text {
			continue
		}
		w.Parts = []syntax.WordPart{&syntax.SglQuoted{Value: globMark + text}}
	}
}

// forbidsGlobs reports whether a command is set -f: what follows takes patterns for names.
func forbidsGlobs(c *syntax.CallExpr) bool {
	return len(c.Args) > 1 && c.Args[0].Lit() == "set" && slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
		option := w.Lit()
		return option == "noglob" || strings.HasPrefix(option, "-") && strings.Contains(option, "f")
	})
}

// globbed are a command's arguments with the names that marked patterns stand for. One that fits nothing is a name.
func (sh *Shell) globbed(args []string) []string {
	marked := func(arg string) bool { return strings.HasPrefix(arg, globMark) }
	if !slices.ContainsFunc(args, marked) {
		return args
	}
	sh.node.Rack.Lock()
	defer sh.node.Rack.Unlock()
	all := make([]string, 0, 4*len(args))
	for _, arg := range args {
		if !marked(arg) {
			all = append(all, arg)
			continue
		}
		pat := arg[len(globMark):]
		names := sh.node.glob(pat, sh.root)
		if len(names) == 0 {
			names = []string{pat}
		}
		all = append(all, names...)
	}
	return all
}

// glob are the names that a pattern stands for, sorted: of what can be found, in directories that can be read.
// Callers hold the rig's lock.
func (n *Node) glob(pat string, root bool) []string {
	at := []string{""}
	parts := strings.Split(pat[1:], "/")
	for i, part := range parts {
		last := i == len(parts)-1
		var next []string
		for _, dir := range at {
			if !strings.ContainsAny(part, wild) {
				name := dir + "/" + part
				if !last || n.there(name, root) { // what isn't last is looked for with what is
					next = append(next, name)
				}
				continue
			}
			in, err := n.find(dir, true, root)
			if err != nil || !in.May(root, ToRead) {
				continue
			}
			for _, name := range in.Names() {
				if fitsName(part, name) {
					next = append(next, dir+"/"+name)
				}
			}
		}
		at = next
	}
	slices.Sort(at)
	return at
}

func (n *Node) there(name string, root bool) bool {
	_, err := n.find(name, false, root)
	return err == nil
}

// fitsName does what the interpreter does with a part of a pattern.
func fitsName(part, name string) bool {
	if part == "*" {
		return !strings.HasPrefix(name, ".")
	}
	form, err := nameForms.get(part, func() (*regexp.Regexp, error) {
		expr, err := pattern.Regexp(part, pattern.Filenames|pattern.EntireString|pattern.NoGlobStar)
		if err != nil {
			return nil, err
		}
		return Compiled(expr)
	})
	return err == nil && Matches(form, name)
}

// nameForms are those of parts of patterns, as expressions.
var nameForms = memo[string, *regexp.Regexp]{most: 4096}
