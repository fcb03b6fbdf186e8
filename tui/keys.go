package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/cells"
)

// A binding is keys and what they do. Help and the pages show the text of the key.Binding, the footer a
// shorter one.
type binding struct {
	key.Binding
	foot key.Help // empty where it isn't there
	// rank orders the footer: the lowest stay longest when it gets narrow.
	rank int
	act  func() tea.Cmd
	// jupyter is what the key does there, where that is something else.
	jupyter string
	// digit acts in place of act where the key is a number.
	digit func(int) tea.Cmd
	when  func() bool   // the footer has it then; nil = always
	does  func() string // what the footer says of it, where that changes
	acts  bool          // it does nothing on a screen that only follows
}

// bind names keys as help and the pages do, and as Bubble Tea does.
func bind(shown, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
}

// on begins a line of the tables below; what follows says the rest of a binding.
func on(shown, does string, keys ...string) binding {
	return binding{Binding: bind(shown, does, keys...)}
}

func (b binding) to(act func() tea.Cmd) binding {
	b.act = act
	return b
}

func (b binding) toNumber(act func(int) tea.Cmd) binding {
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
func (b binding) says(rank int, name string, does func() string) binding {
	b.does = does
	return b.brief(rank, name, "…")
}

// runs marks what only who may run something can do: a follower's footer doesn't have it.
func (b binding) runs() binding {
	b.acts = true
	return b
}

// only has the footer show it where it does something.
func (b binding) only(when func() bool) binding {
	b.when = when
	return b
}

// A chapter is the bindings of one screen under one heading.
type chapter struct {
	title    string
	bindings []binding
}

// notebookKeys work while the notebook is on the screen.
func (m *Model) notebookKeys() []chapter {
	return []chapter{
		{"run", []binding{
			on("enter, ctrl+enter", "run the selected cell", "enter", "ctrl+enter").
				to(m.notebook.run).runs().brief(1, "enter", "run").unlike("enter edits the cell: here E does"),
			on("space", "read on while there is more of the selected cell, then run it and select the next one", "space").
				to(m.notebook.space).runs().says(3, "space", m.notebook.spaceDoes),
			on("shift+enter, alt+enter",
				"run the selected cell and select the next one, and after the last one's verdict the next part"+
					" (many terminals can't send shift+enter; alt+enter always works)",
				"shift+enter", "alt+enter").
				to(m.notebook.runAndNext).runs(),
			on("A", "run all cells of all parts, but for those beside the tutorial's way",
				"A").to(m.notebook.runAll).runs().brief(6, "A", "all"),
			on("P", "run the cells of this part", "P").to(m.notebook.runPart),
			on("F", "run from the selected cell to the end", "F").to(m.notebook.runFromHere).runs().brief(8, "F", "from here"),
			on("R", "run what is left from here on: what never ran, went wrong or is stale", "R").
				to(m.notebook.runRest),
			on("r", "open the runbook again after it has changed on disk", "r").
				to(m.saved.reopen).runs().brief(1, "r", "open again").only(func() bool { return m.changedFile != "" }).
				unlike("r makes it raw text"),
			on("i i", "interrupt the running cell and empty the queue", "i").
				to(m.interruptTwice).runs().brief(0, "i i", "interrupt").only(m.busy),
			on("delete, ctrl+l", "clear the selected cell's output", "delete", "ctrl+l").to(m.notebook.clear),
			on("p",
				"the parameters that the selected cell reads, for it or for all cells; on an introduction all of them",
				"p").
				to(m.notebook.openForm).runs().brief(11, "p", "parameters").unlike("p opens the palette: here : does"),
			on("w", "why: run the checks that could explain what is wrong with the selected cell", "w").
				to(m.list.explain).runs().brief(1, "w", "why?").only(m.list.explainable),
			on("L", "the link under test: which two nodes are here and the peer (a rig of more than two)", "L").
				to(m.links.openLinks).runs().brief(6, "L", "link").only(m.linkable).unlike("L numbers the lines"),
			on("C", "the checklist: what is wrong with this rig?", "C").
				to(m.list.openChecklist).brief(6, "C", "checklist"),
		}},
		{"move", []binding{
			on("↓, j", "next cell", "down", "j").to(m.notebook.down).brief(5, "↑↓", "move"),
			on("↑, k", "previous cell", "up", "k").to(m.notebook.up),
			on("tab, →, l, ]", "next part", "tab", "right", "l", "]").
				to(m.notebook.nextPart).brief(4, "tab", "part").unlike("l numbers the lines"),
			on("shift+tab, ←, h, [", "previous part", "shift+tab", "left", "h", "[").
				to(m.notebook.previousPart).unlike("h is the help: here ? is"),
			on("1 … 9", "go to that part; tab leads to those after the ninth", "1", "2", "3", "4", "5", "6", "7", "8", "9").
				toNumber(m.notebook.goToPart).unlike("1 … 6 make it a heading"),
			on("pgdn, ctrl+f", "scroll a page down", "pgdown", "ctrl+f").to(m.notebook.pageDown),
			on("pgup, ctrl+b", "scroll a page up", "pgup", "ctrl+b").to(m.notebook.pageUp),
			on("ctrl+d", "scroll half a page down", "ctrl+d").to(m.notebook.halfDown),
			on("ctrl+u", "scroll half a page up", "ctrl+u").to(m.notebook.halfUp),
			on("home", "the part's beginning", "home").to(m.notebook.home),
			on("end, G", "the part's last cell", "end", "G").to(m.notebook.end),
		}},
		{"look", []binding{
			on("o", "fold the selected cell's output away, or show it", "o").to(m.notebook.toggleOutput),
			on("/", "look for something in the whole notebook and in all outputs: capitals count where there is one", "/").
				to(m.finder.typeFind).brief(12, "/", "search"),
			on("n", "the next place where it was found", "n").
				to(func() tea.Cmd { return m.finder.nextPlace(1) }).brief(2, "n", "next").only(m.finder.finding),
			on("N", "the one before", "N").to(func() tea.Cmd { return m.finder.nextPlace(-1) }),
			on("esc", "leave the search", "esc").to(m.finder.leaveFind),
			on("O", "open the selected cell's whole output; again, or esc, closes it", "O").
				to(m.finder.openFound).brief(9, "O", "output"),
			on("y", "copy the selected cell's last output and its verdict, if the terminal allows it; y y: its log's path", "y").
				to(m.copies.copyOutput).unlike("y makes it code: here m does"),
			on("Y", "copy its script, with the values that it would run with", "Y").to(m.copies.copyScript),
			on("|", "open its log in $PAGER", "|").to(m.copies.openPager),
			on("e", "show what decided; again: all of the evidence, or none", "e").
				to(m.notebook.toggleEvidence).brief(10, "e", "evidence"),
			on("S", "show all of a script and its values, or fold it", "S").to(m.notebook.toggleScript),
			on(cells.WideKey, "tables with all of their columns, as lists where they are too wide", cells.WideKey).
				to(m.notebook.toggleWide),
			on("*", "what the numbers in the margin stand for: what the source documents say otherwise;"+
				" the page differences has all of them", "*").
				to(m.notebook.toggleNotes),
			on("K", "what the glossary says of this text's words", "K").to(m.notebook.explainWords),
			on("H", "fold the list of parts away, or show it", "H").to(m.notebook.toggleParts),
			on("M", "leave the mouse to the terminal, which can select text then; again takes it back", "M").
				to(m.notebook.toggleMouse).unlike("M merges cells"),
			on("T T",
				"show the whole script of a cell from another user's session, and trust it: then it runs",
				"T").
				to(m.notebook.trust),
			on("g", "gauges on the whole screen; g g: the top", "g").to(m.toggleGauges).brief(7, "g", "gauges"),
			on("_", "hide the gauges below, or show them", "_").to(m.hideGauges),
			on("ctrl+g", "the stage: numerals and bars for an audience", "ctrl+g").
				to(m.presenter.open).brief(12, "ctrl+g", "stage"),
			on("0", "reset the gauges' peaks and averages; twice: clear all outputs and verdicts", "0").
				to(m.notebook.restart).unlike("0 0 restarts the kernel"),
		}},
		{"edit", []binding{
			on("E", "edit the selected cell's script (enter runs it)", "E").to(m.notebook.edit),
			on("a", "add a scratch cell above", "a").to(m.edits.insertAbove),
			on("b", "add a scratch cell below", "b").to(m.edits.insertBelow),
			on("d d", "hide the selected cell, or remove it if it is your own", "d").to(m.edits.remove),
			on("U", "show the cells of this part that are hidden", "U").to(m.edits.unhide),
			on("x", "cut the selected cell", "x").to(m.edits.cut),
			on("c", "copy the selected cell", "c").to(m.edits.copyCell),
			on("v", "paste the cell that was cut or copied below", "v").to(m.edits.pasteBelow),
			on("V", "paste it above", "V").to(m.edits.pasteAbove),
			on("s", "save: as ctrl+s", "s").to(m.tellSaved),
			on("z", "take back the last change of cells", "z").to(m.edits.undoEdit),
			on("t", "where a scratch cell runs: here, on the peer, on both", "t").to(m.edits.cyclePlace),
			on("m", "make a scratch cell a note (Markdown), and a note a script", "m").to(m.edits.toggleNote),
		}},
		m.everywhere(),
	}
}

// checklistKeys work while the checklist is on the screen.
func (m *Model) checklistKeys() []chapter {
	return []chapter{
		{"checklist", []binding{
			on("A", "check everything, or all that is shown", "A").to(m.list.checkAll).runs().brief(1, "A", "check all"),
			on("enter, space", "run the selected check", "enter", "space").
				to(m.list.runCheck).runs().brief(3, "enter", "check"),
			on("f", "fix what it found, and check again: shown and asked first", "f").
				to(m.list.fix).runs().brief(2, "f", "fix").only(m.list.fixable),
			on("p", "the parameters that the selected check or its fix reads", "p").to(m.list.openCheckForm),
			on("h", "in a drill: a hint, which costs points", "h").
				to(m.drill.hint).runs().brief(1, "h", "hint").only(m.drill.drilling),
			on("n", "the next check that found something", "n").to(m.list.nextFinding).brief(5, "n", "next finding"),
			on("/", "find checks by a symptom: type it, or paste an error's text", "/").
				to(m.list.typeSymptom).brief(4, "/", "symptom"),
			on("E", "explain the text that was pasted, or the symptom: causes, fixes, what to do next", "E").
				to(m.list.explainPasted).brief(7, "E", "explain").only(func() bool { return m.opts.Explain != nil }),
			on("↓, j", "next check", "down", "j").to(func() tea.Cmd { return m.list.nextCheck(1) }),
			on("↑, k", "previous check", "up", "k").to(func() tea.Cmd { return m.list.nextCheck(-1) }),
			on("pgdn, ctrl+f", "ten checks on", "pgdown", "ctrl+f").
				to(func() tea.Cmd { return m.list.nextCheck(10) }),
			on("pgup, ctrl+b", "ten checks back", "pgup", "ctrl+b").
				to(func() tea.Cmd { return m.list.nextCheck(-10) }),
			on("home", "the first check", "home").to(func() tea.Cmd { return m.list.nextCheck(-len(m.list.checks())) }),
			on("end, G", "the last check", "end", "G").
				to(func() tea.Cmd { return m.list.nextCheck(len(m.list.checks())) }),
			on("O, o", "open what the check's script printed", "O", "o").
				to(m.list.checkOutput).brief(8, "O", "output"),
			on("y", "copy what the check's script printed and its verdict, if the terminal allows it", "y").
				to(m.copies.copyOutput),
			on("Y", "copy its script, with the values that it would run with", "Y").to(m.copies.copyScript),
			on("|", "open its log in $PAGER", "|").to(m.copies.openPager),
			on("e", "show what decided; again: all of the evidence, or none", "e").
				to(m.list.checkEvidence).brief(9, "e", "evidence"),
			on("S, s", "show or hide the script", "S", "s").to(m.list.checkScript),
			on("i i", "interrupt what runs and empty the queue", "i").
				to(m.interruptTwice).runs().brief(0, "i i", "interrupt").only(m.busy),
			on("esc", "all checks, where only some are shown, and else back to the notebook", "esc").
				to(m.list.leaveChecklist).brief(6, "esc", "back"),
			on("C", "back to the notebook", "C").to(m.list.closeChecklist),
			on("g", "gauges on the whole screen; g g: the top", "g").to(m.toggleGauges),
			on("0", "reset the gauges' peaks and averages", "0").to(m.resetPeaks),
		}},
		m.everywhere(),
	}
}

// outputKeys work while an output is open.
func (m *Model) outputKeys() []chapter {
	return []chapter{
		{"output", []binding{
			on("O, o", "close the output", "O", "o").to(m.output.closeOutput).brief(1, "O", "close"),
			on("esc", "leave the search, or close the output", "esc").to(m.output.leaveOutput),
			on("/", "look for something: capitals count where there is one", "/").
				to(m.output.typeWords).brief(5, "/", "search"),
			on("n", "the next place where it was found", "n").
				to(func() tea.Cmd { return m.output.nextFound(1) }).brief(2, "n", "next").only(m.output.searching),
			on("N", "the one before", "N").to(func() tea.Cmd { return m.output.nextFound(-1) }),
			on("y", "copy the whole output that is kept, if the terminal allows it", "y").
				to(m.copies.copyOutput).brief(10, "y", "copy"),
			on("Y", "copy its script, with the values that it would run with", "Y").to(m.copies.copyScript),
			on("|", "open its log in $PAGER", "|").to(m.copies.openPager).brief(9, "|", "pager"),
			on("↓, j", "a line down", "down", "j").
				to(func() tea.Cmd { return m.output.turn(1) }).brief(3, "↑↓", "scroll"),
			on("↑, k", "a line up", "up", "k").to(func() tea.Cmd { return m.output.turn(-1) }),
			on("pgdn, ctrl+f, space", "a page down", "pgdown", "ctrl+f", "space").
				to(func() tea.Cmd { return m.output.turn(m.output.pageHeight()) }),
			on("pgup, ctrl+b", "a page up", "pgup", "ctrl+b").
				to(func() tea.Cmd { return m.output.turn(-m.output.pageHeight()) }),
			on("ctrl+d", "half a page down", "ctrl+d").to(func() tea.Cmd { return m.output.turn(m.output.pageHeight() / 2) }),
			on("ctrl+u", "half a page up", "ctrl+u").to(func() tea.Cmd { return m.output.turn(-m.output.pageHeight() / 2) }),
			on("home", "the first line that is kept", "home").to(m.output.pageFirst).brief(5, "home", "first"),
			on("end, G", "the end, and stay there", "end", "G").to(m.output.pageLast).brief(4, "end", "last"),
			on("→, l", "the rest of long lines", "right", "l").
				to(func() tea.Cmd { return m.output.slide(1) }).brief(6, "←→", "long lines"),
			on("←, h", "back to the lines' beginning", "left", "h").to(func() tea.Cmd { return m.output.slide(-1) }),
			on("i i", "interrupt the running cell and empty the queue", "i").
				to(m.interruptTwice).runs().brief(0, "i i", "interrupt").only(m.busy),
			on("g", "gauges on the whole screen; g g: the top", "g").to(m.toggleGauges).brief(7, "g", "gauges"),
			on("_", "hide the gauges below, or show them", "_").to(m.hideGauges),
			on("0", "reset the gauges' peaks and averages", "0").to(m.resetPeaks),
		}},
		m.everywhere(),
	}
}

// searchKeys work while a search is typed; every other key is a letter of it.
func (m *Model) searchKeys() []chapter {
	return []chapter{{"search", []binding{
		on("enter", "go on with n and N", "enter").to(m.output.keepSearch).brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").to(m.output.dropSearch).brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").to(m.output.eraseSearch),
		on("ctrl+u", "take all of it back", "ctrl+u").to(m.output.emptySearch).brief(3, "ctrl+u", "empty"),
	}}}
}

