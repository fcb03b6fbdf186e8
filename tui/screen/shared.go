package screen

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/gauges"
	"github.com/railbench/railbench/tui/theme"
)

// A Planned is what was planned last for a cell.
type Planned struct {
	version int
	values  []steps.PlannedValues
}

// spinnerPace moves the spinner and the running cell's time.
const spinnerPace = 100 * time.Millisecond

// OpenFor is how long the gauges stay open after something moved: long enough to read what its rate was.
const OpenFor = 20 * time.Second

// Moves notes when something last moved. The gauges are one line while nothing does.
func (sh *Shared) Moves() {
	late := false // samples that came, and come no more
	for _, g := range sh.Snapshot.Gauges {
		if gauges.Moves(g) {
			sh.movedAt = sh.Opts.Clock.Now()
		}
		late = late || g.Stale != "" && !g.Since.IsZero()
	}
	sh.foldGauges = !late && (sh.movedAt.IsZero() || sh.Opts.Clock.Now().Sub(sh.movedAt) > OpenFor)
}

// CloseGauges leaves the strip: esc goes back one step and hides nothing.
func (sh *Shared) CloseGauges() tea.Cmd {
	sh.Layers.Drop(Gauges)
	return nil
}

// Pane is the gauges in so much room; as cards where they have the screen.
func (sh *Shared) Pane(width, height int, cards bool) gauges.Pane {
	// Who has rails will have gauges: of many nodes the first snapshot takes a moment.
	has := slices.ContainsFunc(sh.Book.Rig.Nodes, func(n steps.Node) bool { return len(n.Rails) > 0 })
	return gauges.Pane{
		Width: width, Height: height, Simulated: sh.Simulated(),
		Names: sh.Names(), Looked: !has && !sh.Book.Rig.Probed.IsZero(), Cards: cards,
		Folded: !cards && sh.foldGauges && len(sh.Snapshot.Gauges) > 0,
	}
}

// Learn keeps part of what was read and run. If it can't be kept, that is said once.
func (sh *Shared) Learn(keep func(Learning) error) tea.Cmd {
	l := sh.Opts.Learning
	if l == nil || sh.Opts.ReadOnly != "" {
		return nil
	}
	return func() tea.Msg {
		if err := keep(l); err != nil {
			return WroteMsg(err.Error())
		}
		return nil
	}
}

// Unsaved reports whether results would be lost by quitting.
func (sh *Shared) Unsaved() bool {
	return sh.Opts.ReadOnly == "" && sh.Book.Saved.Why != "" && !sh.Book.Saved.Kept
}

// Shared is what every layer sees of the program: the terminal, the notebook as the session's events have made it,
// which layers are open, the session to ask, and the line that says what a key did. It knows no layer.
type Shared struct {
	Opts     Options
	Book     steps.Notebook
	Snapshot meter.Board // of the gauges
	Layers   stack

	terminal
	sessionCalls
	notices
	viewSettings
	Plans map[string]Planned // by cell
}

// terminal is what is known of it.
type terminal struct {
	Width, Height int
	Dark          bool
	Profile       colorprofile.Profile
	Styles        *theme.Styles
	Spinner       spinner.Model // the clock that runs while a cell does
	Dirty         bool          // the frame is another one now
}

// sessionCalls are what the session is asked: one call at a time, never from Update.
type sessionCalls struct {
	Session     Session
	asks        []func(Session) error
	Asking      bool
	Interrupted steps.RunID // the run that ctrl+c or i was for
	Linked      bool        // the link under test was chosen; see link.go
	// ChooseLink asks for the link under test, and runs cells then.
	ChooseLink func(then []string)
}

// notices are what is said of the last key, and the key before it, where two of them mean something.
type notices struct {
	Notice    string // stands in the footer until the next key
	RunNotice string // the notice that ends with the run that it is about; empty where none is shown
	KeyBefore string
}

// viewSettings are what the user wants to see of cells and checks, by their ids, and of the screen around them.
type viewSettings struct {
	Evidence   map[string]int // presses of its key
	Scripts    map[string]bool
	NoParts    bool      // the list of parts is folded away
	NoGauges   bool      // they are hidden
	foldGauges bool      // they are one line: nothing moves
	movedAt    time.Time // when something last did

	AskedAt     time.Time     // since when questions wait; zero where none does
	Waited      time.Duration // how long they have waited in the running cell
	NoMouse     bool          // the mouse is the terminal's
	Follow      bool          // the selection goes along with the running cell
	ChangedFile string        // a runbook's that has changed on disk
}

