package tui

import (
	"slices"

	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
)

// on begins a line of the tables below; what follows says the rest of a binding.
func on(shown, does string, keys ...string) screen.Binding {
	return screen.On(shown, does, keys...)
}

// notebookKeys work while the notebook is on the screen.
func (m *Model) notebookKeys() []screen.Chapter {
	return []screen.Chapter{
		{Title: "run", Bindings: []screen.Binding{
			on("enter, ctrl+enter", "run the selected cell", "enter", "ctrl+enter").
				To(m.notebook.run).Runs().Brief(1, "enter", "run").Unlike("enter edits the cell: here E does"),
			on("space", "read on while there is more of the selected cell, then run it and select the next one", "space").
				To(m.notebook.space).Runs().Says(3, "space", m.notebook.spaceDoes),
			on("shift+enter, alt+enter",
				"run the selected cell and select the next one, and after the last one's verdict the next part"+
					" (many terminals can't send shift+enter; alt+enter always works)",
				"shift+enter", "alt+enter").To(m.notebook.runAndNext).Runs(),
			on("A", "run all cells of all parts, but for those beside the tutorial's way",
				"A").To(m.notebook.runAll).Runs().Brief(6, "A", "all"),
			on("P", "run the cells of this part", "P").To(m.notebook.runPart),
			on("F", "run from the selected cell to the end", "F").To(m.notebook.runFromHere).Runs().Brief(8, "F", "from here"),
			on("R", "run what is left from here on: what never ran, went wrong or is stale", "R").To(m.notebook.runRest),
			on("r", "open the runbook again after it has changed on disk", "r").
				To(m.saved.reopen).Runs().Brief(1, "r", "open again").Only(func() bool { return m.ChangedFile != "" }).
				Unlike("r makes it raw text"),
			on("i i", "interrupt the running cell and empty the queue", "i").
				To(m.InterruptTwice).Runs().Brief(0, "i i", "interrupt").Only(m.Busy),
			on("delete, ctrl+l", "clear the selected cell's output", "delete", "ctrl+l").To(m.notebook.clear),
			on("p",
				"the parameters that the selected cell reads, for it or for all cells; on an introduction all of them",
				"p").To(m.notebook.openForm).Runs().Brief(11, "p", "parameters").Unlike("p opens the palette: here : does"),
			on("w", "why: run the checks that could explain what is wrong with the selected cell", "w").
				To(m.list.Explain).Runs().Brief(1, "w", "why?").Only(m.list.Explainable),
			on("L", "the link under test: which two nodes are here and the peer (a rig of more than two)", "L").
				To(m.links.Open).Runs().Brief(6, "L", "link").Only(m.Linkable).Unlike("L numbers the lines"),
			on("C", "the checklist: what is wrong with this rig?", "C").To(m.list.Open).Brief(6, "C", "checklist"),
		}},
		{Title: "move", Bindings: []screen.Binding{
			on("↓, j", "next cell", "down", "j").To(m.notebook.down).Brief(5, "↑↓", "move"),
			on("↑, k", "previous cell", "up", "k").To(m.notebook.up),
			on("tab, →, l, ]", "next part", "tab", "right", "l", "]").
				To(m.notebook.nextPart).Brief(4, "tab", "part").Unlike("l numbers the lines"),
			on("shift+tab, ←, h, [", "previous part", "shift+tab", "left", "h", "[").
				To(m.notebook.previousPart).Unlike("h is the help: here ? is"),
			on("1 … 9", "go to that part; tab leads to those after the ninth", "1", "2", "3", "4", "5", "6", "7", "8", "9").
				ToNumber(m.notebook.goToPart).Unlike("1 … 6 make it a heading"),
			on("pgdn, ctrl+f", "scroll a page down", "pgdown", "ctrl+f").To(m.notebook.pageDown),
			on("pgup, ctrl+b", "scroll a page up", "pgup", "ctrl+b").To(m.notebook.pageUp),
			on("ctrl+d", "scroll half a page down", "ctrl+d").To(m.notebook.halfDown),
			on("ctrl+u", "scroll half a page up", "ctrl+u").To(m.notebook.halfUp),
			on("home", "the part's beginning", "home").To(m.notebook.home),
			on("end, G", "the part's last cell", "end", "G").To(m.notebook.end),
		}},
		{Title: "look", Bindings: []screen.Binding{
			on("o", "fold the selected cell's output away, or show it", "o").To(m.notebook.toggleOutput),
			on("/", "look for something in the whole notebook and in all outputs: capitals count where there is one", "/").
				To(m.finder.typeFind).Brief(12, "/", "search"),
			on("n", "the next place where it was found", "n").
				By(m.finder.nextPlace, 1).Brief(2, "n", "next").Only(m.finder.finding),
			on("N", "the one before", "N").By(m.finder.nextPlace, -1),
			on("esc", "leave the search", "esc").To(m.finder.leaveFind),
			on("O", "open the selected cell's whole output; again, or esc, closes it", "O").
				To(m.finder.openFound).Brief(9, "O", "output"),
			on("y", "copy the selected cell's last output and its verdict, if the terminal allows it; y y: its log's path", "y").
				To(m.copies.copyOutput).Unlike("y makes it code: here m does"),
			on("Y", "copy its script, with the values that it would run with", "Y").To(m.copies.copyScript),
			on("|", "open its log in $PAGER", "|").To(m.copies.openPager),
			on("e", "show what decided; again: all of the evidence, or none", "e").
				To(m.notebook.toggleEvidence).Brief(10, "e", "evidence"),
			on("S", "show all of a script and its values, or fold it", "S").To(m.notebook.toggleScript),
			on(cells.WideKey, "tables with all of their columns, as lists where they are too wide", cells.WideKey).
				To(m.notebook.toggleWide),
			on("*", "what the numbers in the margin stand for: what the source documents say otherwise;"+
				" the page differences has all of them", "*").To(m.notebook.toggleNotes),
			on("K", "what the glossary says of this text's words", "K").To(m.notebook.explainWords),
			on("H", "fold the list of parts away, or show it", "H").To(m.notebook.toggleParts),
			on("M", "leave the mouse to the terminal, which can select text then; again takes it back", "M").
				To(m.notebook.toggleMouse).Unlike("M merges cells"),
			on("T T",
				"show the whole script of a cell from another user's session, and trust it: then it runs",
				"T").To(m.notebook.trust),
			on("g", "gauges on the whole screen; g g: the top", "g").To(m.toggleGauges).Brief(7, "g", "gauges"),
			on("_", "hide the gauges below, or show them", "_").To(m.hideGauges),
			on("ctrl+g", "the stage: numerals and bars for an audience", "ctrl+g").
				To(m.presenter.Open).Brief(12, "ctrl+g", "stage"),
			on("0", "reset the gauges' peaks and averages; twice: clear all outputs and verdicts", "0").
				To(m.notebook.restart).Unlike("0 0 restarts the kernel"),
		}},
		{Title: "edit", Bindings: []screen.Binding{
			on("E", "edit the selected cell's script (enter runs it)", "E").To(m.notebook.edit),
			on("a", "add a scratch cell above", "a").To(m.edits.insertAbove),
			on("b", "add a scratch cell below", "b").To(m.edits.insertBelow),
			on("d d", "hide the selected cell, or remove it if it is your own", "d").To(m.edits.remove),
			on("U", "show the cells of this part that are hidden", "U").To(m.edits.unhide),
			on("x", "cut the selected cell", "x").To(m.edits.cut),
			on("c", "copy the selected cell", "c").To(m.edits.copyCell),
			on("v", "paste the cell that was cut or copied below", "v").To(m.edits.pasteBelow),
			on("V", "paste it above", "V").To(m.edits.pasteAbove),
			on("s", "save: as ctrl+s", "s").To(m.tellSaved),
			on("z", "take back the last change of cells", "z").To(m.edits.undoEdit),
			on("t", "where a scratch cell runs: here, on the peer, on both", "t").To(m.edits.cyclePlace),
			on("m", "make a scratch cell a note (Markdown), and a note a script", "m").To(m.edits.toggleNote),
		}},
		m.everywhere(),
	}
}

