// Package asciicast records what a terminal shows, in the format that asciinema plays
// (docs.asciinema.org/manual/asciicast/v3 and v2). It knows no terminal: its size is asked for, and what is written to
// it is handed on. What is typed is not recorded.
package asciicast

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Recording is a file of what a terminal shows: a header, and a line an event.
type Recording struct {
	version int
	now     func() time.Time
	empty   func() error // takes away what was in the file
	size    func() (columns, rows int)

	mu            sync.Mutex
	to            io.WriteCloser
	began, last   time.Time // zero as long as there was no screen
	left          []byte    // the beginning of a letter whose end was not written yet
	columns, rows int
	err           error // the first one
}

// The formats that there are.
const (
	version2 = 2
	version3 = 3
)

// New makes a recording of a terminal of a size in a file, in the format of before where v2 is set. What is in the
// file already stays until there is a screen to be recorded: a wrong flag next to it costs no one the recording of
// before.
func New(path string, v2 bool, size func() (columns, rows int)) (*Recording, error) {
	f, err := safefile.Open(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &Recording{version: version3, now: time.Now, to: f, size: size}
	if v2 {
		r.version = version2
	}
	r.empty = func() error { return f.Truncate(0) }
	return r, nil
}

// Screen begins the recording with the first screen; those that come after it go on in it.
func (r *Recording) Screen(terminal string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.began.IsZero() {
		return nil
	}
	if err := r.empty(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.begin(terminal)
	return r.err
}

// begin writes the header.
func (r *Recording) begin(terminal string) {
	r.columns, r.rows = r.size()
	r.began = r.now()
	r.last = r.began
	header := map[string]any{"version": r.version, "timestamp": r.began.Unix(), "title": "railbench"}
	if r.version == version2 {
		header["width"], header["height"] = r.columns, r.rows
		header["env"] = map[string]string{"TERM": terminal}
	} else {
		header["term"] = map[string]any{"cols": r.columns, "rows": r.rows, "type": terminal}
	}
	r.line(header)
}

func (r *Recording) line(v any) {
	if r.err != nil {
		return // a line may be cut off: what came behind it would be a part of it, and no player reads that
	}
	b, err := json.Marshal(v)
	if err == nil {
		file := r.to
		_, err = file.Write(append(sanitize.EscapeJSON(b), '\n'))
	}
	if err != nil {
		r.err = fmt.Errorf("record: %w", err)
	}
}

// event writes one; mu is held. A recording of format 3 has the time since the event before, one of
// format 2 that since the beginning.
func (r *Recording) event(code, data string) {
	at := r.now()
	since := at.Sub(r.last)
	if r.version == version2 {
		since = at.Sub(r.began)
	}
	r.last = at
	r.line([]any{math.Round(since.Seconds()*1e6) / 1e6, code, data})
}

// Output records what was written to the terminal.
func (r *Recording) Output(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if columns, rows := r.size(); columns != r.columns || rows != r.rows {
		r.columns, r.rows = columns, rows
		r.event("r", fmt.Sprintf("%dx%d", columns, rows))
	}
	text := append(r.left, b...)
	whole := len(text)
	// A letter is written as a whole, or the player would have a broken one.
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if c := text[len(text)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-i:]) {
				whole = len(text) - i
			}
			break
		}
	}
	if whole > 0 {
		r.event("o", string(text[:whole]))
	}
	r.left = append([]byte(nil), text[whole:]...)
}

// Mark puts a marker, by which a player finds a cell.
func (r *Recording) Mark(label string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event("m", label)
}

// Close ends the recording; the error is the first that there was.
func (r *Recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version == version3 && !r.began.IsZero() {
		r.event("x", "0")
	}
	if err := r.to.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("record: %w", err)
	}
	return r.err
}
