// Package find looks for words in lines: where they are, how often, and how that is shown. What has the lines is not
// known here.
package find

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/theme"
)

// Words are what is looked for: without minding case unless it has a capital.
type Words struct {
	Text  string
	exact bool
	// fold finds what is not plain ASCII: of that a letter's two cases may have
	// different lengths.
	fold *regexp.Regexp
	low  []byte // a line in lower case
}

// New looks for capitals where there is one. Only words beyond ASCII need the slow
// way to fold them.
func New(words string) Words {
	n := Words{Text: words, exact: strings.ContainsFunc(words, unicode.IsUpper)}
	if !n.exact && strings.ContainsFunc(words, notASCII) {
		n.fold = regexp.MustCompile("(?i)" + regexp.QuoteMeta(words))
	}
	return n
}

func notASCII(r rune) bool { return r >= utf8.RuneSelf }

// In gives the places of the words in a text, in order and not overlapping, until
// visit has had enough.
func (n *Words) In(text string, visit func(from, to int) bool) {
	if n.Text == "" {
		return
	}
	if n.fold != nil {
		if !strings.ContainsFunc(text, notASCII) {
			return // most lines, and an expression takes its time
		}
		for at := 0; ; {
			place := n.fold.FindStringIndex(text[at:])
			if place == nil || !visit(at+place[0], at+place[1]) {
				return
			}
			at += place[1]
		}
	}
	index := func(at int) int { return strings.Index(text[at:], n.Text) }
	if !n.exact {
		n.low = append(n.low[:0], text...)
		for i, c := range n.low {
			// The bytes of other letters are never those of one of these.
			if c >= 'A' && c <= 'Z' {
				n.low[i] = c + 'a' - 'A'
			}
		}
		words := []byte(n.Text)
		index = func(at int) int { return bytes.Index(n.low[at:], words) }
	}
	for at := 0; ; {
		i := index(at)
		if i < 0 || !visit(at+i, at+i+len(n.Text)) {
			return
		}
		at += i + len(n.Text)
	}
}

// Count is how often the words are in a text.
func (n *Words) Count(text string) int {
	times := 0
	n.In(text, func(int, int) bool {
		times++
		return true
	})
	return times
}

// Most bounds what a paste can bring, in characters.
const Most = 200

// Marked is a line in which the words stand out.
func (n *Words) Marked(k *theme.Styles, line string) string {
	text := ansi.Strip(line)
	var b strings.Builder
	end := 0
	n.In(text, func(from, to int) bool {
		a, z := ansi.StringWidth(text[:from]), ansi.StringWidth(text[:to])
		b.WriteString(ansi.Cut(line, end, a) + k.Found.Render(text[from:to]))
		end = z
		return true
	})
	if end == 0 {
		return line
	}
	return b.String() + ansi.Cut(line, end, ansi.StringWidth(text))
}
