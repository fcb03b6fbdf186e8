package sim

import (
	"context"
	"net/netip"
	"slices"
)

// hardwareDefects are the faults of the adapter, its power and cooling, and of
// what lies between it and the GPU.
func hardwareDefects() map[string]defect {
	logged := func(title, doc string) defect {
		return defect{title: title, doc: doc, on: treeChanged, off: treeChanged}
	}
	return map[string]defect{
		"adapter-lost": {
			title: "Half of the adapter has lost its driver",
			doc:   "spark-01's adapter got hot and the driver left its second PCIe half (domain 0002): the PCI functions are there, and have no RDMA device and no interface. Only a restart brings them back.",
			on:    func(r *Rig) { r.nodes[0].loseHalf(1) },
			off:   func(r *Rig) { r.nodes[0].regainHalf(1) },
		},
		"low-power": logged("The PCIe slot has too little power",
			"spark-01's kernel log says \"Detected insufficient power on the PCIe slot (26W)\" for each function. Everything works until a cable's module asks for more."),
		"hot-adapter": logged("The adapter is hot",
			"spark-01's adapter is at 117 degrees, above the 115 at which its firmware may shut it down. Everything works still."),
		"secure-boot": logged("The kernel refuses an unsigned module",
			"Somebody has built nvidia_peermem on spark-01 without signing it, and secure boot is on: the kernel log says \"Loading of module with unavailable key is rejected\"."),
		"small-bar1": logged("A GPU card with a small BAR1",
			"spark-01 has a GPU card beside its own GPU, and the card's BAR1 is 256 MiB: buffers above some 115 MB can't be registered (ibv_reg_mr: Bad address)."),
		"bad-cable": {
			title: "Port 0's cable makes errors",
			doc:   "The cable in QSFP port 0 is bad where it ends on spark-01: symbol_error, rx_crc_errors_phy and rx_symbol_err_phy grow there all the time, whether anything is sent or not.",
			on:    func(r *Rig) { r.cableWentBad = r.clock.now().Seconds() },
		},
	}
}

// A temperature of the adapter, in degrees, as it is and with hot-adapter.
const (
	warmAdapter = 58
	hotAdapter  = 117
)

func (f *function) degrees() int {
	if f.node.index == 0 && f.node.rig.faults["hot-adapter"] {
		return hotAdapter + f.half
	}
	return warmAdapter
}

// hardwareLog is what faults of the hardware leave in the kernel's log.
func (n *node) hardwareLog() []kernelLine {
	var all []kernelLine
	if n.index != 0 {
		return nil
	}
	faults := n.rig.faults
	for i, f := range n.functions {
		driver, later := "mlx5_core "+f.pci+": ", float64(i)*80e-6
		if faults["low-power"] {
			all = append(all, kernelLine{
				18846.944179 + later,
				driver + "mlx5_pcie_event:301:(pid 4865): Detected insufficient power on the PCIe slot (26W).",
			})
		}
		if faults["hot-adapter"] || f.lost {
			all = append(all, kernelLine{
				91433.018422 + later, driver + "temp_warn:195:(pid 0): High temperature on sensors with bit set 0x0 0x1",
			})
		}
		if f.lost {
			all = append(all,
				kernelLine{
					91502.611090 + later, driver + "poll_health:838:(pid 0): device's health compromised - reached miss count",
				},
				kernelLine{91502.611095 + later, driver + "print_health_info:520:(pid 0): synd 0x10: High temperature"},
				kernelLine{
					91562.340111 + later,
					driver + "mlx5_health_try_recover:381:(pid 412): health recovery flow aborted, PCI reads still not working",
				},
				kernelLine{91562.340190 + later, driver + "E-Switch: Disable: mode(LEGACY), nvfs(0), necvfs(0), active vports(0)"},
			)
		}
	}
	if faults["secure-boot"] {
		all = append(all,
			kernelLine{702.114530, "Loading of module with unavailable key is rejected"},
			kernelLine{702.115002, "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"},
		)
	}
	return all
}

