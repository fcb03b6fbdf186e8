package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim/tool/network"
)

// An account is what the tests look at in iperf3's JSON.
type account struct {
	End struct {
		Sent, Received struct {
			Bytes, Bits float64
			Retransmits int
		}
		Streams []json.RawMessage
	}
	Error string
}

// iperf runs a server and a client and returns the client's JSON.
func (b *bench) iperf(addr, options string) (a account, server reply) {
	b.t.Helper()
	_, wait := b.start("spark-01", "iperf3 -s -1 -B "+addr)
	b.listening(0, network.IperfPort)
	got := b.try("spark-02", "iperf3 -J -c "+addr+" "+options)
	text := strings.NewReplacer("bits_per_second", "bits", "sum_sent", "sent", "sum_received", "received").Replace(got.out)
	if err := json.Unmarshal([]byte(text), &a); err != nil || got.code != 0 {
		b.t.Fatalf("%v: %+v", err, got)
	}
	return a, wait()
}

// netdev is a counter of an interface.
func (b *bench) netdev(node, dev, name string) float64 {
	b.t.Helper()
	var v float64
	if _, err := fmt.Sscan(b.must(node, "cat /sys/class/net/"+dev+"/statistics/"+name), &v); err != nil {
		b.t.Fatal(err)
	}
	return v
}

func TestIperf3OverARail(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Seed: 3})
	sent, rdma := b.netdev("spark-02", "enp1s0f0np0", "tx_bytes"), b.counter("spark-02", "rocep1s0f0", "port_xmit_data")
	a, server := b.iperf("192.168.100.10", "-t 10")
	if got := a.End.Sent.Bits / 1e9; math.Abs(got-27.8) > 0.1 || a.End.Received.Bits != a.End.Sent.Bits {
		t.Errorf("one stream: %.2f Gb/s", got)
	}
	wire := b.netdev("spark-02", "enp1s0f0np0", "tx_bytes") - sent
	if ratio := wire / (a.End.Sent.Bytes * (1448 + 66) / 1448); math.Abs(ratio-1) > 0.01 {
		t.Errorf("the interface sent %.3g of %.3g bytes", wire, a.End.Sent.Bytes)
	}
	// A ConnectX's port counters are RDMA's alone.
	if now := b.counter("spark-02", "rocep1s0f0", "port_xmit_data"); now != rdma {
		t.Errorf("the RDMA counter moved by %d", now-rdma)
	}
	if !strings.Contains(server.out, "Server listening on 5201 (test #1)") ||
		!strings.Contains(server.out, "Accepted connection from 192.168.100.11, port ") || server.code != 0 {
		t.Errorf("server: %+v", server)
	}
	a, _ = b.iperf("192.168.100.10", "-t 10 -P 4")
	if got := a.End.Sent.Bits / 1e9; math.Abs(got-76.8) > 0.5 || len(a.End.Streams) != 4 {
		t.Errorf("four streams: %.2f Gb/s in %d", got, len(a.End.Streams))
	}
	received := b.netdev("spark-02", "enp1s0f0np0", "rx_bytes")
	if a, _ = b.iperf("192.168.100.10", "-t 4 -R"); a.End.Sent.Bytes < 1e10 ||
		b.netdev("spark-02", "enp1s0f0np0", "rx_bytes")-received < a.End.Sent.Bytes {
		t.Errorf("reverse: %+v", a.End)
	}
}

func TestIperf3OverABond(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			overABond(newBench(t, Options{Seed: seed}))
		})
	}
}

func overABond(b *bench) {
	t := b.t
	t.Helper()
	for i, node := range []string{"spark-01", "spark-02"} {
		b.must(node,
			fmt.Sprintf(`sudo sh -c 'ip link add bond0 type bond mode balance-xor miimon 100 xmit_hash_policy layer3+4
for d in enp1s0f0np0 enp1s0f1np1; do nmcli device set $d managed no; ip addr flush dev $d; ip link set $d down; ip link set $d master bond0; ip link set $d up; done
ip addr add 192.168.100.%d/24 dev bond0; ip link set bond0 up'`, 10+i))
	}
	moved := func(options string) (gbps float64, links [2]float64) {
		var before [2]float64
		for i, d := range []string{"enp1s0f0np0", "enp1s0f1np1"} {
			before[i] = b.netdev("spark-01", d, "rx_bytes")
		}
		a, _ := b.iperf("192.168.100.10", options)
		for i, d := range []string{"enp1s0f0np0", "enp1s0f1np1"} {
			links[i] = b.netdev("spark-01", d, "rx_bytes") - before[i]
		}
		return a.End.Sent.Bits / 1e9, links
	}
	// Hashing is real: one connection uses one link, four use both.
	gbps, links := moved("-t 5")
	if math.Abs(gbps-27.8) > 0.1 || min(links[0], links[1]) > 1e8 || max(links[0], links[1]) < 1.7e10 {
		t.Errorf("one stream: %.1f Gb/s, %.3g", gbps, links)
	}
	gbps, links = moved("-t 5 -P 4")
	if math.Abs(gbps-76.8) > 0.5 || min(links[0], links[1]) < 1e10 {
		t.Errorf("four streams: %.1f Gb/s, %.3g", gbps, links)
	}
	b.must("spark-02", "sudo ip link set enp1s0f1np1 down")
	if _, links = moved("-t 5 -P 4"); min(links[0], links[1]) > 1e6 {
		t.Errorf("four streams over one live slave: %.3g", links)
	}
}

