package network

import (
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

// What sets the rails up: who has them in his hands, what he leaves out, and what a boot
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

// by are the daemons that have it in their hands.
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
			rep.Show(node+" "+rail.Netdev.Name+" managed by", registry.OrNone(registry.And(by)), "", nil)
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
		return rep.Verdict("no daemon has a rail in its hands: nobody sets what was set by hand again")
	case free > 0:
		return rep.Verdict(fmt.Sprintf("%s in the hands of one manager each, and %d in nobody's",
			registry.Count(held, "rail is", "rails are"), free))
	}
	return rep.Verdict(fmt.Sprintf("every rail is in the hands of one manager (%d on both nodes)", held))
}

// judgeDaemons: those that run answer and come again at the next boot, and no script of theirs
// takes interfaces back.
func judgeDaemons(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) {
	node := rig.NameOf(e)
	for _, daemon := range []string{"NetworkManager", "systemd-networkd"} {
		rep.Show(node+" "+daemon, registry.OrUnknown(f["daemon "+daemon]), "", nil)
		if f["daemon "+daemon] == "active" && strings.HasPrefix(f["at a boot "+daemon], "masked") {
			rep.At(rig, e, steps.ManagerMasked, steps.Warn, "%s on %s runs, and is masked: after the next boot nobody sets up "+
				"what it has now; sudo systemctl unmask %s", daemon, node, daemon)
		}
	}
	// A daemon that runs and hangs shows in no state of systemd's: it has to be asked something.
	if said := f["answer NetworkManager"]; f["daemon NetworkManager"] == "active" && said != "running" {
		rep.At(rig, e, steps.ManagerSilent, steps.Warn, "NetworkManager on %s runs, and does not answer (nmcli: %s): nobody "+
			"knows what it does with the rails, and no change of one begins; sudo systemctl restart NetworkManager", node,
			registry.OrUnknown(said))
	}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if file, ok := strings.CutPrefix(key, "script "); ok {
			rep.Show(node+" "+file, f[key], "", nil)
			rep.At(rig, e, steps.DispatcherScript, steps.Warn, "a script on %s acts whenever an interface comes up (%s: %s): "+
				"what a change takes out of a manager's hands it may give back at once, and then the change goes back; move it "+
				"away, or have it leave the rails alone", node, file, f[key])
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
		rep.Show(rig.NameOf(e)+" "+by, registry.And(of[by]), "", nil)
		rep.At(rig, e, steps.ManagerTrouble, steps.Warn, "%s on %s has %s, or may have: no change of them begins, because %s",
			by, rig.NameOf(e), registry.And(of[by]), trouble[by])
	}
}

// judgeProfiles: one profile at most starts by itself on a rail, and it has come to its end.
func judgeProfiles(rig steps.Rig, e steps.End, netdev string, h hold, f map[string]string, rep *registry.Report) {
	var start []string
	for _, p := range profilesOf(f) {
		if (p.netdev == netdev || p.netdev == "any") && p.starts {
			start = append(start, p.name)
		}
	}
	// Where no connection.autoconnect-priority differs, its time stamps decide (nm-settings, timestamp).
	if len(start) > 1 {
		rep.At(rig, e, steps.ProfilesCompete, steps.Warn, "%d profiles of NetworkManager start by themselves on %s of %s "+
			"(%s): unless one has a priority (connection.autoconnect-priority) the one that was used last wins; nmcli "+
			"connection modify NAME connection.autoconnect no, for all but one",
			len(start), netdev, rig.NameOf(e), registry.And(start))
	}
	if strings.HasPrefix(h.nm, "connecting") {
		rep.At(rig, e, steps.ProfileUnfinished, steps.Warn, "NetworkManager on %s still sets %s up (%s%s): where nobody "+
			"gives a lease it starts over again and again, and what was set by hand goes each time; give the profile the "+
			"address, or no autoconnect",
			rig.NameOf(e), netdev, h.nm, orProfile(h.profile))
	}
}

// judgeHold looks at a rail that a daemon has in its hands.
func judgeHold(rig steps.Rig, e steps.End, netdev string, h hold, f map[string]string, rep *registry.Report) {
	node, by := rig.NameOf(e), registry.And(h.by())
	// A slave that NetworkManager has bonded itself has a profile with a master.
	own := slices.ContainsFunc(profilesOf(f), func(p profile) bool { return p.name == h.profile && p.master != "" })
	switch {
	case len(h.by()) > 1:
		rep.At(rig, e, steps.SeveralManagers, steps.Warn, "%s on %s is in the hands of %s at once: each sets what the other "+
			"has removed. Leave it to one of them: renderer in netplan, unmanaged-devices of NetworkManager, or Unmanaged=yes "+
			"of networkd",
			netdev, node, by)
	case h.master != "" && h.addresses != "" && !own:
		rep.At(rig, e, steps.BondPortAddress, steps.Fail, "%s on %s is in %s, and %s has given it %s: its route takes the "+
			"bond's packets, and they get lost. bond-teardown, and then bond-setup, takes it out of its hands first",
			netdev, node, h.master, by, h.addresses)
	case h.master != "" && has(h.nm) && !own:
		rep.At(rig, e, steps.BondPortManaged, steps.Warn, "%s on %s is in %s, and NetworkManager has it in its hands "+
			"(%s%s): it gives it an address as soon as the link comes up again; nmcli device set %s managed no keeps it off "+
			"until the next boot",
			netdev, node, h.master, h.nm, orProfile(h.profile), netdev)
	}
}

func orProfile(name string) string {
	if name == "" {
		return ""
	}
	return ", profile " + name
}

// A profile is one of NetworkManager's.
// netdev is "any" where each Ethernet interface may have it, "some" where it names none and is for others, or for
// those that have its MAC or fit its pattern. master is empty where it is no bond's.
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

