// Package tui is the workbench's screen: a Bubble Tea program over a session.
//
// A screen is layers, each a type of its own: the notebook, the checklist, an opened output, boxes over them. The model
// gives a message to the layer on top, and puts what they draw into a frame. What a layer is, and what all of them see,
// is screen's. Only commands call the session. Styles are theme's, the panes are cells', gauges' and presentation's.
// Nothing here runs a script, reads a file or opens a socket.
package tui

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/checklist"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/docs"
	"github.com/railbench/railbench/tui/output"
	"github.com/railbench/railbench/tui/presenter"
	"github.com/railbench/railbench/tui/screen"
)

// Model is the state of the screen. It has the layers, gives a message to the one that it is for, and draws what they
// draw into one frame; what they have in common is in shared.
type Model struct {
	*screen.Shared
	all [screen.Levels]screen.Layer // by their level

	notebook  *notebook
	finder    *finder
	list      *checklist.List
	output    *output.Layer
	docs      *docs.Pages
	editor    *editor
	edits     *cellEdits
	form      *dialog.Form
	palette   *dialog.Palette
	help      *dialog.Help
	quit      *dialog.Quit
	saveAs    *dialog.SaveAs
	drill     *checklist.Drill
	questions *dialog.Questions
	presenter *presenter.Screen
	gauges    *gaugesScreen

	links  *dialog.Links
	saved  *sessions
	copies *copies

	lost    map[int]bool // a connection that was there was lost, by the node's number
	ticking bool         // the spinner's tick is under way
	drawn   time.Time    // when events were drawn last
	pacing  bool         // events came too soon after that, and are drawn with the next frame
	view    tea.View     // as it was drawn last
}

// New makes the screen of a session.
func New(s screen.Session, opts screen.Options) *Model {
	sh := screen.New(s, opts)
	opts = sh.Opts
	m := &Model{Shared: sh, lost: map[int]bool{}}
	m.output = &output.Layer{Shared: sh, ClickPart: func(row int, l screen.Layout) { m.notebook.clickPart(row, l) }}
	m.form = &dialog.Form{Shared: sh}
	m.notebook = &notebook{
		Shared: sh, output: m.output, form: m.form, cursors: make([]cursor, max(1, len(opts.Tutorial.Parts))),
		wasRead: map[string]bool{},
		folded:  map[string]bool{}, whole: map[string]bool{}, notes: map[string]bool{},
	}
	m.finder = &finder{Shared: sh, notebook: m.notebook, output: m.output}
	m.editor = &editor{Shared: sh, notebook: m.notebook}
	m.edits = &cellEdits{Shared: sh, notebook: m.notebook, editor: m.editor}
	m.editor.edits = m.edits
	m.notebook.finder, m.notebook.editor = m.finder, m.editor
	m.list = checklist.New(sh, m.notebook, m.output.Open, m.form)
	m.drill = m.list.Drill
	m.docs = docs.New(sh, m.list.Prove)
	m.notebook.docs = m.docs
	m.palette = &dialog.Palette{Shared: sh, Choices: m.choices}
	m.ChooseLink = m.palette.ChooseLink
	m.links = &dialog.Links{Shared: sh, Palette: m.palette}
	m.saved = &sessions{Shared: sh, docs: m.docs}
	m.copies = &copies{Shared: sh, current: m.current}
	m.help = dialog.NewHelp(sh, m.chapters, m.openPalette)
	m.saveAs = &dialog.SaveAs{Shared: sh}
	m.quit = &dialog.Quit{Shared: sh, SaveAs: m.saveAs}
	m.questions = &dialog.Questions{Shared: sh}
	m.presenter = presenter.New(sh, m.foot)
	m.gauges = &gaugesScreen{Shared: sh, notebook: m.notebook}
	m.bind()
	m.all = [screen.Levels]screen.Layer{
		screen.Notebook: m.notebook, screen.Words: m.finder, screen.Checklist: m.list,
		screen.Symptom: &checklist.SymptomLine{List: m.list}, screen.Output: m.output,
		screen.OutputWords: &output.SearchLine{Layer: m.output}, screen.Gauges: m.gauges, screen.Presenting: m.presenter,
		screen.Docs: m.docs, screen.DocsWords: &docs.Find{Pages: m.docs}, screen.Editor: m.editor, screen.Form: m.form,
		screen.Palette: m.palette, screen.Help: m.help, screen.Quit: m.quit, screen.SaveAs: m.saveAs,
		screen.DrillEnd: m.drill, screen.TooSmall: &dialog.TooSmall{Shared: sh, Quit: m.quit},
		screen.Question: m.questions,
	}
	if opts.Book != nil {
		m.Book = *opts.Book
		m.Book.Connections, m.Book.Saved = nil, steps.Saved{}
	}
	if opts.Viewers.Audience != nil {
		opts.Viewers.Audience.Book(m.Book)
	}
	if opts.Drill.Fault != "" {
		m.Layers.Push(screen.Checklist)
	}
	if opts.Presentation.Open {
		m.Layers.Push(screen.Presenting)
	}
	if opts.ReadOnly != "" {
		m.NoGauges = true // what the rails carry is in no file
	}
	m.restyle()
	return m
}

