package plain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/railbench/railbench/steps/pairs"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/theme"
)

// Pairs draws the maps into width columns and breaks sentences at words columns.
func Pairs(out io.Writer, m *pairs.Matrix, width, words int) error {
	j := m.Judge()
	say := func(first, rest, text string) (err error) {
		for _, line := range theme.Wrap(text, words, first, rest) {
			_, err = sanitize.Fprintln(out, line)
		}
		return err
	}
	for _, what := range pairs.Measures {
		_ = say("", "", m.Title(what))
		for _, line := range m.Map(what, width) {
			sanitize.Fprintln(out, line.Text)
		}
		_ = say("", "", m.Scale(what))
		sanitize.Fprintln(out)
	}
	for _, line := range m.Key() {
		_ = say("", "", line)
	}
	sanitize.Fprintln(out)
	indent := strings.Repeat(" ", min(18, words/4))
	for _, c := range j.Causes {
		_ = say("", indent, fmt.Sprintf("%-17s %s", c.State, c.Text))
		_ = say(indent, indent, c.Evidence)
	}
	// A writer that failed once fails from then on.
	return say("", "", fmt.Sprintf("%s  %s  %s", j.Grade, m.Elapsed.Round(time.Second), j.Brief))
}

// mostChanges is how many changed figures are printed.
const mostChanges = 50

// PairsCompared prints what is worse in b than in a, and what is better.
func PairsCompared(out io.Writer, a, b *pairs.Matrix, share float64) (worse int, err error) {
	all := pairs.Compare(a, b, share)
	for i, c := range all {
		if c.Worse {
			worse++
		}
		if i >= mostChanges {
			continue
		}
		word := "better"
		if c.Worse {
			word = "worse"
		}
		sanitize.Fprintf(out, "%-7s %s of %s: %s (%s), was %s (%s)\n", word, c.What, c.Words, pairs.Shown(c.What, c.B),
			c.States[1],
			pairs.Shown(c.What, c.A), c.States[0])
	}
	if len(all) > mostChanges {
		sanitize.Fprintf(out, "and %d more: pairs show --csv has every figure\n", len(all)-mostChanges)
	}
	was, is := a.Judge(), b.Judge()
	_, err = sanitize.Fprintf(out, "%d worse, %d better; %s, was %s\n", worse, len(all)-worse, is.Grade, was.Grade)
	return worse, err
}
