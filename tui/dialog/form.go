package dialog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Form sets the parameters of a cell, over the screen.
type Form struct {
	*screen.Shared
	screen.Inert
	entered
}

// entered is what is typed at the form; the notebook has what is set.
type entered struct {
	cell   steps.Cell // the zero value on an introduction
	all    bool       // what is typed is for all cells
	Fields []field
	Item   int
	top    int // first field that is shown
}

// A field is one parameter's line.
type field struct {
	steps.Param
	Line    screen.Line
	touched bool
}

// MaxField bounds what a paste can bring: no path is longer.
const MaxField = 4096

// set fills a field with the present value, which is not an edit.
func (f *field) set(text string) { f.Line.Set(text) }

func (f *field) paste(text string) {
	f.Line.Paste(text)
	f.touched = true
}

// read is the value as the scripts would get it.
func (f *field) read() (string, error) { return f.Parse(f.Line.Text()) }

// ReadsAny reports whether a cell reads a parameter.
func (fm *Form) ReadsAny(c steps.Cell) bool { return slices.ContainsFunc(fm.Opts.Params, c.Reads) }

// Open asks for what a cell reads; of a cell without an id, a part's introduction,
// for all there is.
func (fm *Form) Open(c steps.Cell) tea.Cmd {
	if fm.Opts.ReadOnly != "" {
		return fm.Say(screen.OnlyFollows)
	}
	f := entered{cell: c, all: c.ID == ""}
	for _, p := range fm.Opts.Params {
		if f.all || c.Reads(p) {
			f.Fields = append(f.Fields, field{Param: p, Line: screen.NewLine(MaxField)})
		}
	}
	if len(f.Fields) == 0 {
		return fm.Say("no parameter changes this cell; p on a part's introduction shows all")
	}
	fm.entered = f
	fm.Layers.Push(screen.Form)
	fm.fillForm()
	return nil
}

// scope is the cell that values are set for, empty for all.
func (f *Form) scope() string {
	if f.all {
		return ""
	}
	return f.cell.ID
}

// holds is the value that a parameter has for a cell, or for all where it is empty.
func (fm *Form) holds(cell string, p steps.Param) string {
	if v, ok := fm.Book.Params.Get(cell, p.Name); ok {
		return v
	}
	return p.Default
}

// fillForm shows the present values in the fields that are untouched.
func (fm *Form) fillForm() {
	for i := range fm.Fields {
		if f := &fm.Fields[i]; !f.touched {
			f.set(fm.holds(fm.scope(), f.Param))
		}
	}
}

// Key is a key while the form is open.
func (fm *Form) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		fm.Layers.Drop(screen.Form)
	case "enter":
		return fm.applyForm()
	case "down", "tab":
		fm.nextField(1)
	case "up", "shift+tab":
		fm.nextField(-1)
	case "pgdown":
		fm.nextField(formPage)
	case "pgup":
		fm.nextField(-formPage)
	case "ctrl+g":
		if fm.cell.ID != "" {
			fm.all = !fm.all
			fm.fillForm()
		}
	default:
		fm.Fields[fm.Item].key(msg)
	}
	return nil
}

// key is a key that edits the value.
func (f *field) key(msg tea.KeyPressMsg) {
	if msg.String() == "ctrl+r" {
		f.set(f.Default)
		f.touched = true
	} else if f.Line.Key(msg) {
		f.touched = true
	}
}

// formPage is how many fields a page is.
const formPage = 5

func (fm *Form) nextField(by int) {
	fm.Item = max(0, min(fm.Item+by, len(fm.Fields)-1))
}

// applyForm sets what was changed, or goes to the first value that can't be.
// All at once or none: what is wrong keeps the form open.
func (fm *Form) applyForm() tea.Cmd {
	type change struct{ name, value string }
	var changes []change
	var said []string
	for i := range fm.Fields {
		x := &fm.Fields[i]
		value, err := x.read()
		switch {
		case !x.touched:
		case err != nil:
			fm.Item = i
			return nil
		case value != fm.holds(fm.scope(), x.Param):
			changes = append(changes, change{x.Name, value})
			said = append(said, x.Name+" is "+x.Text(value))
		}
	}
	fm.Layers.Drop(screen.Form)
	if len(changes) == 0 {
		return fm.Say("no parameter was changed")
	}
	cell := fm.scope()
	fm.Notice = strings.Join(said, ", ")
	if cell != "" {
		fm.Notice += " for " + cell
	}
	if fm.Book.Running != "" {
		fm.Notice += ", from the next run on"
	}
	return fm.Try(func(s screen.Session) error {
		return errors.Join(steps.Each(changes, func(c change) error { return s.SetParam(cell, c.name, c.value) })...)
	})
}

