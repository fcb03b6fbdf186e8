package main

import (
	"os"
	"path/filepath"

	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/tui/screen"
)

// What the workbench learns about files: the saved sessions, and what other processes do with its own session
// meanwhile.

// savedSessions are those of the folder of sessions and of the folder that railbench was
// started in, the newest first.
func savedSessions() (all []screen.SessionFile) {
	var folders []string
	if dir, err := sessionsDir(); err == nil {
		folders = append(folders, dir)
	}
	if here, err := os.Getwd(); err == nil && !(len(folders) > 0 && sameFile(here, folders[0])) {
		folders = append(folders, here)
	}
	for _, f := range notebook.SavedIn(folders...) {
		about := "saved " + f.At.Format("2006-01-02 15:04") + " in " + filepath.Dir(f.Path)
		all = append(all, screen.SessionFile{Path: f.Path, Name: f.Name, About: about})
	}
	return all
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
