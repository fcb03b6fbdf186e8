package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/cmd/bench/screen"
)

// eachWay is how often each tool runs with the gauges on and without: soft-RoCE between two
// virtual machines varies twofold from run to run.
const eachWay = 8

// A virtualRig is the two virtual machines, running.
type virtualRig struct {
	// Its folder is where the rig's state goes, unless RIG_STATE names another.
	b    *bench
	home string
}

// disturbance is what the gauges take from what they watch: the rate of iperf3 between two network
// namespaces with a sampler of four rails at each end, as the gauges have it on a node, against that
// without, one after the other many times. Both ends and both samplers share this machine's cores.
func disturbance(b *bench) (r result, err error) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return r, missing("iperf3 is not on this machine")
	}
	w, undo, err := namespaces()
	if err != nil {
		return r, missing("two network namespaces need root, and ip: " + err.Error())
	}
	defer undo()
	var on, off []float64
	for i := range b.times(2 * eachWay) {
		for _, gauges := range []bool{i%2 == 0, i%2 != 0} { // neither is always the second
			rate, err := b.sampled(w, gauges)
			if err := errors.Join(b.ctx(), err); err != nil {
				return r, err
			}
			if gauges {
				on = append(on, rate)
			} else {
				off = append(off, rate)
			}
		}
	}
	f := above("disturbance of iperf3 between two namespaces by samplers at both ends", median(on)/median(off), 0.98,
		" of the rate without")
	f.got += fmt.Sprintf(" (%s against %s Gb/s, medians of %d)", number(median(on)), number(median(off)), len(on))
	r.figures = []figure{f}
	return r, nil
}

// sampled is iperf3's rate in Gb/s, with the samplers beside it or without.
func (b *bench) sampled(w way, gauges bool) (float64, error) {
	var samplers []int
	if gauges {
		// By the names that namespaces gives the two ends.
		for dev, with := range map[string][]string{"v0": w.client, "v1": w.server} {
			cmd, err := b.sampling(with, dev)
			if err != nil {
				return 0, err
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // it was killed
			}()
			samplers = append(samplers, cmd.Process.Pid)
		}
	}
	// A sampler's start is once for a session; without one as long a pause, so that both begin on
	// a machine that has rested.
	time.Sleep(time.Second)
	before, err := ran(samplers)
	if err != nil {
		return 0, err
	}
	rate, err := b.iperf(w, 1)
	if err != nil {
		return 0, err
	}
	after, err := ran(samplers)
	for i := range after {
		// One that has ended would disturb nothing.
		if after[i] <= before[i] {
			return 0, errors.New("a sampler did not run beside iperf3")
		}
	}
	return rate, err
}

// ran is how long processes have used a processor.
func ran(pids []int) (all []time.Duration, err error) {
	for _, pid := range pids {
		used, err := screen.Ran(pid)
		if err != nil {
			return nil, err
		}
		all = append(all, used)
	}
	return all, nil
}

