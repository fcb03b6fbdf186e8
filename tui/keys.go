package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/cells"
)

// A binding is keys, what they do, and how the user is told: by help and the pages as
// the key.Binding has it, by the footer more briefly.
type binding struct {
	key.Binding
	foot key.Help // empty where it isn't there
	// rank orders the footer: the lowest stay longest when it gets narrow.
	rank int
	act  func(*Model) tea.Cmd
	// jupyter is what the key does there, where that is something else.
	jupyter string
	// digit acts in place of act where the key is a number.
	digit func(*Model, int) tea.Cmd
	when  func(*Model) bool   // the footer has it then; nil = always
	does  func(*Model) string // what the footer says of it, where that changes
	acts  bool                // it does nothing on a screen that only follows
}

// bind names keys as help and the pages do, and as Bubble Tea does.
func bind(shown, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
}

// on begins a line of the tables below; what follows says the rest of a binding.
func on(shown, does string, keys ...string) binding {
	return binding{Binding: bind(shown, does, keys...)}
}

func (b binding) to(act func(*Model) tea.Cmd) binding {
	b.act = act
	return b
}

func (b binding) toNumber(act func(*Model, int) tea.Cmd) binding {
	b.digit = act
	return b
}

// unlike says what Jupyter does with the key.
func (b binding) unlike(jupyter string) binding {
	b.jupyter = jupyter
	return b
}

// brief puts it into the footer.
func (b binding) brief(rank int, name, does string) binding {
	b.rank, b.foot = rank, key.Help{Key: name, Desc: does}
	return b
}

// says is brief for a key that does one thing or another.
func (b binding) says(rank int, name string, does func(*Model) string) binding {
	b.does = does
	return b.brief(rank, name, "…")
}

// runs marks what only who may run something can do: a follower's footer doesn't have it.
func (b binding) runs() binding {
	b.acts = true
	return b
}

