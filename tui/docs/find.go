package docs

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Find is the pages while what is looked for in them is typed.
type Find struct{ *Pages }

// typeFind begins to type what is looked for in all pages.
func (pg *Pages) typeFind() tea.Cmd {
	pg.line = screen.NewLine(find.Most)
	pg.Layers.Push(screen.DocsWords)
	return nil
}

// Key types the words; enter goes to the first place that has them.
func (df *Find) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		df.Layers.Drop(screen.DocsWords)
	case "enter":
		df.Layers.Drop(screen.DocsWords)
		df.words, df.Found = find.New(strings.TrimSpace(df.line.Text())), -1
		if df.words.Text != "" {
			return df.nextPlace(1)
		}
	default:
		df.line.Key(msg)
	}
	return nil
}

// Paste adds to the words.
func (df *Find) Paste(text string) tea.Cmd {
	df.line.Paste(screen.FirstLine(text))
	return nil
}

// Bindings are what the footer says.
func (df *Find) Bindings() []screen.Chapter {
	on := screen.On
	return []screen.Chapter{{Title: "search", Bindings: []screen.Binding{
		on("enter", "go to the first place", "enter").Brief(1, "enter", "find"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").Brief(2, "esc", "leave"),
	}}}
}

// onward goes to the next place that was looked for, or without a search to the next chapter.
func (pg *Pages) onward(way int) tea.Cmd {
	if pg.words.Text == "" {
		return pg.nextChapter(way)
	}
	return pg.nextPlace(way)
}

// nextPlace opens the next page that has the words, at the line below the top of the one that is open.
func (pg *Pages) nextPlace(way int) tea.Cmd {
	width := pg.Layout().NoteWidth - 1
	from := -1
	switch {
	case pg.Found >= 0 && pg.page:
		from = pg.Found
	case pg.page:
		from = pg.top - 1
	case way < 0:
		from = 0
	}
	for i := range len(pg.All) + 1 {
		item := ((pg.Item+way*i)%len(pg.All) + len(pg.All)) % len(pg.All)
		lines, _ := pg.setDoc(item, width)
		if at := pg.place(lines, from, way); at >= 0 {
			pg.Open(item)
			pg.Found = at
			pg.top = max(0, min(at, pg.end()))
			pg.chapterInSight()
			return nil
		}
		if from = -1; way < 0 {
			from = 1 << 30
		}
	}
	return pg.Say("no page has " + theme.Clean(pg.words.Text))
}

// place is the first line behind another one, or before it, that has the words; -1 for none.
func (pg *Pages) place(lines []string, from, way int) int {
	i := max(0, from+1)
	if way < 0 {
		i = min(from, len(lines)) - 1
	}
	for ; i >= 0 && i < len(lines); i += way {
		if pg.words.Count(ansi.Strip(lines[i])) > 0 {
			return i
		}
	}
	return -1
}
