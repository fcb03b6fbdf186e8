package network

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// What sets the rails up: which daemon manages them, what it leaves out, and what a boot
// waits for.

// A hold is how a rail's interface stands with the two daemons.
type hold struct {
	nm, profile, networkd string // their words for its state; empty where they don't know it
	master                string
	addresses             string
}

// holdOf reads the lines "DEV NetworkManager: STATE:PROFILE", which is nmcli's own form, and "DEV
// networkd: SETUP".
func holdOf(f map[string]string, netdev string) hold {
	h := hold{networkd: f[netdev+" networkd"]}
	if master := f[netdev+" is in"]; master != "none" {
		h.master = master
	}
	h.nm, h.profile, _ = strings.Cut(f[netdev+" NetworkManager"], ":")
	h.addresses = checks.Joined(checks.AddressesOf(f, netdev))
	return h
}

func has(state string) bool { return state != "" && state != "unmanaged" }

// by are the daemons that manage it.
func (h hold) by() (all []string) {
	if has(h.nm) {
		all = append(all, "NetworkManager")
	}
	if has(h.networkd) {
		all = append(all, "networkd")
	}
	return all
}

// judgeRailManagers: each rail has one manager at most, which gives it nothing that a bond
// has taken, and none leaves it out at the next boot.
func judgeRailManagers(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "addresses", rep) {
		return rep.Verdict()
	}
	var held, free int
	for _, e := range steps.Ends {
		node, f := rig.NameOf(e), facts[e]
		judgeDaemons(rig, e, f, rep)
		judgeOthers(rig, e, rep)
		for _, rail := range rig.At(e).Rails {
			h := holdOf(f, rail.Netdev.Name)
			by := h.by()
			rep.ShowAt(node, rail.Netdev.Name+" managed by", cmp.Or(registry.And(by), "no daemon"), "", nil)
			if len(by) == 0 {
				free++
				unstarted(rig, e, rail, f, rep)
				continue
			}
			held++
			judgeHold(rig, e, rail.Netdev.Name, h, f, rep)
			judgeProfiles(rig, e, rail.Netdev.Name, h, f, rep)
		}
	}
	switch {
	case held == 0 && len(rep.Findings) == 0:
		return rep.Verdict("no daemon manages a rail, so nothing overwrites settings made by hand")
	case free > 0:
		return rep.Verdict(fmt.Sprintf("%s managed by one daemon each, and %d by none", registry.Count(held, "rail is",
			"rails are"), free))
	}
	return rep.Verdict(fmt.Sprintf("every rail is managed by one daemon (%d on both nodes)", held))
}

// judgeDaemons: those that run answer and come again at the next boot, and no script of theirs
// takes interfaces back.
func judgeDaemons(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) {
	node := rig.NameOf(e)
	for _, daemon := range []string{"NetworkManager", "systemd-networkd"} {
		rep.ShowAt(node, daemon, registry.OrUnknown(f["daemon "+daemon]), "", nil)
		if f["daemon "+daemon] == "active" && strings.HasPrefix(f["at a boot "+daemon], "masked") {
			rep.At(rig, e, steps.ManagerMasked, steps.Warn, "%s on %s runs but is masked: after the next boot nothing sets up "+
				"its interfaces. Run: sudo systemctl unmask %s", daemon, node, daemon)
			rep.Decide(node + " " + daemon)
		}
	}
	// A daemon that runs and hangs shows in no state of systemd's: it has to be asked something.
	if said := f["answer NetworkManager"]; f["daemon NetworkManager"] == "active" && said != "running" {
		rep.At(rig, e, steps.ManagerSilent, steps.Warn, "NetworkManager on %s does not answer (nmcli: %s), so "+
			"railbench will not change the rails. Run: sudo systemctl restart NetworkManager", node,
			strings.TrimPrefix(strings.TrimRight(registry.OrUnknown(said), "."), "Error: "))
		rep.Explain("It is unknown which rails NetworkManager manages as long as it does not respond")
	}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if file, ok := strings.CutPrefix(key, "script "); ok {
			rep.ShowAt(node, file, f[key], "", nil)
			rep.At(rig, e, steps.DispatcherScript, steps.Warn, "a script on %s runs whenever an interface comes up (%s) and "+
				"may undo changes by railbench. Remove it, or exclude the rails from it", node, file)
			rep.Explain("%s: %s. Where it makes a daemon manage an interface again that railbench has released, the change is "+
				"rolled back", file, f[key])
			rep.Decide(node + " " + file)
		}
	}
}

