package sim

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// The memory of a node, which processor and GPU share, and the programs that show
// it and the GPU.

const (
	memoryKB = 125446400 // 122506 MiB, as free -m shows them
	usedKB   = 6727900   // 6570 MiB, while nothing runs
	// lowMemoryKB is what the fault low-memory leaves.
	lowMemoryKB = 700 << 10
	gpuName     = "NVIDIA GB10"
	gpuDriver   = "580.95.05"
)

// hasGPU says whether the node has a GPU with its driver.
func (n *node) hasGPU() bool { return n.index != 0 || !n.rig.faults["gpu-missing"] }

// availableKB is MemAvailable.
func (n *node) availableKB() int64 {
	free := int64(memoryKB - usedKB)
	if n.index == 0 && n.rig.faults["low-memory"] {
		free = lowMemoryKB
	}
	return max(0, free-n.held>>10)
}

// available is the same in bytes.
func (n *node) available() int64 { return n.availableKB() << 10 }

func (n *node) memInfo() string {
	available := n.availableKB()
	free := max(0, available-8663680)
	return fmt.Sprintf(`MemTotal:       %9d kB
MemFree:        %9d kB
MemAvailable:   %9d kB
Buffers:          152340 kB
Cached:          7436288 kB
SwapTotal:      16777212 kB
SwapFree:       16777212 kB
CmaTotal:          65536 kB
CmaFree:           61440 kB
HugePages_Total:       0
HugePages_Free:        0
Hugepagesize:       2048 kB`, memoryKB, free, available)
}

func runFree(_ context.Context, c *call) int {
	set, _, _ := c.flags("s")
	unit := int64(1)
	switch {
	case has(set, "m"):
		unit = 1 << 10
	case has(set, "g"):
		unit = 1 << 20
	}
	var available int64
	c.locked(func() { available = c.node.availableKB() })
	c.println("               total        used        free      shared  buff/cache   available")
	c.printf("Mem:      %10d  %10d  %10d  %10d  %10d  %10d\n", memoryKB/unit, (memoryKB-available)/unit, max(0, available-8663680)/unit, 21504/unit, 7588628/unit, available/unit)
	c.printf("Swap:     %10d  %10d  %10d\n", 16777212/unit, 0, 16777212/unit)
	return 0
}

// gpuFacts are what nvidia-smi can be asked for. The GPU has no memory of its own.
var gpuFacts = map[string]string{
	"name": gpuName, "gpu_name": gpuName, "driver_version": gpuDriver, "temperature.gpu": "44", "index": "0", "count": "1",
	"compute_cap": "12.1", "pci.bus_id": "0000000F:01:00.0", "gpu_bus_id": "0000000F:01:00.0", "uuid": gpuUUID, "gpu_uuid": gpuUUID,
	"memory.total": "[N/A]", "memory.used": "[N/A]", "memory.free": "[N/A]", "pstate": "P8", "power.draw": "4.21 W", "utilization.gpu": "0 %",
}

const gpuUUID = "GPU-5f3a1c0e-0a52-7d0e-9f6b-3c1d22e07b41"

func runNvidiaSmi(_ context.Context, c *call) int {
	for _, a := range c.args[1:] {
		query, isQuery := strings.CutPrefix(a, "--query-gpu=")
		switch {
		case a == "-L" || a == "--list-gpus":
			c.printf("GPU 0: %s (UUID: %s)\n", gpuName, gpuUUID)
			return 0
		case a == "-q" || a == "--query":
			return c.gpuReport()
		case isQuery:
			return c.gpuQuery(strings.Split(query, ","))
		}
	}
	c.printf(`%s
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   44C    P8              4W /  N/A  | Not Supported          |      0%%      Default |
+-----------------------------------------+------------------------+----------------------+
`, c.node.rig.clock.wall().UTC().Format("Mon Jan _2 15:04:05 2006"), gpuDriver, gpuDriver)
	return 0
}

