package sim

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/net"
)

func runHostname(_ context.Context, c *call) int {
	set, _, _ := c.flags("")
	if has(set, "I") {
		c.locked(func() {
			for _, d := range c.node.Netdevs[1:] {
				for _, a := range d.Addrs {
					c.printf("%s ", a.Addr())
				}
			}
		})
		c.println("")
		return 0
	}
	c.println(c.node.Name)
	return 0
}

func runUname(_ context.Context, c *call) int {
	set, _, ok := c.flags("")
	if !ok {
		return 1
	}
	fields := []struct{ letter, value string }{
		{"s", "Linux"},
		{"n", c.node.Name},
		{"r", kernel},
		{"v", "#13-Ubuntu SMP PREEMPT_DYNAMIC Wed Aug 27 17:02:11 UTC 2025"},
		{"m", "aarch64"},
		{"p", "aarch64"},
		{"o", "GNU/Linux"},
	}
	var out []string
	for _, f := range fields {
		if has(set, f.letter) || has(set, "a") && f.letter != "p" || len(set) == 0 && f.letter == "s" {
			out = append(out, f.value)
		}
	}
	if has(set, "a") {
		out = slices.Insert(out, 5, "aarch64")
	}
	c.println(strings.Join(out, " "))
	return 0
}

func (c *call) user() (string, int) {
	if c.root {
		return "root", 0
	}
	return "nvidia", 1000
}

func runID(_ context.Context, c *call) int {
	set, _, ok := c.flags("")
	if !ok {
		return 1
	}
	name, uid := c.user()
	switch {
	case has(set, "n"):
		c.println(name)
	case has(set, "ugG"):
		c.println(strconv.Itoa(uid))
	case uid == 0:
		c.println("uid=0(root) gid=0(root) groups=0(root)")
	default:
		c.println("uid=1000(nvidia) gid=1000(nvidia) groups=1000(nvidia),4(adm),27(sudo),999(docker)")
	}
	return 0
}

func runWhoami(_ context.Context, c *call) int {
	name, _ := c.user()
	c.println(name)
	return 0
}

func runNproc(_ context.Context, c *call) int {
	c.println("20")
	return 0
}

func runUptime(_ context.Context, c *call) int {
	var up time.Duration
	c.locked(func() { up = c.node.uptime() })
	if len(c.args) > 1 && c.args[1] == "-s" {
		c.println(c.node.rack.Clock.Wall().Add(-up).UTC().Format("2006-01-02 15:04:05"))
		return 0
	}
	h := int(up.Hours())
	c.printf(" %s up %d day,  %d:%02d,  1 user,  load average: 0.21, 0.17, 0.11\n",
		c.node.rack.Clock.Wall().UTC().Format("15:04:05"), h/24, h%24, int(up.Minutes())%60)
	return 0
}

func runLsmod(_ context.Context, c *call) int {
	c.println("Module                  Size  Used by")
	c.locked(func() {
		for i, m := range c.node.modules {
			c.printf("%-19s %8d  0\n", m, 32768*(i+2))
		}
	})
	return 0
}

// moduleChange is what modprobe and rmmod were asked for.
type moduleChange struct {
	remove, quiet bool
	names         []string
	maxBonds      int // -1 where it isn't said
}

func (c *call) moduleChange() (m moduleChange) {
	m.maxBonds = -1
	m.remove = c.program() == "rmmod"
	for _, a := range c.args[1:] {
		switch {
		case a == "-r" || a == "--remove":
			m.remove = true
		case a == "-q" || a == "--quiet":
			m.quiet = true
		case strings.HasPrefix(a, "max_bonds="):
			m.maxBonds, _ = strconv.Atoi(strings.TrimPrefix(a, "max_bonds="))
		case strings.HasPrefix(a, "-") || strings.Contains(a, "="):
		default:
			m.names = append(m.names, strings.ReplaceAll(a, "-", "_"))
		}
	}
	return m
}

func runModprobe(_ context.Context, c *call) int {
	m := c.moduleChange()
	code := 0
	for _, name := range m.names {
		c.locked(func() { code = max(code, c.module(name, m)) })
	}
	return code
}

