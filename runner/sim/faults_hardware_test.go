package sim

import (
	"strings"
	"testing"
)

// hardwareChecks are those of hardwareDefects.
func hardwareChecks(says func(node, command string, code int,
	part string) func(*bench) bool,
) map[string][]func(b *bench) bool {
	return map[string][]func(b *bench) bool{
		"adapter-lost": {
			says("spark-01", "cat /sys/bus/pci/devices/0002:01:00.0/driver", 1, "No such file or directory"),
			says("spark-01", "sudo dmesg", 0, "mlx5_core 0002:01:00.1: E-Switch: Disable"),
			says("spark-02", "ping -c 1 -W 1 192.168.102.10", 1, "100% packet loss"),
			func(b *bench) bool {
				return strings.Count(b.must("spark-01", "ibv_devices"), "roce") == 2 &&
					!strings.Contains(b.must("spark-01", "ip -br link"), "enP2p1s0f")
			},
			says("spark-01", "timeout 1 ib_write_bw -d roceP2p1s0f0", 1, "roceP2p1s0f0 not found"),
		},
		"pcie-errors": {
			says("spark-01", "cat /sys/bus/pci/devices/0000:01:00.0/aer_dev_fatal", 0, "DLP 2\n"),
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f0/device/aer_dev_fatal", 0, "TOTAL_ERR_FATAL 2\n"),
			func(b *bench) bool {
				const file = "cat /sys/bus/pci/devices/0000:01:00.0/aer_dev_correctable"
				was := b.must("spark-01", file)
				b.must("spark-01", "sleep 1")
				return was != b.must("spark-01", file)
			},
		},
		"gpu-stuck-clock": {
			func(b *bench) bool {
				const load = "printf '# railbench: gpu-load\n' | python3 -u - --milliseconds 400 >/dev/null & sleep 0.2; " +
					"nvidia-smi --query-gpu=clocks.current.sm --format=csv,noheader; wait"
				return b.must("spark-01", load) == "611 MHz\n" && b.must("spark-02", load) == "2418 MHz\n" &&
					b.must("spark-02", "nvidia-smi --query-gpu=clocks.current.sm --format=csv,noheader") == "208 MHz\n"
			},
		},
		"hard-off": {
			says("spark-01", "journalctl -b -1 -q --no-pager -o short-iso -n 40", 0, "NV_ERR_NO_MEMORY"),
			func(b *bench) bool {
				return !strings.Contains(b.must("spark-01", "last -x -n 10 reboot shutdown"), "shutdown")
			},
		},
		"kexec-handover": {
			says("spark-01", "uname -r", 0, "7.0.0-1019-nvidia\n"),
			says("spark-01", "grep Cma /proc/meminfo", 0, "CmaFree:         9751224 kB"),
		},
		"low-power": {
			says("spark-01", "journalctl -k -b -q --no-pager", 0, "spark-01 kernel: mlx5_core 0000:01:00.0: "+
				"mlx5_pcie_event:301:(pid 4865): Detected insufficient power on the PCIe slot (26W)."),
		},
		"hot-adapter": {
			says("spark-01", "cat /sys/class/infiniband/rocep1s0f1/device/hwmon/hwmon*/temp1_input", 0, "104000\n"),
			says("spark-01", "sudo mget_temp -d 01:00.0", 0, "104"),
			says("spark-01", "sudo dmesg", 0, "High temperature on sensors with bit set"),
		},
		"secure-boot": {
			says("spark-01", "sudo dmesg", 0, "Loading of module with unavailable key is rejected"),
			says("spark-01", "sudo modprobe nvidia-peermem", 1, "Key was rejected by service"),
			says("spark-01", "modinfo -F filename nvidia-peermem; modinfo -F signer nvidia-peermem", 0,
				"/updates/dkms/nvidia-peermem.ko\n"),
		},
		"small-bar1": {
			says("spark-01", "nvidia-smi -q | grep -A 1 BAR1", 0,
				"        Total                                          : 256 MiB\n"),
			says("spark-01", "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader", 0,
				"NVIDIA GB10, [N/A]\nNVIDIA RTX A4000, 16376 MiB\n"),
			says("spark-01", "lspci", 0, "[RTX A4000]"),
			says("spark-01", "cat /sys/bus/pci/devices/0004:01:00.0/device", 0, "0x24b0\n"),
		},
		"crossed": {
			func(b *bench) bool {
				b.must("spark-02", "ping -c 1 -I enp1s0f0np0 192.168.100.10")
				other := b.must("spark-01", "cat /sys/class/net/enp1s0f1np1/address")
				return strings.Contains(b.must("spark-02", "ip neigh"),
					"192.168.100.10 dev enp1s0f0np0 lladdr "+strings.TrimSpace(other))
			},
			func(b *bench) bool {
				s, got := b.test("timeout 20 ib_write_bw -d rocep1s0f0 -x 3",
					"timeout 5 ib_write_bw -d rocep1s0f0 -x 3 192.168.100.10")
				return got.code == 124 && s.code == 1
			},
		},
		"bad-cable": {
			grows("cat /sys/class/infiniband/roceP2p1s0f0/ports/1/counters/symbol_error"),
			grows("ethtool -S enp1s0f0np0 | grep rx_crc_errors_phy"),
		},
	}
}

// grows says that a command's output is another one after a while.
func grows(command string) func(b *bench) bool {
	return func(b *bench) bool {
		before := b.must("spark-01", command)
		return b.must("spark-01", "sleep 2; "+command) != before
	}
}

// What the driver lost comes back as it was.
func TestAdapterComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	const look = "ip addr; ip route; show_gids; ls /sys/class/infiniband /sys/class/net"
	// The order of routes is that of their making.
	sorted := func() string { return b.must("spark-01", "{ "+look+"; } | sort") }
	before := sorted()
	for _, fault := range []string{"adapter-lost", "adapter-lost"} {
		b.Inject(fault)
		if sorted() == before {
			t.Error("nothing was lost")
		}
		b.Clear(fault)
		if after := sorted(); after != before {
			t.Errorf("%s\nwas\n%s", after, before)
		}
	}
}

func TestHardwareTools(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct {
		command string
		code    int
		part    string
	}{
		{"mget_temp -d 0000:01:00.0", 1, "Permission denied"},
		{"sudo mget_temp -d 0000:01:00.0", 0, "58"},
		{"sudo mget_temp -d 0000:09:00.0", 1, "No such file"},
		{"mget_temp", 1, "Missing device"},
		{"mokutil --sb-state", 0, "SecureBoot enabled\n"},
		{"mokutil", 255, "Usage"},
		{"cat /sys/kernel/security/lockdown", 0, "[integrity]"},
		{"dmesg", 1, "Operation not permitted"},
		{
			"journalctl -k -b -q --no-pager -o short-monotonic", 0,
			"[    5.210000] spark-01 kernel: mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged\n",
		},
		{"modinfo -F signer mlx5_core", 0, "Build time autogenerated kernel key\n"},
		{"cat /sys/bus/pci/devices/000f:01:00.0/vendor", 0, "0x10de\n"},
		{"cat /sys/class/infiniband/rocep1s0f0/device/../max_link_width", 0, "4\n"},
		{"nvidia-smi", 0, "|   0  NVIDIA GB10               On  |   0000000F:01:00.0 Off |"},
	} {
		if got := b.try("spark-01", c.command); got.code != c.code || !strings.Contains(got.out+got.err, c.part) {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
}
