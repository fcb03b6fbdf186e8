// Package dialog is the boxes over the screen: questions of the nodes and of changes, the form, the palette and what it
// chooses the link under test from, the help, the way out, a file's name. Each is a layer with its own state; what the
// screen below it shows is not known here.
package dialog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// answer gives a question its answer, which Question promises to take once.
func answer(q steps.Question, text string, ok bool) tea.Cmd {
	return func() tea.Msg {
		q.Answer(text, ok)
		return nil
	}
}

// Questions are those that wait for an answer; the first one is asked.
type Questions struct {
	*screen.Shared
	screen.Inert
	All         []steps.Question
	scrolled    int    // lines of the first question that are above its box
	wholeScript bool   // what runs before a change's own commands is shown
	secret      []rune // what is typed; gone with the answer
}

// Queue puts a question behind those that are open.
func (qs *Questions) Queue(q steps.Question) tea.Cmd {
	if qs.All = append(qs.All, q); qs.AskedAt.IsZero() {
		qs.AskedAt = qs.Opts.Clock.Rig()
	}
	qs.Layers.Push(screen.Question)
	qs.Dirty = true
	return nil
}

// Key answers the first question, or types at it.
func (qs *Questions) Key(msg tea.KeyPressMsg) tea.Cmd {
	q := qs.All[0]
	name := msg.String()
	if name == "esc" || name == "ctrl+c" {
		return qs.answer("", false)
	}
	if qs.Layout().Small {
		return nil // it cannot be seen: what is typed is not meant for it
	}
	if q.Secret != nil {
		return qs.typeSecret(msg)
	}
	switch name {
	case "up", "k":
		qs.scrolled--
	case "down", "j":
		qs.scrolled++
	case "pgup":
		qs.scrolled -= qs.Height / 2
	case "pgdown", "space":
		qs.scrolled += qs.Height / 2
	case "y", "Y":
		return qs.answer("yes", true)
	case "n", "N":
		return qs.answer("no", true)
	case "s", "S":
		qs.wholeScript = !qs.wholeScript
	case "home":
		qs.scrolled = 0
	case "end", "G":
		qs.scrolled = math.MaxInt32 // as far as there is text: see window
	}
	return nil
}

// typeSecret types at a secret, or gives it away.
func (qs *Questions) typeSecret(msg tea.KeyPressMsg) tea.Cmd {
	switch name := msg.String(); {
	case name == "enter":
		return qs.answer(string(qs.secret), true)
	case name == "backspace":
		if n := len(qs.secret); n > 0 {
			qs.secret[n-1] = 0
			qs.secret = qs.secret[:n-1]
		}
	case name == "ctrl+u":
		qs.wipe()
	case msg.Text != "":
		qs.typed(msg.Text)
	}
	return nil
}

// What is typed is kept in runes of our own and not in a bubbles/textinput, which
// can't wipe its value and leaves copies behind as it grows; and whose clipboard
// looks for programs on the path at start and runs one of them.

// maxSecret bounds what a paste can bring.
const maxSecret = 4096

func (qs *Questions) typed(text string) {
	if qs.secret == nil {
		qs.secret = make([]rune, 0, maxSecret) // growing would leave a copy behind
	}
	for _, r := range text {
		if len(qs.secret) < maxSecret {
			qs.secret = append(qs.secret, r)
		}
	}
}

// Paste is for a secret; it answers nothing.
func (qs *Questions) Paste(text string) tea.Cmd {
	if qs.All[0].Secret != nil {
		// A copied password often has the line's end with it.
		qs.typed(strings.TrimRight(text, "\r\n"))
	}
	return nil
}

// answer takes the first question away and answers it.
func (qs *Questions) answer(text string, ok bool) tea.Cmd {
	q := qs.All[0]
	qs.scrolled, qs.wholeScript = 0, false
	qs.keep(qs.All[1:])
	qs.wipe()
	return answer(q, text, ok)
}

// keep has those that are still to be answered.
func (qs *Questions) keep(left []steps.Question) {
	if qs.All = left; len(left) > 0 || qs.AskedAt.IsZero() {
		return
	}
	qs.Layers.Drop(screen.Question)
	qs.Waited += qs.Opts.Clock.Rig().Sub(qs.AskedAt)
	qs.AskedAt = time.Time{}
}

func (qs *Questions) wipe() {
	clear(qs.secret[:cap(qs.secret)])
	qs.secret = qs.secret[:0]
}

// Draw is the first question as a box.
func (qs *Questions) Draw(width, height int) screen.Picture {
	width = min(screen.BoxWidth, width)
	title := ""
	q := qs.All[0]
	b := &box{k: qs.Styles, width: width}
	switch {
	case q.HostKey != nil:
		title = b.hostKey(q.HostKey)
	case q.Secret != nil:
		title = b.secret(q.Secret, len(qs.secret))
	case q.Change != nil && q.Change.Keep:
		title = b.keep(q.Change, qs.Opts.Clock.Now())
	case q.Change != nil:
		title = qs.changeBox(b, q.Change, height)
	default:
		title = "A question"
		b.keys("y", "yes", "n", "no", "esc", "decline")
	}
	if n := len(qs.All) - 1; n > 0 {
		b.add(qs.Styles.Dim.Render("then " + steps.Counted(n, "more question")))
	}
	return screen.Picture{Lines: b.lines, Title: title, Columns: width}
}

// A box is a question's lines, as they are put together.
type box struct {
	k     *theme.Styles
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
	b.add("", ansi.Truncate(screen.Hints(b.k, "    ", pairs...), b.width, "…"))
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
		nodes := steps.Each(q.Places, func(p steps.ChangePlace) string { return theme.Clean(p.Node) })
		where = strings.Join(nodes, " and ")
	}
	b.say(q.Title + ": done on " + where + ". " + theme.Clean(q.Found.Grade.String()+": "+q.Found.Reason))
	left := max(0, int(q.Deadline.Sub(now).Seconds())-answerMargin)
	b.add("", b.k.Warn.Render(fmt.Sprintf("%s are rolled back automatically in %d:%02d.", steps.Capital(all),
		left/60, left%60)))
	b.keys("y", "keep it", "n, esc", "roll back now")
	return "Keep the change?"
}

// answerMargin is how many seconds before the deadline a question about keeping a change closes: the answer
// has to reach the nodes.
const answerMargin = 5

// DropOf removes the questions of a cell that has ended.
func (qs *Questions) DropOf(cell string) {
	qs.keep(slices.DeleteFunc(qs.All, func(q steps.Question) bool { return q.Change != nil && q.Change.Cell == cell }))
}

// DropExpired takes away a question whose time is over: the person's, who has as long whatever the
// speed of a simulated rig.
func (qs *Questions) DropExpired() {
	qs.keep(slices.DeleteFunc(qs.All, func(q steps.Question) bool {
		return q.Change != nil && q.Change.Keep && qs.Opts.Clock.Now().After(q.Change.Deadline.Add(-answerMargin*time.Second))
	}))
}
