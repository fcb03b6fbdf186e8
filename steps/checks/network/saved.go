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
		return fmt.Sprintf("%s (%s) on %s is not saved in %s: a reboot removes it. Save it with the file that railbench "+
			"run netplan prints", k.dev.Name, k.addr, node, none(by))
	}
	return fmt.Sprintf("%s of %s on %s is not saved in %s: a reboot removes it. Save it in a NetworkManager profile or "+
		"in /etc/netplan", k.addr, k.dev.Name, node, none(by))
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

// What is known of the addresses of rails and bonds: how many a configuration has, of rails and of bonds, and which may
// be in a file that was closed to this user.
type savedAddresses struct {
	saved, bonds int
	closed       string
}

// judge looks where an address is saved.
func (s *savedAddresses) judge(rig steps.Rig, e steps.End, f map[string]string, k keptAddr, rep *registry.Report) {
	node, where := rig.NameOf(e), f[k.String()+" is in"]
	rep.ShowAt(node, fmt.Sprintf("%s of %s is saved in", k.addr, k.dev.Name), registry.OrUnknown(where), "", nil)
	switch {
	case where == "":
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read which configuration sets %s of %s on %s",
			k.addr, k.dev.Name, node)
	case where != "nothing":
		s.saved++
		s.bonds += min(1, len(k.dev.BondMode))
	case f["does not answer"] != "":
		rep.At(rig, e, steps.ManagerSilent, steps.Inconclusive, "%s of %s on %s is in no file, and %s does not respond, "+
			"so its profiles are unknown", k.addr, k.dev.Name, node, f["does not answer"])
	case f[k.String()+" only now"] != "":
		rep.At(rig, e, steps.NoAutoconnect, steps.Warn, "%s of %s on %s comes from %s, which does not start at boot. "+
			"Run: nmcli connection modify NAME connection.autoconnect yes", k.addr, k.dev.Name, node, f[k.String()+" only "+
			"now"])
		rep.Explain("That profile is in memory only, or has no autoconnect")
	case !k.dev.Up || !k.dev.Carrier:
		// A profile is in force only with a link.
	case f["only root may read"] != "nothing":
		s.closed = fmt.Sprintf("%s of %s on %s is in no configuration that this user may read; only root reads %s", k.addr,
			k.dev.Name, node, registry.OrUnknown(f["only root may read"]))
	default:
		rep.At(rig, e, k.lost(), steps.Warn, "%s", k.gone(node, f["configured by"]))
		rep.Decide(fmt.Sprintf("%s %s of %s is saved in", node, k.addr, k.dev.Name))
	}
}

// judgeRebootSafe: each rail's address, or its bond's, is in a configuration that a boot
// reads.
// An address in no file is SKIPPED, not WARN, where files were closed to this user: any of them may
// have it.
func judgeRebootSafe(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	var s savedAddresses
	without, mtus := 0, 0
	for _, e := range steps.Ends {
		node, f := rig.NameOf(e), facts[e]
		if said := f["netplan refuses"]; said != "" {
			rep.At(rig, e, steps.NetplanRefuses, steps.Warn, "netplan on %s rejects its own files (%s), so the next boot "+
				"ignores them. Correct them, then run: sudo netplan generate", node, strings.TrimRight(said, ":. "))
		}
		by := f["configured by"]
		rep.ShowAt(node, "is configured by", registry.OrUnknown(by), "", nil)
		switch by {
		case "":
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read what configures the network on %s", node)
			continue
		case "nothing":
			without++
			continue
		}
		for _, k := range kept(rig.At(e)) {
			s.judge(rig, e, f, k, rep)
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
		skipped = "Neither node has NetworkManager, systemd-networkd, netplan or ifupdown, so what sets their addresses is " +
			"unknown."
	case s.closed != "":
		code = steps.NeedsRoot
		skipped = registry.Sentences([]string{registry.Capital(s.closed)})
	case s.saved == 0:
		code = steps.CannotRun
		skipped = "No rail with a link has an address that a configuration could set."
	}
	of := "rails"
	if s.bonds > 0 {
		of = "rails and their bonds"
	}
	lead := fmt.Sprintf("%s of %s are saved in a configuration and survive a reboot", registry.Count(s.saved, "address",
		"addresses"), of)
	if mtus > 0 {
		lead += fmt.Sprintf("; so do the MTUs of %s", registry.Count(mtus, "interface", "interfaces"))
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
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the MTU of %s on %s, now or after a boot", name,
				node)
			continue
		}
		rep.ShowAt(node, name+" MTU after a boot", text, "",
			&steps.Expected{From: fmt.Sprintf("%d bytes now", now)})
		value, where, _ := strings.Cut(text, " in ")
		bytes, given := strictnum.Count(value)
		// What NetworkManager configures gets its MTU from the profile, and from no file.
		closed := f["only root may read"] != "nothing" && !strings.HasPrefix(f[k.String()+" is in"], "the profile ")
		switch {
		case value == "unclear" || text == "none" && closed: // unknown, which the evidence says
		case given && bytes == now:
			saved++
		case given:
			rep.At(rig, e, steps.BootMTUDiffers, steps.Warn, "%s on %s has MTU %d now, but %d after a boot (%s). Set one MTU "+
				"in both places, at both ends", name, node, now, bytes, where)
			rep.Decide(fmt.Sprintf("%s %s MTU after a boot", node, name))
		case now != bootMTU:
			lost[now] = append(lost[now], name)
		}
	}
	for _, mtu := range slices.Sorted(maps.Keys(lost)) {
		rep.At(rig, e, steps.MTUNotSaved, steps.Warn, "a reboot resets MTU %d of %s on %s to %d. Save it: mtu: %d in "+
			"/etc/netplan", mtu, registry.List(lost[mtu]), node, bootMTU, mtu)
		rep.Explain("The MTU is in no configuration of %s. With NetworkManager: nmcli connection modify PROFILE "+
			"802-3-ethernet.mtu %d", none(f["configured by"]), mtu)
		rep.Decide(fmt.Sprintf("%s %s MTU after a boot", node, lost[mtu][0]))
	}
	return saved
}

// unconfigured adds a finding about a node whose rails have addresses that nothing known
// gives them, while the other node reports where its are from.
func unconfigured(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	for _, e := range steps.Ends {
		if facts[e]["configured by"] == "nothing" && len(kept(rig.At(e))) > 0 {
			rep.At(rig, e, steps.ManagerUnknown, steps.Inconclusive, "it is unknown what sets the addresses on %s: there is "+
				"no NetworkManager, systemd-networkd, netplan or ifupdown", rig.NameOf(e))
		}
	}
}
