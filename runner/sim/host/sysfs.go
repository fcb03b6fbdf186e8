package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/railbench/railbench/runner/sim/net"
)

const (
	// DGX OS as a Spark comes with it, of autumn 2025.
	HomeDir = "/home/nvidia"
	Kernel  = "6.14.0-1013-nvidia"

	osRelease = `PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
HOME_URL="https://www.ubuntu.com/"
SUPPORT_URL="https://help.ubuntu.com/"
BUG_REPORT_URL="https://bugs.launchpad.net/ubuntu/"
UBUNTU_CODENAME=noble`

	dgxRelease = `DGX_NAME="DGX Spark"
DGX_PRETTY_NAME="NVIDIA DGX Spark"
DGX_SWBUILD_DATE="2025-09-10-13-50-03"
DGX_SWBUILD_VERSION="7.2.3"
DGX_PLATFORM="DGX Server for KVM"`
)

// buildTree makes the node's file system. The values in it are read when they
// are asked for; which entries there are changes only with the devices, and then
// the tree is built again.
// Callers hold the rig's lock.
func (n *Node) buildTree() *Inode {
	t := newDir()
	for _, d := range []string{
		"/run/systemd/system", "/sys/class/net", "/sys/class/infiniband", "/sys/bus/pci/devices", "/etc/netplan",
		"/etc/modprobe.d", "/usr/local/bin", "/proc/net", "/home",
	} {
		t.put(d, newDir())
	}
	for _, d := range []string{"/tmp", "/dev/shm"} {
		t.put(d, &Inode{Mode: fs.ModeDir | fs.ModeSticky | 0o777, Kids: map[string]*Inode{}})
	}
	t.put("/root", &Inode{Mode: fs.ModeDir | 0o700, Kids: map[string]*Inode{}})
	t.put(HomeDir, &Inode{Mode: fs.ModeDir | 0o750, User: true, Kids: map[string]*Inode{}})
	t.link("/bin", "usr/bin")
	t.link("/sbin", "usr/sbin")
	for name, tl := range n.Rack.tools {
		if n.installed(name) && tl.Dir != "" {
			t.put(tl.Dir+"/"+name, &Inode{Mode: 0o755})
		}
	}
	n.devTree(t)
	t.fixed("/etc/hostname", n.Name)
	t.fixed("/etc/os-release", osRelease)
	t.fixed("/lib/modules/"+n.Release()+"/modules.builtin", "kernel/fs/ext4/ext4.ko\nkernel/net/sched/sch_fq_codel.ko\n")
	t.fixed("/etc/dgx-release", dgxRelease)
	t.fixed("/etc/hosts", n.hosts())
	t.fixed("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nnvidia:x:1000:1000:NVIDIA:/home/nvidia:/bin/bash")
	n.modulesTree(t)
	// In this order: what a fault sets (system) may replace what was there, and what scripts made
	// comes last.
	n.procTree(t)
	n.gpuTree(t)
	n.firmwareTree(t)
	for _, name := range slices.Sorted(maps.Keys(n.system)) {
		t.put(name, n.system[name])
	}
	for _, f := range n.Functions {
		n.pciTree(t, f)
	}
	for _, d := range n.Netdevs {
		// A network of one's own has a lo of its own, and here nothing else.
		if !n.Sealed || d.Kind == "loopback" {
			n.netdevTree(t, d)
		}
	}
	// By name, so that a directory comes before what is in it.
	for _, name := range slices.Sorted(maps.Keys(n.Files)) {
		t.put(name, n.Files[name])
	}
	return t
}

