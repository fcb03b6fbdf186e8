package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/sim/etcdtest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// TestSoftwareFixes breaks the simulated rig, has a check find it, its fix put it
// right, and the check pass.
func TestSoftwareFixes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault, check string
		found        steps.Grade
	}{
		{"port-busy", "test-ports", steps.Fail},
		{"iperf-stuck", "test-ports", steps.Fail},
		{"stale-etcd", "etcd-keys", steps.Warn},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1, faults: []string{c.fault}}.open(t.Context(),
				runner.NoAsker{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.close()
			b.options.Confirm = headless.Yes{}
			cell, _ := b.options.Tutorial.Cell(c.check)
			s := session.New(b.options)
			b.onState = s.State
			s.Open()
			for _, step := range []struct {
				id   string
				want steps.Grade
			}{{c.check, c.found}, {cell.Check.Fix, steps.Pass}, {c.check, steps.Pass}, {cell.Check.Fix, steps.Pass}} {
				s.Run(step.id)
				if v := verdictOf(t, s, step.id); v.Grade != step.want {
					t.Errorf("%s: %s, want %s: %s", step.id, v.Grade, step.want, v.Reason)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// needPrograms is testform.Tool for several.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		testform.Tool(t, name)
	}
}

// onThisMachine runs the script of a cell here, and gives what it printed.
func onThisMachine(t *testing.T, cell string, vars map[string]string, change func(string) string) string {
	t.Helper()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	c, ok := tut.Cell(cell)
	if !ok {
		t.Fatalf("there is no cell %s", cell)
	}
	node := runner.NewLocal("here", nil)
	defer node.Close()
	body := c.Roles[0].Script
	if change != nil {
		body = change(body)
	}
	var text strings.Builder
	exit, err := node.Run(t.Context(), runner.Script{Name: cell, Body: body, Vars: vars, Limit: time.Minute},
		func(l runner.Line) {
			text.WriteString(l.Text + "\n")
		})
	if err != nil || !exit.OK() {
		t.Fatalf("%s: %v, %v\n%s", cell, exit, err, text.String())
	}
	return text.String()
}

// listens starts an iperf3 that no one waits for, and returns once it listens.
func listens(t *testing.T, port string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("iperf3", "-s", "-p", port, "--forceflush")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Server listening on "+port) {
			return cmd
		}
	}
	t.Fatalf("iperf3 does not listen on port %s", port)
	return nil
}

// Real processes: a benchmark that was left over is ended, one that a railbench runs is not, and neither is what is
// not a benchmark.
func TestEndProcessEndsWhatWasLeftOver(t *testing.T) {
	t.Parallel()
	needPrograms(t, "ss", "iperf3")
	var ports [3]string
	var held [3]net.Listener
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		held[i], ports[i] = l, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	held[0].Close()
	held[1].Close()
	left, busy, mine := ports[0], ports[1], ports[2]
	forgotten := listens(t, left)
	listens(t, busy, "RAILBENCH_RUN=another")
	vars := map[string]string{"TCP_PORT": left, "NIXL_PORT": busy, "PORT": mine, "ASIO_PORT": "1"}
	seen := onThisMachine(t, "test-ports", vars, nil)
	for _, line := range []string{
		"port " + left + " pid: " + strconv.Itoa(forgotten.Process.Pid),
		"port " + left + " command: iperf3 -s -p " + left, "port " + mine + " uid: " + strconv.Itoa(os.Getuid()),
	} {
		if !strings.Contains(seen, line) {
			t.Errorf("it does not see %q: %s", line, seen)
		}
	}
	said := onThisMachine(t, "fix-end-process", vars, nil)
	for _, line := range []string{
		"ended " + left + ": process " + strconv.Itoa(forgotten.Process.Pid) + " with SIG", "left " + busy + ": process ",
		"belongs to a railbench that runs",
		"left " + mine + ": process " + strconv.Itoa(os.Getpid()) + " is not a benchmark",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("it does not say %q: %s", line, said)
		}
	}
	if strings.Contains(said, "ended "+busy) || strings.Contains(said, "ended "+mine) {
		t.Errorf("it ended what it has to leave alone: %s", said)
	}
	if err := forgotten.Wait(); err == nil {
		t.Error("the forgotten server ended with status 0")
	}
	if again := onThisMachine(t, "test-ports", vars, nil); strings.Contains(again, "port "+left+":") {
		t.Errorf("the port is still held: %s", again)
	}
}

// A real etcd: stale keys are counted and deleted, others stay, and nothing is deleted
// while a rank is leased.
func TestEtcdKeysAreDeleted(t *testing.T) {
	t.Parallel()
	needPrograms(t, "ss", "curl")
	url := etcdtest.Real(t)
	server, err := etcd.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	here := func(script string) string { return strings.ReplaceAll(script, "2379", server.Port()) }
	ask := func(path, body string) {
		t.Helper()
		if out, err := exec.Command("curl", "-sf", url+path, "-d", body).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", path, err, out)
		}
	}
	seen := func(want ...string) {
		t.Helper()
		text := onThisMachine(t, "etcd-keys", nil, here)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("it does not see %s: %s", w, text)
			}
		}
	}
	// xferbench/default//size, and "another"
	const size, rank, another = `"key":"eGZlcmJlbmNoL2RlZmF1bHQvL3NpemU="`, `"key":"eGZlcmJlbmNoL2RlZmF1bHQvL3JhbmsvMA=="`,
		`"key":"YW5vdGhlcg=="`
	ask("/v3/kv/put", "{"+size+`,"value":"Mg=="}`)
	ask("/v3/kv/put", "{"+another+`,"value":"Mg=="}`)
	seen(`"count":"1"`, size)
	if said := onThisMachine(t, "fix-etcd-keys", nil, here); !strings.Contains(said, `"deleted":"1"`) {
		t.Errorf("it says %s", said)
	}
	if keys, err := server.List(t.Context(), "a"); err != nil || len(keys) != 1 {
		t.Errorf("somebody else's keys are %q, %v", keys, err)
	}
	ask("/v3/lease/grant", `{"TTL":600,"ID":7}`)
	ask("/v3/kv/put", "{"+size+`,"value":"Mg=="}`)
	ask("/v3/kv/put", "{"+rank+`,"value":"Mg==","lease":7}`)
	seen(`"count":"2"`, `"lease":"7"`)
	said := onThisMachine(t, "fix-etcd-keys", nil, here)
	if !strings.Contains(said, "kept: ") || strings.Contains(said, "deleted") {
		t.Errorf("a run is under way, and it says %s", said)
	}
	seen(`"count":"2"`)
}
