package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Folders of processes that were killed are removed; those of processes that run, and
// what has another name, stay.
func TestFolders(t *testing.T) {
	const name = "railbench-test-"
	temp := t.TempDir()
	left := filepath.Join(temp, name+"left")
	other := filepath.Join(temp, "somebody-else")
	for _, dir := range []string{left, other} {
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A name is no reason to follow a link.
	if err := os.Symlink(other, filepath.Join(temp, name+"link")); err != nil {
		t.Fatal(err)
	}
	a, err := Hold(temp, name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Hold(temp, name)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{left: false, filepath.Join(other, "data"): true, a.Path: true, b.Path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", path, err, want)
		}
	}
	if err := errors.Join(a.Remove(), b.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.Path); !os.IsNotExist(err) {
		t.Errorf("removed: %v", err)
	}
}

// Processes that start at once, each sweeping, take nothing from each other.
func TestFoldersAtOnce(t *testing.T) {
	const name = "railbench-test-"
	temp := t.TempDir()
	made := make(chan *Folder)
	const many = 20
	for range many {
		go func() {
			f, err := Hold(temp, name)
			if err != nil {
				t.Error(err)
			}
			made <- f
		}()
	}
	for range many {
		f := <-made
		if f == nil {
			continue
		}
		defer f.Remove()
		if _, err := os.Stat(f.Path); err != nil {
			t.Error(err)
		}
	}
}
