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
