// Package pairs is the matrix of what goes between all nodes of a rig: in which rounds the pairs
// are measured, what the figures mean together, which node, rail, way or half explains what is
// bad, and how it is drawn and saved. It asks no node anything; session does, by the cells of
// perftest, whose own judges have judged each pair before.
package pairs

// Partners is the parameter that says with how many others each node is measured.
const Partners = "PARTNERS"

// A Pair is two nodes by their numbers, from 0. Whether the order means anything is said where it
// is used.
type Pair struct{ From, To int }

// Rounds are all pairs of n nodes, each once, so that in a round each node is in one pair at most:
// n-1 rounds of n/2 pairs for an even number of nodes, n rounds with one node that rests for an
// odd one. It is the circle method of tournaments: one node stays, and the others go round. Of some partners
// (PartnersOf) it is so many of those rounds, evenly among all: with a node that rests one of its own is missing.
func Rounds(n, partners int) [][]Pair {
	if n < 2 {
		return nil
	}
	seats := n + n%2 // with the one that no one sits on
	count := seats - 1
	if partners = PartnersOf(n, partners); partners > 0 {
		count = partners
	}
	all := make([][]Pair, 0, count)
	for i := range count {
		r := i * (seats - 1) / count
		round := make([]Pair, 0, n/2)
		for place := range seats / 2 {
			a, b := seat(r, place, seats), seat(r, seats-1-place, seats)
			if a < n && b < n {
				round = append(round, Pair{min(a, b), max(a, b)})
			}
		}
		all = append(all, round)
	}
	return all
}

// PartnersOf is with how many others each of n nodes is measured, of so many that were asked for; 0 is all of them.
func PartnersOf(n, asked int) int {
	if asked < 1 || asked >= n-1 {
		return 0
	}
	return asked
}

// seat is who sits at a place of the circle in a round: the last one stays.
func seat(round, place, seats int) int {
	if place == seats-1 {
		return seats - 1
	}
	return (place + round) % (seats - 1)
}

// Next to puts pairs into rounds of at most width, in their order, so that no node is in two pairs of a round.
func Beside(all []Pair, width int) [][]Pair {
	var rounds [][]Pair
	var busy []map[int]bool
	for _, p := range all {
		at := -1
		for i, b := range busy {
			if !b[p.From] && !b[p.To] && len(rounds[i]) < max(width, 1) {
				at = i
				break
			}
		}
		if at < 0 {
			rounds, busy, at = append(rounds, nil), append(busy, map[int]bool{}), len(rounds)
		}
		rounds[at] = append(rounds[at], p)
		busy[at][p.From], busy[at][p.To] = true, true
	}
	return rounds
}

// Widths are how many pairs are measured next to each other when those that look bad are measured again, from how
// many of them could be: half as many each time, and in the end one alone.
func Widths(most int) []int {
	var all []int
	for w := max(most, 1) / 2; w > 1; w /= 2 {
		all = append(all, w)
	}
	return append(all, 1)
}
