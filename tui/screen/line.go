package screen

import (
	"strings"
	"unicode"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/theme"
)

// A Line is one line of text that is typed: a bubbles/textinput with its cursor, its words and what a terminal pastes,
// but without its own clipboard, which would start programs. The zero value is empty, and is not typed at.
type Line struct {
	in    textinput.Model
	Begun bool
}

// NewLine holds most characters at most.
func NewLine(most int) Line {
	in := textinput.New()
	in.KeyMap.Paste.SetEnabled(false)
	in.CharLimit = most
	in.Focus()
	return Line{in, true}
}

// Key edits by a key, and reports whether the text is another one now.
func (l *Line) Key(msg tea.KeyPressMsg) bool { return l.update(msg) }

// Paste adds a text at the cursor, without what cannot be seen in it.
func (l *Line) Paste(text string) bool {
	return l.update(tea.PasteMsg{Content: strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)})
}

func (l *Line) update(msg tea.Msg) bool {
	if !l.Begun {
		return false
	}
	before := l.in.Value()
	l.in, _ = l.in.Update(msg) // what it would do later is a cursor that blinks
	return l.in.Value() != before
}

// Set replaces the text; the cursor is behind it. A line that was not begun stays empty.
func (l *Line) Set(text string) {
	if !l.Begun {
		return
	}
	l.in.SetValue(text)
	l.in.CursorEnd()
}

// Text is what was typed.
func (l *Line) Text() string {
	if !l.Begun {
		return ""
	}
	return l.in.Value()
}

// FirstLine is what of a pasted text is looked for.
func FirstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	return text
}

// View is the text with its cursor, and as much around it as fits into columns. style is the text's.
func (l *Line) View(k *theme.Styles, style theme.Style, columns int) string {
	text := []rune(l.Text())
	at := min(l.in.Position(), len(text))
	under, rest := " ", ""
	if at < len(text) {
		under, rest = theme.Clean(string(text[at])), theme.Clean(string(text[at+1:]))
	}
	before := theme.Tail(theme.Clean(string(text[:at])), max(0, columns-lipgloss.Width(under)))
	left := columns - lipgloss.Width(before) - lipgloss.Width(under)
	return style.Render(before) + k.Cursor.Render(under) + style.Render(ansi.Truncate(rest, max(0, left), ""))
}

// Fill adds empty lines up to height.
func Fill(lines []string, height, width int) []string {
	lines = lines[:min(len(lines), height)]
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}

// ScrollBar is a column of height glyphs; blank where everything is seen.
func ScrollBar(k *theme.Styles, top, total, height int) []string {
	bar := make([]string, height)
	from, to := 0, 0
	if total > height {
		size := max(1, height*height/total)
		from = (height - size) * top / (total - height)
		to = from + size
	}
	thumb := k.Dim.Render("▐")
	for i := range bar {
		bar[i] = " "
		if i >= from && i < to {
			bar[i] = thumb
		}
	}
	return bar
}
