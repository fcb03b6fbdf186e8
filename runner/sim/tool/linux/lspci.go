package linux

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// A pciDevice is one that lspci shows.
// class and ids have their numbers in brackets, which are cut off or left out unless -n asks for them.
type pciDevice struct {
	pci, class, name, ids string
	fn                    *net.Function // nil for all but the adapter's
}

// pciDevices are those of a node, by their address. Callers hold the lock.
// Domain 0000 has the adapter's first half and 0002 its second, each behind a bridge of its own, as on a DGX
// Spark.
func pciDevices(n *host.Node) []pciDevice {
	devices := []pciDevice{{"0000:00:00.0", "PCI bridge [0604]", "NVIDIA Corporation Device", "[10de:22ce]", nil}}
	half := func(fs []*net.Function) {
		for _, f := range fs {
			devices = append(devices, pciDevice{
				f.PCI, "Ethernet controller [0200]", "Mellanox Technologies MT2910 Family [ConnectX-7]", "[15b3:1021]", f,
			})
		}
	}
	half(n.Functions[:2])
	devices = append(devices, pciDevice{
		"0002:00:00.0", "PCI bridge [0604]", "NVIDIA Corporation Device", "[10de:22ce]", nil,
	})
	// Realtek's adapter leads to the management network; the GPU stands in domain 000f.
	half(n.Functions[2:])
	devices = append(devices,
		pciDevice{"0007:01:00.0", "Ethernet controller [0200]", "Realtek Semiconductor Co., Ltd. Device", "[10ec:8127]", nil},
		pciDevice{"000f:01:00.0", "VGA compatible controller [0300]", "NVIDIA Corporation Device", "[10de:2e12]", nil})
	if n.HasCard() {
		devices = append(devices, pciDevice{
			"0004:01:00.0", "VGA compatible controller [0300]", "NVIDIA Corporation GA104GL [RTX A4000]", "[10de:24b0]", nil,
		})
	}
	return devices
}

// runLspci knows -s of a slot, -d of a vendor, -n for numbers after the names and -v for more, of which root
// sees more than others.
func runLspci(_ context.Context, c *host.Call) int {
	set, _, ok := c.Flags("sd")
	if !ok {
		return 1
	}
	slot := set.Last('s', "")
	vendor, _, _ := strings.Cut(strings.TrimPrefix(set.Last('d', ""), "0x"), ":")
	c.Locked(func() {
		for _, d := range pciDevices(c.Node) {
			short := strings.TrimPrefix(d.pci, "0000:")
			if slot != "" && slot != d.pci && slot != short && !strings.HasSuffix(d.pci, ":"+slot) ||
				vendor != "" && !strings.HasPrefix(d.ids, "["+vendor+":") {
				continue
			}
			// The second half's domain makes lspci print domains for all.
			class, name := d.class, d.name
			if set.Has("n") {
				name += " " + d.ids
			} else {
				class = class[:strings.LastIndexByte(class, ' ')]
			}
			c.Printf("%s %s: %s\n", d.pci, class, name)
			if set.Has("v") {
				d.details(c)
			}
		}
	})
	return 0
}

// details are what -v adds.
func (d pciDevice) details(c *host.Call) {
	if d.fn == nil {
		c.Printf("\tControl: I/O- Mem+ BusMaster+\n\n")
		return
	}
	c.Printf("\tSubsystem: Mellanox Technologies Device 0005\n" +
		"\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+\n")
	driver := "\tKernel driver in use: mlx5_core\n"
	if d.fn.Lost {
		driver = ""
	}
	// Configuration space beyond its first 64 bytes is root's, and the link's state is there.
	if !c.Root {
		c.Printf("\tCapabilities: <access denied>\n%s\tKernel modules: mlx5_core\n\n", driver)
		return
	}
	width, note := d.fn.Lanes, ""
	if width < 4 {
		note = " (downgraded)"
	}
	c.Printf("\tCapabilities: [60] Express (v2) Endpoint, IntMsgNum 0\n"+
		"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x4, ASPM not supported\n"+
		"\t\tLnkSta:\tSpeed 32GT/s, Width x%d%s\n%s\tKernel modules: mlx5_core\n\n", width, note, driver)
}
