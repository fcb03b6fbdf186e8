package hardware

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
)

// judgeLastBoot: the boot before this one ended with a shutdown.
// Two sources, as each may be missing: the journal of earlier boots is kept in /var/log/journal
// alone and read by some users alone, and last needs a wtmp, which not every system writes. One
// that has a shutdown is enough.
func judgeLastBoot(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var clean, untold []string
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		journal, wtmp := f["shutdown in the journal"], recorded(f)
		rep.ShowAt(node, "journal of the previous boot", cmp.Or(f["last words"], f["journal"], "unknown"), "", nil)
		rep.ShowAt(node, "last", cmp.Or(wtmp, f["last"], "unknown"), "", nil)
		switch {
		case f["journal"] == "":
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the journal on %s", node)
		// A user who may read only his own lines of the journal sees no shutdown there.
		case journal == "yes" || wtmp == "shutdown":
			clean = append(clean, node)
		case journal == "no" && wtmp != "" || wtmp == "crash":
			rep.At(r.Rig, e, steps.UncleanShutdown, steps.Warn, "%s was not shut down before its last boot: it lost power or "+
				"froze. See its last lines: journalctl -b -1 -e. Check heat, power supply and memory use", node)
			rep.Explain("To test for heat, limit the GPU: nvidia-smi -lgc 0,2100")
			rep.Decide(node+" journal of the previous boot", node+" last")
		case journal == "no":
			untold = append(untold, node+" (its journal ends abruptly, last has no record)")
		case f["journal"] == "read":
			untold = append(untold, node+" (no earlier boot is recorded)")
		default:
			untold = append(untold, node+" (its journal: "+f["journal"]+")")
		}
	}
	if untold != nil && len(rep.Findings) == 0 {
		return checks.Unseen(*rep, steps.Unreadable, "how the previous boot ended is unknown on %s. Root and the group adm "+
			"may read earlier journals (/var/log/journal)", registry.And(untold))
	}
	return rep.Verdict(fmt.Sprintf("the previous boot ended with a shutdown on %s", registry.And(clean)))
}

// recorded is what last has before the boot that runs: a shutdown, or another boot and no
// shutdown, which is a crash; empty where it goes back no further.
// last has the newest first: "reboot" is written at each boot, and "shutdown" at each shutdown.
func recorded(f map[string]string) string {
	before, is := f["record 2"], f["record 1"]
	switch {
	case !strings.HasPrefix(is, "reboot") || before == "":
		return ""
	case strings.HasPrefix(before, "shutdown"):
		return "shutdown"
	case strings.HasPrefix(before, "reboot"):
		return "crash"
	}
	return ""
}
