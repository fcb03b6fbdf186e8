package notebook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The oldest of the sessions that no one named are removed, but none that was cut off.
func TestSessionsArePruned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range keepSessions + 5 {
		name := filepath.Join(dir, string(rune('A'+i/26))+string(rune('a'+i%26))+".ipynb")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.WriteFile(JournalPath(name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := NewFile(dir, "my rig/../x"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ipynb"))
	if err != nil || len(files) != keepSessions || filepath.Base(files[0]) != "Aa.ipynb" {
		t.Errorf("%d files, the first is %s, %v", len(files), files[0], err)
	}
	name, err := NewFile(dir, "my rig/../x")
	if err != nil || filepath.Dir(name) != dir || strings.ContainsAny(filepath.Base(name), " /") {
		t.Errorf("%q, %v", name, err)
	}
}

// A rig without a name is called by its nodes', which may be more than a file's name takes.
func TestSessionOfARigWithALongName(t *testing.T) {
	long := strings.Repeat("spark-01-", 40)
	var names []string
	for _, rig := range []string{long, long + "spark-02"} {
		path, err := NewFile(t.TempDir(), rig)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Errorf("a session of %d bytes of names: %v", len(rig), err)
		}
		names = append(names, fileName(rig))
	}
	if names[0] == names[1] {
		t.Error("two rigs have one name of a file")
	}
	if name := fileName("spark-02-spark-01"); name != "spark-02-spark-01" {
		t.Errorf("a short one is %s", name)
	}
}

// Two sessions of one second have two files, and both are of the rig whose name they have.
func TestSessionsOfOneSecond(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		path, err := NewFile(dir, "rack-1")
		if err != nil || !strings.Contains(path, "Z-rack-1") || isThere(path) {
			t.Fatalf("%s, %v", path, err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