// New is shared by the layers of a screen.
func New(s Session, opts Options) *Shared {
	if opts.Clock.Now == nil {
		opts.Clock.Now = time.Now
	}
	if opts.Clock.Rig == nil {
		opts.Clock.Rig = opts.Clock.Now
	}
	return &Shared{
		Opts: opts,
		Book: steps.NewNotebook(opts.Tutorial),
		terminal: terminal{
			Profile: colorprofile.TrueColor, Dark: opts.Terminal.Background != Light, Dirty: true,
			Spinner: spinner.New(spinner.WithSpinner(spinner.Spinner{Frames: spinner.MiniDot.Frames, FPS: spinnerPace})),
		},
		sessionCalls: sessionCalls{Session: s, Linked: opts.Rig.Linked},
		notices:      notices{Notice: opts.Notice},
		viewSettings: viewSettings{Evidence: map[string]int{}, Scripts: map[string]bool{}},
		Plans:        map[string]Planned{},
	}
}

// Ask calls the session. Commands run side by side, and what a user asked for must
// arrive in order, so there is one at a time.
func (sh *Shared) Ask(f func(Session)) tea.Cmd {
	return sh.Try(func(s Session) error {
		f(s)
		return nil
	})
}

// OnlyFollows is said of a key that would change something in a session that another railbench has open: the
// line above the screen says which.
const OnlyFollows = "end the other railbench to run here"

// Try is ask for a call that can be refused: the error becomes a notice. A follower's session takes no calls.
func (sh *Shared) Try(f func(Session) error) tea.Cmd {
	if sh.Opts.ReadOnly != "" {
		return sh.Say(OnlyFollows)
	}
	sh.asks = append(sh.asks, f)
	return sh.nextAsk()
}

func (sh *Shared) nextAsk() tea.Cmd {
	if sh.Asking || len(sh.asks) == 0 {
		return nil
	}
	f, s := sh.asks[0], sh.Session
	sh.asks, sh.Asking = sh.asks[1:], true
	return func() tea.Msg {
		return AskedMsg{f(s)}
	}
}

// Asked is the end of a call to the session.
func (sh *Shared) Asked(err error) tea.Cmd {
	sh.Asking = false
	if err != nil {
		sh.Notice, sh.Dirty = strings.ReplaceAll(err.Error(), "\n", "; "), true
	}
	return sh.nextAsk()
}

// Number is the number of the node at an end. Before a rig is known ends are numbers.
func (sh *Shared) Number(e steps.End) int { return numberIn(sh.Book.Rig, e) }

func numberIn(rig steps.Rig, e steps.End) int {
	if len(rig.Nodes) == 0 {
		return int(e)
	}
	return rig.At(e).No
}

// NodeName is the name of the node with a number.
func (sh *Shared) NodeName(no int) string {
	for i, name := range sh.Names() {
		if sh.Number(steps.End(i)) == no {
			return name
		}
	}
	return steps.End(no).String()
}

// Linkable reports whether there is more than one link to choose.
func (sh *Shared) Linkable() bool { return len(sh.Book.Rig.Nodes) > len(steps.Ends) }

// needsLink reports whether one of some cells runs over a link.
func (sh *Shared) needsLink(ids []string) bool {
	for _, id := range ids {
		if c, ok := sh.Book.Tutorial.Cell(id); ok && c.OverLink() {
			return true
		}
	}
	return false
}

// Names are the nodes as the rig calls them, by End.
func (sh *Shared) Names() []string { return namesIn(sh.Book.Rig) }

// namesIn are the names of a rig's nodes: a result is shown with those of the rig that it was measured on,
// whichever link is under test now.
func namesIn(rig steps.Rig) []string {
	names := make([]string, max(len(rig.Nodes), len(steps.Ends)))
	for i := range names {
		e := steps.End(i)
		if names[i] = rig.At(e).Name; names[i] == "" {
			names[i] = e.String()
		}
	}
	return names
}

// RanOn are the names for what a cell came to.
func (sh *Shared) RanOn(state steps.CellState) []string {
	if !state.Running && !state.Rig.Probed.IsZero() {
		return namesIn(state.Rig)
	}
	return sh.Names()
}

// Parts are the tutorial's, without the cells that the user has hidden.
func (sh *Shared) Parts() []steps.Part {
	all := sh.Book.Tutorial.Parts
	if !slices.ContainsFunc(all, func(p steps.Part) bool { return HiddenIn(p) > 0 }) {
		return all
	}
	all = slices.Clone(all)
	for i, p := range all {
		all[i].Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c steps.Cell) bool { return c.Hidden })
	}
	return all
}

// HiddenIn counts the hidden cells of a part.
func HiddenIn(p steps.Part) (n int) {
	for _, c := range p.Cells {
		if c.Hidden {
			n++
		}
	}
	return n
}

