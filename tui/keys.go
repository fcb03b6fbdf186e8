package tui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A binding is keys, what they do, and how the user is told: by help and the pages as
// the key.Binding has it, by the footer more briefly.
type binding struct {
	key.Binding
	foot key.Help // empty where it isn't there
	// rank orders the footer: the lowest stay longest when it gets narrow.
	rank int
	act  func(*Model) tea.Cmd
	// digit acts in place of act where the key is a number.
	digit func(*Model, int) tea.Cmd
	when  func(*Model) bool // the footer has it then; nil = always
}

// bind names keys as help and the pages do, and as Bubble Tea does.
func bind(shown, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
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
			{Binding: bind("enter, ctrl+enter", "run the selected cell", "enter", "ctrl+enter"), foot: key.Help{Key: "enter", Desc: "run"}, rank: 1, act: (*Model).run},
			{Binding: bind("shift+enter, alt+enter, space", "run the selected cell and go to the next one (many terminals can't send shift+enter; the other two always work)", "shift+enter", "alt+enter", "space"), foot: key.Help{Key: "space", Desc: "run+next"}, rank: 3, act: (*Model).runAndNext},
			{Binding: bind("A", "run all cells of all parts", "A"), foot: key.Help{Key: "A", Desc: "all"}, rank: 6, act: (*Model).runAll},
			{Binding: bind("P", "run the cells of this part", "P"), act: (*Model).runPart},
			{Binding: bind("F", "run from the selected cell to the end", "F"), foot: key.Help{Key: "F", Desc: "from here"}, rank: 8, act: (*Model).runFromHere},
			{Binding: bind("R", "run what is left from here on: what never ran, went wrong or is stale", "R"), act: (*Model).runRest},
			{Binding: bind("i", "interrupt the running cell and empty the queue", "i"), foot: key.Help{Key: "i", Desc: "interrupt"}, rank: 0, act: (*Model).interrupt, when: (*Model).busy},
			{Binding: bind("c", "clear the selected cell's output", "c"), act: (*Model).clear},
			{Binding: bind("p", "the parameters that the selected cell reads, for it or for all cells; on an introduction all of them", "p"), foot: key.Help{Key: "p", Desc: "parameters"}, rank: 11, act: (*Model).openForm},
			{Binding: bind("w", "why: run the checks that could explain what is wrong with the selected cell", "w"), foot: key.Help{Key: "w", Desc: "why?"}, rank: 1, act: (*Model).explain, when: (*Model).explainable},
			{Binding: bind("L", "the link under test: which two nodes are here and the peer (a rig of more than two)", "L"), foot: key.Help{Key: "L", Desc: "link"}, rank: 6, act: (*Model).chooseLink, when: (*Model).linkable},
			{Binding: bind("C", "the checklist: what is wrong with this rig?", "C"), foot: key.Help{Key: "C", Desc: "checklist"}, rank: 6, act: (*Model).openChecklist},
		}},
		{"move", []binding{
			{Binding: bind("↓, j", "next cell, or further down where it is longer than the screen", "down", "j"), foot: key.Help{Key: "↑↓", Desc: "move"}, rank: 5, act: (*Model).down},
			{Binding: bind("↑, k", "previous cell, or further up", "up", "k"), act: (*Model).up},
			{Binding: bind("tab, →, l, ]", "next part", "tab", "right", "l", "]"), foot: key.Help{Key: "tab", Desc: "part"}, rank: 4, act: (*Model).nextPart},
			{Binding: bind("shift+tab, ←, h, [", "previous part", "shift+tab", "left", "h", "["), act: (*Model).previousPart},
			{Binding: bind("1 … 9", "go to that part", "1", "2", "3", "4", "5", "6", "7", "8", "9"), digit: (*Model).goToPart},
			{Binding: bind("pgdn, ctrl+f", "scroll a page down", "pgdown", "ctrl+f"), act: (*Model).pageDown},
			{Binding: bind("pgup, ctrl+b", "scroll a page up", "pgup", "ctrl+b"), act: (*Model).pageUp},
			{Binding: bind("ctrl+d", "scroll half a page down", "ctrl+d"), act: (*Model).halfDown},
			{Binding: bind("ctrl+u", "scroll half a page up", "ctrl+u"), act: (*Model).halfUp},
			{Binding: bind("home", "the part's beginning", "home"), act: (*Model).home},
			{Binding: bind("end, G", "the part's last cell", "end", "G"), act: (*Model).end},
		}},
		{"look", []binding{
			{Binding: bind("o", "open the selected cell's whole output; again, or esc, closes it", "o"), foot: key.Help{Key: "o", Desc: "output"}, rank: 9, act: (*Model).openOutput},
			{Binding: bind("/", "look for something in the selected cell's output", "/"), act: (*Model).findInOutput},
			{Binding: bind("y", "copy the selected cell's last output and its verdict, if the terminal allows it", "y"), act: (*Model).copyOutput},
			{Binding: bind("Y", "copy its script, with the values that it would run with", "Y"), act: (*Model).copyScript},
			{Binding: bind("|", "open its log in $PAGER", "|"), act: (*Model).openPager},
			{Binding: bind("O", "fold the selected cell's output away, or show it", "O"), act: (*Model).toggleOutput},
			{Binding: bind("e", "show or hide what the verdict rests on", "e"), foot: key.Help{Key: "e", Desc: "evidence"}, rank: 10, act: (*Model).toggleEvidence},
			{Binding: bind("s", "show or fold a long script", "s"), act: (*Model).toggleScript},
			{Binding: bind("T T", "show the whole script of a cell that came in somebody else's session, and trust it: it runs then", "T"), act: (*Model).trust},
			{Binding: bind("g", "gauges: below, the whole screen, hidden", "g"), foot: key.Help{Key: "g", Desc: "gauges"}, rank: 7, act: (*Model).cycleGauges},
			{Binding: bind("0", "reset the gauges' peaks and averages; twice: clear all outputs and verdicts", "0"), act: (*Model).restart},
		}},
		{"edit", []binding{
			{Binding: bind("E", "edit the selected cell's script (enter runs it)", "E"), act: (*Model).edit},
			{Binding: bind("a", "add a scratch cell above", "a"), act: (*Model).insertAbove},
			{Binding: bind("b", "add a scratch cell below", "b"), act: (*Model).insertBelow},
			{Binding: bind("d d", "remove the selected cell", "d"), act: (*Model).remove},
			{Binding: bind("z", "take back the last change of cells", "z"), act: (*Model).undoEdit},
			{Binding: bind("t", "where a scratch cell runs: here, on the peer, on both", "t"), act: (*Model).cyclePlace},
			{Binding: bind("m", "make a scratch cell a note (Markdown), and a note a script", "m"), act: (*Model).toggleNote},
		}},
		everywhere(),
	}
}

