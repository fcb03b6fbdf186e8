package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/asciicast"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/replay"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/trust"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/render"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// An opening is what the workbench is opened with.
type opening struct {
	drill     screen.Drill
	session   string // the file that it is saved in; empty for one in the folder of sessions
	stage     stageOpening
	record    recordFlags
	recording *asciicast.Recording // of what the screen shows; nil where nothing is recorded
	begins    bool                 // no session that was cut off is offered: a user has looked for one
}

// workbench opens the screen. The model is nil where it could not be opened.
func workbench(cmd *cobra.Command, flags rigFlags, o opening) (*tui.Model, error) {
	if terminal(cmd.OutOrStdout()) == nil {
		if _, _, err := flags.tutorial(); err != nil {
			return nil, err // an error in a runbook is reported first
		}
		return nil, usage(needsTerminal(cmd))
	}
	if os.Getenv("TERM") == "dumb" {
		return nil, usage(fmt.Errorf("%w (TERM is dumb)", needsTerminal(cmd)))
	}
	var model *tui.Model
	err := o.recorded(cmd, func(o opening) (err error) {
		model, err = o.inTerminal(cmd, flags)
		return err
	})
	return model, err
}

func needsTerminal(cmd *cobra.Command) error {
	what := "the workbench"
	if cmd.HasParent() {
		what = cmd.Name()
	}
	return fmt.Errorf("%s needs a terminal; railbench run … and railbench doctor work without one", what)
}

// recorded does something while what the screen shows is recorded, where a user wants that.
func (o opening) recorded(cmd *cobra.Command, do func(opening) error) error {
	switch {
	case o.record.path == "" && o.record.v2:
		return usage(errors.New("--record-older needs --record FILE"))
	case o.record.path == "":
		return do(o)
	}
	var err error
	if o.recording, err = o.record.start(terminal(cmd.OutOrStdout())); err != nil {
		return unwritten(err)
	}
	err = do(o)
	if failed := o.recording.Close(); failed != nil && err == nil {
		return unwritten(failed)
	}
	return err
}

// inTerminal shows sessions, one after the other, until a user leaves.
func (o opening) inTerminal(cmd *cobra.Command, flags rigFlags) (*tui.Model, error) {
	var d *app
	var err error
	if o.silent(flags) {
		d, err = whileLoading(cmd, flags, o)
	} else if d, err = setUp(cmd, flags, o); err == nil {
		err = d.putAway(cmd, o.show(cmd, d.model))
	}
	// What is chosen inside is opened in its place, and asks what there is to ask.
	for err == nil && d.model.Next() != (tui.Next{}) {
		o.session, o.begins = d.model.Next().Session, true
		if d, err = setUp(cmd, flags, o); err == nil {
			err = d.putAway(cmd, o.show(cmd, d.model))
		}
	}
	if d == nil {
		return nil, err
	}
	return d.model, err
}

// whileLoading shows the screen at once, and sets it up meanwhile. The app is put away.
func whileLoading(cmd *cobra.Command, flags rigFlags, o opening) (*app, error) {
	c, err := flags.choose(cmd.Context())
	if err != nil {
		return nil, err
	}
	o.begins = true
	// A user who leaves before the session is set up waits for it, so that it is closed in order.
	load := sync.OnceValues(func() (*app, error) { return setUp(cmd, flags, o) })
	shown := o.show(cmd, tui.NewLoadingScreen(screen.Options{
		Rig:      screen.Rig{Simulated: c.simulated, Name: c.file.Name},
		Terminal: thisTerminal(),
	}, func() (*tui.Model, error) {
		d, err := load()
		if err != nil {
			return nil, err
		}
		return d.model, nil
	}))
	d, err := load()
	if err != nil {
		return nil, errors.Join(err, shown)
	}
	return d, d.putAway(cmd, shown)
}

// silent reports whether nothing has to be reported or asked before there is a screen, apart from what the
// choice of the rig reports at once. Then the screen opens first, and everything else is read in the
// background.
func (o opening) silent(flags rigFlags) bool {
	if o.session != "" || o.drill.Fault != "" ||
		len(flags.runbooks)+len(flags.params)+len(flags.faults) > 0 || flags.link+flags.slurm != "" {
		return false
	}
	dir, err := sessionsDir()
	if err != nil {
		return true // nothing is saved there, and nothing resumed
	}
	left, err := notebook.Journals(dir)
	return err == nil && len(left) == 0
}

// A app is the workbench's session and screen, set up.
type app struct {
	model   *tui.Model
	bench   *openRig         // nil where a session is only shown
	session *session.Session // the same
	along   *stage           // the same: who looks along in a browser
}

