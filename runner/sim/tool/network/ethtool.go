package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// runEthtool has one mode by its letter: -i of the driver, -S the counters, -a the pauses, -m the cable's memory,
// and without any the link.
func runEthtool(_ context.Context, c *host.Call) int {
	set, rest, _ := c.Flags("")
	fec := len(rest) > 1 && rest[0] == "--show-fec"
	if fec {
		rest = rest[1:]
	}
	if slices.Contains(c.Args, "--version") {
		c.Println("ethtool version 6.7")
		return 0
	}
	if len(rest) == 0 {
		return c.Fail(1, "ethtool: bad command line argument(s)\nFor more information run ethtool -h")
	}
	code := 0
	c.Locked(func() {
		d := c.Node.Netdev(rest[0])
		if d == nil {
			code = c.Fail(75, "netlink error: No such device")
			return
		}
		switch {
		case set.Has("i"):
			showDriver(c, d)
		case set.Has("S"):
			code = showCounters(c, d)
		case set.Has("a"):
			c.Printf("Pause parameters for %s:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\n\n", d.Name)
		case fec:
			code = showFEC(c, d)
		case set.Has("m"):
			code = showModule(c, d)
		default:
			showLink(c, d)
		}
	})
	return code
}

func showDriver(c *host.Call, d *net.Netdev) {
	driver, bus, fw := "mlx5_core", "", "28.45.4028 (NVD0000000087)"
	switch {
	case d.Func != nil:
		bus = d.Func.PCI
	case d.Kind == "bond":
		// The bonding driver has no firmware, and gives the version of its ABI.
		driver, fw = "bonding", "2"
	default:
		driver, bus, fw = "r8127", "0007:01:00.0", ""
	}
	c.Printf("driver: %s\nversion: %s\nfirmware-version: %s\nexpansion-rom-version: \n"+
		"bus-info: %s\nsupports-statistics: yes\nsupports-test: yes\nsupports-eeprom-access: no\n"+
		"supports-register-dump: no\nsupports-priv-flags: yes\n", driver, host.Kernel, fw, bus)
}

func showCounters(c *host.Call, d *net.Netdev) (code int) {
	if d.Func == nil {
		return c.Fail(94, "no stats available")
	}
	// An mlx5 counts RDMA's packets here and in the port's counters, and never in the interface's own.
	p := d.Func.Port
	c.Printf("NIC statistics:\n     rx_packets: %d\n     rx_bytes: %d\n     tx_packets: %d\n     tx_bytes: %d\n",
		d.RxPackets, d.RxBytes, d.TxPackets, d.TxBytes)
	c.Printf("     rx_vport_rdma_unicast_packets: %d\n     rx_vport_rdma_unicast_bytes: %d\n"+
		"     tx_vport_rdma_unicast_packets: %d\n     tx_vport_rdma_unicast_bytes: %d\n",
		p.RcvPackets, p.Rcv, p.XmitPackets, p.Xmit)
	// Of a bad cable's errors most are corrected; how they are shared out is chosen.
	bad := d.Func.CableErrors()
	c.Printf("     rx_out_of_buffer: 0\n     rx_discards_phy: 0\n     tx_discards_phy: 0\n"+
		"     rx_crc_errors_phy: %d\n     rx_symbol_err_phy: %d\n     rx_corrected_bits_phy: %d\n"+
		"     link_down_events_phy: %d\n", bad/4, bad, 18+6*bad, max(0, d.Changes-2))
	for _, way := range []struct {
		name   string
		paused uint64
	}{{"rx", d.Func.PausedIn}, {"tx", d.Func.PausedOut}} {
		c.Printf("     %s_global_pause: %d\n     %s_global_pause_duration: %d\n", way.name, way.paused, way.name,
			way.paused*net.PauseTime)
	}
	return 0
}

func showLink(c *host.Call, d *net.Netdev) {
	speed, link := "Unknown!", "no"
	if d.Running() {
		speed, link = fmt.Sprintf("%dMb/s", d.Speed()), "yes"
	}
	// Without root it can't ask for Wake-on-LAN, says so, and shows the rest.
	if !c.Root {
		c.Out.Flush()
		c.Fail(0, "netlink error: Operation not permitted")
	}
	modes, port := "10000baseT/Full", "Twisted Pair"
	if d.Func != nil {
		modes, port = "100000baseCR4/Full\n\t                        200000baseCR4/Full", "Direct Attach Copper"
	}
	c.Printf("Settings for %s:\n\tSupported ports: [ Backplane ]\n\tSupported link modes:   %s\n"+
		"\tSupported pause frame use: Symmetric\n\tSupports auto-negotiation: Yes\n"+
		"\tSupported FEC modes: RS\n\tAdvertised link modes:  %s\n\tAdvertised auto-negotiation: Yes\n", d.Name, modes,
		modes)
	c.Printf("\tSpeed: %s\n\tDuplex: Full\n\tAuto-negotiation: on\n\tPort: %s\n"+
		"\tPHYAD: 0\n\tTransceiver: internal\n\tLink detected: %s\n", speed, port, link)
}

// showFEC is --show-fec: which error correction a link uses. Callers hold the rig's lock, and
// of showModule, too.
func showFEC(c *host.Call, d *net.Netdev) int {
	if d.Func == nil {
		return c.Fail(96, "netlink error: Operation not supported")
	}
	active := "None"
	if d.Running() {
		active = "RS"
	}
	c.Printf("FEC parameters for %s:\nSupported/Configured FEC encodings: Auto\nActive FEC encoding: %s\n", d.Name, active)
	return 0
}

// showModule is -m: a cable's memory, as ethtool's sff-common.c and qsfp.c write it.
func showModule(c *host.Call, d *net.Netdev) int {
	switch {
	case !c.Root:
		return c.Fail(1, "netlink error: Operation not permitted")
	case d.Func == nil:
		return c.Fail(1, "netlink error: Operation not supported")
	// The cable's memory is in its plug.
	case d.Unplugged():
		return c.Fail(1, "netlink error: Input/output error")
	}
	cable := d.Cable()
	row := func(name, format string, args ...any) {
		c.Printf("\t%-41s : "+format+"\n", append([]any{name}, args...)...)
	}
	row("Identifier", "0x11 (QSFP28)")
	row("Extended identifier", "0x00")
	row("Connector", "0x23 (No separable connector)")
	row("Transceiver codes", "0x80 0x00 0x00 0x00 0x00 0x00 0x00 0x00")
	if cable.Type != "" {
		row("Transceiver type", "%s", cable.Type)
	}
	row("Length (Copper or Active cable)", "%s", cable.Length)
	row("Transmitter technology", "0xa0 (Copper cable unequalized)")
	row("Vendor name", "%s", cable.Vendor)
	row("Vendor PN", "%s", cable.PN)
	row("Vendor SN", "APF2531%03dA%d", c.Node.Fabric.Seed%1000, d.Func.Wire())
	row("Revision Compliance", "SFF-8636 Rev 2.8")
	return 0
}
