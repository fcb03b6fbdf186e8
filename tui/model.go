// Package tui is the workbench's screen: a Bubble Tea program over a session.
//
// The model holds what the user looks at; what happened is the notebook's, which
// folds the session's events. Update routes messages and starts commands, and only
// commands talk to the session. Colours are ink's, the two panes are
// cells' and gauges'. Nothing here runs a script, reads a file or opens a socket.
package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/show"
)

// Session is what the screen asks for. Its methods are called from commands, one
// after the other, but for Next and the channels, which are waited on beside them.
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
	// Trust lets a cell run that came in somebody else's file. The error says that this
	// will not last.
	Trust(id string) error
	// ResetPeaks starts the gauges' peaks and means anew.
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

// An Audience looks along.
type Audience interface {
	Book(steps.Notebook)
	Board(meter.Board)
}

// Background says what the screen's colours are chosen for.
type Background uint8

// The backgrounds. Ask has the terminal tell; dark is assumed until it does.
const (
	Ask Background = iota
	Dark
	Light
)

// Options are what cmd knows and the session doesn't.
type Options struct {
	Tutorial   steps.Tutorial
	Params     []steps.Param // that the scripts read, in the order of the form
	Linked     bool          // the link under test was chosen before the screen was there
	Simulated  bool          // whatever is measured is marked SIMULATED
	RigName    string        // shown while no node has been probed
	Hint       string        // how to use one's own rig; on the first screen while simulated
	NoColor    bool          // bold, faint and reverse only
	Background Background
	Now        func() time.Time // time.Now where nil
	// RigNow is the nodes' time, of which runs are; Now where nil. A simulated rig's may go
	// faster than the wall's. A question's deadline is of Now: a person has as long at any speed.
	RigNow func() time.Time
	ASCII  bool  // the terminal has no Unicode
	Links  bool  // it has links (OSC 8)
	Drill  Drill // the zero value for none
	// Stage opens the screen for an audience at once.
	Stage bool
	// Show is the script of the show on the stage; no scenes for none.
	Show show.Show
	// Auto begins it, and has it go on by itself.
	Auto bool
	// Pull pulls a cable of the simulated rig, or plugs it in; nil where that takes hands. Called
	// from a command.
	Pull func(out bool) error
	// Tell tells whoever follows the show elsewhere; nil for nobody. Called from a command.
	Tell func(show.Moment) error
	// Mark is told of each cell that begins, by its title; nil for nobody. Called from a command.
	Mark func(title string)
	// Recorded says that what is shown was measured before, and is only played.
	Recorded bool
	// Write puts edited scripts back into the files that they are from, and says what it
	// did. Nil where they are from none.
	Write func(parts []steps.Part) (string, error)
	// Editor finds the user's own editor for a text; read gives the text once it has
	// run. Nil for none.
	Editor   func(text string) (run tea.ExecCommand, read func() string, err error)
	Book     *steps.Notebook // a session that goes on; nil for a new one
	ReadOnly string          // why nothing can be run here, in a line that stays; empty where it can
	// Follow waits until the session has changed that another railbench has open, and gives
	// it; nil once nobody can tell. Nil where there is none to follow. Called from a command.
	Follow func() *steps.Notebook
	// Sessions are those that are saved, the newest first. Called from a command.
	Sessions func() []SessionFile
	// Check says why a session can't be opened here. Called from a command.
	Check func(path string) error
	// Compare tells in Markdown what is better and worse in the session that is open than in
	// another one. Called from a command.
	Compare func(open, path string) (string, error)
	// Changed waits until a runbook's file has changed on disk, and names it; empty once
	// nobody can tell. Nil where there is none. Called from a command.
	Changed func() string
	Notice  string // stands in the footer until the first key
	// Planned is what running a cell would execute in the state of a notebook, as a dry
	// run prints it; empty where nothing would run. Called from a command.
	Planned func(steps.Notebook, steps.Cell) string
	// Values are those of what Planned prints, for the screen to show; nil where none are known. It reads no file for a
	// cell that changes nothing, so that a frame may ask it.
	Values func(steps.Notebook, steps.Cell) []steps.PlannedValues
	// Pager is the user's pager, ready to show a log's file or, where that is empty or
	// gone, a text. The error says which program is missing. Called from a command.
	Pager func(log string, text func() string) (tea.ExecCommand, error)
	// Docs are the pages to read, in the order of their list; asked for when somebody
	// wants to read. Nil for none.
	Docs func() []Doc
	// Audience is told what the screen is told; nil for nobody. Its methods wait for nobody.
	Audience Audience
	// Serve begins to show the session in browsers, or ends that, and says where it is
	// shown. Called from a command; nil where it can't be.
	Serve func() (string, error)
	// SyncOutput asks the terminal itself whether it can show a frame at once.
	// Bubble Tea 2.0.9 doesn't where SSH_TTY is set, and frames would tear there.
	SyncOutput bool
}

