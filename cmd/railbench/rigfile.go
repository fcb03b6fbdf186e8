package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/session"
)

// rigPath is where init writes the rig file and where it is looked for: ~/.config, or
// $XDG_CONFIG_HOME, on Linux.
func rigPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err == nil {
		err = isWhole(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "railbench", "rig.toml"), nil
}

// stateDir holds logs and the virtual rig: $XDG_STATE_HOME/railbench, or what is below it.
func stateDir(below ...string) (string, error) {
	name := filepath.Join(append([]string{"railbench"}, below...)...)
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	home, err := os.UserHomeDir()
	if err == nil {
		err = isWhole(home)
	}
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", name), nil
}

// isWhole refuses a home that depends on the working folder, which may be anybody's.
func isWhole(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("$HOME makes it %s, below the working folder: set a whole path", dir)
	}
	return nil
}

// readRig reads the rig file of --rig. A name without a folder may be meant for a built-in rig.
func readRig(path string) (rigfile.File, error) {
	f, err := rigfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == path {
		return f, fmt.Errorf("--rig %s: no such file here; the built-in rigs are sim and %s%s", path,
			ringRig, steps.DidYouMean(path, []string{"sim", ringRig}))
	}
	return f, err
}

// writeRig writes a rig file, and never over another unless forced.
func writeRig(path string, f rigfile.File, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return usage(fmt.Errorf("%s exists: give --force to replace it, or -o FILE to write another", path))
	}
	return notWritten(f.Write(path))
}

// logDir makes the folder for one session's logs; empty without a home.
func logDir() string {
	logs, err := stateDir("logs")
	if err != nil {
		return ""
	}
	return session.NewLogFolder(logs)
}
