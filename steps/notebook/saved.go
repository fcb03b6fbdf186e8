package notebook

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A savedFile is a saved session by its file.
type savedFile struct {
	Path string
	Name string    // the file's, without its extension
	At   time.Time // when it was saved
}

// SavedIn are the sessions that are saved in some folders, the newest first.
func SavedIn(folders ...string) (all []savedFile) {
	for _, dir := range folders {
		paths, err := filepath.Glob(filepath.Join(dir, "*"+Extension))
		if err != nil {
			continue // the folder's own name is a pattern
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			all = append(all, savedFile{path, NameOf(path), info.ModTime()})
		}
	}
	slices.SortStableFunc(all, func(a, b savedFile) int { return b.At.Compare(a.At) })
	return all
}

// NameOf is how a session is called: its file without folder and extension.
func NameOf(path string) string {
	return strings.TrimSuffix(filepath.Base(path), Extension)
}

// ComparisonPage is the page of two sessions, the earlier one first.
func ComparisonPage(then, now *Document, other, open string) (string, error) {
	c := Compare(then, now, comparedPercent)
	c.A.Name, c.B.Name = NameOf(other), NameOf(open)
	if len(c.Cells) == 0 {
		return "", fmt.Errorf("no cell ran in both this session and %s", filepath.Base(other))
	}
	return c.Markdown(), nil
}

// comparedPercent is how much a figure may change before that is better or worse.
const comparedPercent = 5

// CompareFiles is what compare prints: what is better and worse in the first of two sessions
// than in the other.
func CompareFiles(open, other string) (string, error) {
	var docs [2]*Document
	for i, path := range []string{other, open} {
		d, err := Read(path)
		if err != nil {
			return "", err
		}
		docs[i] = d
	}
	return ComparisonPage(docs[0], docs[1], other, open)
}
