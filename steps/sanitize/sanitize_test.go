package sanitize_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/railbench/railbench/steps/sanitize"
)

// nasty are texts that do something on a terminal, or look like another line.
var nasty = []string{
	"a\x1b]0;title\x07b", "a\u009b31mb", "a\nPASS  b", "a\rb", "a\r\nb", "a\u202eb", "a\u2066b\u2069", "a\u2028b",
	"a\u2029b", "a\x7fb", "a\x00b", "a\x80b", "a\u0085b",
	"a\u200bb", "a\ufeffb", "a\u00adb", "a\U000e0041b", "a\vb", "a\fb", "\x1b", "\xff\xfe", "a\bb",
}

func controls(s, keep string) bool {
	return !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return sanitize.Controls(r) && !strings.ContainsRune(keep, r) })
}

func TestLineAndText(t *testing.T) {
	for _, s := range nasty {
		if got := sanitize.Line(s); controls(got, "") {
			t.Errorf("Line(%q) = %q", s, got)
		}
		if got := sanitize.Text(s); controls(got, "\n\t") {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
	for _, s := range []string{"", "plain", "Größe ⇄ ▸ ✓ 한국어 👩‍👩‍👧‍👦", "می\u200cخواهم"} {
		if got := sanitize.Line(s); got != s {
			t.Errorf("Line(%q) = %q", s, got)
		}
	}
	for s, want := range map[string]string{
		"a\nb\tc\x1b[0m": `a\nb c\x1b[0m`, "\u202e": `\u202e`,
		"\U000e0041": `\U000e0041`, "\xff": `\xff`,
	} {
		if got := sanitize.Line(s); got != want {
			t.Errorf("Line(%q) = %q, want %q", s, got, want)
		}
	}
	if got := sanitize.Text("a\r\n\tb\n"); got != "a\n\tb\n" {
		t.Errorf("%q", got)
	}
}

type named string

type told struct{ s string }

func (x told) String() string { return x.s }

func printed(format string, args ...any) string {
	var b strings.Builder
	_, _ = sanitize.Fprintf(&b, format, args...)
	return b.String()
}

func TestPrintf(t *testing.T) {
	for _, s := range nasty {
		for _, arg := range []any{
			s, named(s),
			told{s},
			errors.New(s),
			[]string{s},
			&told{s},
			map[string]string{"a": s},
			struct{ S string }{s},
		} {
			for _, verb := range []string{"%s", "%v", "%-20v|", "%+v"} {
				if got := printed(verb, arg); controls(got, "") {
					t.Errorf("%s of %T %q is %q", verb, arg, s, got)
				}
			}
		}
		var b strings.Builder
		_, _ = sanitize.Fprintln(&b, s, 3)
		if got, ok := strings.CutSuffix(b.String(), " 3\n"); !ok || controls(got, "") {
			t.Errorf("Fprintln(%q) = %q", s, b.String())
		}
	}
	if got := printed("%-*s|%5.1f|%d|%q|%t", 6, "ab", 1.25, 7, "x\n", true); got != `ab    |  1.2|7|"x\n"|true` {
		t.Errorf("%q", got)
	}
	if got := printed("%s", sanitize.Several("a\nb\x1b")); got != "a\nb\\x1b" {
		t.Errorf("%q", got)
	}
}

func TestErrors(t *testing.T) {
	joined := fmt.Errorf("%w", errors.Join(errors.New("one\nPASS"), errors.New("two")))
	if got := sanitize.Errors(joined); len(got) != 1 {
		t.Errorf("%q", got)
	}
	got := sanitize.Errors(errors.Join(errors.New("one\nPASS"), errors.Join(errors.New("two"), errors.New("three"))))
	if strings.Join(got, "|") != `one\nPASS|two|three` {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	for _, s := range nasty {
		var b bytes.Buffer
		if err := sanitize.JSON(&b, map[string]string{"k": s}); err != nil {
			t.Fatal(err)
		}
		if controls(b.String(), "\n") {
			t.Errorf("%q: %q", s, b.String())
		}
		var back map[string]string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil ||
			back["k"] != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("%q came back as %q, %v", s, back["k"], err)
		}
	}
}

// Whatever the writes are cut into, nothing gets through and no letter is torn.
func TestWriter(t *testing.T) {
	for _, s := range append(nasty, "Größe ⇄ 👩‍👩‍👧‍👦 end\n") {
		for cut := 1; cut < 5; cut++ {
			var out bytes.Buffer
			w := sanitize.NewWriter(&out)
			for rest := []byte(s + "."); len(rest) > 0; {
				n := min(cut, len(rest))
				if got, err := w.Write(rest[:n]); err != nil || got != n {
					t.Fatal(got, err)
				}
				rest = rest[n:]
			}
			if controls(out.String(), "\n\t") {
				t.Errorf("%q in pieces of %d: %q", s, cut, out.String())
			}
			if !controls(s, "\n") && out.String() != s+"." {
				t.Errorf("%q became %q", s, out.String())
			}
		}
	}
	w := sanitize.NewWriter(full{})
	if _, err := w.Write([]byte("x")); err == nil || w.Err() == nil {
		t.Error("a failed write is no failure")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
