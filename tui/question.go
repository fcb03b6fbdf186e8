package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
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
		m.list.typing && m.page == nil || m.lookup.typing || m.page != nil && m.page.search.typing
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
	if m.layout().small {
		return nil // it cannot be seen: what is typed is not meant for it
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
		case "s", "S":
			m.plumbing = !m.plumbing
		case "home":
			m.scrolled = 0
		case "end", "G":
			m.scrolled = math.MaxInt32 // as far as there is text: see window
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

// paste is for what is typed; elsewhere it does nothing.
func (m *Model) paste(text string) tea.Cmd {
	m.dirty = true
	line := strings.Join(strings.Fields(text), " ")
	switch m.topLayer() {
	case questionLayer:
		if m.questions[0].Secret != nil {
			// A copied password often has the line's end with it.
			m.typed(strings.TrimRight(text, "\r\n"))
		}
	case paletteLayer:
		if m.palette.line.paste(line) {
			m.palette.item = 0
		}
	case formLayer:
		m.form.fields[m.form.item].paste(line)
	case searchLayer:
		if m.page.search.line.paste(firstLine(text)) {
			m.seek(m.page.search.line.text())
		}
	case wordsLayer:
		if m.lookup.line.paste(firstLine(text)) {
			return m.lookFor(m.lookup.line.text())
		}
	case editorLayer:
		m.editor.area, _ = m.editor.area.Update(tea.PasteMsg{Content: text})
	case checklistLayer, symptomLayer:
		m.pasteSymptom(text)
	case notebookLayer, outputLayer, gaugesLayer, presentationLayer, docsLayer, helpLayer, quitLayer, drillLayer,
		smallLayer:
	}
	return nil
}

// answer takes the first question away and answers it.
func (m *Model) answer(text string, ok bool) tea.Cmd {
	q := m.questions[0]
	m.questions, m.scrolled, m.plumbing = m.questions[1:], 0, false
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
	b := &box{k: m.ink, width: width}
	switch {
	case q.HostKey != nil:
		title = b.hostKey(q.HostKey)
	case q.Secret != nil:
		title = b.secret(q.Secret, len(m.secret))
	case q.Change != nil && q.Change.Keep:
		title = b.keep(q.Change, m.opts.Now())
	case q.Change != nil:
		title = m.changeBox(b, q.Change, height)
	default:
		title = "A question"
		b.keys("y", "yes", "n", "no", "esc", "decline")
	}
	if n := len(m.questions) - 1; n > 0 {
		b.add(m.ink.Dim.Render("then " + plural(n, "more question")))
	}
	return title, b.lines
}

// A box is a question's lines, as they are put together.
type box struct {
	k     *theme.Ink
	width int
	lines []string
}

func (b *box) add(lines ...string) { b.lines = append(b.lines, lines...) }

func (b *box) say(s string) { b.add(theme.Wrap(s, b.width, "", "")...) }

func (b *box) fact(name, value string) {
	b.add(theme.Wrap(b.k.Strong.Render(theme.Clean(value)),
		b.width, b.k.Dim.Render(theme.Pad(name, 13)), strings.Repeat(" ", 13))...)
}

// keys are the answers, a key and what it does in turn.
func (b *box) keys(pairs ...string) {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, b.k.Focus.Render(pairs[i])+" "+pairs[i+1])
	}
	b.add("", ansi.Truncate(strings.Join(all, "    "), b.width, "…"))
}

func (b *box) hostKey(q *steps.HostKeyQuestion) (title string) {
	b.say("No known_hosts file knows its key. Compare the fingerprint with one that you have from the host itself.")
	b.add("")
	b.fact("node", q.Node)
	b.fact("address", q.Address)
	b.fact("key", q.KeyType)
	b.fact("fingerprint", q.Fingerprint)
	b.fact("kept in", q.File)
	b.keys("y", "trust it and keep it", "n, esc", "refuse")
	return "Is this the right host?"
}

// secret shows a dot for each letter that was typed.
func (b *box) secret(q *steps.SecretQuestion, typed int) (title string) {
	if q.Again {
		b.add(b.k.Warn.Render("The last one was wrong."), "")
	}
	b.fact("node", q.Node)
	if q.For != q.Node {
		b.fact("for", q.For)
	}
	dots := ansi.Truncate(strings.Repeat("•", typed), max(1, b.width-4), "…")
	b.add("", b.k.Dim.Render("> ")+dots+b.k.Cursor.Render(" "), "")
	if q.What == "passphrase" {
		b.say("Used on this machine only, and kept in memory: never in a file, a log or an argument.")
		b.keys("enter", "unlock", "esc", "decline")
	} else {
		b.say("Kept in memory only, and sent on a stream: never in a file, a log or an argument.")
		b.keys("enter", "send", "esc", "decline")
	}
	return theme.Clean(q.What)
}

// keep asks about a change that was made. The time that is shown ends before the nodes'
// own: an answer in the last second would come too late there.
func (b *box) keep(q *steps.ChangeQuestion, now time.Time) (title string) {
	all := q.All() // of many nodes the names would leave no room for the answers
	where := all
	if len(q.Places) <= len(steps.Ends) {
		var nodes []string
		for _, p := range q.Places {
			nodes = append(nodes, theme.Clean(p.Node))
		}
		where = strings.Join(nodes, " and ")
	}
	b.say(q.Title + ": done on " + where + ". " + theme.Clean(q.Found.Grade.String()+": "+q.Found.Reason))
	left := max(0, int(q.Deadline.Sub(now).Seconds())-answerMargin)
	b.add("", b.k.Warn.Render(fmt.Sprintf("%s are rolled back automatically in %d:%02d.", strings.ToUpper(all[:1])+all[1:],
		left/60, left%60)))
	b.keys("y", "keep it", "n, esc", "roll back now")
	return "Keep the change?"
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

// lapse takes away a question whose time is over: the person's, who has as long whatever the
// speed of a simulated rig.
func (m *Model) lapse() {
	m.questions = slices.DeleteFunc(m.questions, func(q steps.Question) bool {
		return q.Change != nil && q.Change.Keep && m.opts.Now().After(q.Change.Deadline.Add(-answerMargin*time.Second))
	})
}
