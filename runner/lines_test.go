package runner

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"
)

// cleaned are the lines and marks of a stream after the supervisor's first word.
func cleaned(r io.Reader) (lines []Line, marks []string) {
	lines, marks, _ = read(io.MultiReader(strings.NewReader("\x1eid begun\n"), r))
	return lines, marks[1:]
}

func read(r io.Reader) (lines []Line, marks []string, login string) {
	out := make(chan []Line)
	mk := make(chan string)
	go func() {
		_, login = readLines(r, Stdout, "id", out, mk)
		close(out)
		close(mk)
	}()
	for out != nil || mk != nil {
		select {
		case batch, ok := <-out:
			if lines = append(lines, batch...); !ok {
				out = nil
			}
		case m, ok := <-mk:
			if ok {
				marks = append(marks, m)
			} else {
				mk = nil
			}
		}
	}
	return lines, marks, login
}

// What a login prints before the supervisor's first word is not the script's output, with or without a line end. If
// no word comes, it is what the error reports.
func TestLoginsPrint(t *testing.T) {
	const rest = "\x1eid begun\nyes\n\x1eid exit 0\n"
	for _, c := range []struct{ before, login string }{
		{"", ""},
		{"Welcome\n", "Welcome"},
		{"Welcome", "Welcome"},
		{"Welcome\r", "Welcome"},
		{"two\nlines\n\n", "two lines"},
		{"\x1b]0;a title that never ends", ""},
		{"\x1eid2 begun\n", "^^id2 begun"},
		{strings.Repeat("0123456789\n", 10000), strings.Repeat("0123456789 ", 28)[:300]},
	} {
		for _, one := range []bool{false, true} {
			var r io.Reader = strings.NewReader(c.before + rest)
			if one {
				r = iotest.OneByteReader(r)
			}
			lines, marks, login := read(r)
			if got := texts(lines); !slices.Equal(got, []string{"yes"}) || login != c.login {
				t.Errorf("%.20q: lines %q, login %q", c.before, got, login)
			}
			if !slices.Equal(marks, []string{"begun", "exit 0"}) {
				t.Errorf("%.20q: marks %q", c.before, marks)
			}
		}
	}
	lines, marks, login := read(strings.NewReader("This account is currently not available.\n"))
	if lines != nil || marks != nil || login != "This account is currently not available." {
		t.Errorf("no supervisor: %q, %q, %q", texts(lines), marks, login)
	}
}

func texts(lines []Line) []string {
	var s []string
	for _, l := range lines {
		s = append(s, l.Text)
	}
	return s
}

func TestCleaner(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\nb\n", "a|b"},
		{"a\r\nb\r\n", "a|b"},
		{"10%\r20%\rdone\n", "10%|20%|done"},
		{"end\r", "end"},
		{"\n\n", "|"},
		{"", ""},
		{"\tx\ny\tz\n", "        x|y       z"},
		{"\x1b[1;31mred\x1b[0m\n", "red"},
		{"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\n", "xlink"},
		{"\x1bPdcs\x1b\\x\x1b(By\x1bcz\n", "xyz"},
		{"\x1b[12\nnext\n", "|next"},
		// No sequence that never ends takes the line's end along, nor what comes after it was given up.
		{"a\x1b\nb\n", "a|b"},
		{"a\x1b(\nb\n", "a|b"},
		{"a\x1b\r\nb\n", "a|b"},
		{"a\x1b[1\r\nb\n", "a|b"},
		{"a\x1b]0;t\nb\n", "a|b"},
		{"a\x1b[1\x18b\n", "ab"},
		{"a\x1bPq\x1ab\x1b^\x18c\n", "abc"},
		{"\x1b[31\x1b[32mx\n", "x"},
		{"\x1b]never ends\nnext\n", "|next"},
		{"\u009b31mx\u009dtitle\u009cy\n", "xy"},
		{"bell\a nul\x00 del\x7f\n", "bell^G nul^@ del^?"},
		{"bad\xff\xfeutf\n", "bad\ufffd\ufffdutf"},
		{"half\xe2\x82", "half\ufffd"},
		{"\u202eevil\u2066\u200f\n", "\ufffdevil\ufffd\ufffd"},
		{"日本語 ä 😀\n", "日本語 ä 😀"},
		{"partial\x1eid exit 3\nrest\n", "partialrest"},
		// What a tool was in the middle of does not swallow the supervisor's word.
		{"\x1b]title\x1eid exit 3\n", ""},
		{"\x1b[31\x1eid exit 3\nx\n", "x"},
		{"10%\r\x1eid exit 3\n", "10%"},
	} {
		for name, r := range map[string]io.Reader{
			"whole":        strings.NewReader(c.in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
		} {
			lines, marks := cleaned(r)
			if got := strings.Join(texts(lines), "|"); got != c.want {
				t.Errorf("%q %s: got %q, want %q", c.in, name, got, c.want)
			}
			if strings.Contains(c.in, "\x1e") != (len(marks) == 1 && marks[0] == "exit 3") {
				t.Errorf("%q %s: marks %q", c.in, name, marks)
			}
		}
	}
}