// gaugeKeys work while the gauges have the whole screen.
func (m *Model) gaugeKeys() []chapter {
	return []chapter{
		{"gauges", []binding{
			on("g", "back to where you were; g g at once goes to the top there", "g").to(m.toggleGauges).brief(2, "g", "back"),
			on("esc", "back to the notebook", "esc").to(m.closeGauges).brief(1, "esc", "notebook"),
			on("0", "reset the gauges' peaks and averages", "0").to(m.resetPeaks).runs().brief(3, "0", "reset peaks"),
			on("enter", "run the selected cell", "enter").to(m.notebook.run).runs().brief(4, "enter", "run"),
			on("i i", "interrupt the running cell and empty the queue", "i").
				to(m.interruptTwice).runs().brief(0, "i i", "interrupt").only(m.busy),
		}},
		m.everywhere(),
	}
}

// presenterKeys work on the screen for an audience.
func (m *Model) presenterKeys() []chapter {
	var starts []string
	for _, l := range loads() {
		starts = append(starts, l.key+": "+l.brief)
	}
	return []chapter{
		{"stage", []binding{
			on("space, n, →", "the show: the next scene", "space", "n", "right", "pgdown").
				to(m.presenter.nextSlide).runs().brief(1, "space", "next").only(m.presenter.scripted),
			on("b, ←", "the scene before", "b", "left", "pgup").to(m.presenter.previousSlide),
			on("a", "the show goes on by itself, or waits for you again", "a").
				to(m.presenter.autoplay).runs().brief(6, "a", "autoplay").only(m.presenter.scripted),
			on("j", "jump to a scene: its digit follows", "j").to(m.presenter.jump),
			on("1 … 9", "keep rails busy, in place of what runs ("+strings.Join(starts, ", ")+"); after j, a scene",
				"1", "2", "3", "4", "5", "6", "7", "8", "9").toNumber(m.presenter.digit).runs().brief(3, "1-8", "load"),
			on("u", "pull a cable of the simulated rig, or plug it in", "u").to(m.presenter.pullOrPlug),
			on("x, i", "stop what runs", "x", "i").to(m.interrupt).runs().brief(0, "x", "stop").only(m.busy),
			on("h", "loads go on until they are stopped, or for LOAD_SECONDS again", "h").to(m.presenter.hold),
			on("tab, v", "numerals of halves, of cables, of rails; of nodes where there are more than two", "tab", "v").
				to(m.presenter.nextView).says(4, "tab", m.presenter.views),
			on("enter", "run the selected cell", "enter").to(m.notebook.run),
			on("0", "reset the gauges' peaks, averages and history; after j, the tenth scene", "0").
				to(m.presenter.zero).runs().brief(9, "0", "reset"),
			on("esc", "back to the notebook, after a question: the audience sees it", "esc").
				to(m.quit.leave).brief(5, "esc", "notebook"),
			on("ctrl+g", "back to the notebook at once", "ctrl+g").to(m.presenter.close),
		}},
		m.everywhere(),
	}
}

