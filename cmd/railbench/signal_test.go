package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stuck stream is a terminal or a pipe that nobody serves: entered is closed once
// somebody waits for it, and until the test is over nothing comes back.
type stuck struct {
	entered chan struct{}
	over    <-chan struct{}
}

func newStuck(t *testing.T) *stuck { return &stuck{make(chan struct{}, 1), t.Context().Done()} }

func (s *stuck) wait() (int, error) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.over
	return 0, errors.New("the test is over")
}

func (s *stuck) Read([]byte) (int, error)  { return s.wait() }
func (s *stuck) Write([]byte) (int, error) { return s.wait() }

// TestEveryVerbEnds: a signal ends every command, whatever it waits for. Those that have a
// rig have their own tests of that.
func TestEveryVerbEnds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	saved, book, pipe := filepath.Join(dir, "s.ipynb"), filepath.Join(dir, "own.md"), filepath.Join(dir, "pipe")
	if code := Main([]string{"run", "hosts", "--rig", "sim", "--speed", "100", "--session", saved}, strings.NewReader(""), io.Discard, io.Discard); code != exitOK {
		t.Fatal(code)
	}
	if code := Main([]string{"new", book}, strings.NewReader(""), io.Discard, io.Discard); code != exitOK {
		t.Fatal(code)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var covered []string
	for _, args := range [][]string{
		{"list"},
		{"list", "--json"},
		{"new", filepath.Join(dir, "another.md")},
		{"check", book},
		{"parse", "perftest"},
		{"parse", "--detect", "-"},
		{"parse", "perftest", pipe},
		{"export", saved, "--to", "md"},
		{"compare", saved, saved},
		{"man"},
		{"completion", "bash"},
		{"trust", saved},
		{"doctor", "--symptom", "-"},
	} {
		covered = append(covered, args[0])
		ctx, cancel := context.WithCancel(t.Context())
		in, out := newStuck(t), newStuck(t)
		cmd := rootCommand()
		cmd.SetArgs(args)
		cmd.SetIn(in)
		cmd.SetOut(out)
		cmd.SetErr(io.Discard)
		ended := make(chan error, 1)
		go func() { ended <- cmd.ExecuteContext(ctx) }()
		if args[len(args)-1] != pipe { // whose opening nobody sees
			select {
			case <-in.entered:
			case <-out.entered:
			case err := <-ended:
				t.Fatalf("%q did not wait for anything: %v", args, err)
			}
		}
		cancel()
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%q: cut off, and a success", args)
			}
		case <-time.After(time.Minute): // so that the test says which
			t.Fatalf("%q goes on", args)
		}
	}
	// A new command is added here, too, or says why it needs not.
	own := map[string]string{
		"run": "its session is interrupted", "drill": "a screen", "undo": "its session is interrupted", "init": "looks at nodes, with the context",
		"sim": "waits for the context", "rig": "a script that gets the signal, too",
		"docs": "a pager has the terminal, and hears of the signal itself",
	}
	for _, c := range rootCommand().Commands() {
		if !slices.Contains(covered, c.Name()) && own[c.Name()] == "" && c.IsAvailableCommand() {
			t.Errorf("does a signal end %s?", c.Name())
		}
	}
}

// asProcess is this test's binary as railbench: see TestMain.
func asProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "railbench"
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
	return cmd
}

// TestSIGTERM is that with a process and a signal.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	cmd := asProcess(t, "parse", "perftest", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: when it is written the program is reading.
	if _, err := io.WriteString(in, strings.Repeat("x\n", 200<<10)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitInconclusive {
		t.Errorf("it ended with %v", err)
	}
}

// TestNothingWritten: a result that nobody got is no success, and no wrong usage.
func TestNothingWritten(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"run", "hosts", "--rig", "sim", "--speed", "100"},
		{"run", "hosts", "--rig", "sim", "--speed", "100", "--json"},
		{"run", "hosts", "--rig", "sim", "--speed", "100", "--dry-run"},
		{"doctor", "nodes", "--rig", "sim", "--speed", "100", "--json"},
		{"doctor", "--list"},
		{"list"},
		{"list", "--params"},
		{"sim", "--fault", "list"},
		{"--version"},
		{"--help"},
	} {
		var stderr strings.Builder
		if code := Main(args, strings.NewReader(""), full, &stderr); code != exitUnwritten || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: exit %d, want %d: %s", args, code, exitUnwritten, &stderr)
		}
	}
}
