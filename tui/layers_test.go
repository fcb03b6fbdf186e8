package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/screen"
)

// opened are screens with each layer on top.
func opened(t *testing.T) map[screen.Level]func() *driven {
	t.Helper()
	with := func(keys ...string) func() *driven {
		return func() *driven {
			s := newScreen(t, withChecklist(), 100, 40)
			s.Opts.Docs = func() []screen.Doc { return []screen.Doc{{Name: "rig", About: "nodes", Text: "# Rig\n\nText.\n"}} }
			s.tell(connected()...)
			s.send(snapshotMsg(sampleBoard(4, 0)))
			s.press(keys...)
			return s
		}
	}
	output := func(keys ...string) func() *driven {
		return func() *driven {
			s := with("3")()
			s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
			s.prints(rows(200, "Error")...)
			s.press(append([]string{"O", "home"}, keys...)...)
			return s
		}
	}
	quits := with("3")
	return map[screen.Level]func() *driven{
		screen.Notebook:    with("3"),
		screen.Words:       with("3", "/"),
		screen.Checklist:   with("C"),
		screen.Symptom:     with("C", "/"),
		screen.Output:      output(),
		screen.OutputWords: output("/"),
		screen.Gauges:      with("3", "g"),
		screen.Presenting:  with("3", "ctrl+g"),
		screen.Docs:        with("3", "D"),
		screen.DocsWords:   with("3", "D", "/"),
		screen.Editor:      with("3", "E"),
		screen.Form:        with("4", "home", "down", "p"),
		screen.Palette:     with("C", "ctrl+p"),
		screen.Help:        with("3", "?"),
		screen.Quit: func() *driven {
			s := quits()
			s.press("ctrl+c")
			return s
		},
		screen.SaveAs: func() *driven {
			s := quits()
			s.tell(steps.Saved{Why: "no room"})
			s.press("ctrl+s")
			return s
		},
		screen.DrillEnd: func() *driven {
			s := quits()
			s.Layers.Push(screen.DrillEnd)
			return s
		},
		screen.Question: func() *driven {
			s := quits()
			s.send(questionMsg(steps.Question{
				Change: &steps.ChangeQuestion{Title: "Make a bond"}, Answer: func(string, bool) {},
			}))
			return s
		},
		screen.TooSmall: func() *driven {
			s := quits()
			s.send(tea.WindowSizeMsg{Width: 10, Height: 3})
			return s
		},
	}
}

// behind is what of the layers below may not change while another one is on top.
func (s *driven) behind() string {
	page := ""
	if s.Layers.Has(screen.Output) {
		page = fmt.Sprint(s.output.Page.Top, s.output.Page.Search.Words.Text)
	}
	return fmt.Sprint(s.notebook.part, *s.notebook.cursor(), s.list.Words.Text(), s.list.Item,
		s.finder.lookup.words.Text, page)
}

// Whatever is on top has the keys, the paste, the click and the wheel, and nothing behind it changes.
func TestLayers(t *testing.T) {
	// What a paste is for, and what the wheel and a click move.
	pastes := map[screen.Level]bool{
		screen.Words: true, screen.Checklist: true, screen.Symptom: true, screen.OutputWords: true,
	}
	moves := map[screen.Level]bool{
		screen.Notebook: true, screen.Words: true, screen.Checklist: true, screen.Symptom: true, screen.Output: true,
		screen.OutputWords: true,
	}
	all := opened(t)
	if len(all) != int(screen.Levels) {
		t.Errorf("%d of %d layers are opened", len(all), screen.Levels)
	}
	for top, open := range all {
		t.Run(fmt.Sprint(top), func(t *testing.T) {
			if s := open(); s.Layers.Top() != top {
				t.Fatalf("layer %d is on top, want %d:\n%s", s.Layers.Top(), top, s.plain())
			}
			for what, msg := range map[string]tea.Msg{
				"paste": tea.PasteMsg{Content: "retry_exc_err"},
				"wheel": tea.MouseWheelMsg{Button: tea.MouseWheelDown, X: 60, Y: 20},
				"click": tea.MouseClickMsg{Button: tea.MouseLeft, X: 3, Y: 8},
			} {
				s := open()
				s.view()
				before := s.behind()
				s.send(msg)
				s.view()
				free := what == "paste" && pastes[top] || what != "paste" && moves[top]
				if after := s.behind(); after != before && !free {
					t.Errorf("a %s changes what is behind:\n%s\n%s", what, before, after)
				}
				s.asked()
			}
			// A terminal that becomes too small keeps the layer, and no key acts on what is not seen.
			s := open()
			before := s.behind()
			s.send(tea.WindowSizeMsg{Width: 10, Height: 3})
			s.press("A", "x", "j", "delete", "enter", "3", "P")
			s.asked()
			s.send(tea.WindowSizeMsg{Width: 100, Height: 40})
			if top != screen.TooSmall && s.Layers.Top() != top || s.behind() != before {
				t.Errorf("keys in a small terminal act: layer %d:\n%s\n%s", s.Layers.Top(), before, s.behind())
			}
			// A question that opens meanwhile is on top, unless something is being typed.
			s = open()
			s.send(questionMsg(steps.Question{
				Change: &steps.ChangeQuestion{Title: "Make a bond"}, Answer: func(string, bool) {},
			}))
			if now := s.Layers.Top(); now != screen.Question && !s.Layers.Typing() {
				t.Errorf("a question opens, and layer %d is on top", now)
			}
		})
	}
}

