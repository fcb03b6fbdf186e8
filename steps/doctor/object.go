package doctor

import (
	"cmp"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
)

// Object is what --json prints; scripts rely on its keys.
type Object struct {
	Railbench string         `json:"railbench"`
	Rig       headless.Rig   `json:"rig"`
	Symptom   *Symptom       `json:"symptom,omitempty"`
	Checks    []Check        `json:"checks"`
	Summary   map[string]int `json:"summary"`
}

// A Check is what one check came to.
type Check struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Node     string        `json:"node"` // the one that it is about, or both
	Verdict  steps.Grade   `json:"verdict"`
	Code     steps.Code    `json:"code,omitempty"`
	Codes    []steps.Code  `json:"codes,omitempty"`
	Reason   string        `json:"reason"`
	Findings []steps.Found `json:"findings,omitempty"`
	Advice   []steps.Found `json:"advice,omitempty"`
	Devices  []string      `json:"devices,omitempty"` // the RDMA devices that it is about
	// The check that found the cause of this finding; empty where there is none.
	CausedBy string `json:"causedBy,omitempty"`
	// The checks of speed that measured nothing because of it, so that it hides what they would find.
	Hidden   []string         `json:"hides,omitempty"`
	Evidence []steps.Evidence `json:"evidence"`
	Fix      string           `json:"fix"` // the cell that corrects it; empty where no cell does
	Fixed    bool             `json:"fixed,omitempty"`
	// By the nodes' time. What only looks runs next to others.
	ElapsedMS int64 `json:"elapsedMS"`
}

// hide adds a check of speed without a result to the check that found the reason.
func (r Object) hide(measured Check) {
	by := measured.CausedBy
	if measured.Verdict == steps.Skipped { // it follows no code, but other traffic or a missing program skips it
		for _, c := range r.Checks {
			if c.Verdict > steps.Pass && (c.Code == steps.OtherTraffic || c.Code == steps.CommandMissing) {
				by = c.ID
				break
			}
		}
	}
	for i, c := range r.Checks {
		if by != "" && c.ID == by {
			r.Checks[i].Hidden = append(c.Hidden, measured.ID)
		}
	}
}

// causeOf is the check that found the cause of what another found: one with a code that the other's follows, or an
// earlier one with the same code at the same node. What concerns other rails is another fault.
func causeOf(of Check, all []Check) string {
	if of.Code == "" || of.Verdict == steps.Skipped {
		return ""
	}
	same := ""
	for _, c := range all {
		switch {
		case c.ID == of.ID:
			same = cmp.Or(same, of.ID) // what comes after it is not its cause
		case c.Verdict <= steps.Pass || apart(of.Devices, c.Devices):
		case of.Code.Follows(c.Code) && !c.Code.Follows(of.Code):
			return c.ID
		case same == "" && c.Code == of.Code && (c.Node == of.Node || c.Node == "both" || of.Node == "both"):
			same = c.ID
		}
	}
	if same == of.ID {
		return ""
	}
	return same
}

// apart reports whether two findings are about other devices, as far as both name any.
func apart(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(dev string) bool { return slices.Contains(b, dev) })
}

// Sorted are the checks by what their findings cost: faults, then warnings, and of each first what stops
// traffic and last what costs nothing until the next boot.
func (r Object) Sorted() []Check {
	var all []Check
	for _, g := range []steps.Grade{steps.Fail, steps.Warn, steps.Inconclusive, steps.Skipped, steps.Pass} {
		for _, c := range r.Checks {
			if c.Verdict == g {
				all = append(all, c)
			}
		}
	}
	consequence := func(c Check) int {
		if c.CausedBy != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b Check) int {
		if a.Verdict != b.Verdict {
			return 0 // they are in order
		}
		return cmp.Or(cmp.Compare(consequence(a), consequence(b)), cmp.Compare(a.Code.Cost(), b.Code.Cost()))
	})
	return all
}
