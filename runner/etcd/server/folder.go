package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A folder is where one server keeps its data. The kernel's lock on it ends with the
// process, however that ends: a folder that nobody holds was left behind by a kill.
type folder struct {
	path string
	held *os.File
}

const folderName = "railbench-etcd-"

// folderTries bounds how often a sweeping neighbour may take a folder that is just
// being made for one that was left behind.
const folderTries = 10

// newFolder makes a folder for a server below temp, and removes those that killed
// servers have left there.
func newFolder(temp string) (*folder, error) {
	sweep(temp)
	for range folderTries {
		path, err := os.MkdirTemp(temp, folderName)
		if err != nil {
			return nil, err
		}
		held, err := hold(path)
		if err == nil {
			return &folder{path, held}, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, errors.Join(err, os.Remove(path))
		}
	}
	return nil, fmt.Errorf("make a folder for etcd below %s: somebody removes each at once", temp)
}

var errHeld = errors.New("another process holds it, or has removed it")

// hold locks a folder that is this user's own.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errHeld
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Whoever had the lock before may have removed the folder.
	held, err := f.Stat()
	there, gone := os.Lstat(path)
	if err != nil || gone != nil || !os.SameFile(held, there) {
		f.Close()
		return nil, errHeld
	}
	return f, nil
}

// sweep removes the folders of servers that were killed. What can't be removed stays
// for the next one: a server works beside it.
func sweep(temp string) {
	left, err := filepath.Glob(filepath.Join(temp, folderName+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		// Root could remove another user's, too.
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		held, err := hold(path)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(path) // see above
		held.Close()
	}
}

// remove removes the folder with all that is in it.
func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	f.held.Close()
	return err
}
