package runbook

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/safefile"
)

// HasName reports whether a word is the name of a runbook, and of nothing else.
func HasName(name string) bool {
	return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(name)))
}

// ReadFiles reads files, and every Markdown file of folders, in the order of their
// names there.
func ReadFiles(names []string) ([]Document, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s does not exist: start a runbook with railbench new %s", name, WithExtension(name))
		case err != nil:
			return nil, fmt.Errorf("read the runbook: %w", err)
		case info.IsDir():
			found, err := markdown(name)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("read the runbook: %s is not a file", name)
		case !HasName(name):
			return nil, fmt.Errorf("read the runbook: the name of %s doesn't end in .md", name)
		default:
			files = append(files, name)
		}
	}
	var docs []Document
	for _, file := range files {
		src, err := safefile.Head(file, MaxBytes+1) // one more, so that it is seen to be too long
		if err != nil {
			return nil, fmt.Errorf("read the runbook: %w", err)
		}
		docs = append(docs, Read(file, src))
	}
	return docs, nil
}

// WithExtension is a name as that of a runbook.
func WithExtension(name string) string {
	if HasName(name) {
		return name
	}
	return cmp.Or(strings.TrimRight(name, string(filepath.Separator)), "FILE") + ".md"
}

// markdown lists the Markdown files of a folder.
func markdown(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the runbook: %w", err)
	}
	var files []string
	for _, e := range entries {
		if HasName(e.Name()) && !e.IsDir() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file in the folder %s ends in .md: railbench new %s starts a runbook",
			dir, filepath.Join(dir, "FILE.md"))
	}
	return files, nil
}
