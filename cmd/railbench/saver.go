package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/sanitize"
)

// keepSessions is how many sessions stay in the folder for those that nobody named.
const keepSessions = 50

// sessionsDir is where sessions are saved that nobody named.
func sessionsDir() (string, error) {
	state, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "sessions"), nil
}

// newSessionFile is a name for a session that nobody named, and removes the oldest of
// those.
func newSessionFile(dir, rig string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the session is not saved: %w", err)
	}
	forgetSessions(dir)
	path := filepath.Join(dir, sessionStamp()+fileName(rig))
	file := path + notebook.Extension
	for i := 2; exists(file); i++ { // of the same second
		file = fmt.Sprintf("%s-%d%s", path, i, notebook.Extension)
	}
	return file, nil
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

// forgetSessions removes the oldest sessions that nobody named, so that there is room for
// one more. One that has a journal was cut off, and is offered yet.
func forgetSessions(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+notebook.Extension))
	if err != nil {
		return // the folder's own name is a pattern: they stay
	}
	slices.Sort(files) // their names begin with the time
	for i := 0; i < len(files)-keepSessions+1; i++ {
		if _, err := os.Stat(notebook.JournalPath(files[i])); err != nil {
			_ = os.Remove(files[i]) // the next session tries again
		}
	}
}

// cutOff finds the newest session of a rig, and of a tutorial or runbook with this
// title, whose railbench ended without saving it.
func cutOff(dir, rig string, simulated bool, title string) (path string, d *notebook.Document) {
	left, err := journals(dir)
	if err != nil {
		return "", nil
	}
	slices.Sort(left)
	for _, j := range slices.Backward(left) {
		path = strings.TrimSuffix(j, notebook.JournalPath(""))
		d, ok := notebook.CutOff(path)
		if ok && d.Book.Rig.Name == rig && d.Book.Rig.Simulated == simulated &&
			d.Book.Tutorial.Title == title && len(d.Book.Cells) > 0 {
			return path, d
		}
	}
	return "", nil
}

// journals are those in a folder of sessions: of sessions that are open, and of those
// that were cut off.
func journals(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(dir, "*"+notebook.JournalPath(notebook.Extension)))
}

// offer asks whether to resume a session that was cut off. It is a question of one
// line, before there is a screen.
func (b *bench) offer(ctx context.Context, in io.Reader, out io.Writer, d *notebook.Document) bool {
	ran, what := len(d.Book.Cells), ""
	var left []string
	for _, c := range d.Book.Tutorial.Cells() {
		if d.Book.Cells[c.ID].Running {
			left = append(left, c.ID)
		}
	}
	if left = append(left, d.Book.Queue...); len(left) > 0 {
		what = ", and " + strings.Join(left, ", ") + " was not done"
	}
	cells := "1 cell has"
	if ran != 1 {
		cells = fmt.Sprintf("%d cells have", ran)
	}
	sanitize.Fprintf(out, "The session of %s was cut off: %s run%s.\n",
		d.Created.Local().Format("2006-01-02 15:04"), cells, what)
	b.remind(out)
	sanitize.Fprint(out, "Resume it? (Y/n) ")
	answer, err := readLine(ctx, io.LimitReader(in, 100))
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "" && err == nil || strings.HasPrefix(answer, "y")
}
