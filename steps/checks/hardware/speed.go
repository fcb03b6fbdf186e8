package hardware

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// judgeLinkSpeed: every link is as fast as its port can be. A band that follows the rate that a link came up with
// calls a slow link good. A driver without link modes (virtio, veth, a virtual machine's) has nothing to compare
// with, and is not a finding.
func judgeLinkSpeed(r steps.Result, read [2][]parse.EthtoolLink, rep *registry.Report) steps.Verdict {
	looked := 0
	var speeds, untold []string
	for _, e := range steps.Ends {
		var slow slowLinks
		for i, rail := range r.Rig.At(e).Rails {
			if !checks.Wanted(r.Rig, e, i) {
				continue
			}
			at := slices.IndexFunc(read[e], func(l parse.EthtoolLink) bool { return l.Netdev == rail.Netdev.Name })
			switch {
			case at < 0:
				rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "ethtool on %s reports nothing about %s (%s)",
					r.Rig.NameOf(e), registry.OrUnknown(rail.Netdev.Name), rail.Dev)
				continue
			case read[e][at].Link != "yes":
				continue // link-up says why
			case read[e][at].SpeedMbps == 0 || read[e][at].MostMbps() == 0:
				untold = append(untold, rail.Netdev.Name+" on "+r.Rig.NameOf(e))
				continue
			}
			looked++
			l := read[e][at]
			if s := gigabits(l.SpeedMbps); !slices.Contains(speeds, s) {
				speeds = append(speeds, s)
			}
			slow.look(r.Rig, e, l, rep)
		}
		slow.tell(r.Rig, e, rep)
	}
	if looked == 0 && len(rep.Findings) == 0 {
		if untold != nil {
			return checks.Unseen(*rep, steps.CannotRun, "the drivers of %s report no link modes: they are virtual, as fast as "+
				"a processor", registry.And(untold))
		}
		return checks.Unseen(*rep, steps.CannotRun, "no used rail has a link: see link-up")
	}
	note := ""
	if untold != nil {
		note = "not checked: " + registry.And(untold) + ", whose drivers report no link modes"
	}
	return rep.Verdict(fmt.Sprintf("all %d links run at the full speed of their ports: %s", looked, registry.And(speeds)),
		note)
}

// slowLinks are those of one node that came up slower than they could, by what is said of
// them.
type slowLinks struct {
	order []string
	names map[string][]string
	codes map[string]steps.Code
	notes map[string]string
}

// look holds a link against the fastest mode of its port. What was set on the node is looked for first: to offer
// less than that, or not to negotiate. The cable, its module and the other end are what is left.
func (s *slowLinks) look(rig steps.Rig, e steps.End, l parse.EthtoolLink, rep *registry.Report) {
	most := l.MostMbps()
	best := float64(most) / 1000
	rep.ShowAt(rig.NameOf(e), l.Netdev+" link", float64(l.SpeedMbps)/1000, "Gb/s",
		&steps.Expected{Min: &best, From: "the fastest link mode that ethtool reports for its port"})
	if l.SpeedMbps >= most {
		return
	}
	code := steps.LinkSlow
	why := "Check cable, module and other port"
	note := "The cable, its module or the port at the other end allows no more: the check cable shows what the cable is"
	if asked := l.AskedMbps(); asked > 0 && asked < most {
		code = steps.SpeedNotOffered
		note = "A setting on the node limits what it offers: find out what sets that at boot"
		why = fmt.Sprintf("It offers only %s. Run: ethtool -s %s autoneg on", gigabits(asked), l.Netdev)
	} else if l.Auto == "off" && asked == 0 {
		code = steps.AutonegOff
		note = "Autonegotiation is off: the speed was set by hand. If that is not it, the cable allows no more (ethtool -m)"
		why = fmt.Sprintf("Its speed is fixed. Run: ethtool -s %s autoneg on", l.Netdev)
	}
	says := fmt.Sprintf("came up at %s, but the port can do %s. %s", gigabits(l.SpeedMbps), gigabits(most), why)
	if s.names == nil {
		s.names, s.codes, s.notes = map[string][]string{}, map[string]steps.Code{}, map[string]string{}
	}
	if s.names[says] == nil {
		s.order, s.codes[says], s.notes[says] = append(s.order, says), code, note
	}
	s.names[says] = append(s.names[says], l.Netdev)
}

// report adds a finding for each thing that is to be said.
func (s *slowLinks) tell(rig steps.Rig, e steps.End, rep *registry.Report) {
	for _, says := range s.order {
		rep.At(rig, e, s.codes[says], steps.Warn, "%s on %s %s", registry.List(s.names[says]), rig.NameOf(e), says)
		rep.Explain("%s", s.notes[says])
	}
}

func gigabits(mbps int) string { return fmt.Sprintf("%g Gb/s", float64(mbps)/1000) }
