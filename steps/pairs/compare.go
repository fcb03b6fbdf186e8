package pairs

import (
	"cmp"
	"math"
	"slices"

	"github.com/railbench/railbench/steps"
)

// A Change is a figure that is another one in a second run.
type Change struct {
	Words  string // "spark-01 to spark-02 over rail 1"
	What   steps.Measure
	A, B   float64 // 0 where it was not measured
	Worse  bool
	Better bool
	// States are what it was and is among the others.
	States [2]State
}

// Compare says what is worse and what is better in matrix b than in a, with the largest change first. A
// figure has changed where it differs by more than a share (0.05), or where it is good in only one matrix.
// Nodes are compared by their places; the caller has checked Unlike.
func Compare(a, b *Matrix, share float64) []Change {
	a.settle()
	b.settle()
	var all []Change
	a.Places(func(p Place, x *Cell) bool {
		y := b.At(p.What, p.Rail, p.From, p.To)
		if y == nil { // the cables of one that didn't answer aren't known
			return true
		}
		c := Change{
			Words: a.words(p), What: p.What, A: float64(x.Value), B: float64(y.Value),
			States: [2]State{x.State, y.State},
		}
		gain := gainOf(c)
		c.Worse = gain < -share || rank(y.State) > rank(x.State)
		c.Better = !c.Worse && (gain > share || rank(y.State) < rank(x.State))
		if c.Worse || c.Better {
			all = append(all, c)
		}
		return true
	})
	slices.SortStableFunc(all, func(x, y Change) int {
		return cmp.Or(-cmp.Compare(bit(x.Worse), bit(y.Worse)), -cmp.Compare(math.Abs(gainOf(x)), math.Abs(gainOf(y))))
	})
	return all
}

// gainOf is by which share the second figure is better; 0 where one is missing.
func gainOf(c Change) float64 {
	switch {
	case c.A == 0 || c.B == 0:
		return 0
	case c.What == steps.Latency:
		return c.A/c.B - 1
	}
	return c.B/c.A - 1
}

// rank is how far a state is from good. What was not measured is neither better nor worse than what is bad,
// and worse than what is good.
func rank(s State) int {
	switch s {
	case Good:
		return 0
	case Warned, Crowd:
		return 1
	default:
		return 2
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