// checklistKeys work while the checklist is on the screen.
func checklistKeys() []chapter {
	return []chapter{
		{"checklist", []binding{
			{Binding: bind("A", "check everything, or all that is shown", "A"), foot: key.Help{Key: "A", Desc: "check all"}, rank: 1, act: (*Model).survey},
			{Binding: bind("enter, space", "run the selected check", "enter", "space"), foot: key.Help{Key: "enter", Desc: "check"}, rank: 3, act: (*Model).runCheck},
			{Binding: bind("f", "put right what it found, and check again: shown and asked first", "f"), foot: key.Help{Key: "f", Desc: "fix"}, rank: 2, act: (*Model).fix, when: (*Model).fixable},
			{Binding: bind("p", "the parameters that the selected check or its fix reads", "p"), act: (*Model).openCheckForm},
			{Binding: bind("n", "the next check that found something", "n"), foot: key.Help{Key: "n", Desc: "next finding"}, rank: 5, act: (*Model).nextFinding},
			{Binding: bind("/", "find checks by a symptom: type it, or paste an error's text", "/"), foot: key.Help{Key: "/", Desc: "symptom"}, rank: 4, act: (*Model).typeSymptom},
			{Binding: bind("↓, j", "next check", "down", "j"), act: func(m *Model) tea.Cmd { return m.nextCheck(1) }},
			{Binding: bind("↑, k", "previous check", "up", "k"), act: func(m *Model) tea.Cmd { return m.nextCheck(-1) }},
			{Binding: bind("pgdn, ctrl+f", "ten checks on", "pgdown", "ctrl+f"), act: func(m *Model) tea.Cmd { return m.nextCheck(10) }},
			{Binding: bind("pgup, ctrl+b", "ten checks back", "pgup", "ctrl+b"), act: func(m *Model) tea.Cmd { return m.nextCheck(-10) }},
			{Binding: bind("home", "the first check", "home"), act: func(m *Model) tea.Cmd { return m.nextCheck(-len(m.checks())) }},
			{Binding: bind("end, G", "the last check", "end", "G"), act: func(m *Model) tea.Cmd { return m.nextCheck(len(m.checks())) }},
			{Binding: bind("o", "open what the check's script printed", "o"), foot: key.Help{Key: "o", Desc: "output"}, rank: 8, act: (*Model).checkOutput},
			{Binding: bind("y", "copy what the check's script printed and its verdict, if the terminal allows it", "y"), act: (*Model).copyOutput},
			{Binding: bind("Y", "copy its script, with the values that it would run with", "Y"), act: (*Model).copyScript},
			{Binding: bind("|", "open its log in $PAGER", "|"), act: (*Model).openPager},
			{Binding: bind("e", "show or hide the evidence", "e"), foot: key.Help{Key: "e", Desc: "evidence"}, rank: 9, act: (*Model).checkEvidence},
			{Binding: bind("s", "show or hide the script", "s"), act: (*Model).checkScript},
			{Binding: bind("i", "interrupt what runs and empty the queue", "i"), foot: key.Help{Key: "i", Desc: "interrupt"}, rank: 0, act: (*Model).interrupt, when: (*Model).busy},
			{Binding: bind("esc", "all checks, where only some are shown, and else back to the notebook", "esc"), foot: key.Help{Key: "esc", Desc: "back"}, rank: 6, act: (*Model).leaveChecklist},
			{Binding: bind("C", "back to the notebook", "C"), act: (*Model).closeChecklist},
			{Binding: bind("g", "gauges: below, the whole screen, hidden", "g"), act: (*Model).cycleGauges},
			{Binding: bind("0", "reset the gauges' peaks and averages", "0"), act: (*Model).resetPeaks},
		}},
		everywhere(),
	}
}

