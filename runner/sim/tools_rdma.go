package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// The programs that show RDMA devices: of ibverbs-utils, infiniband-diags,
// iproute2 and NVIDIA's mlnx-tools.

func runIbvDevices(_ context.Context, c *host.Call) int {
	c.Println("    device          \t   node GUID")
	c.Println("    ------          \t----------------")
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			c.Printf("    %-16s\t%s\n", f.Dev, f.GUIDDigits())
		}
	})
	return 0
}

func mtuText(mtu int) string {
	return fmt.Sprintf("%d (%d)", mtu, map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[mtu])
}

func runIbvDevinfo(_ context.Context, c *host.Call) int {
	set, _, ok := c.Flags("di")
	if !ok {
		return 1
	}
	code := 0
	c.Locked(func() {
		if set.Has("l") {
			c.Printf("%d HCAs found:\n", len(c.Node.Present()))
			for _, f := range c.Node.Present() {
				c.Printf("\t%s\n", f.Dev)
			}
			c.Println("")
			return
		}
		found := false
		for _, f := range c.Node.Present() {
			if dev := set.Last('d', f.Dev); dev != f.Dev {
				continue
			}
			found = true
			state := "PORT_ACTIVE (4)"
			if !f.Live() {
				state = "PORT_DOWN (1)"
			}
			c.Printf("hca_id:\t%s\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.45.4028\n"+
				"\tnode_guid:\t\t\t%s\n\tsys_image_guid:\t\t\t%s\n", f.Dev, f.GUID(), f.SystemGUID().GUID())
			c.Printf("\tvendor_id:\t\t\t0x02c9\n\tvendor_part_id:\t\t\t4129\n" +
				"\thw_ver:\t\t\t\t0x0\n\tboard_id:\t\t\tNVD0000000087\n\tphys_port_cnt:\t\t\t1\n")
			if set.Has("v") {
				c.Printf("\tmax_mr_size:\t\t\t0xffffffffffffffff\n\tmax_qp:\t\t\t\t131072\n\tmax_qp_wr:\t\t\t32768\n" +
					"\tmax_cq:\t\t\t\t16777216\n\tmax_mr:\t\t\t\t16777216\n\tmax_qp_rd_atom:\t\t\t16\n")
			}
			c.Printf("\t\tport:\t1\n\t\t\tstate:\t\t\t%s\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t%s\n"+
				"\t\t\tsm_lid:\t\t\t0\n\t\t\tport_lid:\t\t0\n\t\t\tport_lmc:\t\t0x00\n\t\t\tlink_layer:\t\tEthernet\n",
				state, mtuText(f.ActiveMTU()))
			if set.Has("v") {
				phys := "LINK_UP (5)"
				if !f.Live() {
					phys = "DISABLED (3)"
				}
				c.Printf("\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t50.0 Gbps (64)\n\t\t\tphys_state:\t\t%s\n", phys)
				for i, g := range f.GIDs {
					if g.Addr.IsValid() {
						c.Printf("\t\t\tGID[%3d]:\t\t%s, %s\n", i, g.Text(), g.Kind())
					}
				}
			}
			c.Println("")
		}
		if !found {
			code = 255
			if set.Has("d") {
				c.Fail(255, "IB device '%s' wasn't found", set.Last('d', ""))
				return
			}
			c.Fail(255, "No IB devices found")
		}
	})
	return code
}

func runIbstat(_ context.Context, c *host.Call) int {
	set, names, ok := c.Flags("")
	if !ok {
		return 1
	}
	code := 0
	c.Locked(func() {
		if set.Has("l") {
			for _, f := range c.Node.Present() {
				c.Println(f.Dev)
			}
			return
		}
		found := false
		for _, f := range c.Node.Present() {
			if len(names) > 0 && names[0] != f.Dev {
				continue
			}
			found = true
			state, physical := f.StateWords()
			c.Printf("CA '%s'\n\tCA type: MT4129\n\tNumber of ports: 1\n"+
				"\tFirmware version: 28.45.4028\n\tHardware version: 0\n", f.Dev)
			c.Printf("\tNode GUID: 0x%s\n\tSystem image GUID: 0x%s\n\tPort 1:\n", f.GUIDDigits(), f.SystemGUID().GUIDDigits())
			rate := "200"
			if !f.Netdev.Carrier() {
				rate = "40"
			}
			c.Printf("\t\tState: %s\n\t\tPhysical state: %s\n\t\tRate: %s\n\t\tBase lid: 0\n\t\tLMC: 0\n"+
				"\t\tSM lid: 0\n\t\tCapability mask: 0x00010000\n\t\tPort GUID: 0x%s\n\t\tLink layer: Ethernet\n",
				state, physical, rate, f.GUIDDigits())
		}
		if !found {
			code = c.Fail(1, "ibpanic: [%d] main: '%s' IB device can't be found\n: No such file or directory",
				c.Node.NextPID, names[0])
		}
	})
	return code
}

