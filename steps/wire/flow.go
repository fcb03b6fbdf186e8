// Package wire is the account of bytes: what each rail had to carry for a test, what its
// counters say that it did, and the signs beside it (error counters, flaps, other
// traffic). What a figure is worth is a family's to say.
package wire

import (
	"github.com/railbench/railbench/steps"
)

// Staged makes the allowances for GPU memory: messages, which UCX may send over
// one rail of several (the tutorial's went over one).
func (f *Flow) Staged() { f.oneRail, f.most = true, stagedMoreBytes }

// A Flow is what a test moved, as it is predicted.
type Flow struct {
	From    steps.End // the end that sends
	Payload float64   // bytes
	Wire    float64   // with headers
	Text    string    // where the prediction comes from
	// most is how far above the prediction is still right; moreBytes where it is 0.
	most float64
	// oneRail: that only one of several rails carries it is as it may be.
	oneRail bool
	// warned is what UCX warned about the rails.
	Warned string
}
