package main

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

// A printer writes tables and charts as plain text.
type printer struct {
	out    io.Writer
	drawer cells.Drawer
	charts bool
	indent string
}

// plainWidth is that of a file or a pipe, whose reader has a screen of any width.
const plainWidth = 120

// newPrinter writes charts, too, where a person looks at them: on a terminal, or
// where they were asked for.
func newPrinter(out io.Writer, simulated, charts bool) printer {
	p := printer{
		out: out, charts: charts,
		drawer: cells.Drawer{Styles: theme.New(true, colorprofile.NoTTY), Width: plainWidth, Simulated: simulated},
	}
	if terminal(out) != nil {
		p.charts = true
		p.drawer.Width = cmp.Or(columns(out), plainWidth)
	}
	return p
}

// summaries prints what the cells of railbench's own made of the session.
func (p printer) summaries(all []steps.Cell, ended map[string]steps.CellEnded) error {
	for _, c := range all {
		if c.Own == "" {
			continue
		}
		if err := p.print(ended[c.ID].Verdict); err != nil {
			return err
		}
	}
	return nil
}

func (p printer) print(v steps.Verdict) error {
	p.drawer.Width -= len(p.indent)
	charts := v.Charts
	if !p.charts {
		charts = nil
	}
	var lines []string
	for _, figure := range p.drawer.Figures(v.Tables, charts) {
		lines = append(append(lines, ""), figure...)
	}
	for _, l := range lines {
		l = strings.TrimRight(p.indent+ansi.Strip(l), " ")
		if _, err := sanitize.Fprintln(p.out, l); err != nil {
			return err
		}
	}
	return nil
}
