package notebook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// What the source documents say otherwise is a number where it is explained, and its text is
// at the end once: in every form that is read.
func TestDifferencesAreNumbered(t *testing.T) {
	d := settled(t, story(false))
	page, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	file, err := d.Encode(began)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"md": string(d.Markdown()), "html": string(page), "ipynb": string(file)} {
		if name == "ipynb" { // the metadata has the texts, too, for a later read of the file
			text = sources(t, file)
		}
		before, notes, ok := strings.Cut(text, steps.DifferencesTitle)
		if !ok || strings.Contains(before, "In fact") || strings.Count(notes, "In fact") != 3 {
			t.Errorf("%s: the differences are not at its end, and there alone:\n%s", name, text)
		}
		if !strings.Contains(before, "A quotation.") {
			t.Errorf("%s: another quotation is gone", name)
		}
		at := 0
		for _, no := range []string{"1", "2", "3"} {
			sign := strings.Index(before[at:], ">"+no+"</a></sup>")
			if name != "html" {
				sign = strings.Index(before[at:], "<sup>["+no+"](#difference-"+no+")</sup>")
			}
			if sign < 0 || !strings.Contains(notes, `id="difference-`+no+`"`) {
				t.Errorf("%s: no mark %s, or nothing that it leads to", name, no)
				continue
			}
			at += sign
		}
	}
}

// sources are the texts of an .ipynb, as a reader sees them.
func sources(t *testing.T, file []byte) string {
	t.Helper()
	var b strings.Builder
	var f struct{ Cells []cellIn }
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Cells {
		b.WriteString(string(c.Source) + "\n\n")
	}
	return b.String()
}

// A file that is read again has the differences where its tutorial has them, also under a
// tutorial that has other numbers.
func TestDifferencesComeBack(t *testing.T) {
	d := settled(t, story(false))
	file, err := d.Encode(began)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range d.Book.Tutorial.Parts {
		q := again.Book.Tutorial.Parts[i]
		if p.Prose != q.Prose {
			t.Errorf("%s: %q came back as %q", p.ID, p.Prose, q.Prose)
		}
		for j, c := range p.Cells {
			if c.Prose != q.Cells[j].Prose || c.Tail != q.Cells[j].Tail {
				t.Errorf("%s: %q, %q came back as %q, %q", c.ID, c.Prose, c.Tail, q.Cells[j].Prose, q.Cells[j].Tail)
			}
		}
	}
	if !bytes.Equal(again.Markdown(), d.Markdown()) {
		t.Error("an export of the file is another one")
	}
	fewer := lesson()
	fewer.Parts[0].Prose = "Nothing else."
	again.adopt(fewer)
	if text := string(again.Markdown()); !strings.Contains(text, `id="difference-2"`) ||
		strings.Contains(text, `id="difference-3"`) {
		t.Errorf("the numbers are not the new tutorial's:\n%s", text)
	}
}
