package safefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// What is run or handed over lies where no one else can put it.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	file := func(dir, name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, open, sticky := folder("good", 0o755), folder("open", 0o777), folder("sticky", 0o777|os.ModeSticky)
	own := file(good, "own", 0o755)
	link, out := filepath.Join(good, "link"), filepath.Join(good, "out")
	inOpen := file(open, "in", 0o755)
	for name, to := range map[string]string{link: own, out: inOpen} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	far := filepath.Join(open, "below", "far")
	if err := os.MkdirAll(far, 0o755); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{
		file(far, "in", 0o755): false, file(good, "group", 0o775): os.Getegid() == 0 || alone(uint32(os.Getegid())),
		own: true, link: true, file(good, "all-write", 0o757): false, inOpen: false, out: false,
		file(sticky, "in", 0o755): false, good: false, filepath.Join(good, "missing"): false,
	}
	if testform.Root() {
		foreign := file(good, "foreign", 0o755)
		theirs := folder("theirs", 0o755)
		inTheirs := file(theirs, "in", 0o755)
		for _, path := range []string{foreign, theirs} {
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
		tried[foreign], tried[inTheirs] = false, false
	}
	for path, want := range tried {
		if err := Program(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
