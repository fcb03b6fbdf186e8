// Package fault is everything that can be wrong with the simulated rig, a value each, which
// can be put on any node. It changes what nodes are (host), what joins them (net) and what
// their programs mind (tool); none of those knows it.
package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// A Fault is something that can be broken on the rig, on any of its nodes.
type Fault struct {
	Name string // as Inject takes it
	// As a line of a list, without a full stop.
	Title string
	// Doc is what is broken and what one sees, in a sentence or two. {node} in it, and in
	// the title, is where the fault is, and {peer} the other end.
	Doc string
	// Report is what a user would say who has it and does not know it: a drill begins with that. No name of the fault
	// is in it.
	Report string
	// Where the table puts it; Inject puts it on any node.
	Where Where
	// Do breaks it, and gives what repairs it. The fabric's lock is held, and who has a path is looked at again
	// afterwards.
	Do func(s Spot) (undo func())
}

// A Where says which nodes a fault is on where none is named.
type Where int

const (
	// OnFirst is the first node, which serves in the tutorials.
	OnFirst Where = iota
	// OnSecond is the second, which a test is started on.
	OnSecond
	// OnAll is every node.
	OnAll
	// OnCable is the first node's end of a cable: the other end sees it, too.
	OnCable
	// OnPair is the first node and its peer: both ends change.
	OnPair
)

func (w Where) String() string {
	switch w {
	case OnSecond:
		return "spark-02"
	case OnAll:
		return "every node"
	case OnCable:
		return "spark-01's end of the cable"
	case OnPair:
		return "spark-01 and its peer"
	default:
		return "spark-01"
	}
}

// A Spot is where a fault is put: a node, and who is at the other end of its cables. With
// a switch that is the first node, and the second for the first.
type Spot struct {
	// Never the same, and never nil: a rig has two nodes at least.
	Node, Peer *host.Node
}

// SpotOn is the spot of a node, by its number.
func SpotOn(r *host.Rack, no int) Spot {
	// On two nodes that is the cable's other end for each; on more, a rail's tests run against the
	// first.
	if no == 0 {
		return Spot{r.Nodes[0], r.Nodes[1]}
	}
	return Spot{r.Nodes[no], r.Nodes[0]}
}

// Nodes are the numbers of those that the fault is on where none is named.
func (w Where) Nodes(count int) []int {
	switch w {
	case OnSecond:
		return []int{1}
	case OnAll:
		all := make([]int, count)
		for i := range all {
			all[i] = i
		}
		return all
	default:
		return []int{0}
	}
}

// At is the fault with the names of its nodes in its texts: for a fault on node, or, where node is empty, for
// a fault in its default place.
func (f Fault) At(node string) Fault {
	peer := "spark-01"
	switch {
	case node == "" && f.Where == OnAll:
		node, peer = "every node", "every other"
	case node == "" && f.Where == OnSecond:
		node = "spark-02"
	case node == "" || node == "spark-01":
		node, peer = "spark-01", "spark-02"
	}
	fill := strings.NewReplacer("{node}", node, "{peer}", peer)
	f.Title, f.Doc = fill.Replace(f.Title), fill.Replace(f.Doc)
	return f
}

// Everywhere reports whether the fault is on all nodes by itself.
func (f Fault) Everywhere() bool { return f.Where == OnAll }

// All is everything that can be broken, sorted by name.
func All() []Fault {
	// Made again each time: a fault is a value, and no one can change another's.
	all := slices.Concat(linkFaults(), networkFaults(), toolFaults(), nixlFaults(), hardwareFaults(), softwareFaults())
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Named finds a fault by its name.
func Named(name string) (Fault, error) {
	var names []string
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	begun := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, name) })
	if n := nearest(name, names); len(begun) == 0 && n != "" {
		begun = []string{n}
	}
	hint := ""
	if name != "" && len(begun) > 0 {
		hint = "did you mean " + strings.Join(begun, " or ") + "? "
	}
	return Fault{}, fmt.Errorf("no fault %q: %sRun railbench sim --fault list to see all of them", name, hint)
}

// nearest is the name with the fewest changes of a letter; empty where none is near.
func nearest(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	// One row of the table at a time, with the number left of and above in diagonal. Names are
	// ASCII, so bytes are letters.
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
