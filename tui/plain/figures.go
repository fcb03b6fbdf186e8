// Package plain writes what railbench found as plain text for a terminal, a file or an issue: no color, and lines that
// are broken where the reader's end. Pages and panes of the workbench are not here.
package plain

import (
	"cmp"
	"io"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// Figures writes tables and charts as plain text.
type Figures struct {
	out    io.Writer
	drawer cells.Drawer
	charts bool
	Indent string
}

// plainWidth is that of a file or a pipe, whose reader has a screen of any width.
const plainWidth = 120

// NewFigures prints as wide as a terminal is; width 0 where there is none.
func NewFigures(out io.Writer, width int, simulated, charts bool) Figures {
	return Figures{out: out, charts: charts, drawer: cells.Drawer{
		Styles: theme.New(true, colorprofile.NoTTY), Width: cmp.Or(width, plainWidth), Simulated: simulated,
	}}
}

// Summaries prints what the cells of railbench's own made of the session.
func (p Figures) Summaries(all []steps.Cell, ended map[string]steps.CellEnded) error {
	for _, c := range all {
		if c.Own == "" {
			continue
		}
		if err := p.Print(ended[c.ID].Verdict); err != nil {
			return err
		}
	}
	return nil
}

// Print writes the tables of a verdict, and its charts where they are wanted.
func (p Figures) Print(v steps.Verdict) error {
	p.drawer.Width -= len(p.Indent)
	charts := v.Charts
	if !p.charts {
		charts = nil
	}
	var lines []string
	for _, figure := range p.drawer.Figures(v.Tables, charts) {
		lines = append(append(lines, ""), figure...)
	}
	for _, l := range lines {
		l = strings.TrimRight(p.Indent+ansi.Strip(l), " ")
		if _, err := sanitize.Fprintln(p.out, l); err != nil {
			return err
		}
	}
	return nil
}