// gaugeKeys work while the gauges have the whole screen.
func (m *Model) gaugeKeys() []screen.Chapter {
	return []screen.Chapter{
		{Title: "gauges", Bindings: []screen.Binding{
			on("g", "back to where you were; g g at once goes to the top there", "g").To(m.toggleGauges).Brief(2, "g", "back"),
			on("esc", "back to the notebook", "esc").To(m.CloseGauges).Brief(1, "esc", "notebook"),
			on("0", "reset the gauges' peaks and averages", "0").To(m.ResetPeaks).Runs().Brief(3, "0", "reset peaks"),
			on("enter", "run the selected cell", "enter").To(m.notebook.run).Runs().Brief(4, "enter", "run"),
			on("i i", "interrupt the running cell and empty the queue", "i").
				To(m.InterruptTwice).Runs().Brief(0, "i i", "interrupt").Only(m.Busy),
		}},
		m.everywhere(),
	}
}

// common is what keys of several layers do.
func (m *Model) common() screen.Common {
	return screen.Common{
		CopyOutput: m.copies.copyOutput, CopyScript: m.copies.copyScript, OpenPager: m.copies.openPager,
		ToggleGauges: m.toggleGauges, HideGauges: m.hideGauges, Everywhere: m.everywhere(),
	}
}

