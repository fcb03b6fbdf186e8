package cells

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
	"github.com/railbench/railbench/tui/theme"
)

// A tool writes for a terminal that is wide enough. In a narrow pane its blank columns are
// closed up first, and what still is too wide goes on in the next row, as long as that takes
// little room: the last column of a benchmark is the one that matters.

// A strip is the part of a line between two columns.
type strip struct{ from, to int }

// An outputRow is a row of the screen with a part of a line.
type outputRow struct {
	line   int // among those that were fitted
	strips []strip
	on     bool // it goes on with what the row before has begun
	table  bool // it is of a table, whose columns are read down
	rule   bool // nothing is lost where it ends
	open   bool // it goes on to the line's end, which may be cut
}

// mostRows is how many rows one line may take.
const mostRows = 4

// closed is how many blanks stay of a gap that is closed up.
const closed = 2

// fit sets lines in rows of width columns, in about most rows and no table in two; where that is not to be
// had, first long words lose their middles, and then each line has a row, which is cut. The rows are of the
// lines that it gives.
func fit(lines []steps.OutputLine, width, most int) ([]steps.OutputLine, []outputRow) {
	rows := fitted(lines, width, false)
	if len(rows) <= most && !slices.ContainsFunc(rows, brokenTable) {
		return lines, rows
	}
	even := evened(lines)
	short := slices.Clone(even)
	for i := range short {
		short[i] = shortened(short[i])
	}
	lesser := fitted(short, width, false)
	switch closer := fitted(even, width, false); {
	case len(closer) <= most && !slices.ContainsFunc(closer, brokenTable):
		return even, closer
	case len(lesser) <= most && !slices.ContainsFunc(lesser, brokenTable):
		return short, lesser
	case len(rows) <= most:
		return lines, rows
	case len(lesser) <= most:
		return short, lesser
	}
	return lines, fitted(lines, width, true)
}

// evened sets lines that have as many words each in columns, a word a column: of what tabs parted the head
// often ends at other stops than the rows. Where lines have other words than those around them all stay.
func evened(lines []steps.OutputLine) []steps.OutputLine {
	var widths []int
	for _, l := range lines {
		all := fields(l)
		if widths == nil {
			widths = make([]int, len(all))
		}
		if len(all) < 3 || len(all) != len(widths) {
			return lines
		}
		for n, f := range all {
			widths[n] = max(widths[n], lipgloss.Width(f))
		}
	}
	even := slices.Clone(lines)
	for i := range even {
		var text strings.Builder
		for n, f := range fields(lines[i]) {
			text.WriteString(theme.Pad(f, widths[n]+closed))
		}
		even[i].Text = strings.TrimRight(text.String(), " ")
	}
	return even
}

// fields are the words of a line; nil if it has colours at fixed places, or is too long.
func fields(l steps.OutputLine) []string {
	if len(l.Spans) > 0 || len(l.Text) > 400 || l.Kind == steps.Note {
		return nil
	}
	return strings.Fields(theme.Clean(l.Text))
}

// longest is the longest word that stays whole where lines would be cut: a GID, a path or a hash is known by
// its two ends.
const longest = 24

// shortened is a line whose long words have their two ends only. What follows stays in its column.
func shortened(l steps.OutputLine) steps.OutputLine {
	if len(l.Spans) > 0 || len(l.Text) > 400 || ruled(l.Text) { // colours belong to places in a line
		return l
	}
	l.Text = longWords.Regexp().ReplaceAllStringFunc(l.Text, func(word string) string {
		const head, tail = 8, 10
		return word[:head] + "…" + word[len(word)-tail:] + strings.Repeat(" ", len(word)-head-tail-1)
	})
	return l
}

// longWords are those of ASCII, a column a byte.
var longWords = lazyregexp.New(fmt.Sprintf(`[!-~]{%d,}`, longest+1))

// fitted sets lines in as many rows as they need, or in one each. Lines that stand together are
// a table: they close up, and go on, at the same columns.
func fitted(lines []steps.OutputLine, width int, cut bool) (rows []outputRow) {
	width = max(1, width) // of a terminal that shows nothing
	// What is farther right is cut in any case, however long a line is.
	far := mostRows * width
	blanks := make([][]bool, len(lines))
	for i, l := range lines {
		blanks[i] = blankColumns(l.Text, far)
	}
	for i := 0; i < len(lines); {
		drawn := gridRule(lines[i].Text) || strings.HasPrefix(lines[i].Text, "|")
		if ruled(lines[i].Text) && !drawn {
			rows = append(rows, ruleRow(i, width))
			i++
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end].Text != "" && lines[end].Kind == lines[i].Kind &&
			(!ruled(lines[end].Text) || drawn && gridRule(lines[end].Text)) {
			end++
		}
		for at := i; at < end; at++ {
			if gridRule(lines[at].Text) {
				blanks[at] = nil // a rule parts no columns
			}
		}
		for _, r := range together(blanks[i:end], width, i, cut) {
			if gridRule(lines[r.line].Text) {
				r = ruleRow(r.line, width)
			}
			rows = append(rows, r)
		}
		i = end
	}
	return rows
}

