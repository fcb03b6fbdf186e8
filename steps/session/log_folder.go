package session

import (
	"os"
	"path/filepath"
	"time"
)

// keepLogs is how many sessions' logs stay.
const keepLogs = 20

// prune removes all but the newest folders: their names sort by time.
func prune(logs string, keep int) {
	entries, err := os.ReadDir(logs)
	if err != nil {
		return
	}
	for i := 0; i < len(entries)-keep; i++ {
		_ = os.RemoveAll(filepath.Join(logs, entries[i].Name())) // the next session tries again
	}
}

// NewLogFolder makes the folder for one session's logs and removes those of sessions long past.
func NewLogFolder(logs string) string {
	stamp := time.Now().UTC().Format("20060102T150405Z-")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return filepath.Join(logs, stamp+"log") // a run that can't make it either says why
	}
	prune(logs, keepLogs-1)
	dir, err := os.MkdirTemp(logs, stamp)
	if err != nil {
		return filepath.Join(logs, stamp+"log")
	}
	return dir
}