// Init starts the waits for events, boards and questions.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{waitEvents(m.Session), waitSnapshot(m.Session.Boards()), waitQuestion(m.Session.Questions())}
	if m.Opts.Terminal.Background == screen.Ask && !m.Opts.Terminal.NoColor {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	cmds = append(cmds, waitFollow(m.Opts.Saved.Follow), waitChanged(m.Opts.Runbook.Changed))
	if m.Opts.Presentation.Auto {
		cmds = append(cmds, m.presenter.Autoplay())
	}
	if m.Opts.Terminal.SyncOutput {
		cmds = append(cmds, askSyncOutput())
	}
	return tea.Batch(cmds...)
}

// footer is the line of keys, as many as fit.
func (m *Model) footer(width int) string {
	if m.Layers.Top().Boxed() { // it has the keys, and says which
		return ""
	}
	var bs []screen.Binding
	for _, c := range m.chapters() {
		for _, b := range c.Bindings {
			if b.Foot.Key == "" || b.Acts && m.Opts.ReadOnly != "" || b.When != nil && !b.When() {
				continue
			}
			if b.Does != nil {
				b.Foot.Desc = b.Does()
			}
			bs = append(bs, b)
		}
	}
	// The order on the screen is the keymap's; what is left out goes by rank.
	byRank := slices.Clone(bs)
	slices.SortStableFunc(byRank, func(a, b screen.Binding) int { return a.Rank - b.Rank })
	const gap = "  "
	fits, room := map[key.Help]bool{}, width-1+len(gap)
	for _, b := range byRank {
		if w := lipgloss.Width(b.Foot.Key+" "+b.Foot.Desc) + len(gap); w <= room {
			fits[b.Foot] = true
			room -= w
		}
	}
	var shown []string
	for _, b := range bs {
		if fits[b.Foot] {
			name := m.Styles.Strong
			if b.Rank == 0 {
				name = m.Styles.Focus
			}
			shown = append(shown, name.Render(b.Foot.Key)+" "+m.Styles.Dim.Render(b.Foot.Desc))
		}
	}
	return " " + strings.Join(shown, gap)
}

func (m *Model) openPalette() tea.Cmd {
	m.palette.Open()
	m.docs.Load()
	return m.saved.listSessions()
}

// choices are all that there are on this screen.
func (m *Model) choices() []dialog.Choice {
	if m.palette.Links {
		return m.links.Choices()
	}
	var all []dialog.Choice
	for _, c := range m.chapters() {
		for _, b := range c.Bindings {
			if b.Act != nil && (b.When == nil || b.When()) {
				all = append(all, dialog.Choice{Kind: "do", Name: b.Help().Desc, Key: b.Help().Key, Act: b.Act})
			}
		}
	}
	for i, p := range m.Parts() {
		all = append(all, dialog.Choice{Kind: "part", Name: p.Title, Act: func() tea.Cmd {
			m.LeaveList()
			return m.notebook.goToPart(i)
		}})
		for _, c := range p.Cells {
			all = append(all, dialog.Choice{Kind: "cell", Name: c.Title + "  " + c.ID, Act: func() tea.Cmd {
				m.LeaveList()
				m.notebook.Show(c.ID)
				return nil
			}})
		}
	}
	all = append(all, m.links.Choices()...)
	all = append(all, m.saved.sessionChoices()...)
	for i, d := range m.docs.All {
		all = append(all, dialog.Choice{
			Kind: "page", Name: d.Name + "  " + d.About,
			Act: func() tea.Cmd { return m.docs.Open(i) },
		})
	}
	for _, c := range m.Book.Tutorial.Checks() {
		all = append(all, dialog.Choice{Kind: "check", Name: c.Title + "  " + c.ID, Act: func() tea.Cmd {
			m.Layers.Drop(screen.Docs)
			m.list.Open()
			m.list.ShowAll()
			m.list.Choose(c.ID)
			return nil
		}})
	}
	return append(all, m.presenter.Choices()...)
}

// current is the cell that keys are about: that of an opened output, the selected check, or the selected cell.
func (m *Model) current() (steps.Cell, bool) {
	switch {
	case m.Layers.Has(screen.Output):
		return m.Book.Tutorial.Cell(m.output.Cell())
	case m.Layers.Has(screen.Checklist):
		return m.list.Check()
	default:
		return m.notebook.Selected()
	}
}

// DrillUsed is how many checks ran in a drill and how many hints were taken.
func (m *Model) DrillUsed() (checks, hints int) { return m.drill.Used() }

// Score is what is left of a drill's points.
func (m *Model) Score() int { return m.drill.Score() }

// Drilled is how long it took to find a drill's fault; 0 where it was not found.
func (m *Model) Drilled() time.Duration { return m.drill.Found.Round(time.Second) }

// restyle draws everything again with the terminal's styles.
func (m *Model) restyle() {
	m.ChooseStyles()
	m.notebook.cache = cache{}
	m.docs.Restyle()
	m.help.Fit()
	m.editor.dressEditor()
}
