package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
)

// saved is a session on the simulated rig as the screen has it, saved in a folder; nowhere
// where dir is empty.
func saved(t *testing.T, dir string) (*openRig, *session.Session) {
	t.Helper()
	flags := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}
	b, err := flags.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	if dir != "" {
		b.options.Saving = session.Saving{Begin: b.newFile(dir), At: b.at}
	}
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	return b, s
}

// runs runs a cell and gives where the session says that it is saved.
func runs(t *testing.T, s *session.Session, id string) (saved steps.Saved) {
	t.Helper()
	s.Run(id)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		events, ok := s.Next(ctx)
		if !ok {
			t.Fatalf("no end of %s", id)
		}
		ended := false
		for _, e := range events {
			switch e := e.(type) {
			case steps.Saved:
				saved = e
			case steps.CellEnded:
				ended = ended || e.Cell == id
			}
		}
		if ended {
			return saved
		}
	}
}

// Who only looks around leaves no file; who runs a cell leaves a notebook of it.
func TestScreenSavesItsSession(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	_, idle := saved(t, dir)
	if closed, unsaved := finish(idle, io.Discard); closed != nil || unsaved != nil {
		t.Fatal(closed, unsaved)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a session in which nothing ran left a folder")
	}
	b, s := saved(t, dir)
	where := runs(t, s, "hosts")
	if where.Why != "" || filepath.Dir(where.Path) != dir || !strings.HasSuffix(where.Path, "-sim.ipynb") {
		t.Fatalf("saved: %+v", where)
	}
	// What was shown is there, whatever happens now: as it is after kill -9.
	crash := filepath.Join(t.TempDir(), "sessions")
	if err := os.CopyFS(crash, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if path, _ := notebook.NewestCutOff(dir, "sim", true, b.options.Tutorial.Title); path != "" {
		t.Errorf("%s is open, and was taken for cut off", path)
	}
	if path, _ := notebook.NewestCutOff(crash, "lab", false, b.options.Tutorial.Title); path != "" {
		t.Errorf("%s is another rig's", path)
	}
	if path, _ := notebook.NewestCutOff(crash, "sim", true, "My runbook"); path != "" {
		t.Errorf("%s is another runbook's", path)
	}
	path, d := notebook.NewestCutOff(crash, "sim", true, b.options.Tutorial.Title)
	if d == nil || d.Book.Cells["hosts"].Verdict.Grade != steps.Pass {
		t.Fatalf("the session that was cut off is not found: %q", path)
	}
	for answer, want := range map[string]bool{
		"\n": true, "y\n": true, "yes\n": true, "n\n": false, "": false,
		"what\n": false,
	} {
		var out bytes.Buffer
		if b.offer(t.Context(), strings.NewReader(answer), &out, d) != want ||
			!strings.Contains(out.String(), "was cut off: 1 cell has run") {
			t.Errorf("answer %q: not %v, or the question is %q", answer, want, out.String())
		}
	}
	if closed, unsaved := finish(s, io.Discard); closed != nil || unsaved != nil {
		t.Fatal(closed, unsaved)
	}
	if path, _ := notebook.NewestCutOff(dir, "sim", true, b.options.Tutorial.Title); path != "" {
		t.Errorf("%s was saved at its end", path)
	}
	if d, err := notebook.Read(where.Path); err != nil || d.Book.Cells["hosts"].Verdict.Grade != steps.Pass ||
		!d.Book.Rig.Simulated {
		t.Errorf("saved: %v", err)
	}
}

// A drill is not saved, and runs all the same.
func TestScreenWithoutAFile(t *testing.T) {
	t.Parallel()
	_, s := saved(t, "")
	if where := runs(t, s, "hosts"); where != (steps.Saved{}) {
		t.Errorf("saved: %+v", where)
	}
	if closed, unsaved := finish(s, io.Discard); closed != nil || unsaved != nil {
		t.Fatal(closed, unsaved)
	}
}

// A session that can't be saved goes on, and says so.
func TestScreenThatCannotSave(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, s := saved(t, dir)
	if where := runs(t, s, "hosts"); where.Why == "" {
		t.Error("it does not say that it is not saved")
	}
	if closed, unsaved := finish(s, io.Discard); closed != nil || unsaved == nil {
		t.Fatal(closed, unsaved)
	}
	// In a file that the user names it is saved from its beginning, and goes on there; a file that is there stays.
	_, s = saved(t, dir)
	runs(t, s, "hosts")
	if err := saveIn(s)(dir); err == nil {
		t.Error("a file that was there is taken")
	}
	if err := saveIn(s)(filepath.Join(dir, "x.ipynb")); err == nil {
		t.Error("a file is a folder")
	}
	path := filepath.Join(t.TempDir(), "mine.ipynb")
	if err := saveIn(s)(path); err != nil {
		t.Fatal(err)
	}
	if where := runs(t, s, "rail-map"); where != (steps.Saved{Path: path}) {
		t.Errorf("saved: %+v", where)
	}
	if closed, unsaved := finish(s, io.Discard); closed != nil || unsaved != nil {
		t.Fatal(closed, unsaved)
	}
	if d, err := notebook.Read(path); err != nil || len(d.Book.Cells) != 2 {
		t.Errorf("saved: %v", err)
	}
	if place := notebook.Elsewhere("sim"); filepath.Ext(place) != notebook.Extension {
		t.Errorf("it could be saved in %q", place)
	}
}

// A session with a name is opened also where there is no home folder for sessions without one.
func TestANamedSessionNeedsNoHome(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	cmd := rootCommand()
	cmd.SetErr(io.Discard)
	path := filepath.Join(t.TempDir(), "named.ipynb")
	kept, err := b.sessionFile(cmd, opening{session: path})
	if err != nil || kept == nil || kept.Path() != path {
		t.Fatalf("%v, %v", kept, err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
}