// outputKeys work while an output is open.
func outputKeys() []chapter {
	return []chapter{
		{"output", []binding{
			{Binding: bind("o", "close the output", "o"), foot: key.Help{Key: "o", Desc: "close"}, rank: 1, act: (*Model).closeOutput},
			{Binding: bind("esc", "leave the search, or close the output", "esc"), act: (*Model).leaveOutput},
			{Binding: bind("/", "look for something: capitals count where there is one", "/"), foot: key.Help{Key: "/", Desc: "search"}, rank: 5, act: (*Model).typeWords},
			{Binding: bind("n", "the next place where it was found", "n"), foot: key.Help{Key: "n", Desc: "next"}, rank: 2, act: func(m *Model) tea.Cmd { return m.nextFound(1) }, when: (*Model).searching},
			{Binding: bind("N", "the one before", "N"), act: func(m *Model) tea.Cmd { return m.nextFound(-1) }},
			{Binding: bind("y", "copy the whole output that is kept, if the terminal allows it", "y"), foot: key.Help{Key: "y", Desc: "copy"}, rank: 10, act: (*Model).copyOutput},
			{Binding: bind("Y", "copy its script, with the values that it would run with", "Y"), act: (*Model).copyScript},
			{Binding: bind("|", "open its log in $PAGER", "|"), foot: key.Help{Key: "|", Desc: "pager"}, rank: 9, act: (*Model).openPager},
			{Binding: bind("↓, j", "a line down", "down", "j"), foot: key.Help{Key: "↑↓", Desc: "scroll"}, rank: 3, act: func(m *Model) tea.Cmd { return m.turn(1) }},
			{Binding: bind("↑, k", "a line up", "up", "k"), act: func(m *Model) tea.Cmd { return m.turn(-1) }},
			{Binding: bind("pgdn, ctrl+f, space", "a page down", "pgdown", "ctrl+f", "space"), act: func(m *Model) tea.Cmd { return m.turn(m.pageHeight()) }},
			{Binding: bind("pgup, ctrl+b", "a page up", "pgup", "ctrl+b"), act: func(m *Model) tea.Cmd { return m.turn(-m.pageHeight()) }},
			{Binding: bind("ctrl+d", "half a page down", "ctrl+d"), act: func(m *Model) tea.Cmd { return m.turn(m.pageHeight() / 2) }},
			{Binding: bind("ctrl+u", "half a page up", "ctrl+u"), act: func(m *Model) tea.Cmd { return m.turn(-m.pageHeight() / 2) }},
			{Binding: bind("home", "the first line that is kept", "home"), foot: key.Help{Key: "home", Desc: "first"}, rank: 5, act: (*Model).pageFirst},
			{Binding: bind("end, G", "the end, and stay there", "end", "G"), foot: key.Help{Key: "end", Desc: "last"}, rank: 4, act: (*Model).pageLast},
			{Binding: bind("→, l", "the rest of long lines", "right", "l"), foot: key.Help{Key: "←→", Desc: "long lines"}, rank: 6, act: func(m *Model) tea.Cmd { return m.slide(1) }},
			{Binding: bind("←, h", "back to the lines' beginning", "left", "h"), act: func(m *Model) tea.Cmd { return m.slide(-1) }},
			{Binding: bind("i", "interrupt the running cell and empty the queue", "i"), foot: key.Help{Key: "i", Desc: "interrupt"}, rank: 0, act: (*Model).interrupt, when: (*Model).busy},
			{Binding: bind("g", "gauges: below, the whole screen, hidden", "g"), foot: key.Help{Key: "g", Desc: "gauges"}, rank: 7, act: (*Model).cycleGauges},
			{Binding: bind("0", "reset the gauges' peaks and averages", "0"), act: (*Model).resetPeaks},
		}},
		everywhere(),
	}
}

