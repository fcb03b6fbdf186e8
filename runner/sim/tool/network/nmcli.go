package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// MuteManager nodes have a NetworkManager that runs and doesn't answer on D-Bus.
const MuteManager host.Flaw = "NetworkManager does not answer"

// runNmcli is NetworkManager's tool, as far as scripts ask it: -g FIELDS with
// "general", "device show NAME" and "connection show NAME".
func runNmcli(_ context.Context, c *host.Call) int {
	args, mute := c.Args[1:], false
	c.Locked(func() { mute = c.Node.Flawed(MuteManager) })
	// What is asked over D-Bus isn't answered, and nmcli takes that for not running: status 8.
	if mute {
		return c.Fail(8, "Error: NetworkManager is not running.")
	}
	if len(args) > 2 && (args[0] == "--wait" || args[0] == "-w") {
		args = args[2:] // all that is simulated is done at once
	}
	if len(args) > 1 && (strings.HasPrefix("device", args[0]) || args[0] == "connection") && args[1] != "show" {
		return nmcliDo(c, args[0], args[1], args[2:])
	}
	if len(args) > 2 && args[0] == "-e" && args[1] == "no" {
		args = args[2:] // no simulated name has a colon
	}
	if len(args) >= 4 && args[0] == "-t" && args[1] == "-f" {
		return nmcliTable(c, strings.Split(args[2], ","), args[3:])
	}
	if len(args) == 3 && args[0] == "-g" && args[2] == "connection" {
		return nmcliTable(c, strings.Split(args[1], ","), args[2:])
	}
	if len(args) < 3 || args[0] != "-g" {
		return c.Fail(2, "Error: only nmcli -g FIELDS and nmcli -t -f FIELDS are simulated.")
	}
	return nmcliGet(c, strings.Split(args[1], ","), args)
}

// nmcliDevice is the device that something is done to.
func nmcliDevice(object, verb string, args []string) string {
	switch {
	case object == "connection" && verb == "up":
		if i := slices.Index(args, "ifname"); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
	case object != "connection" && len(args) > 0:
		return args[0]
	}
	return ""
}

// nmcliDo is what asks NetworkManager to do something: to leave a device alone or take it, to
// start a profile on it, to stop it, to change a route's metric.
// The statuses are nmcli(1)'s: 2 for a wrong command line, 4 for a connection that can't be started, 10 for
// what isn't there.
func nmcliDo(c *host.Call, object, verb string, args []string) (code int) {
	if !c.Root {
		return c.Fail(4, "Error: Failed to %s: Not authorized to control networking.", verb)
	}
	if object == "connection" && len(args) < 2 {
		return nmcliFiles(c, verb, args)
	}
	name := nmcliDevice(object, verb, args)
	c.Locked(func() {
		d := c.Node.Netdev(name)
		switch {
		case d == nil:
			code = c.Fail(10, "Error: Device '%s' not found.", name)
		// "connection up UUID ifname X": of the profiles only the interface's own is ever started.
		case object == "connection":
			c.Node.Activate(d)
		case verb == "set" && len(args) == 3 && args[1] == "managed":
			c.Node.LetGo[name] = args[2] == "no"
			delete(c.Node.Unmanaged, name) // a word of root's comes before the configuration's
			// Managed or unmanaged: Activate leaves an unmanaged interface alone.
			if d.Running() {
				c.Node.Activate(d)
			}
		// What the profile had set goes, and what another user has set stays.
		case verb == "disconnect":
			if p, err := netip.ParsePrefix(c.Node.Profiles[name]); err == nil {
				d.DelAddr(p)
			}
		case verb != "modify":
			code = c.Fail(2, "Error: argument '%s' not understood.", verb)
		}
	})
	return code
}

