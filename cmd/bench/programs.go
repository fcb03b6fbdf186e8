package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/cmd/bench/screen"
	"github.com/railbench/railbench/steps/meter"
)

// median is the upper one of two in the middle. v is not empty, and stays as it is.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// ms is a duration in milliseconds.
func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// painted is how long a program takes to the first picture that holds a text.
func (b *bench) painted(text, dir, bin string, args ...string) (time.Duration, error) {
	home, err := b.home()
	if err != nil {
		return 0, err
	}
	if dir != "" {
		old, err := os.Getwd()
		if err != nil {
			return 0, err
		}
		// screen starts programs where it is itself; one thing is measured at a time, so nobody
		// else minds.
		if err := os.Chdir(dir); err != nil {
			return 0, err
		}
		defer func() { _ = os.Chdir(old) }() // it was there a moment ago
	}
	s, err := screen.Start(home, nil, bin, args...)
	if err != nil {
		return 0, err
	}
	defer s.Kill()
	at, err := s.Wait(text)
	return at.Sub(s.Began), err
}

// firstFrame compares with an empty Bubble Tea program, which is what a first frame costs
// at all, and with lazygit where it is in $PATH.
func firstFrame(b *bench) (r result, err error) {
	type program struct {
		name, text, dir, bin string
		args                 []string
		took                 []float64
	}
	all := []*program{
		{name: "an empty Bubble Tea program", text: "first frame", bin: b.empty},
		{name: "railbench", text: "railbench\x1b", bin: b.railbench, args: []string{"--rig", "sim"}},
	}
	if lazygit, err := exec.LookPath("lazygit"); err == nil {
		repo := filepath.Join(b.dir, "repository")
		if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
			return r, fmt.Errorf("make a repository for lazygit: %w: %s", err, out)
		}
		all = append(all, &program{name: "lazygit", text: "Status", dir: repo, bin: lazygit})
	}
	for i := range b.times(30) + 1 {
		for _, p := range all {
			if err := b.ctx(); err != nil {
				return r, err
			}
			took, err := b.painted(p.text, p.dir, p.bin, p.args...)
			if err != nil {
				return r, err
			}
			if i > 0 { // once from the disk, then from memory
				p.took = append(p.took, ms(took))
			}
		}
	}
	of := func(i int) float64 { return median(all[i].took) }
	ratio := below("first frame, against an empty Bubble Tea program", of(1)/of(0), 1.5, " x")
	ratio.got += fmt.Sprintf(" (%s against %s ms)", number(of(1)), number(of(0)))
	r.figures = append(r.figures, ratio)
	if len(all) == 2 {
		r.figures = append(r.figures, plain("first frame, against lazygit", "not measured: it is not in $PATH"))
		return r, nil
	}
	ratio = below("first frame, against lazygit", of(1)/of(2), 1, " x")
	ratio.got += fmt.Sprintf(" (%s against %s ms)", number(of(1)), number(of(2)))
	r.figures = append(r.figures, ratio)
	return r, nil
}

// settled measures some seconds of a program: its share of a core, what it writes to the
// terminal, and its peak of memory.
func (b *bench) settled(s *screen.Screen) (core, kBps, peakMB float64, err error) {
	span := 5 * time.Second
	if b.quick {
		span = time.Second
	}
	var cores, rates []float64
	for range b.times(3) {
		// User and system time together, of the program and what it waited for.
		before, _, err := s.Used()
		if err != nil {
			return 0, 0, 0, missing(err.Error())
		}
		written := s.Bytes()
		time.Sleep(span)
		after, peak, err := s.Used()
		if err != nil {
			return 0, 0, 0, err
		}
		peakMB = peak
		cores = append(cores, (after-before).Seconds()/span.Seconds()*100)
		rates = append(rates, float64(s.Bytes()-written)/span.Seconds()/1e3)
	}
	return median(cores), median(rates), peakMB, nil
}

// rest is how long the samplers take to go slow once nothing moves.
const rest = 4 * time.Second

