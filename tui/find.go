package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/output"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// A search through the whole notebook: what is written in it, and what its cells printed.
// One through an opened output is in search.go.

// finder is what is looked for in the notebook, while it is typed and after that.
type finder struct {
	*screen.Shared
	screen.Tabled
	notebook *notebook
	output   *output.Layer
	lookup   lookup
}

// lookup is what is looked for, and where it is.
type lookup struct {
	line   screen.Line // the words as they are typed
	words  find.Words
	hits   []match
	at     int // the one that is shown
	part   int // where the search began
	begun  cursor
	where  string // how to see what is found where the screen doesn't show it
	around string // that the last step went past an end of the notebook
}

// A match is an introduction or a cell that has the words.
type match struct {
	part, item int
	// line is the first of the kept lines of its output that has them; -1 where they are
	// in what is written.
	line int
}

// typeFind begins to type what is looked for.
func (fi *finder) typeFind() tea.Cmd {
	fi.Follow, fi.notebook.watch = false, ""
	fi.Layers.Push(screen.Words)
	fi.lookup = lookup{line: screen.NewLine(find.Most), part: fi.notebook.part, begun: *fi.notebook.cursor()}
	return nil
}

// Key is a key while the words are typed.
func (fi *finder) Key(msg tea.KeyPressMsg) tea.Cmd {
	if cmd, ok := screen.Press(fi.Keys, msg); ok {
		return cmd
	}
	if fi.lookup.line.Key(msg) {
		return fi.lookFor(fi.lookup.line.Text())
	}
	return nil
}

// lookFor changes the words, and shows the first place from where the search began.
func (fi *finder) lookFor(words string) tea.Cmd {
	f := &fi.lookup
	if words == f.words.Text {
		return nil
	}
	f.words = find.New(words)
	fi.notebook.part = f.part
	*fi.notebook.cursor() = f.begun
	if f.hits, f.at = fi.matches(), 0; len(f.hits) == 0 {
		return nil
	}
	f.at = max(0, slices.IndexFunc(f.hits, func(p match) bool {
		return p.part > f.part || p.part == f.part && p.item >= f.begun.item
	}))
	fi.showPlace()
	return nil
}

// matches are all that have the words, in the notebook's order: of an output its first line that has them;
// once it is opened, n goes through the others.
func (fi *finder) matches() (all []match) {
	n := &fi.lookup.words
	if n.Text == "" {
		return nil
	}
	for i, p := range fi.Parts() {
		if n.Count(p.Title+"\n"+p.Prose) > 0 {
			all = append(all, match{i, 0, -1})
		}
		for j, c := range p.Cells {
			state := fi.Book.Cells[c.ID]
			if n.Count(wording(c, state.Verdict)) > 0 {
				all = append(all, match{i, j + 1, -1})
			}
			for k, l := range state.Output.Lines(0, state.Output.Len()) {
				if n.Count(l.Text) > 0 {
					all = append(all, match{i, j + 1, k})
					break
				}
			}
		}
	}
	return all
}

// wording is all that is written in a cell, and of it.
func wording(c steps.Cell, v steps.Verdict) string {
	text := []string{c.ID, c.Title, c.Prose, c.Tail, v.Reason}
	for _, r := range c.Roles {
		text = append(text, r.Script)
	}
	for _, e := range v.Evidence {
		text = append(text, e.Name, fmt.Sprint(e.Value), e.Unit)
		if e.Expected != nil {
			text = append(text, e.Expected.From)
		}
	}
	for _, x := range v.Charts {
		text = append(text, x.Title)
	}
	for _, t := range v.Tables {
		text = append(text, t.Title, t.Note)
		for _, c := range t.Columns {
			text = append(text, c.Name)
		}
		for _, row := range t.Rows {
			text = append(text, row...)
		}
	}
	return strings.Join(text, "\n")
}

// showPlace selects the place where the search stands, and shows the line that has the words.
func (fi *finder) showPlace() {
	at := fi.lookup.hits[fi.lookup.at]
	fi.notebook.goToPart(at.part)
	d, h := fi.notebook.lines(), fi.Layout().NoteHeight
	fi.notebook.choose(at.item, d, h)
	fi.lookup.where = ""
	if at.line >= 0 {
		fi.lookup.where = "in its output; O opens it there"
	}
	for i, l := range d.items[at.item] {
		if fi.lookup.words.Count(ansi.Strip(l)) == 0 {
			continue
		}
		fi.notebook.settle(d, h)
		if line := d.starts[at.item] + i; line < fi.notebook.top(d) || line >= fi.notebook.top(d)+h {
			fi.notebook.setTop(d, line-h/3, h)
			fi.notebook.cursor().loose = true
		}
		return
	}
	if at.line < 0 {
		c := fi.Parts()[at.part].Cells[max(0, at.item-1)]
		fi.lookup.where = fi.foldedIn(c)
	}
}