// judgeOthers names the managers of rails that railbench can't ask to let one go.
func judgeOthers(rig steps.Rig, e steps.End, rep *registry.Report) {
	of, trouble := map[string][]string{}, map[string]string{}
	for _, rail := range rig.At(e).Rails {
		for _, m := range rail.Netdev.HeldBy() {
			if m.By != "NetworkManager" && m.By != "networkd" && !slices.Contains(of[m.By], rail.Netdev.Name) {
				of[m.By], trouble[m.By] = append(of[m.By], rail.Netdev.Name), m.Trouble
			}
		}
	}
	for _, by := range slices.Sorted(maps.Keys(of)) {
		rep.ShowAt(rig.NameOf(e), by, registry.And(of[by]), "", nil)
		rep.At(rig, e, steps.ManagerTrouble, steps.Warn, "%s on %s may manage %s, so railbench will not change the "+
			"interface: %s", by, rig.NameOf(e), registry.List(of[by]), trouble[by])
		rep.Decide(rig.NameOf(e) + " " + by)
	}
}

// judgeProfiles: at most one profile starts automatically on a rail, and it has finished.
func judgeProfiles(rig steps.Rig, e steps.End, netdev string, h hold, f map[string]string, rep *registry.Report) {
	var start []string
	for _, p := range profilesOf(f) {
		if (p.netdev == netdev || p.netdev == "any") && p.starts {
			start = append(start, p.name)
		}
	}
	// Where no connection.autoconnect-priority differs, its time stamps decide (nm-settings, timestamp).
	if len(start) > 1 {
		rep.At(rig, e, steps.ProfilesCompete, steps.Warn, "%d NetworkManager profiles start automatically on %s on %s "+
			"(%s). Keep one: nmcli connection modify NAME connection.autoconnect no", len(start), netdev, rig.NameOf(e),
			registry.List(start))
		rep.Explain("Unless one profile has a higher connection.autoconnect-priority, the one that was used last wins")
	}
	if strings.HasPrefix(h.nm, "connecting") {
		rep.At(rig, e, steps.ProfileUnfinished, steps.Warn, "NetworkManager on %s is still setting up %s (%s%s). Give the "+
			"profile a static address, or disable autoconnect", rig.NameOf(e), netdev, h.nm, orProfile(h.profile))
		rep.Explain("Without an answer by DHCP, NetworkManager starts over again and again, and each time removes " +
			"addresses that were set by hand")
	}
}

// judgeHold looks at a rail that a daemon manages.
func judgeHold(rig steps.Rig, e steps.End, netdev string, h hold, f map[string]string, rep *registry.Report) {
	node, by := rig.NameOf(e), registry.And(h.by())
	// A slave that NetworkManager has bonded itself has a profile with a master.
	own := slices.ContainsFunc(profilesOf(f), func(p profile) bool { return p.name == h.profile && p.master != "" })
	managed := node + " " + netdev + " managed by"
	switch {
	case len(h.by()) > 1:
		rep.Decide(managed)
		rep.At(rig, e, steps.SeveralManagers, steps.Warn, "%s on %s is managed by %s at the same time, and each overwrites "+
			"the other. Make it unmanaged in one of them", netdev, node, by)
		rep.Explain("Ways to leave an interface to one daemon: renderer in netplan, unmanaged-devices of NetworkManager, " +
			"Unmanaged=yes of networkd")
	case h.master != "" && h.addresses != "" && !own:
		rep.Decide(managed)
		rep.At(rig, e, steps.BondPortAddress, steps.Fail, "%s on %s is in %s, but %s gave it %s, and its route takes the "+
			"bond's packets. Create the bond again", netdev, node, h.master, by, h.addresses)
		rep.Explain("Run: railbench run bond-teardown bond-setup. bond-setup makes the links of a bond unmanaged first")
	case h.master != "" && has(h.nm) && !own:
		rep.Decide(managed)
		rep.At(rig, e, steps.BondPortManaged, steps.Warn, "%s on %s is in %s, but NetworkManager manages it (%s) and may "+
			"give it an address. Run: nmcli device set %s managed no", netdev, node, h.master, h.nm, netdev)
		rep.Explain("NetworkManager gives %s an address as soon as its link comes up again%s. nmcli device set lasts until "+
			"the next boot", netdev, orProfile(h.profile))
	}
}

