package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// A launcher says what is run, and nobody names its file: somebody else's is not used, and neither is
// the built-in one of its name.
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
	text := "program = \"/tmp/evil\"\narguments = [\"{program}\"]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for what, own := range map[string]string{"its file": file, "its folder": dir} {
		if err := os.Chown(own, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		all, err := launchers()
		if _, used := all["openmpi"]; used || err == nil || !strings.Contains(err.Error(), "another user") ||
			len(all) != len(built)-1 {
			t.Errorf("%s is somebody else's: %v, %d launchers", what, err, len(all))
		}
		if err := os.Chown(own, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
