package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// writing reports whether the user is typing: what is typed is no answer to a question that
// comes meanwhile.
func (m *Model) writing() bool {
	return m.editor != nil || m.form != nil || m.palette.open ||
		m.list.typing && m.page == nil || m.page != nil && m.page.search.typing
}

// questioned reports whether a question stands over the screen.
func (m *Model) questioned() bool { return len(m.questions) > 0 && !m.writing() }

// questionKey answers the first question, or types at it.
func (m *Model) questionKey(msg tea.KeyPressMsg) tea.Cmd {
	q := m.questions[0]
	name := msg.String()
	if name == "esc" || name == "ctrl+c" {
		return m.answer("", false)
	}
	if q.Secret == nil {
		switch name {
		case "up", "k":
			m.scrolled--
		case "down", "j":
			m.scrolled++
		case "pgup":
			m.scrolled -= m.height / 2
		case "pgdown", "space":
			m.scrolled += m.height / 2
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

// paste is for secrets, parameters and symptoms: everything else is a key.
func (m *Model) paste(text string) tea.Cmd {
	m.dirty = true
	switch {
	case m.questioned():
		if m.questions[0].Secret != nil {
			// A copied password often has the line's end with it.
			m.typed(strings.TrimRight(text, "\r\n"))
		}
	case m.quitting || m.help || m.docs.open:
	case m.form != nil:
		m.form.fields[m.form.item].typed(strings.Join(strings.Fields(text), " "))
	case m.page != nil && m.page.search.typing:
		m.typeSearch(text)
	case m.editor != nil:
		m.editor.area, _ = m.editor.area.Update(tea.PasteMsg{Content: text})
	case m.list.open && m.page == nil:
		m.pasteSymptom(text)
	}
	return nil
}

// answer takes the first question away and answers it.
func (m *Model) answer(text string, ok bool) tea.Cmd {
	q := m.questions[0]
	m.questions, m.scrolled = m.questions[1:], 0
	m.forget()
	return answer(q, text, ok)
}

func (m *Model) forget() {
	clear(m.secret[:cap(m.secret)])
	m.secret = m.secret[:0]
}

// questionBox is the first question as a box.
func (m *Model) questionBox(width, height int) (title string, lines []string) {
	q := m.questions[0]
	k := m.ink
	say := func(s string) { lines = append(lines, ink.Wrap(s, width, "", "")...) }
	fact := func(name, value string) {
		lines = append(lines, ink.Wrap(k.Strong.Render(ink.Clean(value)),
			width, k.Dim.Render(ink.Pad(name, 13)), strings.Repeat(" ", 13))...)
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
		lines = append(lines, "", k.Dim.Render("> ")+ansi.Truncate(strings.Repeat("•", len(m.secret)),
			max(1, width-4), "…")+k.Cursor.Render(" "))
		lines = append(lines, "")
		if q.Secret.What == "passphrase" {
			say("Used on this machine only, and kept in memory: never in a file, a log or an argument.")
			keys("enter", "unlock", "esc", "decline")
		} else {
			say("Kept in memory only, and sent on a stream: never in a file, a log or an argument.")
			keys("enter", "send", "esc", "decline")
		}
	case q.Change != nil && q.Change.Keep:
		title = "Keep the change?"
		say(q.Change.Title + " is made on both nodes. " +
			ink.Clean(q.Change.Found.Grade.String()+": "+q.Change.Found.Reason))
		left := max(0, int(q.Change.Deadline.Sub(m.opts.Now()).Seconds())-answerMargin)
		lines = append(lines, "",
			k.Warn.Render(fmt.Sprintf("Both nodes go back by themselves in %d:%02d.", left/60, left%60)))
		keys("y", "keep it", "n, esc", "go back now")
	case q.Change != nil:
		title = "Change the network?"
		what := q.Change.Title +
			": as root, on both nodes or on neither. It is looked at afterwards," +
			" and goes back by itself unless you keep it."
		if q.Change.Final {
			title = ink.Clean(q.Change.Title) + "?"
			what = "This is what runs. It changes no network, and can't be taken back."
		}
		say(what)
		lines = append(lines, "")
		for _, p := range q.Change.Places {
			if !q.Change.Final {
				fact(p.Node, strings.Join(p.Set, " "))
			}
		}
		for _, w := range q.Change.Warnings {
			lines = append(lines, ink.Wrap(k.Warn.Render(ink.Clean(w)), width, "", "")...)
		}
		lines = append(lines, "")
		script, more := m.changeScript(q.Change, width, height-len(lines)-5)
		lines = append(lines, script...)
		pairs := []string{"y", "make it", "n, esc", "change nothing"}
		if more {
			pairs = append(pairs, "↑↓", "scroll")
		}
		keys(pairs...)
	default:
		title = "A question"
		keys("y", "yes", "n", "no", "esc", "decline")
	}
	if n := len(m.questions) - 1; n > 0 {
		lines = append(lines, k.Dim.Render("then "+plural(n, "more question")))
	}
	return title, lines
}

// changeScript is the part of what a change runs that fits into a number of lines,
// and whether there is more.
func (m *Model) changeScript(q *steps.ChangeQuestion, width, height int) (lines []string, more bool) {
	var all []string
	for _, p := range q.Places {
		if p.Script == "" {
			continue
		}
		if len(all) > 0 {
			all = append(all, "")
		}
		all = append(all, m.ink.Dim.Render("# on "+ink.Clean(p.Node)))
		for line := range strings.Lines(p.Script) {
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
			all = append(all, ink.Fold(ink.Clean(line), max(8, width))...)
		}
	}
	height = max(3, height)
	m.scrolled = max(0, min(m.scrolled, len(all)-height))
	if more := len(all) - height; more > 0 {
		shown := all[m.scrolled : m.scrolled+height-1]
		return append(slices.Clip(shown),
			m.ink.Dim.Render(fmt.Sprintf("lines %d to %d of %d", m.scrolled+1, m.scrolled+height-1, len(all)))), true
	}
	return all, false
}

// answerMargin is what a question whether to keep a change leaves for telling
// the nodes, in seconds: it is over by then.
const answerMargin = 5

// withdraw takes away the questions of a cell that has ended: nobody waits for
// their answers any more.
func (m *Model) withdraw(cell string) {
	m.questions = slices.DeleteFunc(m.questions,
		func(q steps.Question) bool { return q.Change != nil && q.Change.Cell == cell })
}

// lapse takes away a question whose time is over.
func (m *Model) lapse() {
	m.questions = slices.DeleteFunc(m.questions, func(q steps.Question) bool {
		return q.Change != nil && q.Change.Keep && m.opts.Now().After(q.Change.Deadline.Add(-answerMargin*time.Second))
	})
}
