package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// A launcher says what is run, and no one names its file: another user's is not used, and neither is the built-in one
// of its name.
func TestSomebodyElsesLauncher(t *testing.T) {
	testform.NeedsRoot(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	dir := filepath.Join(home, "config", "railbench", "launchers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	built, err := launchers()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "openmpi.toml")
	text := "program = \"/tmp/evil\"\nhost = \"{host}\"\nnodes = \"name\"\narguments = [\"{hosts}\", \"{mark}\"]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	linked, to := filepath.Join(dir, "mpich.toml"), filepath.Join(t.TempDir(), "downloaded.toml")
	if err := errors.Join(os.WriteFile(to, []byte(text), 0o644), os.Symlink(to, linked)); err != nil {
		t.Fatal(err)
	}
	if all, err := launchers(); err != nil || len(all) != len(built)+1 {
		t.Fatalf("a link of one's own: %v, %d launchers", err, len(all))
	}
	for theirs, gone := range map[string][]string{file: {"openmpi"}, dir: {"openmpi", "mpich"}, linked: {"mpich"}} {
		if err := os.Lchown(theirs, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		all, err := launchers()
		if err == nil || !strings.Contains(err.Error(), "another user") || len(all) != len(built)+1-len(gone) {
			t.Errorf("%s is somebody else's: %v, %d launchers", theirs, err, len(all))
		}
		for _, name := range gone {
			if _, used := all[name]; used {
				t.Errorf("%s is somebody else's: %s is used", theirs, name)
			}
		}
		if err := os.Lchown(theirs, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
