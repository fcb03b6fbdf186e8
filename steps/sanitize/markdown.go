package sanitize

import "strings"

// The limits of a text that is set as Markdown. The parser goes to the paragraph's end from each start of a
// link, looks for the other end of each emphasis, and goes into each quote and list inside another one.
const (
	mostMarkdown = 256 << 10 // bytes
	mostLinks    = 1000      // of a paragraph
	mostStress   = 5000      // asterisks and underscores of a paragraph
	deepest      = 50        // quotes and lists within each other, in a line
)

// What is set may be longer than the text by a table's cells that its rows leave out, and by addresses that are written
// once and used often.
const (
	mostCells     = 1000     // next to one for each byte
	mostAddresses = 32 << 10 // bytes, next to addressGrowth for each byte
	addressGrowth = 16
)

// Markdown is a text that may be anybody's and that is set as Markdown: one that would take minutes to set, or much
// memory, stands as it is written.
func Markdown(s string) string {
	if len(s) <= mostMarkdown && !tangled(s) {
		return s
	}
	return "\n    " + strings.ReplaceAll(s, "\n", "\n    ")
}

func tangled(s string) bool {
	links, stress, columns := 0, 0, 0 // of a paragraph
	cells, uses, address := 0, 0, 0
	defines := false
	for line := range strings.Lines(strings.ReplaceAll(s, "\t", " ")) {
		if strings.TrimSpace(line) == "" {
			links, stress, columns = 0, 0, 0
		}
		bare := strings.TrimLeft(line, begins)
		links += count(line, "](", "][", "]:")
		stress += count(line, "*", "_")
		if links > mostLinks || stress > mostStress || TooDeep(line) {
			return true
		}
		if strings.Trim(line, " >|:-\r\n") == "" {
			columns = max(columns, 1+count(line, "|")) // the line below a table's head: each row gets so many cells
		}
		cells += columns
		uses += count(line, "]")
		named := strings.HasPrefix(bare, "[") && strings.Contains(bare, "]:")
		if named || defines { // an address may stand in the line below its name
			address = max(address, len(bare))
		}
		defines = named
	}
	return cells > len(s)+mostCells || uses*address > addressGrowth*len(s)+mostAddresses
}

// begins is what quotes and lists begin with.
const begins = " \t>-+*0123456789.)"

// TooDeep reports whether a line begins more quotes and lists within each other than anyone means: the time to read
// them grows with the square of their depth.
func TooDeep(line string) bool {
	begin := line[:len(line)-len(strings.TrimLeft(line, begins))]
	return count(strings.ReplaceAll(begin, "\t", " "), ">", "- ", "+ ", "* ", ". ", ") ") >= deepest
}

// count is how often texts are in another.
func count(s string, texts ...string) (n int) {
	for _, t := range texts {
		n += strings.Count(s, t)
	}
	return n
}
