package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps/session"
)

// What a script costs a node is processes, and a node whose fork takes 7 ms makes seconds of hundreds.
const (
	hostsProcesses     = 25  // of the cell hosts, on each node
	checklistProcesses = 300 // of the whole checklist
	// Each of the checklist's scripts, looks and readings of counters is a shell. The simulated rig's have every tool, and
	// NetworkManager, and its shells are counted apart: a node without all that stays below checklistProcesses with them.
	checklistScripts = 100
)

// On the simulated rig each script's shell is counted, and each program that it calls.
func TestProcessesOnANode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cells             []string
		programs, scripts int
	}{
		"hosts":     {[]string{"hosts"}, hostsProcesses - 3, 3},
		"checklist": {allChecks(t), checklistProcesses, checklistScripts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.close()
			var mu sync.Mutex
			counts := map[string]map[string]int{}
			b.simRig.Count(func(node, program string) {
				mu.Lock()
				defer mu.Unlock()
				if counts[node] == nil {
					counts[node] = map[string]int{}
				}
				counts[node][program]++
			})
			runCells(t, b, c.cells)
			if len(counts) != 2 {
				t.Fatalf("they ran on %v", slices.Collect(maps.Keys(counts)))
			}
			for node, programs := range counts {
				scripts := programs["sh"]
				delete(programs, "sh")
				sum := 0
				for _, n := range programs {
					sum += n
				}
				t.Logf("%s: %d scripts, %d programs: %v", node, scripts, sum, programs)
				if sum > c.programs || scripts > c.scripts {
					t.Errorf("%d programs and %d scripts on %s; %d and %d are enough: %v", sum, scripts, node, c.programs, c.scripts,
						programs)
				}
			}
		})
	}
}

// Over a real sshd all processes are counted that it starts, and all programs that these become: of its own, the
// logins, the supervisor, subshells. The login has a shim in its PATH, as pyenv makes them: no check runs it.
func TestProcessesOverSSH(t *testing.T) {
	testform.NeedsFull(t, "starts a real sshd")
	strace := testform.Tool(t, "strace")
	sshd := testform.Tool(t, "sshd")
	for name, c := range map[string]struct {
		cells []string
		most  int
	}{"hosts": {[]string{"hosts"}, hostsProcesses}, "checklist": {allChecks(t), checklistProcesses}} {
		t.Run(name, func(t *testing.T) {
			root, ran := shim(t)
			var config strings.Builder
			var logs []string
			for i := range 2 {
				s := nodetest.StartSshd(t,
					fmt.Sprintf("SetEnv HOME=%s PATH=%s/shims:/usr/sbin:/usr/bin:/sbin:/bin", t.TempDir(), root))
				s.Stop()
				log, traced := filepath.Join(s.Dir, "processes"), filepath.Join(s.Dir, "traced")
				logs = append(logs, log)
				text := fmt.Sprintf("#!/bin/sh\nexec %s -f -qq -o %s -e trace=execve,clone,clone3,fork,vfork %s \"$@\"\n",
					strace, log, sshd)
				if err := os.WriteFile(traced, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
				s.Start(t, traced)
				t.Cleanup(func() { endTraced(t, log) })
				fmt.Fprintf(&config, "Host n%d\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s\n"+
					"  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n",
					i, s.Port, s.User, s.Key, s.KnownHosts)
			}
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := rigFlags{here: "n0", peer: "n1", sshConfig: file, speed: 1}.open(t.Context(), runner.NoAsker{})
			if err != nil {
				t.Fatal(err)
			}
			runCells(t, b, c.cells)
			b.close()
			for i, log := range logs {
				forks, programs := traced(t, log)
				t.Logf("n%d: %d processes, %d programs", i, forks, programs)
				if forks > c.most || programs > c.most {
					t.Errorf("%d processes and %d programs on n%d, and %d are enough", forks, programs, i, c.most)
				}
				if forks < 5 || programs < 5 {
					t.Errorf("%d processes and %d programs: these are not all", forks, programs)
				}
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the shim of Python was run")
			}
		})
	}
}

// shim is a folder as pyenv's, and the file that its shim leaves where it is run.
func shim(t *testing.T) (root, ran string) {
	t.Helper()
	root = t.TempDir()
	ran = filepath.Join(root, "ran")
	for name, text := range map[string]string{
		"shims/python3": "#!/bin/sh\n: >" + ran + "\nfor i in 1 2 3 4 5 6 7 8 9 10; do (:); done\nexec " + root +
			"/versions/3.12.1/bin/python3 \"$@\"\n",
		"versions/3.12.1/bin/python3": "#!/bin/sh\ncat >/dev/null\n",
		"version":                     "3.12.1\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root, ran
}

var (
	forked   = regexp.MustCompile(`(?m)^\d+ +(?:(?:clone3?|v?fork)\(.*|<\.\.\. (?:clone3?|v?fork) resumed>.*) = [1-9]\d*$`)
	executed = regexp.MustCompile(`(?m)^\d+ +(?:execve\(.*|<\.\.\. execve resumed>.*) = 0$`)
)

// traced are the processes and programs in what strace wrote.
func traced(t *testing.T, log string) (processes, programs int) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range forked.FindAllString(string(text), -1) {
		if !strings.Contains(line, "CLONE_THREAD") {
			processes++
		}
	}
	return processes, len(executed.FindAllString(string(text), -1))
}

// endTraced ends the sshd that strace has started: it would go on without strace.
func endTraced(t *testing.T, log string) {
	text, err := os.ReadFile(log)
	if err != nil {
		t.Error(err)
		return
	}
	first, _, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Error(err)
		return
	}
	for range 3_000 { // in the end: minutes
		if syscall.Kill(pid, syscall.SIGTERM) != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("sshd %d goes on", pid)
}

func allChecks(t *testing.T) (ids []string) {
	t.Helper()
	book, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range book.Checks() {
		ids = append(ids, c.ID)
	}
	return ids
}

func runCells(t *testing.T, b *openRig, cells []string) {
	t.Helper()
	s := session.New(b.options)
	f := session.Follow(s, nil)
	b.onState = s.State
	s.Open()
	f.Run(t.Context(), cells...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range cells {
		if _, ok := f.Ended[id]; !ok {
			t.Errorf("%s did not run", id)
		}
	}
}
