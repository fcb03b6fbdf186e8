package docs

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/screen"
)

// Bind has the keys that work while the pages are on the screen.
func (pg *Pages) Bind(everywhere screen.Chapter) {
	on := screen.On
	reading := func() bool { return pg.page }
	listed := func() bool { return !pg.page }
	pg.Keys = []screen.Chapter{
		{Title: "pages", Bindings: []screen.Binding{
			on("enter, space, pgdn, ctrl+f",
				"open the selected page; in a page, a screen down",
				"enter", "space", "pgdown", "ctrl+f").
				To(pg.readOn).Brief(1, "enter", "open").Only(listed),
			on("↓, j", "next page of the list; in a page, a line down", "down", "j").
				To(func() tea.Cmd { return pg.turn(1) }).Brief(3, "↑↓", "move"),
			on("↑, k", "previous page of the list; in a page, a line up", "up", "k").
				To(func() tea.Cmd { return pg.turn(-1) }),
			on("pgup, ctrl+b", "a screen up", "pgup", "ctrl+b").
				To(func() tea.Cmd { return pg.turn(1 - pg.room()) }).
				Brief(4, "space", "screen down").Only(reading),
			on("ctrl+d", "half a screen down", "ctrl+d").
				To(func() tea.Cmd { return pg.turn(pg.room() / 2) }),
			on("ctrl+u", "half a screen up", "ctrl+u").
				To(func() tea.Cmd { return pg.turn(-pg.room() / 2) }),
			on("home", "the beginning", "home").To(func() tea.Cmd { return pg.turn(-pg.end()) }),
			on("end, G", "the end", "end", "G").To(func() tea.Cmd { return pg.turn(pg.end()) }),
			on("tab, →, l, ]", "the page after this one", "tab", "right", "l", "]").
				To(func() tea.Cmd { return pg.other(1) }).Brief(5, "tab", "next page").Only(reading),
			on("shift+tab, ←, h, [", "the page before it", "shift+tab", "left", "h", "[").
				To(func() tea.Cmd { return pg.other(-1) }),
			on("/", "look for something in all pages", "/").To(pg.typeFind).Brief(6, "/", "search"),
			on("n", "the next chapter of a page, or the next place where it was found", "n").
				To(func() tea.Cmd { return pg.onward(1) }).Only(reading),
			on("N", "the one before it", "N").
				To(func() tea.Cmd { return pg.onward(-1) }).Only(reading),
			on("w", "runs the checks that the chapter names, as troubleshooting does", "w").
				To(pg.proveChapter).Brief(1, "w", "run its checks").
				Only(func() bool { return pg.page && len(pg.chapter().checks) > 0 }),
			on("esc", "leave the search; back to the list, and from there to where you were", "esc").
				To(pg.leave).Brief(2, "esc", "back"),
		}},
		everywhere,
	}
}
