package sim

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

const asio = "nixlbench --runtime_type ASIO --asio_address 192.168.100.11 "

// nixl runs nixlbench on both nodes, the initiator on spark-02.
// aborted is the exit status of a process that ended with SIGABRT.
const aborted = 134

func (b *bench) nixl(env, flags string) (initiator, target reply) {
	b.t.Helper()
	_, first := b.start("spark-02", env+" "+asio+flags)
	b.listening(1, 12345)
	target = b.try("spark-01", env+" "+asio+flags)
	return first(), target
}

// A nixlRow is a line of nixlbench's table.
type nixlRow struct {
	block, batch         int
	gbs, latency         float64
	prep, prepMost       float64
	post, postMost       float64
	transfer, transferP9 float64
}

func nixlRows(t *testing.T, out string) []nixlRow {
	t.Helper()
	var rows []nixlRow
	for line := range strings.Lines(out) {
		var r nixlRow
		n, _ := fmt.Sscan(line, &r.block, &r.batch, &r.gbs, &r.latency, &r.prep, &r.prepMost, &r.post, &r.postMost,
			&r.transfer, &r.transferP9)
		if n == 10 {
			rows = append(rows, r)
		}
	}
	return rows
}

const (
	oneRail    = "UCX_NET_DEVICES=rocep1s0f0:1 UCX_MAX_RMA_RAILS=1"
	twoRails   = "UCX_NET_DEVICES=rocep1s0f0:1,rocep1s0f1:1"
	bothHalves = "UCX_NET_DEVICES=rocep1s0f0:1,roceP2p1s0f0:1"
)

// wire is what a payload is on the wire at a RoCE MTU of 1024.
func wire(payload float64) float64 { return payload / 1024 * (1024 + 58) }

func (b *bench) wants(a, z reply) {
	b.t.Helper()
	if a.code != 0 || z.code != 0 || a.err != "" || z.err != "" {
		b.t.Fatalf("%+v\n%+v", a, z)
	}
}

// What was measured on DGX Sparks, GB/s from 64 KiB to 64 MiB.
func TestNixlbenchRates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env, flags string
		want             []float64
		within           float64
		moved            map[string]float64 // GB on the wire
	}{
		{
			"one rail", oneRail, "",
			[]float64{6.805, 7.695, 9.270, 10.267, 11.092, 11.288, 11.375, 11.469, 11.528, 11.554, 11.563},
			0.12,
			map[string]float64{"rocep1s0f0": 12.18},
		},
		{
			"two rails", twoRails, "",
			[]float64{6.561, 8.799, 10.328, 11.561, 12.472, 12.781, 12.933, 13.062, 13.122, 13.160, 13.174},
			0.03,
			map[string]float64{"rocep1s0f0": 6.09, "rocep1s0f1": 6.09},
		},
		{
			"several threads", twoRails, "--num_threads 4 --enable_pt --progress_threads 2",
			[]float64{10.3, 11.8, 12.4, 12.8, 13.0, 13.1, 13.1, 13.1, 13.1, 13.15, 13.17},
			0.03,
			map[string]float64{"rocep1s0f0": 6.26, "rocep1s0f1": 6.26},
		},
		{
			"GPU memory", oneRail, "--initiator_seg_type VRAM --target_seg_type VRAM --max_block_size 33554432",
			[]float64{0.401, 0.400, 0.323, 0.425, 0.398, 0.374, 0.422, 0.605, 0.602, 0.444},
			0.005,
			map[string]float64{"rocep1s0f0": 7.31},
		},
		{
			"GPU memory, two rails", twoRails, "--initiator_seg_type VRAM --target_seg_type VRAM --max_block_size 33554432",
			[]float64{0.432, 0.463, 0.447, 0.437, 0.453, 0.258, 0.581, 0.461, 0.574, 0.434},
			0.005,
			map[string]float64{"rocep1s0f0": 7.31, "rocep1s0f1": 0},
		},
		{
			"both halves", bothHalves, "--start_block_size 16777216",
			[]float64{22.9, 23.0, 23.1},
			0.01,
			map[string]float64{"rocep1s0f0": 4.343, "roceP2p1s0f0": 4.343, "rocep1s0f1": 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{Seed: 3})
			before := map[string]uint64{}
			for dev := range c.moved {
				before[dev] = b.counter("spark-02", dev, "port_xmit_data")
			}
			if !strings.Contains(c.flags, "start_block") {
				c.flags += " --start_block_size 65536"
			}
			a, z := b.nixl(c.env, c.flags)
			b.wants(a, z)
			rows := nixlRows(t, a.out)
			if len(rows) != len(c.want) {
				t.Fatalf("%d rows: %s", len(rows), a.out)
			}
			for i, r := range rows {
				if math.Abs(r.gbs-c.want[i]) > c.want[i]*c.within {
					t.Errorf("%d bytes: %.3f GB/s, want %.3f", r.block, r.gbs, c.want[i])
				}
				threads := 1.0
				if strings.Contains(c.flags, "threads") {
					threads = 4
				}
				if from := float64(r.block) / r.gbs / 1e3 * threads; math.Abs(r.latency-from) > from/100 ||
					math.Abs(r.post+r.transfer-r.latency) > 0.5 {
					t.Errorf("%+v: times that don't fit", r)
				}
				if r.prepMost < r.prep || r.postMost < r.post || r.transferP9 < r.transfer {
					t.Errorf("%+v: a mean above its p99", r)
				}
			}
			for dev, want := range c.moved {
				got := float64(b.counter("spark-02", dev, "port_xmit_data")-before[dev]) * 4 / 1e9
				if math.Abs(got-want) > 0.01 {
					t.Errorf("%s moved %.3f GB, want %.3f", dev, got, want)
				}
			}
		})
	}
}

