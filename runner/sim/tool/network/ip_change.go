package network

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/net"
)

// What ip changes: addresses and links. The order of a command's words doesn't
// matter to the kernel, which does its parts in an order of its own.

// changeAddress adds, replaces, deletes or flushes. It looks in the real one's order: the words, the device,
// whether the user may, and then what the kernel has to say of the address.
func (ip *ipCall) changeAddress(verb string, args []string) int {
	if verb == "flush" && len(args) == 0 {
		return ip.Fail(1, "Flush requires arguments.")
	}
	dev, a, code := ip.parseAddress(args)
	if code != 0 {
		return code
	}
	d := ip.Node.Netdev(dev)
	switch {
	case dev == "":
		return ip.Fail(1, "Not enough information: \"dev\" argument is required.")
	case d == nil && verb == "flush":
		return ip.Fail(1, "Device \"%s\" does not exist.", dev)
	case d == nil:
		return ip.Fail(1, "Cannot find device \"%s\"", dev)
	// After what ip itself refuses: the kernel is asked last.
	case !ip.Root:
		return ip.denied()
	case verb == "flush":
		d.Flush(ip.wants)
		return 0
	case !a.IsValid():
		return ip.Fail(2, "RTNETLINK answers: Operation not supported")
	case strings.HasPrefix(verb, "a") || verb == "replace" || verb == "change":
		return ip.putAddress(d, a, verb)
	// The kernel finds an address by its length, too.
	case d.DelAddr(a.Prefix):
	case a.Addr().Is6():
		return ip.Fail(2, "Error: ipv6: address not found.")
	default:
		return ip.Fail(2, "Error: ipv4: Address not found.")
	}
	return 0
}

// putAddress gives an interface an address. Of one that is there only the lifetimes change,
// where the verb allows that.
func (ip *ipCall) putAddress(d *net.Netdev, a net.Address, verb string) int {
	switch {
	case d.Add(a):
	case (verb == "add" || verb == "a") && a.Addr().Is6():
		return ip.Fail(2, "Error: ipv6: address already assigned.")
	case verb == "add" || verb == "a":
		return ip.Fail(2, "Error: ipv4: Address already assigned.")
	default:
		// replace of an address renews its lifetimes: its place among the others, and so what is secondary, stays.
		old := &d.Addrs[d.Find(a.Prefix)]
		old.Dynamic, old.Valid, old.Preferred, old.Set = a.Dynamic, a.Valid, a.Preferred, a.Set
		if a.Addr().Is6() {
			old.NoDAD = a.NoDAD
		}
	}
	return 0
}

// parseAddress reads the words of an address, and the interface; code is 0 where they can be read.
func (ip *ipCall) parseAddress(args []string) (dev string, a net.Address, code int) {
	brd := ""
	a.Valid, a.Preferred, a.Set = math.MaxUint32, math.MaxUint32, ip.Node.Rack.Clock.Now()
	for len(args) > 0 {
		word, value := args[0], ""
		args = args[1:]
		if slices.Contains([]string{
			"dev", "brd", "broadcast", "scope", "label", "valid_lft", "preferred_lft",
			"metric", "priority", "local", "proto", "to",
		}, word) {
			if len(args) == 0 {
				return "", a, ip.Fail(255, "Command line is not complete. Try option \"help\"")
			}
			value, args = args[0], args[1:]
		}
		switch word {
		case "dev":
			dev = value
		case "brd", "broadcast":
			brd = value
		default:
			if code = ip.addressWord(&a, word, value); code != 0 {
				return "", a, code
			}
		}
	}
	switch {
	case a.Valid == 0:
		return "", a, ip.Fail(1, "valid_lft is zero")
	case a.Valid < a.Preferred:
		return "", a, ip.Fail(1, "preferred_lft is greater than valid_lft")
	}
	// As the kernel has it: what isn't valid for ever isn't permanent.
	a.Dynamic = a.Valid != math.MaxUint32
	switch {
	case brd == "+":
		a.Broadcast = net.BroadcastOf(a.Prefix)
	case brd != "" && brd != "-":
		var err error
		if a.Broadcast, err = netip.ParseAddr(brd); err != nil {
			return "", a, ip.Fail(1, "Error: any valid address is expected rather than \"%s\".", brd)
		}
	}
	return dev, a, 0
}

