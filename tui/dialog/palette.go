package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sahilm/fuzzy"

	"github.com/railbench/railbench/steps"
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
	hint := screen.Hints(k, "   ", "enter", "go there", "↑↓", "another", "esc", "close")
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

// A rig of more than two nodes has a link under test, whose two ends are here and the
// peer to every cell. It is chosen from the palette, and asked for before the first cell
// runs.

// Links is the choice of the link under test.
type Links struct {
	*screen.Shared
	Palette *Palette
}

// Open is the key that asks for the link under test.
func (ln *Links) Open() tea.Cmd {
	if ln.Linkable() {
		ln.Palette.ChooseLink(nil)
	} else {
		ln.Notice = "a rig of two nodes has one link"
	}
	return nil
}

// ChooseLink asks for the link under test, and runs cells then.
func (pal *Palette) ChooseLink(then []string) {
	pal.Open()
	pal.Links, pal.then = true, then
}

// mostLinks is how many links are offered: those of 64 nodes. Of more nodes the palette's words find them.
const mostLinks = 64 * 63 / 2

// Choices are the palette's lines of all links, each both ways: here is where the
// clients run.
func (ln *Links) Choices() (all []Choice) {
	if !ln.Linkable() {
		return nil
	}
	names := make([]string, len(ln.Book.Rig.Nodes)) // by number
	for i, name := range ln.Names() {
		if no := ln.Number(steps.End(i)); no >= 0 && no < len(names) { // a saved one may be any
			names[no] = name
		}
	}
	links, next := ln.Book.Rig.Cabled()
	if len(links) > mostLinks {
		words := strings.Fields(strings.ToLower(ln.Palette.Line.Text()))
		if links = linksOf(names, words); len(words) == 0 && ln.Palette.Links {
			links = next
		}
	}
	for _, two := range links {
		for _, l := range []steps.Link{two, {Here: two.Peer, Peer: two.Here}} {
			name := fmt.Sprintf("%s ⇄ %s", names[l.Here], names[l.Peer])
			if l == ln.Book.Rig.Link() {
				name += "  (now)"
			}
			all = append(all, Choice{Kind: "link", Name: name, Act: func() tea.Cmd { return ln.setLink(l) }})
		}
	}
	return all
}

// linksOf are links of nodes whose names have words: of those that have the one to those that have the other, and
// where there is one such word to all.
func linksOf(names, words []string) (links []steps.Link) {
	var ends [][]int
	for _, word := range words {
		var has []int
		for no, name := range names {
			if strings.Contains(strings.ToLower(name), word) {
				has = append(has, no)
			}
		}
		if has != nil { // a word may also be of what a line begins with
			ends = append(ends, has)
		}
	}
	if ends == nil {
		return nil
	}
	to := ends[len(ends)-1]
	if len(ends) == 1 {
		to = make([]int, len(names))
		for no := range names {
			to[no] = no
		}
	}
	for _, a := range ends[0] {
		for _, b := range to {
			// Both ways are offered of each: where both ends have both words it would come twice.
			if a != b && (a < b || !slices.Contains(ends[0], b) || !slices.Contains(to, a)) {
				links = append(links, steps.Link{Here: min(a, b), Peer: max(a, b)})
			}
			if len(links) == mostLinks {
				return links
			}
		}
	}
	return links
}

func (ln *Links) setLink(l steps.Link) tea.Cmd {
	ln.Linked = true
	wanted := ln.Palette.then
	ln.Notice = fmt.Sprintf("the link under test: %s ⇄ %s", ln.NodeName(l.Here), ln.NodeName(l.Peer))
	return ln.Try(func(s screen.Session) error {
		err := s.SetLink(l)
		if err == nil && len(wanted) > 0 {
			s.Run(wanted...)
		}
		return err
	})
}