// idle is a program that was started and left alone.
func (b *bench) idle(what, text string, limit float64, args ...string) (r result, err error) {
	home, err := b.home()
	if err != nil {
		return r, err
	}
	s, err := screen.Start(home, nil, b.railbench, args...)
	if err != nil {
		return r, err
	}
	defer s.Kill()
	if _, err := s.Wait(text); err != nil {
		return r, err
	}
	// Not an event: what is to be seen is that nothing happens.
	time.Sleep(rest)
	// The floor is measured right after, on the machine as it is now.
	core, kBps, peak, err := b.settled(s)
	if err != nil {
		return r, err
	}
	floor, err := b.emptyIdle()
	if err != nil {
		return r, err
	}
	share := below(what, core, limit, " % of a core")
	share.got += fmt.Sprintf(" (an empty Bubble Tea program: %s)", number(floor))
	r.figures = []figure{
		share,
		plain(what+", to the terminal", number(kBps)+" kB/s"),
		plain(what+", memory", number(peak)+" MB"),
	}
	return r, nil
}

// emptyIdle is what an empty Bubble Tea program takes that is left alone: its renderer looks
// for something to draw sixty times a second.
func (b *bench) emptyIdle() (float64, error) {
	home, err := b.home()
	if err != nil {
		return 0, err
	}
	s, err := screen.Start(home, nil, b.empty)
	if err != nil {
		return 0, err
	}
	defer s.Kill()
	if _, err := s.Wait("first frame"); err != nil {
		return 0, err
	}
	core, _, _, err := b.settled(s)
	return core, err
}

// The rig's time follows the wall clock here, as on the screen of somebody who looks.
func idleSim(b *bench) (result, error) {
	return b.idle("idle, simulated rig", "0.0", 0.5, "--rig", "sim")
}

const probed = "steps/probe/testdata/spark-01.txt"

// answer is what a probe of a node with four rails prints.
func answer() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/railbench/railbench").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(probed)), nil
}

// movingGauges are two nodes, and eight, with four rails each that all move, ten samples a second.
func movingGauges(b *bench) (r result, err error) {
	core, kBps, _, err := b.moving(2)
	if err != nil {
		return r, err
	}
	r.figures = []figure{
		below("gauges, 2 nodes with 4 rails at 10 Hz", core, 2, " % of a core"),
		below("the same, to the terminal", kBps, 150, " kB/s"),
	}
	if core, _, _, err = b.moving(8); err != nil {
		return r, err
	}
	r.figures = append(r.figures, below("gauges, 8 nodes with 4 rails at 10 Hz", core, 5, " % of a core"))
	return r, nil
}

func (b *bench) moving(nodes int) (core, kBps, peak float64, err error) {
	file, err := answer()
	if err != nil {
		return 0, 0, 0, err
	}
	home, err := b.home()
	if err != nil {
		return 0, 0, 0, err
	}
	// The load program feeds the gauges with boards that move, so neither a rig nor a sampler is in
	// what is measured.
	s, err := screen.Start(home, nil, b.load, append([]string{"gauges"}, slices.Repeat([]string{file}, nodes)...)...)
	if err != nil {
		return 0, 0, 0, err
	}
	defer s.Kill()
	// What a gauge that stands still does not say, rail by rail and node by node.
	if _, err := s.Wait(" payload", "slowest spark"); err != nil {
		return 0, 0, 0, fmt.Errorf("the gauges stand still: %w", err)
	}
	return b.settled(s)
}

// betweenKeys is how fast somebody types who is impatient.
const betweenKeys = 50 * time.Millisecond

// A flood is a cell that printed many lines.
type flood struct {
	cpu, wall, peakMB float64
	keys              []float64 // ms that each took
}