func (c *call) module(name string, m moduleChange) int {
	n := c.node
	loaded := slices.Contains(n.modules, name)
	switch {
	case name == "nvidia_peermem" && !m.remove && n.flawed(refusesModules):
		return c.fail(1, "modprobe: ERROR: could not insert 'nvidia_peermem': Key was rejected by service")
	case name == "nvidia_peermem" && !m.remove:
		// GPUDirect RDMA does not exist on a Spark.
		return c.fail(1, "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument")
	case name != "bonding" && !loaded && !m.remove:
		if m.quiet {
			return 1
		}
		return c.fail(1, "modprobe: FATAL: Module %s not found in directory /lib/modules/%s", name, kernel)
	case m.remove && !loaded && c.program() == "rmmod":
		return c.fail(1, "rmmod: ERROR: Module %s is not currently loaded", name)
	case m.remove != loaded:
		return 0
	case !c.root && m.remove:
		return c.fail(1, "%s: ERROR: could not remove '%s': Operation not permitted", c.program(), name)
	case !c.root:
		return c.fail(1, "%s: ERROR: could not insert '%s': Operation not permitted", c.program(), name)
	case m.remove && name != "bonding":
		return c.fail(1, "%s: %s Module %s is in use.", c.program(),
			map[bool]string{true: "ERROR:", false: "FATAL:"}[c.program() == "rmmod"], name)
	case m.remove:
		n.unloadBonding()
	default:
		n.loadBonding(m.maxBonds)
	}
	n.rack.Fabric.Allocate()
	return 0
}

// packages are what dpkg knows, and their versions.
func (c *call) packages() map[string]string {
	p := map[string]string{
		"perftest": "4.5+0.17-1", "iperf3": "3.16-1build2",
		"rdma-core": "50.0-2ubuntu0.2", "ibverbs-utils": "50.0-2ubuntu0.2",
		"infiniband-diags": "50.0-2ubuntu0.2", "ibverbs-providers": "50.0-2ubuntu0.2", "libibverbs1": "50.0-2ubuntu0.2",
		"rdmacm-utils": "50.0-2ubuntu0.2", "iproute2": "6.1.0-1ubuntu6.2",
		"ethtool": "1:6.7-1build1", "pciutils": "1:3.10.0-2build1",
		"coreutils": "9.4-3ubuntu6.1", "iputils-ping": "3:20240117-1ubuntu0.1",
		"ucx-utils": "1.21.0-1", "mlnx-tools": "24.10-0",
		"netplan.io": "1.1.2-2~ubuntu24.04.2", "systemd": "255.4-1ubuntu8.10",
		"procps": "2:4.0.4-4ubuntu3.2", "grep": "3.11-4build1",
	}
	c.locked(func() {
		maps.Copy(p, c.node.versions)
		maps.DeleteFunc(p, func(_, version string) bool { return version == "" })
	})
	return p
}

func runDpkgQuery(_ context.Context, c *call) int {
	format := "${Package}\t${Version}\n"
	var names []string
	for i := 1; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case strings.HasPrefix(a, "-f="):
			format = a[3:]
		case strings.HasPrefix(a, "--showformat="):
			format = strings.TrimPrefix(a, "--showformat=")
		case strings.HasPrefix(a, "-f") && len(a) > 2:
			format = a[2:]
		case a == "-f" && i+1 < len(c.args):
			i++
			format = c.args[i]
		case a == "-l" || a == "-s" || a == "-W" || a == "--show":
		case !strings.HasPrefix(a, "-"):
			names = append(names, a)
		}
	}
	all := c.packages()
	if len(names) == 0 {
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	code := 0
	for _, name := range names {
		v, ok := all[name]
		if !ok {
			c.out.Flush()
			code = c.fail(1, "dpkg-query: no packages found matching %s", name)
			continue
		}
		c.out.WriteString(strings.NewReplacer(
			"${Package}", name, "${binary:Package}", name, "${Version}", v, "${Status}", "install ok installed",
			"${db:Status-Status}", "installed", "${Architecture}", "arm64", `\n`, "\n", `\t`, "\t").Replace(format))
	}
	return code
}

