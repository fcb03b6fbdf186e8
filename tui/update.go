package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/checklist"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/presenter"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Update routes a message, and plans what the next frame shows.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	m.PlanShown()
	if m.Layers.Has(screen.Presenting) {
		m.presenter.PlanCall()
	}
	return m, cmd
}

// lineEnds are those of a paste: terminals send a carriage return for each.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// update routes a message. What a key does is in keys.go, and in its layer's file.
func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m.resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		return m.background(msg.IsDark())
	case tea.ColorProfileMsg:
		return m.setProfile(msg.Profile)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.Dirty = true
		return m.all[m.Layers.Top()].Paste(lineEnds.Replace(msg.Content))
	case tea.MouseClickMsg:
		return m.click(msg.Mouse())
	case tea.MouseWheelMsg:
		return m.wheel(msg.Mouse())
	case spinner.TickMsg:
		return m.onTick(msg)
	case presenter.SlideTickMsg:
		return m.presenter.OnTick()
	case paceMsg:
		return m.onPace()
	}
	if cmd, ok := m.heard(msg); ok {
		return cmd
	}
	return m.done(msg)
}

// heard takes what the session, its file and its runbook say. Each is waited for again.
func (m *Model) heard(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case eventsMsg:
		return tea.Batch(m.fold(msg), waitEvents(m.Session)), true
	case snapshotMsg:
		return tea.Batch(m.setSnapshot(meter.Board(msg)), waitSnapshot(m.Session.Boards())), true
	case questionMsg:
		return tea.Batch(m.questions.Queue(steps.Question(msg)), waitQuestion(m.Session.Questions())), true
	case screen.AskedMsg:
		return m.Asked(msg.Err), true
	case followedMsg:
		return tea.Batch(m.followed(msg), waitFollow(m.Opts.Saved.Follow)), true
	case changedMsg:
		m.ChangedFile, m.Dirty = string(msg), true
		return waitChanged(m.Opts.Runbook.Changed), true
	}
	return nil, false
}

// done takes what commands bring back.
func (m *Model) done(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case scriptMsg:
		return m.copies.copied(msg)
	case pagerMsg:
		return m.copies.paging(msg)
	case pagedMsg:
		return m.copies.paged(msg)
	case screen.WroteMsg:
		m.Notice, m.Dirty = string(msg), true
		return nil
	case dialog.PlaceMsg:
		return m.saveAs.Offered(msg)
	case dialog.MovedMsg:
		return m.saveAs.Moved(msg)
	case editorMsg:
		return m.editor.handOver(msg)
	case editedMsg:
		return m.editor.takeOver(msg)
	case sessionsMsg:
		m.saved.all, m.Dirty = msg, true
		return nil
	case checkedMsg:
		return m.saved.checked(msg)
	case checklist.ExplainedMsg:
		return m.docs.Explained(msg.Text)
	case comparedMsg:
		return m.saved.compared(msg)
	}
	return nil
}

// resize opens the notebook when the size is known: before that the cursor has no place.
func (m *Model) resize(width, height int) tea.Cmd {
	if m.Width == 0 && width > 0 {
		m.Width, m.Height = width, height
		m.notebook.Enter()
	}
	m.Width, m.Height, m.Dirty = width, height, true
	if m.Layers.Drop(screen.TooSmall); width > 0 && m.Layout().Small {
		m.Layers.Push(screen.TooSmall)
	}
	m.help.Fit()
	m.editor.fitEditor()
	return nil
}

// background is the terminal's answer, which a flag of the user's overrules.
func (m *Model) background(dark bool) tea.Cmd {
	if m.Opts.Terminal.Background == screen.Ask && dark != m.Dark {
		m.Dark = dark
		m.restyle()
	}
	return nil
}

func (m *Model) setProfile(p colorprofile.Profile) tea.Cmd {
	if p != m.Profile {
		m.Profile = p
		m.restyle()
	}
	return nil
}

// key gives a key to what is on top: a question, the way out, the help, the screen.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	m.Dirty, m.Notice = true, ""
	m.presenter.Pressed(msg.String())
	// Twice means twice in a row.
	if m.KeyBefore != msg.String() {
		m.KeyBefore = ""
	}
	top := m.Layers.Top()
	cmd := tea.Batch(m.all[top].Key(msg), m.notebook.reading())
	// An audience is shown nothing of a wrong key.
	if l, ok := m.all[top].(interface{ UnknownKey() string }); ok && l.UnknownKey() != "" && top != screen.Presenting {
		m.Notice = l.UnknownKey() + " does nothing here: ? shows all keys"
	}
	return cmd
}

