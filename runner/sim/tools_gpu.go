package sim

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// The memory of a node, which processor and GPU share, and the programs that show
// it and the GPU.

const (
	memoryKB  = 125446400 // 122506 MiB, as free -m shows them
	usedKB    = 6727900   // 6570 MiB, while nothing runs
	gpuName   = "NVIDIA GB10"
	gpuDriver = "580.95.05"
)

// availableKB is MemAvailable.
func (n *node) availableKB() int64 {
	return max(0, n.freeKB-n.held>>10)
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
	c.printf("Mem:      %10d  %10d  %10d  %10d  %10d  %10d\n", memoryKB/unit, (memoryKB-available)/unit,
		max(0, available-8663680)/unit, 21504/unit, 7588628/unit, available/unit)
	c.printf("Swap:     %10d  %10d  %10d\n", 16777212/unit, 0, 16777212/unit)
	return 0
}

// gpuFacts are what nvidia-smi can be asked for. The GPU has no memory of its own.
var gpuFacts = map[string]string{
	"name": gpuName, "gpu_name": gpuName, "driver_version": gpuDriver, "temperature.gpu": "44", "index": "0", "count": "1",
	"compute_cap": "12.1", "pci.bus_id": "0000000F:01:00.0",
	"gpu_bus_id": "0000000F:01:00.0", "uuid": gpuUUID, "gpu_uuid": gpuUUID,
	"memory.total": "[N/A]", "memory.used": "[N/A]", "memory.free": "[N/A]",
	"pstate": "P8", "power.draw": "4.21 W", "utilization.gpu": "0 %",
	"clocks_event_reasons.hw_thermal_slowdown": "Not Active", "clocks_event_reasons.sw_thermal_slowdown": "Not Active",
}

const gpuUUID = "GPU-5f3a1c0e-0a52-7d0e-9f6b-3c1d22e07b41"

// cardFacts are those of the card that small-bar1 puts beside it, where they differ.
var cardFacts = map[string]string{
	"name": cardName, "gpu_name": cardName, "temperature.gpu": "51", "index": "1",
	"compute_cap": "8.6", "pci.bus_id": "00000004:01:00.0",
	"gpu_bus_id": "00000004:01:00.0", "uuid": cardUUID, "gpu_uuid": cardUUID,
	"memory.total": "16376 MiB", "memory.used": "1 MiB", "memory.free": "15969 MiB", "power.draw": "12.60 W",
}

const (
	cardName = "NVIDIA RTX A4000"
	cardUUID = "GPU-91d7c2b0-6e1f-4b5a-8a3c-0f52d1a7e684"
)

// gpus are the node's, by index. Callers hold the rig's lock.
func (n *node) gpus() []map[string]string {
	all := []map[string]string{gpuFacts}
	if n.hasCard() {
		card := maps.Clone(gpuFacts)
		maps.Copy(card, cardFacts)
		all = append(all, card)
	}
	return all
}

// hasCard reports whether a GPU card is in the node, beside its own GPU.
func (n *node) hasCard() bool { return n.card && n.gpu }

func runNvidiaSmi(_ context.Context, c *call) int {
	var gpus []map[string]string
	c.locked(func() { gpus = c.node.gpus() })
	for _, a := range c.args[1:] {
		query, isQuery := strings.CutPrefix(a, "--query-gpu=")
		switch {
		case a == "-L" || a == "--list-gpus":
			for _, g := range gpus {
				c.printf("GPU %s: %s (UUID: %s)\n", g["index"], g["name"], g["uuid"])
			}
			return 0
		case a == "-q" || a == "--query":
			return c.gpuReport(gpus)
		case isQuery:
			return c.gpuQuery(gpus, strings.Split(query, ","))
		}
	}
	c.printf(`%s
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
`, c.node.rack.Clock.Wall().UTC().Format("Mon Jan _2 15:04:05 2006"), gpuDriver, gpuDriver)
	for _, g := range gpus {
		memory := "Not Supported"
		if total := g["memory.total"]; strings.HasSuffix(total, "MiB") {
			memory = strings.ReplaceAll(g["memory.used"]+" / "+total, " MiB", "MiB")
		}
		c.printf("| %3s  %-24s  On  |   %s Off |                  N/A |\n", g["index"], g["name"], g["pci.bus_id"])
		c.printf("| N/A   %sC    P8             %s /  N/A  | %-22s |      0%%      Default |\n",
			g["temperature.gpu"], strings.Fields(g["power.draw"])[0]+"W", memory)
		c.println("+-----------------------------------------+------------------------+----------------------+")
	}
	return 0
}

// gpuQuery is a line of comma-separated values for each GPU.
func (c *call) gpuQuery(gpus []map[string]string, fields []string) int {
	plain := strings.Join(c.args, " ")
	var head []string
	rows := make([][]string, len(gpus))
	for _, f := range fields {
		f = strings.TrimSpace(f)
		if _, ok := gpuFacts[f]; !ok {
			c.printf("Field %q is not a valid field to query.\n\n", f)
			return 2
		}
		head = append(head, f)
		for i, g := range gpus {
			v := g[f]
			if strings.Contains(plain, "nounits") &&
				(strings.HasSuffix(v, "MiB") || strings.HasSuffix(v, " W") || strings.HasSuffix(v, "%")) {
				v, _, _ = strings.Cut(v, " ")
			}
			rows[i] = append(rows[i], v)
		}
	}
	if !strings.Contains(plain, "noheader") {
		c.println(strings.Join(head, ", "))
	}
	for _, row := range rows {
		c.println(strings.Join(row, ", "))
	}
	return 0
}