func orProfile(name string) string {
	if name == "" {
		return ""
	}
	return ", profile " + name
}

// A profile is one of NetworkManager's. netdev is "any" where each Ethernet interface may have it, "some" where it
// names none and is for others, or for those that have its MAC or fit its pattern. master is empty where it is not a
// bond's.
type profile struct {
	name, netdev, master string
	starts               bool
}

// profilesOf reads lines "profile 1: enp1s0f0np0 starts=yes master= netplan-enp1s0f0np0".
func profilesOf(f map[string]string) (all []profile) {
	for n := 1; ; n++ {
		text, ok := f[fmt.Sprintf("profile %d", n)]
		w := strings.SplitN(text, " ", 4)
		if !ok || len(w) < 4 {
			return all
		}
		all = append(all, profile{w[3], w[0], strings.TrimPrefix(w[2], "master="), w[1] == "starts=yes"})
	}
}

// unstarted finds a profile for a rail that NetworkManager ignores. A rail that railbench made
// unmanaged is not a fault.
// /run/railbench is there while changes of a cell may still go back, and gone after a boot.
func unstarted(rig steps.Rig, e steps.End, rail steps.Rail, f map[string]string, rep *registry.Report) {
	name := rail.Netdev.Name
	if !strings.HasPrefix(f[name+" NetworkManager"], "unmanaged") || f["changes of railbench"] == "yes" ||
		has(f[name+" networkd"]) {
		return
	}
	for _, p := range profilesOf(f) {
		if p.netdev == name && p.starts {
			rep.At(rig, e, steps.RailUnmanaged, steps.Warn, "NetworkManager ignores %s on %s, so profile %s never starts and "+
				"a boot leaves no address. Remove it from unmanaged-devices, then run: nmcli device set %s managed yes",
				name, rig.NameOf(e), p.name, name)
			rep.Explain("unmanaged-devices is in /etc/NetworkManager/NetworkManager.conf or conf.d there, if it is set")
			rep.Decide(rig.NameOf(e) + " " + name + " managed by")
		}
	}
}

// judgeLinkLocal: every rail with a link has an address of its own, or none has.
func judgeLinkLocal(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "link-local", rep) {
		return rep.Verdict()
	}
	type lack struct {
		e      steps.End
		netdev string
	}
	var with int
	var without []lack
	for _, e := range steps.Ends {
		for _, rail := range rig.At(e).Rails {
			d, f := rail.Netdev, facts[e]
			own := f[d.Name+" link-local"]
			rep.ShowAt(rig.NameOf(e), d.Name+" link-local", own, "", nil)
			switch {
			// A slave's is the bond's, and without a carrier the kernel makes none.
			case d.Master != "" || !d.Up || !d.Carrier:
			case own == "none":
				without = append(without, lack{e, d.Name})
			default:
				with++
			}
		}
	}
	switch {
	case with+len(without) == 0:
		return rep.Skipped(steps.CannotRun, "no rail has a link, and without a link an interface has no link-local address")
	// At both ends alike, so no index leads to another entry at one of them.
	case with == 0:
		return rep.Verdict("no rail has a link-local address at either end, so the GID tables of both ends agree")
	}
	for _, p := range without {
		f := facts[p.e]
		why := "it was removed"
		switch {
		case f[p.netdev+" IPv6 off"] == "1":
			why = "IPv6 is off (disable_ipv6)"
		// addr_gen_mode 1 is "none" (IN6_ADDR_GEN_MODE_NONE).
		case f[p.netdev+" makes addresses"] == "1":
			why = "link-local: [] in netplan, or ipv6.method, disables it"
		}
		// The GIDs of index 0 and 1 are made of the adapter's number and stay (assets/docs/facts.md#gid-index).
		rep.At(rig, p.e, steps.LinkLocalMissing, steps.Warn, "%s on %s has no fe80:: address (%s), but other rails do. "+
			"Set link-local: [ipv6] in netplan, then run: sudo netplan apply", p.netdev, rig.NameOf(p.e), why)
		rep.Explain("With NetworkManager: ipv6.method link-local. RoCE v2 over a link-local GID gets no answer from there. " +
			"A stable-privacy address had GIDs of its own, and without them the later indices change")
		rep.Decide(rig.NameOf(p.e) + " " + p.netdev + " link-local")
	}
	return rep.Verdict(fmt.Sprintf("every rail with a link has an fe80:: address (%d on both nodes)", with))
}

