package pairs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/railbench/railbench/runner/safefile"
)

// Known is the matrix of an earlier run that goes on in a file; nil where there is none, and for no name.
func Known(path string) (*Matrix, error) {
	if path == "" {
		return nil, nil
	}
	file, err := safefile.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, safefile.Mine(path)
	}
	return read(file, path, err)
}

// Open reads a saved matrix that a user names.
func Open(path string) (*Matrix, error) {
	file, err := safefile.Named(path)
	return read(file, filepath.Base(path), err)
}

func read(file *os.File, name string, err error) (*Matrix, error) {
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// Keep saves what was measured until now in a file; an empty name is none.
func (m *Matrix) Keep(path, program string) error {
	if path == "" {
		return nil
	}
	text, err := m.JSON(program)
	if err == nil {
		err = safefile.Replace(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the matrix in %s: %w", path, err)
	}
	return nil
}

// Export writes the matrix to files; an empty name is none.
func (m *Matrix) Export(csv, html string) error {
	if csv != "" {
		text, err := m.CSV()
		if err == nil {
			err = safefile.Replace(csv, text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", csv, err)
		}
	}
	if html != "" {
		if err := safefile.Replace(html, m.HTML(), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", html, err)
		}
	}
	return nil
}