// devTree is /dev, as far as anybody looks.
func (n *Node) devTree(t *Inode) {
	// Both are only there to be seen: the shell opens /dev/null itself (open), and nothing reads
	// /dev/zero.
	t.put("/dev/null", &Inode{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
	t.put("/dev/zero", &Inode{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
	if n.Sealed {
		return
	}
	for i := range n.Present() {
		// By their order, without gaps: a device that is lost renumbers those behind it, as after a
		// restart.
		t.put(fmt.Sprintf("/dev/infiniband/uverbs%d", i), &Inode{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
		t.put(fmt.Sprintf("/dev/infiniband/umad%d", i), &Inode{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600})
	}
	t.put("/dev/infiniband/rdma_cm", &Inode{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666})
}

// modulesTree is what the loaded modules show.
func (n *Node) modulesTree(t *Inode) {
	for _, m := range n.Modules {
		t.put("/sys/module/"+m, newDir())
		t.fixed("/sys/module/"+m+"/initstate", "live")
	}
	if !slices.Contains(n.Modules, "bonding") {
		return
	}
	t.text("/sys/class/net/bonding_masters", func() string {
		var names []string
		for _, d := range n.Netdevs {
			if d.Bond != nil {
				names = append(names, d.Name)
			}
		}
		return strings.Join(names, " ")
	})
}

// What is read often is made when it is read; what can't change is fixed.
func (n *Node) procTree(t *Inode) {
	t.text("/proc/uptime", func() string {
		up := n.Uptime().Seconds()
		// The second is the idle time of all cores.
		return fmt.Sprintf("%.2f %.2f", up, up*(cores-0.6))
	})
	t.text("/proc/stat", n.procStat)
	t.text("/proc/loadavg", func() string { return fmt.Sprintf("0.21 0.17 0.11 1/612 %d", n.NextPID) })
	t.fixed("/proc/version", "Linux version "+n.Release()+" (buildd@bos03-arm64-047) "+
		"(aarch64-linux-gnu-gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0) #13-Ubuntu SMP PREEMPT_DYNAMIC")
	t.text("/proc/meminfo", n.memInfo)
	t.text("/proc/modules", func() string {
		var b []string
		for i, m := range n.Modules {
			b = append(b, fmt.Sprintf("%s %d 0 - Live 0x0000000000000000", m, 32768*(i+2)))
		}
		return strings.Join(b, "\n")
	})
	t.fixed("/proc/sys/kernel/hostname", n.Name)
	t.fixed("/proc/sys/kernel/random/boot_id", BootID(n.Fabric.Seed+uint64(n.Boots)<<32, n.Index))
	t.fixed("/proc/sys/kernel/osrelease", n.Release())
	t.fixed("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz-"+n.Release()+" root=/dev/nvme0n1p2 ro console=tty0 quiet")
	names := []string{"all", "default"}
	for _, d := range n.Netdevs {
		names = append(names, d.Name)
	}
	for _, name := range names {
		// The kernel's defaults, by which a node answers for each of its addresses on every
		// interface.
		t.fixed("/proc/sys/net/ipv4/conf/"+name+"/arp_ignore", "0")
		t.fixed("/proc/sys/net/ipv4/conf/"+name+"/arp_announce", "0")
		t.fixed("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", "0")
		t.fixed("/proc/sys/net/ipv6/conf/"+name+"/addr_gen_mode", "0")
	}
	t.fixed("/sys/module/apparmor/parameters/enabled", "Y")
	t.fixed("/proc/self/status", "Name:\tsh\nState:\tR (running)\nVmLck:\t       0 kB")
	t.text("/proc/net/dev", n.procNetDev)
	t.text("/proc/net/tcp", n.procNetTCP)
	t.fixed("/proc/net/tcp6", "  sl  local_address                         remote_address                        "+
		"st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode")
	for _, d := range n.Netdevs {
		if d.Kind == "bond" {
			t.text("/proc/net/bonding/"+d.Name, func() string { return procBond(d) })
		}
	}
}

// BootID is the same as long as the node runs, and another for every seed.
func BootID(seed uint64, index int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "railbench sim boot %d %d", seed, index))
	x := hex.EncodeToString(h[:])
	return x[:8] + "-" + x[8:12] + "-4" + x[12:15] + "-a" + x[15:18] + "-" + x[18:30]
}

// procNetDev is /proc/net/dev, after net/core/net-procfs.c.
func (n *Node) procNetDev() string {
	n.Fabric.Advance()
	b := []string{
		"Inter-|   Receive                                                |  Transmit",
		" face |bytes    packets errs drop fifo frame compressed multicast" +
			"|bytes    packets errs drop fifo colls carrier compressed",
	}
	for _, d := range n.Netdevs {
		rx, rxPackets := d.Received()
		tx, txPackets := d.Sent()
		b = append(b, fmt.Sprintf("%6s: %7d %7d    0    0    0     0          0         0"+
			" %8d %7d    0    0    0     0       0          0",
			d.Name, rx, rxPackets, tx, txPackets))
	}
	return strings.Join(b, "\n")
}

// procNetTCP is the kernel's table of sockets: port 22 and whatever the running
// tools listen on. State 0A is LISTEN.
func (n *Node) procNetTCP() string {
	b := []string{"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"}
	row := func(address string, port, uid, inode int) {
		b = append(b, fmt.Sprintf("%4d: %s:%04X 00000000:0000 0A 00000000:00000000 "+
			"00:00000000 00000000 %5d        0 %d 1 0000000000000000 100 0 0 10 0",
			len(b)-1, address, port, uid, inode))
	}
	row("00000000", 22, 0, 20117)
	for _, port := range n.Ports() {
		l := n.Listeners[port]
		uid := 1000
		if l.Proc.Root {
			uid = 0
		}
		row(l.boundHex(), port, uid, 31000+l.Proc.PID)
	}
	return strings.Join(b, "\n")
}

// Ports are the listening ports, sorted.
func (n *Node) Ports() []int {
	var ps []int
	for p := range n.Listeners {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}

// pciTree is what sysfs has of a function: its place, its link, its driver with the RDMA device,
// and the port's counters.
func (n *Node) pciTree(t *Inode, f *net.Function) {
	dev := f.DevicePath()
	t.link("/sys/bus/pci/devices/"+f.PCI, "../../../"+strings.TrimPrefix(dev, "/sys/"))
	t.fixed(dev+"/vendor", "0x15b3")
	t.fixed(dev+"/device", "0x1021")
	t.fixed(dev+"/subsystem_vendor", "0x15b3")
	t.fixed(dev+"/class", "0x020000")
	// A Spark has one node of memory.
	t.fixed(dev+"/numa_node", "0")
	t.fixed(dev+"/current_link_speed", "32.0 GT/s PCIe")
	t.text(dev+"/current_link_width", func() string { return fmt.Sprint(f.Lanes) })
	t.fixed(dev+"/max_link_speed", "32.0 GT/s PCIe")
	t.fixed(dev+"/max_link_width", "4")
	driver := "DRIVER=mlx5_core\n"
	if f.Lost {
		driver = ""
	}
	t.fixed(dev+"/uevent", driver+"PCI_CLASS=20000\nPCI_ID=15B3:1021\nPCI_SUBSYS_ID=15B3:0005\n"+
		"PCI_SLOT_NAME="+f.PCI+"\nMODALIAS=pci:v000015B3d00001021sv000015B3sd00000005bc02sc00i00")
	n.errorTree(t, f, dev)
	// The port above is the slot: what it could do bounds what the device gets.
	t.fixed(path.Dir(dev)+"/max_link_speed", "32.0 GT/s PCIe")
	t.fixed(path.Dir(dev)+"/max_link_width", "4")
	if f.Lost {
		return
	}
	t.link(dev+"/driver", "../../../../bus/pci/drivers/mlx5_core")
	t.put("/sys/bus/pci/drivers/mlx5_core", newDir())
	// A Spark's adapter is a hot part of a small case; the sensor is in millidegrees.
	hwmon := dev + "/hwmon/hwmon" + fmt.Sprint(4+f.No)
	t.fixed(hwmon+"/name", "mlx5")
	t.fixed(hwmon+"/temp1_label", "asic")
	t.text(hwmon+"/temp1_input", func() string { now, _ := n.Degrees(f); return fmt.Sprint(now * 1000) })
	t.text(hwmon+"/temp1_highest", func() string { _, most := n.Degrees(f); return fmt.Sprint(most * 1000) })

	if f.Merged {
		return
	}
	ib := dev + "/infiniband/" + f.Dev
	t.link("/sys/class/infiniband/"+f.Dev, "../../"+strings.TrimPrefix(ib, "/sys/"))
	t.link(ib+"/device", "../../../"+f.PCI)
	t.link(ib+"/subsystem", "../../../../../../class/infiniband")
	t.text(ib+"/node_guid", f.GUID)
	t.text(ib+"/sys_image_guid", func() string { return f.SystemGUID().GUID() })
	t.fixed(ib+"/fw_ver", "28.45.4028")
	t.fixed(ib+"/hw_rev", "0")
	t.fixed(ib+"/board_id", "NVD0000000087")
	t.fixed(ib+"/hca_type", "MT4129")
	t.fixed(ib+"/node_type", "1: CA")
	t.fixed(ib+"/node_desc", n.Name+" "+f.Dev)
	t.fixed(ib+"/uevent", "NAME="+f.Dev)

	port := ib + "/ports/1"
	t.text(port+"/state", func() string {
		if f.Live() {
			return "4: ACTIVE"
		}
		return "1: DOWN"
	})
	t.text(port+"/phys_state", func() string {
		switch {
		case !f.Netdev.Up:
			return "3: Disabled"
		case !f.Netdev.Carrier():
			return "2: Polling"
		default:
			return "5: LinkUp"
		}
	})
	// RoCE names rates as InfiniBand does: 200 Gb/s are four lanes of HDR.
	t.text(port+"/rate", func() string { return RateText(f) })
	t.fixed(port+"/link_layer", "Ethernet")
	t.fixed(port+"/lid", "0x0")
	t.fixed(port+"/sm_lid", "0x0")
	t.fixed(port+"/sm_sl", "0")
	t.fixed(port+"/lid_mask_count", "0")
	t.fixed(port+"/cap_mask", "0x00010000")
	for i := range f.GIDs {
		t.text(fmt.Sprintf("%s/gids/%d", port, i), func() string { return net.GIDText(f.GIDs[i]) })
		// The kernel answers a read of an empty slot's attributes with EINVAL.
		attr := func(value func(net.GID) string) *Inode {
			return &Inode{Mode: 0o444, read: func() (string, error) {
				if !f.GIDs[i].Addr.IsValid() {
					return "", syscall.EINVAL
				}
				return value(f.GIDs[i]) + "\n", nil
			}}
		}
		t.put(fmt.Sprintf("%s/gid_attrs/types/%d", port, i), attr(func(g net.GID) string {
			if g.V2 {
				return "RoCE v2"
			}
			return "IB/RoCE v1"
		}))
		t.put(fmt.Sprintf("%s/gid_attrs/ndevs/%d", port, i), attr(func(g net.GID) string { return g.Netdev }))
	}
	if !n.Uncounted {
		n.counterTree(t, f, port)
	}
}

// errorTree is what PCIe counts of its own errors (drivers/pci/pcie/aer.c), in the order of the
// kernel's names. Half of a second is enough to see an unsteady link count.
func (n *Node) errorTree(t *Inode, f *net.Function, dev string) {
	list := func(total string, names []string, of func(name string) uint64) string {
		var b strings.Builder
		sum := uint64(0)
		for _, name := range names {
			fmt.Fprintf(&b, "%s %d\n", name, of(name))
			sum += of(name)
		}
		fmt.Fprintf(&b, "%s %d", total, sum)
		return b.String()
	}
	uncorrectable := []string{
		"Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq",
		"ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked",
	}
	correctable := []string{"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"}
	t.text(dev+"/aer_dev_fatal", func() string {
		return list("TOTAL_ERR_FATAL", uncorrectable, func(name string) uint64 {
			if name == "DLP" && f.Unsteady {
				return 2
			}
			return 0
		})
	})
	t.text(dev+"/aer_dev_nonfatal", func() string {
		return list("TOTAL_ERR_NONFATAL", uncorrectable, func(string) uint64 { return 0 })
	})
	t.text(dev+"/aer_dev_correctable", func() string {
		n.Fabric.Advance()
		return list("TOTAL_ERR_COR", correctable, func(name string) uint64 {
			if name == "BadDLLP" {
				return f.LinkErrors()
			}
			return 0
		})
	})
}

// RateText is a port's rate as the kernel and the tools write it.
func RateText(f *net.Function) string {
	if gbps := f.Netdev.Cable().Rate / 1e9; gbps < 200 {
		return fmt.Sprintf("%.0f Gb/sec (4X EDR)", gbps)
	}
	return "200 Gb/sec (4X HDR)"
}

// The names are mlx5's; what is fixed at 0 nothing here makes count.
func (n *Node) counterTree(t *Inode, f *net.Function, port string) {
	count := func(name string, value func() uint64) {
		t.text(port+"/"+name, func() string {
			n.Fabric.Advance()
			return fmt.Sprint(value())
		})
	}
	// In words of four octets (PortXmitData of the InfiniBand specification), which is the trap
	// that the tutorial speaks of.
	count("counters/port_xmit_data", func() uint64 { return f.Port.Xmit / 4 })
	count("counters/port_rcv_data", func() uint64 { return f.Port.Rcv / 4 })
	// Nothing here sends to many.
	for _, kind := range []string{"port", "unicast"} {
		count("counters/"+kind+"_xmit_packets", func() uint64 { return f.Port.XmitPackets })
		count("counters/"+kind+"_rcv_packets", func() uint64 { return f.Port.RcvPackets })
	}
	for _, name := range []string{
		"VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
		"local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets",
		"port_rcv_constraint_errors", "port_rcv_errors", "port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_discards",
		"port_xmit_wait", "symbol_error",
	} {
		if name != "symbol_error" {
			t.fixed(port+"/counters/"+name, "0")
		}
	}
	count("counters/symbol_error", f.CableErrors)
	for _, name := range []string{
		"duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err", "np_cnp_sent",
		"np_ecn_marked_roce_packets", "out_of_buffer", "out_of_sequence", "packet_seq_err",
		"req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request",
		"resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error", "resp_remote_access_errors",
		"rnr_nak_retry_err", "roce_adp_retrans", "roce_adp_retrans_to", "roce_slow_restart",
		"roce_slow_restart_cnps", "roce_slow_restart_trans", "rp_cnp_handled", "rp_cnp_ignored",
		"rx_atomic_requests", "rx_icrc_encapsulated", "rx_read_requests", "rx_write_requests",
	} {
		count("hw_counters/"+name, func() uint64 { return f.HW[name] })
	}
}

// netdevTree is what sysfs has of an interface, where its device puts it.
func (n *Node) netdevTree(t *Inode, d *net.Netdev) {
	dir := "/sys/devices/virtual/net/" + d.Name
	switch {
	case d.Func != nil:
		dir = d.Func.DevicePath() + "/net/" + d.Name
		t.link(dir+"/device", "../../../"+d.Func.PCI)
		// The name of the connector, which two functions share: by that railbench knows which cable
		// a rail has.
		t.fixed(dir+"/phys_port_name", fmt.Sprintf("p%d", d.Func.QSFP))
		t.fixed(dir+"/phys_switch_id", strings.ReplaceAll(net.MACText(d.Stack.Functions[0].Netdev.PermMAC), ":", "")+"0000")
	case d.Kind == "ether":
		// A Spark's management interface is a Realtek.
		const pci = "0007:01:00.0"
		dir = "/sys/devices/pci0007:00/0007:00:00.0/" + pci + "/net/" + d.Name
		t.link(dir+"/device", "../../../"+pci)
		t.fixed("/sys/devices/pci0007:00/0007:00:00.0/"+pci+"/uevent", "DRIVER=r8127\nPCI_SLOT_NAME="+pci)
		t.link("/sys/bus/pci/devices/"+pci, "../../../devices/pci0007:00/0007:00:00.0/"+pci)
	}
	up := strings.Repeat("../", strings.Count(dir, "/")-1)
	t.link("/sys/class/net/"+d.Name, "../../"+strings.TrimPrefix(dir, "/sys/"))
	t.link(dir+"/subsystem", up+"class/net")
	t.text(dir+"/uevent", func() string { return fmt.Sprintf("INTERFACE=%s\nIFINDEX=%d", d.Name, d.Index) })
	t.text(dir+"/mtu", func() string { return fmt.Sprint(d.MTU) })
	t.text(dir+"/operstate", d.OperState)
	t.text(dir+"/address", d.MACText)
	t.fixed(dir+"/broadcast", "ff:ff:ff:ff:ff:ff")
	t.text(dir+"/carrier_changes", func() string { return fmt.Sprint(d.Changes) })
	t.text(dir+"/ifindex", func() string { return fmt.Sprint(d.Index) })
	t.text(dir+"/iflink", func() string { return fmt.Sprint(d.Index) })
	t.fixed(dir+"/dev_port", "0")
	t.fixed(dir+"/tx_queue_len", "1000")
	t.text(dir+"/type", func() string {
		if d.Kind == "loopback" {
			// ARPHRD_LOOPBACK, and ARPHRD_ETHER (include/uapi/linux/if_arp.h).
			return "772"
		}
		return "1"
	})
	t.text(dir+"/flags", func() string { return fmt.Sprintf("0x%x", d.FlagBits()) })
	// Reading these while the interface is down is EINVAL.
	whileUp := func(name string, value func() string) {
		t.put(dir+"/"+name, &Inode{Mode: 0o444, read: func() (string, error) {
			if !d.Up {
				return "", syscall.EINVAL
			}
			return value() + "\n", nil
		}})
	}
	// After net/core/net-sysfs.c, which asks netif_running first.
	whileUp("carrier", func() string {
		if d.Carrier() {
			return "1"
		}
		return "0"
	})
	whileUp("speed", func() string { return fmt.Sprint(d.Speed()) })
	whileUp("duplex", func() string { return "full" })
	for _, c := range []struct {
		name  string
		value func() uint64
	}{
		{"rx_bytes", func() uint64 { v, _ := d.Received(); return v }},
		{"rx_packets", func() uint64 { _, v := d.Received(); return v }},
		{"tx_bytes", func() uint64 { v, _ := d.Sent(); return v }},
		{"tx_packets", func() uint64 { _, v := d.Sent(); return v }},
	} {
		t.text(dir+"/statistics/"+c.name, func() string {
			n.Fabric.Advance()
			return fmt.Sprint(c.value())
		})
	}
	for _, name := range []string{
		"collisions", "multicast", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors", "rx_fifo_errors",
		"rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler", "rx_over_errors",
		"tx_aborted_errors", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors",
		"tx_fifo_errors", "tx_heartbeat_errors", "tx_window_errors",
	} {
		t.fixed(dir+"/statistics/"+name, "0")
	}
	if d.Master != nil {
		t.link(dir+"/master", up+"devices/virtual/net/"+d.Master.Name)
		slaveTree(d, t, dir+"/bonding_slave/")
	}
	if d.Bond != nil {
		bondTree(d, t, dir+"/bonding/")
	}
}

// hosts is the node's /etc/hosts.
func (n *Node) hosts() string {
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n127.0.1.1 " + n.Name)
	for i, other := range n.Fabric.Stacks {
		fmt.Fprintf(&text, "\n%s %s", n.Fabric.Management(i).Addr(), other.Name)
	}
	return text.String()
}