// ruleRow is the row of a rule, of which nothing is lost where it ends.
func ruleRow(line, width int) outputRow {
	return outputRow{line: line, strips: []strip{{0, width}}, rule: true}
}

// together are the rows of lines that stand together, the first of which is line first.
func together(blanks [][]bool, width, first int, cut bool) (rows []outputRow) {
	most := 0
	for _, b := range blanks {
		most = max(most, len(b))
	}
	if most <= width {
		for i := range blanks {
			rows = append(rows, outputRow{line: first + i, strips: []strip{{0, width}}, open: true})
		}
		return rows
	}
	parts := columnsOf(blanks, most)
	if len(blanks) > 1 && slices.ContainsFunc(parts, func(p strip) bool { return p.to-p.from > width }) {
		for i := range blanks { // no table
			rows = append(rows, together(blanks[i:i+1], width, first+i, cut)...)
		}
		return rows
	}
	chunks := filled(parts, width)
	if cut {
		chunks = filled(parts, most+closed)
	}
	for i, b := range blanks {
		for n, chunk := range chunks {
			if n > 0 && chunk[0].from >= len(b) {
				break
			}
			rows = append(rows, outputRow{
				line: first + i, strips: chunk, on: n > 0, table: len(blanks) > 1, open: n == len(chunks)-1,
			})
		}
	}
	return rows
}

// columnsOf are the parts of lines between the columns that are blank in all of them. One
// blank parts the words of a single line, and two the columns of a table.
func columnsOf(blanks [][]bool, most int) (parts []strip) {
	apart := min(closed, len(blanks))
	for x := 0; x < most; {
		gap := x
		for gap < most && blankAt(blanks, gap) {
			gap++
		}
		switch {
		case gap == x:
			if len(parts) == 0 {
				parts = append(parts, strip{x, x})
			}
			parts[len(parts)-1].to = x + 1
			x++
			continue
		case gap == most: // blanks at the end
		case len(parts) == 0 || gap-x >= apart:
			parts = append(parts, strip{gap, gap})
		default: // the gap is a part of the words around it
			parts[len(parts)-1].to = gap
		}
		x = gap
	}
	return parts
}

func blankAt(blanks [][]bool, x int) bool {
	return !slices.ContainsFunc(blanks, func(b []bool) bool { return x < len(b) && !b[x] })
}

// filled distributes parts over rows of width columns.
func filled(parts []strip, width int) (chunks [][]strip) {
	used := 0
	for i, p := range parts {
		gap := min(p.from, closed)
		if i > 0 {
			gap = min(p.from-parts[i-1].to, closed)
		}
		size := p.to - p.from
		switch {
		case len(chunks) > 0 && used+gap+size <= width:
			last := len(chunks) - 1
			chunks[last] = append(chunks[last], strip{p.from - gap, p.to})
			used += gap + size
			continue
		case len(chunks) == 0 && gap+size <= width: // a little of the indent stays
			chunks, used = [][]strip{{{p.from - gap, p.to}}}, gap+size
			continue
		}
		for ; p.to-p.from > width; p.from += width { // a word that is wider than the pane
			chunks = append(chunks, []strip{{p.from, p.from + width}})
		}
		chunks, used = append(chunks, []strip{p}), p.to-p.from
	}
	if len(chunks) > mostRows {
		rest := slices.Concat(chunks[mostRows-1:]...)
		chunks = append(chunks[:mostRows-1], rest)
	}
	return chunks
}

// blankColumns says which columns of a line are blank, up to far.
func blankColumns(text string, far int) []bool {
	text = theme.Clean(theme.Head(text, far))
	blank := make([]bool, 0, min(len(text), far))
	for text != "" && len(blank) <= far {
		width := 1
		_, size := utf8.DecodeRuneInString(text)
		if text[0] >= utf8.RuneSelf {
			width = lipgloss.Width(text[:size])
		}
		for range width {
			blank = append(blank, text[0] == ' ')
		}
		text = text[size:]
	}
	for len(blank) > 0 && blank[len(blank)-1] {
		blank = blank[:len(blank)-1]
	}
	return blank
}

// gridRule reports whether a line is a rule of a table whose columns are drawn, +----+----+. What follows it
// has the same columns as what stands above.
func gridRule(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) >= 8 && text[0] == '+' && strings.Trim(text, "+-=") == ""
}

