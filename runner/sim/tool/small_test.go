package tool

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// rack is two nodes with all programs.
func rack(t *testing.T) *host.Rack {
	t.Helper()
	r := host.NewRack(net.New(clock.New(time.Unix(1763700000, 0), clock.Max), 1, 2, false), All())
	t.Cleanup(func() {
		r.Lock()
		r.Shut()
		r.Unlock()
		r.Close()
	})
	return r
}

// on runs a script on a node and gives all that it prints.
func on(t *testing.T, n *host.Node, root bool, script string) (out string, code int) {
	t.Helper()
	var b bytes.Buffer
	n.Rack.Clock.Visit(func() {
		code = host.NewShell(n, root, false).Start(t.Context(), script, host.Job{Name: "sh", Stdout: &b, Stderr: &b})
	})
	return strings.TrimSuffix(b.String(), "\n"), code
}

// What the small programs print, as coreutils' do.
func TestSmallPrograms(t *testing.T) {
	n := rack(t).Nodes[0]
	for _, c := range []struct {
		script, want string
		code         int
	}{
		{"seq 5 | head -n 2", "1\n2", 0},
		{"seq 5 | head -n -2", "1\n2\n3", 0},
		{"seq 5 | head -3", "1\n2\n3", 0},
		{"printf abcdef | head -c 2", "ab", 0},
		{"printf abcdef | head -c -2", "abcd", 0},
		{"printf ab | head -c -5", "", 0},
		{"printf 'ä' | head -c 1 | wc -c", "1", 0},
		{"printf 'a\\nb' | head -n 5", "a\nb", 0},
		{"seq 5 | head -n x", "head: invalid number of lines: ‘x’", 1},
		{"seq 5 | head -n --1", "head: invalid number of lines: ‘--1’", 1},
		{"seq 5 | tail -n 2", "4\n5", 0},
		{"seq 5 | tail -n +4", "4\n5", 0},
		{"seq 5 | tail -n -1", "5", 0},
		{"printf abcdef | tail -c 2", "ef", 0},
		{"printf abcdef | tail -c +5", "ef", 0},
		{"seq 3 | tail -n +0", "1\n2\n3", 0},
		{"printf 'a:b:c\\n' | cut -d: -f2-", "b:c", 0},
		{"printf 'b\\na\\nb\\n' | sort | uniq -c", "      1 a\n      2 b", 0},
		{"printf 'x.y\\nxay\\n' | grep 'x\\.y'", "x.y", 0},
		{"printf 'a+b\\naab\\n' | grep 'a+b'", "a+b", 0},
		{"printf 'a+b\\naab\\n' | grep -E '^a+b'", "aab", 0},
		{"seq 9 | grep -A1 -B1 5", "4\n5\n6", 0},
		{"seq 3 | grep 7", "", 1},
		{"date +%Y-%m-%dT%H:%M:%S.%3N", "2025-11-21T04:40:00.000", 0},
		{"basename /a/b.txt .txt", "b", 0},
		{"echo x > f; mv f f/g; cat f", "mv: cannot move 'f' to 'f/g': Not a directory\nx", 0},
		{"/usr/bin/test '' f", "", 1},
	} {
		if out, code := on(t, n, false, c.script); out != c.want || code != c.code {
			t.Errorf("%s: %q, status %d, want %q, %d", c.script, out, code, c.want, c.code)
		}
	}
}

// A sum of endless waits is endless, too.
func TestEndlessWaits(t *testing.T) {
	if out, code := on(t, rack(t).Nodes[0], false, "timeout 60 sleep infinity infinity infinity; echo $?"); out != "124" {
		t.Errorf("three endless sleeps: %q, %d", out, code)
	}
}

// The order in which units are listed is the same each time, as everything on the rig is.
func TestUnitsAreListedInOneOrder(t *testing.T) {
	n := rack(t).Nodes[0]
	for range 5 {
		out, code := on(t, n, true, `for u in e c a d b; do
  systemd-run --quiet --unit=$u --on-active=1h true
done
systemctl list-timers
systemctl stop a.timer b.timer c.timer d.timer e.timer`)
		want := "a.timer loaded active waiting\nb.timer loaded active waiting\nc.timer loaded active waiting\n" +
			"d.timer loaded active waiting\ne.timer loaded active waiting"
		if out != want || code != 0 {
			t.Fatalf("listed as %q, status %d", out, code)
		}
	}
}

// A ping without a pause is refused, as the real ping refuses it to a user. A text that is not a time is not
// read as the time 0.
func TestPingsTimes(t *testing.T) {
	n := rack(t).Nodes[0]
	for script, want := range map[string]string{
		"ping -c 2 -i 0 192.168.100.11": "ping: cannot flood, minimal interval for user must be >= 2 ms," +
			" use -i 0.002 (or higher)",
		"ping -c 2 -i x 192.168.100.11": "ping: bad timing interval: x",
		"ping -c 2 -W x 192.168.100.11": "ping: bad linger time: x",
	} {
		if out, code := on(t, n, false, script); out != want || code != 2 {
			t.Errorf("%s: %q, status %d", script, out, code)
		}
	}
	out, code := on(t, n, true, "timeout 1 ping -i 0 192.168.100.11 | grep -c ttl=")
	if code != 0 || len(out) < 2 {
		t.Errorf("root's flood has %q answers, status %d", out, code)
	}
}

// A user who asks perftest for help has typed nothing wrong and gets no error message; the status is 1 all
// the same.
func TestPerftestHelp(t *testing.T) {
	n := rack(t).Nodes[0]
	out, code := on(t, n, false, "ib_write_bw --help")
	if code != 1 || !strings.HasPrefix(out, "Usage:\n") || strings.Contains(out, "unrecognized") {
		t.Errorf("%d: %s", code, out)
	}
	out, code = on(t, n, false, "ib_write_bw --bogus")
	if code != 1 || !strings.Contains(out, "unrecognized option '--bogus'") || !strings.Contains(out, "Usage:\n") {
		t.Errorf("%d: %s", code, out)
	}
}
