package theme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// A frame in letters is as wide as it was, and has nothing else.
func TestASCII(t *testing.T) {
	for _, s := range []string{
		"", "plain\nlines", "\x1b[1;38;5;120m✓ PASS\x1b[0m  ▕████▍  ╎ ▏ 92.6",
		"漢字 e\u0301 👩‍👩‍👧‍👦 🇩🇪 \u200b", "\xff\xfe broken",
	} {
		got := ASCII(s)
		for i, want := range strings.Split(s, "\n") {
			if w := ansi.StringWidth(strings.Split(got, "\n")[i]); w != ansi.StringWidth(want) {
				t.Errorf("%q: %d columns, not %d", got, w, ansi.StringWidth(want))
			}
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 {
			t.Errorf("%q is not ASCII", got)
		}
	}
	if got := ASCII("✓▸│…"); got != "+>|~" {
		t.Errorf("got %q", got)
	}
}

// Every sign that the screen is drawn with has a letter that stands for it.
func TestEverySignHasALetter(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"../cells/*.go", "../gauges/*.go", "../stage/*.go"} {
		m, err := filepath.Glob(more)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files", len(files))
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, r := range string(src) {
			if _, ok := glyphs[r]; r > unicode.MaxASCII && !ok {
				t.Errorf("%s: %q has no letter that stands for it", name, r)
			}
		}
	}
}
