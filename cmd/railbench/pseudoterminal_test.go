package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
)

// terminalLimit is how long a text may take: longer than any slow machine needs, for a text that never comes.
const terminalLimit = 5 * time.Minute

// A pseudoTerminal is a program in a pseudo-terminal, and what it has written. Wait is for text,
// not for pictures: a frame that is only partly redrawn holds only what has changed.
type pseudoTerminal struct {
	began time.Time

	cmd  *exec.Cmd
	file *os.File

	mu      sync.Mutex
	grown   *sync.Cond
	written bytes.Buffer
	seen    string // what the last wait was for
	ended   bool
}

// keptBytes bounds what is kept of the output before the next wait.
const keptBytes = 4 << 20

// openTerminal starts a program in a terminal of 120 by 40, with home as all of its user's folders. env is added to
// this process's environment.
func openTerminal(home string, env []string, bin string, args ...string) (*pseudoTerminal, error) {
	s := &pseudoTerminal{cmd: exec.Command(bin, args...)}
	s.grown = sync.NewCond(&s.mu)
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
	s.cmd.Env = append(s.cmd.Env, env...)
	s.began = time.Now()
	file, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return nil, fmt.Errorf("start %s in a terminal: %w", bin, err)
	}
	s.file = file
	go s.read()
	return s, nil
}

// deviceAttributes is a question that some programs wait to be answered before they draw.
const (
	deviceAttributes = "\x1b[c"
	vt220            = "\x1b[?62;22c"
)

func (s *pseudoTerminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.file.Read(buf)
		if bytes.Contains(buf[:n], []byte(deviceAttributes)) {
			_, _ = s.file.WriteString(vt220) // a program that is gone needs none
		}
		s.mu.Lock()
		s.written.Write(buf[:n])
		if s.written.Len() > keptBytes {
			s.written.Next(s.written.Len() - keptBytes/4)
		}
		s.ended = s.ended || err != nil
		s.grown.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Kill ends the program.
func (s *pseudoTerminal) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // it was killed
	s.file.Close()
}

// Wait waits until what was written since the last wait holds one of some texts,
// and forgets all of it but the last of them.
func (s *pseudoTerminal) Wait(texts ...string) (time.Time, error) {
	late := false
	timeout := time.AfterFunc(terminalLimit, func() {
		s.mu.Lock()
		late = true
		s.grown.Broadcast()
		s.mu.Unlock()
	})
	defer timeout.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		written := s.written.String()
		for _, text := range texts {
			if strings.Contains(written, text) {
				s.written.Reset()
				s.seen = text
				return time.Now(), nil
			}
		}
		if s.ended || late {
			return time.Time{}, fmt.Errorf("none of %q in %q", texts, written[max(0, len(written)-2000):])
		}
		s.grown.Wait()
	}
}

// Text is what was seen last and what was written since.
func (s *pseudoTerminal) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen + s.written.String()
}

// Send types keys.
func (s *pseudoTerminal) Send(keys string) error {
	_, err := s.file.WriteString(keys)
	return err
}

// Used is what the program itself has used: CPU time, and its peak of memory in MiB.
func (s *pseudoTerminal) Used() (cpu time.Duration, peakMB float64, err error) {
	cpu, err = ran(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	peakMB, err = peakOf(s.cmd.Process.Pid)
	return cpu, peakMB, err
}

// peakOf is the peak of a process's memory in MiB, since its program was started. Getrusage counts from the fork on,
// and has the peak of the test itself.
func peakOf(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var n float64
			_, err := fmt.Sscan(kb, &n)
			return n / 1024, err
		}
	}
	return 0, errors.New("no VmHWM")
}

// ran is the CPU time that a process has used. It is read from /proc, which only Linux has, and per thread: a
// thread's time is in nanoseconds, a process's in hundredths of a second, which is all that an idle program takes.
func ran(pid int) (cpu time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("no schedstat of process %d: %w", pid, os.ErrNotExist)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			return 0, err
		}
		var used time.Duration
		if _, err := fmt.Sscan(string(stat), &used); err != nil {
			return 0, fmt.Errorf("%s reads differently: %q", thread, stat)
		}
		cpu += used
	}
	return cpu, nil
}

// End waits for the program's own end.
func (s *pseudoTerminal) End() error { return s.cmd.Wait() }
