// Package screen is what every layer of the screen sees, and what a layer is: keys and what they do, a paste, a click,
// the wheel, a picture. Which layer is on top is said here once. What all of them see, such as the notebook as the
// session's events have made it, is in Shared. It knows no layer: those are the packages beside it.
package screen

import (
	"context"
	"strings"
	"time"
	"unicode"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/tui/theme"
)

// AskedMsg says that a call to the session has returned.
type AskedMsg struct{ Err error }

// WroteMsg is what became of writing to a runbook's files, or of serving: a notice.
type WroteMsg string

// A Doc is one page.
type Doc struct {
	Name, About string // About is what is in it, in a line
	Text        string // Markdown
	// Now, if not nil, gives the text whenever the page is opened.
	Now func() string
}

// A Drill is a secret fault, to be found from a user's report.
type Drill struct {
	Fault, Title string
	Report       string   // what a user of the rig says
	Hints        []string // each says more than the one before
}

// Session is what the screen asks for. Its methods are called from commands, one after the other, except Next
// and the channels, which are read at the same time.
type Session interface {
	// Run queues cells in order. A queue stops at the first FAIL.
	Run(ids ...string)
	// Interrupt ends the running cell and empties the queue.
	Interrupt()
	// Clear forgets a cell's output and verdict.
	Clear(id string)
	// Edit puts cells into a part in place of those that it has.
	Edit(part string, cells []steps.Cell)
	// SetParam sets a parameter for a cell's next runs, or for those of all cells where
	// cell is empty. The error says what is allowed.
	SetParam(cell, name, value string) error
	// SetLink chooses the link under test. The error says why it can't be.
	SetLink(l steps.Link) error
	// Trust lets a cell from another user's file run. The error says that the permission will not last.
	Trust(id string) error
	// ResetPeaks resets the gauges' peaks and means.
	ResetPeaks()
	// Next waits for events and gives all there are. It returns false once the
	// session is closed, which is also what ends a wait when the program quits.
	Next(ctx context.Context) ([]steps.Event, bool)
	// Boards has a slot of one, in which the newest replaces the older. A board is
	// sent only when the picture changes. Closed with the session.
	Boards() <-chan meter.Board
	// Questions are for the user. Closed with the session.
	Questions() <-chan steps.Question
}

// Options are what cmd knows and the session doesn't. A function that is nil is one that there is none of; all but
// Docs, those of Clock and Plan.Values are called from commands.
type Options struct {
	Tutorial steps.Tutorial
	Params   []steps.Param   // that the scripts read, in the order of the form
	Book     *steps.Notebook // a session that goes on; nil for a new one
	ReadOnly string          // why nothing can be run here, in a line that stays; empty where it can
	Notice   string          // stands in the footer until the first key
	Drill    Drill           // the zero value for none
	// Learning keeps what was read and run; nil if nothing of that is kept.
	Learning Learning
	// Docs are the pages to read, in the order of their list. It is called when the user opens them.
	Docs func() []Doc
	// Explain says in Markdown what follows from a text that a user pasted: a log, a thread, the output of tools.
	Explain func(text string) string

	Rig          Rig
	Terminal     Terminal
	Clock        Clock
	Presentation Presentation
	Runbook      Runbook
	Saved        Saved
	Plan         Plan
	Programs     Programs
	Viewers      Viewers
}

// Rig is what is known of the nodes before they are looked at.
type Rig struct {
	Name      string // shown while no node has been probed
	Hint      string // how to use one's own rig; on the first screen while simulated
	Simulated bool   // whatever is measured is marked SIMULATED
	Recorded  bool   // what is shown was measured before, and is only played
	Linked    bool   // the link under test was chosen before the screen was there
}

// Terminal is what the terminal can show, and what the user wants of it.
type Terminal struct {
	NoColor    bool // bold, faint and reverse only
	Background Background
	ASCII      bool // it has no Unicode
	Links      bool // it has links (OSC 8)
	// SyncOutput asks the terminal itself whether it can show a frame at once.
	// Bubble Tea 2.0.9 doesn't where SSH_TTY is set, and frames would tear there.
	SyncOutput bool
}

// Background says what the screen's colours are chosen for.
type Background uint8

// The backgrounds. Ask queries the terminal; dark is assumed until it answers.
const (
	Ask Background = iota
	Dark
	Light
)

// Clock is the time.
type Clock struct {
	Now func() time.Time // time.Now where nil
	// Rig is the nodes' time, of which runs are; Now where nil. A simulated rig's may go faster than the wall's. A
	// question's deadline is of Now: a person has as long at any speed.
	Rig func() time.Time
}

// Presentation is the screen for an audience.
type Presentation struct {
	Open   bool          // it is opened at once
	Script script.Script // no slides for none
	Auto   bool          // the script begins, and goes on by itself
	// Pull pulls a cable of the simulated rig, or plugs it in; nil where that takes hands.
	Pull func(out bool) error
	// Report reports the present slide to the presenter's notes in another terminal.
	Tell func(script.Moment) error
	// Mark gets the title of each cell that begins, for the recording.
	Mark func(title string)
}

// Runbook is the file that the tutorial is from; nothing of it where that is railbench's own.
type Runbook struct {
	// Write puts edited scripts back into the files that they are from, and says what it did.
	Write func(parts []steps.Part) (string, error)
	// Changed waits until a file has changed on disk, and names it; empty when the watch has ended.
	Changed func() string
}

// Saved are sessions in files.
type Saved struct {
	// List is those that are saved, the newest first.
	List func() []SessionFile
	// Check says why a session can't be opened here.
	Check func(path string) error
	// Compare gives, in Markdown, what is better and worse in the open session than in another one.
	Compare func(open, path string) (string, error)
	// Elsewhere is a file that the session could be saved in where its own can't be written; empty for none.
	Elsewhere func() string
	// In saves the session in another file, from its beginning.
	In func(path string) error
	// Follow waits until the session that another railbench has open has changed, and gives it; nil when it
	// cannot be followed any more.
	Follow func() *steps.Notebook
}

// Plan is what running a cell would execute in the state of a notebook.
type Plan struct {
	// Text is the scripts as a dry run prints them; empty where nothing would run.
	Text func(steps.Notebook, steps.Cell) string
	// Values are those of Text, for the screen to show; nil where none are known. It reads no file for a cell that
	// changes nothing: Update asks it.
	Values func(steps.Notebook, steps.Cell) []steps.PlannedValues
}

// Programs are the user's own, which have the terminal while they run.
type Programs struct {
	// Editor finds the editor for a text; read gives the text once it has run.
	Editor func(text string) (run tea.ExecCommand, read func() string, err error)
	// Pager is the pager, ready to show a log's file or, where that is empty or gone, a text. The error says which
	// program is missing.
	Pager func(log string, text func() string) (tea.ExecCommand, error)
}

// Viewers are those who look along elsewhere.
type Viewers struct {
	// Audience gets what the screen gets. Its methods must not block.
	Audience Audience
	// Serve begins to show the session in browsers, or ends that, and says where it is shown.
	Serve func() (string, error)
}

// An Audience looks along.
type Audience interface {
	Book(steps.Notebook)
	Board(meter.Board)
}

// Learning keeps what was read and run of the built-in tutorial. It may take a while: it is called from a command.
type Learning interface {
	PartRead(id string) error
	CellRan(id string) error
}

// A SessionFile is a saved session.
type SessionFile struct {
	Path, Name string
	About      string // when it was saved
}

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
