// Package safefile opens the files of this machine that railbench keeps, and those that it is given to read:
// only regular files, and no file that another user has put in their place.
//
// A file that railbench writes itself (a session, its journal, a log, the undo journal) is not a link and
// belongs to the user who runs railbench, or to root. The checks look at the file that was opened, never at a
// name before the opening: so no other user can exchange the file in between. This package does not know what
// is in the files.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Refused is about a path that is not opened, though it could be.
type Refused struct {
	Path string
	Why  string // completes a sentence: it …
}

func (e *Refused) Error() string { return e.Path + ": " + e.Why }

// Open opens a file of railbench's own. A new one gets the permissions of perm. Nothing in
// it is changed: what shall be empty is truncated afterwards, when it is known whose it is.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_TRUNC != 0 {
		return nil, fmt.Errorf("open %s: truncated before anybody has looked whose it is", path)
	}
	return open(path, flag|syscall.O_NOFOLLOW, perm, func(info fs.FileInfo) error {
		if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
			if err := onlyName(path, info); err != nil {
				return err
			}
		}
		return usable(path, info)
	})
}

// Next to opens, to read, a file that stands next to one that a user named. It may be anybody's, and is not a link:
// no one named what that would lead to.
func Beside(path string) (*os.File, error) {
	return open(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0, func(fs.FileInfo) error { return nil })
}

// open opens a regular file that a look at it allows.
func open(path string, flag int, perm fs.FileMode, allowed func(fs.FileInfo) error) (*os.File, error) {
	// O_NONBLOCK: the opening of a pipe would wait for the process at its other end.
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, instead(path, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &Refused{path, "it is " + kind(info.Mode())}
	default:
		err = allowed(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Truncated opens a file of railbench's own for writing, and empties it.
func Truncated(path string, perm fs.FileMode) (*os.File, error) {
	f, err := Open(path, os.O_CREATE|os.O_WRONLY, perm)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadOwn reads a file of railbench's own, of limit bytes at most. What it says is done: no one else may have been
// able to write it.
func ReadOwn(path string, limit int64) ([]byte, error) {
	f, err := open(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0, func(info fs.FileInfo) error {
		if err := usable(path, info); err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			if others := writers(path, info, s.Gid); others != "" {
				return &Refused{path, others + " may write it: look at what it says, and chmod go-w takes that away"}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, path, limit)
}

// Read reads a file that a user names, of limit bytes at most. It may be anybody's, and the name a link: who names it
// means what it leads to.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Named(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, path, limit)
}

// Head is Read, but for what is longer: of that it gives the first limit bytes.
func Head(path string, limit int64) ([]byte, error) {
	f, err := Named(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// Named opens a file that a user names, to read it: who does bounds what he reads of it.
func Named(path string) (*os.File, error) {
	return open(path, os.O_RDONLY, 0, func(fs.FileInfo) error { return nil })
}

// ReadAll reads an open file, of limit bytes at most.
func ReadAll(f *os.File, path string, limit int64) ([]byte, error) {
	// First, so that what is refused costs no memory. What grows meanwhile is seen below.
	if err := Fits(f, path, limit); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, tooLong(path, limit)
	}
	return b, err
}

// Fits says of an open file that it is longer than limit bytes, where it is now.
func Fits(f *os.File, path string, limit int64) error {
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		return tooLong(path, limit)
	}
	return nil
}

func tooLong(path string, limit int64) error {
	return &Refused{path, "it is longer than " + size(limit)}
}

// Mine says why a path is none that railbench may write: it is a link, no regular file, or another user's. One that
// is not there yet is.
func Mine(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return instead(path, syscall.ELOOP)
	}
	return usable(path, info)
}

// Replace writes a file so that a reader, also one after a crash, sees either the old file or the new one,
// complete. A temporary file in the same folder is written, synced and renamed to the old one's name. It
// keeps the old one's permissions; a new file gets perm, without what the umask takes away. Replace also
// removes what a killed save has left.
func Replace(path string, content []byte, perm fs.FileMode) (err error) {
	// The name alone is replaced, and never what a link leads to: that it is the file which a user means is why it is
	// looked at.
	if err := Mine(path); err != nil {
		return err
	}
	old, statErr := os.Lstat(path)
	if statErr == nil {
		perm &= old.Mode().Perm() // until it has them
	}
	f, err := temporary(path, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if statErr == nil {
		if err = f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	// Without this the old file may be back after a power cut. Not every file system
	// can do it, and the new one is there.
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
	return nil
}

func usable(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &Refused{path, "it is " + kind(info.Mode())}
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return &Refused{path, "its owner is unknown"}
	}
	if s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return &Refused{path, fmt.Sprintf("it belongs to another user (user id %d): copy it, and use the copy", s.Uid)}
	}
	return nil
}

// onlyName refuses what is written in place and has another name: it is another user's file.
func onlyName(path string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Nlink > 1 {
		return &Refused{path, "it has another name, too (a hard link): copy it, and take the copy"}
	}
	return nil
}

// instead says what was found where an opening failed because it is not a file.
func instead(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EMLINK):
		to, readErr := os.Readlink(path)
		if readErr != nil {
			return err // a link on the way to it
		}
		return &Refused{path, "it is a link to " + to + ": name that file itself"}
	case errors.Is(err, syscall.ENXIO):
		return &Refused{path, "it is a pipe or a device, and no file"}
	}
	return err
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder, and no file"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe, and no file"
	case m&fs.ModeSocket != 0:
		return "a socket, and no file"
	}
	return "a device, and no file"
}

// size is a limit in the unit in which it is a number.
func size(limit int64) string {
	if limit < 1<<20 {
		return fmt.Sprintf("%d KiB", limit>>10)
	}
	return fmt.Sprintf("%d MiB", limit>>20)
}
