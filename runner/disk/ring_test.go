package disk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is written, the ring takes no more than it may, and has the last lines whole; who
// opens it again goes on.
func TestRing(t *testing.T) {
	const limit = 1000
	path := filepath.Join(t.TempDir(), "ring")
	var all []string
	for range 3 {
		r, err := OpenRing(path, limit)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			line := fmt.Sprintf("line %04d %s", len(all), strings.Repeat("x", len(all)%50))
			all = append(all, line)
			if err := r.Add([]byte(line)); err != nil {
				t.Fatal(err)
			}
			var text []byte
			for _, name := range []string{r.Before(), path} {
				b, err := os.ReadFile(name)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				text = append(text, b...)
			}
			if len(text) > limit {
				t.Fatalf("it takes %d bytes after %d lines", len(text), len(all))
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			if got, want := lines, all[len(all)-len(lines):]; strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("it has %q", got)
			}
			if len(all) > 30 && len(text) < limit/3 {
				t.Fatalf("only %d bytes are kept", len(text))
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// A line that is longer than all of it stands alone.
	r, err := OpenRing(path, limit)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Add(bytes.Repeat([]byte("y"), 2*limit)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 2*limit+1 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// Neither of its files is written through a link.
func TestRingIsNobodysTrap(t *testing.T) {
	for _, name := range []string{"ring", "ring.1"} {
		dir := t.TempDir()
		victim := filepath.Join(dir, "victim")
		if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if r, err := OpenRing(filepath.Join(dir, "ring"), 100); err == nil {
			r.Close()
			t.Errorf("%s is a link, and is opened", name)
		}
	}
}
