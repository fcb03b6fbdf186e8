package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/tui"
)

// What the workbench is told of files: the sessions that are saved, and what others do with
// its own meanwhile.

// savedSessions are those of the folder of sessions and of the folder that railbench was
// started in, the newest first.
func savedSessions() []tui.SessionFile {
	var folders []string
	if dir, err := sessionsDir(); err == nil {
		folders = append(folders, dir)
	}
	if here, err := os.Getwd(); err == nil && !(len(folders) > 0 && sameFile(here, folders[0])) {
		folders = append(folders, here)
	}
	type file struct {
		tui.SessionFile
		at time.Time
	}
	var all []file
	for _, dir := range folders {
		paths, err := filepath.Glob(filepath.Join(dir, "*"+notebook.Extension))
		if err != nil {
			continue // the folder's own name is a pattern
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			name := nameOfSession(path)
			about := "saved " + info.ModTime().Format("2006-01-02 15:04") + " in " + filepath.Dir(path)
			all = append(all, file{tui.SessionFile{Path: path, Name: name, About: about}, info.ModTime()})
		}
	}
	slices.SortStableFunc(all, func(a, b file) int { return b.at.Compare(a.at) })
	var sessions []tui.SessionFile
	for _, f := range all {
		sessions = append(sessions, f.SessionFile)
	}
	return sessions
}

func nameOfSession(path string) string {
	return strings.TrimSuffix(filepath.Base(path), notebook.Extension)
}

// opens says why a session can't be opened on the bench's rig. One that another railbench has
// open is followed.
func (b *bench) opens(path string) error {
	d, err := notebook.Read(path)
	if err != nil {
		return err
	}
	return notebook.Options{Rig: b.options.Rig, Simulated: b.options.Simulated}.Fits(d)
}

// comparedPercent is how much a figure may change before that is better or worse.
const comparedPercent = 5

// compareSaved is what compare prints: what is better and worse in the first of two sessions
// than in the other.
func compareSaved(open, other string) (string, error) {
	var docs [2]*notebook.Document
	for i, path := range []string{other, open} {
		d, err := notebook.Read(path)
		if err != nil {
			return "", err
		}
		docs[i] = d
	}
	return comparison(docs[0], docs[1], other, open)
}

// comparison is the page of two sessions, the earlier one first.
func comparison(then, now *notebook.Document, other, open string) (string, error) {
	c := notebook.Compare(then, now, comparedPercent)
	c.A.Name, c.B.Name = nameOfSession(other), nameOfSession(open)
	if len(c.Cells) == 0 {
		return "", fmt.Errorf("no cell ran in both this session and %s", filepath.Base(other))
	}
	return c.Markdown(), nil
}

// lookPace is how often files are looked at that others may change.
const lookPace = 500 * time.Millisecond

// stamps are the sizes and times of files, as one value.
func stamps(paths ...string) string {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return strings.Join(all, "\n")
}

// changes waits until some files are others than they were by their stamps, and gives these;
// ok is false when ctx has ended before.
func changes(ctx context.Context, was string, paths ...string) (now string, ok bool) {
	tick := time.NewTicker(lookPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-tick.C:
			if now = stamps(paths...); now != was {
				return now, true
			}
		}
	}
}

// follow tells what becomes of a session that another railbench has open: its file, and the
// journal that every event is in before anybody sees it.
func follow(ctx context.Context, path string) func() *steps.Notebook {
	paths := []string{path, notebook.JournalPath(path)}
	was := ""
	return func() *steps.Notebook {
		for {
			now, ok := changes(ctx, was, paths...)
			if !ok {
				return nil
			}
			was = now
			// Between the two of a save it may not be readable: the next look is soon.
			if d, err := notebook.Read(path); err == nil {
				return &d.Book
			}
		}
	}
}

// watchFiles tells when one of a runbook's files has become another one than was read, or
// was written from here.
func watchFiles(ctx context.Context, w *writeBack) func() string {
	was := stamps(w.files...)
	return func() string {
		for {
			now, ok := changes(ctx, was, w.files...)
			if !ok {
				return ""
			}
			was = now
			if name := w.changed(); name != "" {
				return name
			}
		}
	}
}
