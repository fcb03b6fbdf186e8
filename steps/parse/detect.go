package parse

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Mark is a line that a tool prints, and its weight: 3 if no other tool prints it, 1 if it means something
// only together with others.
type Mark struct {
	weight  int
	pattern *lazyregexp.Pattern
}

// Sign makes a Mark of a regular expression, whose ^ and $ are a line's. It is compiled when a text is first
// detected: most of railbench's runs don't need it.
func Sign(weight int, expr string) Mark { return Mark{weight, lazyregexp.New(`(?m)` + expr)} }

// detectBytes is how much of a text is read to detect its tool.
const detectBytes = 1 << 20

// Detect names the tool whose output a text is. If it can't decide, sure is false, and the names are the
// possible ones, the likeliest first.
func (all Tools) Detect(text string) (names []string, sure bool) {
	if len(text) > 4*detectBytes {
		text = text[:4*detectBytes] // colours and wide characters go first
	}
	text = Plain(text)
	if len(text) > detectBytes {
		text = text[:detectBytes]
	}
	scores := map[string]int{}
	for _, t := range all {
		score := 0
		for _, m := range t.Marks {
			if m.pattern.Regexp().MatchString(text) {
				score += m.weight
			}
		}
		if score > 0 {
			names = append(names, t.Name)
			scores[t.Name] = score
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return scores[b] - scores[a] })
	switch len(names) {
	case 0:
		return nil, false
	case 1:
		return names, scores[names[0]] > 1
	}
	// Two tools' output in one text scores for both: less than twice as much decides nothing.
	return names, scores[names[0]] >= 2*scores[names[1]]
}

// Colours, moves of the cursor, titles of the window: control sequences without text.
var escapes = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// Plain is a text as the tool wrote it, whatever program saved it: in UTF-8, without
// escape sequences, its lines ended by \n.
func Plain(text string) string {
	text = fromUTF16(text)
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.Contains(text, "\x1b") {
		text = escapes.Regexp().ReplaceAllString(text, "")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text
}

// fromUTF16 reads what PowerShell's > writes; another text comes back as it is.
func fromUTF16(text string) string {
	var order binary.ByteOrder
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		order = binary.LittleEndian
	case strings.HasPrefix(text, "\xfe\xff"):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, 0, len(text)/2)
	for i := 2; i+1 < len(text); i += 2 {
		units = append(units, order.Uint16([]byte(text[i:i+2])))
	}
	return string(utf16.Decode(units))
}