// searchKeys work while a search is typed; every other key is a letter of it.
func searchKeys() []chapter {
	return []chapter{{"search", []binding{
		{Binding: bind("enter", "go on with n and N", "enter"), foot: key.Help{Key: "enter", Desc: "done"}, rank: 1, act: (*Model).keepSearch},
		{Binding: bind("esc, ctrl+c", "leave the search", "esc", "ctrl+c"), foot: key.Help{Key: "esc", Desc: "leave"}, rank: 2, act: (*Model).dropSearch},
		{Binding: bind("backspace", "take a letter back", "backspace"), act: (*Model).eraseSearch},
		{Binding: bind("ctrl+u", "take all of it back", "ctrl+u"), foot: key.Help{Key: "ctrl+u", Desc: "empty"}, rank: 3, act: (*Model).emptySearch},
	}}}
}

// gaugeKeys work while the gauges have the whole screen.
func gaugeKeys() []chapter {
	return []chapter{
		{"gauges", []binding{
			{Binding: bind("g", "gauges: below, the whole screen, hidden", "g"), foot: key.Help{Key: "g", Desc: "hide"}, rank: 2, act: (*Model).cycleGauges},
			{Binding: bind("esc", "back to the notebook", "esc"), foot: key.Help{Key: "esc", Desc: "notebook"}, rank: 1, act: (*Model).closeGauges},
			{Binding: bind("0", "reset the gauges' peaks and averages", "0"), foot: key.Help{Key: "0", Desc: "reset peaks"}, rank: 3, act: (*Model).resetPeaks},
			{Binding: bind("enter", "run the selected cell", "enter"), foot: key.Help{Key: "enter", Desc: "run"}, rank: 4, act: (*Model).run},
			{Binding: bind("i", "interrupt the running cell and empty the queue", "i"), foot: key.Help{Key: "i", Desc: "interrupt"}, rank: 0, act: (*Model).interrupt, when: (*Model).busy},
		}},
		everywhere(),
	}
}

func everywhere() chapter {
	return chapter{"railbench", []binding{
		{Binding: bind("ctrl+p, ctrl+k", "find an action, a part, a cell or a check by its words", "ctrl+p", "ctrl+k"), act: (*Model).openPalette},
		{Binding: bind("ctrl+s", "write edited scripts to the runbook that they are from; of the built-in tutorial, say where the session is saved, which it is by itself", "ctrl+s"), act: (*Model).tellSaved},
		{Binding: bind("D", "read: troubleshooting, glossary, keys and more; D closes them", "D"), act: (*Model).toggleDocs},
		{Binding: bind("?", "this help", "?"), foot: key.Help{Key: "?", Desc: "help"}, rank: 2, act: (*Model).openHelp},
		{Binding: bind("ctrl+c", "interrupt what runs; with nothing running, or a second time, ask whether to quit", "ctrl+c"), act: (*Model).control},
		{Binding: bind("q", "quit; asks first while a cell runs", "q"), foot: key.Help{Key: "q", Desc: "quit"}, rank: 11, act: (*Model).quit},
	}}
}
