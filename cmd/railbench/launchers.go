package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/steps/launch"
)

// launchers are the built-in ones and those of the user's folder.
func launchers() (launch.Launchers, error) {
	folder, err := fs.Sub(assets.Launchers, "launchers")
	if err != nil {
		return nil, fmt.Errorf("read the launchers: %w", err)
	}
	own := "" // who has no such folder has put nothing there
	if dir, err := os.UserConfigDir(); err == nil {
		own = filepath.Join(dir, "railbench", "launchers")
	}
	return launch.LoadWith(folder, own)
}
