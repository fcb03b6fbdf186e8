package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
)

// evil is a session that another user has made of the tutorial: a cell's script is another one, and as root, and
// there is a cell more. It says where each leaves a trace.
func evil(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "evil.ipynb")
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	store, err := notebook.Open(path, tut, notebook.Options{Rig: "sim", Simulated: true})
	if err != nil {
		t.Fatal(err)
	}
	part := tut.Parts[0]
	cells := append([]steps.Cell{}, part.Cells...)
	for i := range cells {
		if cells[i].ID == "hosts" {
			cells[i].Roles = []steps.Role{{On: steps.OnBoth, Root: true, Script: "echo forged; echo trace-of-hosts\n"}}
			cells[i].Edited = true
		}
	}
	cells = append(cells, steps.Cell{
		ID: "scratch-1", Part: part.ID, Title: "Harmless", Scratch: true,
		Judge: "exit-status", Roles: []steps.Role{{On: steps.OnPeer, Script: "echo \u202e; echo trace-of-scratch\n"}},
	})
	if err := store.Record([]steps.Event{steps.PartChanged{Part: part.ID, Cells: cells}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// opened is a rig whose session goes on with a file, as the screen has it.
func openedWith(t *testing.T, path string) (*openRig, *session.Session) {
	t.Helper()
	b, err := rigFlags{rig: "sim", speed: 100, seed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	kept, err := b.keep(path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	b.options.Tutorial = kept.Book().Tutorial
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	t.Cleanup(func() {
		if _, err := finish(s, io.Discard); err != nil {
			t.Error(err)
		}
	})
	return b, s
}

// ranAs runs a cell to its end, and gives its verdict and what it printed.
func ranAs(t *testing.T, s *session.Session, id string) (v steps.Verdict, printed string) {
	t.Helper()
	s.Run(id)
	for {
		events, ok := s.Next(t.Context())
		if !ok {
			t.Fatal("the session is over")
		}
		for _, e := range events {
			switch e := e.(type) {
			case steps.CellPrinted:
				for _, l := range e.Lines {
					printed += l.Text + "\n"
				}
			case steps.CellEnded:
				if e.Cell == id {
					return e.Verdict, printed
				}
			}
		}
	}
}

// TestSomebodyElsesSession: nothing of it runs until it was trusted, on the screen or by
// the command, and what railbench brings itself needs no trust.
func TestSomebodyElsesSession(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	path := evil(t)
	_, s := openedWith(t, path)
	for _, id := range []string{"hosts", "scratch-1"} {
		if v, printed := ranAs(t, s, id); v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), "railbench trust") ||
			strings.Contains(printed, "trace") {
			t.Errorf("%s: %s: %s\n%s", id, v.Grade, v.Reason, printed)
		}
	}
	if v, _ := ranAs(t, s, "gids"); v.Grade != steps.Pass {
		t.Errorf("a cell of the tutorial: %s: %s", v.Grade, v.Reason)
	}
	// Moving another user's script to another node is not a trust of it.
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	d, err := notebook.Peek(path)
	if err != nil {
		t.Fatal(err)
	}
	part := d.Under(tut).Parts[0]
	for i := range part.Cells {
		if part.Cells[i].ID == "hosts" {
			part.Cells[i].Roles = []steps.Role{{On: steps.OnPeer, Root: true, Script: part.Cells[i].Roles[0].Script}}
		}
	}
	s.Edit(part.ID, part.Cells)
	if v, printed := ranAs(t, s, "hosts"); v.Grade != steps.Inconclusive || strings.Contains(printed, "trace") {
		t.Errorf("moved: %s: %s\n%s", v.Grade, v.Reason, printed)
	}
	if err := s.Trust("hosts"); err != nil {
		t.Fatal(err)
	}
	if _, printed := ranAs(t, s, "hosts"); !strings.Contains(printed, "trace-of-hosts") {
		t.Errorf("trusted, and it did not run: %s", printed)
	}
	// A script with an invisible character is shown, and does not run even so.
	if err := s.Trust("scratch-1"); err != nil {
		t.Fatal(err)
	}
	if v, printed := ranAs(t, s, "scratch-1"); v.Grade != steps.Inconclusive ||
		!strings.Contains(v.Reason, "invisible") || strings.Contains(printed, "trace") {
		t.Errorf("hidden: %s: %s\n%s", v.Grade, v.Reason, printed)
	}
}

// TestDeceivingScripts: what is seen of a script is what runs. Behind a blank that is none for
// the shell # begins no comment.
func TestDeceivingScripts(t *testing.T) {
	for _, c := range "\u00a0\u1680\u2003\u2007\u202f\u205f\u3000\u2800\u3164\u115f\uffa0\u034f\u200b\ufeff\u202e\u2028\ufe0f\u2060\r\x1b" +
		"\u200d\U0001d159\ue000\u037e\uff1b\uff03\ufe5f\uff5c" {
		book := "# P {#p}\n\n## C {#c}\n\n```sh cell=c on=both\ntrue" + string(c) + "# nothing; echo OWNED\n```\n"
		path := filepath.Join(t.TempDir(), "own.md")
		if err := os.WriteFile(path, []byte(book), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := Main([]string{"run", "c", "--rig", "sim", "--speed", "max", "--runbook", path}, strings.NewReader(""),
			&stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), "invisible") {
			t.Errorf("%U: exit %d: %s%s", c, code, &stdout, &stderr)
		}
	}
}

// What the user writes himself is trusted, and so it is when the session is opened again.
func TestOwnSessionStaysTrusted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	b, s := openedWith(t, filepath.Join(t.TempDir(), "own.ipynb"))
	part := b.options.Tutorial.Parts[0]
	mine := steps.Cell{
		ID: "scratch-1", Part: part.ID, Scratch: true, Judge: "exit-status",
		Roles: []steps.Role{{On: steps.OnPeer, Script: "echo mine\n"}},
	}
	s.Edit(part.ID, append(slices.Clip(part.Cells), mine))
	if _, printed := ranAs(t, s, "scratch-1"); !strings.Contains(printed, "mine") {
		t.Errorf("the user's own did not run: %s", printed)
	}
	if !newTrust(steps.Tutorial{}).Trusted(mine) {
		t.Error("another railbench of this user's would ask for it")
	}
}

// TestTrustCommand: without a screen the command refuses, says what to do, and that works.
func TestTrustCommand(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	path := evil(t)
	main := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := Main(args, strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	run := []string{"run", "gids", "--rig", "sim", "--speed", "100", "--session", path}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := main(run...)
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "hosts, scratch-1") ||
		!strings.Contains(stderr, "railbench trust "+path) || !strings.Contains(stderr, "--trust") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was written (%v)", err)
	}
	code, stdout, stderr = main("trust", path)
	if code != exitUsage || !strings.Contains(stderr, "--yes") {
		t.Errorf("nobody is there to ask: exit %d: %s", code, stderr)
	}
	// All of what would run is shown, also what hides.
	for _, want := range []string{
		"# --- hosts, on both, as root\necho forged; echo trace-of-hosts\n",
		"# --- scratch-1, on peer\necho \\u202e; echo trace-of-scratch\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not show %q: %s", want, stdout)
		}
	}
	if code, _, _ = main(run...); code != exitUsage {
		t.Errorf("after a look only: exit %d", code)
	}
	if code, stdout, stderr = main("trust", path, "--yes"); code != exitOK ||
		!strings.Contains(stdout, "2 cells may run now") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ = main("trust", path); code != exitOK || !strings.Contains(stdout, "nothing that needs trust") {
		t.Errorf("trusted once: exit %d: %s", code, stdout)
	}
	if code, _, stderr = main(run...); code != exitOK {
		t.Errorf("trusted: exit %d: %s", code, stderr)
	}
	// What was changed since is another user's again.
	changed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(changed, []byte("trace-of-hosts"), []byte("trace-of-them")),
		0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr = main(run...); code != exitUsage || !strings.Contains(stderr, "(hosts)") {
		t.Errorf("changed since: exit %d: %s", code, stderr)
	}
	if code, _, stderr = main(append(run, "--trust")...); code != exitOK {
		t.Errorf("--trust: exit %d: %s", code, stderr)
	}
}
