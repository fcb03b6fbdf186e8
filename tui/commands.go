package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/screen"
)

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