// A READ comes from the target.
func TestNixlbenchRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	before := b.counter("spark-01", "rocep1s0f0", "port_xmit_data")
	b.wants(b.nixl(oneRail, "--op_type=READ --start_block_size 65536 --max_block_size 65536"))
	if moved := float64(b.counter("spark-01", "rocep1s0f0", "port_xmit_data")-before) * 4; moved < wire(1120*65536) ||
		moved > wire(1120*65536)*1.002 {
		t.Errorf("%.0f octets, want %.0f", moved, wire(1120*65536))
	}
}

// numbers and what else differs between runs.
var differs = regexp.MustCompile(`(?m)hostname \S+|^[0-9. ]+$|127\.0\.0\.1|192\.168\.100\.11`)

func transcript(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/nixlbench-" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The lines are those of a real run, but for their figures.
func TestNixlbenchTranscripts(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	a, z := b.nixl("", "--total_buffer_size 268435456 --num_iter 64 --warmup_iter 16 --start_block_size 65536 "+
		"--max_block_size 8388608")
	b.wants(a, z)
	same := func(what, got, want string) {
		t.Helper()
		if got, want = differs.ReplaceAllString(got, "#"), differs.ReplaceAllString(want, "#"); got != want {
			t.Errorf("%s: %s\nwant %s", what, got, want)
		}
	}
	same("initiator", a.out, transcript(t, "asio-a.stdout"))
	same("target", z.out, transcript(t, "asio-b.stdout"))
	width := regexp.MustCompile(`(?m)^65536 .*$`)
	if got, want := width.FindString(a.out), width.FindString(transcript(t, "asio-a.stdout")); len(got) != len(want) {
		t.Errorf("%q, want the columns of %q", got, want)
	}
	alone := b.try("spark-02", asio)
	if alone.code != aborted || alone.err != transcript(t, "asio_alone-a.stderr") ||
		strings.Contains(alone.out, "All processes") {
		t.Errorf("%+v", alone)
	}
	if got := b.try("spark-01", asio); got.code != aborted || got.err != "terminate called after throwing an instance "+
		"of 'std::runtime_error'\n  what():  ASIO Connection failed: Connection refused\n" {
		t.Errorf("%+v", got)
	}
}

func TestNixlbenchFlags(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	const adjusted = "WARNING: Adjusting num_iter to 1008 to allow equal distribution to 1 threads\n" +
		"WARNING: Adjusting warmup_iter to 112 to allow equal distribution to 1 threads\n"
	const fallback = "Using default ETCD endpoint for non-storage backend: http://localhost:2379\n"
	for _, c := range []struct{ flags, out, err string }{
		{"--bogus_flag 1", "", "ERROR: unknown command line flag 'bogus_flag'\n"},
		{"--max_block_size 8M", "", "ERROR: illegal value '8M' specified for uint64 flag 'max_block_size'\n"},
		{"--num_iter=abc", "", "ERROR: illegal value 'abc' specified for int32 flag 'num_iter'\n"},
		{"--op_type write", "", "Invalid op type: write. Must be one of [READ, WRITE]\n"},
		{"foo --num-iter 0", "", "num_iter must be >= 1\n"},
		{"--enable_vmm --num_iter 0", "", "num_iter must be >= 1\n"},
		{"--noenable_pt -pipeline_depth=0", "", "pipeline_depth must be >= 1\n"},
		{"--use_device_api", "", "Invalid configuration for NIXL Device API: UCX GPU Device API support is not enabled in " +
			"this build. Set -Ducx_path=<path> with UCX GPU device headers available\n"},
		{
			"--config_file /nonexistent.toml", "",
			"Failed to load config file: /nonexistent.toml: File could not be opened for reading\n",
		},
		{"--runtime_type MPI", adjusted, "Invalid runtime: MPI\n"},
		{"--worker_type foo", fallback + adjusted, "Unsupported worker type: foo\n"},
		{
			"--total_buffer_size 1048576 --max_block_size 8388608", fallback,
			"Incorrect buffer size configuration for Initiator(max_block_size * max_batch_size) is > (total_buffer_size / " +
				"num_initiator_dev)\n",
		},
		{
			"--total_buffer_size 16777216 --max_block_size 8388608 --num_threads 4", fallback,
			"Incorrect buffer size configuration (max_block_size * max_batch_size) (8388608) is > (total_buffer_size / " +
				"num_threads) (4194304)\n",
		},
		{
			"--total_buffer_size 268435457 --num_threads 3", fallback + "WARNING: Adjusting num_iter to 1008 to allow equal " +
				"distribution to 3 threads\nWARNING: Adjusting warmup_iter to 144 to allow equal distribution to 3 threads\n",
			"Total_buffer_size must be divisible by the product of num_threads and num_initiator_dev, " +
				"next such value is 268435458\n",
		},
		{
			"--etcd_endpoints http://127.0.0.1:2379 --device_list mlx5_0,mlx5_1", adjusted,
			"Incorrect device list mlx5_0,mlx5_1 provided for pairwise scheme 2# devices\nFailed to parse device list\n",
		},
		{
			"--etcd_endpoints http://127.0.0.1:2999", adjusted + "Connecting to ETCD at http://127.0.0.1:2999\n",
			"Failed to acquire lock: connections to all backends failing; last error: UNKNOWN: ipv4:127.0.0.1:2999: Failed " +
				"to connect to remote host: Connection refused\nFailed to setup ETCD runtime\n",
		},
		{
			"--runtime_type ASIO --asio_address 192.168.100.11 --backend FOO",
			adjusted + "Using address 192.168.100.11 port 12345 for ASIO runtime\n",
			"Unsupported NIXLBench backend: FOO\n",
		},
	} {
		if got := b.try("spark-02", "nixlbench "+c.flags); got != (reply{c.out, c.err, 1}) {
			t.Errorf("%s: %+v", c.flags, got)
		}
	}
	help := b.try("spark-02", "nixlbench --help")
	want, err := os.ReadFile("tool/nixl/nixlbench_help.txt")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +-\w+ \(`).FindAllString(help.out, -1)
	if help.code != 1 || help.out != strings.Replace(string(want), "inst/bin/nixlbench", "nixlbench", 1) ||
		len(flags) != 87 {
		t.Errorf("%d flags, %+v", len(flags), help)
	}
	if got := b.try("spark-02", "nixlbench --version"); got != (reply{"nixlbench\n", "", 0}) {
		t.Errorf("%+v", got)
	}
}

// What UCX makes of the devices that it is given.
func TestUCXDevices(t *testing.T) {
	t.Parallel()
	const few = "--total_buffer_size 67108864 --start_block_size 1048576 --max_block_size 1048576 --num_iter 160 " +
		"--warmup_iter 16"
	payload := wire(176 * float64(1<<20))
	for _, c := range []struct {
		name, env, flags, fault string
		moved                   []float64 // of rail 1 and rail 2
		says                    string
		code                    int
	}{
		{"both", twoRails, "", "", []float64{0.5, 0.5}, "", 0},
		{"all", "", "", "", []float64{0.5, 0.5}, "", 0},
		{"at most one", twoRails + " UCX_MAX_RMA_RAILS=1", "", "", []float64{1, 0}, "", 0},
		{"the second", "UCX_NET_DEVICES=rocep1s0f1:1", "", "", []float64{0, 1}, "", 0},
		{"a device list goes first", twoRails, "--device_list rocep1s0f1", "", []float64{0, 1}, "", 0},
		{"small blocks", twoRails, "--start_block_size 8192 --max_block_size 8192", "", []float64{1.0 / 128, 0}, "", 0},
		{
			"misspelled", "UCX_NET_DEVICES=rocep1s0f0:1,rocep1s0f9:1", "", "",
			[]float64{1, 0},
			"UCX  WARN  network device 'rocep1s0f9:1' is not available, please use one or more of: 'enP2p1s0f0np0'(tcp), ", 0,
		},
		{"down", twoRails, "", "link-down", []float64{1, 0}, "", 0},
		{
			"none", "UCX_TLS=rc UCX_NET_DEVICES=rocep1s0f0", "", "",
			[]float64{0, 0},
			"UCX  ERROR no usable transports/devices (asked rc on network:rocep1s0f0 intra-node:accelerator:loopback:)\n", 1,
		},
		{"dead", "UCX_NET_DEVICES=rocep1s0f0:1", "", "cable-unplugged", []float64{0, 0}, "'rocep1s0f1:1'(ib)\n", 1},
		{"TCP", "UCX_TLS=tcp", "", "", []float64{0, 0}, "", 0},
		{"two ways to one rail", twoRails, "", "p2p-ip-conflict", []float64{0.5, 0.5}, "", 0},
		{"no address", twoRails, "", "rail-ip-missing", []float64{1, 0}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{})
			if c.fault != "" {
				if err := b.Inject(c.fault); err != nil {
					t.Fatal(err)
				}
			}
			read := func() (v []uint64) {
				for _, dev := range []string{"rocep1s0f0", "rocep1s0f1"} {
					v = append(v, b.counter("spark-02", dev, "port_xmit_data"))
				}
				return v
			}
			before := read()
			var a reply
			if c.code == 0 {
				var z reply
				a, z = b.nixl(c.env, few+" "+c.flags)
				b.wants(a, z)
			} else {
				a = b.try("spark-02", c.env+" "+asio+few)
			}
			if a.code != c.code || !strings.Contains(a.out, c.says) {
				t.Errorf("%+v", a)
			}
			if c.code != 0 && !strings.HasSuffix(a.err, " nixl_agent.cpp:365] createBackend: backend creation failed for "+
				"'UCX'\nNIXL: createBackend failed! (NIXL_ERR_BACKEND)\n") {
				t.Error(a.err)
			}
			for i, v := range read() {
				want := payload * c.moved[i]
				if want > 0 {
					want += 16 * 176 // a RETH for each block's part
				}
				if got := float64(v-before[i]) * 4; math.Abs(got-want) > 400 {
					t.Errorf("rail %d moved %.0f octets, want %.0f", i+1, got, want)
				}
			}
		})
	}
}

// A slow rail holds the other one back: both get half of every block.
func TestNixlbenchHalves(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Faults: []string{"slow-rail"}})
	a, z := b.nixl(bothHalves, "--start_block_size 67108864")
	b.wants(a, z)
	if r := nixlRows(t, a.out); len(r) != 1 || math.Abs(r[0].gbs*8-120.2) > 1 {
		t.Errorf("%+v, want twice 60.1 Gb/s", r)
	}
}

// The target never notices that the initiator is gone; the initiator does.
func TestNixlbenchKilled(t *testing.T) {
	t.Parallel()
	const long = "--start_block_size 1048576 --max_block_size 1048576 --num_iter 4000000"
	b := newBench(t, Options{})
	flows := func() int {
		b.rack.Lock()
		defer b.rack.Unlock()
		b.rack.Fabric.Advance()
		return len(b.rack.Fabric.Flows)
	}
	killA, a := b.start("spark-02", oneRail+" "+asio+long)
	b.pass(time.Second)
	_, z := b.start("spark-01", oneRail+" timeout 60 "+asio+long)
	b.pass(10 * time.Second)
	if flows() != 1 {
		t.Fatal("nothing moves")
	}
	killA()
	if got := a(); got.code != 143 || !strings.HasSuffix(got.out, "Ctrl-C received, exiting...\n") ||
		got.err != "free(): double free detected in tcache 2\n" {
		t.Errorf("%+v", got)
	}
	if got := z(); got.code != 124 || !strings.HasSuffix(got.out, "proceed\nCtrl-C received, exiting...\n") {
		t.Errorf("%+v", got)
	}

	_, a = b.start("spark-02", oneRail+" "+asio+long)
	b.pass(time.Second)
	killZ, z := b.start("spark-01", oneRail+" "+asio+long)
	b.pass(10 * time.Second)
	if flows() != 1 {
		t.Fatal("nothing moves")
	}
	killZ()
	if got := a(); got.code != 1 || got.err != "Transfer failed on slot 0: NIXL_ERR_REMOTE_DISCONNECT\n" {
		t.Errorf("%+v", got)
	}
	z()
	left := flows()
	b.rack.Lock()
	defer b.rack.Unlock()
	for _, n := range b.rack.Nodes {
		left += len(n.Procs) + len(n.Listeners) + int(n.Held)
	}
	if left != 0 {
		t.Errorf("%d things are left", left)
	}
}
