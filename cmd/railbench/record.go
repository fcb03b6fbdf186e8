package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/render"
)

// A castWriter writes what a terminal shows as an asciicast, which asciinema plays: a header, and a
// line an event (docs.asciinema.org/manual/asciicast/v3 and v2). What is typed is not in it.
type castWriter struct {
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

// castVersions are the formats that there are.
const (
	castV2 = 2
	castV3 = 3
)

// newCast makes a recording of a terminal in a file. What is in that already stays until there is a screen to be
// recorded: a wrong flag beside it costs nobody the recording of before.
func newCast(path string, v2 bool, screen *os.File) (*castWriter, error) {
	f, err := safefile.Open(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &castWriter{version: castV3, now: time.Now, to: f, size: func() (int, int) {
		columns, rows, err := term.GetSize(int(screen.Fd()))
		if err != nil {
			return 80, 24
		}
		return columns, rows
	}}
	if v2 {
		r.version = castV2
	}
	r.empty = func() error { return f.Truncate(0) }
	return r, nil
}

// screen begins the recording with the first screen; those that come after it go on in it.
func (r *castWriter) screen(terminal string) error {
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
func (r *castWriter) begin(terminal string) {
	r.columns, r.rows = r.size()
	r.began = r.now()
	r.last = r.began
	header := map[string]any{"version": r.version, "timestamp": r.began.Unix(), "title": "railbench"}
	if r.version == castV2 {
		header["width"], header["height"] = r.columns, r.rows
		header["env"] = map[string]string{"TERM": terminal}
	} else {
		header["term"] = map[string]any{"cols": r.columns, "rows": r.rows, "type": terminal}
	}
	r.line(header)
}

func (r *castWriter) line(v any) {
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
func (r *castWriter) event(code, data string) {
	at := r.now()
	since := at.Sub(r.last)
	if r.version == castV2 {
		since = at.Sub(r.began)
	}
	r.last = at
	r.line([]any{math.Round(since.Seconds()*1e6) / 1e6, code, data})
}

// output records what was written to the terminal.
func (r *castWriter) output(b []byte) {
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

// mark puts a marker, by which a player finds a cell.
func (r *castWriter) mark(label string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event("m", label)
}

// close ends the recording; the error is the first that there was.
func (r *castWriter) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version == castV3 && !r.began.IsZero() {
		r.event("x", "0")
	}
	if err := r.to.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("record: %w", err)
	}
	return r.err
}

// taped is a terminal whose output is recorded.
type taped struct {
	render.Terminal
	rec *castWriter
}

func (t taped) Write(b []byte) (int, error) {
	screen := t.Terminal
	n, err := screen.Write(b)
	t.rec.output(b[:n])
	return n, err
}

// recordFlags say where what the screen shows is recorded.
type recordFlags struct {
	path string
	v2   bool
}

func (r *recordFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.path, "record", "", "record the screen in this .cast for asciinema (asciicast v3)")
	cmd.Flags().BoolVar(&r.v2, "record-older", false, "record asciicast v2, for older players")
	completeFlags(cmd, map[string]completer{"record": files("cast")})
}