// nmcliGet is -g: the values of one thing, a line each.
func nmcliGet(c *host.Call, fields, args []string) int {
	object, name := args[2], ""
	if len(args) > 4 && args[3] == "show" {
		if name = args[4]; name == "uuid" && len(args) > 5 {
			name = args[5]
		}
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

// nmcliTable lists devices or profiles, a line each, or shows profiles, a property a line.
func nmcliTable(c *host.Call, fields, words []string) int {
	object, names := words[0], []string(nil)
	if len(words) > 2 && words[1] == "show" {
		names = words[2:]
	}
	c.Locked(func() {
		switch {
		case strings.HasPrefix("general", object):
			c.Println(strings.Join(valuesOf(map[string]string{
				"RUNNING": "running", "VERSION": "1.46.0", "STATE": "connected",
			}, fields), ":"))
			return
		case object != "device" && object != "connection":
			return
		}
		for i, d := range c.Node.Netdevs {
			if d.Kind == "loopback" {
				continue
			}
			if object == "device" {
				c.Println(strings.Join(valuesOf(deviceValues(c.Node, d.Name), fields), ":"))
				continue
			}
			for _, stray := range []bool{false, true} {
				profile, uuid := d.Name, profileUUID(i, stray)
				there := c.Node.Profiles[d.Name] != ""
				if stray {
					profile, there = c.Node.Strays[d.Name], c.Node.Strays[d.Name] != ""
				}
				switch {
				case !there:
				case names == nil:
					c.Println(strings.Join(valuesOf(map[string]string{"UUID": uuid, "NAME": profile}, fields), ":"))
				case slices.Contains(names, uuid):
					profileLines(c, fields, profile, d.Name)
				}
			}
		}
	})
	return 0
}

// profileUUID is by the interface's place, so that it is the same each time.
func profileUUID(i int, stray bool) string {
	if stray {
		return fmt.Sprintf("%08d-1111-4000-8000-%012d", i, i)
	}
	return fmt.Sprintf("%08d-0000-4000-8000-%012d", i, i)
}

// profileLines shows a profile, a property a line.
func profileLines(c *host.Call, fields []string, id, netdev string) {
	v := map[string]string{
		"connection.id": id, "connection.type": "802-3-ethernet", "connection.interface-name": netdev,
		"connection.autoconnect": "yes",
	}
	for _, f := range fields {
		c.Println(f + ":" + v[f])
	}
}

func valuesOf(v map[string]string, fields []string) (all []string) {
	for _, f := range fields {
		all = append(all, v[f])
	}
	return all
}

// deviceValues is a device as the list has it. Callers hold the rig's lock.
func deviceValues(n *host.Node, name string) map[string]string {
	v := map[string]string{"DEVICE": name}
	d, _ := managed(n, "device", name)
	// "100 (connected)" of one device is "connected" in the list.
	_, state, _ := strings.Cut(d["GENERAL.STATE"], " (")
	v["STATE"], v["CONNECTION"] = strings.TrimSuffix(state, ")"), d["GENERAL.CONNECTION"]
	v["CON-UUID"] = d["GENERAL.CON-UUID"]
	return v
}

// managed is what NetworkManager says of a device or a profile.
func managed(n *host.Node, object, name string) (values map[string]string, ok bool) {
	if strings.HasPrefix("general", object) {
		return map[string]string{"RUNNING": "running"}, true
	}
	for i, d := range n.Netdevs {
		switch {
		case object != "connection":
		case n.Strays[d.Name] != "" && (name == n.Strays[d.Name] || name == profileUUID(i, true)):
			return map[string]string{
				"connection.id": n.Strays[d.Name], "connection.autoconnect": "yes", "connection.interface-name": d.Name,
				"ipv4.method": "auto",
			}, true
		case name == profileUUID(i, false) && n.Keyfiles["netplan-"+d.Name] == nil:
			name = d.Name
		}
	}
	place := slices.IndexFunc(n.Netdevs, func(d *net.Netdev) bool { return d.Name == name })
	if place < 0 || n.Netdevs[place].Kind == "loopback" {
		return nil, false
	}
	if object == "device" || object == "dev" {
		return deviceState(n, place), true
	}
	address, saved := n.Profiles[name]
	if !saved {
		address = n.Netdevs[place].IPv4().String()
	}
	return map[string]string{
		"connection.id": name, "connection.autoconnect": "yes", "connection.interface-name": name,
		"ipv4.method": "manual", "ipv4.addresses": address, "802-3-ethernet.mtu": "auto",
	}, true
}

// deviceState is what NetworkManager says of an interface, by its place among all.
func deviceState(n *host.Node, place int) map[string]string {
	d := n.Netdevs[place]
	state, profile, stray := "100 (connected)", d.Name, false
	_, saved := n.Profiles[d.Name]
	switch {
	case n.Leaves(d.Name):
		return map[string]string{"GENERAL.STATE": "10 (unmanaged)"}
	// Without a carrier NetworkManager starts nothing on it.
	case !d.Running():
		return map[string]string{"GENERAL.STATE": "20 (unavailable)"}
	// A profile that netplan wrote goes before the interface's own.
	case n.Keyfiles["netplan-"+d.Name] != nil:
		profile = "netplan-" + d.Name
	case n.Strays[d.Name] != "":
		state, profile, stray = "70 (connecting (getting IP configuration))", n.Strays[d.Name], true
	case !saved:
		state = "100 (connected (externally))"
	}
	return map[string]string{
		"GENERAL.STATE": state, "GENERAL.CONNECTION": profile, "GENERAL.CON-UUID": profileUUID(place, stray),
	}
}
