package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/runner/testform"
)

// A stuck stream is a terminal or a pipe that no one serves: entered is closed once a user waits for it, and until
// the test is over nothing comes back.
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
	if code := Main([]string{"run", "hosts", "--rig", "sim", "--speed", "100", "--session", saved}, strings.NewReader(""),
		io.Discard, io.Discard); code != exitOK {
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
		{"nodes", "a,b"},
		{"new", filepath.Join(dir, "another.md")},
		{"check", book},
		{"parse", "perftest"},
		{"parse", "--detect", "-"},
		{"parse", "perftest", pipe},
		{"explain"},
		{"explain", pipe},
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
		if args[len(args)-1] != pipe { // whose opening no one sees
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
		case <-time.After(5 * time.Minute): // so that the test says which
			t.Fatalf("%q goes on", args)
		}
	}
	// A new command is added here, too, or says why it needs not.
	own := map[string]string{
		"run": "its session is interrupted", "drill": "a screen", "undo": "its session is interrupted",
		"init": "looks at nodes, with the context",
		"sim":  "waits for the context", "demo": "a screen", "pairs": "TestPairsGoOn", "notes": "waits for the context",
		"serve": "TestServersEnd", "gauge": "TestServersEnd", "stream": "TestServersEnd",
		"rig":      "a script that gets the signal, too",
		"docs":     "a pager has the terminal, and hears of the signal itself",
		"progress": "the same",
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

// TestServersEnd is that with those that run until a user ends them.
func TestServersEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string // once it runs
	}{
		{[]string{"serve", "--rig", "sim", "--listen", "127.0.0.1:0"}, "http://"},
		{[]string{"gauge", "--listen", "127.0.0.1:0"}, "takes rates"},
		{[]string{"stream", "receive", "--listen", "127.0.0.1:0"}, "receives at"},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			cmd := asProcess(t, c.args...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = cmd.Stdout
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), c.says) {
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, _ = io.Copy(io.Discard, out)
				ended <- cmd.Wait()
			}()
			select {
			case <-ended:
			case <-time.After(5 * time.Minute): // so that the test says which
				_ = cmd.Process.Kill()
				t.Error("it goes on")
			}
		})
	}
}

// hung is a program that minds no end of its context.
const hung = "railbench-hung"

func hangOn() {
	ctx, stop := console.UntilSignalled()
	defer stop()
	fmt.Println("up")
	<-ctx.Done()
	time.Sleep(time.Minute)
}

// Two signals end the program however it hangs, also where the second comes with the first: it was taken for the same
// where no one had answered that yet.
func TestTwoSignalsAreTwo(t *testing.T) {
	t.Parallel()
	for range 10 {
		cmd := asProcess(t)
		cmd.Args[0] = hung
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		// Of one kind the kernel makes one of two that no one has seen yet.
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // what it ended by is looked at
		late.Stop()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		by := status.Signal()
		if status.Exited() { // by one that the program was started to ignore
			by = syscall.Signal(status.ExitStatus() - 128)
		}
		if by != syscall.SIGINT && by != syscall.SIGTERM {
			t.Errorf("it was ended by %v", by)
		}
	}
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

// TestNothingWritten: a result that no one got is not a success, and no wrong usage.
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
		if code := Main(args, strings.NewReader(""), full, &stderr); code != exitUnwritten ||
			!strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: exit %d, want %d: %s", args, code, exitUnwritten, &stderr)
		}
	}
}

