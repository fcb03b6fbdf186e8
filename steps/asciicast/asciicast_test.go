package asciicast

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

type kept struct{ bytes.Buffer }

func (*kept) Close() error { return nil }

// cast is a recording read by the published formats: what it shows, its markers, and how long it is.
func cast(t *testing.T, version int, text string) (shows string, marks []string, seconds float64) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Scan()
	var header struct {
		Version       int
		Width, Height int
		Term          *struct{ Cols, Rows int }
	}
	if err := json.Unmarshal(lines.Bytes(), &header); err != nil || header.Version != version {
		t.Fatalf("header %q: %v", lines.Text(), err)
	}
	if v2 := header.Width > 0 && header.Height > 0; v2 != (version == version2) || (header.Term != nil) == v2 {
		t.Fatalf("the size of the terminal: %s", lines.Text())
	}
	for lines.Scan() {
		var e []any
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || len(e) != 3 {
			t.Fatalf("event %q: %v", lines.Text(), err)
		}
		at, number := e[0].(float64)
		code, word := e[1].(string)
		data, isText := e[2].(string)
		codes := "oimr"
		if version == version3 {
			codes += "x"
		}
		if !number || at < 0 || !word || len(code) != 1 || !strings.Contains(codes, code) || !isText {
			t.Fatalf("event %q", lines.Text())
		}
		switch code {
		case "o":
			shows += data
		case "m":
			marks = append(marks, data)
		}
		if seconds += at; version == version2 {
			seconds = at
		}
	}
	return shows, marks, seconds
}

func TestRecording(t *testing.T) {
	for _, version := range []int{version2, version3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			var out kept
			now, columns := time.Unix(1000, 0), 80
			r := &Recording{
				version: version, to: &out, now: func() time.Time { return now }, size: func() (int, int) { return columns, 24 },
			}
			r.begin("xterm-256color")
			want := "\x1b[H█ 92.6 Gb/s — ein Wort\r\n"
			for i := range []byte(want) { // in the middle of letters, too
				now = now.Add(100 * time.Millisecond)
				r.Output([]byte(want)[i : i+1])
			}
			r.Mark("One rail")
			columns = 120
			r.Output([]byte("x"))
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			shows, marks, seconds := cast(t, version, out.String())
			if shows != want+"x" || strings.Contains(out.String(), "�") {
				t.Errorf("it shows %q", shows)
			}
			if !slices.Equal(marks, []string{"One rail"}) || math.Abs(seconds-0.1*float64(len(want))) > 0.001 {
				t.Errorf("marks %q, %v s", marks, seconds)
			}
			if !strings.Contains(out.String(), `"r","120x24"`) {
				t.Error("that the terminal has grown is not in it")
			}
		})
	}
}

// A filling is a disk that is full for a while.
type filling struct {
	kept
	full bool
}

func (f *filling) Write(b []byte) (int, error) {
	if !f.full {
		return f.kept.Write(b)
	}
	n, _ := f.kept.Write(b[:len(b)/2])
	return n, syscall.ENOSPC
}

// What could not be written ends a recording: a player reads it up to there, and would read nothing behind a line that
// is cut off.
func TestRecordingOnAFullDisk(t *testing.T) {
	out := filling{}
	r := &Recording{version: version3, to: &out, now: time.Now, size: func() (int, int) { return 80, 24 }}
	r.begin("xterm")
	r.Output([]byte("before"))
	out.full = true
	r.Output([]byte("meanwhile"))
	out.full = false
	r.Output([]byte("after"))
	if err := r.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	whole := out.String()
	if shows, _, _ := cast(t, version3, whole[:strings.LastIndexByte(whole, '\n')]); shows != "before" {
		t.Errorf("it shows %q", shows)
	}
}