func (m *Model) everywhere() chapter {
	return chapter{"railbench", []binding{
		on(":, ctrl+p, ctrl+k", "find an action, a part, a cell, a check or a session by its words",
			":", "ctrl+p", "ctrl+k").
			to(m.openPalette),
		on("ctrl+s",
			"write edited scripts to the runbook that they are from; of the built-in tutorial,"+
				" say where the session is saved, which it is by itself",
			"ctrl+s").
			to(m.tellSaved),
		on("B", "show the gauges, verdicts and notebook in browsers on this machine; again: no more", "B").to(m.serve),
		on("D", "read: troubleshooting, glossary, keys and more; D closes them", "D").to(m.docs.toggleDocs),
		on("?", "this help", "?").to(m.help.openHelp).brief(2, "?", "help"),
		on("ctrl+c", "interrupt what runs; with nothing running, or a second time, ask whether to quit", "ctrl+c").
			to(m.quit.control),
		on("q", "quit; asks first if a cell runs, the session is not saved, or in a presentation", "q").
			to(m.quit.quit).brief(11, "q", "quit"),
	}}
}

// docsKeys work while the pages are on the screen.
func (m *Model) docsKeys() []chapter {
	reading := func() bool { return m.docs.page }
	listed := func() bool { return !m.docs.page }
	return []chapter{
		{"pages", []binding{
			on("enter, space, pgdn, ctrl+f",
				"open the selected page; in a page, a screen down",
				"enter", "space", "pgdown", "ctrl+f").
				to(m.docs.readOn).brief(1, "enter", "open").only(listed),
			on("↓, j", "next page of the list; in a page, a line down", "down", "j").
				to(func() tea.Cmd { return m.docs.turnDocs(1) }).brief(3, "↑↓", "move"),
			on("↑, k", "previous page of the list; in a page, a line up", "up", "k").
				to(func() tea.Cmd { return m.docs.turnDocs(-1) }),
			on("pgup, ctrl+b", "a screen up", "pgup", "ctrl+b").
				to(func() tea.Cmd { return m.docs.turnDocs(1 - m.docs.docsRoom()) }).
				brief(4, "space", "screen down").only(reading),
			on("ctrl+d", "half a screen down", "ctrl+d").
				to(func() tea.Cmd { return m.docs.turnDocs(m.docs.docsRoom() / 2) }),
			on("ctrl+u", "half a screen up", "ctrl+u").
				to(func() tea.Cmd { return m.docs.turnDocs(-m.docs.docsRoom() / 2) }),
			on("home", "the beginning", "home").to(func() tea.Cmd { return m.docs.turnDocs(-m.docs.docsEnd()) }),
			on("end, G", "the end", "end", "G").to(func() tea.Cmd { return m.docs.turnDocs(m.docs.docsEnd()) }),
			on("tab, →, l, ]", "the page after this one", "tab", "right", "l", "]").
				to(func() tea.Cmd { return m.docs.otherDoc(1) }).brief(5, "tab", "next page").only(reading),
			on("shift+tab, ←, h, [", "the page before it", "shift+tab", "left", "h", "[").
				to(func() tea.Cmd { return m.docs.otherDoc(-1) }),
			on("/", "look for something in all pages", "/").to(m.docs.typeFind).brief(6, "/", "search"),
			on("n", "the next chapter of a page, or the next place where it was found", "n").
				to(func() tea.Cmd { return m.docs.onward(1) }).only(reading),
			on("N", "the one before it", "N").
				to(func() tea.Cmd { return m.docs.onward(-1) }).only(reading),
			on("w", "runs the checks that the chapter names, as troubleshooting does", "w").
				to(m.docs.proveChapter).brief(1, "w", "run its checks").
				only(func() bool { return m.docs.page && len(m.docs.chapter().checks) > 0 }),
			on("esc", "leave the search; back to the list, and from there to where you were", "esc").
				to(m.docs.leaveDocs).brief(2, "esc", "back"),
		}},
		m.everywhere(),
	}
}

