package notebook

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keepSessions is how many sessions without a name of their own stay in the folder.
const keepSessions = 50

// NewFile is a file for a session without a name of its own, and removes the oldest of those.
func NewFile(dir, rig string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	forgetSessions(dir)
	path := filepath.Join(dir, sessionStamp()+fileName(rig))
	file := path + Extension
	for i := 2; isThere(file); i++ { // of the same second
		file = fmt.Sprintf("%s-%d%s", path, i, Extension)
	}
	return file, nil
}

// Elsewhere is a file in which a session could be saved where it can't be where sessions are, in this folder or in the
// one for temporary files; empty for none.
func Elsewhere(rig string) string {
	for _, dir := range []string{".", os.TempDir()} {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		const room = 1 << 20 // of a full disk a name can be had, and no byte
		f, err := os.CreateTemp(dir, ".railbench-*")
		if err != nil {
			continue
		}
		_, err = f.Write(make([]byte, room))
		if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err == nil {
			return filepath.Join(dir, sessionStamp()+fileName(rig)+Extension)
		}
	}
	return ""
}

// longestName is how much of a rig's name a file's has, which may have 255 bytes in all: a rig without a
// name of its own is called by those of its nodes.
const longestName = 100

// fileName is a rig's name as a part of a file's. Of a longer one the end stands as a hash, so that two rigs
// of many nodes have two.
func fileName(rig string) string {
	if len(rig) > longestName {
		rig = fmt.Sprintf("%s-%x", rig[:longestName], sha256.Sum256([]byte(rig)))[:longestName+1+16]
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, rig)
}

// forgetSessions removes the oldest sessions without a name of their own, so that there is room for one more.
// One with a journal was cut off, and is still offered.
func forgetSessions(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+Extension))
	if err != nil {
		return // the folder's own name is a pattern: they stay
	}
	slices.Sort(files) // their names begin with the time
	for i := 0; i < len(files)-keepSessions+1; i++ {
		if _, err := os.Stat(JournalPath(files[i])); err != nil {
			_ = os.Remove(files[i]) // the next session tries again
		}
	}
}

// NewestCutOff finds the newest session of a rig, and of a tutorial or runbook with this
// title, whose railbench ended without saving it.
func NewestCutOff(dir, rig string, simulated bool, title string) (path string, d *Document) {
	left, err := Journals(dir)
	if err != nil {
		return "", nil
	}
	slices.Sort(left)
	for _, j := range slices.Backward(left) {
		path = strings.TrimSuffix(j, JournalPath(""))
		d, ok := CutOff(path)
		if ok && d.Book.Rig.Name == rig && d.Book.Rig.Simulated == simulated &&
			d.Book.Tutorial.Title == title && len(d.Book.Cells) > 0 {
			return path, d
		}
	}
	return "", nil
}

// Journals are those in a folder of sessions: of sessions that are open, and of those
// that were cut off.
func Journals(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(dir, "*"+JournalPath(Extension)))
}

func sessionStamp() string { return time.Now().UTC().Format("20060102T150405Z-") }

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
