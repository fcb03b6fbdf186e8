package replay

import (
	"context"
	"errors"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// A Viewer is a session in which nothing happens.
type Viewer struct {
	boards    chan meter.Board
	questions chan steps.Question
}

// NewViewer is a session of which nothing comes, and that does nothing.
func NewViewer() Viewer {
	v := Viewer{make(chan meter.Board), make(chan steps.Question)}
	close(v.boards)
	close(v.questions)
	return v
}

// Run runs nothing.
func (Viewer) Run(...string) {}

// Interrupt has nothing to interrupt.
func (Viewer) Interrupt() {}

// Clear clears nothing.
func (Viewer) Clear(string) {}

// Trust trusts nothing.
func (Viewer) Trust(string) error { return nil }

// ResetPeaks resets nothing.
func (Viewer) ResetPeaks() {}

// Edit edits nothing.
func (Viewer) Edit(string, []steps.Cell) {}

// SetParam is refused.
func (Viewer) SetParam(string, string, string) error { return errors.New("it is shown only") }

// SetLink is refused.
func (Viewer) SetLink(steps.Link) error { return errors.New("it is shown only") }

// Next is over at once.
func (Viewer) Next(context.Context) ([]steps.Event, bool) { return nil, false }

// Boards is closed.
func (v Viewer) Boards() <-chan meter.Board { return v.boards }

// Questions is closed.
func (v Viewer) Questions() <-chan steps.Question { return v.questions }
