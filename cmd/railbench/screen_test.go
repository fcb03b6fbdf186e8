package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// build compiles a package of this module into a binary.
func build(tb testing.TB, pkg string) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v: %s", pkg, err, out)
	}
	return bin
}

// shipped is railbench as everybody builds it, but for what only a debugger reads, once for all tests.
func shipped(tb testing.TB) string {
	tb.Helper()
	bin, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

var built = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(scratch, "bin", "railbench")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-buildvcs=false", "-o", bin, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build railbench: %w: %s", err, out)
	}
	return bin, nil
})

// A terminalScreen is a program in a pseudo-terminal, until the end of the test.
type terminalScreen struct {
	*pseudoTerminal
	tb testing.TB
}

func start(tb testing.TB, bin string, args ...string) terminalScreen {
	tb.Helper()
	s, err := openTerminal(tb.TempDir(), nil, bin, args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return terminalScreen{s, tb}
}

func (s terminalScreen) wait(texts ...string) {
	s.tb.Helper()
	if _, err := s.Wait(texts...); err != nil {
		s.tb.Fatal(err)
	}
}

func (s terminalScreen) send(keys string) {
	s.tb.Helper()
	if err := s.Send(keys); err != nil {
		s.tb.Fatal(err)
	}
}