// gpuReport is the part of nvidia-smi -q that tells something here. What shares
// the processor's memory has no frame buffer and no BAR1 to tell of.
func (c *call) gpuReport(gpus []map[string]string) int {
	c.printf(`
==============NVSMI LOG==============

Timestamp                                              : %s
Driver Version                                         : %s
CUDA Version                                           : 13.0

Attached GPUs                                          : %d
`, c.node.rack.Clock.Wall().UTC().Format("Mon Jan _2 15:04:05 2006"), gpuDriver, len(gpus))
	for _, g := range gpus {
		architecture, addressing := "Blackwell", "ATS"
		memory, bar1 := [4]string{"N/A", "N/A", "N/A", "N/A"}, [3]string{"N/A", "N/A", "N/A"}
		if g["name"] == cardName {
			architecture, addressing = "Ampere", "None"
			memory, bar1 = [4]string{"16376 MiB", "406 MiB", "1 MiB", "15969 MiB"}, [3]string{"256 MiB", "5 MiB", "251 MiB"}
		}
		c.printf(`GPU %s
    Product Name                                       : %s
    Product Brand                                      : NVIDIA
    Product Architecture                               : %s
    Persistence Mode                                   : Enabled
    Addressing Mode                                    : %s
    GPU UUID                                           : %s
    FB Memory Usage
        Total                                          : %s
        Reserved                                       : %s
        Used                                           : %s
        Free                                           : %s
    BAR1 Memory Usage
        Total                                          : %s
        Used                                           : %s
        Free                                           : %s
    Temperature
        GPU Current Temp                               : %s C
`, g["pci.bus_id"], g["name"], architecture, addressing, g["uuid"],
			memory[0], memory[1], memory[2], memory[3], bar1[0], bar1[1], bar1[2], g["temperature.gpu"])
	}
	return 0
}

// gpuTree is what the GPU's driver shows in the file system.
func (n *node) gpuTree(t *inode) {
	t.fixed("/proc/kallsyms", "0000000000000000 T ib_umem_get\t[ib_uverbs]\n"+
		"0000000000000000 T ib_umem_dmabuf_get\t[ib_uverbs]\n"+
		"0000000000000000 t mlx5_ib_reg_user_mr_dmabuf\t[mlx5_ib]")
	n.gpuPCI(t, "000f:01:00.0", "0x2e12")
	if n.hasCard() {
		n.gpuPCI(t, "0004:01:00.0", "0x24b0")
	}
	if !n.gpu {
		return
	}
	for _, name := range []string{"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		t.put("/dev/"+name, &inode{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
	}
	t.fixed("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  "+
		gpuDriver+"  Release Build  (dvs-builder@U22-I3-AF03-09-1)")
}

// gpuPCI is a GPU's place among the PCI devices, which it has without a driver, too.
func (n *node) gpuPCI(t *inode, pci, device string) {
	dir := "/sys/devices/pci" + pci[:4] + ":00/" + pci[:4] + ":00:00.0/" + pci
	t.link("/sys/bus/pci/devices/"+pci, "../../../"+strings.TrimPrefix(dir, "/sys/"))
	t.fixed(dir+"/vendor", "0x10de")
	t.fixed(dir+"/device", device)
	t.fixed(dir+"/class", "0x030000")
	uevent := "PCI_CLASS=30000\nPCI_SLOT_NAME=" + pci
	if n.gpu {
		uevent = "DRIVER=nvidia\n" + uevent
		t.link(dir+"/driver", "../../../../bus/pci/drivers/nvidia")
		t.put("/sys/bus/pci/drivers/nvidia", newDir())
	}
	t.fixed(dir+"/uevent", uevent)
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
			if !slices.Contains(c.node.modules, name) && name != "bonding" && (name != "nvidia_peermem" || !c.node.gpu) {
				code = c.fail(1, "modinfo: ERROR: Module %s not found.", name)
				continue
			}
			facts := [][2]string{
				{"filename", "/lib/modules/" + kernel + "/kernel/drivers/" + name + ".ko.zst"},
				{"license", "Dual BSD/GPL"},
				{"signer", "Build time autogenerated kernel key"},
			}
			if gpu {
				file := strings.ReplaceAll(name, "_", "-")
				facts = [][2]string{
					{"filename", "/lib/modules/" + kernel + "/kernel/nvidia-580-open/" + file + ".ko"},
					{"version", gpuDriver},
					{"license", "Dual MIT/GPL"},
				}
				if name == "nvidia_peermem" && c.node.flawed(refusesModules) {
					facts[0][1] = "/lib/modules/" + kernel + "/updates/dkms/" + file + ".ko"
				} else {
					facts = append(facts, [2]string{"signer", "Canonical Ltd. Kernel Module Signing"})
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
		if c.node.gpu {
			libs = append(libs, "libcudart.so.13", "libcuda.so.1")
		}
	})
	c.printf("%d libs found in cache `/etc/ld.so.cache'\n", len(libs))
	for _, l := range libs {
		c.printf("\t%s (libc6,AArch64) => /lib/aarch64-linux-gnu/%s\n", l, l)
	}
	return 0
}