// addressWord takes one word of an address, with its value.
// What nothing on the rig depends on is taken and forgotten, as "metric" and the marks that ip addr show
// prints: a line of it can be given back.
func (ip *ipCall) addressWord(a *net.Address, word, value string) (code int) {
	switch word {
	case "scope":
		a.Scope = value
	case "label":
		a.Label = value
	case "valid_lft", "preferred_lft":
		seconds := uint64(math.MaxUint32)
		if value != "forever" {
			var err error
			if seconds, err = strconv.ParseUint(value, 10, 32); err != nil {
				return ip.Fail(255, "Error: argument \"%s\" is wrong: %s value", value, word)
			}
		}
		*map[string]*uint32{"valid_lft": &a.Valid, "preferred_lft": &a.Preferred}[word] = uint32(seconds)
	case "noprefixroute":
		a.NoPrefixRoute = true
	case "nodad":
		a.NoDAD = true
	case "metric", "priority", "proto", "home", "mngtmpaddr", "permanent", "dynamic", "secondary", "primary":
	case "local", "to":
		a.Prefix, code = ip.parsePrefix(value)
	default:
		a.Prefix, code = ip.parsePrefix(word)
	}
	return code
}

// parsePrefix reads an address with or without the length of its network.
func (ip *ipCall) parsePrefix(text string) (netip.Prefix, int) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, 0
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, ip.Fail(1, "Error: any valid prefix is expected rather than \"%s\".", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), 0
}

// A linkChange is what "ip link set" or "ip link add" was asked for.
// An mtu of 0 and what is empty or nil was not asked for.
type linkChange struct {
	name, master  string
	up, down, out bool // out of its master
	mtu           int
	mac           *[6]byte
	kind          string
	mode, policy  string
	miimon        int // -1 where it isn't set
	active        string
}

// parseLink reads the words of a link that is set or added.
func (ip *ipCall) parseLink(args []string) (c linkChange, code int) {
	c.miimon = -1
	takesValue := []string{"dev", "name", "mtu", "address", "master", "type", "txqueuelen", "alias", "group"}
	for len(args) > 0 {
		word, value := args[0], ""
		args = args[1:]
		if slices.Contains(takesValue, word) {
			if len(args) == 0 {
				return c, ip.Fail(255, "Command line is not complete. Try option \"help\"")
			}
			value, args = args[0], args[1:]
		}
		if word == "type" {
			// The rest is the type's own.
			c.kind = value
			return c, ip.parseBond(&c, args)
		}
		if code := ip.linkWord(&c, word, value); code != 0 {
			return c, code
		}
	}
	return c, 0
}

// linkWord takes one word of a change of a link, with its value.
func (ip *ipCall) linkWord(c *linkChange, word, value string) (code int) {
	switch word {
	case "dev", "name":
		c.name = value
	case "up":
		c.up = true
	case "down":
		c.down = true
	case "nomaster":
		c.out = true
	case "master":
		c.master = value
	case "mtu":
		var err error
		if c.mtu, err = strconv.Atoi(value); err != nil || c.mtu < 0 {
			return ip.Fail(255, "Error: argument \"%s\" is wrong: Invalid \"mtu\" value", value)
		}
	case "address":
		mac, ok := parseMAC(value)
		if !ok {
			return ip.Fail(1, "\"%s\" is invalid lladdr.", value)
		}
		c.mac = &mac
	case "txqueuelen", "alias", "group":
	default:
		if c.name != "" {
			return ip.Fail(255, "Error: either \"dev\" is duplicate, or \"%s\" is a garbage.", word)
		}
		c.name = word
	}
	return 0
}

// parseMAC reads six bytes with colons.
func parseMAC(text string) (mac [6]byte, ok bool) {
	parts := strings.Split(text, ":")
	for i, p := range parts {
		b, err := strconv.ParseUint(p, 16, 8)
		if err != nil || i > 5 {
			return mac, false
		}
		mac[i] = byte(b)
	}
	return mac, len(parts) == 6
}

// oneOf finds a name or its number.
func oneOf(names []string, text string) (string, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < len(names) {
		return names[n], true
	}
	return text, slices.Contains(names, text)
}

