package sanitize

import (
	"strconv"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// formula is what a spreadsheet calculates: what begins as one does, behind blanks and in
// the full width of East Asian letters, too. Where a semicolon parts the columns, as in half of
// Europe, quotes within a line are none, and a column begins behind each semicolon.
var formula = lazyregexp.New(`(^|;)([\s\x{a0}\x{3000}"]*[=+\-@＝＋－＠])`)

// Field is a value of a CSV that a spreadsheet takes for a text or a number: a formula would be
// calculated, and may fetch what it names.
func Field(s string) string {
	s = Line(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return formula.Regexp().ReplaceAllString(s, "$1'$2")
}
