package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/runbook"
)

// A person who looks on sees what is recorded, also before it is saved.
func TestFollow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.ipynb")
	tutorial, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	store, err := notebook.Open(path, tutorial, notebook.Options{Rig: "sim", Simulated: true, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	next := notebook.Follow(t.Context(), path)
	if book := next(); book == nil || len(book.Cells) != 0 {
		t.Fatalf("at first: %+v", book)
	}
	if err := store.Record([]steps.Event{steps.CellStarted{Run: 1, Cell: "hosts", At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	if book := next(); book == nil || !book.Cells["hosts"].Running {
		t.Fatalf("while it runs: %+v", book.Cells["hosts"])
	}
	if err := store.Record([]steps.Event{steps.CellEnded{
		Run: 1, Cell: "hosts",
		Verdict: steps.Verdict{Grade: steps.Pass},
	}}); err != nil {
		t.Fatal(err)
	}
	for book := next(); book.Cells["hosts"].Verdict.Grade != steps.Pass; book = next() {
		if book.Cells["hosts"].Run != 1 {
			t.Fatalf("the run is gone: %+v", book.Cells["hosts"])
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// A runbook that another program has changed is reported once; what railbench itself writes is not reported.
func TestAChangedFileIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mine.md")
	const source = "# Mine {#mine}\n\n## One {#one}\n\n```sh cell=one on=here\ntrue\n```\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(source)
	w, err := runbook.NewWriteBack([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	told := w.Watch(t.Context())
	parts := []steps.Part{{
		ID:    "mine",
		Cells: []steps.Cell{{ID: "one", Edited: true, Roles: []steps.Role{{Script: "false\n"}}}},
	}}
	if _, err := w.Write(parts); err != nil {
		t.Fatal(err)
	}
	if name := w.Changed(); name != "" {
		t.Errorf("what was written from here is told: %s", name)
	}
	write(strings.Replace(source, "One", "Two", 1))
	if name := told(); name != path {
		t.Errorf("%q is told", name)
	}
	if name := w.Changed(); name != "" {
		t.Error("it is told twice")
	}
}

// A user who starts railbench in the folder of sessions is offered each session once.
func TestSessionsAreOfferedOnce(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, err := sessionsDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a.ipynb"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if all := savedSessions(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}
