package runbook

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// written are the files that people wrote: the built-in parts.
func written(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, dir := range []string{"tutorial", "checklist"} {
		names, err := filepath.Glob("../../assets/" + dir + "/*.md")
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = src
		}
	}
	return all
}

func windows(src []byte) []byte { return bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n")) }

// edits checks everything that holds for a runbook that can be read: another script changes the bytes of that script
// and no others.
func edits(t *testing.T, name string, src []byte, script string) {
	t.Helper()
	p, err := Parse(name, src)
	if err != nil {
		return
	}
	d := Read(name, src)
	for i, c := range p.Cells {
		for j := range c.Roles {
			out, err := Edit(src, c.ID, j, script)
			if err != nil {
				continue // that it can't stand there; what can is in TestEdit
			}
			got, err := Parse(name, out)
			if err != nil {
				t.Fatalf("%s with another script of %s: %v", name, c.ID, err)
			}
			if has := got.Cells[i].Roles[j].Script; strings.TrimSuffix(has,
				"\n") != strings.TrimSuffix(strings.ReplaceAll(script, "\r\n", "\n"), "\n") {
				t.Fatalf("%s: %s is %q, want %q", name, c.ID, has, script)
			}
			// Undoing the edit gives the file as it was.
			again, err := Edit(out, c.ID, j, c.Roles[j].Script)
			if err != nil {
				t.Fatalf("%s: the way back of %s: %v", name, c.ID, err)
			}
			block := d.scripts[c.ID][j]
			from, to := d.rawOffset(block.from), d.rawOffset(block.to)
			if !bytes.HasPrefix(again, src[:from]) || !bytes.HasSuffix(again, src[to:]) ||
				!bytes.HasPrefix(out, src[:from]) || !bytes.HasSuffix(out, src[to:]) {
				t.Fatalf("%s: the script of %s is not all that was changed", name, c.ID)
			}
		}
	}
}

func TestBuiltInRoundTrip(t *testing.T) {
	for name, src := range written(t) {
		edits(t, name, src, "echo other\n\n\tindented\n")
		for _, src := range [][]byte{windows(src), append([]byte("\xef\xbb\xbf"), src...)} {
			edits(t, name, src, "echo other\n")
		}
		// The scripts of these stand at the margin: undoing an edit is exact.
		p, err := Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		forms := [][]byte{src, windows(src)}
		for i, c := range p.Cells {
			for j, role := range c.Roles {
				for k, src := range forms {
					if (i+j+k)%2 != 0 && !testform.Full() {
						continue
					}
					out, err := Edit(src, c.ID, j, "x\n")
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Equal(out, src) {
						t.Errorf("%s: nothing was edited in %s", name, c.ID)
					}
					if back, err := Edit(out, c.ID, j, role.Script); err != nil || !bytes.Equal(back, src) {
						t.Errorf("%s: %s does not come back: %v", name, c.ID, err)
					}
				}
			}
		}
	}
}

func TestEdit(t *testing.T) {
	lf := "# P {#p}\n\n## C {#c}\n\n  ```sh cell=c role=a ready=port:1\n  one\n\n    two\n  ```\n\n" +
		"```sh cell=c role=b\nthree\n```\nend"
	for name, c := range map[string]struct {
		src, cell string
		role      int
		script    string
		want      string // what stands in place of the script, or the error
	}{
		"another line":      {lf, "c", 1, "x\n", strings.Replace(lf, "three\n", "x\n", 1)},
		"no line end":       {lf, "c", 1, "x", strings.Replace(lf, "three\n", "x\n", 1)},
		"an indented fence": {lf, "c", 0, "x\n\n\ty\n", strings.Replace(lf, "  one\n\n    two\n", "  x\n\n  \ty\n", 1)},
		"Windows": {
			strings.ReplaceAll(lf, "\n", "\r\n"), "c", 1, "x\ny\n",
			strings.Replace(strings.ReplaceAll(lf, "\n", "\r\n"), "three\r\n", "x\r\ny\r\n", 1),
		},
		"Windows' script": {lf, "c", 1, "x\r\ny\r\n", strings.Replace(lf, "three\n", "x\ny\n", 1)},
		"mixed": {
			strings.Replace(lf, "three\n", "three\r\n", 1), "c", 0, "x\n",
			strings.Replace(strings.Replace(lf, "three\n", "three\r\n", 1), "  one\n\n    two\n", "  x\n", 1),
		},
		"a mark": {
			"\xef\xbb\xbf" + lf, "c", 1, "x\n",
			"\xef\xbb\xbf" + strings.Replace(lf, "three\n", "x\n", 1),
		},
		"another fence":  {lf, "c", 1, "~~~\n", strings.Replace(lf, "three\n", "~~~\n", 1)},
		"its own end":    {lf, "c", 1, "x\n```\ny\n", "would end its block"},
		"another cell's": {lf, "c", 1, "x\n```\n\n## D {#d}\n\n```sh cell=d\ny\n", "would end its block"},
		"nothing":        {lf, "c", 1, " \n", "can't be empty"},
		"no text":        {lf, "c", 1, "\xff\n", "is not text in UTF-8"},
		"no cell":        {lf, "d", 0, "x\n", "no such cell"},
		"no role":        {lf, "c", 2, "x\n", "the cell has 2 scripts, and none with the number 2"},
		"a broken file":  {"# P\n", "c", 0, "x\n", `the part "P" has no id`},
	} {
		out, err := Edit([]byte(c.src), c.cell, c.role, c.script)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if string(out) != c.want {
			t.Errorf("%s: %q, want %q", name, out, c.want)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(string(written(f)["../../assets/tutorial/40-rdma-baseline.md"]), "x\n")
	f.Add(good, "x\n  ```\n")
	f.Add("P {#p}\n===\nC {#c}\n---\n  ~~~sh cell=c\n\tx\r\n y\r\n  ~~~\n", "\n\tx\ry")
	f.Add("# P {#p}\r\n## C {#c}\r\n```sh cell=c\r\r\nx\r\r\n```\r\n", "~~~\r\n")
	f.Fuzz(func(t *testing.T, src, script string) {
		edits(t, "x.md", []byte(src), script)
	})
}
