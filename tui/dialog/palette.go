package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sahilm/fuzzy"

	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// The palette finds by its words what can be done, and where one can go: the actions
// of the screen, parts, cells, pages and checks.

// Palette is what is typed at it.
type Palette struct {
	*screen.Shared
	screen.Inert
	Choices func() []Choice // all that there are on this screen

	Line  screen.Line
	item  int
	Links bool     // only links are to choose from
	then  []string // cells that run once a link is chosen
}

// title says what is chosen.
func (pal *Palette) title() string {
	if pal.Links {
		return "which link? here ⇄ peer"
	}
	return "what to do, where to go"
}

// A Choice is one line of the palette.
type Choice struct {
	Kind, Name string
	Key        string // that does the same; empty where there is none
	Act        func() tea.Cmd
}

// Chosen are those that have all words that are typed, those that begin with them
// first. Where none has them, they are those that have the letters in this order, the best first.
func (pal *Palette) Chosen() []Choice {
	words := strings.Fields(strings.ToLower(pal.Line.Text()))
	var found []Choice
	all := pal.Choices()
	for _, c := range all {
		text := strings.ToLower(c.Kind + " " + c.Name)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		for _, match := range fuzzy.FindFrom(strings.Join(words, ""), choices(all)) {
			found = append(found, all[match.Index])
		}
		return found
	}
	if len(words) > 0 {
		// Ids and subjects stand behind two blanks: a typed id means that one.
		starts := func(c Choice) int {
			if strings.HasPrefix(strings.ToLower(c.Name), words[0]) ||
				strings.HasSuffix(strings.ToLower(c.Name), "  "+words[0]) {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(found, func(a, b Choice) int { return starts(a) - starts(b) })
	}
	return found
}

// choices are a list that is searched by their names.
type choices []Choice

// String is the name of one.
func (c choices) String(i int) string { return c[i].Name }

// Len is how many there are.
func (c choices) Len() int { return len(c) }

// Key moves through what was found, chooses, or is a letter of the words.
func (pal *Palette) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		pal.Layers.Drop(screen.Palette)
	case "enter":
		pal.Layers.Drop(screen.Palette)
		if all := pal.Chosen(); pal.item < len(all) {
			return all[pal.item].Act()
		}
	case "up", "ctrl+p", "ctrl+k":
		pal.item = max(0, pal.item-1)
	case "down", "ctrl+n", "ctrl+j":
		pal.item = min(pal.item+1, max(0, len(pal.Chosen())-1))
	default:
		// Whatever is found then is another list: its first line is the selected one.
		if pal.Line.Key(msg) {
			pal.item = 0
		}
	}
	return nil
}

// MaxPalette bounds what is typed: no name is longer.
const MaxPalette = 200

// Draw is the palette as a box.
func (pal *Palette) Draw(width, height int) screen.Picture {
	width = min(screen.BoxWidth, width)
	k := pal.Styles
	all := pal.Chosen()
	// As high as what was found, and not so low that it jumps with each letter.
	room := max(1, min(height-6, max(len(all), leastChoices)))
	pal.item = max(0, min(pal.item, len(all)-1))
	top := max(0, min(pal.item-room/2, len(all)-room))
	lines := []string{k.Accent.Render("> ") + pal.Line.View(k, theme.Style{}, max(2, width-3))}
	lines = append(lines, "")
	for i := range room {
		at := top + i
		if at >= len(all) {
			if at == 0 {
				lines = append(lines, k.Dim.Render("nothing has these words"))
			} else {
				lines = append(lines, "")
			}
			continue
		}
		c := all[at]
		style, mark := k.Dim, "  "
		if at == pal.item {
			style, mark = k.Focus, k.Accent.Render("▸ ")
		}
		key := k.Accent.Render(ansi.Truncate(c.Key, max(4, width/3), "…"))
		left := mark + k.Faint.Render(theme.Pad(c.Kind, 8)) + style.Render(theme.Clean(c.Name))
		lines = append(lines, theme.Sides(ansi.Truncate(left, max(1, width-lipgloss.Width(key)-1), "…"), key, width))
	}
	hint := k.Focus.Render("enter") + " go there   " + k.Focus.Render("↑↓") + " another   " + k.Focus.Render("esc") +
		" close"
	lines = append(lines, "", ansi.Truncate(hint, width, "…"))
	return screen.Picture{Lines: lines, Title: pal.title(), Columns: width}
}

// leastChoices is how many rows the palette has at least.
const leastChoices = 8

// Open begins with no words.
func (pal *Palette) Open() {
	pal.Layers.Push(screen.Palette)
	pal.Line, pal.item, pal.Links, pal.then = screen.NewLine(MaxPalette), 0, false, nil
}

// Paste adds to the words, as one line.
func (pal *Palette) Paste(text string) tea.Cmd {
	if pal.Line.Paste(strings.Join(strings.Fields(text), " ")) {
		pal.item = 0
	}
	return nil
}
