package tui

import (
	tea "charm.land/bubbletea/v2"
)

// A binding is keys, what they do, and how the user is told.
type binding struct {
	keys  []string // as Bubble Tea names them
	shown string   // as help, footer and README name them
	does  string   // a sentence for help and README
	brief string   // a word or two for the footer; empty where it isn't there
	// rank orders the footer: the lowest stay longest when it gets narrow.
	rank int
	act  func(*Model) tea.Cmd
	// digit acts in place of act where the key is a number.
	digit func(*Model, int) tea.Cmd
	when  func(*Model) bool // nil = always
}

// A chapter is the bindings of one screen under one heading.
type chapter struct {
	title    string
	bindings []binding
}

// notebookKeys work while the notebook is on the screen.
func notebookKeys() []chapter {
	return []chapter{
		{"run", []binding{
			{keys: []string{"enter"}, shown: "enter", does: "run the selected cell", brief: "run", rank: 1, act: (*Model).run},
			{keys: []string{"shift+enter", "alt+enter", "space"}, shown: "shift+enter, alt+enter, space", does: "run the selected cell and go to the next one (many terminals can't send shift+enter; the other two always work)", brief: "run+next", rank: 3, act: (*Model).runAndNext},
			{keys: []string{"A"}, shown: "A", does: "run all cells of all parts", brief: "all", rank: 6, act: (*Model).runAll},
			{keys: []string{"P"}, shown: "P", does: "run the cells of this part", act: (*Model).runPart},
			{keys: []string{"F"}, shown: "F", does: "run from the selected cell to the end", brief: "from here", rank: 8, act: (*Model).runFromHere},
			{keys: []string{"i"}, shown: "i", does: "interrupt the running cell and empty the queue", brief: "interrupt", rank: 0, act: (*Model).interrupt, when: (*Model).busy},
			{keys: []string{"c"}, shown: "c", does: "clear the selected cell's output", act: (*Model).clear},
		}},
		{"move", []binding{
			{keys: []string{"down", "j"}, shown: "↓, j", does: "next cell, or further down where it is longer than the screen", brief: "move", rank: 5, act: (*Model).down},
			{keys: []string{"up", "k"}, shown: "↑, k", does: "previous cell, or further up", act: (*Model).up},
			{keys: []string{"tab", "right", "l", "]"}, shown: "tab, →, l, ]", does: "next part", brief: "part", rank: 4, act: (*Model).nextPart},
			{keys: []string{"shift+tab", "left", "h", "["}, shown: "shift+tab, ←, h, [", does: "previous part", act: (*Model).previousPart},
			{keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, shown: "1 … 9", does: "go to that part", digit: (*Model).goToPart},
			{keys: []string{"pgdown", "ctrl+f"}, shown: "pgdn, ctrl+f", does: "scroll a page down", act: (*Model).pageDown},
			{keys: []string{"pgup", "ctrl+b"}, shown: "pgup, ctrl+b", does: "scroll a page up", act: (*Model).pageUp},
			{keys: []string{"ctrl+d"}, shown: "ctrl+d", does: "scroll half a page down", act: (*Model).halfDown},
			{keys: []string{"ctrl+u"}, shown: "ctrl+u", does: "scroll half a page up", act: (*Model).halfUp},
			{keys: []string{"home"}, shown: "home", does: "the part's beginning", act: (*Model).home},
			{keys: []string{"end", "G"}, shown: "end, G", does: "the part's last cell", act: (*Model).end},
		}},
		{"look", []binding{
			{keys: []string{"o"}, shown: "o", does: "open the selected cell's whole output; again, or esc, closes it", brief: "output", rank: 9, act: (*Model).openOutput},
			{keys: []string{"e"}, shown: "e", does: "show or hide what the verdict rests on", brief: "evidence", rank: 10, act: (*Model).toggleEvidence},
			{keys: []string{"s"}, shown: "s", does: "show or fold a long script", act: (*Model).toggleScript},
			{keys: []string{"g"}, shown: "g", does: "gauges: below, the whole screen, hidden", brief: "gauges", rank: 7, act: (*Model).cycleGauges},
			{keys: []string{"0"}, shown: "0", does: "reset the gauges' peaks and averages", act: (*Model).resetPeaks},
		}},
		everywhere(),
	}
}

