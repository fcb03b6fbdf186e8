package safefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Keeps says why railbench must not look in a folder for what it may run: the folder, or one on the path to
// it, belongs to another user, or others may write there. The files in it may still be the user's own, but
// the owner of the folder could give each file the name of another. A folder that does not exist yet has
// nothing in it.
func Keeps(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return &Refused{dir, "it is not a folder"}
	}
	return way(dir, []int{0, os.Geteuid()}, true)
}

// Program says why a file is none that railbench may run or hand to a node: it, or a folder on the way to
// it, is not root's, this user's or that of railbench's own file, or others may write there.
// In a folder such as /tmp, too, anybody may put a file in the place of one that is not there yet.
func Program(path string) error {
	trusted := []int{0, os.Geteuid()}
	if own, err := os.Executable(); err == nil {
		if info, err := os.Stat(own); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				trusted = append(trusted, int(s.Uid)) // whose program runs already
			}
		}
	}
	whole, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(whole); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return &Refused{whole, "it is " + kind(info.Mode())}
	}
	for _, p := range []string{path, filepath.Dir(whole), filepath.Dir(path)} {
		if err := way(p, trusted, false); err != nil {
			return err
		}
	}
	return nil
}

// A Folder is a temporary one that a process keeps its files in. The kernel's lock on it ends with the process,
// however that ends: a folder that no one holds was left behind by a kill.
type Folder struct {
	Path string
	held *os.File
}

// folderTries bounds how often a sweeping neighbour may take a folder that is just
// being made for one that was left behind.
const folderTries = 10

// Hold makes a folder below temp whose name begins with name, and removes those of that name that
// killed processes have left there.
func Hold(temp, name string) (*Folder, error) {
	Sweep(temp, name)
	for range folderTries {
		path, err := os.MkdirTemp(temp, name)
		if err != nil {
			return nil, err
		}
		held, err := hold(path)
		if err == nil {
			return &Folder{path, held}, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, errors.Join(err, os.Remove(path))
		}
	}
	return nil, fmt.Errorf("make a folder %s… below %s: another process removes each at once", name, temp)
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
	// The previous owner of the lock may have removed the folder.
	held, err := f.Stat()
	there, gone := os.Lstat(path)
	if err != nil || gone != nil || !os.SameFile(held, there) {
		f.Close()
		return nil, errHeld
	}
	return f, nil
}

// Sweep removes the folders of a name that killed processes of this user have left. What can't be removed
// stays for the next time: a new process works in another folder next to it.
func Sweep(temp, name string) {
	left, err := filepath.Glob(filepath.Join(temp, name+"*"))
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

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	f.held.Close()
	return err
}
