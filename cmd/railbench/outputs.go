package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/tui/plain"
)

// writable says what is wrong with the files that flags name, before anything runs: an hour later no one wants to
// hear that the folder isn't there.
func writable(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		flag := flags.Lookup(name)
		if !flag.Changed {
			continue
		}
		path := flag.Value.String()
		if path == "" {
			return fmt.Errorf("--%s needs the name of a file", name)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("--%s %s is a folder: name a file in it", name, path)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s %s: the folder %s does not exist", name, path, filepath.Dir(path))
		}
		if err := safefile.Mine(path); err != nil {
			return fmt.Errorf("--%s %w", name, err)
		}
	}
	return nil
}

// notWritten returns the status of a file that could not be written. A name that can't be used is an error of
// the command line; a full disk is not.
func notWritten(err error) error {
	_, refused := errors.AsType[*safefile.Refused](err)
	if refused || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return usage(err)
	}
	return unwritten(err)
}

// newPrinter writes charts, too, where a person looks at them: on a terminal, or
// where they were asked for.
func newPrinter(out io.Writer, simulated, charts bool) plain.Figures {
	return plain.NewFigures(out, columns(out), simulated, charts || terminal(out) != nil)
}