// only has the footer show it where it does something.
func (b binding) only(when func(*Model) bool) binding {
	b.when = when
	return b
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
			on("enter, ctrl+enter", "run the selected cell", "enter", "ctrl+enter").
				to((*Model).run).runs().brief(1, "enter", "run").unlike("enter edits the cell: here E does"),
			on("shift+enter, alt+enter, space",
				"run the selected cell and select the next one, and after the last one's verdict the next part"+
					" (many terminals can't send shift+enter; the other two always work)",
				"shift+enter", "alt+enter", "space").
				to((*Model).runAndNext).runs().says(3, "space", (*Model).spaceDoes).unlike("space scrolls: here pgdn does"),
			on("A", "run all cells of all parts, but for those beside the tutorial's way",
				"A").to((*Model).runAll).runs().brief(6, "A", "all"),
			on("P", "run the cells of this part", "P").to((*Model).runPart),
			on("F", "run from the selected cell to the end", "F").to((*Model).runFromHere).runs().brief(8, "F", "from here"),
			on("R", "run what is left from here on: what never ran, went wrong or is stale", "R").
				to((*Model).runRest),
			on("r", "open the runbook anew that has changed on disk", "r").
				to((*Model).reopen).runs().brief(1, "r", "open anew").only(func(m *Model) bool { return m.changedFile != "" }).
				unlike("r makes it raw text"),
			on("i i", "interrupt the running cell and empty the queue", "i").
				to((*Model).interruptTwice).runs().brief(0, "i i", "interrupt").only((*Model).busy),
			on("delete, ctrl+l", "clear the selected cell's output", "delete", "ctrl+l").to((*Model).clear),
			on("p",
				"the parameters that the selected cell reads, for it or for all cells; on an introduction all of them",
				"p").
				to((*Model).openForm).runs().brief(11, "p", "parameters").unlike("p opens the palette: here : does"),
			on("w", "why: run the checks that could explain what is wrong with the selected cell", "w").
				to((*Model).explain).runs().brief(1, "w", "why?").only((*Model).explainable),
			on("L", "the link under test: which two nodes are here and the peer (a rig of more than two)", "L").
				to((*Model).chooseLink).runs().brief(6, "L", "link").only((*Model).linkable).unlike("L numbers the lines"),
			on("C", "the checklist: what is wrong with this rig?", "C").
				to((*Model).openChecklist).brief(6, "C", "checklist"),
		}},
		{"move", []binding{
			on("↓, j", "next cell", "down", "j").to((*Model).down).brief(5, "↑↓", "move"),
			on("↑, k", "previous cell", "up", "k").to((*Model).up),
			on("tab, →, l, ]", "next part", "tab", "right", "l", "]").
				to((*Model).nextPart).brief(4, "tab", "part").unlike("l numbers the lines"),
			on("shift+tab, ←, h, [", "previous part", "shift+tab", "left", "h", "[").
				to((*Model).previousPart).unlike("h is the help: here ? is"),
			on("1 … 9", "go to that part; tab leads to those after the ninth", "1", "2", "3", "4", "5", "6", "7", "8", "9").
				toNumber((*Model).goToPart).unlike("1 … 6 make it a heading"),
			on("pgdn, ctrl+f", "scroll a page down", "pgdown", "ctrl+f").to((*Model).pageDown),
			on("pgup, ctrl+b", "scroll a page up", "pgup", "ctrl+b").to((*Model).pageUp),
			on("ctrl+d", "scroll half a page down", "ctrl+d").to((*Model).halfDown),
			on("ctrl+u", "scroll half a page up", "ctrl+u").to((*Model).halfUp),
			on("home", "the part's beginning", "home").to((*Model).home),
			on("end, G", "the part's last cell", "end", "G").to((*Model).end),
		}},
		{"look", []binding{
			on("o", "fold the selected cell's output away, or show it", "o").to((*Model).toggleOutput),
			on("/", "look for something in the whole notebook and in all outputs: capitals count where there is one", "/").
				to((*Model).typeFind).brief(12, "/", "search"),
			on("n", "the next place where it was found", "n").
				to(func(m *Model) tea.Cmd { return m.nextPlace(1) }).brief(2, "n", "next").only((*Model).finding),
			on("N", "the one before", "N").to(func(m *Model) tea.Cmd { return m.nextPlace(-1) }),
			on("esc", "leave the search", "esc").to((*Model).leaveFind),
			on("O", "open the selected cell's whole output; again, or esc, closes it", "O").
				to((*Model).openFound).brief(9, "O", "output"),
			on("y", "copy the selected cell's last output and its verdict, if the terminal allows it", "y").
				to((*Model).copyOutput).unlike("y makes it code: here m does"),
			on("Y", "copy its script, with the values that it would run with", "Y").to((*Model).copyScript),
			on("|", "open its log in $PAGER", "|").to((*Model).openPager),
			on("e", "show or hide what the verdict rests on", "e").
				to((*Model).toggleEvidence).brief(10, "e", "evidence"),
			on("S", "show all of a script and its values, or fold it", "S").to((*Model).toggleScript),
			on(cells.WideKey, "tables with all of their columns, as lists where they are too wide", cells.WideKey).
				to(func(m *Model) tea.Cmd { return m.toggleHere(m.whole) }),
			on("*", "what the numbers in the margin stand for: what the source documents say otherwise;"+
				" the page differences has all of them", "*").
				to(func(m *Model) tea.Cmd { return m.toggleHere(m.notes) }),
			on("H", "fold the list of parts away, or show it", "H").to((*Model).toggleParts),
			on("M", "leave the mouse to the terminal, which can select text then; again takes it back", "M").
				to((*Model).toggleMouse).unlike("M merges cells"),
			on("T T",
				"show the whole script of a cell that came in somebody else's session, and trust it: it runs then",
				"T").
				to((*Model).trust),
			on("g", "gauges: below, the whole screen, hidden", "g").to((*Model).cycleGauges).brief(7, "g", "gauges"),
			on("ctrl+g", "the stage: numerals and bars for an audience", "ctrl+g").
				to((*Model).openStage).brief(12, "ctrl+g", "stage"),
			on("0", "reset the gauges' peaks and averages; twice: clear all outputs and verdicts", "0").
				to((*Model).restart).unlike("0 0 restarts the kernel"),
		}},
		{"edit", []binding{
			on("E", "edit the selected cell's script (enter runs it)", "E").to((*Model).edit),
			on("a", "add a scratch cell above", "a").to((*Model).insertAbove),
			on("b", "add a scratch cell below", "b").to((*Model).insertBelow),
			on("d d", "remove the selected cell", "d").to((*Model).remove),
			on("x", "cut the selected cell", "x").to((*Model).cut),
			on("c", "copy the selected cell", "c").to((*Model).copyCell),
			on("v", "paste the cell that was cut or copied below", "v").to((*Model).pasteBelow),
			on("V", "paste it above", "V").to((*Model).pasteAbove),
			on("s", "save: as ctrl+s", "s").to((*Model).tellSaved),
			on("z", "take back the last change of cells", "z").to((*Model).undoEdit),
			on("t", "where a scratch cell runs: here, on the peer, on both", "t").to((*Model).cyclePlace),
			on("m", "make a scratch cell a note (Markdown), and a note a script", "m").to((*Model).toggleNote),
		}},
		everywhere(),
	}
}

