package tool

import (
	"context"
	"fmt"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
)

func runEthtool(_ context.Context, c *host.Call) int {
	set, rest, _ := c.Flags("")
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
			driver, bus, fw := "mlx5_core", "", "28.45.4028 (NVD0000000087)"
			switch {
			case d.Func != nil:
				bus = d.Func.PCI
			case d.Kind == "bond":
				driver, fw = "bonding", "2"
			default:
				driver, bus, fw = "r8127", "0007:01:00.0", ""
			}
			c.Printf("driver: %s\nversion: %s\nfirmware-version: %s\nexpansion-rom-version: \n"+
				"bus-info: %s\nsupports-statistics: yes\nsupports-test: yes\nsupports-eeprom-access: no\n"+
				"supports-register-dump: no\nsupports-priv-flags: yes\n", driver, host.Kernel, fw, bus)
		case set.Has("S"):
			if d.Func == nil {
				code = c.Fail(94, "no stats available")
				return
			}
			p := d.Func.Port
			c.Printf("NIC statistics:\n     rx_packets: %d\n     rx_bytes: %d\n     tx_packets: %d\n     tx_bytes: %d\n",
				d.RxPackets, d.RxBytes, d.TxPackets, d.TxBytes)
			c.Printf("     rx_vport_rdma_unicast_packets: %d\n     rx_vport_rdma_unicast_bytes: %d\n"+
				"     tx_vport_rdma_unicast_packets: %d\n     tx_vport_rdma_unicast_bytes: %d\n",
				p.RcvPackets, p.Rcv, p.XmitPackets, p.Xmit)
			bad := d.Func.CableErrors()
			c.Printf("     rx_out_of_buffer: 0\n     rx_discards_phy: 0\n     tx_discards_phy: 0\n"+
				"     rx_crc_errors_phy: %d\n     rx_symbol_err_phy: %d\n     rx_corrected_bits_phy: %d\n"+
				"     link_down_events_phy: %d\n", bad/4, bad, 18+6*bad, max(0, d.Changes-2))
		case set.Has("a"):
			c.Printf("Pause parameters for %s:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\n\n", d.Name)
		default:
			speed, link := "Unknown!", "no"
			if d.Running() {
				speed, link = fmt.Sprintf("%dMb/s", d.Speed()), "yes"
			}
			if !c.Root {
				c.Out.Flush()
				c.Fail(0, "netlink error: Operation not permitted")
			}
			c.Printf("Settings for %s:\n\tSupported ports: [ Backplane ]\n\tSupported link modes:   200000baseCR4/Full\n"+
				"\tSupported pause frame use: Symmetric\n\tSupports auto-negotiation: Yes\n"+
				"\tSupported FEC modes: RS\n\tAdvertised auto-negotiation: Yes\n", d.Name)
			c.Printf("\tSpeed: %s\n\tDuplex: Full\n\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n"+
				"\tPHYAD: 0\n\tTransceiver: internal\n\tLink detected: %s\n", speed, link)
		}
	})
	return code
}
