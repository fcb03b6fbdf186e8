package stream

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memory is a file that is nowhere but in memory.
func memory() (*os.File, error) {
	fd, err := unix.MemfdCreate("railbench-stream", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "railbench-stream"), nil
}

// reopen is the same file with a place of its own.
func reopen(f *os.File) (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}

// forget has nothing to remove.
func forget(*os.File) error { return nil }
