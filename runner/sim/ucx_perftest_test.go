package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// ucxPerf runs ucx_perftest on both nodes, the client on spark-02.
func (b *bench) ucxPerf(env, flags string) (client, server reply) {
	b.t.Helper()
	_, wait := b.start("spark-01", env+" ucx_perftest")
	b.listening(0, 13337)
	client = b.try("spark-02", env+" ucx_perftest 192.168.100.10 "+flags)
	return client, wait()
}

// The client prints the figures, and the server what they are of. The bytes on the wire are those
// of a tenth as many messages to warm up, of all that count, and of two that say that it is over.
func TestUCXPerftest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env, flags string
		gbps             float64
		messages         float64
		dev              string
	}{
		{"host memory", oneRail, "-t ucp_put_bw -m host -s 67108864 -n 200 -w 10000", 92.4, 222, "rocep1s0f0"},
		{"fewer to warm up", oneRail, "-t ucp_put_bw -s 67108864 -n 200 -w 5", 92.4, 207, "rocep1s0f0"},
		{"the GPU's", oneRail, "-t ucp_put_bw -m cuda -s 67108864 -n 20 -w 5", 3.4, 24, "rocep1s0f0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{})
			before := b.counter("spark-02", c.dev, "port_xmit_data")
			client, server := b.ucxPerf(c.env, c.flags)
			b.wants(client, server)
			var final string
			for line := range strings.Lines(client.out) {
				if strings.HasPrefix(line, "Final:") {
					final = line
				}
			}
			var n int
			var f [7]float64
			if _, err := fmt.Sscan(strings.TrimPrefix(final, "Final:"), &n, &f[0], &f[1], &f[2], &f[3], &f[4], &f[5],
				&f[6]); err != nil {
				t.Fatalf("%q: %v", client.out, err)
			}
			// The message that says that it is over takes its time, and is not counted.
			if gbps := f[4] * 8 * (1 << 20) / 1e9; math.Abs(gbps-c.gbps) > 0.05*c.gbps || math.Abs(f[2]*f[4]/64-1e6) > 1e3 {
				t.Errorf("%.1f Gb/s: %s", gbps, final)
			}
			if !strings.Contains(server.out, "| Test:         put bandwidth ") ||
				!strings.Contains(server.out, "| Message size: 67108864 ") || strings.Contains(server.out, "Final") {
				t.Errorf("the server said:\n%s", server.out)
			}
			moved := float64(b.counter("spark-02", c.dev, "port_xmit_data")-before) * 4
			if want := wire(c.messages * (64 << 20)); math.Abs(moved/want-1) > 0.02 {
				t.Errorf("%.2f GB on the wire, want %.2f", moved/1e9, want/1e9)
			}
		})
	}
}

func TestUCXPerftestFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for flags, want := range map[string]string{
		"192.168.100.10 -t ucp_put_bw":   "connect() failed: Connection refused",
		"192.168.77.1 -t ucp_put_bw":     "connect() failed: ",
		"192.168.100.10 -t no_such_test": "Invalid option argument for -t",
		"192.168.100.10 -t tag_bw -m x":  `unsupported memory type: "x"`,
	} {
		if r := b.try("spark-02", "ucx_perftest "+flags); r.code != 255 || !strings.Contains(r.out, want) {
			t.Errorf("%s: %+v", flags, r)
		}
	}
	b.start("spark-01", "ucx_perftest -p 14000")
	b.listening(0, 14000)
	if r := b.try("spark-01", "ucx_perftest -p 14000"); r.code != 255 ||
		!strings.Contains(r.out, "Address already in use") {
		t.Errorf("a port that is taken: %+v", r)
	}
}
