package progress

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/railbench/railbench/steps"
)

func lesson() steps.Tutorial {
	role := []steps.Role{{}}
	return steps.Tutorial{Parts: []steps.Part{
		{ID: "set-up", Title: "Set-up", Cells: []steps.Cell{{ID: "hosts", Roles: role}, {ID: "tools", Roles: role}}},
		{ID: "gid-check", Title: "GID check", Cells: []steps.Cell{
			{ID: "gids", Roles: role}, {ID: "extra", Roles: role, Aside: true},
		}},
	}}
}

// What is kept is there again, also where several callers kept something at the same time.
func TestKeep(t *testing.T) {
	k := &Keeper{Path: filepath.Join(t.TempDir(), "state", "progress.json")}
	var all sync.WaitGroup
	for _, id := range []string{"hosts", "gids", "extra", "hosts"} {
		all.Go(func() {
			if err := k.CellRan(id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := k.PartRead("set-up"); err != nil {
		t.Fatal(err)
	}
	r, err := k.Load()
	if err != nil {
		t.Fatal(err)
	}
	page := Page(lesson(), r, map[string]bool{"gid-check": true})
	for _, want := range []string{
		"1 of 2 parts read, 2 of 3 cells run, 1 of 2 exercises solved",
		"| 1 Set-up | ✓ | 1 of 2 | `railbench drill set-up` |",
		"| 2 GID check |  | 1 of 1 | ✓ solved |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// A file that can't be read is not overwritten.
func TestBrokenFile(t *testing.T) {
	k := &Keeper{Path: filepath.Join(t.TempDir(), "progress.json")}
	if err := os.WriteFile(k.Path, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.PartRead("set-up"); err == nil || !strings.Contains(err.Error(), k.Path) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(k.Path); err != nil || string(text) != "{broken" {
		t.Errorf("%q, %v", text, err)
	}
}