// foldedIn says which key shows what a search has found in a cell and the screen doesn't show.
func (fi *finder) foldedIn(c steps.Cell) string {
	n, v := &fi.lookup.words, fi.Book.Cells[c.ID].Verdict
	evidence, scripts := v, c
	evidence.Tables, evidence.Charts = nil, nil
	scripts.Prose, scripts.Tail = "", ""
	tables := v
	tables.Evidence, tables.Reason = nil, ""
	var keys []string
	for _, one := range []struct {
		key  string
		text string
	}{
		{"e", wording(steps.Cell{}, evidence)},
		{"S", wording(scripts, steps.Verdict{})},
		{cells.WideKey, wording(steps.Cell{}, tables)},
	} {
		if n.Count(one.text) > 0 {
			keys = append(keys, one.key)
		}
	}
	if keys == nil {
		return "folded"
	}
	return "folded: " + strings.Join(keys, " or ") + " shows it"
}

// nextPlace goes to the next place that has the words, or to the one before.
func (fi *finder) nextPlace(way int) tea.Cmd {
	f := &fi.lookup
	if f.words.Text == "" {
		return fi.Say("/ looks for something")
	}
	f.hits = fi.matches() // cells may have run since
	if len(f.hits) == 0 {
		return fi.Say("nothing found")
	}
	to := f.at + way
	if f.at >= len(f.hits) || f.hits[f.at].part != fi.notebook.part || f.hits[f.at].item != fi.notebook.cursor().item {
		// One has moved on since: what is selected counts.
		to = slices.IndexFunc(f.hits, func(p match) bool {
			return p.part > fi.notebook.part || p.part == fi.notebook.part && p.item > fi.notebook.cursor().item
		})
		if to < 0 {
			to = len(f.hits)
		}
		if way < 0 {
			to--
		}
	}
	wrapped := to < 0 || to >= len(f.hits)
	f.at = (to + len(f.hits)) % len(f.hits)
	fi.showPlace()
	// Next to the count, not in its place: it says why the count has jumped.
	if f.around = ""; wrapped {
		f.around = map[bool]string{true: "on from the beginning", false: "on from the end"}[way > 0]
	}
	return nil
}

func (fi *finder) eraseFind() tea.Cmd {
	if fi.lookup.line.Text() == "" {
		return fi.dropFind()
	}
	fi.lookup.line.Key(tea.KeyPressMsg{Code: tea.KeyBackspace})
	return fi.lookFor(fi.lookup.line.Text())
}

func (fi *finder) emptyFind() tea.Cmd {
	fi.lookup.line.Set("")
	return fi.lookFor("")
}

// keepFind ends the typing.
func (fi *finder) keepFind() tea.Cmd {
	fi.Layers.Drop(screen.Words)
	if fi.lookup.words.Text != "" && len(fi.lookup.hits) == 0 {
		fi.Notice = "nothing found"
	}
	return nil
}

// dropFind leaves the search and goes back to where it began.
func (fi *finder) dropFind() tea.Cmd {
	fi.notebook.part = fi.lookup.part
	*fi.notebook.cursor() = fi.lookup.begun
	fi.Layers.Drop(screen.Words)
	fi.lookup = lookup{}
	return nil
}

// leaveFind takes the marks away.
func (fi *finder) leaveFind() tea.Cmd {
	fi.lookup = lookup{}
	return nil
}

// finding reports whether something is looked for in the notebook.
func (fi *finder) finding() bool { return fi.lookup.words.Text != "" }

// openFound opens the selected cell's output, and where something is looked for, at that.
func (fi *finder) openFound() tea.Cmd {
	cmd := fi.notebook.openOutput()
	if fi.Layers.Has(screen.Output) && fi.finding() {
		fi.output.LookFor(fi.lookup.words.Text)
	}
	return cmd
}

// lookedFor says what is looked for and in how many places it is; empty where nothing is.
func (fi *finder) lookedFor() string {
	f := &fi.lookup
	if !fi.Layers.Has(screen.Words) && !fi.finding() {
		return ""
	}
	k := fi.Styles
	text := " " + k.Accent.Render("/"+theme.Clean(f.words.Text))
	if fi.Layers.Has(screen.Words) {
		text = " " + k.Accent.Render("/") + f.line.View(k, k.Accent, fi.Width)
	}
	switch {
	case f.words.Text == "":
	case len(f.hits) == 0:
		text += "  " + k.Warn.Render("nothing found")
	default:
		text += "  " + k.Strong.Render(fmt.Sprintf("%s of %s", steps.Thousands(f.at+1), steps.Thousands(len(f.hits))))
		if more := strings.TrimSpace(f.around + "  " + f.where); more != "" {
			text += "  " + k.Accent.Render(more)
		}
	}
	return text + "  "
}

// marked shows the words in a drawn line.
func (fi *finder) marked(line string) string {
	if !fi.finding() {
		return line
	}
	return fi.lookup.words.Marked(fi.Styles, line)
}

// Paste adds to the words.
func (fi *finder) Paste(text string) tea.Cmd {
	if fi.lookup.line.Paste(screen.FirstLine(text)) {
		return fi.lookFor(fi.lookup.line.Text())
	}
	return nil
}

// Click selects what was clicked.
func (fi *finder) Click(x, row int) tea.Cmd { return fi.notebook.Click(x, row) }

// Wheel scrolls the notebook.
func (fi *finder) Wheel(lines int) tea.Cmd { return fi.notebook.Wheel(lines) }

// Draw is the notebook, where what was found is marked.
func (fi *finder) Draw(width, height int) screen.Picture { return fi.notebook.Draw(width, height) }
