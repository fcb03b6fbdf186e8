package kindtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/runbook"
)

func Cell(t *testing.T, id string) steps.Cell {
	t.Helper()
	c, ok := Tutorial(t).Cell(id)
	if !ok {
		t.Fatalf("there is no cell %s", id)
	}
	return c
}

// The files are read from the folder: only cmd imports assets.
func Tutorial(t *testing.T) steps.Tutorial {
	t.Helper()
	tut, err := runbook.Load(os.DirFS(filepath.Join(root(t), "assets")), "tutorial")
	if err != nil {
		t.Fatal(err)
	}
	list, err := runbook.Load(os.DirFS(filepath.Join(root(t), "assets")), "checklist")
	if err != nil {
		t.Fatal(err)
	}
	stage, err := runbook.Load(os.DirFS(filepath.Join(root(t), "assets")), "stage")
	if err != nil {
		t.Fatal(err)
	}
	tut.Checklist = slices.Concat(list.Parts, stage.Parts)
	return tut
}

// Every is the cells of the tutorial and of the checklist.
func Every(tut steps.Tutorial) []steps.Cell {
	return slices.Concat(tut.Cells(), tut.Checks(), tut.Fixes())
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = up
	}
}
