package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/runbook"
)

const ours = "# Mine {#mine}\r\n\r\nProse.\r\n\r\n## One {#one}\r\n\r\n```sh cell=one on=both\r\nuptime\r\n```\r\n" +
	"\r\n## Two {#two}\r\n\r\n```sh cell=two role=server on=peer ready=port:5201\r\niperf3 -s -1\r\n```\r\n\r\n" +
	"```sh cell=two role=client\r\niperf3 -c \"$PEER_RAIL1_IP\"\r\n```\r\n\r\nThe end.\r\n"

// edited gives a cell another script in one of its roles.
func edited(t *testing.T, parts []steps.Part, id string, role int, script string) []steps.Part {
	t.Helper()
	for i, p := range parts {
		for j, c := range p.Cells {
			if c.ID != id {
				continue
			}
			roles := append([]steps.Role{}, c.Roles...)
			roles[role].Script = script
			cells := append([]steps.Cell{}, p.Cells...)
			cells[j].Roles, cells[j].Edited = roles, true
			out := append([]steps.Part{}, parts...)
			out[i].Cells = cells
			return out
		}
	}
	t.Fatalf("no cell %s", id)
	return nil
}

func TestWriteBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mine.md")
	file := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%v, the file is %q\nwant %q", err, got, want)
		}
	}
	file(ours)
	w, err := runbook.NewWriteBack([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	tut, _, err := ownTutorial([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	parts := tut.Parts
	if said, err := w.Write(parts); err != nil || !strings.HasPrefix(said, "nothing to write") {
		t.Errorf("%q, %v", said, err)
	}
	is(ours)
	// Its own bytes change, and no other; a second write has nothing to do.
	parts = edited(t, parts, "two", 1, "iperf3 -c \"$PEER_RAIL2_IP\" -P 4\n")
	want := strings.Replace(ours, "iperf3 -c \"$PEER_RAIL1_IP\"", "iperf3 -c \"$PEER_RAIL2_IP\" -P 4", 1)
	if said, err := w.Write(parts); err != nil || said != "written to "+path+" (1 cell)" {
		t.Errorf("%q, %v", said, err)
	}
	is(want)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if said, err := w.Write(parts); err != nil || !strings.HasPrefix(said, "nothing to write") {
		t.Errorf("%q, %v", said, err)
	}
	// What another user wrote elsewhere in the file stays; what they wrote into the same script is not overwritten.
	file(strings.Replace(want, "Prose.", "Other prose.", 1))
	parts = edited(t, parts, "one", 0, "date\n")
	if _, err := w.Write(parts); err != nil {
		t.Fatal(err)
	}
	want = strings.Replace(strings.Replace(want, "Prose.", "Other prose.", 1), "uptime", "date", 1)
	is(want)
	theirs := strings.Replace(want, "date", "hostname", 1)
	file(theirs)
	if _, err := w.Write(edited(t, parts, "one", 0, "who\n")); err == nil ||
		!strings.Contains(err.Error(), "another program changed") {
		t.Error(err)
	}
	is(theirs)
	// A script that would end its own fence can't be written.
	file(want)
	if _, err := w.Write(edited(t, parts, "one", 0, "cat <<x\n```\nx\n")); err == nil {
		t.Error("a fence in a script was written")
	}
	is(want)
	if w, err := runbook.NewWriteBack(nil); w != nil || err != nil {
		t.Errorf("the built-in tutorial: %v, %v", w, err)
	}
}

// Of several files some may be written when another can't be: the report says what was done.
func TestWriteBackOfSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")}
	const text = "# Part {#part-x}\n\n## One {#cell-x}\n\n```sh cell=cell-x on=here\nuptime\n```\n"
	for i, file := range files {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "-x", "-"+"ab"[i:i+1])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := runbook.NewWriteBack(files)
	if err != nil {
		t.Fatal(err)
	}
	tut, _, err := ownTutorial(files)
	if err != nil {
		t.Fatal(err)
	}
	parts := edited(t, edited(t, tut.Parts, "cell-a", 0, "date\n"), "cell-b", 0, "date\n")
	theirs := strings.ReplaceAll(strings.ReplaceAll(text, "-x", "-b"), "uptime", "hostname")
	if err := os.WriteFile(files[1], []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(parts)
	if err == nil || !strings.Contains(err.Error(), "written to "+files[0]) ||
		!strings.Contains(err.Error(), "b.md was not written") || strings.Contains(err.Error(), "nothing was written") {
		t.Error(err)
	}
	if got, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(got), "date") {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := os.ReadFile(files[1]); err != nil || string(got) != theirs {
		t.Errorf("%s, %v", got, err)
	}
}
