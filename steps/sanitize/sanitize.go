// Package sanitize is the one way out for text that came from elsewhere: a node, a server, another user's file.
// Before such a text gets to a terminal, a log, a report or a comment, everything in it that could control one, or be
// taken for another line, is made visible here.
//
// What was cleaned at the door may be dirty again: a JSON string holds an escape that only its decoder makes a
// control character of. So this is the last moment, and the gate trusts no one. It knows neither colours nor columns;
// those are tui/theme's.
package sanitize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/railbench/railbench/runner"
)

// Controls reports whether a character does something in place of being seen: control
// characters (the line's end and the tab, too), what turns the direction of writing, line
// and paragraph separators, and what has no width. The joiners of letters are letters'.
func Controls(r rune) bool {
	return r == '\n' || r == '\t' || runner.Hidden(r)
}

// Line makes one line of a text, in which whatever controls stands as an escape: \n,
// \x1b, \u202e. A tab is a blank.
func Line(s string) string { return visible(s, "") }

// Text is Line for a text of several lines: their ends and tabs stay.
func Text(s string) string { return visible(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t") }

func visible(s, keep string) string {
	if ascii(s) || !strings.ContainsFunc(s, unclean) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !Controls(r) || strings.ContainsRune(keep, r):
			b.WriteString(s[i : i+n])
		case r == '\t':
			b.WriteByte(' ')
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 1<<16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// ascii reports whether a text is of ASCII's letters only, as nearly every line of a log
// is: that is seen byte by byte.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// unclean is true of bytes that are not UTF-8, too: ranging gives RuneError for them.
func unclean(r rune) bool { return r == utf8.RuneError || Controls(r) }

// Several is a text of several lines among the arguments of Fprintf.
type Several string

// Fprintf is fmt's, with every argument as one line: a text of several lines says that it
// is one (Several). The format is the caller's own.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, cleaned(args)...)
}

// Fprintln is fmt's, with every argument as one line.
func Fprintln(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, cleaned(args)...) }

// Fprint is fmt's, with every argument as one line.
func Fprint(w io.Writer, args ...any) (int, error) { return fmt.Fprint(w, cleaned(args)...) }

// WriteText writes a text of several lines.
func WriteText(w io.Writer, s string) error {
	_, err := io.WriteString(w, Text(s))
	return err
}

func cleaned(args []any) []any {
	all := make([]any, len(args))
	for i, a := range args {
		switch reflect.ValueOf(a).Kind() {
		case reflect.Bool, reflect.Float32, reflect.Float64, reflect.Int, reflect.Int8,
			reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32,
			reflect.Uint64:
			// A number can be a width. One that has a name of its own is what its author says.
			all[i] = a
		default:
			all[i] = argument{a}
		}
	}
	return all
}

type argument struct{ value any }

// Format formats the value as it would have been, and cleans that.
func (a argument) Format(f fmt.State, verb rune) {
	clean := Line
	if s, ok := a.value.(Several); ok {
		a.value, clean = string(s), Text
	}
	_, _ = io.WriteString(f, clean(fmt.Sprintf(fmt.FormatString(f, verb), a.value))) // fmt's buffer takes all
}

// Errors are the lines of an error: what errors.Join has put together is several, each
// else is one.
func Errors(err error) []string {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		all := several.Unwrap()
		if errors.Join(all...).Error() == err.Error() && len(all) > 0 {
			var lines []string
			for _, err := range all {
				lines = append(lines, Errors(err)...)
			}
			return lines
		}
	}
	return []string{Line(err.Error())}
}

// JSON writes a value as indented JSON in which nothing controls a terminal that it is
// shown on: JSON leaves DEL, C1 and the marks of direction as they are.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(b.Bytes()))
	return err
}

// EscapeJSON writes what controls in a JSON text as JSON's escapes. It stands in strings
// only, so the text means the same.
func EscapeJSON(b []byte) []byte {
	hidden := func(r rune) bool { return (r < ' ' || r > '~') && Controls(r) && r != '\n' && r != '\t' }
	// Nearly all of it is ASCII, in which a byte can be looked at without being decoded.
	ascii := func(c byte) bool { return ' ' <= c && c <= '~' || c == '\n' || c == '\t' }
	at := slices.IndexFunc(b, func(c byte) bool { return !ascii(c) })
	if at < 0 || !bytes.ContainsFunc(b[at:], hidden) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r < 1<<16:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			// A pair of surrogates is how JSON writes what has more than 16 bits.
			const first, low, high = 0x10000, 0xdc00, 0xd800
			fmt.Fprintf(&out, `\u%04x\u%04x`, high+(r-first)>>10, low+(r-first)&0x3ff)
		}
	}
	return out.Bytes()
}

// A Writer cleans what goes through it, as Text does: the last gate before a terminal or a pipe, for what went round
// the others. It remembers the first failed write: what a program printed and no one got is not a success.
type Writer struct {
	mu   sync.Mutex // two nodes may be reported on at once
	to   io.Writer
	rest []byte // the beginning of a character whose end comes with the next write
	err  error
}

// NewWriter is a Writer to another one.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// To is where it writes.
func (w *Writer) To() io.Writer { return w.to }

// Err is why a write failed; nil where none did.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append(w.rest, b...)
	w.rest = nil
	if n := unfinished(all); n > 0 {
		w.rest = bytes.Clone(all[len(all)-n:])
		all = all[:len(all)-n]
	}
	if _, err := io.WriteString(w.to, Text(string(all))); err != nil {
		if w.err == nil {
			w.err = err
		}
		return 0, err
	}
	return len(b), nil
}

// unfinished is how many bytes at the end are the beginning of a character.
func unfinished(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if at := len(b) - n; utf8.RuneStart(b[at]) {
			if b[at] >= utf8.RuneSelf && !utf8.FullRune(b[at:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