func runIbstatus(_ context.Context, c *host.Call) int {
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			state, physical := "4: ACTIVE", "5: LinkUp"
			if !f.Live() {
				state, physical = "1: DOWN", "3: Disabled"
			}
			c.Printf("Infiniband device '%s' port 1 status:\n\tdefault gid:\t %s\n\tbase lid:\t 0x0\n\tsm lid:\t\t 0x0\n"+
				"\tstate:\t\t %s\n\tphys state:\t %s\n\trate:\t\t 200 Gb/sec (4X HDR)\n\tlink_layer:\t Ethernet\n\n",
				f.Dev, net.GIDText(f.GIDs[0]), state, physical)
		}
	})
	return 0
}

func runShowGids(_ context.Context, c *host.Call) int {
	c.Println("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV")
	c.Println("---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---")
	found := 0
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			if len(c.Args) > 1 && c.Args[1] != f.Dev {
				continue
			}
			for i, g := range f.GIDs {
				if !g.Addr.IsValid() {
					continue
				}
				found++
				ipv4, ver := "\t\t", "v1"
				if g.Addr.Is4() {
					ipv4 = g.Addr.String() + "  \t"
				}
				if g.V2 {
					ver = "v2"
				}
				c.Printf("%s\t1\t%d\t%s\t%s%s\t%s\n", f.Dev, i, net.GIDText(g), ipv4, ver, g.Netdev)
			}
		}
	})
	c.Printf("n_gids_found=%d\n\n", found)
	return 0
}

func runIbdev2netdev(_ context.Context, c *host.Call) int {
	set, _, _ := c.Flags("")
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			state := "Down"
			if f.Live() {
				state = "Up"
			}
			if set.Has("v") {
				c.Printf("%s %s (MT4129 - NVD0000000087) ConnectX-7 fw 28.45.4028 port 1 (%s) ==> %s (%s)\n",
					f.PCI, f.Dev, map[string]string{"Up": "ACTIVE", "Down": "DOWN  "}[state], f.Netdev.Name, state)
				continue
			}
			c.Printf("%s port 1 ==> %s (%s)\n", f.Dev, f.Netdev.Name, state)
		}
	})
	return 0
}

// runRdma is iproute2's rdma: link, dev, system, -j, -p, -d.
func runRdma(_ context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("")
	if !ok {
		return 1
	}
	if set.Has("V") {
		c.Println("rdma utility, iproute2-6.1.0")
		return 0
	}
	object := "help"
	if len(rest) > 0 {
		object = rest[0]
	}
	only := ""
	for _, a := range rest[min(1, len(rest)):] {
		if a != "show" && a != "list" {
			only = strings.TrimSuffix(a, "/1")
		}
	}
	code := 0
	c.Locked(func() {
		var items []jsonObject
		var lines []string
		for _, f := range c.Node.Present() {
			if only != "" && only != f.Dev {
				continue
			}
			state, physical := "ACTIVE", "LINK_UP"
			switch {
			case !f.Netdev.Up:
				state, physical = "DOWN", "DISABLED"
			case !f.Live():
				state, physical = "DOWN", "POLLING"
			}
			switch {
			case strings.HasPrefix("link", object):
				items = append(items, jsonObject{
					{"ifindex", f.No},
					{"ifname", f.Dev},
					{"port", 1},
					{"state", state},
					{"physical_state", physical},
					{"netdev", f.Netdev.Name},
					{"netdev_index", f.Netdev.Index},
				})
				line := fmt.Sprintf("link %s/1 state %s physical_state %s netdev %s ", f.Dev, state, physical, f.Netdev.Name)
				if set.Has("d") {
					line += fmt.Sprintf("netdev_index %d ", f.Netdev.Index)
				}
				lines = append(lines, line)
			case strings.HasPrefix("dev", object):
				items = append(items, jsonObject{
					{"ifindex", f.No},
					{"ifname", f.Dev},
					{"node_type", "ca"},
					{"fw", "28.45.4028"},
					{"node_guid", f.GUID()},
					{"sys_image_guid", f.SystemGUID().GUID()},
				})
				lines = append(lines, fmt.Sprintf("%d: %s: node_type ca fw 28.45.4028 node_guid %s sys_image_guid %s ",
					f.No, f.Dev, f.GUID(), f.SystemGUID().GUID()))
			case strings.HasPrefix("system", object):
				lines = []string{"netns shared copy-on-fork on"}
			default:
				code = c.Fail(1, "Unknown argument \"%s\".", object)
				return
			}
		}
		if len(lines) == 0 && only != "" {
			code = c.Fail(1, "Wrong device name\nFailed to find device \"%s\"", only)
			return
		}
		if set.Has("j") {
			c.Println(jsonArray(items, set.Has("p")))
			return
		}
		for _, l := range lines {
			c.Println(l)
		}
	})
	return code
}
