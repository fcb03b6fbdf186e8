package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/nodeset"
)

// ParseLink reads A:B, two nodes by their names or numbers from 1. A is where the clients
// run.
func ParseLink(text string, names []string) (l Link, err error) {
	a, b, ok := strings.Cut(text, ":")
	find := func(name string) int {
		if i := slices.Index(names, name); i >= 0 {
			return i
		}
		if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
			return n - 1
		}
		return -1
	}
	l = Link{Here: find(a), Peer: find(b)}
	for i, name := range []string{a, b} {
		if at := []int{l.Here, l.Peer}[i]; ok && at < 0 {
			return l, fmt.Errorf("--link %s: the rig has no node %q%s. Its nodes, from 1: %s",
				text, name, DidYouMean(name, names), nodeset.Some(names))
		}
	}
	if !ok || l.Here == l.Peer {
		return l, fmt.Errorf("--link %s: give A:B, two of the rig's nodes: %s", text, nodeset.Some(names))
	}
	return l, nil
}
