package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// kept are a node's addresses that have to be there after a reboot: those of its rails, and
// those of the bonds that hold rails.
func kept(node steps.Node) (all []keptAddr) {
	bonds := map[string]bool{}
	for _, rail := range node.Rails {
		if rail.Netdev.Master != "" {
			bonds[rail.Netdev.Master] = true
		} else if rail.Addr != "" {
			all = append(all, keptAddr{rail.Netdev, rail.Addr})
		}
	}
	for _, dev := range node.Netdevs {
		for _, cidr := range dev.Addrs {
			if p, err := netip.ParsePrefix(cidr); err == nil && p.Addr().Is4() && bonds[dev.Name] && dev.BondMode != "" {
				all = append(all, keptAddr{dev, p.Addr().String()})
			}
		}
	}
	return all
}

// none is what was looked at in vain, of a list with blanks.
func none(list string) string { return strings.Join(strings.Fields(list), " or ") }

type keptAddr struct {
	dev  steps.Netdev
	addr string
}

func (k keptAddr) String() string { return k.dev.Name + "=" + k.addr }

// gone says what a reboot takes with an address, and what makes it last.
func (k keptAddr) gone(node, by string) string {
	if k.dev.BondMode != "" {
		return fmt.Sprintf("%s with %s on %s is in no configuration of %s, and gone after a reboot: the rails have "+
			"their own addresses again. The cell netplan shows the file that makes it last", k.dev.Name, k.addr, node, none(by))
	}
	return fmt.Sprintf("%s of %s on %s is in no configuration of %s, and gone after a reboot. nmcli "+
		"connection modify, or a file in /etc/netplan, makes it last", k.addr, k.dev.Name, node, none(by))
}

// lost is the code of what gone says.
func (k keptAddr) lost() steps.Code {
	if k.dev.BondMode != "" {
		return steps.BondNotSaved
	}
	return steps.AddressNotSaved
}

// planKept gives the check the addresses that it asks for.
func planKept(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	for _, e := range steps.Ends {
		var own []string
		for _, k := range kept(rig.At(e)) {
			own = append(own, k.String())
		}
		p.Vars[e] = map[string]string{"OWN_IPS": strings.Join(own, " ")}
	}
	return p
}

// judgeRebootSafe: each rail's address, or its bond's, is in a configuration that a boot
// reads.
// An address in no file is SKIPPED, not WARN, where files were closed to this user: any of them may
// have it.
func judgeRebootSafe(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	saved, bonds, closed, without, mtus := 0, 0, "", 0, 0
	for _, e := range steps.Ends {
		node, f := rig.NameOf(e), facts[e]
		if said := f["netplan refuses"]; said != "" {
			rep.At(rig, e, steps.NetplanRefuses, steps.Warn, "netplan on %s does not take its own files (%s): at the next boot "+
				"nobody sets up what they say; sudo netplan generate tells more", node, said)
		}
		by := f["configured by"]
		rep.Show(node+" is configured by", registry.OrUnknown(by), "", nil)
		switch by {
		case "":
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell what configures its network", node)
			continue
		case "nothing":
			without++
			continue
		}
		for _, k := range kept(rig.At(e)) {
			where := f[k.String()+" is in"]
			rep.Show(fmt.Sprintf("%s %s of %s", node, k.addr, k.dev.Name), registry.OrUnknown(where), "", nil)
			switch {
			case where == "":
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells where %s has %s from", k.dev.Name, k.addr)
			case where != "nothing":
				saved++
				bonds += min(1, len(k.dev.BondMode))
			case f["does not answer"] != "":
				rep.At(rig, e, steps.ManagerSilent, steps.Inconclusive, "%s of %s on %s is in no file, and %s runs there and does "+
					"not answer: nothing shows whether it has a profile with it", k.addr, k.dev.Name, node, f["does not answer"])
			case f[k.String()+" only now"] != "":
				rep.At(rig, e, steps.NoAutoconnect, steps.Warn, "%s of %s on %s comes from %s, which no boot starts: it is in "+
					"memory alone, or has no autoconnect. nmcli connection modify NAME connection.autoconnect yes makes it last",
					k.addr, k.dev.Name, node,
					f[k.String()+" only now"])
			case !k.dev.Up || !k.dev.Carrier:
				// A profile is in force only with a link.
			case f["only root may read"] != "nothing":
				closed = fmt.Sprintf("%s of %s is in no configuration that this user may read on %s: only root reads %s",
					k.addr, k.dev.Name, node, registry.OrUnknown(f["only root may read"]))
			default:
				rep.At(rig, e, k.lost(), steps.Warn, "%s", k.gone(node, by))
			}
		}
		mtus += savedMTUs(rig, e, f, rep)
	}
	if without == 1 {
		unconfigured(rig, facts, rep)
	}
	var code steps.Code
	skipped := ""
	switch {
	case len(rep.Findings) > 0:
	case without == len(steps.Ends):
		code = steps.ManagerUnknown
		skipped = "Neither node has NetworkManager, systemd-networkd, netplan or ifupdown: where its addresses come from " +
			"is not known here."
	case closed != "":
		code = steps.NeedsRoot
		skipped = registry.Sentences([]string{registry.Capital(closed)})
	case saved == 0:
		code = steps.CannotRun
		skipped = "No rail with a link has an address on a node that something configures."
	}
	of := "rails"
	if bonds > 0 {
		of = "rails and their bonds"
	}
	lead := fmt.Sprintf("%s of %s come from a configuration, and are there again after a reboot",
		registry.Count(saved, "address", "addresses"), of)
	if mtus > 0 {
		lead += fmt.Sprintf("; so are the MTUs of %s", registry.Count(mtus, "interface", "interfaces"))
	}
	v := rep.Verdict(lead)
	if skipped != "" {
		v.Grade, v.Code, v.Reason = steps.Skipped, code, skipped
	}
	return v
}

