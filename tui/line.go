package tui

import (
	"strings"
	"unicode"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/theme"
)

// A line is one line of text that is typed: a bubbles/textinput with its cursor, its words and what a terminal pastes,
// but without its own clipboard, which would start programs. The zero value is empty, and is not typed at.
type line struct {
	in    textinput.Model
	begun bool
}

// newLine holds most characters at most.
func newLine(most int) line {
	in := textinput.New()
	in.KeyMap.Paste.SetEnabled(false)
	in.CharLimit = most
	in.Focus()
	return line{in, true}
}

// key edits by a key, and reports whether the text is another one now.
func (l *line) key(msg tea.KeyPressMsg) bool { return l.update(msg) }

// paste adds a text at the cursor, without what cannot be seen in it.
func (l *line) paste(text string) bool {
	return l.update(tea.PasteMsg{Content: strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)})
}

func (l *line) update(msg tea.Msg) bool {
	if !l.begun {
		return false
	}
	before := l.in.Value()
	l.in, _ = l.in.Update(msg) // what it would do later is a cursor that blinks
	return l.in.Value() != before
}

// set replaces the text; the cursor is behind it. A line that was not begun stays empty.
func (l *line) set(text string) {
	if !l.begun {
		return
	}
	l.in.SetValue(text)
	l.in.CursorEnd()
}

func (l *line) text() string {
	if !l.begun {
		return ""
	}
	return l.in.Value()
}

// firstLine is what of a pasted text is looked for.
func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	return text
}

// view is the text with its cursor, and as much around it as fits into columns. style is the text's.
func (l *line) view(k *theme.Styles, style theme.Style, columns int) string {
	text := []rune(l.text())
	at := min(l.in.Position(), len(text))
	under, rest := " ", ""
	if at < len(text) {
		under, rest = theme.Clean(string(text[at])), theme.Clean(string(text[at+1:]))
	}
	before := theme.Tail(theme.Clean(string(text[:at])), max(0, columns-lipgloss.Width(under)))
	left := columns - lipgloss.Width(before) - lipgloss.Width(under)
	return style.Render(before) + k.Cursor.Render(under) + style.Render(ansi.Truncate(rest, max(0, left), ""))
}
