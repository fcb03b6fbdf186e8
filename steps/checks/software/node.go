package software

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// judgeDiskSpace: both nodes have free space for what tests and programs write.
func judgeDiskSpace(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	looked := 0
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		if _, told := facts[e]["free /tmp"]; !told && len(facts[e]) > 0 { // every node has it
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the free space of /tmp on %s", node)
		}
		for _, name := range registry.SortedNames(facts[e]) {
			what, is := strings.CutPrefix(name, "free ")
			if !is {
				continue
			}
			dir, inodes := strings.CutPrefix(what, "inodes ")
			left, ok := strictnum.Count(facts[e][name])
			switch {
			case !ok && inodes: // a file system that counts none, as btrfs
				continue
			case !ok:
				rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the free space of %s on %s", dir, node)
				continue
			}
			looked++
			least, unit, of := limits.LeastDisk.Value(), "kB", "space"
			if inodes {
				least, unit, of = limits.LeastInodes.Value(), "inodes", "inodes"
			}
			rep.ShowAt(node, dir, left, unit+" free", &steps.Expected{Min: new(least)})
			if float64(left) < least {
				rep.At(r.Rig, e, steps.DiskFull, steps.Fail, "%s on %s has no %s left (%d %s), so output of tests is cut off. "+
					"Make room; see: df -h %s", dir, node, of, left, unit, dir)
			}
		}
	}
	if looked == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.Unreadable, steps.Inconclusive, "could not read the free space on either node (df)")
	}
	return rep.Verdict(fmt.Sprintf("both nodes have free space where programs write (%d places)", looked))
}

// judgeClocks: both nodes have one time.
func judgeClocks(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var at [2]float64
	var unsynced []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		v, ok := strictnum.Number(facts[e]["seconds"])
		if !ok {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the time on %s", node)
			continue
		}
		at[e] = v
		rep.ShowAt(node, "time synchronized", registry.OrUnknown(facts[e]["synchronized"]), "", nil)
		if facts[e]["synchronized"] == "no" {
			unsynced = append(unsynced, node)
		}
	}
	slices.Sort(unsynced)
	note := ""
	if len(unsynced) > 0 {
		note = "The time is not synchronized on " + registry.And(unsynced) + " (timedatectl)"
	}
	apart := at[0] - at[1]
	if at[0] > 0 && at[1] > 0 {
		rep.Show("difference of the clocks", math.Abs(math.Round(apart)), "s",
			&steps.Expected{Max: new(limits.ClocksApart.Value())})
		if math.Abs(apart) > limits.ClocksApart.Value() {
			ahead, behind := steps.Here, steps.Peer
			if apart < 0 {
				ahead, behind = behind, ahead
			}
			rep.Add(steps.ClocksApart, steps.Warn, "the clock of %s is %s ahead of %s: logs, certificates and etcd leases do "+
				"not match. Run on both: timedatectl set-ntp true", r.Rig.NameOf(ahead), seconds(math.Abs(apart)),
				r.Rig.NameOf(behind))
		}
	}
	return rep.Verdict("the clocks of both nodes agree", note)
}

func seconds(s float64) string {
	switch {
	case s >= 2*86400:
		return fmt.Sprintf("%.0f days", s/86400)
	case s >= 2*3600:
		return fmt.Sprintf("%.0f h", s/3600)
	case s >= 120:
		return fmt.Sprintf("%.0f min", s/60)
	}
	return fmt.Sprintf("%.0f s", s)
}
