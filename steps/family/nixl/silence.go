package nixl

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// silent is how UCX words that no one answered in its own time (UD, which it also meets by) or in the adapter's (RC).
// What it means depends on what else was seen: unanswered says that.
var silent = registry.Cause{
	Pattern: lazyregexp.New(`unhandled timeout error|[Tt]ransport retry count|Endpoint timeout|Operation timed out`),
	Code:    steps.RDMAUnanswered,
	Grade:   steps.Inconclusive,
	Means: "UCX on %s timed out, but no port counter shows a fault. Run: railbench " +
		"run ib-write-bw. If it passes, raise UCX_UD_VERBS_TIMEOUT=120s",
}

// silentWhy is what else may be behind it.
const silentWhy = "If ib-write-bw passes over the same rail, the other end is slow to answer (soft-RoCE, a busy " +
	"processor). If not, look for a wrong GID or address, crossed rails, or what drops RoCE's packets (UDP 4791)"

// unanswered is what silence means in one stage. An adapter that waited in vain itself says that
// the rail is broken, as a link does that went down (verify.First). Without them UCX alone has said
// so, whose time runs out over soft-RoCE where RDMA itself works.
func unanswered(rig steps.Rig, s steps.Stage) registry.Cause {
	c := silent
	if grown := traffic.Unanswered(rig, s.Bytes); grown != "" {
		c.Grade = steps.Fail
		c.Means = "UCX on %s and an adapter got no answer over the rail (" + grown +
			"). Run: railbench " +
			"doctor arp-flux gid-index firewall"
	}
	return c
}