// longWait is what a boot may wait for the network without a finding
// (assets/docs/facts.md#wait-online).
const longWait = 30 * time.Second

// judgeBootWaits: the services that wait for the network at a boot ended well, and soon.
func judgeBootWaits(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	waited, without := 0, 0
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		switch f["systemd"] {
		case "runs":
		case "none":
			without++
			rep.ShowAt(node, "systemd", "none", "", nil)
			continue
		default:
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read whether systemd runs on %s", node)
			continue
		}
		for _, unit := range slices.Sorted(maps.Keys(dontWait)) {
			waited += judgeWait(r.Rig, e, unit, f, rep)
		}
	}
	if without == len(steps.Ends) {
		return rep.Skipped(steps.CannotRun, "neither node has systemd, so no service waits for the network at boot")
	}
	if waited == 0 {
		return rep.Verdict("no service waited for the network at the last boot")
	}
	return rep.Verdict(fmt.Sprintf("%s for the network at the last boot, but not for long", registry.Count(waited,
		"service waited", "services waited")))
}

// dontWait is what keeps a service that waits for the network from waiting for rails. netplan hands optional to
// networkd alone; NetworkManager waits for each profile that still looks for an address.
var dontWait = map[string]string{
	"NetworkManager-wait-online":   "Set ipv4.method to manual, without DHCP, in the rails' profiles",
	"systemd-networkd-wait-online": "Set optional: true for the rails in netplan",
}

// judgeWait looks at one service that waits; it gives 1 where it ran at the last boot.
// The units are oneshots with RemainAfterExit: their main process ran from one time stamp to the
// other, microseconds since the boot, 0 where it did not.
func judgeWait(rig steps.Rig, e steps.End, unit string, f map[string]string, rep *registry.Report) int {
	node := rig.NameOf(e)
	state := f[unit+" ActiveState"]
	switch {
	case f[unit+" LoadState"] == "" || state == "":
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the state of %s on %s from systemd", unit, node)
		return 0
	case f[unit+" LoadState"] == "masked" || f[unit+" LoadState"] == "not-found":
		rep.ShowAt(node, unit, f[unit+" LoadState"], "", nil)
		return 0
	}
	began, ran := strictnum.Number(f[unit+" ExecMainStartTimestampMonotonic"])
	ended, over := strictnum.Number(f[unit+" ExecMainExitTimestampMonotonic"])
	if !ran || began == 0 {
		rep.ShowAt(node, unit, "did not run at this boot", "", nil)
		return 0
	}
	rep.ShowAt(node, unit, state, "", nil)
	dark := darkRails(rig, e, f)
	took := time.Duration(ended-began) * time.Microsecond
	switch {
	case state == "activating" || !over || ended < began:
		rep.At(rig, e, steps.BootWaits, steps.Warn, "%s on %s is still waiting%s, so services that need the network have "+
			"not started", unit, node, dark)
	case f[unit+" Result"] != "success":
		rep.ShowAt(node, unit+" waited", took.Seconds(), "s", nil)
		rep.At(rig, e, steps.BootWaits, steps.Warn, "%s on %s gave up after %.0f s at the last boot%s. %s", unit,
			node, took.Seconds(), dark, dontWait[unit])
		rep.Decide(node + " " + unit)
	case took > longWait:
		rep.ShowAt(node, unit+" waited", took.Seconds(), "s", nil)
		rep.At(rig, e, steps.BootWaits, steps.Warn, "%s on %s delayed the last boot by %.0f s%s. %s", unit,
			node, took.Seconds(), dark, dontWait[unit])
		rep.Decide(node + " " + unit + " waited")
	default:
		rep.ShowAt(node, unit+" waited", took.Seconds(), "s", nil)
	}
	return 1
}

// darkRails names the rails without a carrier: what is waited for, mostly.
func darkRails(rig steps.Rig, e steps.End, f map[string]string) string {
	var dark []string
	for _, rail := range rig.At(e).Rails {
		if f[rail.Netdev.Name+" carrier"] == "0" {
			dark = append(dark, rail.Netdev.Name)
		}
	}
	if dark == nil {
		return ""
	}
	return fmt.Sprintf(" (%s no carrier)", registry.HaveOrHas(dark))
}
