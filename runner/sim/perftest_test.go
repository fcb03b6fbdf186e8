package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// fields is the result row of a test.
func fields(t *testing.T, out string) []string {
	t.Helper()
	lines := strings.Split(out, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, " #bytes") && i+1 < len(lines) {
			return strings.Fields(lines[i+1])
		}
	}
	t.Fatalf("no result in %q", out)
	return nil
}

// rail is one pair of ends of a test.
type rail struct {
	dev, ip string
	gid     int
}

var rails = map[string]rail{
	"1": {"rocep1s0f0", "192.168.100.10", 3}, "2": {"rocep1s0f1", "192.168.200.10", 3},
	"1b": {"roceP2p1s0f0", "192.168.102.10", 5}, "2b": {"roceP2p1s0f1", "192.168.202.10", 3},
}

// together runs a test on several rails at once and returns the sum in Gb/s. The
// servers' flows overlap in the middle part of each, which is what counts.
func (b *bench) together(names ...string) float64 {
	b.t.Helper()
	var servers, clients []func() reply
	for i, name := range names {
		r := rails[name]
		_, wait := b.start("spark-01",
			fmt.Sprintf("ib_write_bw -d %s -x %d -p %d -D 40 --report_gbits", r.dev, r.gid, rdma.PerftestPort+i))
		servers = append(servers, wait)
		b.listening(0, rdma.PerftestPort+i)
	}
	for i, name := range names {
		r := rails[name]
		_, wait := b.start("spark-02",
			fmt.Sprintf("ib_write_bw -d %s -x %d -p %d -D 40 --report_gbits %s", r.dev, r.gid, rdma.PerftestPort+i, r.ip))
		clients = append(clients, wait)
	}
	sum := 0.0
	for i := range names {
		got, server := clients[i](), servers[i]()
		if got.code != 0 || server.code != 0 {
			b.t.Fatalf("%+v\n%+v", got, server)
		}
		row := fields(b.t, got.out)
		if other := fields(b.t, server.out); strings.Join(row, " ") != strings.Join(other, " ") {
			b.t.Errorf("the ends differ: %v and %v", row, other)
		}
		v, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			b.t.Fatal(err)
		}
		sum += v
	}
	return sum
}

func (b *bench) jumbo() {
	for _, node := range b.Nodes() {
		b.must(node, "for i in enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1; do sudo ip link set $i mtu 9000; done")
	}
}

func TestBandwidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rails []string
		jumbo bool
		want  float64
	}{
		{"one rail", []string{"1"}, false, 92.6},
		{"two rails of one half", []string{"1", "2"}, false, 105.4},
		{"both halves over one cable", []string{"1", "1b"}, false, 185},
		{"all four", []string{"1", "1b", "2", "2b"}, false, 210.8},
		// What others measured: 111.7 to 111.9, and 98.04 on each of two halves.
		{"one rail, MTU 4096", []string{"1"}, true, 111.8},
		{"two rails of one half, MTU 4096", []string{"1", "2"}, true, 111.8},
		{"both halves over one cable, MTU 4096", []string{"1", "1b"}, true, 196},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{Seed: 3})
			if c.jumbo {
				b.jumbo()
			}
			if got := b.together(c.rails...); math.Abs(got-c.want) > c.want/100 {
				t.Errorf("%.2f Gb/s, want %.2f", got, c.want)
			}
		})
	}
}