// Who ends a verb that waits for a node has not used it wrongly, and the node is not out of reach. What ssh's
// configuration has started meanwhile ends with it.
func TestInterruptedIsNoUsage(t *testing.T) {
	testform.Tool(t, "ssh") // it works out what the configuration says
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config")
	for name, says := range map[string]string{
		"the configuration": "Match exec \"echo $$ >TRACE; exec sleep 100\"\n",
		"a host":            "ProxyCommand sh -c 'echo $$ >TRACE; exec sleep 100'\n",
	} {
		for _, args := range [][]string{
			{"init", "--nodes", "h1,h2"},
			{"run", "hosts", "--dry-run", "--nodes", "h1,h2"},
			{"pairs", "--yes", "--nodes", "h1,h2"},
		} {
			trace := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(config, []byte(strings.ReplaceAll(says, "TRACE", trace)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := asProcess(t, append(args, "--ssh-config", config)...)
			var errs strings.Builder
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := 0
			for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				text, _ := os.ReadFile(trace)
				if pid, _ = strconv.Atoi(strings.TrimSpace(string(text))); pid != 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%s, %q: it waits for nobody: %s", name, args, &errs)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitInconclusive ||
				!strings.Contains(errs.String(), "interrupted: ") {
				t.Errorf("%s, %q: exit %d, want %d: %s", name, args, code, exitInconclusive, &errs)
			}
			left := func() bool { // what was killed stays, as a zombie, until its new parent has asked for it
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return err == nil && !strings.Contains(string(stat), ") Z ") || err != nil && syscall.Kill(pid, 0) == nil
			}
			for end := time.Now().Add(5 * time.Minute); left(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Errorf("%s, %q: what ssh's configuration started is still there", name, args)
					_ = syscall.Kill(pid, syscall.SIGKILL)
					break
				}
			}
		}
	}
}

// The workbench ends with the first signal, whatever it is: two who heard SIGTERM once
// waited for each other, in two of five tries.
func TestASignalEndsTheWorkbench(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM,
		syscall.SIGTERM, syscall.SIGTERM, syscall.SIGHUP,
	} {
		cmd := exec.Command(self, "--rig", "sim")
		cmd.Args[0] = "railbench"
		home := t.TempDir()
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		seen, drained := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(drained)
			all, buf, told := "", make([]byte, 32<<10), false
			for {
				n, err := terminal.Read(buf)
				all += string(buf[:n])
				if !told && strings.Contains(all, "Set-up") {
					told = true
					close(seen)
				}
				if err != nil {
					return
				}
			}
		}()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-seen:
		case err := <-ended:
			t.Fatalf("it ended by itself: %v", err)
		case <-t.Context().Done():
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if _, killed := errors.AsType[*exec.ExitError](err); killed && err.Error() == "signal: killed" {
				t.Errorf("%s: %v", sig, err)
			}
		case <-time.After(5 * time.Minute):
			t.Errorf("%s did not end the workbench", sig)
			_ = cmd.Process.Kill()
			<-ended
		}
		terminal.Close()
		<-drained
	}
}

// A second signal ends the workbench also where its terminal takes nothing any more, as after ctrl+s.
func TestTwoSignalsEndAFrozenTerminal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			endsFrozen(t, sig)
		})
	}
}

func endsFrozen(t *testing.T, sig syscall.Signal) {
	t.Helper()
	cmd := asProcess(t, "--rig", "sim", "--speed", "max")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 200, Cols: 400}) // a frame is more than a terminal buffers
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := terminal.Read(make([]byte, 1)); err != nil { // it draws, and nothing more is read
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 3000 {
		_ = cmd.Process.Signal(sig) // it may have ended
		select {
		case <-ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	t.Fatal("it goes on after many signals")
}

// A terminal of any size is drawn, answers and ends, in little memory: how large it is, its other end says.
func TestEnormousTerminals(t *testing.T) {
	for _, size := range []pty.Winsize{{Rows: 3000, Cols: 3000}, {Rows: 65535, Cols: 80}, {Rows: 24, Cols: 65535}} {
		cmd := asProcess(t, "--rig", "sim", "--speed", "max")
		cmd.Env = append(cmd.Env, "TERM=xterm-256color")
		terminal, err := pty.StartWithSize(cmd, &size)
		if err != nil {
			t.Fatal(err)
		}
		all, buf := "", make([]byte, 32<<10)
		until := func(what string) {
			for !strings.Contains(all, what) {
				n, err := terminal.Read(buf)
				if err != nil {
					t.Fatalf("%v: it ended before %q: %v", size, what, err)
				}
				all += string(buf[:n])
			}
		}
		until("Set-up")
		if _, err := terminal.WriteString("?"); err != nil {
			t.Fatal(err)
		}
		until("ctrl+enter")
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, terminal)
		}()
		if mib, err := peakOf(cmd.Process.Pid); runtime.GOOS == "linux" && (err != nil || mib > mostMiB) {
			t.Errorf("%v: it took %.0f MiB, %v", size, mib, err)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // what it ended by is looked at elsewhere
		terminal.Close()
		<-drained
	}
}

// crashed is a program that Go ends: of all its ends for want of memory a stack's is the one that takes none.
const crashed = "railbench-crashed"

func crash() {
	crashBySignal()
	debug.SetMaxStack(64 << 10)
	var deeper func(n int) int
	deeper = func(n int) int { return deeper(n+1) + n }
	os.Exit(deeper(0))
}

// A crash is not a wrong usage.
func TestCrash(t *testing.T) {
	t.Parallel()
	cmd := asProcess(t)
	cmd.Args[0] = crashed
	said, _ := cmd.CombinedOutput() // what it ended by is looked at
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("it ended with %v: %.300s", cmd.ProcessState, said)
	}
}
