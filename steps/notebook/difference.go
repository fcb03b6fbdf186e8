package notebook

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// What the source documents say otherwise is a number in a text that is saved or exported, as
// it is in the margin of the screen, and its text stands at the end.

// numbersOf are the numbers of a tutorial's differences, by their texts: an edited session may
// have other cells than its tutorial, and a text that the tutorial has no more keeps its place.
func numbersOf(t steps.Tutorial) map[string]int {
	all, _ := t.Differences()
	numbers := map[string]int{}
	for _, d := range all {
		numbers[d.Text] = d.No
	}
	return numbers
}

// notes are the differences that a page has numbers of, as they are met.
type notes struct {
	numbers map[string]int
	met     map[int]steps.Difference
}

func (d *Document) notes() *notes { return &notes{numbers: d.numbers, met: map[int]steps.Difference{}} }

// marked is a text with sign in place of each difference; where is whose text it is.
func (n *notes) marked(source, where string, sign func(no int) string) string {
	return steps.MarkDifferences(source, func(_ int, text string) string {
		no := n.numbers[text]
		// A text that the tutorial has no number for stays away.
		if no == 0 {
			return ""
		}
		if _, again := n.met[no]; !again { // a copied cell has it, too
			n.met[no] = steps.Difference{No: no, Where: where, Text: text}
		}
		return sign(no)
	}, false)
}

// noteWhere names the cell of a difference.
func noteWhere(p steps.Part, c steps.Cell) string {
	return p.Title + ": " + c.Title + " (" + c.ID + ")"
}

// all are those that were met, in their order.
func (n *notes) all() []steps.Difference {
	var all []steps.Difference
	for _, no := range slices.Sorted(maps.Keys(n.met)) {
		all = append(all, n.met[no])
	}
	return all
}

// noteSign is a number in Markdown, as GitHub and Jupyter show it.
func noteSign(no int) string { return fmt.Sprintf(" <sup>[%d](#difference-%d)</sup>", no, no) }

var noteSigns = lazyregexp.New(`\s*<sup>\[(\d+)\]\(#difference-\d+\)</sup>`)

// markdown is the chapter with all of them; empty where there are none.
func (n *notes) markdown() string {
	if len(n.met) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## " + steps.DifferencesTitle + "\n")
	for _, d := range n.all() {
		fmt.Fprintf(&b, "\n### <a id=\"difference-%d\"></a>%d %s\n\n%s\n", d.No, d.No, markdownText(d.Where),
			strings.TrimSpace(d.Text))
	}
	return b.String()
}

// The same in HTML. A page's prose is rendered without the HTML in it, so a number travels
// between two runes of a private area.
const htmlBegin, htmlEnd = "\uE000", "\uE001"

func noteRunes(no int) string { return fmt.Sprintf("%s%d%s", htmlBegin, no, htmlEnd) }

var noteInHTML = lazyregexp.New(htmlBegin + `(\d+)` + htmlEnd)

// linked are the numbers of a rendered text as links.
func linked(text string) string {
	return noteInHTML.Regexp().ReplaceAllString(text, `<sup class="mark" id="mark-$1"><a href="#difference-$1">$1</a></sup>`)
}

// html is the chapter; each difference has a link back.
func (n *notes) html(b *strings.Builder) error {
	if len(n.met) == 0 {
		return nil
	}
	fmt.Fprintf(b, "<section class=\"part\" id=\"differences\">\n<h2>%s</h2>\n", html.EscapeString(steps.DifferencesTitle))
	for _, d := range n.all() {
		fmt.Fprintf(b, "<section id=\"difference-%d\">\n<h3>%d <small>%s <a href=\"#mark-%d\">back</a></small></h3>\n",
			d.No, d.No, html.EscapeString(d.Where), d.No)
		if err := prose(b, d.Text); err != nil {
			return err
		}
		b.WriteString("</section>\n")
	}
	b.WriteString("</section>\n")
	return nil
}

// A noteWire is a difference in the metadata of the cell whose text has its number: the text
// that is read back has it in its place.
type noteWire struct {
	No   int    `json:"no"`
	Text string `json:"text"`
}

// wired is a text as it stands in an .ipynb, and what its numbers stand for.
func (n *notes) wired(source, where string) (text string, all []noteWire) {
	text = n.marked(source, where, func(no int) string {
		all = append(all, noteWire{no, n.met[no].Text})
		return noteSign(no)
	})
	return text, all
}

// restored is the opposite of wired: each number becomes the quotation again. A number that was deleted in
// Jupyter is gone.
func restored(source string, all []noteWire) string {
	if len(all) == 0 {
		return source
	}
	return strings.TrimSpace(noteSigns.Regexp().ReplaceAllStringFunc(source, func(sign string) string {
		no := noteSigns.Regexp().FindStringSubmatch(sign)[1]
		i := slices.IndexFunc(all, func(w noteWire) bool { return strconv.Itoa(w.No) == no })
		if i < 0 {
			return sign
		}
		return "\n\n" + quoted(all[i].Text)
	}))
}

func quoted(text string) string {
	text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
	return strings.ReplaceAll(text, "> \n", ">\n")
}
