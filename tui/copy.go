package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// What leaves the screen: to the clipboard, which is the terminal's, and to a pager.

// maxCopy bounds what is sent to the clipboard. In base64 it has 98,304 letters, and
// terminals are known to ignore more than 100,000.
const maxCopy = 72 << 10

// allowed ends the notice of a copy: the terminal does not say whether it took it.
const allowed = "; the terminal has to allow it (OSC 52)"

// The messages of what was made ready outside of Update.
type (
	scriptMsg struct{ title, text string }
	pagerMsg  struct {
		cmd tea.ExecCommand
		err error
	}
	pagedMsg struct{ err error }
)

// copies are what leaves the screen: to the clipboard and to the pager.
type copies struct {
	*screen.Shared
	current func() (steps.Cell, bool) // the cell that keys are about
}

// copyOutput copies what the cell printed and, unless only its output is shown, its
// verdict.
func (cp *copies) copyOutput() tea.Cmd {
	c, ok := cp.current()
	state := cp.Book.Cells[c.ID]
	switch {
	case !ok:
		return cp.Say("select a cell to copy what it printed")
	case state.Run == 0:
		return cp.Say("it has not run yet")
	case cp.KeyBefore == "y" && state.Log != "":
		cp.KeyBefore, cp.Notice = "", "copied the path of its log"+allowed
		return tea.SetClipboard(state.Log)
	}
	verdict := cp.verdict(state)
	if state.Output.Len() == 0 && verdict == "" {
		return cp.Say("it has printed nothing")
	}
	head := ""
	if cp.Simulated() {
		head = simulatedHead
	}
	texts := texts(c, state.Output)
	// Only if all of it fits, with the verdict: the end of it would be one node's only.
	if apart := byNode(c, state.Output); apart != nil && len(strings.Join(apart, "")) <= maxCopy/2 {
		texts = apart
	}
	first, size := len(texts), len(head)+len(verdict)
	for first > 0 && size+len(texts[first-1]) <= maxCopy {
		first--
		size += len(texts[first])
	}
	cp.Notice = fmt.Sprintf("copied %s, %s", copiedOf(len(texts), first, verdict != ""), cells.Bytes(uint64(size)))
	if state.Log != "" {
		cp.KeyBefore = "y"
		cp.Notice += "; y again: its log's path"
	}
	cp.Notice += allowed
	return tea.SetClipboard(head + strings.Join(texts[first:], "") + verdict)
}

// verdict is a cell's as it is copied; empty where only its output is shown, and where it has none.
func (cp *copies) verdict(state steps.CellState) string {
	v := state.Verdict
	if cp.Layers.Has(screen.Output) || v.Grade == steps.NotRun || state.Running {
		return ""
	}
	reason := theme.Clean(strings.Join(strings.Fields(v.Reason), " "))
	grade := v.Grade.String()
	if cp.Simulated() {
		grade += " SIMULATED"
	}
	return grade + "  " + strings.ToValidUTF8(reason[:min(len(reason), maxCopy/2)], "") + "\n"
}

// copiedOf says what was copied of so many lines, from which on.
func copiedOf(lines, first int, verdict bool) string {
	switch {
	case first > 0:
		return fmt.Sprintf("the last %s of %s lines", steps.Thousands(lines-first), steps.Thousands(lines))
	case lines == 0:
		return "the verdict"
	case verdict:
		return steps.Counted(lines, "line") + " and the verdict"
	}
	return steps.Counted(lines, "line")
}

const simulatedHead = "# SIMULATED: nothing of this was measured on hardware\n"

// texts are the kept lines as a log has them: with the node's name where several
// print, and railbench's own after a #.
func texts(c steps.Cell, out steps.Scroll) []string {
	several := c.OnSeveral()
	all := make([]string, 0, out.Len())
	for _, l := range out.Lines(0, out.Len()) {
		text := theme.Clean(l.Text) + "\n"
		switch {
		case l.Kind == steps.Note:
			text = "# " + text
		case several && l.From != "":
			text = l.From + ": " + text
		}
		all = append(all, text)
	}
	return all
}