// fold applies a batch of events. Viewers get the state after the whole batch only.
func (m *Model) fold(events []steps.Event) tea.Cmd {
	var again tea.Cmd
	var cmds []tea.Cmd
	for _, e := range events {
		before := m.Book
		m.Book = m.Book.Apply(e)
		m.tellOf(e, before)
		if ended, ok := e.(steps.CellEnded); ok {
			m.drill.Drilled(ended)
			m.list.CheckedAll()
			m.list.FixRan(ended)
			cmds = append(cmds, m.ran(ended))
			if cmd := m.list.Recheck(ended); cmd != nil {
				again = cmd
			}
		}
		if s, ok := e.(steps.CellStarted); ok {
			m.Waited = 0
			m.drill.Pay(s.Cell)
			if m.Follow && m.notebook.watch != s.Cell {
				m.notebook.Show(s.Cell)
			}
		}
	}
	m.output.Keep()
	if m.Opts.Viewers.Audience != nil {
		m.Opts.Viewers.Audience.Book(m.Book)
	}
	cmds = append(cmds, m.drawSoon(), m.presenter.Mark(events), again)
	m.presenter.Reach(events)
	if m.Book.Running != "" && !m.ticking {
		m.ticking = true
		cmds = append(cmds, m.Spinner.Tick)
	}
	return tea.Batch(cmds...)
}

// tellOf shows a notice of what is over too quickly to be seen, and removes a notice that is no longer true.
func (m *Model) tellOf(e steps.Event, before steps.Notebook) {
	switch e := e.(type) {
	case steps.CellEnded:
		m.questions.DropOf(e.Cell)
		m.tellOfStop(e, before)
		if m.Notice == m.RunNotice {
			m.Notice = ""
		}
		m.RunNotice = ""
	case steps.NodeChanged:
		if before.Connection(e.Node).Connected() && m.Book.Connection(e.Node).Lost() {
			m.lost[e.Node] = true
		}
		if m.lost[e.Node] && m.Book.Connection(e.Node).Connected() {
			m.lost[e.Node] = false
			m.Notice = m.NodeName(e.Node) + " was lost, and is connected again"
		}
	}
}

// tellOfStop says where a queue stopped, why, and how to go on: a FAIL empties it.
func (m *Model) tellOfStop(e steps.CellEnded, before steps.Notebook) {
	if e.Verdict.Grade != steps.Fail || len(before.Queue) == 0 || m.Layers.Has(screen.Checklist) {
		return
	}
	c, _ := m.Book.Tutorial.Cell(e.Cell)
	said := func(where string) string {
		return fmt.Sprintf("stopped at %s, %s not run: w looks for why, R runs the rest", where,
			steps.Counted(len(before.Queue), "cell"))
	}
	m.Notice = said(theme.Clean(c.Title) + " (FAIL)")
	if lipgloss.Width(m.Notice) > m.Width-2 { // how to go on says more than the title, which is in the notebook
		m.Notice = said("a FAIL")
	}
	if m.Interrupted == e.Run && e.Run != 0 {
		m.Notice = "interrupted; R runs what is left"
	}
}

// setSnapshot draws at the gauges' pace only where they are seen.
func (m *Model) setSnapshot(b meter.Board) tea.Cmd {
	if m.drill.Drilling() {
		b.Health = nil // an alarm would say what the fault is, and where
	}
	before, _ := health.Urgent(m.Snapshot.Health)
	now, _ := health.Urgent(b.Health)
	m.Snapshot = b
	m.presenter.Gauge()
	m.Moves()
	if m.Opts.Viewers.Audience != nil {
		m.Opts.Viewers.Audience.Board(b)
	}
	if now != before { // an alarm is seen wherever one is, and by the presenter's notes
		return tea.Batch(m.presenter.Report(), m.drawSoon())
	}
	if m.NoGauges && !m.Layers.Has(screen.Presenting) {
		return nil
	}
	return m.drawSoon()
}

// drawSoon draws at once where nothing was drawn lately, and else when it is time for the
// next frame: a cell may print a hundred thousand lines a second.
func (m *Model) drawSoon() tea.Cmd {
	if m.pacing {
		return nil
	}
	if early := framePace - m.Opts.Clock.Now().Sub(m.drawn); early > 0 {
		m.pacing = true
		return pace(early)
	}
	return m.onPace()
}

