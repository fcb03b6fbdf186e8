package theme

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// glyphs are what stands for a sign where a terminal has letters only. Each is as wide
// as what it stands for.
var glyphs = map[rune]byte{
	'…': '~', '·': '.', '◌': 'o', '◐': '+', '●': '*', '○': 'o', '•': '*',
	'◇': 'o', '◆': '*', '△': '^', '▲': '^', '□': 'o', '■': '*',
	'─': '-', '╌': '-', '│': '|', '║': '!', '═': '=', '┊': ':', '┃': '|', '┋': ':', '╎': ':', '╏': ':', '▏': '|', '▕': '|',
	'▌': '|', '▐': '#',
	'╭': '+', '╮': '+', '╰': '+', '╯': '+', '┌': '+', '┐': '+', '└': '+',
	'┘': '+', '├': '+', '┤': '+', '┬': '+', '┴': '+', '┼': '+',
	'↓': 'v', '↑': '^', '→': '>', '←': '<', '⇄': '=', '›': '>', '▸': '>', '◂': '<',
	'✓': '+', '✗': 'x', '–': '-', '≤': '<', '≥': '>', '×': 'x', 'µ': 'u', '°': 'o',
	'█': '#', '▓': '#', '▒': '=', '░': '-', '▉': '#', '▊': '#', '▋': '=', '▍': '=', '▎': '-',
	'▇': '#', '▆': '#', '▅': '=', '▄': '=', '▃': '-', '▂': '_', '▁': '_',
}

// ASCII is a frame for a terminal that has no Unicode: signs become letters that look
// like them, and what has no such letter a question mark, each as wide as before.
func ASCII(frame string) string {
	var b strings.Builder
	b.Grow(len(frame))
	for i := 0; i < len(frame); {
		if frame[i] < utf8.RuneSelf {
			b.WriteByte(frame[i])
			i++
			continue
		}
		// A letter may be several runes: an accent, a family.
		cluster, width := ansi.FirstGraphemeCluster(frame[i:], ansi.GraphemeWidth)
		r, size := utf8.DecodeRuneInString(cluster)
		switch g, ok := glyphs[r]; {
		case ok && size == len(cluster):
			b.WriteByte(g)
		case r != utf8.RuneError || size > 1: // bytes that are not text have no width
			b.WriteString(strings.Repeat("?", width))
		}
		i += max(1, len(cluster))
	}
	return b.String()
}
