package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/railbench/railbench/runner/safefile"
)

// Most bounds what is read of a presentation: its script, or its captions, notes and a verdict.
const Most = 1 << 20

// Teller gives what writes where a presentation is. It reports from several goroutines: a moment that comes late
// replaces no newer one.
func Teller(path string) func(Moment) error {
	var mu sync.Mutex
	last := 0
	return func(at Moment) error {
		mu.Lock()
		defer mu.Unlock()
		if at.No < last {
			return nil
		}
		last, at.PID = at.No, os.Getpid()
		raw, err := json.Marshal(at)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err != nil {
			return err
		}
		return safefile.Replace(path, raw, 0o600)
	}
}

// Follow reads where a presentation is.
func Follow(path string) (at Moment, err error) {
	raw, err := safefile.ReadOwn(path, Most)
	if errors.Is(err, fs.ErrNotExist) {
		return at, errors.New("no presentation is running on this machine: start one with railbench demo")
	}
	if err != nil {
		return at, fmt.Errorf("follow the presentation: %w", err)
	}
	if err := json.Unmarshal(raw, &at); err != nil {
		return at, fmt.Errorf("follow the presentation: %s: %w", path, err)
	}
	// However it ended, nothing is written after its process.
	if at.PID > 0 && errors.Is(syscall.Kill(at.PID, 0), syscall.ESRCH) {
		return at, fmt.Errorf("no presentation is running on this machine: the last one ended at slide %d of %d. Start one "+
			"with railbench demo", at.Slide, at.Of)
	}
	return at, nil
}
