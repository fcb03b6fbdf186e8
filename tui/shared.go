package tui

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
	"github.com/railbench/railbench/tui/theme"
)

// shared is what every layer sees of the program: the terminal, the notebook as the session's events have made it,
// which layers are open, the session to ask, and the line that says what a key did. It knows no layer.
type shared struct {
	opts     Options
	book     steps.Notebook
	snapshot meter.Board // of the gauges
	layers   stack

	terminal
	sessionCalls
	notices
	viewSettings
	plans map[string]planned // by cell
}

// terminal is what is known of it.
type terminal struct {
	width, height int
	dark          bool
	profile       colorprofile.Profile
	styles        *theme.Styles
	spinner       spinner.Model // the clock that runs while a cell does
	dirty         bool          // the frame is another one now
}

// sessionCalls are what the session is asked: one call at a time, never from Update.
type sessionCalls struct {
	session     Session
	asks        []func(Session) error
	asking      bool
	interrupted steps.RunID // the run that ctrl+c or i was for
	linked      bool        // the link under test was chosen; see link.go
	// chooseLink asks for the link under test, and runs cells then.
	chooseLink func(then []string)
}

// notices are what is said of the last key, and the key before it, where two of them mean something.
type notices struct {
	notice    string // stands in the footer until the next key
	runNotice string // the notice that ends with the run that it is about; empty where none is shown
	keyBefore string
}

// viewSettings are what the user wants to see of cells and checks, by their ids, and of the screen around them.
type viewSettings struct {
	evidence   map[string]int // presses of its key
	scripts    map[string]bool
	noParts    bool      // the list of parts is folded away
	noGauges   bool      // they are hidden
	foldGauges bool      // they are one line: nothing moves
	movedAt    time.Time // when something last did

	askedAt     time.Time     // since when questions wait; zero where none does
	waited      time.Duration // how long they have waited in the running cell
	noMouse     bool          // the mouse is the terminal's
	follow      bool          // the selection goes along with the running cell
	changedFile string        // a runbook's that has changed on disk
}

func newShared(s Session, opts Options) *shared {
	if opts.Clock.Now == nil {
		opts.Clock.Now = time.Now
	}
	if opts.Clock.Rig == nil {
		opts.Clock.Rig = opts.Clock.Now
	}
	return &shared{
		opts: opts,
		book: steps.NewNotebook(opts.Tutorial),
		terminal: terminal{
			profile: colorprofile.TrueColor, dark: opts.Terminal.Background != Light, dirty: true,
			spinner: spinner.New(spinner.WithSpinner(spinner.Spinner{Frames: spinner.MiniDot.Frames, FPS: spinnerPace})),
		},
		sessionCalls: sessionCalls{session: s, linked: opts.Rig.Linked},
		notices:      notices{notice: opts.Notice},
		viewSettings: viewSettings{evidence: map[string]int{}, scripts: map[string]bool{}},
		plans:        map[string]planned{},
	}
}

// ask calls the session. Commands run side by side, and what a user asked for must
// arrive in order, so there is one at a time.
func (sh *shared) ask(f func(Session)) tea.Cmd {
	return sh.try(func(s Session) error {
		f(s)
		return nil
	})
}

// onlyFollows is said of a key that would change something in a session that another railbench has open: the
// line above the screen says which.
const onlyFollows = "end the other railbench to run here"

// try is ask for a call that can be refused: the error becomes a notice. A follower's session takes no calls.
func (sh *shared) try(f func(Session) error) tea.Cmd {
	if sh.opts.ReadOnly != "" {
		sh.notice = onlyFollows
		return nil
	}
	sh.asks = append(sh.asks, f)
	return sh.nextAsk()
}

func (sh *shared) nextAsk() tea.Cmd {
	if sh.asking || len(sh.asks) == 0 {
		return nil
	}
	f, s := sh.asks[0], sh.session
	sh.asks, sh.asking = sh.asks[1:], true
	return func() tea.Msg {
		return askedMsg{f(s)}
	}
}

// asked is the end of a call to the session.
func (sh *shared) asked(err error) tea.Cmd {
	sh.asking = false
	if err != nil {
		sh.notice, sh.dirty = strings.ReplaceAll(err.Error(), "\n", "; "), true
	}
	return sh.nextAsk()
}

// number is the number of the node at an end. Before a rig is known ends are numbers.
func (sh *shared) number(e steps.End) int { return numberIn(sh.book.Rig, e) }

func numberIn(rig steps.Rig, e steps.End) int {
	if len(rig.Nodes) == 0 {
		return int(e)
	}
	return rig.At(e).No
}

// nodeName is the name of the node with a number.
func (sh *shared) nodeName(no int) string {
	for i, name := range sh.names() {
		if sh.number(steps.End(i)) == no {
			return name
		}
	}
	return steps.End(no).String()
}

// linkable reports whether there is more than one link to choose.
func (sh *shared) linkable() bool { return len(sh.book.Rig.Nodes) > len(steps.Ends) }

