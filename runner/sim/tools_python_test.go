package sim

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim/host"
)

// A pythonResult is the line of JSON that a program prints.
type pythonResult struct {
	Test, Role, Op, Device, NIXL, Python, GPU, Error string
	Bytes, Iterations, DescBytes                     int
	Seconds, Gbps                                    float64
	AvgUS, MinUS, P50US, P95US, P99US, MaxUS         float64
	Registered, Verified, Served, Unified            bool
	GPUDirectRDMA, DMABuf                            *int
	Samples                                          []struct {
		Step    string
		UsedMB  int
		Seconds float64
	}
}

func pythonJSON(t *testing.T, out string) (r pythonResult) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return r
}

func TestPython(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command string
		want    reply
	}{
		{"python3 -V", reply{"Python 3.12.3\n", "", 0}},
		{
			handed("nixl-version", ""),
			reply{`{"test": "nixl-version", "nixl": "1.4.0", "python": "3.12.3", "path": "/usr/local/lib/python3.12/dist-packages/nixl/__init__.py", "error": null}` + "\n", "", 0},
		},
		{"python3 -c 'print(1)'", reply{
			"",
			"python3: the simulated python3 runs only railbench's own programs, from its standard input\n", 2,
		}},
		{
			"echo 'print(1)' | python3 -",
			reply{"", "python3: the simulated python3 runs only railbench's own programs, " +
				"and this one begins with \"print(1)\"\n", 2},
		},
		{
			handed("nixl-register", "--device cpu --sizes 3"),
			reply{"", "usage: - [-h]\n-: error: unrecognized arguments: --sizes\n", 2},
		},
	} {
		if got := b.try("spark-01", c.command); got != c.want {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
	for _, device := range []string{"cpu", "cuda"} {
		got := pythonJSON(t, b.must("spark-01", handed("nixl-register", "--device "+device+" --bytes 4194304")))
		if got.Test != "nixl-register" || got.Device != device || !got.Registered || got.DescBytes != 163 ||
			got.Bytes != 4194304 || got.Seconds <= 0 || got.NIXL != "1.4.0" {
			t.Errorf("%+v", got)
		}
	}
}

func TestPythonTransfer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env, args string
		gbps            float64
		rails           []float64 // the parts of rail 1 and rail 2
	}{
		{"host memory, one rail", oneRail, "--device cpu --bytes 67108864 --iterations 256", 81.8, []float64{1, 0}},
		{"host memory, two rails", twoRails, "--device cpu --bytes 1073741824 --iterations 16", 93.4, []float64{0.5, 0.5}},
		{"GPU memory, one rail", oneRail, "--device cuda --bytes 67108864 --iterations 16", 3.5, []float64{1, 0}},
		{"GPU memory, two rails", twoRails, "--device cuda --bytes 67108864 --iterations 16", 4.9, []float64{1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{})
			var before []uint64
			for _, dev := range []string{"rocep1s0f0", "rocep1s0f1"} {
				before = append(before, b.counter("spark-01", dev, "port_xmit_data"))
			}
			a, z := b.python("nixl-transfer", c.env, c.args)
			b.wants(a, z)
			if want := "ready 5555\n" + `{"test": "nixl-transfer", "role": "target", "served": true}` + "\n"; z.out != want {
				t.Error(z.out)
			}
			got := pythonJSON(t, a.out)
			if got.Role != "initiator" || got.Op != "READ" || !got.Verified || math.Abs(got.Gbps-c.gbps) > c.gbps/100 {
				t.Errorf("%+v", got)
			}
			total := float64(got.Bytes) * float64(got.Iterations)
			if math.Abs(total*8/got.Seconds/1e9-got.Gbps) > 0.01 {
				t.Errorf("%+v: a rate that doesn't fit its time", got)
			}
			want := wire(total + float64(got.Bytes)) // the first one sets up the connection
			if got.Device == "cuda" {
				want *= 8256.0 / 8192 * (8256 + 9*58) / 8256 / wire(1)
			}
			for i, dev := range []string{"rocep1s0f0", "rocep1s0f1"} {
				moved := float64(b.counter("spark-01", dev, "port_xmit_data")-before[i]) * 4
				if math.Abs(moved-want*c.rails[i]) > want/1e4 {
					t.Errorf("%s: %.0f octets, want %.0f", dev, moved, want*c.rails[i])
				}
			}
		})
	}
}

func TestPythonLatency(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		env           string
		p50, p95, avg float64
	}{{oneRail, 16.2, 20.8, 17.4}, {twoRails, 11.1, 166.6, 58.6}} {
		a, z := b.python("nixl-latency", c.env, "--device cpu --bytes 4096 --iterations 1000")
		b.wants(a, z)
		r := pythonJSON(t, a.out)
		near := func(got, want, part float64) bool { return math.Abs(got-want) < want*part }
		if !near(r.P50US, c.p50, 0.03) || !near(r.P95US, c.p95, 0.5) || !near(r.AvgUS, c.avg, 0.2) || !r.Verified {
			t.Errorf("%+v", r)
		}
		if r.MinUS > r.P50US || r.P50US > r.P95US || r.P95US > r.P99US || r.P99US > r.MaxUS || r.Iterations != 1000 ||
			r.Bytes != 4096 {
			t.Errorf("%+v", r)
		}
	}
}

func TestPythonAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	got := b.try("spark-02", handed("nixl-transfer",
		"--role initiator --listen 0 --peer 192.168.100.10 --peer-port 5555 --device cpu --bytes 4096 --iterations 1"))
	if got.code != 1 || got.err != "nixl-transfer: not done after 60 s\n" ||
		!strings.HasSuffix(got.out, `"verified": false, "error": "not done after 60 s"}`+"\n") {
		t.Errorf("%+v", got)
	}
	const target = "--role target --listen 5555 --device cpu --bytes 4096 --iterations 1"
	_, first := b.start("spark-01", handed("nixl-transfer", target))
	b.listening(0, 5555)
	second := b.try("spark-01", handed("nixl-transfer", target))
	if second.code != 1 || !strings.HasPrefix(second.err, "nixl-transfer: port 5555 is in use: ") {
		t.Errorf("%+v", second)
	}
	if got := first(); got.code != 1 ||
		!strings.HasSuffix(got.out, `"served": false, "error": "not done after 60 s"}`+"\n") {
		t.Errorf("%+v", got)
	}
}

// Processor and GPU share their memory: a GPU buffer shows in free, whatever is copied.
func TestStaging(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	free := b.must("spark-01", "free -m")
	r := pythonJSON(t, b.must("spark-01", handed("gpu-staging", "--bytes 536870912")))
	if r.GPU != "NVIDIA GB10" || !r.Unified || r.GPUDirectRDMA == nil || *r.GPUDirectRDMA != 0 || r.Error != "" {
		t.Errorf("%+v", r)
	}
	want := map[string]int{"baseline": 6570, "gpu buffer": 7093, "gpu to host": 7604, "host to gpu": 7613, "freed": 6581}
	if len(r.Samples) != len(want) {
		t.Errorf("%+v", r.Samples)
	}
	for _, s := range r.Samples {
		if s.UsedMB != want[s.Step] {
			t.Errorf("%s: %d MB, want %d", s.Step, s.UsedMB, want[s.Step])
		}
	}
	if after := b.must("spark-01", "free -m"); after != free ||
		!strings.Contains(free, "Mem:          122506        6570 ") {
		t.Errorf("%s, and before %s", after, free)
	}
}

func TestGPUTools(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command string
		code    int
		want    string
	}{
		{"nvidia-smi --query-gpu=name,memory.total --format=csv,noheader", 0, "NVIDIA GB10, [N/A]\n"},
		{"nvidia-smi --query-gpu=name,driver_version --format=csv", 0, "name, driver_version\nNVIDIA GB10, 580.95.05\n"},
		{"nvidia-smi | grep -c 'Not Supported'", 0, "1\n"},
		{"nvidia-smi -q | grep 'Product Name' | cut -d: -f2", 0, " NVIDIA GB10\n"},
		{"nvidia-smi --query-gpu=colour --format=csv", 2, "Field \"colour\" is not a valid field to query.\n\n"},
		{"lsmod | grep -c '^nvidia'; grep -c peermem /proc/modules", 1, "2\n0\n"},
		{
			"modinfo -F filename nvidia_peermem", 0,
			"/lib/modules/" + host.Kernel + "/kernel/nvidia-580-open/nvidia-peermem.ko\n",
		},
		{"sudo modprobe nvidia-peermem 2>&1", 1, "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument\n"},
		{
			"read -r version < /proc/driver/nvidia/version; echo $version", 0,
			"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64 580.95.05 Release Build (dvs-builder@U22-I3-AF03-09-1)\n",
		},
		{
			"grep -E 'MemTotal|Cma' /proc/meminfo", 0,
			"MemTotal:       125446400 kB\nCmaTotal:          65536 kB\nCmaFree:           61440 kB\n",
		},
		{"ldconfig -p | grep -c libcuda.so.1", 0, "1\n"},
		{"test -e /dev/nvidia0 && echo there", 0, "there\n"},
		{"ucx_info -v | head -n 1", 0, "# Library version: 1.21.0\n"},
		{"ucx_info -d | grep -c 'Transport: rc_mlx5'", 0, "4\n"},
		{
			"ucx_info -d | grep 'memory types: .*cuda' | head -n 1", 0,
			"#         memory types: host (reg), cuda (access,alloc,reg,detect), " +
				"cuda-managed (access,alloc,reg,cache,detect)\n",
		},
	} {
		if got := b.try("spark-01", c.command); got.out != c.want || got.code != c.code {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
}