func runLspci(_ context.Context, c *call) int {
	set, _, ok := c.flags("sd")
	if !ok {
		return 1
	}
	type device struct {
		pci, class, name, ids string
		fn                    *net.Function
	}
	c.locked(func() {
		devices := []device{{"0000:00:00.0", "PCI bridge [0604]", "NVIDIA Corporation Device", "[10de:22ce]", nil}}
		for _, f := range c.node.Functions[:2] {
			devices = append(devices, device{
				f.PCI, "Ethernet controller [0200]", "Mellanox Technologies MT2910 Family [ConnectX-7]", "[15b3:1021]", f,
			})
		}
		devices = append(devices, device{
			"0002:00:00.0", "PCI bridge [0604]", "NVIDIA Corporation Device", "[10de:22ce]", nil,
		})
		for _, f := range c.node.Functions[2:] {
			devices = append(devices, device{
				f.PCI, "Ethernet controller [0200]", "Mellanox Technologies MT2910 Family [ConnectX-7]", "[15b3:1021]", f,
			})
		}
		devices = append(devices,
			device{"0007:01:00.0", "Ethernet controller [0200]", "Realtek Semiconductor Co., Ltd. Device", "[10ec:8127]", nil},
			device{"000f:01:00.0", "VGA compatible controller [0300]", "NVIDIA Corporation Device", "[10de:2e12]", nil})
		if c.node.hasCard() {
			devices = append(devices, device{
				"0004:01:00.0", "VGA compatible controller [0300]", "NVIDIA Corporation GA104GL [RTX A4000]", "[10de:24b0]", nil,
			})
		}
		slot := last(set, 's', "")
		vendor, _, _ := strings.Cut(strings.TrimPrefix(last(set, 'd', ""), "0x"), ":")
		for _, d := range devices {
			full, short := d.pci, strings.TrimPrefix(d.pci, "0000:")
			if slot != "" && slot != full && slot != short && !strings.HasSuffix(full, ":"+slot) ||
				vendor != "" && !strings.HasPrefix(d.ids, "["+vendor+":") {
				continue
			}
			// The second half's domain makes lspci print domains for all.
			class, name := d.class, d.name
			if has(set, "n") {
				name += " " + d.ids
			} else {
				class = class[:strings.LastIndexByte(class, ' ')]
			}
			c.printf("%s %s: %s\n", full, class, name)
			if !has(set, "v") {
				continue
			}
			if d.fn == nil {
				c.printf("\tControl: I/O- Mem+ BusMaster+\n\n")
				continue
			}
			c.printf("\tSubsystem: Mellanox Technologies Device 0005\n" +
				"\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+\n")
			driver := "\tKernel driver in use: mlx5_core\n"
			if d.fn.Lost {
				driver = ""
			}
			if !c.root {
				c.printf("\tCapabilities: <access denied>\n%s\tKernel modules: mlx5_core\n\n", driver)
				continue
			}
			width, note := d.fn.Lanes, ""
			if width < 4 {
				note = " (downgraded)"
			}
			c.printf("\tCapabilities: [60] Express (v2) Endpoint, IntMsgNum 0\n"+
				"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x4, ASPM not supported\n"+
				"\t\tLnkSta:\tSpeed 32GT/s, Width x%d%s\n%s\tKernel modules: mlx5_core\n\n", width, note, driver)
		}
	})
	return 0
}