// needsLink reports whether one of some cells runs over a link.
func (sh *shared) needsLink(ids []string) bool {
	for _, id := range ids {
		if c, ok := sh.book.Tutorial.Cell(id); ok && c.OverLink() {
			return true
		}
	}
	return false
}

// names are the nodes as the rig calls them, by End.
func (sh *shared) names() []string { return namesIn(sh.book.Rig) }

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

// ranOn are the names for what a cell came to.
func (sh *shared) ranOn(state steps.CellState) []string {
	if !state.Running && !state.Rig.Probed.IsZero() {
		return namesIn(state.Rig)
	}
	return sh.names()
}

// parts are the tutorial's, without the cells that the user has hidden.
func (sh *shared) parts() []steps.Part {
	all := sh.book.Tutorial.Parts
	if !slices.ContainsFunc(all, func(p steps.Part) bool { return hiddenIn(p) > 0 }) {
		return all
	}
	all = slices.Clone(all)
	for i, p := range all {
		all[i].Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c steps.Cell) bool { return c.Hidden })
	}
	return all
}

// hiddenIn counts the hidden cells of a part.
func hiddenIn(p steps.Part) (n int) {
	for _, c := range p.Cells {
		if c.Hidden {
			n++
		}
	}
	return n
}

// viewOf is how a cell or a check is looked at.
func (sh *shared) viewOf(c steps.Cell, selected bool, l layout) cells.View {
	view := cells.View{
		Selected: selected, Queued: slices.Index(sh.book.Queue, c.ID) + 1,
		Evidence: cells.EvidenceLevel(sh.book.Cells[c.ID], cells.NoEvidence, sh.evidence[c.ID]),
		Script:   sh.scripts[c.ID], Keep: l.keep, Simulated: sh.simulated(),
	}
	if view.Script {
		view.Values = sh.valuesOf(c)
	}
	if state := sh.book.Cells[c.ID]; state.Running {
		view.Spinner, view.Elapsed = sh.spinner.View(), sh.since(state.Started)
	}
	return view
}

// leaveList goes back to the notebook, whose selection is about to change.
func (sh *shared) leaveList() {
	sh.layers.drop(checklistLevel, outputLevel, docsLevel, gaugesLevel)
	sh.follow = false
}

// simulated is true as soon as anybody says so. What is simulated is never shown as
// measured.
func (sh *shared) simulated() bool { return sh.opts.Rig.Simulated || sh.book.Rig.Simulated }

func (sh *shared) rigName() string {
	if sh.book.Rig.Name != "" {
		return sh.book.Rig.Name
	}
	return sh.opts.Rig.Name
}

// start queues cells that aren't in the queue yet.
func (sh *shared) start(ids ...string) tea.Cmd {
	waits := map[string]bool{}
	for _, id := range sh.book.Queue {
		waits[id] = true
	}
	var fresh []string
	for _, id := range ids {
		if !waits[id] {
			fresh = append(fresh, id)
		}
	}
	if len(fresh) == 0 {
		sh.notice = "it waits for its turn already"
		return nil
	}
	if sh.linkable() && !sh.linked && sh.needsLink(fresh) {
		sh.chooseLink(fresh)
		sh.notice = "choose the link under test: here ⇄ peer"
		return nil
	}
	if sh.book.Running != "" {
		sh.notice = "queued behind the running cell"
	}
	return sh.ask(func(s Session) { s.Run(fresh...) })
}

// interrupting begins the notice that stands until the cell has ended.
const interrupting = "interrupting …"

// isRunning answers a key that would start what runs already.
const isRunning = "it is running; i i interrupts it"

// noteRun gives a notice that ends with the run.
func (sh *shared) noteRun(text string) { sh.notice, sh.runNotice = text, text }

// interruptTwice interrupts at the second i in a row, as in Jupyter: one alone is typed
// sooner than a cell that ran for minutes is run again.
func (sh *shared) interruptTwice() tea.Cmd {
	if sh.busy() && sh.keyBefore != "i" {
		sh.notice, sh.keyBefore = "i again interrupts, and so does ctrl+c", "i"
		return nil
	}
	sh.keyBefore = ""
	return sh.interrupt()
}

// interrupt notes the run: a second ctrl+c for it asks whether to quit.
func (sh *shared) interrupt() tea.Cmd {
	if !sh.busy() {
		sh.notice = "nothing is running"
		return nil
	}
	sh.interrupted = sh.book.Cells[sh.book.Running].Run
	sh.noteRun(interrupting)
	return sh.ask(Session.Interrupt)
}

func (sh *shared) resetPeaks() tea.Cmd {
	sh.notice = "peaks and averages start again"
	return sh.ask(Session.ResetPeaks)
}

// since is how long the running cell has run: its time stands while the user is asked.
func (sh *shared) since(began time.Time) string {
	now := sh.opts.Clock.Rig()
	if !sh.askedAt.IsZero() {
		now = sh.askedAt
	}
	return cells.Seconds(max(0, now.Sub(began)-sh.waited))
}

func (sh *shared) busy() bool { return sh.book.Running != "" || len(sh.book.Queue) > 0 }