// parseBond reads what follows "type bond", which comes in pairs.
func (ip *ipCall) parseBond(c *linkChange, args []string) int {
	if c.kind != "bond" {
		return 0
	}
	for ; len(args) > 0; args = args[2:] {
		word := args[0]
		if len(args) == 1 {
			return ip.Fail(255, "Command line is not complete. Try option \"help\"")
		}
		value := args[1]
		ok := true
		switch word {
		case "mode":
			if c.mode, ok = oneOf(net.BondModes, value); !ok {
				return ip.Fail(255, "Error: argument \"%s\" is wrong: invalid mode", value)
			}
		case "xmit_hash_policy":
			if c.policy, ok = oneOf(net.BondPolicies, value); !ok {
				return ip.Fail(255, "Error: argument \"%s\" is wrong: invalid xmit_hash_policy", value)
			}
		case "miimon":
			var err error
			if c.miimon, err = strconv.Atoi(value); err != nil || c.miimon < 0 {
				return ip.Fail(255, "Error: argument \"%s\" is wrong: invalid miimon", value)
			}
		case "active_slave":
			c.active = value
		case "updelay", "downdelay", "use_carrier", "primary_reselect", "fail_over_mac",
			"lacp_rate", "ad_select", "min_links", "resend_igmp", "num_grat_arp", "all_slaves_active",
			"lp_interval", "packets_per_slave", "tlb_dynamic_lb", "lacp_active", "peer_notify_delay":
			// Nothing that is simulated depends on them.
		default:
			return ip.Fail(255, "bond: unknown command \"%s\"?", word)
		}
	}
	return 0
}

// setLink does nothing where a word or a device is wrong; of parts that the kernel refuses those before it stay
// done.
func (ip *ipCall) setLink(args []string) int {
	c, code := ip.parseLink(args)
	if code != 0 {
		return code
	}
	if c.name == "" {
		return ip.Fail(255, "Not enough information: \"dev\" argument is required.")
	}
	d := ip.Node.Netdev(c.name)
	if d == nil {
		return ip.Fail(1, "Cannot find device \"%s\"", c.name)
	}
	var master *net.Netdev
	if c.master != "" {
		if master = ip.Node.Netdev(c.master); master == nil {
			return ip.Fail(255, "Error: argument \"%s\" is wrong: Device does not exist", c.master)
		}
	}
	if !ip.Root {
		return ip.denied()
	}
	// One after the other, whatever the order of the words: an interface that is taken down and
	// given a master in one command gets it.
	for _, part := range []func() int{
		func() int { return ip.setBond(d, c) },
		func() int { return ip.setAddress(d, c) },
		func() int { return ip.setMTU(d, c) },
		func() int {
			if c.down {
				d.SetUp(false)
			}
			return 0
		},
		func() int { return ip.setMaster(d, master, c.out) },
		func() int {
			if c.up {
				d.SetUp(true)
			}
			return 0
		},
	} {
		if code := part(); code != 0 {
			return code
		}
	}
	ip.Node.Rack.Fabric.Allocate()
	return 0
}

// setBond is "type bond" of a bond that is there.
func (ip *ipCall) setBond(d *net.Netdev, c linkChange) int {
	switch {
	case c.kind == "":
		return 0
	case d.Bond == nil || c.kind != "bond":
		return ip.Fail(2, "RTNETLINK answers: Operation not supported")
	// The driver's own checks (bond_options.c): a mode changes only on a bond that is down and
	// empty.
	case c.mode != "" && len(d.Slaves()) > 0:
		return ip.Fail(2, "Error: unable to set option because the bond device has slaves.")
	case c.mode != "" && d.Up:
		return ip.Fail(2, "Error: unable to set option because the bond is up.")
	}
	// Up to now all has flowed by the old mode and policy.
	ip.Node.Rack.Fabric.Advance()
	if c.active != "" {
		s := ip.Node.Netdev(c.active)
		if s == nil || s.Master != d || !net.UsesPrimary(d.Bond.Mode) {
			// Only a slave can be the active one, and only in a mode that has one (bond_option_active_slave_set).
			return ip.Fail(2, "RTNETLINK answers: Invalid argument")
		}
		d.Bond.Active = s
	}
	c.bond(d.Bond)
	return 0
}