// loseHalf takes the driver away from the functions of a PCIe half, and with it
// their RDMA devices and interfaces.
func (n *node) loseHalf(half int) {
	for _, f := range n.functions {
		if f.half != half || f.lost {
			continue
		}
		d, gids := f.net, f.gids
		if d.master != nil {
			d.release()
		}
		f.kept = nil
		for _, a := range d.addrs {
			if a.Addr().Is4() {
				f.kept = append(f.kept, a.Prefix)
			}
		}
		d.setUp(false)
		d.flush(netip.Addr.IsValid)
		f.gids, f.keptGIDs = [16]gid{}, gids
		f.lost = true
		n.fixed = slices.DeleteFunc(n.fixed, func(x neighbour) bool { return x.dev == d.name })
		n.netdevs = slices.DeleteFunc(n.netdevs, func(x *netdev) bool { return x == d })
	}
	n.tree = nil
}

// regainHalf is what a restart does: the devices are back, with the addresses
// that they had.
func (n *node) regainHalf(half int) {
	for _, f := range n.functions {
		if f.half != half || !f.lost {
			continue
		}
		f.lost = false
		n.netdevs = append(n.netdevs, f.net)
		slices.SortStableFunc(n.netdevs, func(a, b *netdev) int { return a.index - b.index })
		f.defaultGIDs()
		f.net.setUp(true)
		for _, a := range f.kept {
			f.net.addAddr(a)
		}
		f.gids = f.keptGIDs
	}
	n.tree = nil
}

// present are the functions that the driver has: the others have no device.
func (n *node) present() []*function {
	var fs []*function
	for _, f := range n.functions {
		if !f.lost && !f.merged {
			fs = append(fs, f)
		}
	}
	return fs
}

// cableErrors are what a bad cable has added to the port's counters of errors.
func (f *function) cableErrors() uint64 {
	r := f.node.rig
	if f.node.index != 0 || f.qsfp != 0 || !r.faults["bad-cable"] {
		return 0
	}
	const perSecond = 40
	return uint64(perSecond * max(0, r.clock.now().Seconds()-r.cableWentBad))
}

// refusesPeermem says whether the kernel would refuse nvidia_peermem: a build of
// the node's own that nobody whom it trusts has signed.
func (n *node) refusesPeermem() bool { return n.index == 0 && n.rig.faults["secure-boot"] }

// firmwareTree is what the firmware's settings show: a Spark comes with secure
// boot, and its kernel locks itself down for that.
func (n *node) firmwareTree(t *inode) {
	t.put("/sys/firmware/efi/efivars", newDir())
	t.fixed("/sys/kernel/security/lockdown", "none [integrity] confidentiality")
}

func runMokutil(_ context.Context, c *call) int {
	for _, a := range c.args[1:] {
		switch a {
		case "--sb-state":
			c.println("SecureBoot enabled")
			return 0
		case "--list-enrolled", "-l":
			c.println("[key 1]\nSHA1 Fingerprint: 76:a0:92:06:58:00:bf:37:69:01:c3:72:cd:55:a9:0e:1f:de:d2:e0\n" +
				"        Issuer: C=GB, ST=Isle of Man, L=Douglas, O=Canonical Ltd., " +
				"CN=Canonical Ltd. Master Certificate Authority")
			return 0
		}
	}
	return c.fail(255, "Usage:\n  mokutil OPTIONS [ARGS...]")
}

// runMgetTemp is of NVIDIA's firmware tools (mft), which are root's.
func runMgetTemp(_ context.Context, c *call) int {
	set, _, ok := c.flags("d")
	if !ok || !has(set, "d") {
		return c.fail(1, "-E- Missing device, use -d <device>")
	}
	if !c.root {
		return c.fail(1, "-E- Cannot open Device: %s. Permission denied", last(set, 'd', ""))
	}
	device, degrees := last(set, 'd', ""), 0
	c.locked(func() {
		for _, f := range c.node.present() {
			if f.pci == device || f.pci == "0000:"+device || f.dev == device {
				degrees = f.degrees()
			}
		}
	})
	if degrees == 0 {
		return c.fail(1, "-E- Cannot open Device: %s. No such file or directory", device)
	}
	c.printf("%-14d\n", degrees)
	return 0
}
