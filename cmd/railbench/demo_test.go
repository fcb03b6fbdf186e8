package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/screen"
)

// A script of one's own is read and checked before there is a screen; what it asks for has to be
// there.
func TestAScriptOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"## One {#one}\n```show\nrun load-rail LOAD_SECONDS=5\n```\n": "",
		"## One {#one}\n```show\nrun load-rial\n```\n":                "load-rail",
		"## One {#one}\n```show\nrun load-rail LOAD_SECONDS=1\n```\n": "LOAD_SECONDS",
		"nothing": "has no scene",
	} {
		path := filepath.Join(dir, "show.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tut, _, err := tutorial()
		if err != nil {
			t.Fatal(err)
		}
		opts := screen.Options{Tutorial: tut}
		err = stageOpening{open: true, script: path}.put(&opts, &openRig{})
		if want == "" && (err != nil || len(opts.Presentation.Script.Slides) != 1) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

// Without a terminal, notes prints where the presentation is, or that no presentation is running.
func TestNotesWithoutATerminal(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	var out, errs bytes.Buffer
	if code := Main([]string{"notes"}, nil, &out, &errs); code != exitUsage ||
		!strings.Contains(errs.String(), "no presentation is running") {
		t.Errorf("status %d: %s", code, &errs)
	}
	path, err := showPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	tell := func(at script.Moment) {
		t.Helper()
		raw, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		errs.Reset()
	}
	at := script.Moment{
		Script: "A show", Slide: 1, Of: 2, Title: "One", Notes: "Say \x1b[31mthis.", Next: "Two", PID: os.Getpid(),
	}
	tell(at)
	if code := Main([]string{"notes"}, nil, &out, &errs); code != exitOK ||
		!strings.Contains(out.String(), "A show, 1 of 2: One") ||
		!strings.Contains(out.String(), "next: Two") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("status %d: %q %s", code, &out, &errs)
	}
	at.Slide, at.Next, at.Over = 2, "", true
	tell(at)
	if code := Main([]string{"notes"}, nil, &out, &errs); code != exitOK || !strings.Contains(out.String(), "is over") {
		t.Errorf("over: status %d: %q %s", code, &out, &errs)
	}
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	at.PID = ended.Process.Pid
	tell(at)
	if code := Main([]string{"notes"}, nil, &out, &errs); code != exitUsage || out.Len() > 0 ||
		!strings.Contains(errs.String(), "ended at slide 2 of 2") {
		t.Errorf("ended: status %d: %q %s", code, &out, &errs)
	}
}

// The built-in show runs by itself on the simulated rig, within four minutes of the nodes' time,
// and the checklist names the cable that was pulled.
func TestTheBuiltInShow(t *testing.T) {
	if os.Getenv("RAILBENCH_FULL") == "" {
		t.Skip("half a minute: RAILBENCH_FULL=1 runs it")
	}
	t.Setenv("HOME", t.TempDir())
	b, err := rigFlags{rig: "sim", speed: 8, seed: 1}.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Sample, b.options.Saving = true, session.Saving{}
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	defer func() { _ = s.Close() }()
	opts := screen.Options{
		Tutorial:     b.options.Tutorial,
		Params:       session.Params(b.options.Catalog, b.options.Tutorial),
		Rig:          screen.Rig{Simulated: true},
		Presentation: screen.Presentation{Open: true},
		Clock:        screen.Clock{Rig: s.Now, Now: time.Now},
	}
	if err := (stageOpening{open: true, auto: true}).put(&opts, b); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	verdicts, last := map[string]string{}, map[string]int{}
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	opts.Presentation.Tell = func(m script.Moment) error {
		mu.Lock()
		defer mu.Unlock()
		if m.Verdict != "" && m.No > last[m.Title] {
			verdicts[m.Title], last[m.Title] = m.Verdict, m.No
		}
		if m.Over {
			end()
		}
		return nil
	}
	began := s.Now()
	p := tea.NewProgram(tui.New(s, opts), tea.WithInput(nil), tea.WithoutRenderer(), tea.WithWindowSize(120, 40),
		tea.WithContext(t.Context()))
	go func() {
		<-over
		p.Quit()
	}()
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if took := s.Now().Sub(began); took > 4*time.Minute {
		t.Errorf("it took %s of the nodes' time", took)
	}
	mu.Lock()
	defer mu.Unlock()
	for scene, want := range map[string]string{
		"One rail": "PASS: 92.", "One half": "PASS: 105.", "Both halves": "PASS: 18", "TCP on one rail": "PASS: 76.",
		"RDMA on that rail": "PASS: 92.", "GPU memory": "host-staged", "A cable is pulled": "port 0",
		"The cable is back": "PASS: 92.", "What was reached": "PASS: 5 cells: 5 PASS. Fastest: load of RDMA writes, " +
			"rails 1 and 3",
	} {
		if !strings.Contains(verdicts[scene], want) {
			t.Errorf("%s: %q, not %q", scene, verdicts[scene], want)
		}
	}
}

// Where the show can't be given nothing stays open: a session that is would be offered as one that was cut off.
func TestNoShowLeavesNoSession(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	bad, file := filepath.Join(dir, "show.md"), filepath.Join(dir, "kept.ipynb")
	if err := os.WriteFile(bad, []byte("no show\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(&said)
	cmd.SetErr(&said)
	d, err := setUp(cmd, rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1},
		opening{session: file, begins: true, stage: stageOpening{open: true, script: bad}})
	if d != nil || err == nil {
		t.Fatalf("a show was given: %v %s", err, said.String())
	}
	if journal := notebook.JournalPath(file); exists(journal) {
		t.Errorf("%s is left: %v", journal, err)
	}
}