// outputKeys work while an output is open.
func outputKeys() []chapter {
	return []chapter{
		{"output", []binding{
			{keys: []string{"o", "esc"}, shown: "o, esc", does: "close the output", brief: "close", rank: 1, act: (*Model).closeOutput},
			{keys: []string{"down", "j"}, shown: "↓, j", does: "a line down", brief: "scroll", rank: 3, act: func(m *Model) tea.Cmd { return m.turn(1) }},
			{keys: []string{"up", "k"}, shown: "↑, k", does: "a line up", act: func(m *Model) tea.Cmd { return m.turn(-1) }},
			{keys: []string{"pgdown", "ctrl+f", "space"}, shown: "pgdn, ctrl+f, space", does: "a page down", act: func(m *Model) tea.Cmd { return m.turn(m.pageHeight()) }},
			{keys: []string{"pgup", "ctrl+b"}, shown: "pgup, ctrl+b", does: "a page up", act: func(m *Model) tea.Cmd { return m.turn(-m.pageHeight()) }},
			{keys: []string{"ctrl+d"}, shown: "ctrl+d", does: "half a page down", act: func(m *Model) tea.Cmd { return m.turn(m.pageHeight() / 2) }},
			{keys: []string{"ctrl+u"}, shown: "ctrl+u", does: "half a page up", act: func(m *Model) tea.Cmd { return m.turn(-m.pageHeight() / 2) }},
			{keys: []string{"home"}, shown: "home", does: "the first line that is kept", brief: "first", rank: 5, act: (*Model).pageFirst},
			{keys: []string{"end", "G"}, shown: "end, G", does: "the end, and stay there", brief: "last", rank: 4, act: (*Model).pageLast},
			{keys: []string{"right", "l"}, shown: "→, l", does: "the rest of long lines", brief: "long lines", rank: 6, act: func(m *Model) tea.Cmd { return m.slide(1) }},
			{keys: []string{"left", "h"}, shown: "←, h", does: "back to the lines' beginning", act: func(m *Model) tea.Cmd { return m.slide(-1) }},
			{keys: []string{"i"}, shown: "i", does: "interrupt the running cell and empty the queue", brief: "interrupt", rank: 0, act: (*Model).interrupt, when: (*Model).busy},
			{keys: []string{"g"}, shown: "g", does: "gauges: below, the whole screen, hidden", brief: "gauges", rank: 7, act: (*Model).cycleGauges},
			{keys: []string{"0"}, shown: "0", does: "reset the gauges' peaks and averages", act: (*Model).resetPeaks},
		}},
		everywhere(),
	}
}

// gaugeKeys work while the gauges have the whole screen.
func gaugeKeys() []chapter {
	return []chapter{
		{"gauges", []binding{
			{keys: []string{"g"}, shown: "g", does: "gauges: below, the whole screen, hidden", brief: "hide", rank: 2, act: (*Model).cycleGauges},
			{keys: []string{"esc"}, shown: "esc", does: "back to the notebook", brief: "notebook", rank: 1, act: (*Model).closeGauges},
			{keys: []string{"0"}, shown: "0", does: "reset the gauges' peaks and averages", brief: "reset peaks", rank: 3, act: (*Model).resetPeaks},
			{keys: []string{"enter"}, shown: "enter", does: "run the selected cell", brief: "run", rank: 4, act: (*Model).run},
			{keys: []string{"i"}, shown: "i", does: "interrupt the running cell and empty the queue", brief: "interrupt", rank: 0, act: (*Model).interrupt, when: (*Model).busy},
		}},
		everywhere(),
	}
}

func everywhere() chapter {
	return chapter{"railbench", []binding{
		{keys: []string{"?"}, shown: "?", does: "this help", brief: "help", rank: 2, act: (*Model).openHelp},
		{keys: []string{"ctrl+c"}, shown: "ctrl+c", does: "interrupt what runs; with nothing running, or a second time, ask whether to quit", act: (*Model).control},
		{keys: []string{"q"}, shown: "q", does: "quit; asks first while a cell runs", brief: "quit", rank: 11, act: (*Model).quit},
	}}
}