// checklistKeys work while the checklist is on the screen.
func checklistKeys() []chapter {
	return []chapter{
		{"checklist", []binding{
			on("A", "check everything, or all that is shown", "A").to((*Model).survey).runs().brief(1, "A", "check all"),
			on("enter, space", "run the selected check", "enter", "space").
				to((*Model).runCheck).runs().brief(3, "enter", "check"),
			on("f", "put right what it found, and check again: shown and asked first", "f").
				to((*Model).fix).runs().brief(2, "f", "fix").only((*Model).fixable),
			on("p", "the parameters that the selected check or its fix reads", "p").to((*Model).openCheckForm),
			on("h", "in a drill: a hint, which costs points", "h").
				to((*Model).hint).runs().brief(1, "h", "hint").only((*Model).drilling),
			on("n", "the next check that found something", "n").to((*Model).nextFinding).brief(5, "n", "next finding"),
			on("/", "find checks by a symptom: type it, or paste an error's text", "/").
				to((*Model).typeSymptom).brief(4, "/", "symptom"),
			on("↓, j", "next check", "down", "j").to(func(m *Model) tea.Cmd { return m.nextCheck(1) }),
			on("↑, k", "previous check", "up", "k").to(func(m *Model) tea.Cmd { return m.nextCheck(-1) }),
			on("pgdn, ctrl+f", "ten checks on", "pgdown", "ctrl+f").
				to(func(m *Model) tea.Cmd { return m.nextCheck(10) }),
			on("pgup, ctrl+b", "ten checks back", "pgup", "ctrl+b").
				to(func(m *Model) tea.Cmd { return m.nextCheck(-10) }),
			on("home", "the first check", "home").to(func(m *Model) tea.Cmd { return m.nextCheck(-len(m.checks())) }),
			on("end, G", "the last check", "end", "G").
				to(func(m *Model) tea.Cmd { return m.nextCheck(len(m.checks())) }),
			on("O, o", "open what the check's script printed", "O", "o").
				to((*Model).checkOutput).brief(8, "O", "output"),
			on("y", "copy what the check's script printed and its verdict, if the terminal allows it", "y").
				to((*Model).copyOutput),
			on("Y", "copy its script, with the values that it would run with", "Y").to((*Model).copyScript),
			on("|", "open its log in $PAGER", "|").to((*Model).openPager),
			on("e", "show or hide the evidence", "e").to((*Model).checkEvidence).brief(9, "e", "evidence"),
			on("S, s", "show or hide the script", "S", "s").to((*Model).checkScript),
			on("i i", "interrupt what runs and empty the queue", "i").
				to((*Model).interruptTwice).runs().brief(0, "i i", "interrupt").only((*Model).busy),
			on("esc", "all checks, where only some are shown, and else back to the notebook", "esc").
				to((*Model).leaveChecklist).brief(6, "esc", "back"),
			on("C", "back to the notebook", "C").to((*Model).closeChecklist),
			on("g", "gauges: below, the whole screen, hidden", "g").to((*Model).cycleGauges),
			on("0", "reset the gauges' peaks and averages", "0").to((*Model).resetPeaks),
		}},
		everywhere(),
	}
}

