package output

import (
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// A search through an opened output. Lines are numbered from the run's first one, so
// that what was found stays found while old lines are dropped; and each is looked at
// once, when it comes or when the words change.
type search struct {
	line  screen.Line // the words as they are typed
	Words find.Words
	Hits  []hit // lines that have it, in order
	Total int   // how often it was found in them
	read  int   // the first line that was not looked at yet
	At    spot  // where the search stands
	from  view  // what was seen before it began
	old   string
}

// A hit is a line in which the words are, so often.
type hit struct{ line, Times int }

// A spot is one place where they are: the nth in a line, from 1.
type spot struct{ line, nth int }

// Nowhere is where a search stands that has found nothing.
var Nowhere = spot{}

// A view is what is seen of a run's output, from a line and a column on.
type view struct {
	line, column int
	follow       bool
}

// sought starts looking for other words.
func (s *search) sought(words string) {
	s.Words, s.At = find.New(words), Nowhere
	s.again()
}

// again forgets what was found.
func (s *search) again() { s.Hits, s.Total, s.read = nil, 0, 0 }

// scan takes in lines that it has not seen, and leaves out those that are gone.
func (s *search) scan(out steps.Scroll) {
	if s.Words.Text == "" {
		return
	}
	first := out.Dropped()
	gone := 0
	for gone < len(s.Hits) && s.Hits[gone].line < first {
		s.Total -= s.Hits[gone].Times
		gone++
	}
	s.Hits = s.Hits[gone:]
	s.read = max(s.read, first)
	for _, l := range out.Lines(s.read-first, out.Len()) {
		if times := s.Words.Count(l.Text); times > 0 {
			s.Hits = append(s.Hits, hit{s.read, times})
			s.Total += times
		}
		s.read++
	}
	if s.At.line < first {
		s.At = Nowhere
	}
}

// next is the spot after another one, or before it; the first that is tried after
// the last one is the first. wrapped says that it went on at the other end.
func (s *search) next(from spot, way int) (to spot, wrapped bool) {
	if len(s.Hits) == 0 {
		return Nowhere, false
	}
	i, on := slices.BinarySearchFunc(s.Hits, from.line, func(h hit, line int) int { return h.line - line })
	if way > 0 {
		switch {
		case on && from.nth < s.Hits[i].Times:
			return spot{from.line, from.nth + 1}, false
		case on:
			i++
		}
		if i < len(s.Hits) {
			return spot{s.Hits[i].line, 1}, false
		}
		return spot{s.Hits[0].line, 1}, true
	}
	if on && from.nth > 1 {
		return spot{from.line, from.nth - 1}, false
	}
	wrapped = i == 0
	if wrapped {
		i = len(s.Hits)
	}
	h := s.Hits[i-1]
	return spot{h.line, h.Times}, wrapped
}

// Number counts the spots up to the one where the search stands.
func (s *search) Number() int {
	n := 0
	for _, h := range s.Hits {
		if h.line >= s.At.line {
			break
		}
		n += h.Times
	}
	return n + s.At.nth
}

// Key is a key while the words are typed.
func (out *SearchLine) Key(msg tea.KeyPressMsg) tea.Cmd {
	if cmd, ok := screen.Press(out.SearchKeys(), msg); ok {
		return cmd
	}
	if out.Page.Search.line.Key(msg) {
		out.Seek(out.Page.Search.line.Text())
	}
	return nil
}

func columns(s string) int { return ansi.StringWidth(theme.Clean(s)) }

// SearchLine is an opened output while what is looked for in it is typed.
type SearchLine struct{ *Layer }

// Paste adds to the words.
func (out *SearchLine) Paste(text string) tea.Cmd {
	if out.Page.Search.line.Paste(screen.FirstLine(text)) {
		out.Seek(out.Page.Search.line.Text())
	}
	return nil
}

// Bindings are those of the table.
func (out *SearchLine) Bindings() []screen.Chapter { return out.SearchKeys() }

// SearchKeys work while a search is typed; every other key is a letter of it.
func (out *Layer) SearchKeys() []screen.Chapter {
	on := screen.On
	return []screen.Chapter{{Title: "search", Bindings: []screen.Binding{
		on("enter", "go on with n and N", "enter").To(out.keepSearch).Brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").To(out.dropSearch).Brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").To(out.eraseSearch),
		on("ctrl+u", "take all of it back", "ctrl+u").To(out.emptySearch).Brief(3, "ctrl+u", "empty"),
	}}}
}
