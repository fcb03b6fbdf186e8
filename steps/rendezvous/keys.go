package rendezvous

import (
	"fmt"
	"slices"
	"strings"
)

// root is what every key of nixlbench begins with (etcd_rt.cpp).
const root = "xferbench/"

// prefix is what the keys of one benchmark group begin with. The slash belongs to
// it: rb-a is another group than rb-ab.
func prefix(group string) string { return root + group + "/" }

// A Group is what the runs of one benchmark group have left in an etcd.
type Group struct {
	Name string // empty for nixlbench before 0.5.0, which had no groups
	Keys int
}

// String is for a line that the user reads.
func (g Group) String() string {
	name := g.Name
	if name == "" {
		name = "without a group"
	}
	if g.Keys == 1 {
		return name + " (1 key)"
	}
	return fmt.Sprintf("%s (%d keys)", name, g.Keys)
}

// groups sorts keys by their group.
func groups(keys []string) []Group {
	count := map[string]int{}
	for _, k := range keys {
		name, rest, deeper := strings.Cut(strings.TrimPrefix(k, root), "/")
		// Before 0.5.0 the group's place was empty, or the next word stood there.
		// barrier and msg+ are nixlbench's own words, so no group has such a name.
		if !deeper || rest == "" || name == "barrier" || strings.HasPrefix(name, "msg+") {
			name = ""
		}
		count[name]++
	}
	var all []Group
	for name, n := range count {
		all = append(all, Group{name, n})
	}
	slices.SortFunc(all, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return all
}
