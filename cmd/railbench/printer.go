package main

import (
	"io"

	"github.com/railbench/railbench/tui/plain"
)

// newPrinter writes charts, too, where a person looks at them: on a terminal, or
// where they were asked for.
func newPrinter(out io.Writer, simulated, charts bool) plain.Figures {
	return plain.NewFigures(out, columns(out), simulated, charts || terminal(out) != nil)
}