// unstarted finds a profile for a rail that NetworkManager leaves alone. That railbench has
// taken it out of its hands is no fault.
// /run/railbench is there while changes of a cell may still go back, and gone after a boot.
func unstarted(rig steps.Rig, e steps.End, rail steps.Rail, f map[string]string, rep *registry.Report) {
	name := rail.Netdev.Name
	if !strings.HasPrefix(f[name+" NetworkManager"], "unmanaged") || f["changes of railbench"] == "yes" ||
		has(f[name+" networkd"]) {
		return
	}
	for _, p := range profilesOf(f) {
		if p.netdev == name && p.starts {
			rep.At(rig, e, steps.RailUnmanaged, steps.Warn, "NetworkManager leaves %s on %s alone (unmanaged-devices, or nmcli "+
				"device set), so its profile %s never starts, and after a boot it has no address", name, rig.NameOf(e), p.name)
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
			rep.Show(rig.NameOf(e)+" "+d.Name+" link-local", own, "", nil)
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
		return rep.Skipped(steps.CannotRun, "no rail has a link, and without one an interface has no address of its own")
	// At both ends alike, so no index leads to another entry at one of them.
	case with == 0:
		return rep.Verdict("no rail has an address of its link, at either end: their first GIDs are made of the adapters' " +
			"numbers alone, and the tables of both ends are alike")
	}
	for _, p := range without {
		f := facts[p.e]
		why := "nobody made it again"
		switch {
		case f[p.netdev+" IPv6 off"] == "1":
			why = "IPv6 is switched off there (disable_ipv6)"
		// addr_gen_mode 1 is "none" (IN6_ADDR_GEN_MODE_NONE).
		case f[p.netdev+" makes addresses"] == "1":
			why = "the kernel was told to make none (link-local: [] in netplan, or a profile's ipv6.method)"
		}
		// The GIDs of index 0 and 1 are made of the adapter's number and stay (assets/docs/facts.md#gid-index).
		rep.At(rig, p.e, steps.LinkLocalMissing, steps.Warn, "%s on %s has no fe80:: address, and other rails have: %s. "+
			"RoCE v2 over a link-local GID gets no answer from there, and an address that was not made of the adapter's number "+
			"(stable-privacy) had GIDs of its own, without which the indices behind them are others; netplan's link-local: "+
			"[ipv6], or ipv6.method link-local of its profile, gives it back", p.netdev, rig.NameOf(p.e), why)
	}
	return rep.Verdict(fmt.Sprintf("every rail with a link has an fe80:: address (%d on both nodes)", with))
}

// longWait is what a boot may wait for the network before somebody asks why
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
			rep.Show(node+" systemd", "none", "", nil)
			continue
		default:
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "%s does not tell whether systemd runs there", node)
			continue
		}
		for _, unit := range []string{"NetworkManager-wait-online", "systemd-networkd-wait-online"} {
			waited += judgeWait(r.Rig, e, unit, f, rep)
		}
	}
	if without == len(steps.Ends) {
		return rep.Skipped(steps.CannotRun, "neither node has systemd, so nothing there waits for the network at a boot")
	}
	if waited == 0 {
		return rep.Verdict("no service waited for the network at the last boot")
	}
	return rep.Verdict(fmt.Sprintf("%s for the network at the last boot, and not for long",
		registry.Count(waited, "service waited", "services waited")))
}

// judgeWait looks at one service that waits; it gives 1 where it ran at the last boot.
// The units are oneshots with RemainAfterExit: their main process ran from one time stamp to the
// other, microseconds since the boot, 0 where it did not.
func judgeWait(rig steps.Rig, e steps.End, unit string, f map[string]string, rep *registry.Report) int {
	node := rig.NameOf(e)
	state := f[unit+" ActiveState"]
	switch {
	case f[unit+" LoadState"] == "" || state == "":
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "systemd on %s does not tell of %s", node, unit)
		return 0
	case f[unit+" LoadState"] == "masked" || f[unit+" LoadState"] == "not-found":
		rep.Show(node+" "+unit, f[unit+" LoadState"], "", nil)
		return 0
	}
	began, ran := strictnum.Number(f[unit+" ExecMainStartTimestampMonotonic"])
	ended, over := strictnum.Number(f[unit+" ExecMainExitTimestampMonotonic"])
	if !ran || began == 0 {
		rep.Show(node+" "+unit, "did not run at this boot", "", nil)
		return 0
	}
	rep.Show(node+" "+unit, state, "", nil)
	dark := darkRails(rig, e, f)
	took := time.Duration(ended-began) * time.Microsecond
	switch {
	case state == "activating" || !over || ended < began:
		rep.At(rig, e, steps.BootWaits, steps.Warn, "%s on %s waits still%s: what starts after the network has not", unit,
			node, dark)
	case f[unit+" Result"] != "success":
		rep.Show(node+" "+unit+" waited", took.Seconds(), "s", nil)
		rep.At(rig, e, steps.BootWaits, steps.Warn, "%s on %s gave up after %.0f s at the last boot%s: optional: true in "+
			"netplan takes a rail off what a boot waits for", unit, node, took.Seconds(), dark)
	case took > longWait:
		rep.Show(node+" "+unit+" waited", took.Seconds(), "s", nil)
		rep.At(rig, e, steps.BootWaits, steps.Warn, "%s on %s held the last boot up for %.0f s%s", unit, node, took.Seconds(),
			dark)
	default:
		rep.Show(node+" "+unit+" waited", took.Seconds(), "s", nil)
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
	return fmt.Sprintf(", and %s no carrier", registry.HaveOrHas(dark))
}
