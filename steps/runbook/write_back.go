package runbook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
)

// A writeBack puts the scripts that were edited on the screen back into a runbook's
// files. Every other byte of them stays.
type writeBack struct {
	mu      sync.Mutex
	files   []string
	scripts map[string][]string // as the files have them, by cell
	sources map[string][]byte   // the files as they were read or written, by name
}

// NewWriteBack is of the runbooks with these names; nil for the built-in tutorial.
func NewWriteBack(names []string) (*writeBack, error) {
	if len(names) == 0 {
		return nil, nil
	}
	docs, err := ReadFiles(names)
	if err != nil {
		return nil, err
	}
	w := &writeBack{scripts: map[string][]string{}, sources: map[string][]byte{}}
	for _, d := range docs {
		w.files = append(w.files, d.Name)
		if w.sources[d.Name], err = safefile.Read(d.Name, MaxBytes); err != nil {
			return nil, err
		}
		for _, c := range d.Part.Cells {
			w.scripts[c.ID] = scriptsOf(c)
		}
	}
	return w, nil
}

func scriptsOf(c steps.Cell) []string {
	scripts := []string{}
	for _, r := range c.Roles {
		scripts = append(scripts, r.Script)
	}
	return scripts
}

// Write writes what was edited, and says what it wrote. A script that another user has changed in the file meanwhile
// is not overwritten.
func (w *writeBack) Write(parts []steps.Part) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wrote []string
	scratch := 0
	for _, p := range parts {
		for _, c := range p.Cells {
			if c.Scratch {
				scratch++
			}
		}
	}
	for _, file := range w.files {
		n, err := w.file(file, parts)
		if err != nil && wrote != nil {
			return "", fmt.Errorf("written to %s, and then: %w", strings.Join(wrote, ", "), err)
		}
		if err != nil {
			return "", err
		}
		if n > 0 {
			wrote = append(wrote, fmt.Sprintf("%s (%s)", file, steps.Counted(n, "cell")))
		}
	}
	said := "nothing to write: no script was edited"
	if wrote != nil {
		said = "written to " + strings.Join(wrote, ", ")
	}
	if scratch > 0 {
		said += "; scratch cells are in the session only"
	}
	return said, nil
}

// file writes the cells of one file, and says how many. It is read again, because a user may have changed another
// cell meanwhile: that change stays.
func (w *writeBack) file(name string, parts []steps.Part) (n int, err error) {
	src, err := safefile.Read(name, MaxBytes)
	if err != nil {
		return 0, err
	}
	d := Read(name, src)
	out := src
	wrote := map[string][]string{}
	for _, there := range d.Part.Cells {
		c, ok := steps.Tutorial{Parts: parts}.Cell(there.ID)
		now := scriptsOf(c)
		if !ok || !c.Edited || slices.Equal(now, w.scripts[c.ID]) {
			continue
		}
		if has := scriptsOf(there); !slices.Equal(has, w.scripts[c.ID]) || len(has) != len(now) {
			return 0, fmt.Errorf("another program changed the script of %q, so %s was not written: open it again",
				c.ID, name)
		}
		for role, script := range now {
			if script == w.scripts[c.ID][role] {
				continue
			}
			if out, err = Edit(out, c.ID, role, script); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
		wrote[c.ID] = now
	}
	if len(wrote) == 0 || bytes.Equal(out, src) {
		return 0, nil
	}
	if after := Read(name, out); len(after.Problems) > 0 {
		return 0, fmt.Errorf("%s was not written, because it could not be opened any more: %w",
			name, errors.New(after.Problems[0].Text))
	}
	if err := safefile.Replace(name, out, 0o644); err != nil {
		return 0, fmt.Errorf("%s could not be written, and is as it was: %w", name, err)
	}
	maps.Copy(w.scripts, wrote)
	w.sources[name] = out
	return len(wrote), nil
}

// Changed names a file that no longer is what was read, or written here; empty if there is none.
func (w *writeBack) Changed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.files {
		src, err := safefile.Read(name, MaxBytes)
		if err == nil && !bytes.Equal(src, w.sources[name]) {
			w.sources[name] = src // it is reported once
			return name
		}
	}
	return ""
}

// Watch says when one of the files has become another one than was read, or was written from here; empty once ctx has
// ended.
func (w *writeBack) Watch(ctx context.Context) func() string {
	was := safefile.Stamps(w.files...)
	return func() string {
		for {
			now, ok := safefile.AwaitChange(ctx, was, w.files...)
			if !ok {
				return ""
			}
			was = now
			if name := w.Changed(); name != "" {
				return name
			}
		}
	}
}
