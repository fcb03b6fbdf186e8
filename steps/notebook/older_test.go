package notebook

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// older is a session that was saved before a rig could have more than two nodes and before
// figures were kept: as that release wrote it, but for the name of its user's folder.
func older(t *testing.T) string {
	t.Helper()
	packed, err := os.Open("testdata/release-0.ipynb.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "older.ipynb")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOlderSessionsOpen(t *testing.T) {
	path := older(t)
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"hosts", "ping"} {
		c := d.Book.Cells[id]
		if c.Verdict.Grade != steps.Pass || c.Verdict.Reason == "" || c.Output.Len() == 0 {
			t.Errorf("%s: %s %q, %d lines", id, c.Verdict.Grade, c.Verdict.Reason, c.Output.Len())
		}
	}
	rig := d.Book.Rig
	if len(rig.Nodes) != 2 || rig.At(steps.Here).Name != "spark-02" || rig.At(steps.Peer).Name != "spark-01" ||
		len(rig.Pairs) != 4 {
		t.Errorf("the rig has %d nodes and %d pairs", len(rig.Nodes), len(rig.Pairs))
	}
	if rig.Link() != steps.DefaultLink || rig.At(steps.Peer).No != 1 {
		t.Errorf("the link under test is %v", rig.Link())
	}
	s, err := Open(path, d.Book.Tutorial, Options{Rig: "sim", Simulated: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.Runs() != 2 {
		t.Errorf("it goes on after run %d", s.Runs())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if err != nil || again.Book.Cells["ping"].Verdict.Reason != d.Book.Cells["ping"].Verdict.Reason {
		t.Errorf("saved anew it is another: %v", err)
	}
}

// A page of a session names all nodes, those next to the link too.
func TestEveryNodeIsInTheTable(t *testing.T) {
	r := steps.NewRig("trio", false, 3)
	for i := range r.Nodes {
		r.Nodes[i].Name = []string{"a", "b", "c"}[i]
	}
	var names []string
	for _, row := range rigTable(r.Over(steps.Link{Here: 2, Peer: 0})).Rows {
		names = append(names, row[0])
	}
	if got := strings.Join(names, ", "); got != "c (here), a (peer), b (node3)" {
		t.Errorf("%s", got)
	}
}