// flooded runs a cell that prints lines, and types meanwhile. Every line has to be in the log.
func (b *bench) flooded(lines int) (f flood, err error) {
	home, err := b.home()
	if err != nil {
		return f, err
	}
	logs := filepath.Join(home, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		return f, err
	}
	s, err := screen.Start(home, []string{"LOGS=" + logs, fmt.Sprintf("LINES=%d", lines)}, b.load, "flood")
	if err != nil {
		return f, err
	}
	defer s.Kill()
	if _, err := s.Wait("Flood"); err != nil {
		return f, err
	}
	before, _, err := s.Used()
	if err != nil {
		return f, missing(err.Error())
	}
	began := time.Now()
	if err := s.Send("\r\r"); err != nil { // the part's introduction, then the cell
		return f, err
	}
	if _, err := s.Wait("running", over); err != nil {
		return f, err
	}
	// A key is pressed and its answer awaited, over and over, while lines come in.
	for !strings.Contains(s.Text(), over) {
		for _, shows := range []string{"Jupyter", "seq -f"} { // the help covers the script
			at := time.Now()
			if err := s.Send("?"); err != nil {
				return f, err
			}
			answered, err := s.Wait(shows)
			if err != nil {
				return f, err
			}
			f.keys = append(f.keys, ms(answered.Sub(at)))
			time.Sleep(betweenKeys)
		}
	}
	f.wall = time.Since(began).Seconds()
	after, peak, err := s.Used()
	if err != nil {
		return f, err
	}
	f.cpu, f.peakMB = (after - before).Seconds(), peak
	return f, logged(logs, lines)
}

// The cell's last line.
const over = "flood is over"

// logged checks that nothing was dropped to be fast: every line is in the log.
func logged(dir string, lines int) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("logs of the flood: %q, %w", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte("\n")); n != lines {
		return fmt.Errorf("the log has %d of %d lines", n, lines)
	}
	return nil
}

func millionLines(b *bench) (r result, err error) {
	var cpus, peaks []float64
	for range b.times(3) {
		f, err := b.flooded(1_000_000)
		if err != nil {
			return r, err
		}
		cpus, peaks = append(cpus, f.cpu), append(peaks, f.peakMB)
	}
	r.figures = []figure{
		below("a million lines", median(cpus), 1, " s of CPU"),
		below("a million lines, memory", median(peaks), 40, " MB"),
	}
	// A million are over after ten keys: of so few the 95th percentile is the slowest.
	var keys []float64
	for range b.times(4) {
		f, err := b.flooded(3_000_000)
		if err != nil {
			return r, err
		}
		keys = append(keys, f.keys...)
	}
	if len(keys) > 0 {
		slices.Sort(keys)
		// The 95th percentile: one key in twenty may meet a collection of garbage.
		key := below("a key meanwhile, 95 of 100", keys[len(keys)*95/100], 16, " ms")
		key.got += fmt.Sprintf(" of %d keys, half of them in %s", len(keys), number(median(keys)))
		r.figures = append(r.figures, key)
	}
	return r, nil
}

// fourRails makes a folder that stands for /sys of a node with four rails: each file is a
// link to one of the kernel's for a network device, which a machine without RDMA has, too.
func (b *bench) fourRails(netdev string) (root string, places []meter.Place, err error) {
	root, err = os.MkdirTemp(b.dir, "node-")
	if err != nil {
		return "", nil, err
	}
	kernels := "/sys/class/net/" + netdev + "/"
	for i := range 4 {
		p := meter.Place{Dev: fmt.Sprintf("mlx5_%d", i), Port: 1, Netdev: fmt.Sprintf("eth%d", i)}
		port := filepath.Join(root, "sys/class/infiniband", p.Dev, "ports/1")
		statistics := filepath.Join(root, "sys/class/net", p.Netdev, "statistics")
		err = errors.Join(err, os.MkdirAll(filepath.Join(port, "counters"), 0o700), os.MkdirAll(statistics, 0o700),
			os.Symlink(kernels+"statistics/tx_bytes", filepath.Join(port, "counters/port_xmit_data")),
			os.Symlink(kernels+"statistics/rx_bytes", filepath.Join(port, "counters/port_rcv_data")),
			os.Symlink(kernels+"operstate", filepath.Join(port, "state")),
			os.Symlink(kernels+"statistics/tx_bytes", filepath.Join(statistics, "tx_bytes")),
			os.Symlink(kernels+"statistics/rx_bytes", filepath.Join(statistics, "rx_bytes")))
		places = append(places, p)
	}
	return root, places, err
}

