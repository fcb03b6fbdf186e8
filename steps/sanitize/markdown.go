package sanitize

import "strings"

// What a text may have that is set as Markdown. Whoever reads it goes to the paragraph's end from each link that
// it begins, and into each quote that stands in another.
const (
	mostMarkdown = 256 << 10 // bytes
	mostLinks    = 1000      // of a paragraph
	deepestQuote = 50
)

// Markdown is a text that may be anybody's and that is set as Markdown: one that would take minutes to set
// stands as it is written.
func Markdown(s string) string {
	if len(s) <= mostMarkdown && !tangled(s) {
		return s
	}
	return "\n    " + strings.ReplaceAll(s, "\n", "\n    ")
}

func tangled(s string) bool {
	links := 0
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) == "" {
			links = 0
		}
		begin := line[:len(line)-len(strings.TrimLeft(line, "> \t"))]
		links += strings.Count(line, "](") + strings.Count(line, "][")
		if links > mostLinks || strings.Count(begin, ">") >= deepestQuote {
			return true
		}
	}
	return false
}
