package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
)

// A new file has what the umask leaves of its permissions; one that was there keeps its own.
func TestUmask(t *testing.T) {
	umask := syscall.Umask(0o022)
	defer syscall.Umask(umask)
	for _, c := range []struct {
		umask            int
		perm, old, wants fs.FileMode
	}{
		{0o022, 0o644, 0, 0o644},
		{0o077, 0o644, 0, 0o600},
		{0o027, 0o644, 0, 0o640},
		{0o002, 0o664, 0, 0o664},
		{0, 0o644, 0, 0o644},
		{0, 0o600, 0, 0o600},
		{0o077, 0o644, 0o664, 0o664},
		{0o022, 0o644, 0o600, 0o600},
		{0o022, 0o600, 0o644, 0o644},
		{0o777, 0o644, 0, 0},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if c.old != 0 {
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, c.old)); err != nil {
				t.Fatal(err)
			}
		}
		syscall.Umask(c.umask)
		err := Replace(path, []byte("x"), c.perm)
		syscall.Umask(0o022)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || info.Mode().Perm() != c.wants {
			t.Errorf("umask %03o, %v, before %v: %v, want %v, %v", c.umask, c.perm, c.old, info.Mode(), c.wants, err)
		}
	}
}

// What a killed save has left goes with the next one; nothing else does.
func TestLeftoversOfAKilledSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.ipynb")
	put := func(name string, age time.Duration) string {
		t.Helper()
		at, then := filepath.Join(dir, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(at, []byte("half"), 0o600), os.Chtimes(at, then, then)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	put(".s.ipynb.tmp-123", time.Hour)
	put(".s.ipynb.tmp-4294967295", 2*time.Minute)
	var stays []string
	for name, age := range map[string]time.Duration{
		".s.ipynb.tmp-1": 0, ".s.ipynb.tmp-": time.Hour, ".s.ipynb.tmp-12x": time.Hour, ".other.ipynb.tmp-123": time.Hour,
		"s.ipynb.tmp-123": time.Hour, ".s.ipynb.tmp-12.bak": time.Hour,
	} {
		put(name, age)
		stays = append(stays, name)
	}
	held, err := os.Open(put(".s.ipynb.tmp-7", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	put("named-twice", time.Hour)
	err = errors.Join(syscall.Flock(int(held.Fd()), syscall.LOCK_EX),
		os.Mkdir(filepath.Join(dir, ".s.ipynb.tmp-8"), 0o700),
		os.Symlink("named-twice", filepath.Join(dir, ".s.ipynb.tmp-9")),
		os.Link(filepath.Join(dir, "named-twice"), filepath.Join(dir, ".s.ipynb.tmp-10")),
		syscall.Mkfifo(filepath.Join(dir, ".s.ipynb.tmp-11"), 0o600))
	stays = append(stays, ".s.ipynb.tmp-7", ".s.ipynb.tmp-8", ".s.ipynb.tmp-9", ".s.ipynb.tmp-10", ".s.ipynb.tmp-11",
		"named-twice", "s.ipynb")
	if testform.Root() {
		err = errors.Join(err, os.Chown(put(".s.ipynb.tmp-12", time.Hour), 12345, 12345))
		stays = append(stays, ".s.ipynb.tmp-12")
	}
	if err = errors.Join(err, Replace(path, []byte("whole"), 0o600)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	slices.Sort(stays)
	slices.Sort(there)
	if !slices.Equal(there, stays) {
		t.Errorf("there are %s, and not %s", strings.Join(there, " "), strings.Join(stays, " "))
	}
}
