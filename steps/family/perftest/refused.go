package perftest

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// refused is a work completion that says that an adapter may not do what it was asked to. The numbers are those of
// ibv_wc_status, in the spelling of perftest 4.x and in that of today's.
var refused = lazyregexp.New(`Failed status(?: |-[^(]*\()(4|9|10|11)\b`)

// refusals are what the statuses mean, with the end that received the status (%[1]s) and the other end
// (%[2]s). All but the first come in a packet from the other end.
var refusals = map[string]string{
	"4": "the adapter on %[1]s may not use the test's memory (status 4, local " +
		"protection error)",
	"9": "the adapter on %[2]s rejected the request as invalid (status 9, reported on " +
		"%[1]s)",
	"10": "the adapter on %[2]s denied access to the test's memory (status 10, reported " +
		"on %[1]s)",
	"11": "the adapter on %[2]s could not do the operation (status 11, reported on %[1]s)",
}

// means is what a cause says, as far as that is known of the stage in which an end said it, over some rails.
func means(rig steps.Rig, s steps.Stage, pairs []steps.Pair, c registry.Cause, msg registry.Message,
) (steps.Code, steps.Grade, string) {
	status := refused.Regexp().FindStringSubmatch(msg.Text)
	if c.Pattern != refused || status == nil {
		return c.Code, c.Grade, fmt.Sprintf(c.Means, rig.NameOf(msg.End))
	}
	other := msg.End.Other()
	said := fmt.Sprintf(refusals[status[1]], rig.NameOf(msg.End), rig.NameOf(other))
	grade := c.Grade
	if why := left(s, other); why != "" && status[1] != "4" {
		grade = steps.Inconclusive
		said += fmt.Sprintf(". The end there %s. Check that end first", why)
	}
	soft := slices.ContainsFunc(pairs, func(p steps.Pair) bool {
		return rig.Rail(p, msg.End).Soft() || rig.Rail(p, other).Soft()
	})
	if soft {
		// rxe answers so to a packet that it did not expect, too (check_op_seq and check_length in the kernel's
		// drivers/infiniband/sw/rxe/rxe_resp.c).
		return c.Code, steps.Inconclusive, said + ". soft-RoCE can fail like this under load. " +
			"Rerun it on an idle node, then check dmesg" +
			""
	}
	return c.Code, grade, said + ". Check memory registration, the GPU's module and the IOMMU (dmesg): " +
		"the cable is not the cause"
}

// left says how an end ended, where that may have been before the other one complained: by itself, and not because
// the other one had gone. Empty where it was there to the end.
func left(s steps.Stage, e steps.End) string {
	i := slices.IndexFunc(s.Outputs, func(o steps.Output) bool { return o.End == e })
	if i < 0 {
		return ""
	}
	o := s.Outputs[i]
	if !o.Ran || o.Exit.Why != runner.Ended {
		return ""
	}
	errors := parse.PerftestErrors(o.Text)
	own := slices.IndexFunc(errors, func(text string) bool {
		return !follows.Regexp().MatchString(text) && !completion.Regexp().MatchString(text)
	})
	switch {
	case own >= 0:
		return fmt.Sprintf("ended with %s and printed %q", o.Exit, errors[own])
	case o.Exit.OK() || len(errors) > 0:
		return ""
	}
	return fmt.Sprintf("ended with %s and printed nothing", o.Exit)
}

// completion is what perftest says of any work completion that failed.
var completion = lazyregexp.New(`Completion with error|Failed to complete run_iter|Failed status`)
