package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/railbench/railbench/steps/meter"
)

// These benchmarks run the built binary in a pseudo-terminal. They compare
// within one run where the issue is a comparison, because machines differ:
//
//	go test -run '^$' -bench . ./cmd/railbench

// build compiles a package of this module into a binary.
func build(tb testing.TB, pkg string) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v: %s", pkg, err, out)
	}
	return bin
}

// A screen is a program in a pseudo-terminal, and what it has written.
type screen struct {
	tb    testing.TB
	cmd   *exec.Cmd
	file  *os.File
	began time.Time

	mu      sync.Mutex
	grown   *sync.Cond
	written bytes.Buffer
	seen    string // what the last wait was for
	total   int64
	ended   bool
}

// start runs a program in a terminal of 120 by 40, with a home of its own. wait
// is for text, not for pictures: a frame that is only partly redrawn holds only
// what has changed.
func start(tb testing.TB, bin string, args ...string) *screen {
	tb.Helper()
	home := tb.TempDir()
	s := &screen{tb: tb, cmd: exec.Command(bin, args...)}
	s.grown = sync.NewCond(&s.mu)
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
	s.began = time.Now()
	file, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		tb.Fatal(err)
	}
	s.file = file
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := file.Read(buf)
			s.mu.Lock()
			s.written.Write(buf[:n])
			s.total += int64(n)
			if s.written.Len() > 4<<20 {
				s.written.Next(s.written.Len() - 1<<20)
			}
			s.ended = s.ended || err != nil
			s.grown.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	tb.Cleanup(s.kill)
	return s
}

func (s *screen) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.file.Close()
}

// wait waits until what was written since the last wait holds one of some texts,
// and forgets all of it but the last of them.
func (s *screen) wait(texts ...string) time.Time {
	s.tb.Helper()
	timeout := time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		s.ended = true
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
				return time.Now()
			}
		}
		if s.ended {
			s.tb.Fatalf("none of %q in %q", texts, tail(written))
		}
		s.grown.Wait()
	}
}

// text is what was seen last and what was written since.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen + s.written.String()
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

func (s *screen) send(keys string) {
	s.tb.Helper()
	if _, err := io.WriteString(s.file, keys); err != nil {
		s.tb.Fatal(err)
	}
}

// used is what the program itself has used: CPU time and its peak of memory.
func (s *screen) used() (cpu time.Duration, peakMB float64) {
	s.tb.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.tb.Skipf("CPU times are read from /proc: %v", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var user, system int64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var n float64
			fmt.Sscan(kb, &n)
			peakMB = n / 1024
		}
	}
	return time.Duration(user+system) * tick, peakMB
}

func (s *screen) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkFirstFrame compares the time to the first painted frame with that of
// an empty Bubble Tea program; at most 1.2 is the aim.
func BenchmarkFirstFrame(b *testing.B) {
	ours, empty := build(b, "."), build(b, "./testdata/empty")
	for _, bin := range []string{ours, empty} { // once from the disk, then from memory
		s := start(b, bin)
		s.wait("frame", "railbench")
		s.kill()
	}
	var ratios, ms, emptyMS []float64
	for b.Loop() {
		e := start(b, empty)
		emptyTook := e.wait("first frame").Sub(e.began)
		e.kill()
		s := start(b, ours, "--rig", "sim")
		took := s.wait("railbench").Sub(s.began)
		s.kill()
		ratios = append(ratios, took.Seconds()/emptyTook.Seconds())
		ms = append(ms, took.Seconds()*1e3)
		emptyMS = append(emptyMS, emptyTook.Seconds()*1e3)
	}
	b.ReportMetric(median(ratios), "railbench/empty")
	b.ReportMetric(median(ms), "ms/railbench")
	b.ReportMetric(median(emptyMS), "ms/empty")
}

// BenchmarkIdle is what the program uses while nothing happens, gauges and all:
// at most 1 % of a core is the aim.
func BenchmarkIdle(b *testing.B) {
	s := start(b, build(b, "."), "--rig", "sim")
	s.wait("0.0")
	time.Sleep(4 * time.Second) // the samplers go slow once nothing has moved for a while
	settled(b, s)
}

// settled measures some seconds of a program.
func settled(b *testing.B, s *screen) {
	const span = 5 * time.Second
	var cpus, rates []float64
	for b.Loop() {
		cpu, _ := s.used()
		written := s.bytes()
		time.Sleep(span)
		after, peak := s.used()
		cpus = append(cpus, (after-cpu).Seconds()/span.Seconds()*100)
		rates = append(rates, float64(s.bytes()-written)/span.Seconds()/1e3)
		b.ReportMetric(peak, "MB-peak")
	}
	b.ReportMetric(median(cpus), "%core")
	b.ReportMetric(median(rates), "kB/s")
}