// virtualDisturbance is the same of the whole workbench: iperf3 and ib_write_bw between two virtual
// machines with its gauges on, against those without.
func virtualDisturbance(b *bench) (r result, err error) {
	v, down, err := b.virtualOnly()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, down()) }()
	// Both last three seconds: the ramp of a virtual machine's TCP is over by then, and a pair
	// takes less than ten.
	tools := []struct {
		name, serve, ask string
		rate             func(string) (float64, error)
		on, off          []float64
	}{
		{
			name: "iperf3", rate: iperfRate,
			serve: "iperf3 -s -1 -p 5201 -D",
			ask:   "iperf3 -c 192.168.100.10 -p 5201 -t 3 -J",
		},
		{
			name: "ib_write_bw", rate: perftestRate,
			serve: "setsid ib_write_bw -d rocep1s0f0 -x 1 -s 65536 -D 3 -p 18515 -F >/dev/null 2>&1 </dev/null &",
			ask:   "ib_write_bw -d rocep1s0f0 -x 1 -s 65536 -D 3 -p 18515 -F 192.168.100.10",
		},
	}
	// A phase is both tools once, with or without the gauges.
	phase := func(gauges bool) error {
		if gauges {
			stop, err := v.watched()
			if err != nil {
				return err
			}
			defer stop()
		}
		for i := range tools {
			t := &tools[i]
			rate, err := v.between(t.serve, t.ask, t.rate)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if gauges {
				t.on = append(t.on, rate)
			} else {
				t.off = append(t.off, rate)
			}
		}
		return nil
	}
	// Medians of pairs that lie close together in time: what else the host does changes over
	// minutes.
	for i := range b.times(eachWay) {
		for _, gauges := range []bool{i%2 == 0, i%2 != 0} { // neither is always the second
			if err := errors.Join(b.ctx(), phase(gauges)); err != nil {
				// An emulated machine that is too slow today takes no other figure along.
				return r, missing("the virtual rig does not answer: " + firstLine(err.Error()))
			}
		}
	}
	how := "virtual machines"
	if emulated() {
		how = "emulated processors, on which the sampler takes some ten times as much"
	}
	for _, t := range tools {
		f := above("disturbance of "+t.name+" by the gauges", median(t.on)/median(t.off), 0.98, " of the rate without")
		f.got += fmt.Sprintf(" (%s against %s Mb/s, medians of %d; %s)", number(median(t.on)), number(median(t.off)),
			len(t.on), how)
		r.figures = append(r.figures, f)
	}
	return r, nil
}

// virtualStreams compares the cell stream-rail, which hands railbench to both nodes and takes it away again, with
// the cell tcp-parallel, iperf3 with as many connections between the same two virtual machines, in turns. What
// railbench itself takes of a node while it watches, it takes beside both.
func virtualStreams(b *bench) (r result, err error) {
	v, down, err := b.virtualOnly()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, down()) }()
	var ours, theirs []float64
	var failed error
	for range b.times(5) {
		own, err := v.throughput("stream-rail", "-p", "STREAM_SECONDS=10", "-p", "STREAM_BLOCK=1048576")
		peer := 0.0
		if err == nil {
			peer, err = v.throughput("tcp-parallel", "-p", "TCP_SECONDS=10")
		}
		if stopped := b.ctx(); stopped != nil {
			return r, stopped
		}
		if err != nil { // of an emulated machine beside other work; a pair that broke is no pair
			failed = errors.Join(failed, err)
			continue
		}
		ours, theirs = append(ours, own), append(theirs, peer)
	}
	if len(ours) < b.times(3) {
		return r, missing("the virtual rig does not answer: " + firstLine(failed.Error()))
	}
	f := above("stream-rail, 4 streams on the virtual rig, against iperf3", median(ours)/median(theirs), 0.9, " x")
	f.got += fmt.Sprintf(" (%s against %s Mb/s, medians of %d%s)", number(median(ours)), number(median(theirs)), len(ours),
		map[bool]string{true: "; emulated processors"}[emulated()])
	return result{figures: []figure{f}}, nil
}

// emulated reports whether the virtual rig has no KVM: its script writes down which accelerator QEMU has got.
func emulated() bool {
	accel, err := os.ReadFile(os.Getenv("RIG_STATE") + "/run/accel")
	return err == nil && strings.TrimSpace(string(accel)) == "tcg"
}