// sampling starts a node's sampler for four rails, ten samples a second, behind the words of with.
func (b *bench) sampling(with []string, netdev string) (*exec.Cmd, error) {
	root, places, err := b.fourRails(netdev)
	if err != nil {
		return nil, missing(err.Error())
	}
	vars := meter.Vars(places, 1)
	here := func(script string) string { return strings.ReplaceAll(script, "/sys/", root+"/sys/") }
	cmd := prefixed(with, "sh", "-c", meter.Script)
	// Where nothing moves it must not rest all the same: the pause is as long, and written
	// otherwise, by which the sampler knows it.
	cmd.Env = append(os.Environ(), "RAILS="+vars["RAILS"], "INTERVAL="+vars["INTERVAL"], "IDLE="+vars["INTERVAL"]+"0",
		"PERL="+here(vars["PERL"]), "LOOP="+here(vars["LOOP"]))
	return cmd, cmd.Start()
}

// sampler is what a node pays: four rails, ten samples a second.
func sampler(b *bench) (r result, err error) {
	var cores []float64
	for range b.times(3) {
		cmd, err := b.sampling(nil, "lo")
		if err != nil {
			return r, err
		}
		used, err := samplerUsed(cmd.Process.Pid)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if err != nil {
			return r, missing(err.Error())
		}
		cores = append(cores, used*100)
	}
	r.figures = []figure{below("sampler on a node, 4 rails at 10 Hz", median(cores), 0.5, " % of a core")}
	return r, nil
}

// samplerUsed is how much of a core a sampler uses once it runs: it does for as long as
// the session, and the shell's own start, 10 ms, would be half of five seconds of it.
func samplerUsed(pid int) (cores float64, err error) {
	const span = 5 * time.Second
	time.Sleep(time.Second)
	before, err := screen.Ran(pid)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	time.Sleep(span)
	after, err := screen.Ran(pid)
	return (after - before).Seconds() / time.Since(began).Seconds(), err
}

// took is how long railbench takes for something without a screen. statuses are what it
// may end with.
func (b *bench) took(statuses []int, args ...string) (wall, cpu time.Duration, err error) {
	home, err := b.home()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(b.railbench, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	wall = time.Since(began)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && slices.Contains(statuses, exit.ExitCode())) {
		return 0, 0, fmt.Errorf("railbench %s: %w: %s", strings.Join(args, " "), err, out[max(0, len(out)-2000):])
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// fast is how the simulated rig's time is told to go as fast as it can.
func (b *bench) fast() string {
	if _, _, err := b.took(nil, "run", "hosts", "--rig", "sim", "--speed", "max"); err != nil {
		return "1000" // a railbench before there was max
	}
	return "max"
}

// wholeTutorial runs every cell as fast as the simulated rig's time can go.
func wholeTutorial(b *bench) (r result, err error) {
	speed := b.fast()
	// On a time that is scaled a load makes figures odd, and odd figures have a status.
	wall, _, err := b.took([]int{1, 4}, "run", "--all", "--yes", "--rig", "sim", "--speed", speed)
	if err != nil {
		return r, err
	}
	r.figures = []figure{below("the whole tutorial on the simulated rig, --speed "+speed, wall.Seconds(), 2, " s")}
	return r, nil
}

func doctor(b *bench) (r result, err error) {
	speed := b.fast()
	var walls []float64
	for range b.times(5) {
		wall, _, err := b.took([]int{1, 4}, "doctor", "--rig", "sim", "--speed", speed)
		if err != nil {
			return r, err
		}
		walls = append(walls, wall.Seconds())
	}
	r.figures = []figure{below("doctor on the simulated rig, --speed "+speed, median(walls), 1, " s")}
	return r, nil
}
