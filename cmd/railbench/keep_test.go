package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
)

// typist gives a wrong password first, and then the one that the simulated nodes'
// sudo takes.
type typist struct {
	runner.NoAsker
	mu    sync.Mutex
	wrong int
	right int
}

const (
	wrongPassword = "correct horse battery staple"
	rightPassword = "engineer" // runner/sim's, while the fault sudo-password is on
)

func (a *typist) Secret(_ context.Context, q runner.SecretQuestion) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !q.Again {
		a.wrong++
		return wrongPassword, nil
	}
	a.right++
	return rightPassword, nil
}

// TestNoSecretIsSaved enters passwords, wrong ones and right ones, and looks for them
// in all that is kept of the session: file, journal, logs.
func TestNoSecretIsSaved(t *testing.T) {
	t.Parallel()
	asker := &typist{}
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, faults: []string{"sudo-password"}}.open(t.Context(),
		asker)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Confirm = headless.Yes{}
	dir := t.TempDir()
	b.options.Logs = filepath.Join(dir, "logs")
	path := filepath.Join(dir, "s.ipynb")
	if _, err := b.keep(path, io.Discard); err != nil {
		t.Fatal(err)
	}
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	h := follow(s, io.Discard, false)
	cells, err := b.options.Tutorial.Select("mtu", "bond-setup", "bond-teardown")
	if err != nil {
		t.Fatal(err)
	}
	var journals strings.Builder
	for _, c := range cells {
		h.RunAll(t.Context(), []steps.Cell{c})
		journal, err := os.ReadFile(notebook.JournalPath(path))
		if err != nil {
			t.Fatal(err)
		}
		journals.Write(journal)
	}
	if closed, unsaved := finish(s, io.Discard); closed != nil || unsaved != nil {
		t.Fatal(closed, unsaved)
	}
	if asker.wrong == 0 || asker.right == 0 {
		t.Fatalf("%d wrong and %d right passwords were entered: nothing was tested", asker.wrong, asker.right)
	}
	looked := 0
	look := func(where, text string) {
		looked++
		for _, secret := range []string{wrongPassword, rightPassword} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has the password %q", where, secret)
			}
		}
	}
	look("the journal", journals.String())
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		look(name, string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if looked < 4 {
		t.Errorf("only %d places were looked at", looked)
	}
	// What was done with the password is in the file.
	d, err := notebook.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if g := d.Book.Cells["bond-setup"].Verdict.Grade; g != steps.Pass {
		t.Errorf("bond-setup came to %s: %s", g, d.Book.Cells["bond-setup"].Verdict.Reason)
	}
}

// TestSessionAndReport: the file has what the run reported.
func TestSessionAndReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.ipynb")
	r, _, stderr := headlessly(t, "hosts", "gids", "ib-write-bw", "ib-write-lat", "--session", path)
	if !strings.Contains(stderr, "session saved in "+path) {
		t.Errorf("stderr does not say where it is saved: %s", stderr)
	}
	d, err := notebook.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Book.Rig.Simulated || d.Book.Rig.Name != r.Rig.Name || len(d.Book.Rig.Pairs) != 4 {
		t.Errorf("the rig is %+v", d.Book.Rig)
	}
	for _, c := range r.Cells {
		s := d.Book.Cells[c.ID]
		if s.Verdict.Grade != c.Verdict || s.Verdict.Reason != c.Reason || len(s.Verdict.Evidence) != len(c.Evidence) ||
			s.Log != c.Log || s.Output.Len() == 0 {
			t.Errorf("%s: the file has %+v, the report %+v", c.ID, s.Verdict, c)
		}
		if len(headless.Total(d.Book.Rig, s.Bytes)) != len(c.Rails) {
			t.Errorf("%s: the file has the bytes of %d rails, the report of %d", c.ID, len(s.Bytes), len(c.Rails))
		}
	}
}
