package registry

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Ways are the ways from one end to the other, as INTERFACE=ADDRESS.
func Ways(rig steps.Rig, e steps.End) []string {
	var all []string
	for _, p := range rig.Pairs {
		all = append(all, rig.Rail(p, e).Netdev.Name+"="+rig.Rail(p, e.Other()).Addr)
	}
	if path, ok := rig.Path(); ok && path.Bonded[e] {
		all = append(all, path.Netdevs[e].Name+"="+path.Addrs[e.Other()])
	}
	return all
}

// lookedAt gathers what the role that looks at a change printed, by end.
func lookedAt(r steps.Result, rep *Report) (facts [2]map[string]string, ok bool) {
	ok = true
	for _, e := range steps.Ends {
		i := -1
		for j, o := range r.Stages[0].Outputs {
			if o.End == e && o.Role == "look" {
				i = j
			}
		}
		if i < 0 {
			rep.Add(steps.NotRunHere, steps.Inconclusive, "the change was not checked on %s", r.Rig.NameOf(e))
			ok = false
			continue
		}
		o := r.Stages[0].Outputs[i]
		if f, bad := Trouble(r.Rig, o); bad {
			rep.Note(f)
			ok = false
			continue
		}
		if Exited(r, o, rep) {
			ok = false
			continue
		}
		v, read := Value[map[string]string](r, o, rep)
		facts[e] = v
		ok = ok && read
	}
	return facts, ok
}

// Changed answers for the judge of a change where there is nothing to look at.
func Changed(c steps.Cell, r steps.Result, rep *Report) (facts [2]map[string]string, v steps.Verdict, done bool) {
	switch {
	case r.Skip != "":
		v, done = Gate(c, r)
		return facts, v, done
	case r.Changed == nil:
		return facts, Inconclusive(steps.NothingRan, "The cell changed nothing."), true
	case r.Changed.Nothing != "":
		rep.Show("pairs of rails", len(r.Rig.Pairs), "", nil)
		return facts, rep.Verdict("there was nothing to do: "+r.Changed.Nothing, "Nothing was changed"), true
	}
	if v, done := Gate(c, r); done {
		return facts, v, true
	}
	facts, ok := lookedAt(r, rep)
	if !ok {
		return facts, rep.Verdict(), true
	}
	return facts, v, false
}

// Pings holds the answers of "ping INTERFACE=ADDRESS: ok" against what was asked
// for. asked is 0 where an end asked nothing: one way shows half of it.
func Pings(rig steps.Rig, facts [2]map[string]string, rep *Report) (ok, asked int) {
	mute := false
	for _, e := range steps.Ends {
		before := asked
		for name, answer := range facts[e] {
			way, isPing := strings.CutPrefix(name, "ping ")
			if !isPing {
				continue
			}
			asked++
			rep.ShowAt(rig.NameOf(e), name, answer, "", nil)
			if answer == "ok" {
				ok++
			} else {
				rep.Add(steps.NoAnswer, steps.Fail, "no answer over %s from %s", way, rig.NameOf(e))
			}
		}
		mute = mute || asked == before
	}
	slices.SortFunc(rep.Evidence, func(a, b steps.Evidence) int { return strings.Compare(a.Name, b.Name) })
	if mute {
		return 0, 0
	}
	return ok, asked
}

// Kept says how a confirmed change is reverted.
const Kept = "After it is confirmed, cleanup or railbench undo reverts it"

// SameWords reports whether two texts have the same words, in any order. Two empty ones don't: two unknown values are
// not agreement.
func SameWords(a, b string) bool {
	return slices.Equal(slices.Sorted(slices.Values(strings.Fields(a))),
		slices.Sorted(slices.Values(strings.Fields(b)))) && a != ""
}
