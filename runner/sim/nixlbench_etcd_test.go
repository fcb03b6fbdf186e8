package sim

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/sim/etcdtest"
)

// overEtcd runs a test with port 2379 of each node's loopback leading to a simulated etcd, and in the full form
// of the tests with a real one, too. lose ends the etcd.
func overEtcd(t *testing.T, o Options, test func(t *testing.T, b *bench, server *etcd.Client, lose func())) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *bench) runner.Dialer{
		"simulated": func(_ *testing.T, b *bench) runner.Dialer { return b.Etcd() },
		"real": func(t *testing.T, _ *bench) runner.Dialer {
			address := strings.TrimPrefix(etcdtest.Real(t), "http://")
			return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, o)
			l := &losable{dial: start(t, b)}
			server := etcd.Within(l.connect)
			t.Cleanup(func() { server.Close() })
			for _, node := range b.Nodes() {
				n, err := b.Node(node, NodeOptions{Ask: runner.NoAsker{}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { n.Close() })
				if _, err := n.Forward(t.Context(), 2379, l.connect); err != nil {
					t.Fatal(err)
				}
			}
			test(t, b, server.Client, l.lose)
		})
	}
}

// A losable is the way to an etcd, until that is lost.
type losable struct {
	dial  runner.Dialer
	mu    sync.Mutex
	lost  bool
	conns []net.Conn
}

func (l *losable) connect(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := l.dial(ctx)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

func (l *losable) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
	for _, c := range l.conns {
		c.Close()
	}
}

const byEtcd = "nixlbench --etcd_endpoints http://127.0.0.1:2379 --total_buffer_size 268435456 --start_block_size " +
	"1048576 --max_block_size 4194304 "

// has waits for a key.
func (b *bench) has(server *etcd.Client, key string) {
	b.t.Helper()
	b.until(key, func() bool {
		keys, err := server.List(b.t.Context(), "xferbench/")
		return err == nil && slices.Contains(keys, key)
	})
}

func TestNixlbenchEtcd(t *testing.T) { overEtcd(t, Options{Seed: 3}, testNixlbenchEtcd) }

func testNixlbenchEtcd(t *testing.T, b *bench, server *etcd.Client, _ func()) {
	for range 2 { // the first to come is the initiator, and nothing blocks a second run
		before := b.counter("spark-02", "rocep1s0f0", "port_xmit_data")
		_, first := b.start("spark-02", oneRail+" "+byEtcd+"--benchmark_group g")
		b.has(server, "xferbench/g//rank/0")
		z := b.try("spark-01", oneRail+" "+byEtcd+"--benchmark_group g")
		a := first()
		if a.code != 0 || z.code != 0 || a.err != "" || z.err != "" || len(nixlRows(t, a.out)) != 3 {
			t.Fatalf("%+v\n%+v", a, z)
		}
		if !strings.Contains(a.out, "Connecting to ETCD at http://127.0.0.1:2379\n"+
			"ETCD Runtime: Registered as rank 0 item 1 of 2\nInit nixl worker, dev all rank 0, type initiator, "+
			"hostname spark-02\n") ||
			!strings.Contains(a.out, "\nETCD Endpoint                                               : http://127.0.0.1:2379\n") {
			t.Error(a.out)
		}
		if !strings.HasSuffix(z.out, "Registered as rank 1 item 2 of 2\nInit nixl worker, dev all rank 1, type target, "+
			"hostname spark-01\nWaiting for all processes to start... (expecting 2 total: 1 initiators and 1 targets)\n"+
			"All processes are ready to proceed\n") {
			t.Error(z.out)
		}
		payload := 1120*float64(1<<20) + 70*float64(6<<20)
		if moved := float64(b.counter("spark-02", "rocep1s0f0", "port_xmit_data")-before) * 4; moved != wire(payload)+
			16*(1120+2*70) {
			t.Errorf("%.0f octets, want %.0f", moved, wire(payload)+16*(1120+2*70))
		}
		keys, err := server.List(t.Context(), "xferbench/")
		if err != nil || len(keys) != 0 {
			t.Errorf("left behind: %v %v", keys, err)
		}
	}
}

// What earlier processes leave behind, and what it does.
func TestNixlbenchStaleKeys(t *testing.T) { overEtcd(t, Options{}, testNixlbenchStaleKeys) }

func testNixlbenchStaleKeys(t *testing.T, b *bench, server *etcd.Client, _ func()) {
	keys := func() string {
		all, err := server.List(t.Context(), "xferbench/")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all, " ")
	}
	// One that fails after its registration leaves it, and is rank 0 for ever.
	if got := b.try("spark-02", byEtcd+"--initiator_seg_type CPU"); got.code != 1 ||
		got.err != "Invalid segment type: CPU\n" {
		t.Errorf("%+v", got)
	}
	if got := keys(); got != "xferbench/default//rank/0 xferbench/default//size" {
		t.Error(got)
	}
	// So the next is the target, on the wrong node, and the one after that too many.
	_, alone := b.start("spark-02", byEtcd)
	b.pass(2 * time.Second)
	if got := keys(); !strings.Contains(got, "xferbench/default/barrier/start_barrier/0/1") {
		t.Error(got)
	}
	third := b.try("spark-01", byEtcd)
	if third.code != 1 || third.err != "Rank 2 is greater than or equal to global size 2\nFailed to setup ETCD runtime\n" {
		t.Errorf("%+v", third)
	}
	if got := keys(); got != "xferbench/default/barrier/start_barrier/0/1" {
		t.Errorf("it wipes what has a double slash: %s", got)
	}
	got := alone()
	if got.code != 1 || !strings.Contains(got.out, "Registered as rank 1 item 2 of 2\n") ||
		got.err != "Error in barrier wait xferbench/default/barrier/start_barrier/0/ rank 1 completed 1/2 ranks)\n"+
			"Failed to synchronize at start barrier\nFailed to synchronize all processes\n" {
		t.Errorf("%+v", got)
	}
	// The barrier that was left makes a lone process believe that all are there.
	lone := b.try("spark-02", byEtcd)
	if lone.code != 1 || !strings.HasSuffix(lone.out, "All processes are ready to proceed\n") ||
		lone.err != "Timeout waiting for int data from rank 1\nNIXL: failed to receive metadata size\n" {
		t.Errorf("%+v", lone)
	}
}

// An etcd that goes away in the middle ends a process that waits for it, at its next look.
func TestNixlbenchEtcdLost(t *testing.T) { overEtcd(t, Options{}, testNixlbenchEtcdLost) }

func testNixlbenchEtcdLost(t *testing.T, b *bench, server *etcd.Client, lose func()) {
	_, waits := b.start("spark-02", byEtcd)
	b.pass(2 * time.Second)
	if keys, err := server.List(t.Context(), "xferbench/"); err != nil ||
		!slices.Contains(keys, "xferbench/default/barrier/start_barrier/0/0") {
		t.Errorf("%v %v", keys, err)
	}
	began := b.Clock().Now()
	lose()
	const why = "Error in barrier wait xferbench/default/barrier/start_barrier/0/ rank 0 completed 1/2 "
	if got := waits(); got.code != 1 || !strings.HasPrefix(got.err, why) {
		t.Errorf("%+v", got)
	}
	// By the nodes' clock: it does not wait for three minutes, as it would for the other process.
	if took := b.Clock().Now().Sub(began); took > 10*time.Second {
		t.Errorf("it ended after %s", took)
	}
}