func (b *bench) counter(node, dev, name string) uint64 {
	b.t.Helper()
	v, err := strconv.ParseUint(strings.TrimSpace(b.must(node,
		"cat /sys/class/infiniband/"+dev+"/ports/1/counters/"+name)), 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// test runs a server on spark-01 and a client on spark-02.
func (b *bench) test(server, client string) (s, c reply) {
	b.t.Helper()
	_, wait := b.start("spark-01", server)
	b.listening(0, rdma.PerftestPort)
	c = b.try("spark-02", client)
	return wait(), c
}

func TestCountersAreExact(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	read := func() (v [6]uint64) {
		return [6]uint64{
			b.counter("spark-02", "rocep1s0f0", "port_xmit_data"), b.counter("spark-01", "rocep1s0f0", "port_rcv_data"),
			b.counter("spark-01", "rocep1s0f0", "port_xmit_data"), b.counter("spark-02", "rocep1s0f1", "port_xmit_data"),
			b.counter("spark-02", "rocep1s0f0", "port_xmit_packets"), b.counter("spark-01", "roceP2p1s0f0", "port_rcv_data"),
		}
	}
	before := read()
	s, c := b.test("ib_write_bw -n 5000", "ib_write_bw -n 5000 192.168.100.10")
	if s.code != 0 || c.code != 0 {
		t.Fatal(s, c)
	}
	after := read()
	var d [6]uint64
	for i := range d {
		d[i] = after[i] - before[i]
	}
	const octets = 5000 * (64*(1024+58) + 16) // the first packet of a write has its RETH
	if d[0] != octets/4 || d[1] != octets/4 || d[4] != 5000*64 {
		t.Errorf("%v, want %d words and %d packets", d, octets/4, 5000*64)
	}
	if d[3] != 0 || d[5] != 0 {
		t.Errorf("another rail moved: %v", d)
	}
	if ack := float64(d[2]*4) / octets; ack <= 0 || ack > 0.003 {
		t.Errorf("ACKs are %.4f of the data", ack)
	}
}

// RDMA does not show in the netdev's bytes, and ping does not show in the port's.
func TestTwoKindsOfCounters(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	net := func() string { return b.must("spark-02", "cat /sys/class/net/enp1s0f0np0/statistics/tx_bytes") }
	before, port := net(), b.counter("spark-02", "rocep1s0f0", "port_xmit_data")
	b.test("ib_write_bw -n 5000", "ib_write_bw -n 5000 192.168.200.10")
	if after := net(); after != before {
		t.Errorf("the netdev counted RDMA: %s, then %s", before, after)
	}
	if b.counter("spark-02", "rocep1s0f0", "port_xmit_data") == port {
		t.Error("the port counted nothing")
	}
	port = b.counter("spark-02", "rocep1s0f0", "port_xmit_data")
	b.must("spark-02", "ping -c 2 -q 192.168.100.10")
	if net() == before || b.counter("spark-02", "rocep1s0f0", "port_xmit_data") != port {
		t.Error("ping is not where it belongs")
	}
}

func TestCountersMoveDuringATest(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	_, wait := b.start("spark-01", "ib_write_bw -D 20")
	b.listening(0, rdma.PerftestPort)
	_, client := b.start("spark-02", "ib_write_bw -D 20 192.168.100.10")
	b.until("a flow", func() bool { return len(b.rack.Fabric.Flows) == 1 })
	// Each reading stands between two looks at the clock: on a busy machine they are apart.
	out := b.must("spark-02", `f=/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_xmit_data
for i in 1 2 3; do date +%s.%N; read -r v < $f; echo $v; date +%s.%N; sleep 1; done`)
	var n []float64
	for f := range strings.FieldsSeq(out) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, v)
	}
	if len(n) != 9 {
		t.Fatalf("%d readings:\n%s", len(n), out)
	}
	for i := 3; i < len(n); i += 3 {
		gbit := (n[i+1] - n[i-2]) * 32 / 1e9
		least, most := gbit/(n[i+2]-n[i-3]), gbit/(n[i]-n[i-1])
		if want := 92.6 * 1082 / 1024; most < want-5 || least > want+5 {
			t.Errorf("%.1f to %.1f Gb/s on the wire, want about %.1f", least, most, want)
		}
	}
	client()
	wait()
}

func TestLatency(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	s, c := b.test("ib_write_lat -x 3", "ib_write_lat -x 3 192.168.100.10")
	row := fields(t, c.out)
	if typical, _ := strconv.ParseFloat(row[4], 64); s.code != 0 || len(row) != 9 || typical < 1.9 || typical > 2.1 {
		t.Errorf("%v", row)
	}
	if _, c = b.test("ib_send_lat -x 3", "ib_send_lat -x 3 192.168.100.10"); !strings.Contains(c.out, "data : 236[B]") {
		t.Errorf("a send is inline up to 236 bytes: %s", c.out)
	}
}

// perftest knows a ConnectX-7: it complains of other devices where it is to read.
func TestReadsAreNoTrouble(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	s, c := b.test("ib_read_bw -x 3 -n 1000", "ib_read_bw -x 3 -n 1000 192.168.100.10")
	if c.code != 0 || strings.Contains(s.out+c.out, "not recognized") || !strings.Contains(c.out, "RDMA_Read BW Test") {
		t.Errorf("%+v, %+v", s, c)
	}
}