// setUp makes the session and its screen. What it opened is closed by putAway.
func setUp(cmd *cobra.Command, flags rigFlags, o opening) (*app, error) {
	asker := session.NewAsker()
	b, err := flags.open(cmd.Context(), asker)
	if err != nil {
		return nil, err
	}
	var s *session.Session
	ready := false
	defer func() {
		if ready {
			return
		}
		if s != nil {
			_ = s.Close() // its file, too: it would be offered as one that was cut off
		}
		b.close()
	}()
	b.options.Asker, b.options.Confirm, b.options.Sample = asker, asker, true
	b.options.Logs = logDir()
	b.options.Saving.At = b.at
	back, err := runbook.NewWriteBack(flags.runbooks)
	if err != nil {
		return nil, usage(err)
	}
	kept, err := b.sessionFile(cmd, o)
	if notebook.InUse(err) {
		return view(cmd.Context(), o.session, err)
	}
	if err != nil {
		return nil, err
	}
	if kept != nil {
		b.options.Tutorial = kept.Book().Tutorial // with the cells that the session added
	}
	notice := b.notice(kept)
	s = session.New(b.options)
	b.onState = s.State
	s.Open()
	along := &stage{options: pageOptions(b, s), listen: serveAt}
	if err := along.prepare(); err != nil {
		return nil, err
	}
	opts, err := o.options(b, s, kept)
	if err != nil {
		return nil, usage(err)
	}
	opts.Viewers = screen.Viewers{Audience: along.page, Serve: along.toggle}
	opts.Rig.Linked, opts.Notice = flags.link != "", notice
	if back != nil {
		opts.Runbook = screen.Runbook{Write: back.Write, Changed: back.Watch(cmd.Context())}
	} else if k, err := keeper(); err == nil {
		opts.Learning = k
	}
	ready = true
	return &app{tui.New(s, opts), b, s, along}, nil
}

// notice is what has to be known before the first key.
func (b *openRig) notice(kept *notebook.Store) string {
	if foreign := b.foreign(kept); len(foreign) > 0 {
		return fmt.Sprintf("%s here came from another user (%s) and does not run until you trust it: "+
			"T shows it in full, T again trusts it", trust.Counted(foreign), ids(foreign))
	}
	return b.changes()
}

// options are those of a screen that is opened on the rig.
func (o opening) options(b *openRig, s *session.Session, kept *notebook.Store) (screen.Options, error) {
	opts := b.screen(s)
	opts.Programs = screen.Programs{Editor: openEditor, Pager: openPager}
	opts.Drill, opts.Presentation.Open = o.drill, o.stage.open
	if kept != nil {
		book := kept.Book()
		opts.Book = &book
	}
	if o.recording != nil {
		opts.Presentation.Mark = o.recording.Mark
	}
	opts.Saved = screen.Saved{List: savedSessions, Compare: notebook.CompareFiles}
	if o.drill.Fault == "" {
		opts.Saved.Check, opts.Saved.In = b.opens, saveIn(s)
		opts.Saved.Elsewhere = func() string { return notebook.Elsewhere(b.options.Rig) }
	}
	return opts, o.stage.put(&opts, b)
}

// thisTerminal is what the terminal can show that railbench runs in.
func thisTerminal() screen.Terminal {
	return screen.Terminal{
		NoColor: os.Getenv("NO_COLOR") != "", ASCII: theme.LettersOnly(os.Getenv), Links: theme.HasLinks(os.Getenv),
	}
}

// unlinked is that without links.
func unlinked() screen.Terminal {
	t := thisTerminal()
	t.Links = false
	return t
}

// screen returns the options that the screen of a session gets from the rig.
func (b *openRig) screen(s *session.Session) screen.Options {
	return screen.Options{
		Tutorial: b.options.Tutorial,
		Params:   session.Params(b.options.Catalog, b.options.Tutorial),
		Rig:      screen.Rig{Simulated: b.options.Simulated, Name: b.options.Rig, Hint: hint(b)},
		Clock:    screen.Clock{Rig: s.Now},
		Terminal: thisTerminal(),
		Docs:     func() []screen.Doc { return append(pages(), progressPage()) },
		Explain:  explainPage,
		Plan:     screen.Plan{Text: planned(&b.options), Values: plannedValues(&b.options)},
	}
}

// planned gives what a cell would run in the state of a notebook, as a dry run writes it.
func planned(options *session.Options) func(steps.Notebook, steps.Cell) string {
	return func(book steps.Notebook, c steps.Cell) string {
		var script strings.Builder
		own := *options
		own.Params, own.CellParams = book.Params.All, book.Params.Cells
		headless.WritePlan(&script, own, book.Rig, []steps.Cell{c})
		return script.String()
	}
}

// plannedValues gives the variables of what a cell would run in the state of a notebook.
func plannedValues(options *session.Options) func(steps.Notebook, steps.Cell) []steps.PlannedValues {
	return func(book steps.Notebook, c steps.Cell) (all []steps.PlannedValues) {
		own := *options
		own.Params, own.CellParams = book.Params.All, book.Params.Cells
		for _, p := range session.Plan(own, book.Rig, []steps.Cell{c}) {
			if p.Note == "" {
				all = append(all, steps.PlannedValues{Role: p.Role.Name, Rail: p.Pair + 1, Values: p.Script.Vars})
			}
		}
		return all
	}
}

