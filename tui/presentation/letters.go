package presentation

import "strings"

// letters are the shapes of a caption's letters, in dots of half a row. There are capitals only: small letters of
// five dots cannot be distinguished.
var letters = map[rune][digitRows]string{
	'A': {" # ", "# #", "###", "# #", "# #"},
	'B': {"## ", "# #", "## ", "# #", "## "},
	'C': {" ##", "#  ", "#  ", "#  ", " ##"},
	'D': {"## ", "# #", "# #", "# #", "## "},
	'E': {"###", "#  ", "## ", "#  ", "###"},
	'F': {"###", "#  ", "## ", "#  ", "#  "},
	'G': {" ##", "#  ", "# #", "# #", " ##"},
	'H': {"# #", "# #", "###", "# #", "# #"},
	'I': {"#", "#", "#", "#", "#"},
	'J': {"  #", "  #", "  #", "# #", " # "},
	'K': {"# #", "# #", "## ", "# #", "# #"},
	'L': {"#  ", "#  ", "#  ", "#  ", "###"},
	'M': {"#   #", "## ##", "# # #", "#   #", "#   #"},
	'N': {"#  #", "## #", "# ##", "#  #", "#  #"},
	'O': {"###", "# #", "# #", "# #", "###"},
	'P': {"## ", "# #", "## ", "#  ", "#  "},
	'Q': {"### ", "# # ", "# # ", "### ", "   #"},
	'R': {"## ", "# #", "## ", "# #", "# #"},
	'S': {" ##", "#  ", " # ", "  #", "## "},
	'T': {"###", " # ", " # ", " # ", " # "},
	'U': {"# #", "# #", "# #", "# #", "###"},
	'V': {"# #", "# #", "# #", "# #", " # "},
	'W': {"#   #", "#   #", "# # #", "## ##", "#   #"},
	'X': {"# #", "# #", " # ", "# #", "# #"},
	'Y': {"# #", "# #", " # ", " # ", " # "},
	'Z': {"###", "  #", " # ", "#  ", "###"},
	' ': {"  ", "  ", "  ", "  ", "  "},
	',': {"  ", "  ", "  ", " #", "# "},
	':': {" ", "#", " ", "#", " "},
	';': {"  ", " #", "  ", " #", "# "},
	'?': {"## ", "  #", " # ", "   ", " # "},
	'!': {"#", "#", "#", " ", "#"},
	'/': {"  #", "  #", " # ", "#  ", "#  "},
	'%': {"# #", "  #", " # ", "#  ", "# #"},
	'+': {"   ", " # ", "###", " # ", "   "},
	'(': {" #", "# ", "# ", "# ", " #"},
	')': {"# ", " #", " #", " #", "# "},

	'\'': {"#", "#", " ", " ", " "},
	'"':  {"# #", "# #", "   ", "   ", "   "},
}

// shape is a letter's, or a digit's as numerals have it; ok is false where there is none.
func shape(r rune) (rows [digitRows]string, ok bool) {
	if rows, ok = letters[r]; !ok {
		rows, ok = dots[r]
	}
	return rows, ok
}

// letterRows is how high a line of large letters is: five dots of half a row, and half a row to the next one.
const letterRows = 3

// large writes a text in large letters, a line for each width of columns. ok is false where it has a sign that has no
// such letter, or a unit that capitals would change.
func large(text string, width int) (lines []string, ok bool) {
	if strings.Contains(text, "b/s") {
		return nil, false
	}
	var line []string // the words of it
	columns := 0
	flush := func() {
		if line != nil {
			lines = append(lines, halves(strings.Join(line, " "))...)
		}
		line, columns = nil, 0
	}
	for word := range strings.FieldsSeq(strings.ToUpper(text)) {
		wide := 0
		for _, r := range word {
			s, known := shape(r)
			if !known {
				return nil, false
			}
			wide += len(s[0]) + 1
		}
		if wide > width {
			return nil, false
		}
		space := len(letters[' '][0]) + 1
		if columns+space+wide > width {
			flush()
		}
		line, columns = append(line, word), columns+space+wide
	}
	flush()
	return lines, true
}

// halves draws letters in dots of half a row.
func halves(text string) []string {
	var rows [2 * letterRows]strings.Builder
	for _, r := range text {
		s, _ := shape(r)
		for i := range rows {
			if i < digitRows {
				rows[i].WriteString(s[i] + " ")
			} else {
				rows[i].WriteString(strings.Repeat(" ", len(s[0])+1))
			}
		}
	}
	var lines []string
	for i := 0; i < len(rows); i += 2 {
		upper, lower := rows[i].String(), rows[i+1].String()
		var b strings.Builder
		for j := range upper {
			switch {
			case upper[j] == '#' && lower[j] == '#':
				b.WriteString("█")
			case upper[j] == '#':
				b.WriteString("▀")
			case lower[j] == '#':
				b.WriteString("▄")
			default:
				b.WriteByte(' ')
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}