// Model is the state of the screen. It has the layers, gives a message to the one that it is for, and draws what they
// draw into one frame; what they have in common is in shared.
type Model struct {
	*shared
	all [levels]layer // by their level

	notebook  *notebook
	finder    *finder
	list      *checklist
	output    *output
	docs      *docs
	editor    *editor
	edits     *cellEdits
	form      *form
	palette   *palette
	help      *help
	leaving   *leaving
	drill     *drill
	questions *questions
	presenter *presenter
	wide      *wide

	links  *links
	saved  *sessions
	copies *copies

	lost    map[int]bool // a connection that was there was lost, by the node's number
	beating bool         // the spinner's tick is under way
	drawn   time.Time    // when events were drawn last
	pacing  bool         // events came too soon after that, and are drawn with the next frame
	frame   string
}

// New makes the screen of a session.
func New(s Session, opts Options) *Model {
	sh := newShared(s, opts)
	opts = sh.opts
	m := &Model{shared: sh, lost: map[int]bool{}}
	m.output = &output{shared: sh}
	m.form = &form{shared: sh}
	m.notebook = &notebook{
		shared: sh, output: m.output, form: m.form, cursors: make([]cursor, max(1, len(opts.Tutorial.Parts))),
		folded: map[string]bool{}, whole: map[string]bool{}, notes: map[string]bool{},
	}
	m.finder = &finder{shared: sh, notebook: m.notebook, output: m.output}
	m.editor = &editor{shared: sh, notebook: m.notebook}
	m.edits = &cellEdits{shared: sh, notebook: m.notebook, editor: m.editor}
	m.editor.edits = m.edits
	m.notebook.finder, m.notebook.editor, m.output.clickPart = m.finder, m.editor, m.notebook.clickPart
	m.list = &checklist{shared: sh, notebook: m.notebook, output: m.output, form: m.form}
	m.drill = &drill{shared: sh, list: m.list, began: opts.Now()}
	m.list.drill = m.drill
	m.docs = &docs{shared: sh, list: m.list}
	m.palette = &palette{shared: sh, choices: m.choices}
	m.chooseLink = m.palette.chooseLinkFor
	m.links = &links{shared: sh, palette: m.palette}
	m.saved = &sessions{shared: sh, docs: m.docs}
	m.copies = &copies{shared: sh, current: m.current}
	m.help = &help{shared: sh, page: newHelpPage(), chapters: m.chapters, openPalette: m.openPalette}
	m.leaving = &leaving{shared: sh}
	m.questions = &questions{shared: sh}
	m.presenter = &presenter{shared: sh, foot: m.foot, play: showing{scene: -1, tick: tea.Tick}}
	m.wide = &wide{shared: sh, notebook: m.notebook}
	m.bind()
	m.all = [levels]layer{
		notebookLevel: m.notebook, wordsLevel: m.finder, checklistLevel: m.list, symptomLevel: &symptomLine{m.list},
		outputLevel: m.output, searchLevel: &searchLine{m.output}, gaugesLevel: m.wide,
		presentationLevel: m.presenter, docsLevel: m.docs, editorLevel: m.editor, formLevel: m.form,
		paletteLevel: m.palette, helpLevel: m.help, quitLevel: m.leaving, drillLevel: m.drill,
		smallLevel: &small{shared: sh, leaving: m.leaving}, questionLevel: m.questions,
	}
	if opts.Book != nil {
		m.book = *opts.Book
		m.book.Connections, m.book.Saved = nil, steps.Saved{}
	}
	if opts.Audience != nil {
		opts.Audience.Book(m.book)
	}
	if opts.Drill.Fault != "" {
		m.layers.push(checklistLevel)
	}
	if opts.Stage {
		m.layers.push(presentationLevel)
	}
	if opts.ReadOnly != "" {
		m.noGauges = true // what the rails carry is in no file
	}
	m.restyle()
	return m
}

