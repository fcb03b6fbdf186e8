package safefile

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/railbench/railbench/runner/testform"
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
	// A name is not a reason to follow a link.
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

// TestFoldersThatKeepWhatRuns: in another user's folder one's own files may have each other's names, and where
// everybody may write so may he.
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
			return errors.Join(os.MkdirAll(dir, 0o700), give(dir, 12345))
		}, false},
		"below somebody else's": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), give(filepath.Dir(dir), 12345))
		}, false},
		"far below everybody's": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o777))
		}, false},
		"far below everybody's, sticky": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o777|os.ModeSticky))
		}, true},
		"far below somebody else's": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), give(filepath.Dir(filepath.Dir(dir)), 12345))
		}, false},
		"below a group's": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(filepath.Dir(dir), 0o770), give(filepath.Dir(dir), -1))
		}, false},
		"of a group that may not write": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), give(dir, -1), os.Chmod(dir, 0o750|os.ModeSetgid))
		}, true},
		"a link into everybody's": {func(dir string) error {
			to := filepath.Join(t.TempDir(), "open", "own")
			return errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.MkdirAll(to, 0o700), os.Chmod(filepath.Dir(to), 0o777),
				os.Symlink(to, dir))
		}, false},
		"by somebody else's link": {func(dir string) error {
			to := filepath.Join(t.TempDir(), "railbench")
			err := errors.Join(os.MkdirAll(filepath.Join(to, "trusted"), 0o700),
				os.MkdirAll(filepath.Dir(filepath.Dir(dir)), 0o700),
				os.Symlink(to, filepath.Dir(dir)))
			if !testform.Root() {
				return errors.Join(err, os.Chmod(to, 0o777))
			}
			return errors.Join(err, os.Lchown(filepath.Dir(dir), 12345, 12345))
		}, false},
		"a link to itself": {func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Symlink(dir, dir))
		}, false},
	} {
		dir := filepath.Join(t.TempDir(), "above", "railbench", "trusted")
		if err := c.make(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Keeps(dir); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// give makes a path another user's, or, with -1, of a group that is unknown. Only root can: for others everybody may
// write there, which is as bad.
func give(path string, uid int) error {
	if !testform.Root() {
		return os.Chmod(path, 0o777)
	}
	return os.Chown(path, uid, 12345)
}

// An access list may let other users write, though the group of the folder is the user's own.
func TestAccessList(t *testing.T) {
	entry := func(tag, perm uint16, id uint32) []byte {
		b := binary.LittleEndian.AppendUint16(nil, tag)
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(b, perm), id)
	}
	const any = 0xffffffff
	list := slices.Concat(binary.LittleEndian.AppendUint32(nil, 2),
		entry(1, 7, any), entry(2, 7, 12345), entry(4, 0, any), entry(0x10, 7, any), entry(0x20, 0, any))
	dir := filepath.Join(t.TempDir(), "railbench")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("setfacl", "-m", "u:12345:rwx", dir).CombinedOutput(); err != nil {
		if err := setList(dir, list); err != nil {
			t.Skipf("no access list can be set here: %v: %s", err, out)
		}
	}
	if err := Keeps(dir); err == nil {
		t.Error("a folder into which somebody may write keeps what runs")
	}
}

// What a file says is done only where no one else may have written it.
func TestReadOwn(t *testing.T) {
	for mode, fine := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o400: true, 0o666: false, 0o602: false} {
		path := filepath.Join(t.TempDir(), "file")
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadOwn(path, 10); (err == nil) != fine {
			t.Errorf("%v: %v", mode, err)
		}
	}
}