// byNode are the kept lines of a cell that runs one script on several nodes, each node's together and as it
// printed them: what is to be typed there can be pasted. It is nil for any other cell.
func byNode(c steps.Cell, out steps.Scroll) (all []string) {
	if !c.OnSeveral() || slices.ContainsFunc(c.Roles, func(r steps.Role) bool { return r.Name != "" }) {
		return nil
	}
	var nodes []string
	of := map[string][]string{}
	for _, l := range out.Lines(0, out.Len()) {
		text := theme.Clean(l.Text) + "\n"
		if l.Kind == steps.Note {
			text = "# " + text
		}
		if of[l.From] == nil {
			nodes = append(nodes, l.From)
		}
		of[l.From] = append(of[l.From], text)
	}
	for _, node := range nodes {
		if node != "" {
			all = append(all, "# "+theme.Clean(node)+"\n")
		}
		all = append(all, of[node]...)
	}
	return all
}

// copyScript copies what running the cell would execute, with its values where they
// are known.
func (cp *copies) copyScript() tea.Cmd {
	c, ok := cp.current()
	if !ok {
		return cp.Say("select a cell to copy its script")
	}
	planned, book := cp.Opts.Plan.Text, cp.Book
	if planned == nil || book.Rig.Probed.IsZero() {
		return cp.copied(scriptMsg{"the script of " + c.Title + ", without values", written(c)})
	}
	return func() tea.Msg {
		// What would be undone is read from a file.
		if text := planned(book, c); text != "" {
			return scriptMsg{"the script of " + c.Title, text}
		}
		return scriptMsg{"the script of " + c.Title + ", without values", written(c)}
	}
}

// written are the scripts of a cell as the tutorial has them.
func written(c steps.Cell) string {
	var b strings.Builder
	lessons, probes := c.Lessons()
	for _, l := range slices.Concat(lessons, probes) {
		if len(lessons)+len(probes) > 1 {
			fmt.Fprintf(&b, "# --- %s\n", strings.Join(l.Names, ", "))
		}
		b.WriteString(strings.TrimRight(l.Text(), "\n") + "\n")
	}
	return b.String()
}

// copied hands a script to the terminal, which may refuse without a word: the notice says
// so.
func (cp *copies) copied(s scriptMsg) tea.Cmd {
	cp.Dirty = true
	switch {
	case s.text == "":
		return cp.Say("it has no script")
	case len(s.text) > maxCopy:
		// Half a script is worse than none.
		cp.Notice = fmt.Sprintf("its script is too long to be copied: %s; railbench run --dry-run prints it",
			cells.Bytes(uint64(len(s.text))))
		return nil
	}
	cp.Notice = fmt.Sprintf("copied %s, %s%s", s.title, cells.Bytes(uint64(len(s.text))), allowed)
	return tea.SetClipboard(s.text)
}

// openPager shows the cell's log, or the kept lines where there is none, in the
// user's pager.
func (cp *copies) openPager() tea.Cmd {
	c, ok := cp.current()
	state := cp.Book.Cells[c.ID]
	open := cp.Opts.Programs.Pager
	switch {
	case !ok:
		return cp.Say("select a cell to page through what it printed")
	case state.Output.Len() == 0:
		return cp.Say("it has printed nothing")
	case open == nil:
		return cp.Say("no pager is available here")
	}
	simulated := cp.Simulated()
	return func() tea.Msg {
		cmd, err := open(state.Log, func() string {
			text := strings.Join(texts(c, state.Output), "")
			if n := state.Output.Dropped(); n > 0 {
				text = fmt.Sprintf("# %s came before these and have been dropped\n", steps.Counted(n, "line")) + text
			}
			if simulated {
				text = simulatedHead + text
			}
			return text
		})
		return pagerMsg{cmd, err}
	}
}

// paging gives the terminal to the pager, and takes it back.
func (cp *copies) paging(msg pagerMsg) tea.Cmd {
	cp.Dirty = true
	switch {
	case msg.err != nil:
		return cp.Say(msg.err.Error())
	case cp.Layers.Has(screen.Question):
		// It came meanwhile, and may have a deadline.
		return cp.Say("answer this first; | opens the pager then")
	}
	return tea.Exec(msg.cmd, func(err error) tea.Msg { return pagedMsg{err} })
}

func (cp *copies) paged(msg pagedMsg) tea.Cmd {
	cp.Dirty = true
	if msg.err != nil {
		cp.Notice = "the pager: " + msg.err.Error()
	}
	return nil
}
