package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// TestOutputsAreNobodysTrap: whatever a command writes, a link, a pipe, a folder or a device that stands there is
// refused: nothing hangs, and no one's file is overwritten or made.
func TestOutputsAreNobodysTrap(t *testing.T) {
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "saved.ipynb")
	var stderr bytes.Buffer
	if code := Main([]string{"run", "hosts", "--rig", "sim", "--speed", "max", "--session", saved}, strings.NewReader(""),
		&stderr, &stderr); code != exitOK {
		t.Fatal(stderr.String())
	}
	simulated := func(args ...string) []string { return append(args, "--rig", "sim", "--speed", "max") }
	i := 0 // a run that isn't whole takes others each time
	for verb, args := range map[string]func(file string) []string{
		"export -o":    func(f string) []string { return []string{"export", saved, "--to", "html", "-o", f} },
		"compare -o":   func(f string) []string { return []string{"compare", saved, saved, "-o", f} },
		"run --junit":  func(f string) []string { return simulated("run", "hosts", "--junit", f) },
		"doctor":       func(f string) []string { return simulated("doctor", "nodes", "--junit", f) },
		"run":          func(f string) []string { return simulated("run", "hosts", "--session", f+".ipynb") },
		"pairs --save": func(f string) []string { return simulated("pairs", "--save", f) },
		"pairs --csv":  func(f string) []string { return simulated("pairs", "--csv", f) },
		"pairs --html": func(f string) []string { return simulated("pairs", "--html", f) },
		"init -o":      func(f string) []string { return []string{"init", "-o", f, "--peer", "nobody@127.0.0.1:1"} },
		"new":          func(f string) []string { return []string{"new", f} },
	} {
		for kind, set := range map[string]func(dir, at string) error{
			"link":     func(dir, at string) error { return os.Symlink(filepath.Join(dir, "victim"), at) },
			"dangling": func(dir, at string) error { return os.Symlink(filepath.Join(dir, "nowhere"), at) },
			"pipe":     func(_, at string) error { return syscall.Mkfifo(at, 0o600) },
			"folder":   func(_, at string) error { return os.Mkdir(at, 0o700) },
			"device":   func(_, at string) error { return os.Symlink("/dev/full", at) },
		} {
			if i++; i%2 != 0 && !testform.Full() {
				continue
			}
			t.Run(verb+"/"+kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				at, victim := filepath.Join(dir, "out"), filepath.Join(dir, "victim")
				traps := []string{at}
				if verb == "run" { // its file, and in another run its journal
					traps = []string{at + ".ipynb", at + ".ipynb.journal"}
				}
				for _, trap := range traps {
					if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := set(dir, trap); err != nil {
						t.Fatal(err)
					}
					var out bytes.Buffer
					if code := Main(args(at), strings.NewReader(""), &out, &out); code == exitOK {
						t.Errorf("%s: a success: %s", filepath.Base(trap), &out)
					}
					if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
						t.Errorf("%s: the file behind it is %q (%v)", filepath.Base(trap), text, err)
					}
					if _, err := os.Stat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s: a file was made behind it", filepath.Base(trap))
					}
					if err := os.Remove(trap); err != nil {
						t.Errorf("%s: it is gone: %v", filepath.Base(trap), err)
					}
				}
			})
		}
	}
}

// TestOutputsAreLookedAtFirst: nothing is measured for a file that can't be written.
func TestOutputsAreLookedAtFirst(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"save":   {"pairs", "--rig", "sim", "--speed", "max"},
		"csv":    {"pairs", "--rig", "sim", "--speed", "max"},
		"html":   {"pairs", "show", "x.json"},
		"junit":  {"doctor", "--rig", "sim", "--speed", "max"},
		"output": {"export", "x.ipynb", "--to", "md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nowhere := filepath.Join(t.TempDir(), "nowhere")
			for path, why := range map[string]string{
				filepath.Join(nowhere, "file"): "the folder " + nowhere + " does not exist",
				filepath.Dir(nowhere):          "is a folder",
				"":                             "needs the name of a file",
			} {
				var out, errs bytes.Buffer
				all := append(slices.Clone(args), "--"+name, path)
				if code := Main(all, strings.NewReader(""), &out, &errs); code != exitUsage || out.Len() > 0 {
					t.Errorf("%q: exit %d, and on stdout %q", all, code, &out)
				}
				if said := errs.String(); !strings.Contains(said, "--"+name) || !strings.Contains(said, why) ||
					strings.Contains(said, "each pair") {
					t.Errorf("%q without %q: %s", all, why, said)
				}
			}
		})
	}
}