// gpuQuery is one line of comma-separated values.
func (c *call) gpuQuery(fields []string) int {
	plain := strings.Join(c.args, " ")
	var head, row []string
	for _, f := range fields {
		f = strings.TrimSpace(f)
		v, ok := gpuFacts[f]
		if !ok {
			c.printf("Field %q is not a valid field to query.\n\n", f)
			return 2
		}
		if strings.Contains(plain, "nounits") {
			v, _, _ = strings.Cut(v, " ")
			if strings.HasSuffix(f, "name") {
				v = gpuName
			}
		}
		head, row = append(head, f), append(row, v)
	}
	if !strings.Contains(plain, "noheader") {
		c.println(strings.Join(head, ", "))
	}
	c.println(strings.Join(row, ", "))
	return 0
}

// gpuReport is the part of nvidia-smi -q that tells something on a Spark.
func (c *call) gpuReport() int {
	c.printf(`
==============NVSMI LOG==============

Timestamp                                              : %s
Driver Version                                         : %s
CUDA Version                                           : 13.0

Attached GPUs                                          : 1
GPU 0000000F:01:00.0
    Product Name                                       : %s
    Product Brand                                      : NVIDIA
    Product Architecture                               : Blackwell
    Persistence Mode                                   : Enabled
    Addressing Mode                                    : ATS
    GPU UUID                                           : %s
    FB Memory Usage
        Total                                          : N/A
        Reserved                                       : N/A
        Used                                           : N/A
        Free                                           : N/A
    BAR1 Memory Usage
        Total                                          : N/A
        Used                                           : N/A
        Free                                           : N/A
    Temperature
        GPU Current Temp                               : 44 C
`, c.node.rig.clock.wall().UTC().Format("Mon Jan _2 15:04:05 2006"), gpuDriver, gpuName, gpuUUID)
	return 0
}

// gpuTree is what the GPU's driver shows in the file system.
func (n *node) gpuTree(t *inode) {
	if !n.hasGPU() {
		return
	}
	for _, name := range []string{"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		t.put("/dev/"+name, &inode{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
	}
	t.fixed("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  "+gpuDriver+"  Release Build  (dvs-builder@U22-I3-AF03-09-1)")
}

// runModinfo knows the modules that are loaded, and the one that can't be.
func runModinfo(_ context.Context, c *call) int {
	set, names, ok := c.flags("F")
	if !ok || len(names) == 0 {
		return c.fail(1, "modinfo: ERROR: missing module or filename.")
	}
	code := 0
	c.locked(func() {
		for _, name := range names {
			name = strings.ReplaceAll(name, "-", "_")
			gpu := strings.HasPrefix(name, "nvidia")
			if !slices.Contains(c.node.modules, name) && (name != "nvidia_peermem" || !c.node.hasGPU()) {
				code = c.fail(1, "modinfo: ERROR: Module %s not found.", name)
				continue
			}
			facts := [][2]string{{"filename", "/lib/modules/" + kernel + "/kernel/drivers/" + name + ".ko.zst"}, {"license", "Dual BSD/GPL"}}
			if gpu {
				file := strings.ReplaceAll(name, "_", "-")
				facts = [][2]string{
					{"filename", "/lib/modules/" + kernel + "/kernel/nvidia-580-open/" + file + ".ko"}, {"version", gpuDriver}, {"license", "Dual MIT/GPL"},
				}
			}
			for _, f := range facts {
				switch want := last(set, 'F', ""); want {
				case "":
					c.printf("%-16s%s\n", f[0]+":", f[1])
				case f[0]:
					c.println(f[1])
				}
			}
		}
	})
	return code
}

// runLdconfig is ldconfig -p, with the libraries that NIXL needs.
func runLdconfig(_ context.Context, c *call) int {
	if set, _, _ := c.flags(""); !has(set, "p") {
		return c.fail(1, "/sbin/ldconfig.real: Can't create temporary cache file /etc/ld.so.cache~: Permission denied")
	}
	libs := []string{"libucs.so.0", "libucp.so.0", "libmlx5.so.1", "libibverbs.so.1"}
	c.locked(func() {
		if c.node.hasGPU() {
			libs = append(libs, "libcudart.so.13", "libcuda.so.1")
		}
	})
	c.printf("%d libs found in cache `/etc/ld.so.cache'\n", len(libs))
	for _, l := range libs {
		c.printf("\t%s (libc6,AArch64) => /lib/aarch64-linux-gnu/%s\n", l, l)
	}
	return 0
}