// bootMTU is what an interface of Ethernet has after a boot where nothing says another.
const bootMTU = 1500

// savedMTUs is how many of a node's interfaces have an MTU of their own that a configuration
// gives them again after a boot. Where none does, or another one, the report says so.
// The script prints "9000 in FILE", "none", or "unclear in FILE" where a file has an MTU and the
// interface, and not plainly one for the other.
func savedMTUs(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) (saved int) {
	node := rig.NameOf(e)
	lost := map[int][]string{} // interfaces, by the MTU that they lose
	for _, k := range kept(rig.At(e)) {
		name := k.dev.Name
		now, known := strictnum.Count(f[name+" MTU"])
		text := f[name+" saved MTU"]
		if !known || text == "" {
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells the MTU of %s on %s, now or after a boot", name,
				node)
			continue
		}
		rep.Show(fmt.Sprintf("%s %s MTU after a boot", node, name), text, "",
			&steps.Expected{From: fmt.Sprintf("%d bytes now", now)})
		value, where, _ := strings.Cut(text, " in ")
		bytes, given := strictnum.Count(value)
		// What NetworkManager configures gets its MTU from the profile, and from no file.
		closed := f["only root may read"] != "nothing" && !strings.HasPrefix(f[k.String()+" is in"], "the profile ")
		switch {
		case value == "unclear" || text == "none" && closed: // nobody can tell, which the evidence says
		case given && bytes == now:
			saved++
		case given:
			rep.At(rig, e, steps.BootMTUDiffers, steps.Warn, "%s on %s has an MTU of %d bytes now and gets %d at a boot (%s): "+
				"set both alike, at both ends", name, node, now, bytes, where)
		case now != bootMTU:
			lost[now] = append(lost[now], name)
		}
	}
	for _, mtu := range slices.Sorted(maps.Keys(lost)) {
		rep.At(rig, e, steps.MTUNotSaved, steps.Warn, "the MTU of %d bytes of %s on %s is in no configuration of %s, and %d "+
			"again after a reboot. nmcli connection modify PROFILE 802-3-ethernet.mtu %d, or mtu: %d in /etc/netplan, makes it "+
			"last",
			mtu, registry.And(lost[mtu]), node, none(f["configured by"]), bootMTU, mtu, mtu)
	}
	return saved
}

// unconfigured adds a finding about a node whose rails have addresses that nothing known
// gives them, while the other node tells where its are from.
func unconfigured(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	for _, e := range steps.Ends {
		if facts[e]["configured by"] == "nothing" && len(kept(rig.At(e))) > 0 {
			rep.At(rig, e, steps.ManagerUnknown, steps.Inconclusive, "where %s has its rails' addresses from is not known: it "+
				"has no NetworkManager, systemd-networkd, netplan or ifupdown", rig.NameOf(e))
		}
	}
}
