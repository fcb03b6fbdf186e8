package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/launch"
)

// launcherLimit is how long a launcher's file may be.
const launcherLimit = 64 << 10

// launchers are the built-in ones and those of the user's folder, whose files win. The error says
// which were left out, and why.
func launchers() (launch.Launchers, error) {
	folder, err := fs.Sub(assets.Launchers, "launchers")
	if err != nil {
		return nil, fmt.Errorf("read the launchers: %w", err)
	}
	all, err := launch.Load(folder)
	wrong := []error{err}
	dir, err := os.UserConfigDir()
	if err != nil {
		return all, errors.Join(wrong...) // who has no such folder has put nothing there
	}
	files, _ := filepath.Glob(filepath.Join(dir, "railbench", "launchers", "*.toml")) // the pattern is right
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".toml")
		// Where the user's own can't be used, the built-in one of its name isn't what he wants.
		delete(all, name)
		text, err := ownFile(file, launcherLimit)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("read the launcher: %w", err))
			continue
		}
		l, err := launch.Read(name, text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
			continue
		}
		all[l.Name] = l
	}
	return all, errors.Join(wrong...)
}

// ownFile reads a file that no one has named and that says what is run: it may be a link, and no other user could put
// another thing in the place of anything on the way to it.
func ownFile(path string, limit int64) ([]byte, error) {
	if err := safefile.Program(path); err != nil {
		return nil, err
	}
	whole, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return safefile.ReadOwn(whole, limit)
}
