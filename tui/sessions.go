package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/docs"
	"github.com/railbench/railbench/tui/screen"
)

// Sessions that are saved, found in the palette: to be opened in place of this one, or
// compared with it. And what happens to files meanwhile.

// sessions are what is known of those that are saved, and what is opened next.
type sessions struct {
	*screen.Shared
	docs *docs.Pages
	all  []screen.SessionFile
	next Next
}

// Next is what the user wants to be opened in place of the session, once it is put away.
type Next struct {
	Session string // its file; empty for the same one again
	Again   bool   // the runbook is read again
}

// Next gives it; the zero value if the user is done.
func (m *Model) Next() Next { return m.saved.next }

type (
	sessionsMsg []screen.SessionFile
	checkedMsg  struct {
		path string
		err  error
	}
	comparedMsg struct {
		name, text string
		err        error
	}
	changedMsg  string
	followedMsg *steps.Notebook
)

// listSessions looks which there are, each time that the palette is opened.
func (ss *sessions) listSessions() tea.Cmd {
	list := ss.Opts.Saved.List
	if list == nil {
		return nil
	}
	return func() tea.Msg { return sessionsMsg(list()) }
}

// sessionChoices are the palette's lines of them.
func (ss *sessions) sessionChoices() (all []dialog.Choice) {
	for _, s := range ss.all {
		if s.Path == ss.Book.Saved.Path {
			continue
		}
		name := s.Name + "  " + s.About
		if ss.Opts.Saved.Check != nil {
			all = append(all, dialog.Choice{
				Kind: "session", Name: "open " + name,
				Act: func() tea.Cmd { return ss.openSession(s.Path) },
			})
		}
		if ss.Opts.Saved.Compare != nil {
			all = append(all, dialog.Choice{
				Kind: "session", Name: "compare with " + name,
				Act: func() tea.Cmd { return ss.compare(s) },
			})
		}
	}
	return all
}

// openSession opens another session once it is known that it can be opened: this one is put
// away before that.
func (ss *sessions) openSession(path string) tea.Cmd {
	if ss.Busy() && ss.Opts.ReadOnly == "" {
		return ss.Say("something runs: i i interrupts it")
	}
	check := ss.Opts.Saved.Check
	return func() tea.Msg { return checkedMsg{path, check(path)} }
}

func (ss *sessions) checked(msg checkedMsg) tea.Cmd {
	ss.Dirty = true
	switch {
	case msg.err != nil:
		return ss.Say(msg.err.Error())
	case ss.Busy() && ss.Opts.ReadOnly == "":
		return ss.Say("something runs by now: i i interrupts it")
	}
	if ss.Unsaved() {
		return ss.Say(dialog.NotSaved)
	}
	ss.next = Next{Session: msg.path}
	return tea.Quit
}

// reopen opens the session again, with the runbook as it is on disk now.
func (ss *sessions) reopen() tea.Cmd {
	switch {
	case ss.ChangedFile == "":
		return ss.Say("no runbook has changed on disk; R runs what is left")
	case ss.Busy():
		return ss.Say("something runs: i i interrupts it")
	case ss.Unsaved():
		return ss.Say(dialog.NotSaved)
	}
	ss.next = Next{Session: ss.Book.Saved.Path, Again: true}
	return tea.Quit
}

// compare shows what is better and worse here than in another session.
func (ss *sessions) compare(s screen.SessionFile) tea.Cmd {
	if ss.Book.Saved.Path == "" {
		return ss.Say("nothing of this session is saved yet that could be compared")
	}
	open, compare := ss.Book.Saved.Path, ss.Opts.Saved.Compare
	return func() tea.Msg {
		text, err := compare(open, s.Path)
		return comparedMsg{s.Name, text, err}
	}
}

// compared shows a comparison among the pages.
func (ss *sessions) compared(msg comparedMsg) tea.Cmd {
	ss.Dirty = true
	if msg.err != nil {
		return ss.Say(msg.err.Error())
	}
	return ss.docs.Add(screen.Doc{Name: "comparison", About: "this session and " + msg.name, Text: msg.text})
}

// waitFollow waits for what another railbench does with the session.
func waitFollow(follow func() *steps.Notebook) tea.Cmd {
	if follow == nil {
		return nil
	}
	return func() tea.Msg {
		if book := follow(); book != nil {
			return followedMsg(book)
		}
		return nil
	}
}

// followed shows the session as it stands now.
func (m *Model) followed(book followedMsg) tea.Cmd {
	saved := m.Book.Saved
	m.Book = *book
	m.Book.Saved = saved
	// The runbook that it is of may have been opened again there, with parts that it had not.
	for len(m.notebook.cursors) < len(m.Parts()) {
		m.notebook.cursors = append(m.notebook.cursors, cursor{})
	}
	m.notebook.part = max(0, min(m.notebook.part, len(m.Parts())-1))
	// versions are counted again each time that a file is read
	m.notebook.cache, m.Plans = cache{}, map[string]screen.Planned{}
	m.output.Keep()
	cmds := []tea.Cmd{m.drawSoon()}
	if m.Book.Running != "" && !m.ticking {
		m.ticking = true
		cmds = append(cmds, m.Spinner.Tick)
	}
	return tea.Batch(cmds...)
}

// waitChanged waits until a runbook changes on disk.
func waitChanged(changed func() string) tea.Cmd {
	if changed == nil {
		return nil
	}
	return func() tea.Msg {
		if name := changed(); name != "" {
			return changedMsg(name)
		}
		return nil
	}
}
