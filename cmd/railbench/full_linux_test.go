package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/rigfile"
)

// A file of a result that finds no room is not a wrong usage, whichever verb writes it.
func TestFullDisksOfResults(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept.ipynb")
	if code := Main([]string{"run", "hosts", "--rig", "sim", "--speed", "max", "--session", kept}, strings.NewReader(""),
		&strings.Builder{}, &strings.Builder{}); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"); err != nil {
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 8<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := []string{"--rig", "sim", "--speed", "max"}
	for _, args := range [][]string{
		append(sim, "run", "hosts", "--session", "x.ipynb"),
		append(sim, "run", "hosts", "--junit", "x.xml"),
		append(sim, "pairs", "--save", "x.json"),
		append(sim, "pairs", "--csv", "x.csv"),
		append(sim, "pairs", "--html", "x.html"),
		{"export", kept, "-o", "x.md"},
		{"compare", kept, kept, "-o", "x.html"},
		{"new", "x.md"},
	} {
		file := &args[len(args)-1]
		*file = filepath.Join(dir, *file)
		var errs strings.Builder
		if code := Main(args, strings.NewReader(""), &strings.Builder{}, &errs); code != exitUnwritten ||
			!strings.Contains(errs.String(), "no space left") {
			t.Errorf("%q: exit %d, want %d: %s", args, code, exitUnwritten, &errs)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%q: %v, %v is left", args, err, left)
		}
	}
	// What railbench init writes, for which there have to be nodes, and railbench rig.
	if s, ok := errors.AsType[status](writeRig(filepath.Join(dir, "x.toml"), rigfile.File{}, false)); !ok ||
		s.code != exitUnwritten {
		t.Errorf("the rig file: %v", s)
	}
	t.Setenv("XDG_STATE_HOME", dir)
	var errs strings.Builder
	if code := Main([]string{"rig", "status"}, strings.NewReader(""), &errs, &errs); code != exitUnwritten {
		t.Errorf("the rig's script: exit %d: %s", code, &errs)
	}
}

// A verb whose help lists exit statuses lists the status for a full disk, too: all verbs have it.
func TestExitStatusesAreAllTold(t *testing.T) {
	told := 0
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		if _, statuses, ok := strings.Cut(cmd.Long, "Exit status"); ok {
			if told++; !strings.Contains(statuses, " 5 ") && !strings.Contains(statuses, "\n5 ") {
				t.Errorf("%s doesn't tell exit status 5:%s", cmd.CommandPath(), statuses)
			}
		}
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	if look(rootCommand()); told < 10 {
		t.Errorf("only %d verbs tell their exit statuses", told)
	}
}
