// Package tui is the workbench's screen: a Bubble Tea program over a session.
//
// A screen is layers, each a type in a file of its own: the notebook, the checklist, an opened output, boxes over
// them. The model gives a message to the layer on top, and puts what they draw into a frame. What all of them see,
// such as the notebook as the session's events have made it, is in shared. Only commands call the session. Styles
// are theme's, the panes are cells', gauges' and presentation's. Nothing here runs a script, reads a file or opens a
// socket.
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
)

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
	quit      *quitBox
	saveAs    *saveAs
	drill     *drill
	questions *questions
	presenter *presenter
	gauges    *gaugesScreen

	links  *links
	saved  *sessions
	copies *copies

	lost    map[int]bool // a connection that was there was lost, by the node's number
	ticking bool         // the spinner's tick is under way
	drawn   time.Time    // when events were drawn last
	pacing  bool         // events came too soon after that, and are drawn with the next frame
	view    tea.View     // as it was drawn last
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
		wasRead: map[string]bool{},
		folded:  map[string]bool{}, whole: map[string]bool{}, notes: map[string]bool{},
	}
	m.finder = &finder{shared: sh, notebook: m.notebook, output: m.output}
	m.editor = &editor{shared: sh, notebook: m.notebook}
	m.edits = &cellEdits{shared: sh, notebook: m.notebook, editor: m.editor}
	m.editor.edits = m.edits
	m.notebook.finder, m.notebook.editor, m.output.clickPart = m.finder, m.editor, m.notebook.clickPart
	m.list = &checklist{shared: sh, notebook: m.notebook, output: m.output, form: m.form}
	m.drill = &drill{shared: sh, list: m.list, began: opts.Clock.Now()}
	m.list.drill = m.drill
	m.docs = &docs{shared: sh, list: m.list}
	m.notebook.docs = m.docs
	m.palette = &palette{shared: sh, choices: m.choices}
	m.chooseLink = m.palette.chooseLinkFor
	m.links = &links{shared: sh, palette: m.palette}
	m.saved = &sessions{shared: sh, docs: m.docs}
	m.copies = &copies{shared: sh, current: m.current}
	m.help = &help{shared: sh, page: newHelpPage(), chapters: m.chapters, openPalette: m.openPalette}
	m.saveAs = &saveAs{shared: sh}
	m.quit = &quitBox{shared: sh, saveAs: m.saveAs}
	m.questions = &questions{shared: sh}
	m.presenter = &presenter{shared: sh, foot: m.foot, progress: progress{slide: -1, tick: tea.Tick}}
	m.gauges = &gaugesScreen{shared: sh, notebook: m.notebook}
	m.bind()
	m.all = [levels]layer{
		notebookLevel: m.notebook, wordsLevel: m.finder, checklistLevel: m.list, symptomLevel: &symptomLine{m.list},
		outputLevel: m.output, searchLevel: &searchLine{m.output}, gaugesLevel: m.gauges,
		presentationLevel: m.presenter, docsLevel: m.docs,
		docsFindLevel: &docsFind{m.docs}, editorLevel: m.editor, formLevel: m.form,
		paletteLevel: m.palette, helpLevel: m.help, quitLevel: m.quit, saveAsLevel: m.saveAs, drillLevel: m.drill,
		smallLevel: &tooSmall{shared: sh, quit: m.quit}, questionLevel: m.questions,
	}
	if opts.Book != nil {
		m.book = *opts.Book
		m.book.Connections, m.book.Saved = nil, steps.Saved{}
	}
	if opts.Viewers.Audience != nil {
		opts.Viewers.Audience.Book(m.book)
	}
	if opts.Drill.Fault != "" {
		m.layers.push(checklistLevel)
	}
	if opts.Presentation.Open {
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
	cmds := []tea.Cmd{waitEvents(m.session), waitSnapshot(m.session.Boards()), waitQuestion(m.session.Questions())}
	if m.opts.Terminal.Background == Ask && !m.opts.Terminal.NoColor {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	cmds = append(cmds, waitFollow(m.opts.Saved.Follow), waitChanged(m.opts.Runbook.Changed))
	if m.opts.Presentation.Auto {
		cmds = append(cmds, m.presenter.autoplay())
	}
	if m.opts.Terminal.SyncOutput {
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
			name := m.styles.Strong
			if b.rank == 0 {
				name = m.styles.Focus
			}
			shown = append(shown, name.Render(b.foot.Key)+" "+m.styles.Dim.Render(b.foot.Desc))
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
			m.list.showAll()
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
