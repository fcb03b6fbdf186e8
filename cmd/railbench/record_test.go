package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecordOlderNeedsAFile(t *testing.T) {
	o := opening{record: recordFlags{v2: true}}
	err := o.recorded(rootCommand(), func(opening) error { return nil })
	if s, ok := errors.AsType[status](err); !ok || s.code != exitUsage {
		t.Error(err)
	}
}

// Where no screen comes about the recording of before stays; with the first one its place is taken, once.
func TestRecordingBeginsWithTheScreen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "show.cast")
	if err := os.WriteFile(path, []byte("precious, and longer than a header is by far: "+strings.Repeat("x", 500)),
		0o600); err != nil {
		t.Fatal(err)
	}
	o := opening{record: recordFlags{path: path}}
	wrong := errors.New("there is no such rig")
	if err := o.recorded(rootCommand(), func(opening) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "precious") {
		t.Errorf("the recording of before is %q, %v", text, err)
	}
	err := o.recorded(rootCommand(), func(o opening) error {
		err := o.recording.Screen("xterm")
		o.recording.Output([]byte("one "))
		err = errors.Join(err, o.recording.Screen("xterm"))
		o.recording.Output([]byte("two"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header, events, _ := strings.Cut(string(text), "\n")
	shows := ""
	for line := range strings.Lines(events) {
		var event [3]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if event[1] == "o" {
			shows += event[2].(string)
		}
	}
	if !strings.HasPrefix(header, "{") || shows != "one two" {
		t.Errorf("it shows %q", shows)
	}
}
