package main

import (
	"os"
	"path/filepath"
	"time"
)

// keepLogs is how many sessions' logs stay.
const keepLogs = 20

func sessionStamp() string { return time.Now().UTC().Format("20060102T150405Z-") }

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
