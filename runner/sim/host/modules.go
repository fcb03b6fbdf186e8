package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/net"
)

// LoadBonding loads the driver, which makes maxBonds bonds at once, or, where that is negative, as many as
// modprobe's configuration says.
func (n *Node) LoadBonding(maxBonds int) {
	if slices.Contains(n.Modules, "bonding") {
		return
	}
	n.Modules = append(n.Modules, "bonding")
	n.Changed()
	if maxBonds < 0 {
		maxBonds = n.configuredBonds()
	}
	for i := range maxBonds {
		if name := fmt.Sprint("bond", i); n.Netdev(name) == nil {
			// The driver's defaults: balance-rr and layer2.
			n.NewBond(name, net.BondState{Mode: "balance-rr", Policy: "layer2"})
		}
	}
}

// UnloadBonding takes all bonds away with the driver: it has no users that would
// keep it.
func (n *Node) UnloadBonding() {
	for _, d := range slices.Clone(n.Netdevs) {
		if d.Bond != nil {
			n.DeleteBond(d.Name)
		}
	}
	// A network that isn't a bond's is not affected: only bonds use the driver.
	n.Modules = slices.DeleteFunc(n.Modules, func(m string) bool { return m == "bonding" })
	n.Changed()
}

// configuredBonds is what modprobe's configuration says: systemd's file says that
// there are none, and without it the driver makes one.
func (n *Node) configuredBonds() int {
	// max_bonds' default in drivers/net/bonding/bond_main.c. /etc comes after /usr/lib, and the
	// last line that says something counts.
	bonds := 1
	for _, dir := range []string{"/usr/lib/modprobe.d", "/etc/modprobe.d"} {
		i, _, err := n.Lookup(dir, true)
		if err != nil {
			continue
		}
		for _, name := range i.Names() {
			text, _ := n.ReadFile(dir+"/"+name, true)
			for line := range strings.Lines(text) {
				words := strings.Fields(line)
				if len(words) < 2 || words[0] != "options" || words[1] != "bonding" {
					continue
				}
				for _, w := range words[2:] {
					if v, ok := strings.CutPrefix(w, "max_bonds="); ok {
						bonds, _ = strconv.Atoi(v)
					}
				}
			}
		}
	}
	return bonds
}
