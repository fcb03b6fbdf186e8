package pairs

import (
	"fmt"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// MostRails is how many rails a matrix can have.
const MostRails = 32

// MostFigures is how many figures a matrix can have: of 408 nodes with four rails each. Saved they are some 220 MB,
// which are written again after each round.
const MostFigures = 1_000_000

// TooMany says why a matrix of so many nodes and rails has no room; empty where it has.
func TooMany(nodes, rails, partners int) string {
	tests := CostOf(nodes, rails, partners, 0).Tests
	if tests <= MostFigures {
		return ""
	}
	most := nodes
	for most > 2 && CostOf(most, rails, partners, 0).Tests > MostFigures {
		most--
	}
	return fmt.Sprintf("a matrix has at most %s values (%d nodes with %s); this one would have %s. "+
		"Use --partners 8 or fewer nodes (--nodes @rack1)",
		steps.Thousands(MostFigures), most, registry.Count(rails, "rail", "rails"), steps.Thousands(tests))
}

// MostAgain is how many ways of pairs are measured again at most: where more look bad, what is wrong is not a pair,
// and the rest keeps its first figure.
func MostAgain(nodes int) int { return 4 * nodes }

// Progress is how far a run is.
type Progress struct {
	Tests         int // done so far, a rail and a way each, in all
	Round, Rounds int // of those that are measured now
	Beside        int // pairs at once
	Again         bool
}

// String says what comes next, and how far it is.
func (p Progress) String() string {
	again := ""
	if p.Again {
		again = " of those that look bad"
	}
	return fmt.Sprintf("round %d of %d%s, %d at once: %d tests done", p.Round, p.Rounds, again, p.Beside, p.Tests)
}

// A Cost is what measuring a matrix takes, worked out before.
type Cost struct {
	Nodes, Rails  int
	Partners      int // of each node; 0 is all others
	Pairs, Rounds int
	Beside        int           // pairs at once
	Tests         int           // a rail and a way each
	Time          time.Duration // where nothing looks bad
	// Again is what one bad node adds: each of its pairs once more, alone.
	Again time.Duration
	// Bytes is what the nodes send in all, where a bandwidth test sends so many.
	Bytes float64
	// Memory is what the matrix itself takes, in bytes.
	Memory int
}

// What a test of a pair takes where nothing is slow, in the simulated rig's time: three seconds of writes, or
// a thousand pings, a server that has to be ready, and the counters three times. TestPairsTakeWhatIsTold holds it.
const (
	BandwidthTime = 3400 * time.Millisecond
	LatencyTime   = 450 * time.Millisecond
)

// CostOf is what a matrix takes of each node with so many others (0: with all), where a bandwidth test writes so many
// bytes.
func CostOf(nodes, rails, partners int, bytes float64) Cost {
	others, rounds := nodes-1, nodes-1+nodes%2
	if partners = PartnersOf(nodes, partners); partners > 0 {
		others, rounds = partners, partners
	}
	pairs := rounds * (nodes / 2)
	alone := 2 * time.Duration(others) * time.Duration(rails) * BandwidthTime
	return Cost{
		Nodes: nodes, Rails: rails, Partners: partners, Pairs: pairs, Rounds: rounds, Beside: nodes / 2,
		Tests: 3 * rails * pairs,
		Time:  time.Duration(rounds*rails) * (2*BandwidthTime + LatencyTime),
		Again: alone, Bytes: float64(2*pairs*rails) * bytes,
		Memory: len(Measures) * rails * 2 * pairs * cellBytes,
	}
}

// Of is the cost where only some of the pairs are there, in these rounds.
func (c Cost) Of(rounds [][]Pair) Cost {
	all := c.Pairs
	c.Pairs, c.Rounds, c.Beside = 0, len(rounds), 0
	for _, r := range rounds {
		c.Pairs += len(r)
		c.Beside = max(c.Beside, len(r))
	}
	c.Tests = c.Tests * c.Pairs / all
	c.Bytes = c.Bytes * float64(c.Pairs) / float64(all)
	c.Time = time.Duration(c.Rounds*c.Rails) * (2*BandwidthTime + LatencyTime)
	return c
}

// cellBytes is what a Cell takes without its reason.
const cellBytes = 32

// String reports the cost before anything is run.
func (c Cost) String() string {
	partners := ""
	if c.Partners > 0 {
		partners = fmt.Sprintf(", each with %d of its %d others", c.Partners, c.Nodes-1)
	}
	return fmt.Sprintf("%s of %d nodes%s, over %s: %s of %s, %d tests, about %s if nothing is slow, "+
		"%s sent in total",
		registry.Count(c.Pairs, "pair", "pairs"), c.Nodes, partners, registry.Count(c.Rails, "rail", "rails"),
		registry.Count(c.Rounds, "round", "rounds"), registry.Count(c.Beside, "pair", "pairs at once"),
		c.Tests, Rounded(c.Time), sent(c.Bytes))
}

// sent is how many bytes, as people say it.
func sent(bytes float64) string {
	switch {
	case bytes < 1e13:
		return fmt.Sprintf("%.0f GB", bytes/1e9)
	case bytes < 1e16:
		return fmt.Sprintf("%.0f TB", bytes/1e12)
	}
	return fmt.Sprintf("%.0f PB", bytes/1e15)
}

// Rounded is a time as people say it.
func Rounded(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
