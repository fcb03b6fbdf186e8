package presentation

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// A Result is what a slide of a presentation reached.
type Result struct {
	Name  string
	Grade steps.Grade
	Code  steps.Code // the cause of the grade
	Cell  string     // the ID of the cell that gave it
	// Gbps is the payload's rate, 0 where the cell has no figure. TCP has the colour of IP.
	Gbps float64
	TCP  bool
	// Why says what the rate is of, and what limits it.
	Why string
	// Pulled says that a cable was pulled in the slide.
	Pulled bool
	// Stopped says that the cell was stopped before it had a figure: the rate is the gauges' then, and not judged.
	Stopped bool
}

// Weaker reports whether a result says less than another one of its slide and must not replace it: it has no
// judged rate and is not a FAIL.
func (r Result) Weaker(than Result) bool {
	judged := func(x Result) bool { return x.Gbps > 0 && !x.Stopped }
	return r.Grade != steps.Fail && !judged(r) && (judged(than) || than.Gbps > r.Gbps)
}

// says is the text below a numeral, or in its place. It has the grade unless that is PASS.
func (r Result) says(k *theme.Styles) (style theme.Style, text string) {
	style = cells.GradeStyle(k, r.Grade)
	if r.Stopped && r.Gbps > 0 {
		return style, "Gb/s, not judged: stopped early"
	}
	if r.Gbps > 0 {
		text = "Gb/s, " + r.Why
		if r.Grade == steps.Pass {
			return k.Dim, text
		}
		return style, r.Grade.String() + " " + string(r.Code) + ", " + text
	}
	text = strings.TrimSpace(r.Grade.String() + " " + string(r.Code))
	if r.Pulled && r.Grade == steps.Fail {
		return k.Warn, "pulled on purpose: " + text + ", found by " + r.Cell
	}
	return style, text + ", " + r.Cell
}

// results are all slides' rates in numerals as large as there is room for, or in a line each where there is none.
func (d drawing) results(room int) []string {
	columns, dot := d.grid(room)
	if columns == 0 {
		return d.resultLines(room)
	}
	rows := (len(d.Results) + columns - 1) / columns
	width, height := d.Width/columns, room/rows
	var lines []string
	for i := 0; i < len(d.Results); i += columns {
		var row []string
		for j, r := range d.Results[i:min(len(d.Results), i+columns)] {
			p := d.result(r, dot, width, height)
			if j > 0 {
				p = beside(row, p, 0)
			}
			row = p
		}
		lines = append(lines, row...)
	}
	return lines
}

// grid is in how many columns the results have the largest numerals, and the dots of these; 0 if numerals do
// not fit. Below a numeral are two lines of text, or one if it is wide.
func (d drawing) grid(room int) (columns int, dot size) {
	for c := 1; c <= len(d.Results); c++ {
		rows := (len(d.Results) + c - 1) / c
		width, height := d.Width/c, room/rows
		below := 2
		if width >= 2*largeNumeral {
			below = 1
		}
		if width < leastNumeral+2 || height < digitRows+1+below {
			continue
		}
		if s := largest(width-2, height-1-below); s.columns*s.rows > dot.columns*dot.rows || columns == 0 ||
			s == dot && rows > 1 {
			columns, dot = c, s
		}
	}
	return columns, dot
}

// result is one slide in numerals.
func (d drawing) result(r Result, dot size, width, height int) []string {
	k := d.k
	lines := []string{" " + k.Strong.Render(ansi.Truncate(theme.Clean(r.Name), width-2, "…"))}
	style, text := r.says(k)
	if r.Gbps > 0 {
		digits := k.RDMA
		switch {
		case r.Grade == steps.Fail || r.Grade == steps.Inconclusive:
			digits = style
		case r.TCP:
			digits = k.IP
		}
		for _, l := range numeral(figure(r.Gbps), dot) {
			lines = append(lines, "  "+digits.Render(l))
		}
	}
	for _, l := range theme.Wrap(theme.Clean(text), width-2, "", "") {
		lines = append(lines, "  "+style.Render(l))
	}
	return fitted(lines, width, height)
}

// resultLines are a line each, for screens without room for numerals.
func (d drawing) resultLines(room int) []string {
	name := 0
	for _, r := range d.Results {
		name = max(name, min(d.Width/2, lipgloss.Width(r.Name)))
	}
	var lines []string
	for _, r := range d.Results {
		rate := "--"
		if r.Gbps > 0 {
			rate = figure(r.Gbps)
		}
		style, text := r.says(d.k)
		line := " " + theme.Pad(ansi.Truncate(theme.Clean(r.Name), name, "…"), name) + " " +
			d.k.Strong.Render(fmt.Sprintf("%7s", rate)) + "  "
		left := lipgloss.Width(line)
		for _, l := range theme.Wrap(theme.Clean(text), d.Width-left, "", "") {
			lines = append(lines, line+style.Render(l))
			line = strings.Repeat(" ", left)
		}
	}
	if hidden := len(lines) - room; hidden > 0 && room > 0 {
		lines = append(lines[:room-1], d.k.Dim.Render(fmt.Sprintf(" +%d more", hidden+1)))
	}
	return lines
}

// fitted has so many lines of so many columns.
func fitted(lines []string, width, height int) []string {
	lines = lines[:min(len(lines), height)]
	for len(lines) < height {
		lines = append(lines, "")
	}
	for i, l := range lines {
		lines[i] = theme.Pad(l, width)
	}
	return lines
}
