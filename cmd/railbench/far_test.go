package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
)

// farRig is the simulated rig, served over SSH behind bad links: a rig file and an ssh
// configuration that lead to it.
func farRig(t *testing.T, l nodetest.Link) (rig, config string) {
	t.Helper()
	testform.NeedsFull(t, "bad links take real time")
	return servedRig(t, 1, func(port int) int { return l.Open(t, port) })
}

// servedRig is a rig file of a simulated rig's nodes as a real one: they are reached over SSH, at the ports that
// through makes of theirs.
func servedRig(t *testing.T, speed float64, through func(port int) int) (rig, config string) {
	t.Helper()
	s, err := sim.New(sim.Options{Speed: speed, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	dir := t.TempDir()
	rig, config = filepath.Join(dir, "rig.toml"), filepath.Join(dir, "ssh_config")
	text, hosts := "name = \"far\"\n", ""
	for i, node := range s.Nodes() {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() { _ = s.Serve(t.Context(), ln, node) }() // it ends with the test
		text += fmt.Sprintf("[%s]\nssh = \"nvidia@%s\"\n", []string{"here", "peer"}[i], node)
		hosts += fmt.Sprintf("Host %[1]s\n HostName 127.0.0.1\n Port %[2]d\n HostKeyAlias %[1]s\n"+
			" StrictHostKeyChecking accept-new\n"+
			" UserKnownHostsFile %[3]s\n IdentityAgent none\n", node, through(ln.Addr().(*net.TCPAddr).Port),
			filepath.Join(dir, "known"))
	}
	for path, text := range map[string]string{rig: text, config: hosts} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return rig, config
}

// far are links as slow as a satellite's, as narrow as a telephone's, and as lossy as a radio's.
var far = map[string]nodetest.Link{
	"300 ms":           {Delay: 150 * time.Millisecond},
	"1 Mbit/s":         {Delay: 150 * time.Millisecond, Rate: 1_000_000},
	"one packet in 20": {Delay: 150 * time.Millisecond, Rate: 1_000_000, Loss: 0.05},
	"stalls of 1 s":    {Delay: 150 * time.Millisecond, Rate: 1_000_000, Stall: time.Second, Every: 4 * time.Second},
}

// TestCellsOverBadLinks: cells come to the verdicts of a good link, counters and servers
// included.
func TestCellsOverBadLinks(t *testing.T) {
	t.Parallel()
	ids := []string{"hosts", "rail-map", "ping", "ib-write-bw"}
	for name, link := range far {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig, config := farRig(t, link)
			args := slices.Concat([]string{"run", "--rig", rig, "--ssh-config", config, "--json"}, ids)
			code, stdout, stderr := unattended(args...)
			if code != exitOK {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			var r headless.Object
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Cells) != len(ids) {
				t.Fatalf("%d cells", len(r.Cells))
			}
			for _, c := range r.Cells {
				if c.Verdict != steps.Pass {
					t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
				}
			}
		})
	}
}

// farScreen is the workbench on such a rig, once its gauges show something.
func farScreen(t *testing.T, l nodetest.Link) *pseudoTerminal {
	t.Helper()
	rig, config := farRig(t, l)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "railbench") // by its name it is that
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	s, err := openTerminal(t.TempDir(), nil, bin, "--rig", rig, "--ssh-config", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	if _, err := s.Wait("Gb/s"); err != nil {
		t.Fatal(err)
	}
	return s
}