// BenchmarkGauges has two nodes whose four rails all move, ten samples a second:
// at most 3 % of a core and 150 kB/s of terminal output are the aim.
func BenchmarkGauges(b *testing.B) {
	const answer = "../../steps/probe/testdata/spark-01.txt"
	s := start(b, build(b, "./testdata/load"), "gauges", answer, answer)
	s.wait("RDMA")
	settled(b, s)
}

// BenchmarkMillionLines runs a cell that prints a million lines: about a second of
// CPU, at most 40 MB, and a key answered within 20 ms meanwhile are the aim. Every
// line has to be in the log.
func BenchmarkMillionLines(b *testing.B) {
	bin := build(b, "./testdata/load")
	var cpus, walls, peaks, keys []float64
	for b.Loop() {
		logs := b.TempDir()
		b.Setenv("LOGS", logs)
		s := start(b, bin, "flood")
		s.wait("Flood")
		before, _ := s.used()
		began := time.Now()
		s.send("\r\r") // the part's introduction, then the cell
		s.wait("running")
		for !strings.Contains(s.text(), "flood is over") {
			at := time.Now()
			s.send("?")
			s.wait("closes")
			keys = append(keys, time.Since(at).Seconds()*1e3)
			time.Sleep(betweenKeys)
			at = time.Now()
			s.send("?")
			s.wait("seq -f") // the help covers the script
			keys = append(keys, time.Since(at).Seconds()*1e3)
			time.Sleep(betweenKeys)
		}
		walls = append(walls, time.Since(began).Seconds())
		after, peak := s.used()
		cpus = append(cpus, (after - before).Seconds())
		peaks = append(peaks, peak)
		s.kill()
		checkLog(b, logs)
	}
	slices.Sort(keys)
	b.ReportMetric(median(cpus), "s-cpu")
	b.ReportMetric(median(walls), "s-wall")
	b.ReportMetric(median(peaks), "MB-peak")
	b.ReportMetric(keys[len(keys)*95/100], "ms-key-p95")
	b.ReportMetric(float64(len(keys))/float64(b.N), "keys")
}

// BenchmarkLongLines runs a cell that prints 320 MB in lines as long as they get, with
// colours: what is kept is bounded in bytes, too, and at most 80 MB are the aim.
func BenchmarkLongLines(b *testing.B) {
	bin := build(b, "./testdata/load")
	var walls, peaks []float64
	for b.Loop() {
		s := start(b, bin, "wide")
		s.wait("Flood")
		began := time.Now()
		s.send("\r\r")
		s.wait("flood is over")
		walls = append(walls, time.Since(began).Seconds())
		_, peak := s.used()
		peaks = append(peaks, peak)
		s.kill()
	}
	b.ReportMetric(median(walls), "s-wall")
	b.ReportMetric(median(peaks), "MB-peak")
}

// betweenKeys is how fast somebody types who is impatient.
const betweenKeys = 50 * time.Millisecond

func checkLog(b *testing.B, logs string) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(logs, "*.log"))
	if err != nil || len(files) != 1 {
		b.Fatalf("logs: %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		b.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n != 1_000_000 {
		b.Fatalf("the log has %d lines", n)
	}
}

// BenchmarkSampler is what the sampler costs a node that has bash: at most 1 % of a
// core for four rails, ten samples a second. This machine has no RDMA device, so
// ten interfaces stand for the twenty files of four rails.
func BenchmarkSampler(b *testing.B) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		b.Skip("no bash here")
	}
	places := make([]meter.Place, 10)
	for i := range places {
		places[i] = meter.Place{Dev: "none", Port: 1, Netdev: "lo"}
	}
	vars := meter.Vars(places, 1)
	var cpus []float64
	for b.Loop() {
		cmd := exec.Command(bash, "-c", vars["LOOP"])
		// Nothing moves here, and it must not rest all the same.
		cmd.Env = append(os.Environ(), "RAILS="+vars["RAILS"], "INTERVAL="+vars["INTERVAL"], "IDLE="+vars["INTERVAL"])
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		const span = 5 * time.Second
		time.Sleep(span)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		cpus = append(cpus, (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()/span.Seconds()*100)
	}
	b.ReportMetric(median(cpus), "%core")
}
