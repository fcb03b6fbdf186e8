package network

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// Profiles that NetworkManager reads from files, and what it makes of them.

// nmcliFiles is what asks for profiles that stand in files, by their names.
func nmcliFiles(c *host.Call, verb string, args []string) (code int) {
	c.Locked(func() {
		switch {
		case verb == "reload" && len(args) == 0:
			code = nmReload(c)
		case verb == "up" && len(args) == 1:
			code = nmUp(c, args[0])
		default:
			code = c.Fail(2, "Error: argument '%s' not understood.", verb)
		}
	})
	return code
}

// nmReload reads the files of the folder where netplan writes them: a profile whose file is gone
// is gone, too.
func nmReload(c *host.Call) int {
	n := c.Node
	clear(n.Keyfiles)
	dir, _, err := n.Walk(host.KeyfileDir, true, true)
	if err != nil {
		return 0
	}
	for _, name := range dir.Names() {
		text, err := n.ReadFile(host.KeyfileDir+"/"+name, true)
		if err != nil || !strings.HasSuffix(name, ".nmconnection") {
			continue
		}
		k, section := host.Keyfile{}, ""
		for line := range strings.Lines(text) {
			// netplan writes "slave-type=bond #wokeignore:rule=slave".
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			if strings.HasPrefix(line, "[") {
				section = strings.Trim(line, "[]")
			} else if key, value, ok := strings.Cut(line, "="); ok {
				k[section+"."+key] = value
			}
		}
		n.Keyfiles[k["connection.id"]] = k
	}
	return 0
}

// nmUp starts a profile that was read from a file.
func nmUp(c *host.Call, id string) int {
	k, ok := c.Node.Keyfiles[id]
	if !ok {
		return c.Fail(10, "Error: unknown connection '%s'.", id)
	}
	name, master := k["connection.interface-name"], k["connection.master"]
	d := c.Node.Netdev(name)
	switch {
	case k["connection.type"] == "bond":
		return nmBond(c, k, d)
	case d == nil:
		return c.Fail(4, "Error: Connection activation failed: No suitable device found for this connection.")
	case c.Node.Leaves(name):
		return c.Fail(4, "Error: Connection activation failed: No suitable device found for this connection "+
			"(device %s not available because device is strictly unmanaged).", name)
	case master == "":
		c.Node.Activate(d)
		return 0
	}
	b := c.Node.Netdev(master)
	if b == nil || b.Bond == nil {
		return c.Fail(4, "Error: Connection activation failed: Master connection not found.")
	}
	if d.Master == b {
		return 0
	}
	// A slave has no address of its own; it must be down to be taken, and its bond keeps the MTU of its profile.
	d.Flush(netip.Addr.IsValid)
	d.SetUp(false)
	mtu := b.MTU
	d.Enslave(b)
	b.SetMTU(mtu)
	return 0
}

// nmBond makes a bond, or sets up the one that is there.
func nmBond(c *host.Call, k host.Keyfile, b *net.Netdev) int {
	n := c.Node
	miimon, _ := strconv.Atoi(k["bond.miimon"]) // none is 0, as the driver has it
	if b == nil {
		// NetworkManager loads the driver with max_bonds=0 by itself: no one has asked for a bond0.
		n.LoadBonding(0)
		b = n.NewBond(k["connection.interface-name"], net.BondState{})
	}
	// The driver takes another mode as long as it holds no one.
	if b.Bond != nil && len(b.Slaves()) == 0 {
		b.SetUp(false)
		b.Bond.Mode, b.Bond.Policy, b.Bond.Miimon = k["bond.mode"], k["bond.xmit_hash_policy"], miimon
	}
	if mtu, err := strconv.Atoi(k["ethernet.mtu"]); err == nil {
		b.SetMTU(mtu)
	}
	b.SetUp(true)
	if p, err := netip.ParsePrefix(k["ipv4.address1"]); err == nil {
		b.AddAddr(p)
	}
	return 0
}
