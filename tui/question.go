package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/ink"
)

// queue puts a question behind those that are open.
func (m *Model) queue(q steps.Question) tea.Cmd {
	m.questions = append(m.questions, q)
	m.dirty = true
	return nil
}

// questionKey answers the first question, or types at it.
func (m *Model) questionKey(msg tea.KeyPressMsg) tea.Cmd {
	q := m.questions[0]
	name := msg.String()
	if name == "esc" || name == "ctrl+c" {
		return m.answer("", false)
	}
	if q.Secret == nil {
		switch name {
		case "y", "Y":
			return m.answer("yes", true)
		case "n", "N":
			return m.answer("no", true)
		}
		return nil
	}
	switch {
	case name == "enter":
		return m.answer(string(m.secret), true)
	case name == "backspace":
		if n := len(m.secret); n > 0 {
			m.secret[n-1] = 0
			m.secret = m.secret[:n-1]
		}
	case name == "ctrl+u":
		m.forget()
	case msg.Text != "":
		m.typed(msg.Text)
	}
	return nil
}

// What is typed is kept in runes of our own and not in a bubbles/textinput, which
// can't wipe its value and leaves copies behind as it grows; and whose clipboard
// looks for programs on the path at start and runs one of them.

// maxSecret bounds what a paste can bring.
const maxSecret = 4096

func (m *Model) typed(text string) {
	if m.secret == nil {
		m.secret = make([]rune, 0, maxSecret) // growing would leave a copy behind
	}
	for _, r := range text {
		if len(m.secret) < maxSecret {
			m.secret = append(m.secret, r)
		}
	}
}

// paste is for secrets: everything else is a key.
func (m *Model) paste(text string) tea.Cmd {
	if len(m.questions) > 0 && m.questions[0].Secret != nil {
		// A copied password often has the line's end with it.
		m.typed(strings.TrimRight(text, "\r\n"))
		m.dirty = true
	}
	return nil
}

// answer takes the first question away and answers it.
func (m *Model) answer(text string, ok bool) tea.Cmd {
	q := m.questions[0]
	m.questions = m.questions[1:]
	m.forget()
	return answer(q, text, ok)
}

func (m *Model) forget() {
	clear(m.secret[:cap(m.secret)])
	m.secret = m.secret[:0]
}

// questionBox is the first question as a box.
func (m *Model) questionBox(width int) (title string, lines []string) {
	q := m.questions[0]
	k := m.ink
	say := func(s string) { lines = append(lines, ink.Wrap(s, width, "", "")...) }
	fact := func(name, value string) {
		lines = append(lines, ink.Wrap(k.Strong.Render(ink.Clean(value)), width, k.Dim.Render(ink.Pad(name, 13)), strings.Repeat(" ", 13))...)
	}
	keys := func(pairs ...string) {
		var all []string
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, k.Focus.Render(pairs[i])+" "+pairs[i+1])
		}
		lines = append(lines, "", ansi.Truncate(strings.Join(all, "    "), width, "…"))
	}
	switch {
	case q.HostKey != nil:
		title = "Is this the right host?"
		say("No known_hosts file knows its key. Compare the fingerprint with one that you have from the host itself.")
		lines = append(lines, "")
		fact("node", q.HostKey.Node)
		fact("address", q.HostKey.Address)
		fact("key", q.HostKey.KeyType)
		fact("fingerprint", q.HostKey.Fingerprint)
		fact("kept in", q.HostKey.File)
		keys("y", "trust it and keep it", "n, esc", "refuse")
	case q.Secret != nil:
		title = ink.Clean(q.Secret.What)
		if q.Secret.Again {
			lines = append(lines, k.Warn.Render("The last one was wrong."), "")
		}
		fact("node", q.Secret.Node)
		if q.Secret.For != q.Secret.Node {
			fact("for", q.Secret.For)
		}
		lines = append(lines, "", k.Dim.Render("> ")+ansi.Truncate(strings.Repeat("•", len(m.secret)), max(1, width-4), "…")+k.Cursor.Render(" "))
		lines = append(lines, "")
		if q.Secret.What == "passphrase" {
			say("Used on this machine only, and kept in memory: never in a file, a log or an argument.")
			keys("enter", "unlock", "esc", "decline")
		} else {
			say("Kept in memory only, and sent on a stream: never in a file, a log or an argument.")
			keys("enter", "send", "esc", "decline")
		}
	default:
		title = "A question"
		keys("y", "yes", "n", "no", "esc", "decline")
	}
	if n := len(m.questions) - 1; n > 0 {
		lines = append(lines, k.Dim.Render("then "+plural(n, "more question")))
	}
	return title, lines
}