// The same seed and the same commands print the same, and another seed doesn't.
func TestSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		b := newBench(t, Options{Seed: seed})
		var all strings.Builder
		for _, tool := range []string{"ib_write_bw", "ib_write_bw -D 4", "ib_write_lat", "ib_write_bw -a"} {
			s, c := b.test(tool, tool+" 192.168.100.10")
			all.WriteString(s.out + c.out)
		}
		all.WriteString(b.must("spark-01",
			"ping -c 3 192.168.100.11; cat /sys/class/infiniband/*/ports/1/counters/port_*_packets"))
		return all.String()
	}
	one, again, other := run(1), run(1), run(2)
	if one != again {
		t.Errorf("the same seed differs:\n%s\n%s", one, again)
	}
	if one == other {
		t.Error("two seeds agree")
	}
}

func TestServerIsSeenAndBusy(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	if got := b.must("spark-01", "grep -c ':4853 00000000:0000 0A' /proc/net/tcp || true"); got != "0\n" {
		t.Errorf("listening before a server: %q", got)
	}
	kill, _ := b.start("spark-01", "ib_write_bw")
	b.listening(0, rdma.PerftestPort)
	if got := b.must("spark-01", "grep -c ':4853 00000000:0000 0A' /proc/net/tcp; ss -Htln | grep -c 18515; "+
		"pgrep -x ib_write_bw | wc -l"); got != "1\n1\n1\n" {
		t.Errorf("while a server waits: %q", got)
	}
	if got := b.try("spark-01", "ib_write_bw"); got.code != 1 ||
		!strings.HasPrefix(got.err, "Couldn't listen to port 18515\n") {
		t.Errorf("%+v", got)
	}
	kill()
	b.until("the end of the server", func() bool { return b.rack.Nodes[0].Listeners[rdma.PerftestPort] == nil })
}

func TestPerftestFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command, err string
	}{
		{"ib_write_bw 192.168.100.10", "Couldn't connect to 192.168.100.10:18515\n" +
			"Unable to open file descriptor for socket connection Unable to init the socket connection\n"},
		{"ib_write_bw -d mlx5_0", "IB device mlx5_0 not found\n Unable to find the Infiniband/RoCE device\n"},
		{"ib_write_bw spark-99", "Temporary failure in name resolution for spark-99:18515\n" +
			"Problem in resolving basic address and port\nUnable to open file descriptor for socket connection Unable to " +
			"init the socket connection\n"},
		{"ib_write_bw --no-such-option", "ib_write_bw: unrecognized option '--no-such-option'\n Invalid Command or flag.\n" +
			" Please check command line and run again.\n\n Parser function exited with Error\n"},
		{"ib_write_bw --version", ""},
	} {
		if got := b.try("spark-02", c.command); got.code != 1 || got.err != c.err {
			t.Errorf("%s: %d, %q; want %q", c.command, got.code, got.err, c.err)
		}
	}
	for _, c := range []struct{ server, client, err string }{
		{"-x 9", "-x 9", "Failed to modify QP "},
		{"-x 3", "-x 9", "\n Found Incompatibility issue with GID types."},
		{"-x 1", "-x 3", "\n Found Incompatibility issue with GID types."},
		{"-x 2", "-x 3", " Completion with error at client\n Failed status-transport retry counter exceeded (12)"},
		{"-s 4096", "-s 65536", " Completion with error at client\n Failed status 10"},
	} {
		s, got := b.test("ib_write_bw -d rocep1s0f0 "+c.server, "ib_write_bw -d rocep1s0f0 "+c.client+" 192.168.100.10")
		if got.code != 1 || s.code != 1 || !strings.HasPrefix(got.err, c.err) || strings.Contains(got.out, "65536 ") {
			t.Errorf("%s / %s: %+v", c.server, c.client, got)
		}
	}
	// Crossed rails hang without a word.
	_, wait := b.start("spark-01", "timeout 20 ib_write_bw -d rocep1s0f1 -x 3")
	b.listening(0, rdma.PerftestPort)
	got := b.try("spark-02", "timeout 5 ib_write_bw -d rocep1s0f0 -x 3 192.168.100.10")
	if got.code != 124 || got.out != "" || got.err != "" {
		t.Errorf("crossed: %+v", got)
	}
	if s := wait(); s.code != 1 || !strings.HasPrefix(s.err, "ethernet_read_keys") {
		t.Errorf("crossed: %+v", s)
	}
}

// Into a pipe nothing is printed before the end; with stdbuf lines come at once.
func TestBuffering(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	if got := b.try("spark-01", "timeout 1 ib_write_bw"); got.out != "" || got.code != 124 {
		t.Errorf("%+v", got)
	}
	if got := b.try("spark-01", "timeout 1 stdbuf -oL ib_write_bw"); !strings.Contains(got.out, "Waiting for client") ||
		got.code != 124 {
		t.Errorf("%+v", got)
	}
}