// Draw is the form as a box.
func (fm *Form) Draw(width, height int) screen.Picture {
	width = min(screen.BoxWidth, width)
	k := fm.Styles
	title := "Parameters"
	if fm.cell.ID != "" {
		title = "Parameters of " + theme.Clean(fm.cell.ID)
	}
	lines := []string{fm.formScope(width), ""}
	// The room of what is said about a field is always the same: else the fields would
	// jump when the cursor moves.
	const wide = 66
	about := 8
	if width >= wide {
		about = 6
	}
	room := max(1, min(len(fm.Fields), height-about-5))
	fm.top = max(0, min(fm.top, fm.Item, len(fm.Fields)-room))
	fm.top = max(fm.top, fm.Item-room+1)
	names := 0
	for _, x := range fm.Fields {
		names = max(names, lipgloss.Width(x.Name))
	}
	for i := fm.top; i < fm.top+room; i++ {
		lines = append(lines, fm.fieldLine(i, min(names, width/2), width))
	}
	position := ""
	if room < len(fm.Fields) {
		position = fmt.Sprintf("%d of %d", fm.Item+1, len(fm.Fields))
	}
	lines = append(lines, theme.Sides("", k.Dim.Render(position), width))
	told := fm.aboutField(&fm.Fields[fm.Item], width)
	lines = append(lines, told[:min(len(told), about)]...)
	for range about - len(told) {
		lines = append(lines, "")
	}
	keys := screen.Hints(k, "   ", "enter", "set", "esc", "leave", "ctrl+r", "default", "↑↓", "move")
	lines = append(lines, "", ansi.Truncate(keys, width, "…"))
	return screen.Picture{Lines: lines, Title: title, Columns: width}
}

// formScope is the line that says for which cells.
func (fm *Form) formScope(width int) string {
	k := fm.Styles
	if fm.cell.ID == "" {
		return ansi.Truncate(k.Dim.Render("for all cells; one that has its own keeps it"), width, "…")
	}
	one := func(text string, on bool) string {
		if on {
			return k.Focus.Render("● " + text)
		}
		return k.Dim.Render("○ " + text)
	}
	return ansi.Truncate("for  "+one("this cell", !fm.all)+"   "+one("all cells", fm.all)+"   "+k.Focus.Render("ctrl+g"),
		width, "…")
}

// fieldLine is a field's name, its value and what that means.
func (fm *Form) fieldLine(i, names, width int) string {
	k, f := fm.Styles, &fm.Fields[i]
	selected := i == fm.Item
	mark, style := "  ", k.Dim
	if selected {
		mark, style = k.Accent.Render("▸ "), k.Focus
	}
	value, err := f.read()
	means, room := "", width/3
	switch {
	case f.touched && err != nil:
		means = k.Fail.Render("✗")
	case err != nil:
	case f.Kind == steps.Size || value == "":
		means = k.Dim.Render(ansi.Truncate(theme.Clean(f.Text(value)), room, "…"))
	default:
		means = k.Dim.Render(ansi.Truncate(theme.Clean(f.Unit), room, "…"))
	}
	left := mark + theme.Pad(style.Render(theme.Clean(f.Name)), names) + "  "
	columns := max(2, width-lipgloss.Width(left)-lipgloss.Width(means)-1)
	text := ""
	switch {
	case selected:
		text = f.Line.View(k, k.Strong, columns)
	case f.touched:
		text = k.Strong.Render(ansi.Truncate(theme.Clean(f.Line.Text()), columns, "…"))
	default:
		text = ansi.Truncate(theme.Clean(f.Line.Text()), columns, "…")
	}
	return theme.Sides(left+text, means, width)
}

// aboutField says what is wrong with a field's value, what it is, and what it can be.
func (fm *Form) aboutField(f *field, width int) (lines []string) {
	k := fm.Styles
	say := func(style theme.Style, text string) {
		lines = append(lines, theme.Wrap(style.Render(theme.Clean(text)), width, "", "")...)
	}
	value, err := f.read()
	switch {
	case err != nil && f.touched:
		// A long value would push out what is wrong with it.
		text := err.Error()
		if why := errors.Unwrap(err); why != nil && len(f.Line.Text()) > width {
			text = f.Name + ": " + why.Error()
		}
		say(k.Fail, "✗ "+text)
	case f.touched && value != f.Line.Text() && value != "":
		say(k.Dim, "the scripts get "+value)
	}
	if first, rest := []rune(f.Does), ""; len(first) > 0 {
		rest = string(first[1:])
		say(theme.Style{}, strings.ToUpper(string(first[:1]))+rest+".")
	}
	say(k.Dim, fmt.Sprintf("By default %s. It is %s.", f.Text(f.Default), f.Allowed()))
	if note := fm.elsewhere(f); note != "" {
		say(k.Dim, note)
	}
	return lines
}

// elsewhere says where a parameter has another value than the one that is edited.
func (fm *Form) elsewhere(f *field) string {
	set := fm.Book.Params
	switch cell := fm.cell.ID; {
	case cell != "" && !fm.all:
		if v := fm.holds("", f.Param); v != f.Default {
			return "For all cells: " + f.Text(v) + "."
		}
	case cell != "":
		if v, ok := set.Cells[cell][f.Name]; ok {
			return "This cell has its own, " + f.Text(v) + ", and keeps it."
		}
	default:
		var own []string
		for _, id := range slices.Sorted(maps.Keys(set.Cells)) {
			if v, ok := set.Cells[id][f.Name]; ok {
				own = append(own, id+" ("+f.Text(v)+")")
			}
		}
		if own != nil {
			return "With its own: " + strings.Join(own, ", ") + "."
		}
	}
	return ""
}

// Paste adds to the selected field, as one line.
func (fm *Form) Paste(text string) tea.Cmd {
	fm.Fields[fm.Item].paste(strings.Join(strings.Fields(text), " "))
	return nil
}