// ruled reports whether a line is a rule: of one sign alone, or of a grid.
func ruled(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) < 8 {
		return false
	}
	if gridRule(text) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("-=_*#~─", first) && strings.Trim(text, string(first)) == ""
}

// telling keeps of a long output the lines that the cell wants to show first; all lines if it names none, or
// none matches. railbench's own lines stay.
func (c Cell) telling(lines []steps.OutputLine) []steps.OutputLine {
	if c.Shows == "" || !c.State.HasExit || !c.State.Exit.OK() {
		return lines // if it failed or still runs, it is unknown which lines matter
	}
	shows, err := regexp.Compile(c.Shows)
	if err != nil {
		return lines // of an edited file; a run of the cell reports the error
	}
	matter := func(l steps.OutputLine) bool { return l.Kind != steps.Note && shows.MatchString(l.Text) }
	if !slices.ContainsFunc(lines, matter) {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines),
		func(l steps.OutputLine) bool { return l.Kind != steps.Note && !matter(l) })
}

// notice is a line of a log about how a program begins, with its time before it. It may stand between the
// head of a table and its rows, which are what matters if the program ended well.
var notice = regexp.MustCompile(`^\[\d{9,12}\.\d+\] .* INFO `)

// few are the last lines of a node, keep of them; seen is how many that are with the empty ones at the end,
// which are left out.
func (c Cell) few(lines []steps.OutputLine, keep int) (few []steps.OutputLine, seen int) {
	few = lines
	for len(few) > 1 && strings.TrimSpace(few[len(few)-1].Text) == "" {
		few = few[:len(few)-1]
	}
	empty := len(lines) - len(few)
	if few = c.telling(few); len(few) > keep+1 && c.State.HasExit && c.State.Exit.OK() {
		few = slices.DeleteFunc(slices.Clone(few), func(l steps.OutputLine) bool { return notice.MatchString(l.Text) })
	}
	if len(few) > keep+1 { // of one line more, a note would take the place
		first := len(few) - keep
		if head := headOf(few, first); head >= 0 && keep > 1 {
			few = append([]steps.OutputLine{few[head]}, few[first+1:]...)
		} else if few = few[first:]; c.State.HasExit && c.State.Exit.OK() { // if it failed, every line may matter
			few = headed(few)
		}
	}
	return few, len(few) + empty
}

// headed leaves out the first lines of a cut output if they are indented below a line that was cut off: it is
// unknown what they belong to. Most of the lines stay.
func headed(lines []steps.OutputLine) []steps.OutputLine {
	deep := indent(lines[0].Text)
	for i, l := range lines[:len(lines)/2+1] {
		if l.Kind != lines[0].Kind {
			break
		}
		// A rule may close what stands above it, too.
		if ends := ruled(l.Text) && (i+1 == len(lines) || lines[i+1].Kind != l.Kind); ends {
			break
		}
		if l.Text != "" && indent(l.Text) < deep {
			return lines[i:]
		}
	}
	return lines
}

// indent is how far a line is set in; a tab is wider than the blanks of a column. Some tools set theirs in
// behind a # at the line's beginning.
func indent(text string) (n int) {
	for _, r := range strings.TrimPrefix(text, "#") {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return n
}

// headOf finds the head of a table whose rows before at are cut off; -1 if at is not a row of one. It looks
// no farther up than a sweep over all message sizes is long.
func headOf(lines []steps.OutputLine, at int) int {
	const sweep = 80
	first := figures(lines[at])
	// A sentence with a number or two is not a row.
	if first < 2 || 3*first < len(strings.Fields(lines[at].Text)) {
		return -1
	}
	for i := at - 1; i >= max(0, at-sweep); i-- {
		words, numbers := len(strings.Fields(lines[i].Text)), figures(lines[i])
		switch {
		case ruled(lines[i].Text), numbers > 0 && numbers >= first-1:
		case numbers == 0 && words > 2 && lines[i].Kind == lines[at].Kind:
			return i
		default:
			return -1
		}
	}
	return -1
}

// figures are how many words of a line are numbers.
func figures(l steps.OutputLine) (n int) {
	if l.Kind == steps.Note {
		return 0
	}
	for word := range strings.FieldsSeq(theme.Head(l.Text, 400)) {
		if strictnum.Looks(word) {
			n++
		}
	}
	return n
}

// fewRows is how many rows a table of a head and a row may take, however wide it is.
const fewRows = 7

// budget is how many rows so many lines may take.
func (c Cell) budget(lines int) int {
	if c.Shows != "" {
		return max(fewRows, 2*lines)
	}
	return max(fewRows, lines+lines/2)
}