// outputKeys work while an output is open.
func outputKeys() []chapter {
	return []chapter{
		{"output", []binding{
			on("O, o", "close the output", "O", "o").to((*Model).closeOutput).brief(1, "O", "close"),
			on("esc", "leave the search, or close the output", "esc").to((*Model).leaveOutput),
			on("/", "look for something: capitals count where there is one", "/").
				to((*Model).typeWords).brief(5, "/", "search"),
			on("n", "the next place where it was found", "n").
				to(func(m *Model) tea.Cmd { return m.nextFound(1) }).brief(2, "n", "next").only((*Model).searching),
			on("N", "the one before", "N").to(func(m *Model) tea.Cmd { return m.nextFound(-1) }),
			on("y", "copy the whole output that is kept, if the terminal allows it", "y").
				to((*Model).copyOutput).brief(10, "y", "copy"),
			on("Y", "copy its script, with the values that it would run with", "Y").to((*Model).copyScript),
			on("|", "open its log in $PAGER", "|").to((*Model).openPager).brief(9, "|", "pager"),
			on("↓, j", "a line down", "down", "j").
				to(func(m *Model) tea.Cmd { return m.turn(1) }).brief(3, "↑↓", "scroll"),
			on("↑, k", "a line up", "up", "k").to(func(m *Model) tea.Cmd { return m.turn(-1) }),
			on("pgdn, ctrl+f, space", "a page down", "pgdown", "ctrl+f", "space").
				to(func(m *Model) tea.Cmd { return m.turn(m.pageHeight()) }),
			on("pgup, ctrl+b", "a page up", "pgup", "ctrl+b").
				to(func(m *Model) tea.Cmd { return m.turn(-m.pageHeight()) }),
			on("ctrl+d", "half a page down", "ctrl+d").to(func(m *Model) tea.Cmd { return m.turn(m.pageHeight() / 2) }),
			on("ctrl+u", "half a page up", "ctrl+u").to(func(m *Model) tea.Cmd { return m.turn(-m.pageHeight() / 2) }),
			on("home", "the first line that is kept", "home").to((*Model).pageFirst).brief(5, "home", "first"),
			on("end, G", "the end, and stay there", "end", "G").to((*Model).pageLast).brief(4, "end", "last"),
			on("→, l", "the rest of long lines", "right", "l").
				to(func(m *Model) tea.Cmd { return m.slide(1) }).brief(6, "←→", "long lines"),
			on("←, h", "back to the lines' beginning", "left", "h").to(func(m *Model) tea.Cmd { return m.slide(-1) }),
			on("i i", "interrupt the running cell and empty the queue", "i").
				to((*Model).interruptTwice).runs().brief(0, "i i", "interrupt").only((*Model).busy),
			on("g", "gauges: below, the whole screen, hidden", "g").to((*Model).cycleGauges).brief(7, "g", "gauges"),
			on("0", "reset the gauges' peaks and averages", "0").to((*Model).resetPeaks),
		}},
		everywhere(),
	}
}

// searchKeys work while a search is typed; every other key is a letter of it.
func searchKeys() []chapter {
	return []chapter{{"search", []binding{
		on("enter", "go on with n and N", "enter").to((*Model).keepSearch).brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").to((*Model).dropSearch).brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").to((*Model).eraseSearch),
		on("ctrl+u", "take all of it back", "ctrl+u").to((*Model).emptySearch).brief(3, "ctrl+u", "empty"),
	}}}
}

