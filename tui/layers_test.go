package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
)

// opened are screens with each layer on top.
func opened(t *testing.T) map[level]func() *screen {
	t.Helper()
	with := func(keys ...string) func() *screen {
		return func() *screen {
			s := newScreen(t, withChecklist(), 100, 40)
			s.opts.Docs = func() []Doc { return []Doc{{Name: "rig", About: "nodes", Text: "# Rig\n\nText.\n"}} }
			s.tell(connected()...)
			s.send(snapshotMsg(sampleBoard(4, 0)))
			s.press(keys...)
			return s
		}
	}
	output := func(keys ...string) func() *screen {
		return func() *screen {
			s := with("3")()
			s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
			s.prints(rows(200, "Error")...)
			s.press(append([]string{"O", "home"}, keys...)...)
			return s
		}
	}
	quits := with("3")
	return map[level]func() *screen{
		notebookLevel:     with("3"),
		wordsLevel:        with("3", "/"),
		checklistLevel:    with("C"),
		symptomLevel:      with("C", "/"),
		outputLevel:       output(),
		searchLevel:       output("/"),
		gaugesLevel:       with("3", "g"),
		presentationLevel: with("3", "ctrl+g"),
		docsLevel:         with("3", "D"),
		docsFindLevel:     with("3", "D", "/"),
		editorLevel:       with("3", "E"),
		formLevel:         with("4", "home", "down", "p"),
		paletteLevel:      with("C", "ctrl+p"),
		helpLevel:         with("3", "?"),
		quitLevel: func() *screen {
			s := quits()
			s.press("ctrl+c")
			return s
		},
		saveAsLevel: func() *screen {
			s := quits()
			s.tell(steps.Saved{Why: "no room"})
			s.press("ctrl+s")
			return s
		},
		drillLevel: func() *screen {
			s := quits()
			s.layers.push(drillLevel)
			return s
		},
		questionLevel: func() *screen {
			s := quits()
			s.send(questionMsg(steps.Question{
				Change: &steps.ChangeQuestion{Title: "Make a bond"}, Answer: func(string, bool) {},
			}))
			return s
		},
		smallLevel: func() *screen {
			s := quits()
			s.send(tea.WindowSizeMsg{Width: 10, Height: 3})
			return s
		},
	}
}

// behind is what of the layers below may not change while another one is on top.
func (s *screen) behind() string {
	page := ""
	if s.layers.has(outputLevel) {
		page = fmt.Sprint(s.output.page.top, s.output.page.search.words.text)
	}
	return fmt.Sprint(s.notebook.part, *s.notebook.cursor(), s.list.words.text(), s.list.item,
		s.finder.lookup.words.text, page)
}

// Whatever is on top has the keys, the paste, the click and the wheel, and nothing behind it changes.
func TestLayers(t *testing.T) {
	// What a paste is for, and what the wheel and a click move.
	pastes := map[level]bool{
		wordsLevel: true, checklistLevel: true, symptomLevel: true, searchLevel: true,
	}
	moves := map[level]bool{
		notebookLevel: true, wordsLevel: true, checklistLevel: true, symptomLevel: true, outputLevel: true,
		searchLevel: true,
	}
	all := opened(t)
	if len(all) != int(levels) {
		t.Errorf("%d of %d layers are opened", len(all), levels)
	}
	for top, open := range all {
		t.Run(fmt.Sprint(top), func(t *testing.T) {
			if s := open(); s.layers.top() != top {
				t.Fatalf("layer %d is on top, want %d:\n%s", s.layers.top(), top, s.plain())
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
			if top != smallLevel && s.layers.top() != top || s.behind() != before {
				t.Errorf("keys in a small terminal act: layer %d:\n%s\n%s", s.layers.top(), before, s.behind())
			}
			// A question that opens meanwhile is on top, unless something is being typed.
			s = open()
			s.send(questionMsg(steps.Question{
				Change: &steps.ChangeQuestion{Title: "Make a bond"}, Answer: func(string, bool) {},
			}))
			if now := s.layers.top(); now != questionLevel && !s.layers.typing() {
				t.Errorf("a question opens, and layer %d is on top", now)
			}
		})
	}
}

// A screen fills its room; a box has a title, and text that fits.
func TestLayersDraw(t *testing.T) {
	for level, open := range opened(t) {
		s := open()
		l := s.layout()
		width, height := l.noteWidth+1, l.noteHeight
		switch {
		case level == presentationLevel:
			width, height = s.width, s.height
		case level == gaugesLevel:
			width, height = s.width, l.bodyHeight
		case level.boxed():
			width, height = s.width-8, s.height-2
		case level == smallLevel:
			continue
		}
		p := s.all[level].Draw(width, height)
		if level.boxed() && (p.title == "" || p.columns > width || s.all[level].Bindings() != nil) ||
			!level.boxed() && (len(p.lines) != height || s.all[level].Bindings() == nil) {
			t.Errorf("layer %d: %d lines in a room of %dx%d, title %q", level, len(p.lines), width, height, p.title)
		}
		most := width
		if level.boxed() {
			most = p.columns
		}
		for _, line := range p.lines {
			if w := ansi.StringWidth(line); w > most || !level.boxed() && w != width {
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
	if s.palette.line.text() != "run everything" || s.list.words.text() != "" {
		t.Errorf("the palette has %q, the checklist %q", s.palette.line.text(), s.list.words.text())
	}
	s.send(tea.PasteMsg{Content: strings.Repeat("ä", 1000)})
	if n := len([]rune(s.palette.line.text())); n > maxPalette {
		t.Errorf("%d characters are kept", n)
	}
}

// Every line that is typed has a cursor: left, a word back, and letters in the middle.
func TestLinesHaveACursor(t *testing.T) {
	for name, c := range map[string]struct {
		open level
		text func(*screen) string
	}{
		"palette": {paletteLevel, func(s *screen) string { return s.palette.line.text() }},
		"symptom": {symptomLevel, func(s *screen) string { return s.list.words.text() }},
		"words":   {wordsLevel, func(s *screen) string { return s.finder.lookup.words.text }},
		"search":  {searchLevel, func(s *screen) string { return s.output.page.search.words.text }},
		"form":    {formLevel, func(s *screen) string { return s.form.fields[s.form.item].line.text() }},
	} {
		s := opened(t)[c.open]()
		s.press("ctrl+u", "a", "c", "left", "b", "end", "space", "x", "y", "ctrl+w")
		if got := strings.TrimRight(c.text(s), " "); got != "abc" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
