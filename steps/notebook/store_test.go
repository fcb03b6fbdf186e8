package notebook

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
)

// settled is the session after some events, as who opens it after a kill sees it.
func settled(t *testing.T, events []steps.Event) *Document {
	t.Helper()
	d := told(t, events...)
	d.settle()
	return d
}

// TestKilledAnywhere: whatever was recorded before a kill is there again. What a
// killed railbench leaves are its files as they are.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	path := sessionPath(t)
	s := opened(t, path)
	all := story(false)
	for n := range len(all) + 1 {
		if n > 0 {
			if err := s.Record(all[n-1 : n]); err != nil {
				t.Fatal(err)
			}
		}
		if d, err := Read(path); err != nil {
			t.Errorf("after %d events: %v", n, err)
		} else {
			samePages(t, told(t, all[:n]...), d)
		}
		left := sessionPath(t)
		copyFile(t, path, left)
		copyFile(t, JournalPath(path), JournalPath(left))
		again := opened(t, left)
		samePages(t, settled(t, all[:n]), again.doc)
		if n == len(all) && !slices.Equal(again.Left, []string{"bw"}) {
			t.Errorf("left over: %v", again.Left)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(JournalPath(left)); err == nil {
			t.Error("a closed session has a journal")
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(contents(t, from)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKilledBetween: between the file's renaming and the journal's new beginning, the
// journal still has what is in the file already.
func TestKilledBetween(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	all := story(false)
	if err := s.Record(all[:len(all)-3]); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(all[len(all)-3:]); err != nil {
		t.Fatal(err)
	}
	journal := contents(t, JournalPath(path))
	if err := s.save(); err != nil { // while bw runs
		t.Fatal(err)
	}
	killed(s)
	if strings.Count(journal, "\n") != 4 {
		t.Fatalf("the journal is %s", journal)
	}
	if err := os.WriteFile(JournalPath(path), []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	samePages(t, settled(t, all), opened(t, path).doc)
}

// TestCutJournal: a journal that ends anywhere, or goes on as nonsense, gives what
// stands before.
func TestCutJournal(t *testing.T) {
	t.Parallel()
	path := sessionPath(t)
	s := opened(t, path)
	all := story(false)[:7] // no cell has ended: all of it is in the journal
	for _, e := range all {
		if err := s.Record([]steps.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	killed(s)
	journal, file := contents(t, JournalPath(path)), contents(t, path)
	for size := 0; size <= len(journal); size = step(size, len(journal)) {
		// The first line says whose it is.
		lines := max(0, strings.Count(journal[:size], "\n")-1)
		for _, more := range []string{"", "\x00\x00\n{}\n"} {
			d, err := Decode([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			whole := d.replay([]byte(journal[:size] + more))
			if size == len(journal) && whole != (more == "") {
				t.Errorf("with %q behind it the journal is whole: %v", more, whole)
			}
			samePages(t, told(t, all[:lines]...), d)
			if t.Failed() {
				t.Fatalf("cut at %d", size)
			}
		}
	}
}

// step goes on by a prime, and to the last one.
func step(at, last int) int {
	if at < last {
		return min(at+17, last)
	}
	return last + 1
}

// TestKill really kills a process, at a random place, again and again. Every event
// that it said to be kept is kept.
func TestKill(t *testing.T) {
	if path := os.Getenv("NOTEBOOK_TEST_CHILD"); path != "" {
		child(path)
		return
	}
	path := sessionPath(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "NOTEBOOK_TEST_CHILD="+path)
		cmd.Stderr = os.Stderr
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(pipe)
		count, until := 0, 1+random.IntN(700)
		var last string
		for in.Scan() {
			last = in.Text()
			if count++; count == until {
				_ = cmd.Process.Signal(syscall.SIGKILL) // it may be over already, which is seen below
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("it ended by itself after %d lines", count)
		}
		var run, line int
		if _, err := fmt.Sscanf(last, "%d %d", &run, &line); err != nil {
			t.Fatalf("%q: %v", last, err)
		}
		d, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		s := d.Book.Cells["hosts"]
		if int(s.Run) < run || int(s.Run) == run && s.Output.Len() < line {
			t.Errorf("killed after %q: the session is at run %d with %d lines", last, s.Run, s.Output.Len())
		}
		for i, l := range s.Output.Lines(0, s.Output.Len()) {
			if l.Text != fmt.Sprint(i+1) {
				t.Fatalf("line %d is %q", i+1, l.Text)
			}
		}
	}
}

// child records runs of 100 lines for ever, and says what is kept.
func child(path string) {
	s, err := Open(path, lesson(), Options{Railbench: "v1", Rig: "lab"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for run := s.Runs() + 1; ; run++ {
		keep := func(line int, e steps.Event) {
			if err := s.Record([]steps.Event{e}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			if _, err := fmt.Println(run, line); err != nil {
				os.Exit(2)
			}
		}
		keep(0, steps.CellStarted{Run: run, Cell: "hosts", At: time.Now()})
		for line := 1; line <= 100; line++ {
			keep(line, steps.CellPrinted{
				Run: run, Cell: "hosts",
				Lines: []steps.OutputLine{out("spark-02", "", fmt.Sprint(line))},
			})
		}
		keep(100, steps.CellEnded{Run: run, Cell: "hosts", Verdict: steps.Verdict{Grade: steps.Pass}})
	}
}

func TestSecondRailbench(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	before := contents(t, path)
	_, err := Open(path, lesson(), options)
	host, _ := os.Hostname()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("process id ", os.Getpid())) ||
		!strings.Contains(err.Error(), host) || !strings.Contains(err.Error(), "since 2026-03-04") {
		t.Errorf("the second is told: %v", err)
	}
	// It can be read meanwhile.
	if _, err := Read(path); err != nil {
		t.Error(err)
	}
	if contents(t, path) != before {
		t.Error("the second changed the file")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, lesson(), options)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestContinue(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	all := story(false)
	if err := s.Record(all[:len(all)-3]); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, path)
	if s.Runs() != 5 || len(s.Left) != 0 {
		t.Errorf("after run %d, left %v", s.Runs(), s.Left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Another rig's results don't go under this one's name.
	for _, o := range []Options{{Rig: "other"}, {Rig: "lab", Simulated: true}} {
		before := contents(t, path)
		if _, err := Open(path, lesson(), o); err == nil || !strings.Contains(err.Error(), "the rig lab") {
			t.Errorf("%+v: %v", o, err)
		}
		if contents(t, path) != before {
			t.Error("the file was changed")
		}
		if _, err := os.Stat(JournalPath(path)); err == nil {
			t.Error("a journal is left")
		}
	}
}

// TestBadFiles: each bad file is reported as what it is, and stays as it was.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	good := string(encoded(t, told(t, story(true)...)))
	newer := strings.Replace(good, `"format": 1`, `"format": 2`, 1)
	var sorted map[string]any // as Jupyter saves it: the metadata come last
	if err := json.Unmarshal([]byte(good), &sorted); err != nil {
		t.Fatal(err)
	}
	jupyter, err := json.MarshalIndent(sorted, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content, says string
		cells         int // that are recovered
	}{
		"empty":  {"", "empty", 0},
		"blank":  {" \n\n", "empty", 0},
		"text":   {"# my notes\n", "no Jupyter notebook", 0},
		"JSON":   {`{"a": 1}`, "no Jupyter notebook", 0},
		"a list": {`[1, 2]`, "no Jupyter notebook", 0},
		"null":   {`null`, "no Jupyter notebook", 0},
		"binary": {"\x7fELF\x00\x00", "no Jupyter notebook", 0},
		"another notebook": {
			`{"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": []}`,
			"not a session that railbench saved", 0,
		},
		"nbformat 5": {
			strings.Replace(good, `"nbformat": 4`, `"nbformat": 5`, 1),
			"newer format, nbformat 5.5", 0,
		},
		"nbformat 3": {
			strings.Replace(good, `"nbformat": 4`, `"nbformat": 3`, 1),
			"old format, nbformat 3.5", 0,
		},
		"newer railbench": {newer, "newer railbench (v1.2.3, format 2)", 0},
		"newer and odd":   {strings.Replace(newer, `"rig": {`, `"rig": [{}], "was": {`, 1), "newer railbench", 0},
		"odd metadata": {
			strings.Replace(good, `"rig": {`, `"rig": [{}], "was": {`, 1),
			"metadata.railbench can't be read", 0,
		},
		"cut":               {good[:len(good)*2/3], "cut short or damaged", 3},
		"cut at the end":    {good[:len(good)-3], "cut short or damaged", 13},
		"cut, from Jupyter": {string(jupyter[:len(jupyter)*2/3]), "cut short or damaged", 3},
		"broken":            {strings.Replace(good, `"id": "bw"`, `"id": bw"`, 1), "cut short or damaged", 3},
		"two in one":        {good + good, "cut short or damaged", 13},
	} {
		t.Run(name, func(t *testing.T) {
			path := sessionPath(t)
			if err := os.WriteFile(path, []byte(c.content), 0o640); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path, lesson(), Options{Rig: "lab", Simulated: true})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Fatalf("it says %v", err)
			}
			if contents(t, path) != c.content {
				t.Error("the file was changed")
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			if c.cells == 0 {
				if len(left) != 1 {
					t.Errorf("there are %v now", left)
				}
				return
			}
			found, err := Read(filepath.Join(filepath.Dir(path), "s-recovered.ipynb"))
			if err != nil {
				t.Fatalf("%v: %v", left, err)
			}
			cells := 0
			for _, p := range found.shown() {
				cells += 2*len(p.Cells) + 1
			}
			if cells < c.cells || !found.Book.Rig.Simulated {
				t.Errorf("recovered are %d cells, simulated %v", cells, found.Book.Rig.Simulated)
			}
			if h := found.Book.Cells["hosts"]; h.Output.Len() != 1 {
				t.Errorf("the first cell is %+v", h)
			}
			// The next attempt takes another name.
			if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "s-recovered-2.ipynb") {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestCutAnywhere: wherever a file ends, the result is an error and never a panic, and cells that were whole
// come back.
func TestCutAnywhere(t *testing.T) {
	good := encoded(t, told(t, story(true)...))
	most := 0
	for size := 0; size < len(good)-2; size += 61 {
		_, err := Decode(good[:size])
		if err == nil {
			t.Fatalf("cut at %d of %d bytes it is a session", size, len(good))
		}
		if d, ok := errors.AsType[*Damaged](err); ok {
			if d.Cells < most {
				t.Errorf("cut at %d: %d cells, and %d before", size, d.Cells, most)
			}
			most = d.Cells
		}
	}
	if most < 12 {
		t.Errorf("at most %d cells came back", most)
	}
}

func TestReadOnly(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, lesson(), options); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Stat(JournalPath(path)); err == nil {
		t.Error("a journal was made")
	}
	// A file that is made read-only while it is open is reported, and its events are kept in the journal.
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	s = opened(t, path)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	all := story(false)
	if err := s.Record(all[:8]); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("it says %v", err)
	}
	if err := s.Close(); err == nil {
		t.Error("closing does not say that it is not saved")
	}
	if contents(t, path) != before {
		t.Error("the file was changed")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	samePages(t, settled(t, all[:8]), opened(t, path).doc)
}

// TestFullDisk: what was there stays, and what can't be written is reported. Once there is room again, all of
// it is saved.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, journalToo := range []bool{false, true} {
		path := sessionPath(t)
		s := opened(t, path)
		all := story(false)
		if err := s.Record(all[:8]); err != nil {
			t.Fatal(err)
		}
		before := contents(t, path)
		s.replace = func(string, []byte) error { return syscall.ENOSPC }
		if journalToo {
			s.write = func(f *os.File, b []byte) (int, error) {
				n, _ := f.Write(b[:len(b)/2])
				return n, syscall.ENOSPC
			}
		}
		for _, e := range all[8:13] {
			err := s.Record([]steps.Event{e})
			_, ended := e.(steps.CellEnded)
			if (ended || journalToo) && (err == nil || !errors.Is(err, syscall.ENOSPC)) {
				t.Errorf("%T: it says %v", e, err)
			}
		}
		if contents(t, path) != before {
			t.Error("the file was changed")
		}
		s.replace, s.write = replace, (*os.File).Write
		if err := s.Record(all[13:]); err != nil {
			t.Errorf("there is room again: %v", err)
		}
		killed(s)
		samePages(t, settled(t, all), opened(t, path).doc)
	}
}

// TestFullFileSystem is the same with a file system that is really full.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unmount(dir) })
	path := filepath.Join(dir, "s.ipynb")
	s := opened(t, path)
	all := story(false)
	if err := s.Record(all[:8]); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	ballast := filepath.Join(dir, "ballast")
	_ = os.WriteFile(ballast, make([]byte, 1<<20), 0o600) // until it is full
	flood := steps.CellPrinted{
		Run: 2, Cell: "bw",
		Lines: []steps.OutputLine{out("spark-02", "client", strings.Repeat("x", 1<<17))},
	}
	events := append(slices.Clone(all[8:11]), flood)
	if err := s.Record(append(events, all[12])); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it says %v", err)
	}
	if contents(t, path) != before {
		t.Error("the file was changed")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := append(append(slices.Clone(all[:8]), events...), all[12])
	samePages(t, settled(t, want), opened(t, path).doc)
}

// TestAnotherProgram: what Jupyter saved while the session was open is not
// overwritten.
func TestAnotherProgram(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	all := story(false)
	if err := s.Record(all[:8]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Record(all[8:13])
	if err == nil || !strings.Contains(err.Error(), "another program") ||
		!strings.Contains(err.Error(), "s-railbench.ipynb") {
		t.Errorf("it says %v", err)
	}
	if contents(t, path) != "theirs" {
		t.Error("it was overwritten")
	}
	if err := s.Record(all[13:]); err == nil {
		t.Error("it is said once only")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := Read(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	samePages(t, settled(t, all), d)
	if contents(t, path) != "theirs" {
		t.Error("it was overwritten")
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"s.json", "s", filepath.Join("no", "s.ipynb")} {
		if _, err := Open(filepath.Join(dir, name), lesson(), options); err == nil {
			t.Errorf("%s is a session", name)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d.ipynb"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "d.ipynb"), lesson(), options); err == nil {
		t.Error("a folder is a session")
	}
	// A file's mode stays, and a link is refused: what it leads to is named to be taken.
	real, link := filepath.Join(dir, "real.ipynb"), filepath.Join(dir, "link.ipynb")
	if err := opened(t, real).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, real).Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
	if err := os.Symlink("real.ipynb", link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link, lesson(), options); err == nil ||
		!strings.Contains(err.Error(), "it is a link to real.ipynb") {
		t.Errorf("a link was opened: %v", err)
	}
}

// TestTraps: what another user has put where a session or its journal is expected is neither written nor waited for.
func TestTraps(t *testing.T) {
	for _, ending := range []string{"", ".journal"} {
		for name, put := range map[string]func(path, precious string) error{
			"link":          func(path, precious string) error { return os.Symlink(precious, path) },
			"dangling link": func(path, precious string) error { return os.Symlink(precious+"-new", path) },
			"pipe":          func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
			"device":        func(path, _ string) error { return os.Symlink("/dev/zero", path) },
		} {
			dir := t.TempDir()
			path, precious := filepath.Join(dir, "s.ipynb"), filepath.Join(dir, "precious")
			if ending != "" {
				if err := opened(t, path).Close(); err != nil {
					t.Fatal(err)
				}
			}
			before := "precious\n"
			if err := os.WriteFile(precious, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := put(path+ending, precious); err != nil {
				t.Fatal(err)
			}
			if s, err := Open(path, lesson(), options); err == nil {
				t.Errorf("%s%s: it was opened", name, ending)
				s.Close()
			}
			if _, err := Read(path); err == nil {
				t.Errorf("%s%s: it was read", name, ending)
			}
			if _, ok := CutOff(path); ok {
				t.Errorf("%s%s: it was taken for cut off", name, ending)
			}
			if b, err := os.ReadFile(precious); err != nil || string(b) != before {
				t.Errorf("%s%s: the user's file is %q now (%v)", name, ending, b, err)
			}
			if _, err := os.Lstat(precious + "-new"); err == nil {
				t.Errorf("%s%s: a file was made where a link leads", name, ending)
			}
		}
	}
}

// TestEditedScript: a script that was edited while railbench ran is the one that the
// journal has.
func TestEditedScript(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	if err := s.Record([]steps.Event{steps.CellStarted{
		Run: 1, Cell: "hosts",
		At: began, Scripts: []string{"edited"},
	}}); err != nil {
		t.Fatal(err)
	}
	killed(s)
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Book.Cells["hosts"]; s.Running || s.Verdict.Reason != unfinished {
		t.Errorf("nobody runs it any more, and it is %+v", s)
	}
	if c := d.Ran()[0]; c.Roles[0].Script != "edited" || c.Prose != lesson().Parts[0].Cells[0].Prose {
		t.Errorf("it ran %+v", c)
	}
}

// TestEdits: cells that were edited, added, moved and removed are so again, from the
// journal and from the file, and can be run.
func TestEdits(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	look := lesson().Parts[0].Cells
	bw, hosts := look[1], look[0]
	bw.Roles = slices.Clone(bw.Roles)
	bw.Roles[0].Script, bw.Edited = "serve twice", true
	scratch := steps.Cell{
		ID: "scratch-1", Part: "look", Title: "Scratch", Scratch: true,
		Judge: "exit-status", Limit: time.Minute, Roles: []steps.Role{{On: steps.OnPeer, Script: "uptime"}},
	}
	note := steps.Cell{ID: "scratch-2", Part: "look", Title: "Scratch", Scratch: true, Prose: "A *note*."}
	events := []steps.Event{
		steps.CellStarted{Run: 1, Cell: "bw", At: began, Scripts: bwScripts},
		steps.CellEnded{Run: 1, Cell: "bw", Verdict: steps.Verdict{Grade: steps.Pass}},
		steps.PartChanged{Part: "look", Cells: []steps.Cell{bw, note, scratch, hosts}},
		steps.PartChanged{Part: "end", Cells: lesson().Parts[1].Cells[:1]},
		steps.CellStarted{Run: 2, Cell: "scratch-1", At: began, Scripts: []string{"uptime"}},
	}
	if err := s.Record(events); err != nil {
		t.Fatal(err)
	}
	killed(s)
	for _, from := range []string{"the journal", "the file"} {
		s := opened(t, path)
		got := s.doc.Book.Tutorial
		if d := cmp.Diff([]steps.Cell{bw, note, scratch, hosts}, got.Parts[0].Cells); d != "" {
			t.Errorf("from %s: %s", from, d)
		}
		if len(got.Parts[1].Cells) != 1 {
			t.Errorf("from %s: a cell that was removed is there: %+v", from, got.Parts[1].Cells)
		}
		if why := s.Book().Stale("bw"); why != "its script was changed after it ran" {
			t.Errorf("from %s: bw is stale because %q", from, why)
		}
		if c := s.doc.Book.Cells["scratch-1"]; c.Run != 2 || c.Verdict.Grade != steps.Inconclusive {
			t.Errorf("from %s: %+v", from, c)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if b := string(d.Markdown()); strings.Contains(b, "serve twice") || !strings.Contains(b, "A *note*.") {
		t.Errorf("the page has the script that did not run, or lacks the note: %s", b)
	}
}

// TestStale: what is out of date still is after it was saved.
func TestStale(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	for _, e := range []steps.Event{
		steps.RigProbed{Rig: rig(false)},
		steps.CellStarted{Run: 1, Cell: "bw", At: began, Scripts: bwScripts},
		steps.CellEnded{Run: 1, Cell: "bw", Verdict: steps.Verdict{Grade: steps.Pass}},
	} {
		if err := s.Record([]steps.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b := opened(t, path).Book()
	if why := b.Stale("bw"); why != "" {
		t.Errorf("nothing has changed, and it is stale: %s", why)
	}
	now := rig(false)
	now.Nodes[steps.Peer].Rails[0].Netdev.Master = "bond0"
	if why := b.Apply(steps.RigProbed{Rig: now}).Stale("bw"); why != "enp0 on spark-01 is in bond0 now" {
		t.Errorf("a bond was made, and it is stale because %q", why)
	}
	lan := rig(false)
	if d := cmp.Diff(wireRig(lan), wireRig(wireRig(lan).rig())); d != "" {
		t.Error(d)
	}
}

// TestLongJournal: a flood does not let the journal grow without an end.
func TestLongJournal(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	s.limit = 100_000
	var lines []steps.OutputLine
	for range 1000 {
		lines = append(lines, out("spark-02", "client", "0123456789"))
	}
	events := []steps.Event{steps.CellStarted{Run: 1, Cell: "bw", At: began}}
	for range 20 {
		events = append(events, steps.CellPrinted{Run: 1, Cell: "bw", Lines: lines})
	}
	for _, e := range events {
		if err := s.Record([]steps.Event{e}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(JournalPath(path)); err != nil || info.Size() > s.limit+20_000 {
			t.Fatalf("the journal: %v, %v", info, err)
		}
	}
	killed(s)
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if o := d.Book.Cells["bw"].Output; o.Len()+o.Dropped() != 20000 {
		t.Errorf("%d lines, and %d dropped", o.Len(), o.Dropped())
	}
}

// badIDs are what no cell and no part is called: a path is made of an id, and a line.
var badIDs = []string{
	"../up", "x/../../../up", "a/b", "..", ".", "-x", "a\x00b",
	"a\nPASS  b", "a\x1b[31m", "a\u202eb", "A", "a b", strings.Repeat("a", 101),
}

func TestIDsAreChecked(t *testing.T) {
	path := sessionPath(t)
	s := opened(t, path)
	if err := s.Record(story(true)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(good); err != nil {
		t.Fatal(err)
	}
	for _, id := range badIDs {
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{`"cell": "bw"`, `"part": "look"`} {
			name, _, _ := strings.Cut(key, ":")
			bad := strings.ReplaceAll(string(good), key, name+": "+string(quoted))
			if bad == string(good) {
				t.Fatalf("the file has no %s", key)
			}
			if _, err := Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), "is not an id") {
				t.Errorf("%s %q: %v", name, id, err)
			}
		}
		for _, line := range []string{
			`{"seq":900,"event":"started","cell":%s,"run":7}`,
			`{"seq":900,"event":"started","cell":"x","run":7,"def":{"kind":"cell","part":"p","cell":%s,"roles":[]}}`,
			`{"seq":900,"event":"started","cell":"x","run":7,"def":{"kind":"cell","part":%s,"cell":"x","roles":[]}}`,
			`{"seq":900,"event":"part","part":"look","cells":[{"ID":%s}]}`,
		} {
			d, err := Decode(good)
			if err != nil {
				t.Fatal(err)
			}
			if d.replay([]byte("{}\n" + fmt.Sprintf(line, quoted) + "\n")) {
				t.Errorf("the journal's %s was taken with %q", line, id)
			}
		}
	}
	// A place that does not exist would crash a program that uses it.
	for on, fine := range map[string]bool{
		"0": true, "3": true, "4": false, "255": false, "-1": false, `"both"`: false,
		"{}": false,
	} {
		d, err := Decode(good)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf(`{"seq":900,"event":"part","part":"look","cells":[{"ID":"x","Roles":[{"On":%s,"Script":"id"}]}]}`,
			on)
		if d.replay([]byte("{}\n"+line+"\n")) != fine {
			t.Errorf("a script on %s", on)
		}
	}
}