// Init starts the waits for events, boards and questions.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{waitEvents(m.session), waitBoard(m.session.Boards()), waitQuestion(m.session.Questions())}
	if m.opts.Background == Ask && !m.opts.NoColor {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	cmds = append(cmds, waitFollow(m.opts.Follow), waitChanged(m.opts.Changed))
	if m.opts.Auto {
		cmds = append(cmds, m.presenter.showAuto())
	}
	if m.opts.SyncOutput {
		cmds = append(cmds, askSyncOutput())
	}
	return tea.Batch(cmds...)
}

// footer is the line of keys, as many as fit.
func (m *Model) footer(width int) string {
	if m.layers.top().boxed() { // it has the keys, and says which
		return ""
	}
	var bs []binding
	for _, c := range m.chapters() {
		for _, b := range c.bindings {
			if b.foot.Key == "" || b.acts && m.opts.ReadOnly != "" || b.when != nil && !b.when() {
				continue
			}
			if b.does != nil {
				b.foot.Desc = b.does()
			}
			bs = append(bs, b)
		}
	}
	// The order on the screen is the keymap's; what is left out goes by rank.
	byRank := slices.Clone(bs)
	slices.SortStableFunc(byRank, func(a, b binding) int { return a.rank - b.rank })
	const gap = "  "
	fits, room := map[key.Help]bool{}, width-1+len(gap)
	for _, b := range byRank {
		if w := lipgloss.Width(b.foot.Key+" "+b.foot.Desc) + len(gap); w <= room {
			fits[b.foot] = true
			room -= w
		}
	}
	var shown []string
	for _, b := range bs {
		if fits[b.foot] {
			name := m.ink.Strong
			if b.rank == 0 {
				name = m.ink.Focus
			}
			shown = append(shown, name.Render(b.foot.Key)+" "+m.ink.Dim.Render(b.foot.Desc))
		}
	}
	return " " + strings.Join(shown, gap)
}

func (m *Model) openPalette() tea.Cmd {
	m.palette.open()
	m.docs.loadDocs()
	return m.saved.listSessions()
}

// choices are all that there are on this screen.
func (m *Model) choices() []choice {
	if m.palette.links {
		return m.links.linkChoices()
	}
	var all []choice
	for _, c := range m.chapters() {
		for _, b := range c.bindings {
			if b.act != nil && (b.when == nil || b.when()) {
				all = append(all, choice{"do", b.Help().Desc, b.Help().Key, b.act})
			}
		}
	}
	for i, p := range m.parts() {
		all = append(all, choice{"part", p.Title, "", func() tea.Cmd {
			m.leaveList()
			return m.notebook.goToPart(i)
		}})
		for _, c := range p.Cells {
			all = append(all, choice{"cell", c.Title + "  " + c.ID, "", func() tea.Cmd {
				m.leaveList()
				m.notebook.show(c.ID)
				return nil
			}})
		}
	}
	all = append(all, m.links.linkChoices()...)
	all = append(all, m.saved.sessionChoices()...)
	for i, d := range m.docs.all {
		all = append(all, choice{"page", d.Name + "  " + d.About, "", func() tea.Cmd { return m.docs.openDoc(i) }})
	}
	for _, c := range m.book.Tutorial.Checks() {
		all = append(all, choice{"check", c.Title + "  " + c.ID, "", func() tea.Cmd {
			m.layers.drop(docsLevel)
			m.list.openChecklist()
			m.list.words, m.list.only, m.list.why, m.list.whose = "", nil, "", ""
			m.list.chooseCheck(c.ID)
			return nil
		}})
	}
	return append(all, m.presenter.loadChoices()...)
}

// current is the cell that keys are about: that of an opened output, the selected check, or the selected cell.
func (m *Model) current() (steps.Cell, bool) {
	switch {
	case m.layers.has(outputLevel):
		return m.book.Tutorial.Cell(m.output.page.cell)
	case m.layers.has(checklistLevel):
		return m.list.check()
	default:
		return m.notebook.selected()
	}
}