// A screen fills its room; a box has a title, and text that fits.
func TestLayersDraw(t *testing.T) {
	for level, open := range opened(t) {
		s := open()
		l := s.Layout()
		width, height := l.NoteWidth+1, l.NoteHeight
		switch {
		case level == screen.Presenting:
			width, height = s.Width, s.Height
		case level == screen.Gauges:
			width, height = s.Width, l.BodyHeight
		case level.Boxed():
			width, height = s.Width-8, s.Height-2
		case level == screen.TooSmall:
			continue
		}
		p := s.all[level].Draw(width, height)
		if level.Boxed() && (p.Title == "" || p.Columns > width || s.all[level].Bindings() != nil) ||
			!level.Boxed() && (len(p.Lines) != height || s.all[level].Bindings() == nil) {
			t.Errorf("layer %d: %d lines in a room of %dx%d, title %q", level, len(p.Lines), width, height, p.Title)
		}
		most := width
		if level.Boxed() {
			most = p.Columns
		}
		for _, line := range p.Lines {
			if w := ansi.StringWidth(line); w > most || !level.Boxed() && w != width {
				t.Errorf("layer %d: a line of %d columns in %d: %q", level, w, most, ansi.Strip(line))
			}
		}
	}
}

// What is pasted into the palette is looked for there.
func TestPasteIntoThePalette(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 40)
	s.press("C", "ctrl+p")
	s.send(tea.PasteMsg{Content: "run \n everything"})
	if s.palette.Line.Text() != "run everything" || s.list.Words.Text() != "" {
		t.Errorf("the palette has %q, the checklist %q", s.palette.Line.Text(), s.list.Words.Text())
	}
	s.send(tea.PasteMsg{Content: strings.Repeat("ä", 1000)})
	if n := len([]rune(s.palette.Line.Text())); n > dialog.MaxPalette {
		t.Errorf("%d characters are kept", n)
	}
}

// Every line that is typed has a cursor: left, a word back, and letters in the middle.
func TestLinesHaveACursor(t *testing.T) {
	for name, c := range map[string]struct {
		open screen.Level
		text func(*driven) string
	}{
		"palette": {screen.Palette, func(s *driven) string { return s.palette.Line.Text() }},
		"symptom": {screen.Symptom, func(s *driven) string { return s.list.Words.Text() }},
		"words":   {screen.Words, func(s *driven) string { return s.finder.lookup.words.Text }},
		"search":  {screen.OutputWords, func(s *driven) string { return s.output.Page.Search.Words.Text }},
		"form":    {screen.Form, func(s *driven) string { return s.form.Fields[s.form.Item].Line.Text() }},
	} {
		s := opened(t)[c.open]()
		s.press("ctrl+u", "a", "c", "left", "b", "end", "space", "x", "y", "ctrl+w")
		if got := strings.TrimRight(c.text(s), " "); got != "abc" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