// A tool may print an RS, as JSON text sequences do (RFC 7464), and even the supervisor's words
// behind it: without the run's id they are its output, and end nothing.
func TestOnlyTheSupervisorEndsARun(t *testing.T) {
	for in, want := range map[string]string{
		"\x1eexit 0\n":             "^^exit 0",
		"\x1eother exit 0\nnext\n": "^^other exit 0|next",
		"\x1e{\"a\":1}\n":          `^^{"a":1}`,
		"a\x1e\x1ei\nb\n":          "a^^^^i|b",
		"\x1e\x1b[31mred\n":        "^^red",
		"\x1eid":                   "^^id",
		"\x1e\xc3\xa4\n":           "^^ä",
	} {
		for name, r := range map[string]io.Reader{
			"whole":        strings.NewReader(in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(in)),
		} {
			lines, marks := cleaned(r)
			if got := strings.Join(texts(lines), "|"); got != want || len(marks) > 0 {
				t.Errorf("%q %s: got %q and the marks %q, want %q", in, name, got, marks, want)
			}
		}
	}
}

// Whatever comes, in whatever pieces: no control character, valid UTF-8, bounded
// lines, and the pieces make no difference.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;t\x07c\r\nd\te\xe2\x82\xac\x9b"), 3)
	f.Add([]byte("\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3;4mx\x1b[48:5:7my\x1b[58:2::1:2:3mz"+
		"\x1b[>4mq\x1b[?1m\x1b[3 mé\x1b[m\r"), 2)
	f.Add(bytes.Repeat([]byte("\x1b[31mä\x1b[mb"), 600), 7)
	f.Add(bytes.Repeat([]byte("x"), MaxLine+5), 100)
	f.Add([]byte("a\x1eid\x1eno\x1b]\x1eid exit 1\nb"), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		whole, marks := cleaned(bytes.NewReader(in))
		pieces, _ := cleaned(&inPieces{in, max(1, size)})
		a, b := texts(whole), texts(pieces)
		if len(marks) == 0 && strings.Join(a, "\n") != strings.Join(b, "\n") {
			t.Errorf("whole %q, in pieces %q", a, b)
		}
		for i := range min(len(whole), len(pieces)) {
			if len(marks) == 0 && !slices.Equal(whole[i].Spans, pieces[i].Spans) {
				t.Errorf("line %d: whole %v, in pieces %v", i, whole[i].Spans, pieces[i].Spans)
			}
			spansHold(t, whole[i])
		}
		for _, s := range a {
			if !utf8.ValidString(s) || len(s) > MaxLine || strings.ContainsFunc(s, unicode.IsControl) {
				t.Errorf("line %q of %q", s, in)
			}
		}
	})
}

// spansHold looks whether each span begins where a letter does, behind the one before
// it, and changes something.
func spansHold(t *testing.T, l Line) {
	t.Helper()
	if len(l.Spans) > maxSpans {
		t.Errorf("%d spans in a line", len(l.Spans))
	}
	last, before := int32(-1), Style{}
	for _, s := range l.Spans {
		if s.At <= last || int(s.At) >= len(l.Text) || !utf8.RuneStart(l.Text[s.At]) || s.Style == before {
			t.Errorf("span %v after %d in %q", s, last, l.Text)
		}
		last, before = s.At, s.Style
	}
}

type inPieces struct {
	b    []byte
	size int
}

func (p *inPieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.b)
	p.b = p.b[n:]
	return n, nil
}

func TestCleanerCutsLongLines(t *testing.T) {
	long := strings.Repeat("ä", MaxLine)
	lines, _ := cleaned(strings.NewReader(long + "\n"))
	var all strings.Builder
	for i, l := range lines {
		all.WriteString(l.Text)
		if len(l.Text) > MaxLine || l.Cut != (i < len(lines)-1) || !utf8.ValidString(l.Text) {
			t.Errorf("piece %d: %d bytes, cut %v", i, len(l.Text), l.Cut)
		}
	}
	if all.String() != long {
		t.Error("pieces don't add up")
	}
}

func BenchmarkCleaner(b *testing.B) {
	text := bytes.Repeat([]byte("65536      5000             11032.64            11032.34            0.176518\n"),
		10_000)
	out := make(chan []Line)
	go func() {
		for range out {
		}
	}()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		readLines(bytes.NewReader(text), Stdout, "id", out, nil)
	}
	close(out)
}
