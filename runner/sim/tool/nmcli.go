package tool

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runNmcli is NetworkManager's tool, as far as scripts ask it: -g FIELDS with
// "general", "device show NAME" and "connection show NAME".
func runNmcli(_ context.Context, c *host.Call) int {
	args := c.Args[1:]
	if len(args) < 3 || args[0] != "-g" {
		return c.Fail(2, "Error: only nmcli -g FIELDS is simulated.")
	}
	fields, object := strings.Split(args[1], ","), args[2]
	name := ""
	if len(args) > 4 && args[3] == "show" {
		name = args[4]
	}
	code := 0
	c.Locked(func() {
		values, ok := managed(c.Node, object, name)
		switch {
		case !ok && object == "device":
			code = c.Fail(10, "Error: Device '%s' not found.", name)
		case !ok:
			code = c.Fail(10, "Error: %s - no such connection profile.", name)
		}
		for _, f := range fields {
			if ok {
				c.Println(values[f])
			}
		}
	})
	return code
}

// managed is what NetworkManager says of a device or a profile.
func managed(n *host.Node, object, name string) (values map[string]string, ok bool) {
	if strings.HasPrefix("general", object) {
		return map[string]string{"RUNNING": "running"}, true
	}
	d := n.Netdev(name)
	if d == nil || d.Kind == "loopback" {
		return nil, false
	}
	address, saved := n.Profiles[name]
	if object == "device" || object == "dev" {
		switch {
		case !d.Running():
			return map[string]string{"GENERAL.STATE": "20 (unavailable)"}, true
		case saved:
			return map[string]string{"GENERAL.STATE": "100 (connected)", "GENERAL.CONNECTION": name}, true
		default:
			return map[string]string{"GENERAL.STATE": "100 (connected (externally))", "GENERAL.CONNECTION": name}, true
		}
	}
	if !saved {
		address = d.IPv4().String()
	}
	return map[string]string{"ipv4.method": "manual", "ipv4.addresses": address}, true
}