func runEthtool(_ context.Context, c *call) int {
	set, rest, _ := c.flags("")
	if slices.Contains(c.args, "--version") {
		c.println("ethtool version 6.7")
		return 0
	}
	if len(rest) == 0 {
		return c.fail(1, "ethtool: bad command line argument(s)\nFor more information run ethtool -h")
	}
	code := 0
	c.locked(func() {
		d := c.node.Netdev(rest[0])
		if d == nil {
			code = c.fail(75, "netlink error: No such device")
			return
		}
		switch {
		case has(set, "i"):
			driver, bus, fw := "mlx5_core", "", "28.45.4028 (NVD0000000087)"
			switch {
			case d.Func != nil:
				bus = d.Func.PCI
			case d.Kind == "bond":
				driver, fw = "bonding", "2"
			default:
				driver, bus, fw = "r8127", "0007:01:00.0", ""
			}
			c.printf("driver: %s\nversion: %s\nfirmware-version: %s\nexpansion-rom-version: \n"+
				"bus-info: %s\nsupports-statistics: yes\nsupports-test: yes\nsupports-eeprom-access: no\n"+
				"supports-register-dump: no\nsupports-priv-flags: yes\n", driver, kernel, fw, bus)
		case has(set, "S"):
			if d.Func == nil {
				code = c.fail(94, "no stats available")
				return
			}
			p := d.Func.Port
			c.printf("NIC statistics:\n     rx_packets: %d\n     rx_bytes: %d\n     tx_packets: %d\n     tx_bytes: %d\n",
				d.RxPackets, d.RxBytes, d.TxPackets, d.TxBytes)
			c.printf("     rx_vport_rdma_unicast_packets: %d\n     rx_vport_rdma_unicast_bytes: %d\n"+
				"     tx_vport_rdma_unicast_packets: %d\n     tx_vport_rdma_unicast_bytes: %d\n",
				p.RcvPackets, p.Rcv, p.XmitPackets, p.Xmit)
			bad := d.Func.CableErrors()
			c.printf("     rx_out_of_buffer: 0\n     rx_discards_phy: 0\n     tx_discards_phy: 0\n"+
				"     rx_crc_errors_phy: %d\n     rx_symbol_err_phy: %d\n     rx_corrected_bits_phy: %d\n"+
				"     link_down_events_phy: %d\n", bad/4, bad, 18+6*bad, max(0, d.Changes-2))
		case has(set, "a"):
			c.printf("Pause parameters for %s:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\n\n", d.Name)
		default:
			speed, link := "Unknown!", "no"
			if d.Running() {
				speed, link = fmt.Sprintf("%dMb/s", d.Speed()), "yes"
			}
			if !c.root {
				c.out.Flush()
				c.fail(0, "netlink error: Operation not permitted")
			}
			c.printf("Settings for %s:\n\tSupported ports: [ Backplane ]\n\tSupported link modes:   200000baseCR4/Full\n"+
				"\tSupported pause frame use: Symmetric\n\tSupports auto-negotiation: Yes\n"+
				"\tSupported FEC modes: RS\n\tAdvertised auto-negotiation: Yes\n", d.Name)
			c.printf("\tSpeed: %s\n\tDuplex: Full\n\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n"+
				"\tPHYAD: 0\n\tTransceiver: internal\n\tLink detected: %s\n", speed, link)
		}
	})
	return code
}

// processes are the node's, by pid. Callers hold the rig's lock.
func (n *node) processes() []*process {
	var ps []*process
	for _, p := range n.procs {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *process) int { return a.pid - b.pid })
	return ps
}

func runPgrep(_ context.Context, c *call) int {
	set, rest, ok := c.flags("uP")
	if !ok || len(rest) == 0 {
		return c.fail(2, "pgrep: no matching criteria specified\nTry `pgrep --help' for more information.")
	}
	code := 1
	c.locked(func() {
		for _, p := range c.node.processes() {
			name, line := path.Base(p.args[0]), strings.Join(p.args, " ")
			if has(set, "f") && !strings.Contains(line, rest[0]) ||
				!has(set, "f") && !strings.Contains(name, rest[0]) ||
				has(set, "x") && name != rest[0] {
				continue
			}
			code = 0
			switch {
			case has(set, "a"):
				c.printf("%d %s\n", p.pid, line)
			case has(set, "l"):
				c.printf("%d %s\n", p.pid, name)
			default:
				c.println(strconv.Itoa(p.pid))
			}
		}
	})
	return code
}

func runPs(_ context.Context, c *call) int {
	c.println("    PID TTY          TIME CMD")
	c.locked(func() {
		for _, p := range c.node.processes() {
			c.printf("%7d ?        00:00:00 %s\n", p.pid, strings.Join(p.args, " "))
		}
	})
	return 0
}

func runUlimit(_ context.Context, c *call) int {
	set, rest, _ := c.flags("")
	switch {
	case len(rest) > 0:
	case has(set, "n"):
		c.println("1024")
	case has(set, "l"):
		limit := "unlimited"
		c.locked(func() {
			if !c.node.lockable(1<<62, c.root) {
				limit = strconv.FormatInt(c.node.memlockKB, 10)
			}
		})
		c.println(limit)
	default:
		c.println("unlimited")
	}
	return 0
}
