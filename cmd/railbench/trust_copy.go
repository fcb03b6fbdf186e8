package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/safefile"
)

// What was trusted was read once. Whoever may write the file may change it a moment later, so ssh and Ansible get
// copies of what was read, in a folder that only this user can write.

// copiesFolder is what the folder of such copies begins with.
const copiesFolder = "railbench-trusted-"

// privateFolder makes a folder in which nobody else can exchange a file: with this user's state, or, where there can't
// be one, with the temporary files.
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
	return nil, fmt.Errorf("copy what was trusted to where nobody else can change it: %w", errors.Join(errs...))
}

// copyName is the name of the copy of an ssh configuration's file, which are counted from 0 on in the order of reading.
func copyName(i int) string { return "ssh_config." + strconv.Itoa(i) }

// includeCopies is a line of an ssh configuration that is not trusted to find its files again: an Include names their
// copies, or, where it found none, is empty. All other lines stay as they are.
func includeCopies(line string, copies []string) string {
	bare := strings.TrimRight(line, " \t\r\n\f")
	if !plainInclude.Regexp().MatchString(bare + " ") {
		return line
	}
	if len(copies) == 0 {
		return "\n"
	}
	return "Include \"" + copiesPlace + strings.Join(copies, "\" \""+copiesPlace) + "\"\n"
}

// copiesPlace stands for the folder of the copies until it is made. No line has it: of a NUL byte is refused.
const copiesPlace = "\x00/"

// copyConfiguration writes the files of an ssh configuration, with Includes that name the copies.
func copyConfiguration(files []sshFile) (*safefile.Folder, error) {
	folder, err := privateFolder()
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(folder.Path, "\"'\\$%*?[~\n") {
		err = fmt.Errorf("the folder %q has a character that ssh takes for another", folder.Path)
	}
	for i, f := range files {
		if err == nil {
			text := strings.ReplaceAll(f.given, copiesPlace, folder.Path+"/")
			err = os.WriteFile(filepath.Join(folder.Path, copyName(i)), []byte(text), 0o600)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the ssh configuration: %w", err), folder.Remove())
	}
	return folder, nil
}

// mostBeside bounds what a copied inventory still finds in its folder.
const mostBeside = 1000

// copyInventory writes an inventory that runs something by its own name. What lay beside it, such as group_vars or what
// the program reads, is there as well.
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
