package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A way is where two programs send to each other.
type way struct {
	name, address string
	server        []string // what starts a program at the receiving end
	client        []string
}

// streams compares railbench stream with iperf3, with as many connections, over loopback and,
// where this is root, between two network namespaces. Both are measured in turns: what else
// the machine does then is in both.
func streams(b *bench) (r result, err error) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return r, missing("iperf3 is not on this machine")
	}
	ways := []way{{name: "loopback", address: "127.0.0.1"}}
	if between, undo, err := namespaces(); err == nil {
		defer undo()
		ways = append(ways, between)
	}
	for _, w := range ways {
		for _, n := range []int{1, 4} {
			var ours, theirs []float64
			for range b.times(5) {
				peer, err := b.iperf(w, n)
				if err != nil {
					return r, err
				}
				own, err := b.stream(w, "send", "--streams", strconv.Itoa(n))
				if err != nil {
					return r, err
				}
				ours, theirs = append(ours, own), append(theirs, peer)
				if err := b.ctx(); err != nil {
					return r, err
				}
			}
			share := above(fmt.Sprintf("stream of %d, over %s, against iperf3", n, w.name), median(ours)/median(theirs), 0.9,
				" x")
			share.got += fmt.Sprintf(" (%s against %s Gb/s)", number(median(ours)), number(median(theirs)))
			r.figures = append(r.figures, share)
		}
	}
	for _, asked := range []float64{1, 4} {
		var off []float64
		for range b.times(5) {
			got, err := b.stream(ways[0], "emulate", "--bytes", "1M", "--gbps", number(asked))
			if err != nil {
				return r, err
			}
			off = append(off, 100*math.Abs(got/asked-1))
		}
		r.figures = append(r.figures, below(fmt.Sprintf("stream emulate at %s Gb/s, what a receiver gets, off by",
			number(asked)), median(off), 1, " %"))
	}
	if len(ways) == 1 {
		r.figures = append(r.figures, plain("stream between namespaces", "not measured: it needs root, and ip"))
	}
	return r, nil
}

func (b *bench) seconds() string {
	if b.quick {
		return "1"
	}
	return "3"
}

const benchPort = "15301"

func prefixed(with []string, name string, args ...string) *exec.Cmd {
	all := append(append(append([]string{}, with...), name), args...)
	return exec.Command(all[0], all[1:]...)
}

// iperf is what iperf3's receiver got, Gb/s.
func (b *bench) iperf(w way, n int) (float64, error) {
	server := prefixed(w.server, "iperf3", "-s", "-1", "-p", benchPort, "--forceflush")
	out, err := server.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := server.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = server.Wait() }() // it ends with its one client
	if err := until(out, "listening on"); err != nil {
		return 0, err
	}
	text, err := prefixed(w.client, "iperf3", "-c", w.address, "-p", benchPort, "-t", b.seconds(), "-P", strconv.Itoa(n),
		"-J").Output()
	if err != nil {
		return 0, fmt.Errorf("iperf3: %w: %s", err, text)
	}
	rate, err := iperfRate(string(text))
	return rate / 1e3, err
}

// stream is what railbench's receiver got of a sender, whole, Gb/s.
func (b *bench) stream(w way, sender string, args ...string) (float64, error) {
	server := prefixed(w.server, b.railbench, "stream", "receive", "--once", "--json", "--listen", w.address+":"+benchPort)
	said, err := server.StderrPipe()
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	server.Stdout = &out
	if err := server.Start(); err != nil {
		return 0, err
	}
	if err := until(said, "receives at"); err != nil {
		return 0, err
	}
	args = append([]string{"stream", sender, w.address + ":" + benchPort, "--for", b.seconds() + "s"}, args...)
	text, err := prefixed(w.client, b.railbench, args...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("railbench stream %s: %w: %s", sender, err, text)
	}
	if err := server.Wait(); err != nil {
		return 0, fmt.Errorf("railbench stream receive: %w", err)
	}
	var told struct {
		Gbps float64 `json:"gbps"`
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		return 0, err
	}
	if told.Gbps <= 0 {
		return 0, errors.New("railbench stream receive got nothing")
	}
	return told.Gbps, nil
}

// namespaces makes two network namespaces of this run's own with a link between them.
func namespaces() (w way, undo func(), err error) {
	a, z := fmt.Sprintf("rb-bench-a%d", time.Now().UnixNano()%1e6), fmt.Sprintf("rb-bench-z%d", time.Now().UnixNano()%1e6)
	undo = func() {
		_ = exec.Command("ip", "netns", "del", a).Run() // one of them may not be there
		_ = exec.Command("ip", "netns", "del", z).Run()
	}
	for _, line := range []string{
		"netns add " + a, "netns add " + z,
		"-n " + a + " link add v0 type veth peer name v1 netns " + z,
		"-n " + a + " addr add 10.231.7.1/30 dev v0", "-n " + z + " addr add 10.231.7.2/30 dev v1",
		"-n " + a + " link set v0 up mtu 9000", "-n " + z + " link set v1 up mtu 9000",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			undo()
			return w, nil, fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	in := func(ns string) []string { return []string{"ip", "netns", "exec", ns} }
	return way{name: "two namespaces", address: "10.231.7.2", server: in(z), client: in(a)}, undo, nil
}

// until reads lines up to one with a text, and what follows in the background, so that who
// writes it is not held up.
func until(r io.Reader, text string) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return nil
		}
	}
	return fmt.Errorf("it never said %q: %w", text, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
}
