package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/steps/launch"
)

// sharedProgram is what the programs have in common, and sharedMark the line in
// whose place it stands: each is handed to an interpreter as one text.
const (
	sharedProgram = "agent.py"
	sharedMark    = "# with " + sharedProgram + "\n"
)

// programs are the texts that cells hand to Python or sh, by the variable that holds
// them: nixl-transfer.py is NIXL_TRANSFER_PY.
func programs() (map[string]string, error) {
	shared, err := fs.ReadFile(assets.NIXL, "nixl/"+sharedProgram)
	if err != nil {
		return nil, fmt.Errorf("read the programs: %w", err)
	}
	all := map[string]string{}
	for _, from := range []struct {
		files fs.FS
		glob  string
	}{{assets.NIXL, "nixl/*.py"}, {assets.NCCL, "nccl/*.sh"}} {
		files, err := fs.Glob(from.files, from.glob)
		if err != nil {
			return nil, fmt.Errorf("read the programs: %w", err)
		}
		for _, file := range files {
			name := path.Base(file)
			if name == sharedProgram {
				continue
			}
			text, err := fs.ReadFile(from.files, file)
			if err != nil {
				return nil, fmt.Errorf("read the programs: %w", err)
			}
			variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
			all[variable] = strings.Replace(string(text), sharedMark, string(shared), 1)
		}
	}
	return all, nil
}

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
