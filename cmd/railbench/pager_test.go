package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// program puts a shell script into a folder of programs.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestOpenPager(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	state, err := stateDir()
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(state, "logs", "20261122T200000Z-1")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	log, foreign := filepath.Join(logs, "001-hosts.log"), filepath.Join(t.TempDir(), "001-hosts.log")
	for _, path := range []string{log, foreign} {
		if err := os.WriteFile(path, []byte("from the log\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(logs, "002-hosts.log")
	if err := os.Symlink(foreign, link); err != nil {
		t.Fatal(err)
	}
	text := func() string { return "from the screen\n" }
	show := func(log string) (out string, err error) {
		t.Helper()
		cmd, err := openPager(log, text)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		cmd.SetStdout(&b)
		cmd.SetStderr(&b)
		err = cmd.Run()
		return b.String(), err
	}
	prints := func(name string) {
		program(t, bin, name, `echo "`+name+
			` $# $1"; for last in "$@"; do :; done; while IFS= read -r line; do echo "$line"; done <"$last"`)
	}

	t.Setenv("PAGER", "")
	if _, err := show(log); err == nil || !strings.Contains(err.Error(), "neither less nor more") ||
		!strings.Contains(err.Error(), "$PAGER") {
		t.Errorf("without a pager: %v", err)
	}
	prints("more")
	if out, err := show(""); err != nil || !strings.HasPrefix(out, "more 1 ") ||
		!strings.HasSuffix(out, "\nfrom the screen\n") {
		t.Errorf("without less: %q, %v", out, err)
	}
	prints("less")
	if out, err := show(log); err != nil || out != "less 2 -R\nfrom the log\n" {
		t.Errorf("with less: %q, %v", out, err)
	}
	prints("mine")
	t.Setenv("PAGER", "mine --one two")
	if out, err := show(log); err != nil || out != "mine 3 --one\nfrom the log\n" {
		t.Errorf("with $PAGER: %q, %v", out, err)
	}
	if out, err := show(log + ".removed"); err != nil || out != "mine 3 --one\nfrom the screen\n" {
		t.Errorf("with a log that is gone: %q, %v", out, err)
	}
	// A session may name any file as its log: what railbench has not written is not shown as it is.
	for _, named := range []string{
		foreign, link, filepath.Join(logs, "..", "..", "..", filepath.Base(foreign)),
		logs + "/../../../" + "x", "+q",
	} {
		if out, err := show(named); err != nil || out != "mine 3 --one\nfrom the screen\n" {
			t.Errorf("with %s: %q, %v", named, out, err)
		}
	}
	t.Setenv("PAGER", "nonesuch -x")
	if _, err := show(log); err == nil || !strings.Contains(err.Error(), "$PAGER is nonesuch") {
		t.Errorf("with a pager that is missing: %v", err)
	}
	program(t, bin, "fails", "exit 3")
	t.Setenv("PAGER", "fails")
	if _, err := show(""); err == nil || !strings.Contains(err.Error(), "3") {
		t.Errorf("with a pager that fails: %v", err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A session in a terminal: the pager has it, and ctrl+c there ends nothing here.
func TestPagerInATerminal(t *testing.T) {
	bin := t.TempDir()
	program(t, bin, "reads",
		`trap 'heard=1; echo "INTERRUPTED"' INT; cat "$1"; echo "READING"; until [ "$heard" ]; do sleep 1; done
until read -r line; do :; done; echo "HAS READ $line"`)
	t.Setenv("PAGER", filepath.Join(bin, "reads"))
	self, err := exec.LookPath("railbench") // of TestMain
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, self, "--rig", "sim", "--speed", "max")
	s.wait("●")
	s.send("2\x1b[B\r")
	s.wait("PASS")
	s.send("|")
	s.wait("READING")
	s.send("\x03")
	s.wait("INTERRUPTED")
	s.send("enough\r")
	s.wait("HAS READ enough")
	s.wait("\x1b[?1049h") // the screen is back: what is typed before belongs to no one
	s.send("Y")
	s.wait("\x1b]52;c;")
	s.send("q")
	if err := s.End(); err != nil {
		t.Errorf("it ended with %v: %q", err, s.Text())
	}
}

// A page goes to the user's pager where it is read on a terminal, and to the terminal
// itself where there is no pager.
func TestDocsOnATerminal(t *testing.T) {
	for _, c := range []struct{ name, pager, path string }{
		{"a pager", "sed s/Verdicts/PAGED/", os.Getenv("PATH")},
		{"none", "", t.TempDir()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PAGER", c.pager)
			t.Setenv("PATH", c.path)
			got := onTerminal(t, 70, "docs", "verdicts")
			if strings.Contains(got, "PAGED") != (c.pager != "") || !strings.Contains(got, "INCONCLUSIVE") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// What is listed on a terminal is broken between words, whatever its width; elsewhere a sentence is a line.
func TestListsOnATerminal(t *testing.T) {
	for _, args := range [][]string{{"sim", "--fault", "list"}, {"list", "--params"}} {
		narrow, whole := onTerminal(t, 60, args...), strings.Builder{}
		if code := Main(args, strings.NewReader(""), &whole, io.Discard); code != exitOK {
			t.Errorf("%q: exit status %d", args, code)
		}
		if got, want := strings.Fields(narrow), strings.Fields(whole.String()); !slices.Equal(got, want) {
			t.Errorf("%q: on a terminal it has other words", args)
		}
		if strings.Count(narrow, "\n") <= strings.Count(whole.String(), "\n") {
			t.Errorf("%q: nothing is broken", args)
		}
	}
	if text := onTerminal(t, 80, "init", "--rig", "sim"); !strings.Contains(text, "  PCIe x4: ") {
		t.Errorf("no rail of a Spark's is told on a terminal of 80 columns: %s", text)
	}
}

// onTerminal is what a command prints on a terminal so wide, which no line of it may leave.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with EIO, which is how a terminal ends
		done <- string(text)
	}()
	var errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), terminal, &errs); code != exitOK {
		t.Errorf("%q: exit status %d: %s", args, code, errs.String())
	}
	terminal.Close()
	text := <-done
	for line := range strings.Lines(text) {
		if w := ansi.StringWidth(strings.TrimRight(line, "\r\n")); w > int(columns) {
			t.Errorf("%q: %d columns on a terminal of %d: %q", args, w, columns, line)
		}
	}
	return text
}
