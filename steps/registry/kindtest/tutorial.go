package kindtest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/runbook"
)

func Cell(t *testing.T, id string) steps.Cell {
	t.Helper()
	c, ok := Tutorial(t).Cell(id)
	if !ok {
		t.Fatalf("missing cell %s", id)
	}
	return c
}

// Tutorial is the built-in one with the checklist; the test may change it.
func Tutorial(t *testing.T) steps.Tutorial {
	t.Helper()
	tut, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return tut.Own()
}

// read is asked for by nearly every test of a family. The files are read from the folder: only cmd imports assets.
var read = sync.OnceValues(func() (steps.Tutorial, error) {
	dir, err := root()
	if err != nil {
		return steps.Tutorial{}, err
	}
	files := os.DirFS(filepath.Join(dir, "assets"))
	tut, err := runbook.Load(files, "tutorial")
	if err != nil {
		return tut, err
	}
	list, err := runbook.Load(files, "checklist")
	if err != nil {
		return tut, err
	}
	stage, err := runbook.Load(files, "stage")
	tut.Checklist = slices.Concat(list.Parts, stage.Parts)
	return tut, err
})

// Every is the cells of the tutorial and of the checklist.
func Every(tut steps.Tutorial) []steps.Cell {
	return slices.Concat(tut.Cells(), tut.Checks(), tut.Fixes())
}

// root is the folder of go.mod.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = up
	}
}