// putAway ends the session and saves it for the last time. shown is what the screen
// ended with.
func (d *app) putAway(cmd *cobra.Command, shown error) error {
	if d.bench == nil {
		return shown
	}
	defer d.bench.close()
	d.along.close()
	closed, unsaved := finish(d.session, cmd.ErrOrStderr())
	d.bench.remind(cmd.ErrOrStderr())
	if shown != nil {
		return shown
	}
	if unsaved != nil {
		return unwritten(fmt.Errorf("the session is not saved: %w", unsaved))
	}
	if closed != nil {
		return status{exitUnreachable, closed}
	}
	return nil
}

// show runs the screen to its end.
func (o opening) show(cmd *cobra.Command, model tea.Model) error {
	var screen render.Terminal = terminal(cmd.OutOrStdout())
	if o.recording != nil {
		if err := o.recording.Screen(os.Getenv("TERM")); err != nil {
			return unwritten(err)
		}
		screen = recordedTerminal{screen, o.recording}
	}
	return show(cmd, model, screen)
}

// show runs a program in a terminal to its end.
func show(cmd *cobra.Command, model tea.Model, in render.Terminal) error {
	ctx, lend, stop := console.ScreenSignals(cmd.Context())
	defer stop()
	err := render.Show(ctx, model, in, screenEnviron(os.Environ()), lend)
	if err != nil && !errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrInterrupted) {
		return status{exitUsage, fmt.Errorf("run the screen: %w", err)}
	}
	return nil
}

// followed is the line that stays above a session that another railbench has open.
func followed(why error) string {
	return fmt.Sprintf("read-only, and live: %s and asks the nodes (○)", why)
}

// view is a session that another railbench has open. It touches nothing, and goes along.
func view(ctx context.Context, path string, why error) (*app, error) {
	d, err := notebook.Read(path)
	if err != nil {
		return nil, usage(err)
	}
	return &app{model: tui.New(replay.NewViewer(), screen.Options{
		Tutorial: d.Book.Tutorial,
		Params:   session.Params(catalog.New(), d.Book.Tutorial),
		Rig:      screen.Rig{Simulated: d.Book.Rig.Simulated, Name: d.Book.Rig.Name},
		Terminal: thisTerminal(),
		Book:     &d.Book,
		ReadOnly: followed(why),
		Saved:    screen.Saved{Follow: notebook.Follow(ctx, path), List: savedSessions, Compare: notebook.CompareFiles},
		Programs: screen.Programs{Pager: openPager},
		Docs:     pages,
		Explain:  explainPage,
	})}, nil
}

// sessionFile says where the session is saved: in the file that was named, in one that
// was cut off and is resumed, or, once a cell has run, in a new one. Drills aren't.
func (b *openRig) sessionFile(cmd *cobra.Command, o opening) (kept *notebook.Store, err error) {
	errOut := cmd.ErrOrStderr()
	if o.drill.Fault != "" {
		return nil, nil
	}
	if o.session != "" {
		return b.keep(o.session, errOut) // wherever it is: it needs no home
	}
	dir, err := sessionsDir()
	if err != nil {
		b.options.Saving.Begin = func() (session.Store, error) { return nil, err }
		return nil, nil
	}
	if !o.begins {
		left, d := notebook.NewestCutOff(dir, b.options.Rig, b.options.Simulated, b.options.Tutorial.Title)
		switch {
		case d == nil:
		case b.offer(cmd.Context(), cmd.InOrStdin(), errOut, d):
			return b.keep(left, errOut)
		case cmd.Context().Err() != nil:
			return nil, status{exitInconclusive, errors.New("interrupted")}
		default:
			// It is saved as it stands, and not offered again.
			if s, err := b.store(left); err == nil {
				_ = s.Close() // what can't be saved is offered again
			}
		}
	}
	b.options.Saving.Begin = b.newFile(dir)
	return nil, nil
}

// newFile makes the file of a session that no one named.
func (b *openRig) newFile(dir string) func() (session.Store, error) {
	return func() (session.Store, error) {
		path, err := notebook.NewFile(dir, b.options.Rig)
		if err != nil {
			return nil, err
		}
		return b.at(path)
	}
}

// at is a session's file.
func (b *openRig) at(path string) (session.Store, error) {
	store, err := b.store(path)
	if err != nil {
		return nil, err // and no Store that is nil
	}
	return store, nil
}

// saveIn saves a session in a file that is not there yet.
func saveIn(s *session.Session) func(path string) error {
	return func(path string) error {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists: name a file that does not", path)
		}
		return s.SaveIn(path)
	}
}

// hint says how to get from the simulated rig to one's own.
func hint(b *openRig) string {
	if !b.options.Simulated {
		return ""
	}
	if len(b.options.Nodes) > len(steps.Ends) {
		return "Nodes of your own, more than two: name them in a rig file (railbench docs rig says how), " +
			"then railbench --rig FILE."
	}
	return "On one of your two nodes: railbench --peer USER@OTHER-NODE. To keep it: railbench init --peer USER@OTHER-NODE."
}

// screenEnviron is the environment as Bubble Tea sees it. It asks for
// synchronized output only where SSH_TTY is not set (tea.go), and railbench's
// users sit in SSH sessions: without it they see tearing. Terminals that don't
// know the mode ignore the request.
func screenEnviron(env []string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, "SSH_TTY=") {
			kept = append(kept, v)
		}
	}
	return kept
}
