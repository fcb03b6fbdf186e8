package tui

import (
	"time"

	"charm.land/bubbles/v2/spinner"

	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// shared is what every layer sees of the program: the terminal, the notebook as the session's events have made it, which
// layers are open, the session to ask, and the line that says what a key did. It knows no layer.
type shared struct {
	opts   Options
	book   steps.Notebook
	board  meter.Board
	layers stack

	terminal
	talk
	notices
	looks
	plans map[string]planned // by cell
}

// terminal is what is known of it.
type terminal struct {
	width, height int
	dark          bool
	profile       colorprofile.Profile
	ink           *theme.Ink
	spinner       spinner.Model // the clock that runs while a cell does
	dirty         bool          // the frame is another one now
}

// talk is what the session is asked: one call at a time, never from Update.
type talk struct {
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
	before    string
}

// looks are what the user wants to see of cells and checks, by their ids, and of the screen around them.
type looks struct {
	evidence    map[string]bool
	scripts     map[string]bool
	noParts     bool   // the list of parts is folded away
	noGauges    bool   // they are hidden
	noMouse     bool   // the mouse is the terminal's
	follow      bool   // the selection goes along with the running cell
	changedFile string // a runbook's that has changed on disk
}

func newShared(s Session, opts Options) *shared {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.RigNow == nil {
		opts.RigNow = opts.Now
	}
	return &shared{
		opts: opts,
		book: steps.NewNotebook(opts.Tutorial),
		terminal: terminal{
			profile: colorprofile.TrueColor, dark: opts.Background != Light, dirty: true,
			spinner: spinner.New(spinner.WithSpinner(spinner.Spinner{Frames: spinner.MiniDot.Frames, FPS: beatPace})),
		},
		talk:    talk{session: s, linked: opts.Linked},
		notices: notices{notice: opts.Notice},
		looks:   looks{evidence: map[string]bool{}, scripts: map[string]bool{}},
		plans:   map[string]planned{},
	}
}
