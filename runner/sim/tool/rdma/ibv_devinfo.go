package rdma

import (
	"context"
	"fmt"

	"github.com/railbench/railbench/runner/sim/host"
)

// mtuText is an MTU with its number in enum ibv_mtu.
func mtuText(mtu int) string {
	return fmt.Sprintf("%d (%d)", mtu, map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[mtu])
}

// runIbvDevinfo knows -d of one device, -l of the names and -v of more than that: only -v prints width, speed
// and the table of GIDs.
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
				phys, speed := "LINK_UP (5)", "50.0 Gbps (64)"
				// By lane: four of 50 Gb/s make 200, and of a cable for 100 each has 25.
				if f.Netdev.Cable().Rate < 200e9 {
					speed = "25.0 Gbps (32)"
				}
				if !f.Live() {
					phys = "DISABLED (3)"
				}
				c.Printf("\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t%s\n\t\t\tphys_state:\t\t%s\n",
					speed, phys)
				// Empty slots are left out, so an index is read here and not counted.
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