// gaugeKeys work while the gauges have the whole screen.
func gaugeKeys() []chapter {
	return []chapter{
		{"gauges", []binding{
			on("g", "gauges: below, the whole screen, hidden", "g").to((*Model).cycleGauges).brief(2, "g", "hide"),
			on("esc", "back to the notebook", "esc").to((*Model).closeGauges).brief(1, "esc", "notebook"),
			on("0", "reset the gauges' peaks and averages", "0").to((*Model).resetPeaks).runs().brief(3, "0", "reset peaks"),
			on("enter", "run the selected cell", "enter").to((*Model).run).runs().brief(4, "enter", "run"),
			on("i i", "interrupt the running cell and empty the queue", "i").
				to((*Model).interruptTwice).runs().brief(0, "i i", "interrupt").only((*Model).busy),
		}},
		everywhere(),
	}
}

// stageKeys work on the screen for an audience.
func stageKeys() []chapter {
	var starts []string
	for _, l := range loads() {
		starts = append(starts, l.key+": "+l.brief)
	}
	return []chapter{
		{"stage", []binding{
			on("space, n, →", "the show: the next scene", "space", "n", "right", "pgdown").
				to((*Model).showNext).runs().brief(1, "space", "next").only((*Model).scripted),
			on("b, ←", "the scene before", "b", "left", "pgup").to((*Model).showBack),
			on("a", "the show goes on by itself, or waits for you again", "a").
				to((*Model).showAuto).runs().brief(6, "a", "autoplay").only((*Model).scripted),
			on("j", "jump to a scene: its digit follows", "j").to((*Model).showJump),
			on("1 … 9", "keep rails busy, in place of what runs ("+strings.Join(starts, ", ")+"); after j, a scene",
				"1", "2", "3", "4", "5", "6", "7", "8", "9").toNumber((*Model).digit).runs().brief(3, "1-8", "load"),
			on("u", "pull a cable of the simulated rig, or plug it in", "u").to((*Model).pullOrPlug),
			on("x, i", "stop what runs", "x", "i").to((*Model).interrupt).runs().brief(0, "x", "stop").only((*Model).busy),
			on("h", "loads go on until they are stopped, or for LOAD_SECONDS again", "h").to((*Model).hold),
			on("tab, v", "numerals of halves, of cables, of rails; of nodes where there are more than two", "tab", "v").
				to((*Model).nextView).says(4, "tab", (*Model).stageViews),
			on("enter", "run the selected cell", "enter").to((*Model).run),
			on("0", "reset the gauges' peaks, averages and history", "0").to((*Model).resetPeaks).runs().brief(9, "0", "reset"),
			on("ctrl+g, esc", "back to the notebook", "ctrl+g", "esc").to((*Model).closeStage).brief(5, "esc", "notebook"),
		}},
		everywhere(),
	}
}

func everywhere() chapter {
	return chapter{"railbench", []binding{
		on(":, ctrl+p, ctrl+k", "find an action, a part, a cell, a check or a session by its words",
			":", "ctrl+p", "ctrl+k").
			to((*Model).openPalette),
		on("ctrl+s",
			"write edited scripts to the runbook that they are from; of the built-in tutorial,"+
				" say where the session is saved, which it is by itself",
			"ctrl+s").
			to((*Model).tellSaved),
		on("B", "show the gauges, verdicts and notebook in browsers on this machine; again: no more", "B").to((*Model).serve),
		on("D", "read: troubleshooting, glossary, keys and more; D closes them", "D").to((*Model).toggleDocs),
		on("?", "this help", "?").to((*Model).openHelp).brief(2, "?", "help"),
		on("ctrl+c", "interrupt what runs; with nothing running, or a second time, ask whether to quit", "ctrl+c").
			to((*Model).control),
		on("q", "quit; asks first while a cell runs", "q").to((*Model).quit).brief(11, "q", "quit"),
	}}
}
