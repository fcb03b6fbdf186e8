package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// Sessions that are saved, found in the palette: to be opened in place of this one, or
// compared with it. And what happens to files meanwhile.

// A SessionFile is a saved session.
type SessionFile struct {
	Path, Name string
	About      string // when it was saved
}

// Next is what the user wants to be opened in place of the session, once it is put away.
type Next struct {
	Session string // its file; empty for the same one again
	Again   bool   // the runbook is read anew
}

// Next tells it; the zero value where the user is done.
func (m *Model) Next() Next { return m.next }

type (
	sessionsMsg []SessionFile
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
func (m *Model) listSessions() tea.Cmd {
	list := m.opts.Sessions
	if list == nil {
		return nil
	}
	return func() tea.Msg { return sessionsMsg(list()) }
}

// sessionChoices are the palette's lines of them.
func (m *Model) sessionChoices() (all []choice) {
	for _, s := range m.sessions {
		if s.Path == m.book.Saved.Path {
			continue
		}
		name := s.Name + "  " + s.About
		if m.opts.Check != nil {
			all = append(all, choice{"session", "open " + name, "", func() tea.Cmd { return m.openSession(s.Path) }})
		}
		if m.opts.Compare != nil {
			all = append(all, choice{"session", "compare with " + name, "", func() tea.Cmd { return m.compare(s) }})
		}
	}
	return all
}

// openSession opens another session once it is known that it can be opened: this one is put
// away before that.
func (m *Model) openSession(path string) tea.Cmd {
	if m.busy() && m.opts.ReadOnly == "" {
		m.notice = "something runs: i i interrupts it"
		return nil
	}
	check := m.opts.Check
	return func() tea.Msg { return checkedMsg{path, check(path)} }
}

func (m *Model) checked(msg checkedMsg) tea.Cmd {
	m.dirty = true
	switch {
	case msg.err != nil:
		m.notice = msg.err.Error()
		return nil
	case m.busy() && m.opts.ReadOnly == "":
		m.notice = "something runs by now: i i interrupts it"
		return nil
	}
	m.next = Next{Session: msg.path}
	return tea.Quit
}

// reopen opens the session again, with the runbook as it is on disk now.
func (m *Model) reopen() tea.Cmd {
	switch {
	case m.changedFile == "":
		m.notice = "no runbook has changed on disk; R runs what is left"
		return nil
	case m.busy():
		m.notice = "something runs: i i interrupts it"
		return nil
	}
	m.next = Next{Session: m.book.Saved.Path, Again: true}
	return tea.Quit
}

// compare shows what is better and worse here than in another session.
func (m *Model) compare(s SessionFile) tea.Cmd {
	if m.book.Saved.Path == "" {
		m.notice = "nothing of this session is saved yet that could be compared"
		return nil
	}
	open, compare := m.book.Saved.Path, m.opts.Compare
	return func() tea.Msg {
		text, err := compare(open, s.Path)
		return comparedMsg{s.Name, text, err}
	}
}

// compared shows a comparison among the pages.
func (m *Model) compared(msg comparedMsg) tea.Cmd {
	m.dirty = true
	if msg.err != nil {
		m.notice = msg.err.Error()
		return nil
	}
	m.loadDocs()
	m.docs.all = append(m.docs.all, Doc{
		Name: "comparison", About: "this session and " + msg.name, Text: msg.text,
	})
	return m.openDoc(len(m.docs.all) - 1)
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
	saved := m.book.Saved
	m.book = *book
	m.book.Saved = saved
	// The runbook that it is of may have been opened anew there, with parts that it had not.
	for len(m.cursors) < len(m.parts()) {
		m.cursors = append(m.cursors, cursor{})
	}
	m.part = max(0, min(m.part, len(m.parts())-1))
	m.cache, m.plans = cache{}, map[string]planned{} // versions are counted anew each time that a file is read
	m.keepPage()
	cmds := []tea.Cmd{m.drawSoon()}
	if m.book.Running != "" && !m.beating {
		m.beating = true
		cmds = append(cmds, m.spinner.Tick)
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
