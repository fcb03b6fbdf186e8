package trust_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/trust"
)

func cell(id, script string) steps.Cell {
	return steps.Cell{
		ID: id, Part: "p", Title: id, Judge: "exit-status",
		Roles: []steps.Role{{On: steps.OnBoth, Script: script}},
	}
}

func lesson() steps.Tutorial {
	return steps.Tutorial{
		Parts:     []steps.Part{{ID: "p", Cells: []steps.Cell{cell("hosts", "hostname\n")}}},
		Checklist: []steps.Part{{ID: "q", Cells: []steps.Cell{cell("check", "true\n")}}},
	}
}

func TestTrust(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trusted")
	b := trust.New(dir, lesson())
	own, check := lesson().Parts[0].Cells[0], lesson().Checklist[0].Cells[0]
	retitled := own
	retitled.Title, retitled.Prose, retitled.Edited = "Another", "text", true
	for _, c := range []steps.Cell{own, check, retitled, {ID: "note", Prose: "text"}} {
		if !b.Trusted(c) {
			t.Errorf("%s needs trust", c.ID)
		}
	}
	// Everything that decides what runs makes another cell of it.
	for name, change := range map[string]func(*steps.Cell){
		"script": func(c *steps.Cell) { c.Roles[0].Script = "hostname; id\n" },
		"root":   func(c *steps.Cell) { c.Roles[0].Root = true },
		"place":  func(c *steps.Cell) { c.Roles[0].On = steps.OnPeer },
		"id":     func(c *steps.Cell) { c.ID = "other" },
		"asks":   func(c *steps.Cell) { c.Asks = true },
		"change": func(c *steps.Cell) { c.Change.Set = []string{"RAIL1_NETDEV"} },
		"judge":  func(c *steps.Cell) { c.Judge = "x" },
		"own":    func(c *steps.Cell) { c.Roles, c.Own = nil, "summary" },
		"limit":  func(c *steps.Cell) { c.Limit = time.Hour },
		"role":   func(c *steps.Cell) { c.Roles = append(c.Roles, steps.Role{Script: "id\n"}) },
	} {
		c := lesson().Parts[0].Cells[0]
		change(&c)
		if b.Trusted(c) {
			t.Errorf("with another %s it is trusted", name)
		}
		if err := b.Trust(c); err != nil {
			t.Fatal(err)
		}
		if !b.Trusted(c) || !trust.New(dir, steps.Tutorial{}).Trusted(c) {
			t.Errorf("with another %s it was trusted, and is not", name)
		}
		if info, err := os.Stat(filepath.Join(dir, trust.Hash(c))); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	// A symbolic link that a user put there does not prove the user's trust.
	strange := cell("strange", "id\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, trust.Hash(strange))); err != nil {
		t.Fatal(err)
	}
	if b.Trusted(strange) {
		t.Error("a link is taken for trust")
	}
	// Nor is one's own file there where everybody could have given it that name.
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	said := cell("said", "id\n")
	if err := os.WriteFile(filepath.Join(dir, trust.Hash(said)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if trust.New(dir, steps.Tutorial{}).Trusted(said) {
		t.Error("a file of a folder into which everybody may write is taken for trust")
	}
	if err := trust.New(dir, steps.Tutorial{}).Trust(cell("more", "id\n")); err == nil {
		t.Error("what is trusted is kept where everybody may write")
	}
}

// TestDefaultsAreContent: what a tutorial declares for its parameters is trusted with it, and
// another value is another word.
func TestDefaultsAreContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trusted")
	with := func(value string) steps.Tutorial {
		l := lesson()
		l.Parts[0].Params = []steps.Param{{Name: "TOOL", Default: value}}
		return l
	}
	if got := trust.New(dir, with("true")).Foreign(with("true")); len(got) != 0 {
		t.Errorf("its own: %v", got)
	}
	b := trust.New(dir, lesson())
	for _, value := range []string{"true", "rm", ""} {
		got := b.Foreign(with(value))
		if len(got) != 1 {
			t.Fatalf("%q: %v", value, got)
		}
		if name, told, ok := trust.Parameter(got[0]); !ok || name != "TOOL" || told != value {
			t.Errorf("%q: %s=%q", value, name, told)
		}
		if err := b.Trust(got...); err != nil {
			t.Fatal(err)
		}
		if got := trust.New(dir, lesson()).Foreign(with(value)); len(got) != 0 {
			t.Errorf("%q was trusted: %v", value, got)
		}
	}
	if _, _, ok := trust.Parameter(cell("hosts", "id\n")); ok {
		t.Error("a cell is taken for a parameter")
	}
}

// What the user writes may run; what he got may not because he moved it about.
func TestEdited(t *testing.T) {
	b := trust.New("", lesson())
	own, evil := lesson().Parts[0].Cells[0], cell("evil", "id\n")
	mine := own
	mine.Roles = []steps.Role{{On: steps.OnBoth, Script: "hostname -f\n"}}
	moved := evil
	moved.Roles = []steps.Role{{On: steps.OnPeer, Script: "id\n"}}
	scratch := cell("scratch-1", "uptime\n")
	if err := b.Edited([]steps.Cell{own, evil}, []steps.Cell{mine, moved, evil, scratch}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []steps.Cell{mine, scratch} {
		if !b.Trusted(c) {
			t.Errorf("the user's own %s is not trusted", c.ID)
		}
	}
	for _, c := range []steps.Cell{moved, evil} {
		if b.Trusted(c) {
			t.Errorf("%s on %s is trusted", c.ID, c.Roles[0].On)
		}
	}
	// Removed and brought back, or put into another part, it is what it was.
	for _, c := range []steps.Cell{evil, moved} {
		elsewhere := c
		elsewhere.Part = "q"
		if err := b.Edited([]steps.Cell{own}, []steps.Cell{own, elsewhere}); err != nil {
			t.Fatal(err)
		}
		if b.Trusted(elsewhere) {
			t.Errorf("%s on %s is trusted once it was brought back", c.ID, c.Roles[0].On)
		}
	}
	if got := b.Foreign(steps.Tutorial{Parts: []steps.Part{{Cells: []steps.Cell{own, evil}}}}); len(got) != 1 ||
		got[0].ID != "evil" {
		t.Errorf("foreign are %v", got)
	}
}
