package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// valued is a runbook whose script runs what its parameter holds, and a rig of real nodes.
func valued(t *testing.T) (book, rig string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	book, rig = filepath.Join(dir, "theirs.md"), filepath.Join(dir, "rig.toml")
	for path, text := range map[string]string{
		book: "<!-- params: TOOL=true -->\n\n# Theirs {#theirs}\n\n## One {#one}\n\n```sh cell=one on=here\n" +
			"$TOOL trace-of-one\n```\n",
		rig: "[here]\nlocal = true\n[peer]\nssh = \"nobody@127.0.0.1:1\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return book, rig
}

// rewrite changes a text in a file, as another user does.
func rewrite(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s has no %q", path, from)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestValuesAreTrustedByContent: a script that was trusted may call what a parameter holds.
// Where another default stands in the file since, it is shown and asked for again.
func TestValuesAreTrustedByContent(t *testing.T) {
	book, rig := valued(t)
	run := []string{"run", "--runbook", book, "--all", "--rig", rig}
	if code, stdout, stderr := unattended("trust", book, "--yes"); code != exitOK ||
		!strings.Contains(stdout, "# --- the parameter TOOL, unless it is set\nTOOL='true'\n") ||
		!strings.Contains(stdout, "1 cell and 1 parameter may run now") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := unattended(run...); code != exitUnreachable {
		t.Errorf("trusted: exit %d: %s", code, stderr)
	}
	rewrite(t, book, "TOOL=true", "TOOL=rm")
	if code, _, stderr := unattended(run...); code != exitUsage ||
		!strings.Contains(stderr, "1 parameter (parameter TOOL)") {
		t.Errorf("another default: exit %d: %s", code, stderr)
	}
	// Nothing is as dangerous in a script's "$DIR"/* as nothing.
	rewrite(t, book, "TOOL=rm", "TOOL=")
	if code, _, stderr := unattended(run...); code != exitUsage || !strings.Contains(stderr, "parameter TOOL") {
		t.Errorf("no default: exit %d: %s", code, stderr)
	}
	// Who gives the value himself has trusted that, and is asked about the default only.
	if code, _, stderr := unattended(append(run, "-p", "TOOL=echo", "--trust")...); code != exitUnreachable {
		t.Errorf("--trust: exit %d: %s", code, stderr)
	}
}

// TestValuesOfASession: a session brings values, too; what the user set comes back, and what a user has put in its
// place doesn't.
func TestValuesOfASession(t *testing.T) {
	book, _ := valued(t)
	path := filepath.Join(t.TempDir(), "s.ipynb")
	run := []string{"run", "one", "--runbook", book, "--rig", "sim", "--speed", "max", "--session", path}
	if code, _, stderr := unattended(append(run, "-p", "TOOL=echo")...); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := unattended(run...); code != exitOK ||
		!strings.Contains(stderr, "the session's parameters: TOOL=echo") {
		t.Errorf("one's own: exit %d: %s", code, stderr)
	}
	rewrite(t, path, `"TOOL": "echo"`, `"TOOL": "printf"`)
	if code, _, stderr := unattended(run...); code != exitOK ||
		!strings.Contains(stderr, "parameter TOOL is left out: printf") {
		t.Errorf("somebody else's: exit %d: %s", code, stderr)
	}
}

// TestValuesOnTheScreen: T on a cell trusts what its script is given, too, and nothing runs
// with another value before.
func TestValuesOnTheScreen(t *testing.T) {
	book, _ := valued(t)
	b, err := rigFlags{rig: "sim", speed: 1, seed: 1, runbooks: []string{book}}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if b.options.Trust, err = trustBeside(b.options.Tutorial, []string{book}); err != nil { // as on a real rig
		t.Fatal(err)
	}
	one, _ := b.options.Tutorial.Cell("one")
	if err := b.options.Trust.Trust(one); err != nil { // with another default, some time ago
		t.Fatal(err)
	}
	var plan strings.Builder
	rig, err := session.Probe(t.Context(), b.options)
	if err != nil {
		t.Fatal(err)
	}
	headless.WritePlan(&plan, b.options, rig, b.options.Tutorial.Cells())
	if strings.Contains(plan.String(), "\n$TOOL") || !strings.Contains(plan.String(), "its parameter TOOL is") {
		t.Errorf("the dry run: %s", plan.String())
	}
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	defer func() {
		if _, err := finish(s, io.Discard); err != nil {
			t.Error(err)
		}
	}()
	if v, printed := ranAs(t, s, "one"); !strings.Contains(v.Said(), "its parameter TOOL is \"true\"") ||
		strings.Contains(printed, "trace") {
		t.Errorf("%s: %s: %s", v.Grade, v.Reason, printed)
	}
	if err := s.SetParam("", "TOOL", "echo"); err != nil { // what the user types is his
		t.Fatal(err)
	}
	if v, printed := ranAs(t, s, "one"); !strings.Contains(printed, "trace-of-one") {
		t.Errorf("typed: %s: %s", v.Reason, printed)
	}
	if err := s.SetParam("", "TOOL", "true"); err != nil {
		t.Fatal(err)
	}
	if err := s.Trust("one"); err != nil {
		t.Fatal(err)
	}
	if v, _ := ranAs(t, s, "one"); strings.Contains(v.Said(), "parameter") {
		t.Errorf("trusted: %s", v.Reason)
	}
}
