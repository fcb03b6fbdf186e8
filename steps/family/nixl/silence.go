package nixl

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// silent is how UCX words that nobody answered in its own time (UD, which it also meets by) or in
// the adapter's (RC). What it means depends on what else was seen: unanswered says that.
var silent = registry.Cause{
	Pattern: lazyregexp.New(`unhandled timeout error|[Tt]ransport retry count|Endpoint timeout|Operation timed out`),
	Code:    steps.RDMAUnanswered,
	Grade:   steps.Inconclusive,
	Means: "UCX on %s got no answer in time, and nothing else says that the rail is broken: run ib-write-bw over the " +
		"same rail. If that is well, the other end is slow to answer (soft-RoCE, a busy processor): ask again with more " +
		"time (UCX_UD_VERBS_TIMEOUT=120s). If not, look for a wrong GID or address, crossed rails, or what drops RoCE's " +
		"packets (UDP 4791)",
}

// unanswered is what silence means in one stage. An adapter that waited in vain itself says that
// the rail is broken, as a link does that went down (verify.First). Without them UCX alone has said
// so, whose time runs out over soft-RoCE where RDMA itself works.
func unanswered(rig steps.Rig, s steps.Stage) registry.Cause {
	c := silent
	if grown := traffic.Unanswered(rig, s.Bytes); grown != "" {
		c.Grade = steps.Fail
		c.Means = "UCX on %s got no answer over its rail, and an adapter waited in vain, too (" + grown +
			"): a wrong GID or " +
			"address, crossed rails, or what drops RoCE's packets (UDP 4791) on the way"
	}
	return c
}