// keysOver types keys, each after the answer to the one before and sixty a second at most, and says how long half of
// the answers took.
func keysOver(t *testing.T, l nodetest.Link) (half time.Duration) {
	t.Helper()
	s := farScreen(t, l)
	defer s.Kill()
	const keys, second = 300, 60
	var took []time.Duration
	began := time.Now()
	next := began
	for i := range keys / 2 {
		for _, shows := range []string{"Jupyter", "Set-up"} { // the help, and what it has covered
			next = next.Add(time.Second / second)
			time.Sleep(time.Until(next))
			at := time.Now()
			if err := s.Send("?"); err != nil {
				t.Fatal(err)
			}
			seen, err := s.Wait(shows)
			if err != nil {
				t.Fatalf("key %d: %v", i, err)
			}
			took = append(took, seen.Sub(at))
		}
	}
	slices.Sort(took)
	t.Logf("%d keys in %.1f s; of 100 keys 50 took %s and 95 %s", keys, time.Since(began).Seconds(), took[keys/2],
		took[keys*95/100])
	return took[keys/2]
}

// TestKeysOverBadLinks: every key is answered while what comes from the nodes comes late and in pieces. How long that
// takes, next to a good link, is logged: it is the machine's.
func TestKeysOverBadLinks(t *testing.T) {
	testform.NeedsFull(t, "bad links take real time")
	t.Logf("over a good link half of the keys took %s", keysOver(t, nodetest.Link{}))
	for name, link := range far {
		t.Logf("%s: half of the keys took %s", name, keysOver(t, link))
	}
}

// TestSixtyKeysASecondOverBadLinks: a key is held, sixty a second whatever the screen shows, and each is answered.
func TestSixtyKeysASecondOverBadLinks(t *testing.T) {
	testform.NeedsFull(t, "bad links take real time")
	t.Logf("over a good link the slowest took %s", heldKeys(t, nodetest.Link{}))
	for name, link := range far {
		t.Logf("%s: the slowest took %s", name, heldKeys(t, link))
	}
}

// heldKeys sends sixty keys a second for some seconds and gives the longest that one of those took whose answer
// is seen: the help after three quarters of each second, and what it has covered at its end.
func heldKeys(t *testing.T, l nodetest.Link) (worst time.Duration) {
	t.Helper()
	s := farScreen(t, l)
	defer s.Kill()
	const seconds, second, opens = 8, 60, 45
	sent := make(chan time.Time, 2*seconds)
	go func() {
		defer close(sent)
		began := time.Now()
		for i := range seconds * second {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / second)))
			key := "é" // no key of the help's
			switch at := i % second; {
			case at == opens || at == second-1:
				key = "?"
				sent <- time.Now()
			case at < opens:
				key = []string{"j", "k"}[i%2]
			}
			if s.Send(key) != nil {
				return // the screen has ended, which its next wait reports
			}
		}
	}()
	var took []time.Duration
	for at := range sent {
		seen, err := s.Wait([]string{"Jupyter", "Set-up"}[len(took)%2])
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, seen.Sub(at))
	}
	if len(took) != 2*seconds {
		t.Fatalf("%d answers of %d", len(took), 2*seconds)
	}
	slices.Sort(took)
	t.Logf("%d keys in %d s; of those that were looked for half took %s, the longest %s", seconds*second, seconds,
		took[seconds], took[2*seconds-1])
	return took[2*seconds-1]
}

// TestGaugesSayThatTheyAreLate: while nothing comes from a node the gauges say that they have no sample, and they come
// back by themselves. The link is held until the screen shows it, however long this machine takes for that.
func TestGaugesSayThatTheyAreLate(t *testing.T) {
	t.Parallel()
	var held atomic.Bool
	defer held.Store(false) // the link's end waits for what is on it
	s := farScreen(t, nodetest.Link{Delay: 150 * time.Millisecond, Held: &held})
	fresh := []string{"8 ports idle", "▕"} // one line while nothing moves, or the edge of a gauge that has a needle
	late := []string{"no sample for", "8 not sampled"}
	for _, c := range []struct {
		held  bool
		shows []string
	}{{false, fresh}, {true, late}, {false, fresh}} {
		held.Store(c.held)
		if _, err := s.Wait(c.shows...); err != nil {
			t.Fatalf("held: %v: %v", c.held, err)
		}
	}
}
