//go:build !linux

package stream

import "os"

// memory is a temporary file, which forget removes.
func memory() (*os.File, error) { return os.CreateTemp("", "railbench-stream-") }

// reopen is the same file with a place of its own.
func reopen(f *os.File) (*os.File, error) { return os.Open(f.Name()) }

func forget(f *os.File) error { return os.Remove(f.Name()) }
