package notebook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
)

// edits are what a user does to the lesson's first part: a script that has run is edited, a scratch cell and a note
// are added.
func edits() []steps.Event {
	cells := lesson().Parts[0].Cells
	edited := cells[0]
	edited.Roles, edited.Edited = []steps.Role{{On: steps.OnBoth, Script: "hostname\n"}}, true
	scratch := steps.Cell{
		ID: "scratch-1", Part: "look", Title: "Scratch", Scratch: true,
		Judge: "exit-status", Roles: []steps.Role{{On: steps.OnPeer, Script: "uptime\n"}},
	}
	note := steps.Cell{ID: "scratch-2", Part: "look", Title: "Scratch", Scratch: true, Prose: "The cable is *new*.\n"}
	hidden := cells[1]
	hidden.Hidden = true
	return []steps.Event{
		steps.CellStarted{Run: 9, Cell: "hosts", At: began, Scripts: []string{cells[0].Roles[0].Script}},
		steps.CellEnded{Run: 9, Cell: "hosts", At: began, Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine."}},
		steps.PartChanged{Part: "look", Cells: []steps.Cell{edited, scratch, note, hidden}},
	}
}

// Edited, scratch and note cells are there again: after a save, and after a kill in
// the middle of it.
func TestEditsAreSaved(t *testing.T) {
	for _, killed := range []bool{false, true} {
		path := sessionPath(t)
		s, err := Open(path, lesson(), Options{Rig: "lab", Now: func() time.Time { return began }})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Record(edits()); err != nil {
			t.Fatal(err)
		}
		if killed {
			away := t.TempDir()
			if err := os.CopyFS(away, os.DirFS(filepath.Dir(path))); err != nil {
				t.Fatal(err)
			}
			path = filepath.Join(away, filepath.Base(path))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path, lesson(), Options{Rig: "lab", Now: func() time.Time { return began }})
		if err != nil {
			t.Fatalf("killed %v: %v", killed, err)
		}
		book := again.Book()
		var ids []string
		for _, c := range book.Tutorial.Parts[0].Cells {
			ids = append(ids, c.ID)
		}
		if len(ids) != 4 || ids[0] != "hosts" || ids[1] != "scratch-1" || ids[2] != "scratch-2" || ids[3] != "bw" {
			t.Errorf("killed %v: cells %q", killed, ids)
			continue
		}
		cells := book.Tutorial.Parts[0].Cells
		if c := cells[0]; !c.Edited || c.Roles[0].Script != "hostname\n" || c.Tail != lesson().Parts[0].Cells[0].Tail {
			t.Errorf("killed %v: the edited cell: %+v", killed, c)
		}
		if c := cells[1]; !c.Scratch || c.Judge != "exit-status" ||
			c.Roles[0].On != steps.OnPeer || c.Roles[0].Script != "uptime\n" {
			t.Errorf("killed %v: the scratch cell: %+v", killed, c)
		}
		if c := cells[2]; !c.Note() || c.Prose != "The cable is *new*." && c.Prose != "The cable is *new*.\n" {
			t.Errorf("killed %v: the note: %+v", killed, c)
		}
		if !cells[3].Hidden {
			t.Errorf("killed %v: the hidden cell is shown", killed)
		}
		if text := string(again.doc.BriefMarkdown()); !strings.Contains(text, "Hidden on the screen: bw.") {
			t.Errorf("killed %v: the export does not name the hidden cell: %s", killed, text)
		}
		if why := book.Stale("hosts"); why != "its script was changed after it ran" {
			t.Errorf("killed %v: the result of the old script: %q", killed, why)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
