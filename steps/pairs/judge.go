package pairs

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// Extremes are what the cells of a measure are held against.
type Extremes struct {
	Best, Worst float64 // the largest and the least bandwidth; the least and the largest latency
	Measured    int     // how many cells have a figure
}

// Extremes are those of a measure. Rails of one rig are alike: they are compared with each other, so that
// a rail that is slow everywhere is found.
func (m *Matrix) Extremes(what steps.Measure) (e Extremes) {
	m.Places(func(p Place, c *Cell) bool {
		if p.What != what || !c.Measured() {
			return true
		}
		v := float64(c.Value)
		if e.Measured++; e.Measured == 1 {
			e.Best, e.Worst = v, v
		}
		less, more := min(e.Best, e.Worst, v), max(e.Best, e.Worst, v)
		if e.Best, e.Worst = more, less; what == steps.Latency {
			e.Best, e.Worst = less, more
		}
		return true
	})
	return e
}

// bad reports whether a figure is bad next to the best one.
func bad(what steps.Measure, v, best float64) bool {
	if what == steps.Latency {
		return v > limits.PairLatency.Value()*best
	}
	return v < limits.PairBandwidth.Value()*best
}

// rule is the same in words.
func rule(what steps.Measure, best float64) string {
	if what == steps.Latency {
		return fmt.Sprintf("above %g times the least (%s)", limits.PairLatency.Value(), figure(what, best))
	}
	return fmt.Sprintf("below %.0f %% of the best (%s)", 100*limits.PairBandwidth.Value(), figure(what, best))
}

// figure is a figure with its unit.
func figure(what steps.Measure, v float64) string {
	if what == steps.Latency && v < 100 { // as perftest has it
		return fmt.Sprintf("%.2f us", v)
	}
	if what == steps.Latency {
		return registry.Microseconds(v)
	}
	return registry.Gbps(v)
}

// settle says of every cell what it is among the others.
func (m *Matrix) settle() {
	for _, what := range Measures {
		best := m.Extremes(what).Best
		m.Places(func(p Place, c *Cell) bool {
			if p.What == what {
				c.State = m.state(what, c, best)
			}
			return true
		})
	}
}

func (m *Matrix) state(what steps.Measure, c *Cell, best float64) State {
	rule := m.Conditions.Soft == ""
	switch {
	case c.Grade == steps.Fail:
		return Bad
	case !c.Measured() || c.Grade == steps.Inconclusive || c.Grade == steps.Skipped:
		return Unmeasured
	case rule && bad(what, float64(c.Value), best):
		return Bad
	case c.Failed, rule && c.First > 0 && bad(what, float64(c.First), best):
		return Crowd
	case c.Grade == steps.Warn:
		return Warned
	}
	return Good
}

// Suspects are the pairs that look bad and are to be measured again, those of a measure.
func (m *Matrix) Suspects(what steps.Measure) []Pair {
	m.settle()
	seen := map[Pair]bool{}
	var all []Pair
	m.Places(func(p Place, c *Cell) bool {
		pair := Pair{p.From, p.To}
		if p.What == what && c.State == Bad && !seen[pair] {
			seen[pair] = true
			all = append(all, pair)
		}
		return true
	})
	return all
}

// A Judgement is what a matrix means.
type Judgement struct {
	Grade  steps.Grade
	Code   steps.Code // empty for a PASS
	Reason string
	// Brief is Reason without what its causes rest on, for who shows the list of those next to it.
	Brief string
	// Causes are what explains what is bad, what explains most of it first.
	Causes []Cause
	// Counts are how many cells are in each state.
	Counts [Bad + 1]int
}

// most is how many causes a verdict's reason reports; the others are in the list.
const most = 3

// Judge says what the figures mean together. Nothing passes that no one has measured.
func (m *Matrix) Judge() Judgement {
	m.settle()
	var j Judgement
	total := 0
	m.Places(func(_ Place, c *Cell) bool {
		j.Counts[c.State]++
		total++
		return true
	})
	j.Causes = m.causes()
	switch {
	case j.Counts[Bad] > 0:
		j.Grade, j.Code = steps.Fail, steps.BelowLimit
	case total == 0:
		j.Grade, j.Code = steps.Inconclusive, steps.NoRail
	case j.Counts[Unmeasured] > 0:
		j.Grade, j.Code = steps.Inconclusive, steps.NotRunToEnd
	case j.Counts[Crowd] > 0:
		j.Grade, j.Code = steps.Warn, steps.SlowTogether
	case j.Counts[Warned] > 0:
		j.Grade, j.Code = steps.Warn, steps.LinksUnequal
	default:
		j.Grade = steps.Pass
	}
	var whole, brief []string
	for i, c := range j.Causes {
		if i == most {
			more := fmt.Sprintf("%d more: see the list.", len(j.Causes)-most)
			whole, brief = append(whole, more), append(brief, more)
			break
		}
		said := registry.Capital(c.Text)
		whole, brief = append(whole, said+": "+c.Evidence+"."), append(brief, said+".")
	}
	var also []string
	switch {
	case total == 0:
		also = append(also, "Nothing to measure: no rail connects two nodes.")
	case whole == nil:
		also = append(also, m.fine(total))
	}
	if m.Partners > 0 {
		also = append(also, fmt.Sprintf("Each node was measured with %d of its %d others. Other pairs are unknown.",
			m.Partners, len(m.Nodes)-1))
	}
	if m.Conditions.Soft != "" {
		also = append(also, registry.Capital(m.Conditions.Soft)+".")
	}
	j.Reason, j.Brief = strings.Join(append(whole, also...), " "), strings.Join(append(brief, also...), " ")
	return j
}

// fine is what a matrix is in which nothing is bad.
func (m *Matrix) fine(total int) string {
	bw, lat := m.Extremes(steps.Throughput), m.Extremes(steps.Latency)
	text := fmt.Sprintf("All %d values between %d nodes over %d rails are good: %s", total, len(m.Nodes), len(m.Rails),
		span{bw.Worst, bw.Best}.words(steps.Throughput))
	if lat.Measured > 0 {
		text += ", " + span{lat.Best, lat.Worst}.words(steps.Latency)
	}
	return text + "; every port carried its own bytes at both ends."
}
