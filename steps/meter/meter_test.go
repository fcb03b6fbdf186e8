package meter

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
)

var place = Place{Dev: "rocep1s0f0", Port: 1, Netdev: "enp1s0f0np0"}

func node() *Node {
	n := NewNode([]Place{place}, []Gauge{{Node: "spark-02", Dev: place.Dev, LinkGbps: 200}}, 1)
	if err := n.Add("H 1 1 1 1 1", time.Time{}); err != nil {
		panic(err)
	}
	return n
}

// line prints what the sampler prints: RDMA bytes and IP bytes sent so far.
func line(clock float64, rdma, ip uint64) string {
	return lateLine(clock, clock, rdma, ip)
}

// lateLine is a line of a shell that was kept waiting while it read.
func lateLine(from, to float64, rdma, ip uint64) string {
	return fmt.Sprintf("S %.6f:%.6f %d 0 %d 0 4: ACTIVE", from, to, rdma/4, ip)
}

func TestRatesAreExact(t *testing.T) {
	n := node()
	start := time.Unix(1000, 0)
	const rdmaGbps, ipGbps = 92.5, 3.25
	// The node's shell is late now and then: the stamps say when it read.
	clock := 5000.0
	for i := range 200 {
		step := 0.1 + 0.05*float64(i%3)
		clock += step
		bits := clock - 5000
		if err := n.Add(line(clock, uint64(rdmaGbps*1e9/8*bits), uint64(ipGbps*1e9/8*bits)),
			start.Add(time.Duration(bits*1e9)+time.Duration(i%7)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			continue
		}
		g := n.Gauges(start.Add(time.Duration(bits*1e9)), "")[0]
		if math.Abs(g.Tx.RDMA-rdmaGbps) > rdmaGbps/100 || math.Abs(g.Tx.IP-ipGbps) > ipGbps/100 || g.Rx.Total() != 0 {
			t.Fatalf("sample %d: %+v", i, g.Tx)
		}
	}
	g := n.Gauges(start, "")[0]
	if math.Abs(g.Tx.Avg-95.75) > 0.96 || g.Tx.Peak < 95 || g.Tx.Peak > 96.8 || len(g.Tx.History) < 40 {
		t.Errorf("avg %v, peak %v, %d points", g.Tx.Avg, g.Tx.Peak, len(g.Tx.History))
	}
	for _, h := range g.Tx.History {
		if math.Abs(h-95.75) > 0.96 {
			t.Errorf("history has %v", h)
		}
	}
	if len(g.Tx.History) > HistoryLen {
		t.Errorf("%d points of history", len(g.Tx.History))
	}
}

func TestNoSpike(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * 1e9)) }
	for _, c := range []struct {
		name  string
		lines []string
		stale string
	}{
		{
			"a counter that went backwards",
			[]string{line(1, 8e9, 0), line(1.1, 8e9+1e8, 0), line(1.2, 100, 0)},
			"went backwards",
		},
		{"a counter that is missing", []string{line(1, 8e9, 0), "H 0 0 0 0 1", "S 1.1:1.1 4: ACTIVE"}, "no counters"},
		{
			"a counter that was away for a sample, and began anew",
			[]string{line(1, 8e9, 0), "H 0 0 1 1 1", "S 1.1:1.1 0 0 4: ACTIVE", "H 1 1 1 1 1", line(1.2, 100, 0)},
			"",
		},
		{"the node's clock was set back", []string{line(100, 8e9, 0), line(1, 9e9, 0)}, ""},
		{"the node's clock was set on", []string{line(1, 0, 0), line(1000, 9e9, 0)}, ""},
	} {
		n := node()
		for i, l := range c.lines {
			if err := n.Add(l, at(float64(i)/10)); err != nil {
				t.Fatal(c.name, err)
			}
		}
		g := n.Gauges(at(0.2), "")[0]
		if g.Tx.Peak > 10 || g.Tx.Total() > 10 ||
			!strings.Contains(g.Stale, c.stale) || (c.stale == "") != (g.Stale == "") {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
	n := node()
	if err := n.Add(line(1, 0, 0), start); err != nil {
		t.Fatal(err)
	}
	if g := n.Gauges(at(5), "")[0]; g.Stale != "no sample for 5s" {
		t.Errorf("a sample that is overdue: %q", g.Stale)
	}
	if g := n.Gauges(at(0), "spark-02 is disconnected")[0]; g.Stale != "spark-02 is disconnected" {
		t.Errorf("a reason that is known: %q", g.Stale)
	}
	for _, bad := range []string{
		"", "S", "S x:x 1 2 3 4 4: ACTIVE", "S nan:1 1 2 3 4 4: ACTIVE", "S 1 1 2 3 4 4: ACTIVE",
		"S 1 2 3", "hello", "H", "H 1 1",
	} {
		if n.Add(bad, start) == nil {
			t.Errorf("%q is a sample", bad)
		}
	}
}

func TestSoftRoCEFallsBackToTheNetdev(t *testing.T) {
	n := node()
	if err := n.Add("H 0 0 1 1 1", time.Time{}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := n.Add(fmt.Sprintf("S %d:%[1]d %d 0 4: ACTIVE", i+1, i*125_000_000), time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	g := n.Gauges(time.Unix(4, 0), "")[0]
	if g.Source != NetdevBytes || g.Tx.IP != 1 || g.Tx.RDMA != 0 {
		t.Errorf("%+v", g)
	}
}

func counters(clock, xmit, rcv, tx, rx, oos string) Counters {
	text := clock + "\n"
	for path, v := range map[string]string{
		"/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_xmit_data":     xmit,
		"/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_rcv_data":      rcv,
		"/sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/out_of_sequence": oos,
		"/sys/class/net/enp1s0f0np0/statistics/tx_bytes":                       tx,
		"/sys/class/net/enp1s0f0np0/statistics/rx_bytes":                       rx,
	} {
		if v != "" {
			text += path + ":" + v + "\n"
		}
	}
	c, err := ParseCounters(text)
	if err != nil {
		panic(err)
	}
	return c
}

func TestBetween(t *testing.T) {
	idle := counters("100", "0", "0", "0", "0", "7")
	before := counters("101", "1000", "0", "0", "0", "7")
	m, err := Between(idle, before, counters("103", "253000", "500", "9", "9", "12"), place)
	// 4000 bytes a second moved before: 8000 of the 1,008,000 are not the test's.
	if err != nil || m.Tx != 1_000_000 || m.Rx != 2000 || m.Source != PortCounters ||
		m.Errors["out_of_sequence"] != 5 || len(m.Errors) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	// The interface's bytes, for example of TCP, are reported in addition.
	if m.IPTx != 9 || m.IPRx != 9 || m.IPErr != nil {
		t.Errorf("interface: %+v", m)
	}
	if m, err := Between(idle, before, counters("103", "253000", "500", "", "", ""), place); err != nil ||
		m.IPErr == nil || m.Tx != 1_000_000 {
		t.Errorf("an interface without counters: %+v, %v", m, err)
	}
	if m, err := Between(idle, before, counters("103", "10", "0", "9", "9", ""), place); err == nil ||
		m.IPErr != nil || m.IPTx != 9 {
		t.Errorf("port counters that went backwards: %+v, %v", m, err)
	}
	soft := func(clock, tx string) Counters { return counters(clock, "", "", tx, "0", "") }
	m, err = Between(soft("1", "10"), soft("2", "10"), soft("3", "500"), place)
	if err != nil || m.Tx != 490 || m.Source != NetdevBytes || m.IPTx != 490 {
		t.Errorf("%+v, %v", m, err)
	}
	for name, after := range map[string]Counters{
		"backwards": counters("103", "10", "0", "0", "0", ""),
		"missing":   counters("103", "", "", "", "", ""),
		"clock":     counters("99", "2000", "0", "0", "0", ""),
	} {
		if m, err := Between(idle, before, after, place); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if _, err := ParseCounters("no clock\n"); err == nil {
		t.Error("counters without a clock parse")
	}
	for _, clock := range []string{"nan", "inf", "-Inf"} {
		if c, err := ParseCounters(clock + "\n/sys/class/net/lo/statistics/tx_bytes:1\n"); err == nil {
			t.Errorf("%s is a clock: %+v", clock, c)
		}
	}
}

// readers are the programs here that a sampler can be run by.
func readers(t *testing.T) (all [][]string) {
	for _, r := range [][]string{{"perl", "-e"}, {"bash", "-c"}, {"dash", "-c"}, {"busybox", "sh", "-c"}} {
		if _, err := exec.LookPath(r[0]); err != nil {
			t.Logf("no %s here", r[0])
			continue
		}
		all = append(all, r)
	}
	return all
}

// sampling is a sampler by one of the readers, which finds the counters below sys.
func sampling(reader []string, vars map[string]string, sys string) *exec.Cmd {
	body := vars["LOOP"]
	if reader[0] == "perl" {
		body = vars["PERL"]
	}
	cmd := exec.Command(reader[0], append(reader[1:], strings.ReplaceAll(body, "/sys/", sys))...)
	cmd.Env = append(os.Environ(), "RAILS="+vars["RAILS"], "INTERVAL="+vars["INTERVAL"], "IDLE="+vars["IDLE"])
	return cmd
}

// The sampler runs by whatever a node may have; its lines parse, and its
// stamps grow. The rail does not exist here: every counter is missing, not zero.
func TestSamplerInRealShells(t *testing.T) {
	testform.NeedsFull(t, "waits for samples")
	for _, shell := range readers(t) {
		cmd := sampling(shell, Vars([]Place{{Dev: "none", Port: 1, Netdev: "lo"}}, 0.1), "/sys/")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var last float64
		var layout Layout
		loads := 0
		for i := range 8 {
			var s Sample
			var l string
			for b := make([]byte, 1); ; {
				if _, err := out.Read(b); err != nil {
					t.Fatalf("%v ended: %v", shell, err)
				}
				if b[0] == '\n' {
					break
				}
				l += string(b)
			}
			if i == 0 {
				if layout, err = ParseLayout(l, 1); err != nil {
					t.Fatalf("%v: %v", shell, err)
				}
				continue
			}
			if strings.HasPrefix(l, "C") {
				if _, err := parseLoad(l); err != nil {
					t.Fatalf("%v: %v", shell, err)
				}
				loads++
				continue
			}
			if s, err = layout.Parse(l); err != nil {
				t.Fatalf("%v: %v", shell, err)
			}
			if s.Clock <= last || s.Rails[0].Xmit.Known || !s.Rails[0].Tx.Known || s.Rails[0].Active {
				t.Errorf("%v printed %q after %f", shell, l, last)
			}
			last = s.Clock
		}
		if loads == 0 {
			t.Errorf("%v: nothing about the processors", shell)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// What a sample holds: the counters of all rails, then the states of all ports.
func TestParseTwoRails(t *testing.T) {
	layout, err := ParseLayout("H 1 1 1 1 1 0 0 1 1 1", 2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := layout.Parse("S 7.4:7.6 1 2 3 4 5 6 1: DOWN 4: ACTIVE")
	if err != nil {
		t.Fatal(err)
	}
	known := func(n uint64) Count { return Count{Bytes: n, Known: true} }
	want := Sample{Clock: 7.5, Took: s.Took, Rails: []Reading{
		{Xmit: known(4), Rcv: known(8), Tx: known(3), Rx: known(4)},
		{Tx: known(5), Rx: known(6), Active: true},
	}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// sampled are the lines of a sampler of one rail, whose files are below a folder. It ends
// with the test.
func sampled(t *testing.T, shell []string, root string) *bufio.Scanner {
	t.Helper()
	cmd := sampling(shell, Vars([]Place{{Dev: "mlx5_0", Port: 1, Netdev: "eth0"}}, 0.01), root+"/sys/")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out)
}

// The sampler sees a port go down while traffic goes on, by every reader: it does not read
// the states with every sample.
func TestSamplerReadsStates(t *testing.T) {
	testform.NeedsFull(t, "waits for samples")
	for _, shell := range readers(t) {
		root := t.TempDir()
		put := func(path string, value any) {
			t.Helper()
			path = filepath.Join(root, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path+".new", fmt.Appendln(nil, value), 0o600), os.Rename(path+".new", path)); err != nil {
				t.Fatal(err)
			}
		}
		port, netdev := "sys/class/infiniband/mlx5_0/ports/1/", "sys/class/net/eth0/statistics/"
		put(port+"counters/port_xmit_data", 0)
		put(port+"counters/port_rcv_data", 20)
		put(netdev+"tx_bytes", 30)
		put(netdev+"rx_bytes", 40)
		put(port+"state", "4: ACTIVE")
		lines := sampled(t, shell, root)
		lines.Scan()
		layout, err := ParseLayout(lines.Text(), 1)
		if err != nil {
			t.Fatalf("%v: %v", shell, err)
		}
		// It reads the states by its own clock, and more samples than one sees may wait in its pipe.
		const pulled, enough = 12, 5000
		last := true
		for n := 1; n < enough && last && lines.Scan(); n++ {
			if strings.HasPrefix(lines.Text(), "C") {
				continue
			}
			put(port+"counters/port_xmit_data", n)
			s, err := layout.Parse(lines.Text())
			if err != nil {
				t.Fatalf("%v: %v", shell, err)
			}
			if last = s.Rails[0].Active; !last && n <= pulled {
				t.Fatalf("%v: the port is down before it was pulled", shell)
			}
			if n == pulled {
				put(port+"state", "1: DOWN")
			}
		}
		if last {
			t.Errorf("%v: nobody sees that the port is down", shell)
		}
	}
}

// Counters that go away and come back, as with a driver that is loaded again, are found again, by every reader.
func TestSamplerFindsCountersAgain(t *testing.T) {
	testform.NeedsFull(t, "waits for samples")
	for _, shell := range readers(t) {
		root := t.TempDir()
		port := filepath.Join(root, "sys/class/infiniband/mlx5_0/ports/1")
		statistics := filepath.Join(root, "sys/class/net/eth0/statistics")
		err := errors.Join(os.MkdirAll(filepath.Join(port, "counters"), 0o755), os.MkdirAll(statistics, 0o755))
		for _, name := range []string{
			port + "/counters/port_xmit_data", port + "/counters/port_rcv_data", statistics + "/tx_bytes",
			statistics + "/rx_bytes",
		} {
			err = errors.Join(err, os.WriteFile(name, []byte("1\n"), 0o600))
		}
		err = errors.Join(err, os.WriteFile(port+"/state", []byte("4: ACTIVE\n"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		lines := sampled(t, shell, root)
		var told []string
		for n := 0; n < 200 && len(told) < 3 && lines.Scan(); n++ {
			if !strings.HasPrefix(lines.Text(), "H") {
				continue
			}
			told = append(told, lines.Text())
			switch len(told) {
			case 1:
				err = os.Rename(port+"/counters", port+"/away")
			case 2:
				err = os.Rename(port+"/away", port+"/counters")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"H 1 1 1 1 1", "H 0 0 1 1 1", "H 1 1 1 1 1"}; !slices.Equal(told, want) {
			t.Errorf("%v: the files that it told of are %q, want %q", shell, told, want)
		}
	}
}

func TestSame(t *testing.T) {
	a := Board{Gauges: []Gauge{{Dev: "x", Tx: Flow{RDMA: 1.01, History: []float64{0, 0}}}}}
	b := Board{Gauges: []Gauge{{Dev: "x", Tx: Flow{RDMA: 1.02, History: []float64{0, 0, 0}}}}}
	if !a.Same(b) {
		t.Error("what draws the same picture is not the same")
	}
	b.Gauges[0].Tx.RDMA = 1.2
	if a.Same(b) {
		t.Error("another rate is the same")
	}
}

// A burst shorter than the window is flattened in its peak: its average must not be higher than that.
func TestNoAverageAboveThePeak(t *testing.T) {
	n := node()
	start, bytes := time.Unix(1000, 0), uint64(0)
	for i := range 40 {
		if i == 20 {
			bytes += 1_000_000_000 // 80 Gb/s, for a tenth of a second
		}
		after := time.Duration(i) * 100 * time.Millisecond
		if err := n.Add(line(5000+after.Seconds(), bytes, 0), start.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if g := n.Gauges(start, "")[0]; g.Tx.Peak < 20 || g.Tx.Avg > g.Tx.Peak {
		t.Errorf("avg %v, peak %v", g.Tx.Avg, g.Tx.Peak)
	}
}

// What moved between two readings has a time: the node's.
func TestBetweenHasATime(t *testing.T) {
	m, err := Between(counters("1", "0", "0", "0", "0", ""), counters("2", "0", "0", "0", "0", ""),
		counters("14.5", "1000", "0", "0", "0", ""), place)
	if err != nil || m.Seconds != 12.5 || m.Tx != 4000 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A node that is looked at again keeps what it has measured, and a link that is down its scale.
func TestRefit(t *testing.T) {
	n := node()
	start := time.Unix(1000, 0)
	for i := range 20 {
		at := float64(i) / 10
		if err := n.Add(line(5000+at, uint64(at*1e10), 0), start.Add(time.Duration(at*1e9))); err != nil {
			t.Fatal(err)
		}
	}
	n.Refit([]Gauge{{CeilingGbps: 111}})
	g := n.Gauges(start.Add(2*time.Second), "")[0]
	if g.LinkGbps != 200 || g.CeilingGbps != 111 || len(g.Tx.History) == 0 || g.Tx.Peak == 0 {
		t.Errorf("%+v", g)
	}
}

// What only ethtool reports stands next to the kernel's files: of each interface by its name, and of nothing else
// that a line may say.
func TestEthtoolsCounters(t *testing.T) {
	reading := func(clock, lines string) Counters {
		c, err := ParseCounters(clock + "\n/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_xmit_data:10\n" +
			"/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_rcv_data:10\n" + lines)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	place := Place{Dev: "rocep1s0f0", Port: 1, Netdev: "enp1s0f0np0"}
	before := reading("10", "     rx_prio3_pause: 9\ninterface enp1s0f0np0\n     rx_prio3_pause: 1\n"+
		"     tx_global_pause_duration: 7\n     rx_discards_phy: 5\n"+
		"     rx_packets: 1\ninterface enp1s0f1np1\n     rx_prio3_pause: 100\n")
	after := reading("12", "     rx_prio3_pause: 99\ninterface enp1s0f0np0\n     rx_prio3_pause: 4\n"+
		"     tx_global_pause_duration: 17\n     rx_discards_phy: 4\n"+
		"     rx_packets: 9\n     rx_prio1_pause: 3\n     rx_prio3_pause: -1\ninterface enp1s0f1np1\n"+
		"     rx_prio3_pause: 900\n")
	m, err := Between(before, before, after, place)
	if err != nil {
		t.Fatal(err)
	}
	// Less than before is a counter that began again, and one that wasn't there before has no growth.
	if want := map[string]uint64{"rx_prio3_pause": 3, "tx_global_pause_duration": 10}; !maps.Equal(m.Errors, want) {
		t.Errorf("grown: %v, want %v", m.Errors, want)
	}
}
