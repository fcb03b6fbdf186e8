package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/railbench/railbench/runner/safefile"
)

// launcherLimit is how long a launcher's file may be.
const launcherLimit = 64 << 10

// LoadWith reads the launchers of a folder and then the user's own, which replace those of the same name. A folder
// whose name is empty is skipped.
// The error says which were left out, and why.
func LoadWith(folder fs.FS, own string) (Launchers, error) {
	all, err := Load(folder)
	wrong := []error{err}
	if own == "" {
		return all, err
	}
	files, _ := filepath.Glob(filepath.Join(own, "*.toml")) // the pattern is right
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".toml")
		// Where the user's own can't be used, the built-in one of its name isn't what he wants.
		delete(all, name)
		text, err := ownFile(file, launcherLimit)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("read the launcher: %w", err))
			continue
		}
		l, err := Read(name, text)
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
