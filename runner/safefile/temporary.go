package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// temporaryTries bounds how often a name is taken already.
const temporaryTries = 100

// leftAfter is how old a temporary file is at least that a killed save has left: a younger one may be of a process that
// has not locked it yet.
const leftAfter = time.Minute

// swept are the files next to which this process has looked for what was left.
var swept sync.Map

// temporary makes a file next to another one, whose place it will take. The kernel's lock on it ends with the
// process: one that no one holds was left behind. The umask holds for its permissions.
func temporary(path string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	before := "." + base + ".tmp-"
	if whole, err := filepath.Abs(path); err == nil {
		if _, done := swept.LoadOrStore(whole, true); !done {
			sweepFiles(filepath.Dir(whole), before)
		}
	}
	for range temporaryTries {
		f, err := os.OpenFile(fmt.Sprint(dir, before, rand.Uint32()),
			os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			// The error is ignored: where there are no locks, sweepFiles removes nothing either.
			_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		}
		return f, err
	}
	return nil, fmt.Errorf("make a temporary file beside %s: every name is taken", path)
}

// sweepFiles removes what killed saves of this user have left in a folder: regular files whose names are before and a
// number, which no one has written or holds. What can't be removed stays for the next time.
func sweepFiles(dir, before string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), before)
		if !ours || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && left(info) &&
			syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(path) // see above
		}
		f.Close()
	}
}

// left reports whether a file is this user's own, has one name, and is old enough to be left behind.
func left(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(s.Uid) == os.Geteuid() && s.Nlink == 1 &&
		time.Since(info.ModTime()) > leftAfter
}
