package safefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/runner/testform"
)

// traps are what another user can leave where a file is expected. None is opened, none waits, and what a link leads
// to stays as it is.
func traps(t *testing.T) (dir, precious string, paths map[string]string) {
	t.Helper()
	dir = t.TempDir()
	precious = filepath.Join(dir, "precious")
	write(t, precious, "precious")
	paths = map[string]string{}
	for name, make := range map[string]func(string) error{
		"link":     func(p string) error { return os.Symlink(precious, p) },
		"dangling": func(p string) error { return os.Symlink(filepath.Join(dir, "new"), p) },
		"pipe":     func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder":   func(p string) error { return os.Mkdir(p, 0o700) },
		"device":   func(p string) error { return os.Symlink("/dev/zero", p) },
		"two names": func(p string) error {
			write(t, p+".other", "precious")
			return os.Link(p+".other", p)
		},
	} {
		paths[name] = filepath.Join(dir, name)
		if err := make(paths[name]); err != nil {
			t.Fatal(err)
		}
	}
	return dir, precious, paths
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTrapsAreRefused(t *testing.T) {
	for _, way := range []struct {
		name     string
		harmless bool // for the other name of a file with two
		open     func(path string) error
	}{
		{"own, to read", true, func(p string) error { _, err := safefile.Open(p, os.O_RDONLY, 0); return err }},
		{"own, to write", false, func(p string) error {
			_,
				err := safefile.Open(p, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
			return err
		}},
		{"truncated", false, func(p string) error { _, err := safefile.Truncated(p, 0o600); return err }},
		{"read own", true, func(p string) error { _, err := safefile.ReadOwn(p, 100); return err }},
		{"replace", true, func(p string) error { return safefile.Replace(p, []byte("x"), 0o600) }},
		{"mine", true, safefile.Mine},
	} {
		dir, precious, paths := traps(t)
		for trap, path := range paths {
			err := way.open(path)
			if trap == "two names" && way.harmless {
				continue // what is read, or gets a new file under this name, harms the other one not
			}
			if err == nil {
				t.Errorf("%s: a %s was opened", way.name, trap)
			} else if trap == "link" && !strings.Contains(err.Error(), precious) {
				t.Errorf("%s: %q does not say what the link leads to", way.name, err)
			}
		}
		for _, path := range []string{precious, filepath.Join(dir, "two names.other")} {
			if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
				t.Errorf("%s: %s is %q now (%v)", way.name, path, b, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
			t.Errorf("%s: what a dangling link leads to was made", way.name)
		}
	}
}

// What a user names to be read may be a link, and still no pipe and no device.
func TestReadOfANamedFile(t *testing.T) {
	_, _, paths := traps(t)
	for trap, want := range map[string]bool{
		"link": true, "two names": true, "dangling": false, "pipe": false,
		"folder": false, "device": false,
	} {
		b, err := safefile.Read(paths[trap], 100)
		if (err == nil) != want {
			t.Errorf("%s: %v", trap, err)
		}
		if want && string(b) != "precious" {
			t.Errorf("%s: read %q", trap, b)
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "12345")
	for limit, fits := range map[int64]bool{4: false, 5: true} {
		for name, read := range map[string]func(string, int64) ([]byte, error){
			"named": safefile.Read,
			"own":   safefile.ReadOwn,
		} {
			_, err := read(path, limit)
			if _, refused := errors.AsType[*safefile.Refused](err); refused == fits {
				t.Errorf("%s, %d bytes: %v", name, limit, err)
			}
		}
	}
}

func TestSomebodyElsesFile(t *testing.T) {
	testform.NeedsRoot(t)
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "theirs")
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := safefile.Open(path, os.O_RDWR, 0); err == nil || !strings.Contains(err.Error(), "12345") {
		t.Errorf("it was opened to be written: %v", err)
	}
	if _, err := safefile.Read(path, 100); err != nil {
		t.Errorf("it can't be read: %v", err)
	}
}

func TestReplaceKeepsThePermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := safefile.Replace(path, []byte("a"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := safefile.Replace(path, []byte("b"), 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("%v, %v", info, err)
	}
	if b, _ := os.ReadFile(path); string(b) != "b" {
		t.Errorf("%q", b)
	}
}

// A limit is reported in the unit in which it is a whole number.
func TestTooLongIsToldInItsUnit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(file, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{64 << 10: "longer than 64 KiB", 2 << 20: "longer than 2 MiB"} {
		if _, err := safefile.Read(file, limit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", limit, err, want)
		}
	}
}
