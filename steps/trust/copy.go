package trust

import (
	"errors"
	"fmt"
	"os"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/safefile"
)

// What was trusted was read once. A user who may write the file may change it a moment later. So ssh and
// Ansible get copies of what was read, in a folder that only this user can write.

// CopiesFolder is what the folder of such copies begins with.
const CopiesFolder = "railbench-trusted-"

// PrivateFolder makes a folder in which no one else can exchange a file: with this user's state, or, where there
// is none, with the temporary files.
func PrivateFolder(state string) (*safefile.Folder, error) {
	places := []string{os.TempDir()}
	if state != "" && os.MkdirAll(state, 0o700) == nil {
		places = []string{state, os.TempDir()}
	}
	var errs []error
	for _, place := range places {
		err := safefile.Keeps(place)
		if err == nil {
			var folder *safefile.Folder
			if folder, err = safefile.Hold(place, CopiesFolder); err == nil {
				return folder, nil
			}
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("copy what was trusted to a private folder: %w", errors.Join(errs...))
}

// CopySSH writes the files of an ssh configuration, with Includes that name the copies.
func CopySSH(state string, files []runner.SSHFile) (*safefile.Folder, error) {
	folder, err := PrivateFolder(state)
	if err != nil {
		return nil, err
	}
	if err := runner.CopySSHConfiguration(files, folder.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the ssh configuration: %w", err), folder.Remove())
	}
	return folder, nil
}
