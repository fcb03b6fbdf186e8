package notebook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner/safefile"
)

// sessionLimit and recordLimit are how long a session and its journal may be; longer ones are refused. At
// most one cell of a session is held in memory in addition to what is kept of it; a journal would take as
// much memory.
const (
	sessionLimit = 512 << 20
	recordLimit  = 64 << 20
)

// openSession opens a session to read it.
func openSession(path string) (*os.File, error) {
	f, err := safefile.Named(path)
	if err != nil {
		return nil, err
	}
	if err := safefile.Fits(f, path, sessionLimit); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// filePerm is for a new session: who may read it, reads it.
const filePerm = 0o644

func replace(path string, content []byte) error { return safefile.Replace(path, content, filePerm) }

// writeNew writes a file next to another one, under a free name: what, after the other one's name.
func writeNew(beside, what string, content []byte) (string, error) {
	ext := filepath.Ext(beside)
	base := strings.TrimSuffix(beside, ext)
	for i := 1; i < 1000; i++ {
		name := base + "-" + what + ext
		if i > 1 {
			name = fmt.Sprintf("%s-%s-%d%s", base, what, i, ext)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(content)
		if err == nil {
			err = f.Sync()
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(name)
			return "", err
		}
		return name, nil
	}
	return "", errors.New("too many files of that name already")
}

// errReadOnly is for a read-only file.
var errReadOnly = errors.New("it is read-only")

// writable says why a file must not be replaced. Root may write every file, so its
// mode counts, too: who made it read-only meant it.
func writable(path string) error {
	if err := safefile.Mine(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Perm()&0o222 == 0:
		return errReadOnly
	}
	// Opened and not only looked at: a file system may be read-only. A FIFO without a reader must not hold it up.
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			return errReadOnly
		}
		return err
	}
	return f.Close()
}

// inUse says who has a session open.
type inUse struct {
	owner Owner
	known bool
}

// InUse reports whether an error of Open is that another railbench has the session open.
func InUse(err error) bool {
	_, ok := errors.AsType[*inUse](err)
	return ok
}

func (e *inUse) Error() string {
	if !e.known {
		return "another railbench has it open"
	}
	return e.owner.String() + ", has it open"
}

// held reports whether a process has a journal locked.
func held(path string) bool {
	f, err := safefile.Beside(path)
	if err != nil {
		return false
	}
	defer f.Close() // and with it the lock, where it was free
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// briefly is how often a lock is tried again: a check whether it is held (held) holds it itself for a moment.
const briefly = 3

// lock opens a journal and locks it for this process: the lock is gone with it,
// however it ends.
func lock(path string) (*os.File, []byte, error) {
	for {
		f, err := safefile.Open(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		for range briefly {
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				break
			}
			time.Sleep(10 * time.Millisecond)
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		}
		content, readErr := safefile.ReadAll(f, path, recordLimit)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			o, known := owner(content)
			return nil, nil, &inUse{o, known}
		}
		if err == nil {
			err = readErr
		}
		// Its owner may have removed it between the opening and the lock.
		mine, statErr := f.Stat()
		if err == nil {
			err = statErr
		}
		if there, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) ||
			err == nil && statErr == nil && !os.SameFile(mine, there) {
			f.Close()
			continue
		}
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		return f, content, nil
	}
}