// throughput is what a cell that passes measures, Mb/s.
func (v *virtualRig) throughput(cell string, params ...string) (float64, error) {
	text, err := v.railbench(append([]string{"run", cell, "--rig", "virtual", "--json"}, params...)...)
	if err != nil { // what did not pass is no measure of it
		return 0, err
	}
	// What it says on its way stands before its object.
	at := strings.Index(text, "{")
	if at < 0 {
		return 0, fmt.Errorf("%s prints no object: %s", cell, text)
	}
	var told struct {
		Cells []struct {
			Figures []struct {
				What  string
				Value float64
			}
		}
	}
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&told); err != nil {
		return 0, err
	}
	for _, c := range told.Cells {
		for _, f := range c.Figures {
			if f.What == "throughput" && f.Value > 0 {
				return 1e3 * f.Value, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has no figure: %s", cell, text[at:])
}

// virtualOnly is the virtual rig for a measurement that was asked for, and what brings it down afterwards.
func (b *bench) virtualOnly() (v *virtualRig, down func() error, err error) {
	if !b.rig {
		return nil, nil, missing("it needs the virtual rig: go run ./cmd/bench -rig")
	}
	if v, err = b.virtual(); err != nil {
		return nil, nil, err
	}
	return v, func() error {
		_, err := v.railbench("rig", "down")
		return err
	}, nil
}

// virtual makes sure that the virtual rig is built and runs. It is put where RIG_STATE
// says, or into this run's folder.
// A rig that was built before is used again, since building takes minutes.
func (b *bench) virtual() (*virtualRig, error) {
	if os.Getenv("RIG_STATE") == "" {
		if err := os.Setenv("RIG_STATE", b.dir+"/rig"); err != nil {
			return nil, err
		}
	}
	home, err := b.home()
	if err != nil {
		return nil, err
	}
	v := &virtualRig{b, home}
	if _, err := os.Stat(os.Getenv("RIG_STATE") + "/image/root.ext4"); err != nil {
		if out, err := v.railbench("rig", "build"); err != nil {
			return nil, missing("the virtual rig can't be built: " + strings.TrimSpace(out[max(0, len(out)-300):]))
		}
	}
	_, err = v.railbench("rig", "up")
	return v, err
}

// railbench runs it to its end and gives all that it prints.
func (v *virtualRig) railbench(args ...string) (string, error) {
	cmd := exec.Command(v.b.railbench, args...)
	cmd.Env = append(os.Environ(), "HOME="+v.home, "XDG_CONFIG_HOME="+v.home, "XDG_STATE_HOME="+v.home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("railbench %s: %w: %s", strings.Join(args, " "), err, out[max(0, len(out)-2000):])
	}
	return string(out), nil
}

// settling is how long the workbench looks at the nodes and readies its connections once it
// shows gauges, on a processor that is emulated.
const settling = 10 * time.Second

// watched opens the workbench on the rig and waits for its gauges, and for it to do nothing
// else.
func (v *virtualRig) watched() (stop func(), err error) {
	s, err := screen.Start(v.home, nil, v.b.railbench, "--rig", "virtual")
	if err != nil {
		return nil, err
	}
	// The first rate that is shown.
	if _, err := s.Wait("0.0"); err != nil {
		s.Kill()
		return nil, err
	}
	time.Sleep(settling)
	return func() {
		_ = s.Send("q") // it may have ended
		_ = s.End()     // its status is not what is measured
		s.Kill()
	}, nil
}

// between runs a server on one node and its client on the other.
func (v *virtualRig) between(serve, ask string, rate func(string) (float64, error)) (float64, error) {
	// The server listens soon; a client that is too early is told so, and asks again. A
	// server that is still there from the last time answers as well.
	var errs error
	for range 5 {
		_, err := v.railbench("rig", "ssh", "spark-01", serve)
		if err == nil {
			var out string
			if out, err = v.railbench("rig", "ssh", "spark-02", ask); err == nil {
				return rate(out)
			}
		}
		errs = errors.Join(errs, err)
		time.Sleep(time.Second)
	}
	return 0, errs
}

// firstLine is for a table's cell.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// iperfRate is what arrived, in Mb/s.
func iperfRate(out string) (float64, error) {
	var told struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil {
		return 0, err
	}
	if told.End.Received.Rate <= 0 {
		return 0, fmt.Errorf("no rate in %q", out)
	}
	return told.End.Received.Rate / 1e6, nil
}

// perftestRate is the average of the one line of figures, in Mb/s: it counts in MiB/s.
func perftestRate(out string) (float64, error) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		// #bytes, #iterations, the peak, the average and the message rate.
		if len(fields) != 5 || fields[0] != "65536" {
			continue
		}
		v, err := strconv.ParseFloat(fields[3], 64)
		if err != nil || v <= 0 {
			break
		}
		// perftest's "MB/sec" is MiB a second.
		return v * 1.048576 * 8, nil
	}
	return 0, fmt.Errorf("no rate in %q", out)
}
