package rdma

import (
	"context"
	"fmt"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// runIbstat prints all adapters, or the one that is named; -l only their names. A DGX Spark's four functions
// are four adapters to it, of one port each.
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
			rate := fmt.Sprintf("%.0f", f.Netdev.Cable().Rate/1e9)
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

// runIbstatus reads sysfs, whose words have the numbers of their enumerations before them.
func runIbstatus(_ context.Context, c *host.Call) int {
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			state, physical := "4: ACTIVE", "5: LinkUp"
			if !f.Live() {
				state, physical = "1: DOWN", "3: Disabled"
			}
			c.Printf("Infiniband device '%s' port 1 status:\n\tdefault gid:\t %s\n\tbase lid:\t 0x0\n\tsm lid:\t\t 0x0\n"+
				"\tstate:\t\t %s\n\tphys state:\t %s\n\trate:\t\t %s\n\tlink_layer:\t Ethernet\n\n",
				f.Dev, net.GIDText(f.GIDs[0]), state, physical, host.RateText(f))
		}
	})
	return 0
}
