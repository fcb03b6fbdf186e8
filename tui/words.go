package tui

import (
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/screen"
)

// glossaryPage explains words.
const glossaryPage = "glossary"

// glossed begins an entry of the glossary: **a word, another one**: what they mean.
var glossed = regexp.MustCompile(`(?m)^\*\*([^*]+)\*\*:? `)

// wordsOf are the entries of the glossary whose words a text has.
func wordsOf(glossary, text string) string {
	var found []string
	for entry := range strings.SplitSeq(glossary, "\n\n") {
		m := glossed.FindStringSubmatchIndex(entry)
		if m == nil || m[0] != 0 {
			continue
		}
		for term := range strings.SplitSeq(entry[m[2]:m[3]], ", ") {
			word := regexp.MustCompile(`(?i)(^|[^\w-])` + regexp.QuoteMeta(term) + `s?([^\w-]|$)`)
			if word.MatchString(text) {
				found = append(found, strings.TrimSpace(entry))
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}

// explainWords shows what the words of the selected cell's text mean, or of the part's introduction.
func (nb *notebook) explainWords() tea.Cmd {
	text := nb.open().Title + " " + nb.open().Prose
	if c, ok := nb.selected(); ok {
		text = c.Title + " " + c.Prose + " " + c.Tail
	}
	nb.docs.loadDocs()
	i := slices.IndexFunc(nb.docs.all, func(d screen.Doc) bool { return d.Name == glossaryPage })
	words := ""
	if i >= 0 {
		words = wordsOf(nb.docs.all[i].Text, text)
	}
	if words == "" {
		nb.Notice = "the glossary has none of these words: D lists all pages"
		return nil
	}
	return nb.docs.explained("# Words of this text\n\n" + words + "\n")
}
