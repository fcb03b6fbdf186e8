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

// TestFoldersThatKeepWhatRuns: in somebody else's folder one's own files may have each other's
// names, and where everybody may write so may he.
func TestFoldersThatKeepWhatRuns(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		fine bool
	}{
		"not there":   {func(string) error { return nil }, true},
		"one's own":   {func(dir string) error { return os.MkdirAll(dir, 0o700) }, true},
		"a group's":   {func(dir string) error { return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o770)) }, true},
		"everybody's": {func(dir string) error { return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o777)) }, false},
		"everybody's, sticky": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o777|os.ModeSticky))
		}, true},
		"below everybody's": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(filepath.Dir(dir), 0o777))
		}, false},
		"a file": {func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.WriteFile(dir, nil, 0o600))
		}, false},
		"a link to one's own": {func(dir string) error {
			to := t.TempDir()
			return errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Symlink(to, dir))
		}, true},
		"somebody else's": {func(dir string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(filepath.Dir(dir), nil, 0o600) // only root can give a folder away
			}
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chown(dir, 12345, 12345))
		}, false},
		"below somebody else's": {func(dir string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(filepath.Dir(dir), nil, 0o600)
			}
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chown(filepath.Dir(dir), 12345, 12345))
		}, false},
	} {
		dir := filepath.Join(t.TempDir(), "railbench", "trusted")
		if err := c.make(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Keeps(dir); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
