package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/screen"
)

// What the workbench learns about files: the saved sessions, and what other processes do with its own session
// meanwhile.

// savedSessions are those of the folder of sessions and of the folder that railbench was
// started in, the newest first.
func savedSessions() (all []screen.SessionFile) {
	var folders []string
	if dir, err := sessionsDir(); err == nil {
		folders = append(folders, dir)
	}
	if here, err := os.Getwd(); err == nil && !(len(folders) > 0 && sameFile(here, folders[0])) {
		folders = append(folders, here)
	}
	for _, f := range notebook.SavedIn(folders...) {
		about := "saved " + f.At.Format("2006-01-02 15:04") + " in " + filepath.Dir(f.Path)
		all = append(all, screen.SessionFile{Path: f.Path, Name: f.Name, About: about})
	}
	return all
}

// opens says why a session can't be opened on the rig. One that another railbench has
// open is followed.
func (b *openRig) opens(path string) error {
	d, err := notebook.Read(path)
	if err != nil {
		return err
	}
	return notebook.Options{Rig: b.options.Rig, Simulated: b.options.Simulated}.Fits(d)
}

// sessionsDir is where sessions are saved that no one named.
func sessionsDir() (string, error) { return stateDir("sessions") }

// offer asks whether to resume a session that was cut off. It is a question of one
// line, before there is a screen.
func (b *openRig) offer(ctx context.Context, in io.Reader, out io.Writer, d *notebook.Document) bool {
	ran, what := len(d.Book.Cells), ""
	var left []string
	for _, c := range d.Book.Tutorial.Cells() {
		if d.Book.Cells[c.ID].Running {
			left = append(left, c.ID)
		}
	}
	if left = append(left, d.Book.Queue...); len(left) > 0 {
		what = ", and " + strings.Join(left, ", ") + " was not done"
	}
	cells := "1 cell has"
	if ran != 1 {
		cells = fmt.Sprintf("%d cells have", ran)
	}
	sanitize.Fprintf(out, "The session of %s was cut off: %s run%s.\n",
		d.Created.Local().Format("2006-01-02 15:04"), cells, what)
	b.remind(out)
	sanitize.Fprint(out, "Resume it? (Y/n) ")
	answer, err := console.ReadLine(ctx, io.LimitReader(in, 100))
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "" && err == nil || strings.HasPrefix(answer, "y")
}

// keep opens the session's file and fits the rig to it.
func (b *openRig) keep(path string, out io.Writer) (*notebook.Store, error) {
	store, err := b.store(path)
	switch {
	case errors.Is(err, notebook.ErrUnsaved) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return nil, unwritten(err) // the name is good, and the disk is not
	case err != nil:
		return nil, usage(err)
	}
	b.options.Runs = store.Runs()
	b.takeParams(store.Book().Params, out)
	b.options.Sample = true // the file has what the gauges showed
	if len(store.Left) > 0 {
		sanitize.Fprintf(out, "session %s was interrupted; not finished: %s\n", store.Path(), strings.Join(store.Left, " "))
	}
	b.options.Saving.Store = store
	return store, nil
}

// store opens a session's file for the rig.
func (b *openRig) store(path string) (*notebook.Store, error) {
	return notebook.Open(path, b.options.Tutorial, notebook.Options{
		Railbench: version(), Rig: b.options.Rig, Simulated: b.options.Simulated,
	})
}

// takeParams sets the parameters that the session was saved with, but for those that
// were given now.
func (b *openRig) takeParams(saved steps.Settings, out io.Writer) {
	set := steps.Settings{All: b.options.Params, Cells: b.options.CellParams}
	var took []string
	take := func(cell, name, value string) {
		if _, given := set.All[name]; given && cell == "" {
			return
		}
		if _, given := set.Cells[cell][name]; given {
			return
		}
		shown := name
		if cell != "" {
			shown = cell + "." + name
		}
		value, err := session.CheckParam(b.options.Catalog, b.options.Tutorial, cell, name, value)
		if err != nil {
			sanitize.Fprintf(out, "the session's parameter %s is left out: %v\n", shown, err)
			return
		}
		if session.IsProgram(b.options.Catalog, b.options.Tutorial, name) && !b.options.Trust.TrustedProgram(name, value) {
			sanitize.Fprintf(out, "the session's parameter %s is left out: %s would be run, and another user set it. To "+
				"use it: -p %s=%s\n", shown, value, shown, value)
			return
		}
		set = set.With(cell, name, value)
		took = append(took, shown+"="+value)
	}
	for _, name := range slices.Sorted(maps.Keys(saved.All)) {
		take("", name, saved.All[name])
	}
	for _, cell := range slices.Sorted(maps.Keys(saved.Cells)) {
		for _, name := range slices.Sorted(maps.Keys(saved.Cells[cell])) {
			take(cell, name, saved.Cells[cell][name])
		}
	}
	if len(took) > 0 {
		sanitize.Fprintf(out, "the session's parameters: %s\n", strings.Join(took, " "))
	}
	b.options.Params, b.options.CellParams = set.All, set.Cells
}

// finish closes the session, and says on out where it is saved. The errors are of the
// nodes, and of what could not be saved: that is in the journal.
func finish(s *session.Session, out io.Writer) (closed, unsaved error) {
	closed = closeSession(s, out)
	path, unsaved := s.Saved()
	if path != "" && unsaved == nil {
		sanitize.Fprintf(out, "session saved in %s\n", path)
	}
	return closed, unsaved
}

// closeSession waits until nothing of the session runs any more. A node that does not answer delays that
// until it is given up. A message informs the user about the wait, and the user may interrupt it.
func closeSession(s *session.Session, out io.Writer) error {
	const patience = time.Second
	told := time.AfterFunc(patience, func() {
		sanitize.Fprintf(out, "waiting for the nodes to end what runs there; ctrl+c leaves it to them: they do within %s\n",
			runner.SupervisorSilence)
	})
	defer told.Stop()
	// From here on a signal may end the program at once: nothing has to be closed in order.
	signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return s.Close()
}
