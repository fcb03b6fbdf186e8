package rdma

import (
	"context"
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/network"
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
	object, only := rdmaQuestion(rest)
	code := 0
	c.Locked(func() {
		var items []network.JSONObject
		var lines []string
		for _, f := range c.Node.Present() {
			if only != "" && only != f.Dev {
				continue
			}
			switch {
			// Words may be shortened, as ip's.
			case strings.HasPrefix("link", object):
				item, line := rdmaLink(f, set.Has("d"))
				items, lines = append(items, item), append(lines, line)
			case strings.HasPrefix("dev", object):
				item, line := rdmaDev(f)
				items, lines = append(items, item), append(lines, line)
			case strings.HasPrefix("system", object):
				lines = []string{"netns shared copy-on-fork on"}
			default:
				code = c.Fail(1, "Unknown argument \"%s\".", object)
				return
			}
		}
		switch {
		case len(lines) == 0 && only != "":
			code = c.Fail(1, "Wrong device name\nFailed to find device \"%s\"", only)
		case set.Has("j"):
			c.Println(network.JSONArray(items, set.Has("p")))
		default:
			for _, l := range lines {
				c.Println(l)
			}
		}
	})
	return code
}

// rdmaQuestion is the object and the device that are asked for.
func rdmaQuestion(words []string) (object, only string) {
	if len(words) == 0 {
		return "help", ""
	}
	for _, a := range words[1:] {
		if a != "show" && a != "list" {
			only = strings.TrimSuffix(a, "/1")
		}
	}
	return words[0], only
}

// rdmaLink is a port, in JSON and as a line.
func rdmaLink(f *net.Function, details bool) (network.JSONObject, string) {
	state, physical := "ACTIVE", "LINK_UP"
	switch {
	// Switched off the port is disabled; without a carrier it goes on looking for one.
	case !f.Netdev.Up:
		state, physical = "DOWN", "DISABLED"
	case !f.Live():
		state, physical = "DOWN", "POLLING"
	}
	line := fmt.Sprintf("link %s/1 state %s physical_state %s netdev %s ", f.Dev, state, physical, f.Netdev.Name)
	if details {
		line += fmt.Sprintf("netdev_index %d ", f.Netdev.Index)
	}
	return network.JSONObject{
		{"ifindex", f.No},
		{"ifname", f.Dev},
		{"port", 1},
		{"state", state},
		{"physical_state", physical},
		{"netdev", f.Netdev.Name},
		{"netdev_index", f.Netdev.Index},
	}, line
}

// rdmaDev is a device, in the same way.
func rdmaDev(f *net.Function) (network.JSONObject, string) {
	line := fmt.Sprintf("%d: %s: node_type ca fw 28.45.4028 node_guid %s sys_image_guid %s ",
		f.No, f.Dev, f.GUID(), f.SystemGUID().GUID())
	return network.JSONObject{
		{"ifindex", f.No},
		{"ifname", f.Dev},
		{"node_type", "ca"},
		{"fw", "28.45.4028"},
		{"node_guid", f.GUID()},
		{"sys_image_guid", f.SystemGUID().GUID()},
	}, line
}
