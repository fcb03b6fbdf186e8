package tui

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
	"github.com/railbench/railbench/tui/theme"
)

// The form sets the parameters of a cell, over the screen.

// form is what is typed at it; the notebook has what is set.
type form struct {
	cell   steps.Cell // the zero value on an introduction
	all    bool       // what is typed is for all cells
	fields []field
	item   int
	top    int // first field that is shown
}

// A field is one parameter's line.
type field struct {
	steps.Param
	line    line
	touched bool
}

// maxField bounds what a paste can bring: no path is longer.
const maxField = 4096

// set fills a field with what is in effect, which is no edit.
func (f *field) set(text string) { f.line.set(text) }

func (f *field) paste(text string) {
	f.line.paste(text)
	f.touched = true
}

// read is the value as the scripts would get it.
func (f *field) read() (string, error) { return f.Parse(f.line.text()) }

// openForm opens the form of the selected cell, or on an introduction of all.
func (m *Model) openForm() tea.Cmd {
	c, _ := m.selected()
	return m.openFormOf(c)
}

// openCheckForm opens the form of the selected check, or of what puts right what it
// finds where the check itself reads nothing.
func (m *Model) openCheckForm() tea.Cmd {
	c, ok := m.check()
	if !ok {
		return nil
	}
	if f, has := m.book.Tutorial.Cell(c.Check.Fix); has && !m.readsAny(c) && m.readsAny(f) {
		c = f
	}
	return m.openFormOf(c)
}

func (m *Model) readsAny(c steps.Cell) bool { return slices.ContainsFunc(m.opts.Params, c.Reads) }

// openFormOf asks for what a cell reads; of a cell without an id, a part's introduction,
// for all there is.
func (m *Model) openFormOf(c steps.Cell) tea.Cmd {
	if m.opts.ReadOnly != "" {
		m.notice = onlyFollows
		return nil
	}
	f := &form{cell: c, all: c.ID == ""}
	for _, p := range m.opts.Params {
		if f.all || c.Reads(p) {
			f.fields = append(f.fields, field{Param: p, line: newLine(maxField)})
		}
	}
	if len(f.fields) == 0 {
		m.notice = "no parameter changes this cell; p on a part's introduction shows all"
		return nil
	}
	m.form = f
	m.layers.push(formLevel)
	m.fillForm()
	return nil
}

// scope is the cell that values are set for, empty for all.
func (f *form) scope() string {
	if f.all {
		return ""
	}
	return f.cell.ID
}

// holds is the value that a parameter has for a cell, or for all where it is empty.
func (m *Model) holds(cell string, p steps.Param) string {
	if v, ok := m.book.Params.Get(cell, p.Name); ok {
		return v
	}
	return p.Default
}

// fillForm shows what holds in the fields that nobody has touched.
func (m *Model) fillForm() {
	for i := range m.form.fields {
		if f := &m.form.fields[i]; !f.touched {
			f.set(m.holds(m.form.scope(), f.Param))
		}
	}
}

// formKey is a key while the form is open.
func (m *Model) formKey(msg tea.KeyPressMsg) tea.Cmd {
	f := m.form
	switch msg.String() {
	case "esc", "ctrl+c":
		m.layers.drop(formLevel)
	case "enter":
		return m.applyForm()
	case "down", "tab":
		m.nextField(1)
	case "up", "shift+tab":
		m.nextField(-1)
	case "pgdown":
		m.nextField(formPage)
	case "pgup":
		m.nextField(-formPage)
	case "ctrl+g":
		if f.cell.ID != "" {
			f.all = !f.all
			m.fillForm()
		}
	default:
		f.fields[f.item].key(msg)
	}
	return nil
}

// key is a key that edits the value.
func (f *field) key(msg tea.KeyPressMsg) {
	if msg.String() == "ctrl+r" {
		f.set(f.Default)
		f.touched = true
	} else if f.line.key(msg) {
		f.touched = true
	}
}

// formPage is how many fields a page is.
const formPage = 5

func (m *Model) nextField(by int) {
	m.form.item = max(0, min(m.form.item+by, len(m.form.fields)-1))
}

// applyForm sets what was changed, or goes to the first value that can't be.
// All at once or none: what is wrong keeps the form open.
func (m *Model) applyForm() tea.Cmd {
	f := m.form
	type change struct{ name, value string }
	var changes []change
	var said []string
	for i := range f.fields {
		x := &f.fields[i]
		value, err := x.read()
		switch {
		case !x.touched:
		case err != nil:
			f.item = i
			return nil
		case value != m.holds(f.scope(), x.Param):
			changes = append(changes, change{x.Name, value})
			said = append(said, x.Name+" is "+x.Text(value))
		}
	}
	m.layers.drop(formLevel)
	if len(changes) == 0 {
		m.notice = "no parameter was changed"
		return nil
	}
	cell := f.scope()
	m.notice = strings.Join(said, ", ")
	if cell != "" {
		m.notice += " for " + cell
	}
	if m.book.Running != "" {
		m.notice += ", from the next run on"
	}
	return m.try(func(s Session) error {
		var errs []error
		for _, c := range changes {
			errs = append(errs, s.SetParam(cell, c.name, c.value))
		}
		return errors.Join(errs...)
	})
}