// No MTU makes TCP faster here than anybody has seen it on such machines: 35 Gb/s with one
// stream, 93 with four, which the tutorial measured with an MTU of 9000.
func TestTCPIsNoFasterThanWasSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mtu, options string
		low, high    float64
	}{
		{"1500", "-t 5", 12, 30},
		{"1500", "-t 5 -P 4", 70, 80},
		{"9000", "-t 5", 33, 35},
		{"9000", "-t 5 -P 4", 92, 93.3},
		{"9000", "-t 5 -P 8", 92, 93.3},
	} {
		b := newBench(t, Options{Seed: 2})
		for _, node := range []string{"spark-01", "spark-02"} {
			b.must(node, "sudo ip link set enp1s0f0np0 mtu "+c.mtu)
		}
		a, _ := b.iperf("192.168.100.10", c.options)
		if got := a.End.Sent.Bits / 1e9; !within(got, c.low, c.high) {
			t.Errorf("MTU %s, %s: %.1f Gb/s, want %g to %g", c.mtu, c.options, got, c.low, c.high)
		}
	}
}

func TestIperf3Failures(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for command, want := range map[string]reply{
		"iperf3 -c 192.168.100.10 -t 2": {"", "iperf3: error - unable to connect to server: Connection refused\n", 1},
		"iperf3 -s -1 -B 192.168.100.99": {"", "iperf3: error - unable to start listener for connections: Cannot assign " +
			"requested address\niperf3: exiting\n", 1},
	} {
		if got := b.try("spark-02", command); got != want {
			t.Errorf("%s: %+v", command, got)
		}
	}
	// With -J the exit status says nothing.
	got := b.try("spark-02", "iperf3 -c 192.168.100.10 -J")
	if got.code != 0 || got.err != "" ||
		!strings.Contains(got.out, `"error": "unable to connect to server: Connection refused"`) {
		t.Errorf("-J: %+v", got)
	}
	_, server := b.start("spark-01", "iperf3 -s -1")
	b.listening(0, network.IperfPort)
	if got := b.try("spark-01", "iperf3 -s -1"); got.code != 1 || !strings.Contains(got.err, "Address already in use") {
		t.Errorf("two servers: %+v", got)
	}
	_, first := b.start("spark-02", "iperf3 -c 192.168.100.10 -t 60")
	b.until("the test", func() bool { return len(b.rack.Flows) == 1 })
	if got := b.try("spark-02", "iperf3 -c 192.168.100.10"); got.code != 1 ||
		got.err != "iperf3: error - the server is busy running a test. try again later\n" {
		t.Errorf("busy: %+v", got)
	}
	if a, s := first(), server(); a.code != 0 || s.code != 0 || !strings.HasSuffix(a.out, "\niperf Done.\n") {
		t.Errorf("%+v %+v", a, s)
	}
}

// The text has the form of the real one: each of its lines, figures aside, is a
// line of the simulator's.
func TestIperf3Text(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	_, wait := b.start("spark-01", "iperf3 -s -1 -B 192.168.100.10")
	b.listening(0, network.IperfPort)
	client := b.must("spark-02", "iperf3 -c 192.168.100.10 -t 10 -P 4")
	server := wait()
	shape := func(text string) map[string]bool {
		lines := map[string]bool{}
		for line := range strings.Lines(text) {
			line = regexp.MustCompile(`\d+\.\d+-\d+\.\d+`).ReplaceAllString(line, "SPAN")
			line = regexp.MustCompile(`\d[\d.]*`).ReplaceAllString(line, "9")
			line = regexp.MustCompile(`[KMGT](Bytes|bits)`).ReplaceAllString(line, "$1")
			lines[strings.Join(strings.Fields(line), " ")] = true
		}
		return lines
	}
	for name, got := range map[string]string{"client": client, "server": server.out} {
		real, err := os.ReadFile("../../steps/parse/testdata/iperf3/i-iperf3-P4." + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		want, have := shape(string(real)), shape(got)
		for line := range want {
			if !have[line] {
				t.Errorf("%s: nothing like %q in\n%s", name, line, got)
			}
		}
		for line := range have {
			if !want[line] {
				t.Errorf("%s: %q is in no real output", name, line)
			}
		}
	}
}