func (m *Model) everywhere() screen.Chapter {
	return screen.Chapter{Title: "railbench", Bindings: []screen.Binding{
		on(":, ctrl+p, ctrl+k", "find an action, a part, a cell, a check or a session by its words",
			":", "ctrl+p", "ctrl+k").To(m.openPalette),
		on("ctrl+s",
			"write edited scripts to the runbook that they are from; of the built-in tutorial,"+
				" say where the session is saved, which it is by itself",
			"ctrl+s").To(m.tellSaved),
		on("B", "show the gauges, verdicts and notebook in browsers on this machine; again: no more", "B").To(m.serve),
		on("D", "read: troubleshooting, glossary, keys and more; D closes them", "D").To(m.docs.Toggle),
		on("?", "this help", "?").To(m.help.Open).Brief(2, "?", "help"),
		on("ctrl+c", "interrupt what runs; with nothing running, or a second time, ask whether to quit", "ctrl+c").
			To(m.quit.Control),
		on("q", "quit; asks first if a cell runs, the session is not saved, or in a presentation", "q").
			To(m.quit.Quit).Brief(11, "q", "quit"),
	}}
}

// editorKeys are for the footer; the editor's Key handles them.
func (m *Model) editorKeys() []screen.Chapter {
	return []screen.Chapter{{Title: "edit", Bindings: []screen.Binding{
		on("esc, ctrl+s, ctrl+c", "keep what was typed, and close the editor; z in the notebook takes it back", "esc").
			Brief(1, "esc", "keep (z takes back)"),
		on("ctrl+enter, ctrl+r", "keep it and run the cell (many terminals can't send ctrl+enter)", "ctrl+r").
			Brief(2, "ctrl+r", "keep and run"),
		on("shift+enter", "keep it, run the cell and select the next one", "shift+enter"),
		on("ctrl+o", "edit it in $VISUAL or $EDITOR", "ctrl+o").Brief(5, "ctrl+o", "$EDITOR"),
		on("ctrl+t", "the cell's next script", "ctrl+t").Brief(4, "ctrl+t", "next script"),
	}}}
}

// findKeys work while the words are typed; every other key is a letter of them.
func (m *Model) findKeys() []screen.Chapter {
	return []screen.Chapter{{Title: "search", Bindings: []screen.Binding{
		on("enter", "go on with n and N", "enter").To(m.finder.keepFind).Brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").To(m.finder.dropFind).Brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").To(m.finder.eraseFind),
		on("ctrl+u", "take all of it back", "ctrl+u").To(m.finder.emptyFind).Brief(3, "ctrl+u", "empty"),
	}}}
}

// bind gives each layer the table of its keys. Keys, footer, help and the page about keys all come from these.
func (m *Model) bind() {
	m.notebook.Keys, m.finder.Keys, m.editor.Keys = m.notebookKeys(), m.findKeys(), m.editorKeys()
	m.list.Bind(m.common())
	m.output.Bind(m.common())
	m.gauges.Keys = m.gaugeKeys()
	m.presenter.Bind(m.everywhere(), m.notebook.run, m.quit.Leave)
	m.docs.Bind(m.everywhere())
}

// A KeyTable is the keys of one screen and what they do.
type KeyTable struct {
	Screen string
	Rows   [][3]string // keys, what they do, and what Jupyter does with them if that is something else
}

// KeyTables lists the keys of each screen. Those that work on all of them stand with
// the notebook's, which is the first.
func KeyTables() []KeyTable {
	m := New(nil, screen.Options{})
	var tables []KeyTable
	for _, screen := range []struct {
		name     string
		chapters []screen.Chapter
	}{
		{"notebook", m.notebook.Keys},
		{"search", m.finder.Keys},
		{"checklist", m.list.Keys},
		{"output", slices.Concat(m.output.Keys, m.output.SearchKeys())},
		{"editor", m.editor.Keys},
		{"gauges", m.gauges.Keys},
		{"stage", m.presenter.Keys},
		{"pages", m.docs.Keys},
	} {
		t := KeyTable{Screen: screen.name}
		for _, c := range screen.chapters {
			if c.Title == m.everywhere().Title && len(tables) > 0 {
				continue
			}
			for _, b := range c.Bindings {
				t.Rows = append(t.Rows, [3]string{b.Help().Key, b.Help().Desc, b.Jupyter})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// chapters are the bindings of the screen that is shown.
func (m *Model) chapters() []screen.Chapter { return m.all[m.Layers.Screen()].Bindings() }
