package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pattern"
)

// called is the command of a cell's run on the stage, worked out once a run.
type called struct {
	cell string
	run  steps.RunID
	text string
}

// command is what a cell's run calls, with the values in place of their names as far as anybody knows them.
func (m *Model) command(c steps.Cell) string {
	run := m.book.Cells[c.ID].Run
	if m.stage.called.cell == c.ID && m.stage.called.run == run {
		return m.stage.called.text
	}
	text := command(c)
	// What a change would undo is read from a file: a frame does not wait for that.
	if m.opts.Planned != nil && text != "" && !c.Change.Any() && !m.book.Rig.Probed.IsZero() {
		text = valued(text, values(m.opts.Planned(m.book, c), c.Roles[len(c.Roles)-1].Name))
	}
	m.stage.called = called{c.ID, run, text}
	return text
}

var assignment = pattern.New(`^([A-Z][A-Z0-9_]*)='([^']*)'$`)

// values are those that a dry run gives a role's script. What differs from rail to rail has none.
func values(plan, role string) map[string]string {
	all, differ := map[string]string{}, map[string]bool{}
	own := false
	for line := range strings.Lines(plan) {
		line = strings.TrimRight(line, "\n")
		if head, ok := strings.CutPrefix(line, "# --- "); ok { // ID, ROLE, rail N, on NODE
			own = role == "" || slices.Contains(strings.Split(head, ", "), role)
		}
		m := assignment.FindStringSubmatch(line)
		if !own || m == nil {
			continue
		}
		if was, ok := all[m[1]]; ok && was != m[2] {
			differ[m[1]] = true
		}
		all[m[1]] = m[2]
	}
	for name := range differ {
		delete(all, name)
	}
	return all
}

var variable = pattern.New(`\$\{?([A-Z][A-Z0-9_]*)\}?`)

// valued is a command with values in place of variables, and without the quotes around those that have none.
func valued(command string, values map[string]string) string {
	words := strings.Fields(command)
	for i, word := range words {
		if strings.HasPrefix(word, `"$`) && strings.HasSuffix(word, `"`) {
			word = strings.Trim(word, `"`)
		}
		words[i] = ""
		for m := variable.FindStringSubmatchIndex(word); m != nil; m = variable.FindStringSubmatchIndex(word) {
			words[i] += word[:m[0]] + cmp.Or(values[word[m[2]:m[3]]], word[m[0]:m[1]])
			word = word[m[1]:]
		}
		words[i] += word
	}
	return strings.Join(words, " ")
}
