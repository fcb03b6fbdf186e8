package hardware

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// pcieErrorKinds are the kernel's, the worst first (Documentation/ABI/testing/
// sysfs-bus-pci-devices-aer_stats).
var pcieErrorKinds = []string{"fatal", "nonfatal", "correctable"}

// judgePCIeErrors: no PCIe link of an adapter or a GPU has lost anything, and none has new
// correctable errors.
func judgePCIeErrors(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	looked := 0
	var blind []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		if f["looked"] == "" {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the PCIe error counters on %s", node)
			continue
		}
		seen := false
		for _, name := range registry.SortedNames(f) {
			pci, ok := strings.CutSuffix(name, " is")
			if !ok {
				continue
			}
			// A link has two ends, and each counts what it receives: what an adapter sends damaged the port
			// above it sees.
			for _, at := range []string{pci, pci + ", the port above"} {
				l := pcieErrors{rig: r.Rig, e: e, what: at + called(f[name]), at: at}
				if l.judge(f, rep) {
					looked++
					seen = true
				}
			}
		}
		if !seen {
			blind = append(blind, node)
		}
	}
	if blind != nil && len(rep.Findings) == 0 {
		return checks.Unseen(*rep, steps.CannotRun, "the kernel of %s counts no PCIe errors (no aer_dev_fatal): no adapter "+
			"or GPU, errors handled by firmware, or pci=noaer", registry.And(blind))
	}
	return rep.Verdict(fmt.Sprintf("no fatal or nonfatal PCIe errors since the boot at %d link ends, and no new "+
		"correctable ones", looked))
}

// called is an interface in brackets; empty where there is none.
func called(netdev string) string {
	if netdev == "no interface" || netdev == "" {
		return ""
	}
	return " (" + netdev + ")"
}

// A pcieErrors is one end of a PCIe link of which errors are counted.
type pcieErrors struct {
	rig  steps.Rig
	e    steps.End
	at   string // as the script writes it
	what string // as a person reads it
}

// judge looks at all three kinds, and reports whether there was anything to look at.
// What lost something is a finding whenever it was since the boot. A link may have some correctable errors, so
// only those count that are new.
func (l pcieErrors) judge(f map[string]string, rep *registry.Report) bool {
	node, known := l.rig.NameOf(l.e), false
	for _, of := range pcieErrorKinds {
		was, before, ok1 := pcieCount(f[l.at+" "+of+" at first"])
		is, after, ok2 := pcieCount(f[l.at+" "+of+" later"])
		named := inBrackets(after)
		if !ok1 || !ok2 {
			// A function without these files says nothing; one that has them and is not a number does.
			if f[l.at+" "+of+" at first"] != "" {
				rep.At(l.rig, l.e, steps.Unreadable, steps.Inconclusive, "could not read the %s errors of %s on %s", of, l.what,
					node)
			}
			continue
		}
		known = true
		counter := fmt.Sprintf("%s %s errors", l.what, of)
		rep.ShowAt(node, counter, is, "since the boot", nil)
		switch {
		case of == "fatal" && is > 0:
			rep.At(l.rig, l.e, steps.PCIeFatalErrors, steps.Fail, "%s on %s: %s since the boot%s. Power-cycle the node, check "+
				"cooling, and reseat the card", l.what, node, registry.Count(is, "fatal PCIe error", "fatal PCIe errors"), named)
			rep.Explain("After a fatal error the link starts again, and the adapter or the node may hang. Leave the node off " +
				"for a minute. Details: dmesg | grep AER. Firmware updates: fwupdmgr")
			rep.Decide(node + " " + counter)
		case of == "nonfatal" && is > 0:
			rep.At(l.rig, l.e, steps.PCIeNonfatalErrors, steps.Warn, "%s on %s: %s since the boot%s, each with a lost "+
				"transfer. Details: dmesg | grep AER", l.what, node, registry.Count(is, "nonfatal PCIe error", "nonfatal PCIe "+
				"errors"), named)
			rep.Decide(node + " " + counter)
		case of == "correctable" && is > was:
			rep.At(l.rig, l.e, steps.PCIeCorrectableErrors, steps.Warn, "%s on %s: %d correctable PCIe errors in 0.5 s%s, so "+
				"the link is unstable. Reseat the card, and check cooling", l.what, node, is-was, inBrackets(grown(before, after)))
			rep.Decide(node + " " + counter)
		}
	}
	return known
}

// pcieCount reads "3 BadDLLP=2 RxErr=1": how many, and how many of which.
func pcieCount(text string) (n int, each []string, ok bool) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0, nil, false
	}
	if n, ok = strictnum.Count(words[0]); !ok {
		return 0, nil, false
	}
	return n, words[1:], true
}

// grown are the errors of which there are more than before: of the others some may be as old as the boot.
func grown(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(one string) bool { return slices.Contains(before, one) })
}

// inBrackets are the names of errors; empty where there are none.
func inBrackets(each []string) string {
	var names []string
	for _, one := range each {
		name, _, _ := strings.Cut(one, "=")
		names = append(names, name)
	}
	if names == nil {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
