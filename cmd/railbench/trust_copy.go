package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/safefile"
)

// What was trusted was read once. A user who may write the file may change it a moment later. So ssh and
// Ansible get copies of what was read, in a folder that only this user can write.

// copiesFolder is what the folder of such copies begins with.
const copiesFolder = "railbench-trusted-"

// privateFolder makes a folder in which no one else can exchange a file: with this user's state, or, where there
// can't be one, with the temporary files.
func privateFolder() (*safefile.Folder, error) {
	places := []string{os.TempDir()}
	if state, err := stateDir(); err == nil && os.MkdirAll(state, 0o700) == nil {
		places = []string{state, os.TempDir()}
	}
	var errs []error
	for _, place := range places {
		err := safefile.Keeps(place)
		if err == nil {
			var folder *safefile.Folder
			if folder, err = safefile.Hold(place, copiesFolder); err == nil {
				return folder, nil
			}
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("copy what was trusted to a private folder: %w", errors.Join(errs...))
}

// copyConfiguration writes the files of an ssh configuration, with Includes that name the copies.
func copyConfiguration(files []runner.SSHFile) (*safefile.Folder, error) {
	folder, err := privateFolder()
	if err != nil {
		return nil, err
	}
	if err := runner.CopySSHConfiguration(files, folder.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the ssh configuration: %w", err), folder.Remove())
	}
	return folder, nil
}

// mostBeside bounds what a copied inventory still finds in its folder.
const mostBeside = 1000

// copyInventory writes an inventory that runs something by its own name. What lay next to it, such as group_vars or
// what the program reads, is there as well.
func copyInventory(inv inventoryFile) (*safefile.Folder, error) {
	folder, err := privateFolder()
	if err != nil {
		return nil, err
	}
	from, name := filepath.Split(inv.path)
	err = os.WriteFile(filepath.Join(folder.Path, name), []byte(inv.text), inv.mode.Perm()&0o100|0o600)
	if beside, readErr := os.ReadDir(from); err == nil && readErr == nil && len(beside) <= mostBeside {
		for _, e := range beside {
			if e.Name() != name && err == nil {
				err = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(folder.Path, e.Name()))
			}
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy it: %w", err), folder.Remove())
	}
	return folder, nil
}
