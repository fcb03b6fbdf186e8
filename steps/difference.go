package steps

import (
	"fmt"
	"slices"
	"strings"
)

// Where a source document is wrong, a tutorial says so in a quotation with **In fact** in it. An explanation
// with many such interruptions is hard to follow, so a numbered mark takes the place of each. The numbers go
// through the whole tutorial: one difference has the same number in a margin, on the page and in print.

// A Difference is such a place.
type Difference struct {
	No    int    // from 1, through the whole tutorial
	Where string // the part's title and the cell's with its id
	Text  string // Markdown, without the marks of a quotation
}

// IntroID names a part's introduction among cells, whose ids never begin so.
func IntroID(part string) string { return "/" + part }

// Differences are all of a tutorial, and the number of the first one in each cell and in each
// introduction, by its id.
func (t Tutorial) Differences() (all []Difference, first map[string]int) {
	first = map[string]int{}
	add := func(id, where string, sources ...string) {
		first[id] = len(all) + 1
		for _, source := range sources {
			for _, text := range DifferencesIn(source) {
				all = append(all, Difference{No: len(all) + 1, Where: where, Text: text})
			}
		}
	}
	for _, p := range t.Parts {
		add(IntroID(p.ID), p.Title, p.Prose)
		for _, c := range p.Cells {
			add(c.ID, p.Title+": "+c.Title+" ("+c.ID+")", c.Prose, c.Tail)
		}
	}
	return all, first
}

// DifferencesTitle heads the page of all differences, wherever it is.
const DifferencesTitle = "What the source documents say otherwise"

// DifferencesPage is all of them in Markdown; empty where there are none.
func (t Tutorial) DifferencesPage() string {
	all, _ := t.Differences()
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# " + DifferencesTitle + "\n\n" +
		"Each has a number in the margin of the notebook, where `*` shows it in its place,\n" +
		"and the same number in what is exported.\n")
	for _, d := range all {
		fmt.Fprintf(&b, "\n## %d  %s\n\n%s\n", d.No, d.Where, strings.TrimSpace(d.Text))
	}
	return b.String()
}

// A quotation is lines of a Markdown source, from one to before another.
type quotation struct {
	from, to int
	text     string // without the marks of a quotation
}

// DifferencesIn are the quotations of a Markdown text that say what is different in fact, in
// order and without their marks.
func DifferencesIn(source string) []string {
	var all []string
	for _, q := range quotations(strings.Split(source, "\n")) {
		all = append(all, q.text)
	}
	return all
}

func quotations(lines []string) (all []quotation) {
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], ">") {
			continue
		}
		q := quotation{from: i}
		var text []string
		for ; i < len(lines) && strings.HasPrefix(lines[i], ">"); i++ {
			text = append(text, strings.TrimPrefix(strings.TrimPrefix(lines[i], ">"), " "))
		}
		q.to, q.text = i, strings.Join(text, "\n")
		if strings.Contains(strings.Join(strings.Fields(q.text), " "), "**In fact**") {
			all = append(all, q)
		}
	}
	return all
}

// MarkDifferences is a Markdown text with a mark behind what stands before each difference,
// which is left out unless it is to be read in its place. mark gives the mark of the nth one,
// from 0, by its text; where that is empty, the difference stays as it is written.
func MarkDifferences(source string, mark func(n int, text string) string, inPlace bool) string {
	lines := strings.Split(source, "\n")
	var out []string
	at := 0
	for i, q := range quotations(lines) {
		sign := mark(i, q.text)
		if sign == "" {
			continue
		}
		out = append(out, lines[at:q.from]...)
		for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
			out = out[:len(out)-1]
		}
		switch n := len(out) - 1; {
		case n < 0:
			out = append(out, sign)
		case flows(out[n]):
			out[n] += sign
		default:
			out = append(out, "", sign)
		}
		if inPlace {
			out = append(append(out, ""), lines[q.from:q.to]...)
		}
		// What follows is a paragraph of its own, as it was behind the quotation.
		for at = q.to; at < len(lines) && strings.TrimSpace(lines[at]) == ""; {
			at++
		}
		if at < len(lines) {
			out = append(out, "")
		}
	}
	return strings.Join(append(out, lines[at:]...), "\n")
}

// flows reports whether a line ends a paragraph, so that a mark can stand behind it.
func flows(line string) bool {
	return !slices.ContainsFunc([]string{"    ", "\t", "```", "~~~", "|", "#", "<", ">", "---", "==="},
		func(mark string) bool { return strings.HasPrefix(line, mark) })
}