// editorKeys are for the footer; the editor's Key handles them.
func (m *Model) editorKeys() []chapter {
	return []chapter{{"edit", []binding{
		on("esc, ctrl+s, ctrl+c", "keep what was typed, and close the editor; z in the notebook takes it back", "esc").
			brief(1, "esc", "keep (z takes back)"),
		on("ctrl+enter, ctrl+r", "keep it and run the cell (many terminals can't send ctrl+enter)", "ctrl+r").
			brief(2, "ctrl+r", "keep and run"),
		on("shift+enter", "keep it, run the cell and select the next one", "shift+enter"),
		on("ctrl+o", "edit it in $VISUAL or $EDITOR", "ctrl+o").brief(5, "ctrl+o", "$EDITOR"),
		on("ctrl+t", "the cell's next script", "ctrl+t").brief(4, "ctrl+t", "next script"),
	}}}
}

// findKeys work while the words are typed; every other key is a letter of them.
func (m *Model) findKeys() []chapter {
	return []chapter{{"search", []binding{
		on("enter", "go on with n and N", "enter").to(m.finder.keepFind).brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").to(m.finder.dropFind).brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").to(m.finder.eraseFind),
		on("ctrl+u", "take all of it back", "ctrl+u").
			to(m.finder.emptyFind).brief(3, "ctrl+u", "empty"),
	}}}
}
