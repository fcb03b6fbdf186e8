package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// The programs that show RDMA devices: of ibverbs-utils, infiniband-diags,
// iproute2 and NVIDIA's mlnx-tools.

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