// changedParams are the parameters of a cell that are not as they are by default, in
// one line.
func (m *Model) changedParams(c steps.Cell) string {
	if !m.book.Params.Any() && m.reads != c.ID {
		return ""
	}
	var all []string
	for _, p := range m.opts.Params {
		value, set := m.book.Params.Get(c.ID, p.Name)
		switch {
		case !c.Reads(p):
		case m.reads == c.ID && p.Program && (!set || value == p.Default):
			// Who reads a script before he trusts it reads what it calls, too.
			all = append(all, p.Name+"="+p.Text(p.Default))
		case set && value != p.Default:
			all = append(all, fmt.Sprintf("%s=%s (default %s)", p.Name, p.Text(value), p.Text(p.Default)))
		}
	}
	return theme.Clean(strings.Join(all, "  "))
}

// formBox is the form as lines of a box.
func (m *Model) formBox(width, height int) (title string, lines []string) {
	f, k := m.form, m.ink
	title = "Parameters"
	if f.cell.ID != "" {
		title = "Parameters of " + theme.Clean(f.cell.ID)
	}
	lines = append(lines, m.formScope(width), "")
	// The room of what is said about a field is always the same: else the fields would
	// jump when the cursor moves.
	const wide = 66
	about := 8
	if width >= wide {
		about = 6
	}
	room := max(1, min(len(f.fields), height-about-5))
	f.top = max(0, min(f.top, f.item, len(f.fields)-room))
	f.top = max(f.top, f.item-room+1)
	names := 0
	for _, x := range f.fields {
		names = max(names, lipgloss.Width(x.Name))
	}
	for i := f.top; i < f.top+room; i++ {
		lines = append(lines, m.fieldLine(i, min(names, width/2), width))
	}
	position := ""
	if room < len(f.fields) {
		position = fmt.Sprintf("%d of %d", f.item+1, len(f.fields))
	}
	lines = append(lines, theme.Sides("", k.Dim.Render(position), width))
	told := m.aboutField(&f.fields[f.item], width)
	lines = append(lines, told[:min(len(told), about)]...)
	for range about - len(told) {
		lines = append(lines, "")
	}
	keys := []string{"enter", "set", "esc", "leave", "ctrl+r", "default", "↑↓", "move"}
	var all []string
	for i := 0; i < len(keys); i += 2 {
		all = append(all, k.Focus.Render(keys[i])+" "+keys[i+1])
	}
	return title, append(lines, "", ansi.Truncate(strings.Join(all, "   "), width, "…"))
}

// formScope is the line that says for which cells.
func (m *Model) formScope(width int) string {
	f, k := m.form, m.ink
	if f.cell.ID == "" {
		return ansi.Truncate(k.Dim.Render("for all cells; one that has its own keeps it"), width, "…")
	}
	one := func(text string, on bool) string {
		if on {
			return k.Focus.Render("● " + text)
		}
		return k.Dim.Render("○ " + text)
	}
	return ansi.Truncate("for  "+one("this cell", !f.all)+"   "+one("all cells", f.all)+"   "+k.Focus.Render("ctrl+g"),
		width, "…")
}

// fieldLine is a field's name, its value and what that means.
func (m *Model) fieldLine(i, names, width int) string {
	k, f := m.ink, &m.form.fields[i]
	selected := i == m.form.item
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
		text = f.line.view(k, k.Strong, columns)
	case f.touched:
		text = k.Strong.Render(ansi.Truncate(theme.Clean(f.line.text()), columns, "…"))
	default:
		text = ansi.Truncate(theme.Clean(f.line.text()), columns, "…")
	}
	return theme.Sides(left+text, means, width)
}

// aboutField says what is wrong with a field's value, what it is, and what it can be.
func (m *Model) aboutField(f *field, width int) (lines []string) {
	k := m.ink
	say := func(style theme.Style, text string) {
		lines = append(lines, theme.Wrap(style.Render(theme.Clean(text)), width, "", "")...)
	}
	value, err := f.read()
	switch {
	case err != nil && f.touched:
		// A long value would push out what is wrong with it.
		text := err.Error()
		if why := errors.Unwrap(err); why != nil && len(f.line.text()) > width {
			text = f.Name + ": " + why.Error()
		}
		say(k.Fail, "✗ "+text)
	case f.touched && value != f.line.text() && value != "":
		say(k.Dim, "the scripts get "+value)
	}
	if first, rest := []rune(f.Does), ""; len(first) > 0 {
		rest = string(first[1:])
		say(theme.Style{}, strings.ToUpper(string(first[:1]))+rest+".")
	}
	say(k.Dim, fmt.Sprintf("By default %s. It is %s.", f.Text(f.Default), f.Allowed()))
	if note := m.elsewhere(f); note != "" {
		say(k.Dim, note)
	}
	return lines
}

// elsewhere says where a parameter has another value than the one that is edited.
func (m *Model) elsewhere(f *field) string {
	set := m.book.Params
	switch cell := m.form.cell.ID; {
	case cell != "" && !m.form.all:
		if v := m.holds("", f.Param); v != f.Default {
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