// ViewOf is how a cell or a check is looked at.
func (sh *Shared) ViewOf(c steps.Cell, selected bool, l Layout) cells.View {
	view := cells.View{
		Selected: selected, Queued: slices.Index(sh.Book.Queue, c.ID) + 1,
		Evidence: cells.EvidenceLevel(sh.Book.Cells[c.ID], cells.NoEvidence, sh.Evidence[c.ID]),
		Script:   sh.Scripts[c.ID], Keep: l.keep, Simulated: sh.Simulated(),
	}
	if view.Script {
		view.Values = sh.valuesOf(c)
	}
	if state := sh.Book.Cells[c.ID]; state.Running {
		view.Spinner, view.Elapsed = sh.Spinner.View(), sh.Since(state.Started)
	}
	return view
}

// LeaveList goes back to the notebook, whose selection is about to change.
func (sh *Shared) LeaveList() {
	sh.Layers.Drop(Checklist, Output, Docs, Gauges)
	sh.Follow = false
}

// Simulated is true as soon as anybody says so. What is simulated is never shown as
// measured.
func (sh *Shared) Simulated() bool { return sh.Opts.Rig.Simulated || sh.Book.Rig.Simulated }

// RigName is what the rig is called.
func (sh *Shared) RigName() string {
	if sh.Book.Rig.Name != "" {
		return sh.Book.Rig.Name
	}
	return sh.Opts.Rig.Name
}

// Start queues cells that aren't in the queue yet.
func (sh *Shared) Start(ids ...string) tea.Cmd {
	waits := map[string]bool{}
	for _, id := range sh.Book.Queue {
		waits[id] = true
	}
	var fresh []string
	for _, id := range ids {
		if !waits[id] {
			fresh = append(fresh, id)
		}
	}
	if len(fresh) == 0 {
		return sh.Say("it waits for its turn already")
	}
	if sh.Linkable() && !sh.Linked && sh.needsLink(fresh) {
		sh.ChooseLink(fresh)
		return sh.Say("choose the link under test: here ⇄ peer")
	}
	if sh.Book.Running != "" {
		sh.Notice = "queued behind the running cell"
	}
	return sh.Ask(func(s Session) { s.Run(fresh...) })
}

// Interrupting begins the notice that stands until the cell has ended.
const Interrupting = "interrupting …"

// IsRunning answers a key that would start what runs already.
const IsRunning = "it is running; i i interrupts it"

// Say gives a notice, and there is nothing else to do.
func (sh *Shared) Say(text string) tea.Cmd {
	sh.Notice = text
	return nil
}

// NoteRun gives a notice that ends with the run.
func (sh *Shared) NoteRun(text string) tea.Cmd {
	sh.RunNotice = text
	return sh.Say(text)
}

// InterruptTwice interrupts at the second i in a row, as in Jupyter: one alone is typed
// sooner than a cell that ran for minutes is run again.
func (sh *Shared) InterruptTwice() tea.Cmd {
	if sh.Busy() && sh.KeyBefore != "i" {
		sh.Notice, sh.KeyBefore = "i again interrupts, and so does ctrl+c", "i"
		return nil
	}
	sh.KeyBefore = ""
	return sh.Interrupt()
}

// Interrupt notes the run: a second ctrl+c for it asks whether to quit.
func (sh *Shared) Interrupt() tea.Cmd {
	if !sh.Busy() {
		return sh.Say("nothing is running")
	}
	sh.Interrupted = sh.Book.Cells[sh.Book.Running].Run
	sh.NoteRun(Interrupting)
	return sh.Ask(Session.Interrupt)
}

// ResetPeaks begins the gauges' peaks and averages again.
func (sh *Shared) ResetPeaks() tea.Cmd {
	sh.Notice = "peaks and averages start again"
	return sh.Ask(Session.ResetPeaks)
}

// Since is how long the running cell has run: its time stands while the user is asked.
func (sh *Shared) Since(began time.Time) string {
	now := sh.Opts.Clock.Rig()
	if !sh.AskedAt.IsZero() {
		now = sh.AskedAt
	}
	return cells.Seconds(max(0, now.Sub(began)-sh.Waited))
}

// Busy reports whether something runs or waits.
func (sh *Shared) Busy() bool { return sh.Book.Running != "" || len(sh.Book.Queue) > 0 }

// ChooseStyles has the terminal's colours. What was drawn with others is void.
func (sh *Shared) ChooseStyles() {
	profile := sh.Profile
	if sh.Opts.Terminal.NoColor {
		profile = colorprofile.ASCII
	}
	sh.Styles = theme.New(sh.Dark, profile).WithLinks(sh.Opts.Terminal.Links)
	sh.Dirty = true
}
