package disk

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// A Ring is a file of lines that never takes more than a size on the disk: once it is half
// of that it becomes the one before, whose lines are forgotten.
type Ring struct {
	path string
	half int64
	file *os.File
	size int64
}

// OpenRing opens a ring of railbench's own, or makes it. It and the one before take limit
// bytes at most, and one line more.
func OpenRing(path string, limit int64) (*Ring, error) {
	r := &Ring{path: path, half: max(1, limit/2)}
	if err := Mine(r.Before()); err != nil {
		return nil, err
	}
	return r, r.open()
}

// Before is the file with the lines before those of the ring's own.
func (r *Ring) Before() string { return r.path + ".1" }

func (r *Ring) open() error {
	f, err := Open(r.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size = f, info.Size()
	return nil
}

// Add writes a line.
func (r *Ring) Add(line []byte) error {
	if r.size > 0 && r.size+int64(len(line))+1 > r.half {
		if err := r.turn(); err != nil {
			return err
		}
	}
	n, err := r.file.Write(append(slices.Clip(line), '\n'))
	r.size += int64(n)
	if err != nil {
		return fmt.Errorf("write a line of history: %w", err)
	}
	return nil
}

// turn makes the file the one before, and begins anew.
func (r *Ring) turn() error {
	if err := r.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(r.path, r.Before()); err != nil {
		return errors.Join(err, r.open())
	}
	return r.open()
}

// Close ends it.
func (r *Ring) Close() error { return r.file.Close() }