// bond sets what was asked for.
func (c linkChange) bond(b *net.BondState) {
	if c.mode != "" {
		b.Mode = c.mode
	}
	if c.policy != "" {
		b.Policy = c.policy
	}
	if c.miimon >= 0 {
		b.Miimon = c.miimon
	}
}

func (ip *ipCall) setAddress(d *net.Netdev, c linkChange) int {
	switch {
	case c.mac == nil:
		return 0
	// A multicast address, or none: is_valid_ether_addr.
	case c.mac[0]&1 != 0 || *c.mac == [6]byte{}:
		return ip.Fail(2, "RTNETLINK answers: Cannot assign requested address")
	}
	if d.Bond != nil {
		d.Bond.Given = true
	}
	d.SetMAC(*c.mac)
	return 0
}

func (ip *ipCall) setMTU(d *net.Netdev, c linkChange) int {
	switch {
	case c.mtu == 0:
		return 0
	case c.mtu < d.MinMTU():
		return ip.Fail(2, "Error: mtu less than device minimum.")
	case d.MaxMTU() > 0 && c.mtu > d.MaxMTU():
		return ip.Fail(2, "Error: mtu greater than device maximum.")
	// A bond's slaves follow it.
	case slices.ContainsFunc(d.Slaves(), func(s *net.Netdev) bool { return c.mtu > s.MaxMTU() }):
		return ip.Fail(2, "RTNETLINK answers: Invalid argument")
	}
	d.SetMTU(c.mtu)
	return 0
}

// setMaster makes an interface a slave, or lets it go. Only an Ethernet interface that is down can become one.
func (ip *ipCall) setMaster(d, master *net.Netdev, out bool) int {
	switch {
	case out && d.Master != nil:
		d.Release()
		return 0
	case master == nil || d.Master == master:
		return 0
	case master.Bond == nil:
		return ip.Fail(2, "RTNETLINK answers: Operation not supported")
	case master == d:
		return ip.Fail(2, "Error: Cannot enslave bond to itself.")
	case d.Kind != "ether":
		return ip.Fail(2, "RTNETLINK answers: Invalid argument")
	}
	// It leaves its old master before the new one looks at it; being released takes it down.
	if d.Master != nil {
		d.Release()
	}
	if d.Up {
		return ip.Fail(2, "Error: Device can not be enslaved while up.")
	}
	d.Enslave(master)
	return 0
}

// addLink makes bonds and nothing else. One without a name gets the first that is free, bond0 on.
func (ip *ipCall) addLink(args []string) int {
	c, code := ip.parseLink(args)
	switch {
	case code != 0:
		return code
	case c.kind == "":
		return ip.Fail(255, "Not enough information: \"type\" argument is required")
	case c.kind != "bond":
		return ip.Fail(2, "Error: Unknown device type.")
	case !ip.Root:
		return ip.denied()
	}
	// The kernel loads the driver of a type that it lacks, with its options.
	ip.Node.LoadBonding(-1)
	if c.name == "" {
		for i := 0; c.name == "" || ip.Node.Netdev(c.name) != nil; i++ {
			c.name = "bond" + strconv.Itoa(i)
		}
	}
	if ip.Node.Netdev(c.name) != nil {
		return ip.Fail(2, "RTNETLINK answers: File exists")
	}
	// The driver's defaults, which a user who names no mode gets without a message.
	state := net.BondState{Mode: "balance-rr", Policy: "layer2"}
	c.bond(&state)
	d := ip.Node.NewBond(c.name, state)
	for _, part := range []int{ip.setAddress(d, c), ip.setMTU(d, c)} {
		if part != 0 {
			ip.Node.DeleteBond(c.name)
			return part
		}
	}
	if c.up {
		d.SetUp(true)
	}
	return 0
}

func (ip *ipCall) deleteLink(args []string) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ip.Fail(255, "Not enough information: \"dev\" argument is required.")
	}
	d := ip.Node.Netdev(args[0])
	switch {
	case d == nil:
		return ip.Fail(1, "Cannot find device \"%s\"", args[0])
	case !ip.Root:
		return ip.denied()
	case d.Bond == nil:
		return ip.Fail(2, "RTNETLINK answers: Operation not supported")
	}
	ip.Node.DeleteBond(d.Name)
	ip.Node.Rack.Fabric.Allocate()
	return 0
}