// onPace draws what came since the last frame, in one: many events a second are few
// frames.
func (m *Model) onPace() tea.Cmd {
	m.pacing, m.drawn, m.Dirty = false, m.Opts.Clock.Now(), true
	return nil
}

// onTick moves the clock of a running cell. When nothing runs the clock stands, so
// that an idle screen costs nothing.
func (m *Model) onTick(msg spinner.TickMsg) tea.Cmd {
	m.Dirty = true
	m.questions.DropExpired()
	if m.Book.Running == "" {
		m.ticking = false
		return nil
	}
	var next tea.Cmd
	m.Spinner, next = m.Spinner.Update(msg)
	return next
}

// wheel scrolls what is on top. Over a question it does nothing: one who scrolls answers
// nothing.
func (m *Model) wheel(e tea.Mouse) tea.Cmd {
	lines := screen.WheelStep
	switch e.Button {
	case tea.MouseWheelUp:
		lines = -screen.WheelStep
	case tea.MouseWheelDown:
	default:
		return nil
	}
	m.Dirty = true
	return m.all[m.Layers.Top()].Wheel(lines)
}

// click selects; it never runs anything, because a click comes by accident.
func (m *Model) click(e tea.Mouse) tea.Cmd {
	if e.Button != tea.MouseLeft {
		return nil
	}
	l := m.Layout()
	row := e.Y - l.BodyTop
	if row < 0 || row >= l.NoteHeight {
		return nil
	}
	return m.all[m.Layers.Top()].Click(e.X, row)
}

// The messages that commands bring back.
type (
	eventsMsg   []steps.Event
	snapshotMsg meter.Board
	questionMsg steps.Question
	paceMsg     struct{}
)

// framePace is the least time between two frames that only output brought about.
// Keys are drawn at once.
const framePace = time.Second / 30

// waitEvents ends when the session closes: it has no other context to end by.
func waitEvents(s screen.Session) tea.Cmd {
	return func() tea.Msg {
		events, ok := s.Next(context.Background())
		if !ok {
			return nil
		}
		return eventsMsg(events)
	}
}

func waitSnapshot(boards <-chan meter.Board) tea.Cmd {
	return func() tea.Msg {
		b, ok := <-boards
		if !ok {
			return nil
		}
		return snapshotMsg(b)
	}
}

func waitQuestion(questions <-chan steps.Question) tea.Cmd {
	return func() tea.Msg {
		q, ok := <-questions
		if !ok {
			return nil
		}
		return questionMsg(q)
	}
}

func pace(after time.Duration) tea.Cmd {
	return tea.Tick(after, func(time.Time) tea.Msg { return paceMsg{} })
}

// tellSaved writes edited scripts to a runbook's files. Of the built-in tutorial it says
// where the session is saved: who has pressed ctrl+s wants to know that it is.
func (m *Model) tellSaved() tea.Cmd {
	switch {
	case m.Opts.Runbook.Write != nil && m.Opts.ReadOnly == "":
		write, parts := m.Opts.Runbook.Write, m.Book.Tutorial.Parts
		return func() tea.Msg {
			said, err := write(parts)
			if err != nil {
				said = err.Error()
			}
			return screen.WroteMsg(said)
		}
	case m.Unsaved():
		return m.saveAs.Open(false)
	case m.Book.Saved.Path != "":
		m.Notice = "saved in " + m.Book.Saved.Path
	default:
		m.Notice = "nothing has run yet that could be saved"
	}
	return nil
}

// serve begins to show the session in browsers, or ends that.
func (m *Model) serve() tea.Cmd {
	if m.Opts.Viewers.Serve == nil {
		return m.Say("this session is shown here alone: railbench serve shows one in browsers")
	}
	serve := m.Opts.Viewers.Serve
	return func() tea.Msg {
		said, err := serve()
		if err != nil {
			said = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		return screen.WroteMsg(said)
	}
}

// askSyncOutput asks for mode 2026; Bubble Tea turns it on when the terminal says that it has it. A terminal
// that doesn't know the query may print its last byte, so the screen is painted again after it.
func askSyncOutput() tea.Cmd {
	return tea.Sequence(tea.Raw(ansi.RequestModeSynchronizedOutput), tea.ClearScreen)
}
