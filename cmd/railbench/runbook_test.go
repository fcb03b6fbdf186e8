package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/screen"
)

// The screen opens a runbook as it opens the tutorial, with the checklist next to it.
func TestOwnRunbookOnTheScreen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mine.md")
	if err := create(path, assets.Runbook); err != nil {
		t.Fatal(err)
	}
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, runbooks: []string{path}}.open(t.Context(),
		runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Asker = session.NewAsker()
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	var taken string
	key := func(k rune) []tea.KeyPressMsg { return []tea.KeyPressMsg{{Code: k, Text: string(k)}} }
	c := camera{taken: &taken, waits: []wait{
		{"My runbook", []tea.KeyPressMsg{{Code: tea.KeyDown}, {Code: tea.KeyEnter}}},
		{"Every script ended with status 0", key('C')},
		{"Node availability", nil},
	}}
	c.Model = tui.New(s, screen.Options{
		Tutorial: b.options.Tutorial,
		Rig:      screen.Rig{Simulated: true, Name: "sim"},
		Terminal: screen.Terminal{NoColor: true, Background: screen.Dark},
	})
	_, err = tea.NewProgram(c, tea.WithContext(t.Context()), tea.WithInput(nil), tea.WithOutput(io.Discard),
		tea.WithWindowSize(120, 36), tea.WithoutSignals()).Run()
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(taken, "Checklist") {
		t.Errorf("no checklist on the screen:\n%s", taken)
	}
}

// The scripts of the tutorial and of the checklist read what is set, and nothing of
// them is warned of: so what is said of other runbooks is to be believed.
func TestBuiltInIsFound(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"tutorial", "checklist"} {
		names, err := filepath.Glob("../../assets/" + dir + "/*.md")
		if err != nil {
			t.Fatal(err)
		}
		docs, err := runbook.ReadFiles(names)
		if err != nil {
			t.Fatal(err)
		}
		built, cat, err := tutorial()
		if err != nil {
			t.Fatal(err)
		}
		texts, err := programs()
		if err != nil {
			t.Fatal(err)
		}
		b := &openRig{}
		if err := b.serve(""); err != nil {
			t.Fatal(err)
		}
		defer b.close()
		k := known(session.Options{Catalog: cat, Programs: texts, Services: b.options.Services},
			steps.Tutorial{Parts: built.Parts})
		for _, p := range append(runbook.Names(docs, built, k), runbook.Scripts(docs, built, k)...) {
			if dir == "checklist" && strings.Contains(p.Text, "is for railbench's own checklist") {
				continue
			}
			t.Error(p)
		}
	}
}

// Every check next to another runbook has the fix that it has next to the tutorial, or none where the runbook's cell
// of that name is something else.
func TestChecklistBesideARunbook(t *testing.T) {
	t.Parallel()
	built, cat, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	part := func(ids ...string) steps.Tutorial {
		p := steps.Part{ID: "fixes"}
		for _, id := range ids {
			p.Cells = append(p.Cells, steps.Cell{ID: id})
		}
		return steps.Tutorial{Parts: []steps.Part{p}}
	}
	fixed := 0
	for name, own := range map[string]steps.Tutorial{
		"of nothing like it": part("one"), "of its ids": part("nodes", "mtu", "fix-link-up"),
		"with its parts' ids": {Parts: []steps.Part{{ID: "tutorial-fixes", Cells: []steps.Cell{{ID: "check-network"}}}}},
	} {
		own.Checklist = runbook.Beside(own, built)
		if err := runbook.Check(own, cat); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range own.Checks() {
			before, _ := built.Cell(c.ID)
			_, mine := (steps.Tutorial{Parts: own.Parts}).Cell(before.Check.Fix)
			if !mine && c.Check.Fix != before.Check.Fix || mine && c.Check.Fix != "" {
				t.Errorf("%s: the fix of %s is %q, and was %q", name, c.ID, c.Check.Fix, before.Check.Fix)
			}
			if c.Check.Fix == "mtu" {
				fixed++
			}
		}
	}
	if fixed == 0 {
		t.Error("no check borrows a cell of the tutorial: this test sees nothing")
	}
}

func TestUnreadableRunbooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := filepath.Join(dir, "long.md")
	if err := os.WriteFile(long, make([]byte, 50<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	latin := filepath.Join(dir, "latin.md")
	if err := os.WriteFile(latin, []byte("# Caf\xe9 {#c}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder.md")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		long:       "long.md: it is longer than 256 KiB",
		latin:      "latin.md:1:6: it is not text in UTF-8 from here on: save it as UTF-8",
		folder:     "no file in the folder " + folder + " ends in .md",
		os.DevNull: "read the runbook: " + os.DevNull + " is not a file",
	} {
		_, _, err := ownTutorial([]string{path})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
