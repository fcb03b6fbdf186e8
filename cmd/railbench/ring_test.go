package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// Nodes that are cabled in a ring have no cable to those that are not neighbours, and each port leads to another
// node: nothing of that is a fault, whatever looks at it.
func TestRing(t *testing.T) {
	t.Parallel()
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	var checks []string
	for _, c := range list.Checks() {
		checks = append(checks, c.ID)
	}
	for i, nodes := range []int{3, 5} {
		if sampled(i) {
			continue
		}
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			f, _ := ranOn(t, rigFlags{rig: ringRig, nodeCount: nodes}, checks...)
			for _, id := range checks {
				want := cmp.Or(atRest[id], steps.Pass)
				// a rail joins two functions whose GIDs have different indices, and that is reported
				if id == "gid-index" {
					want = steps.Warn
				}
				if v := f.Ended[id].Verdict; v.Grade != want {
					t.Errorf("%s: %s: %s", id, v.Grade, v.Reason)
				}
			}
			cells := []string{"rail-map", "ib-write-bw", "dual-link", "mtu", "ib-write-lat", "cleanup"}
			f, _ = ranOn(t, rigFlags{rig: ringRig, nodeCount: nodes, link: "spark-01:spark-02"}, cells...)
			for _, id := range cells {
				if v := f.Ended[id].Verdict; v.Grade != steps.Pass {
					t.Errorf("%s: %s: %s", id, v.Grade, v.Reason)
				}
			}
			save := filepath.Join(t.TempDir(), "pairs.json")
			for range 2 { // it goes on with what is there, and measures nothing again
				var out, errs strings.Builder
				code := Main([]string{"pairs", "--rig", ringRig, "--nodes", fmt.Sprint(nodes), "--speed", "max", "--save", save},
					strings.NewReader(""), &out, &errs)
				if said := out.String(); code != exitOK || !strings.Contains(said, fmt.Sprintf("All %d values", 6*nodes)) ||
					strings.Contains(said, "- no cable") != (nodes > 3) {
					t.Errorf("pairs: exit %d: %s%s", code, said, errs.String())
				}
			}
		})
	}
}

// A collective goes around a ring along its cables, whichever link is under test, also one of two nodes that are not
// neighbours, and what is wrong there fails.
func TestCollectivesInARing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes int
		link  string
		fault []string
		want  steps.Grade
		words []string
	}{
		{3, "", nil, steps.Pass, []string{"on 3 nodes", "expected at least 10", "carried equal shares"}},
		{4, "", nil, steps.Pass, []string{"on 4 nodes", "expected at least 10", "carried equal shares"}},
		{4, "spark-01:spark-03", nil, steps.Pass, []string{"on 4 nodes", "carried equal shares"}},
		{7, "spark-05:spark-04", nil, steps.Pass, []string{"on 7 nodes", "carried equal shares"}},
		{4, "", []string{"degraded-adapter@spark-03"}, steps.Fail, []string{"expected at least 10"}},
		{4, "", []string{"nccl-tcp"}, steps.Fail, []string{"NET/Socket"}},
	} {
		t.Run(fmt.Sprint(c.nodes, c.link, c.fault), func(t *testing.T) {
			t.Parallel()
			f, _ := ranOn(t, rigFlags{rig: ringRig, nodeCount: c.nodes, link: c.link, faults: c.fault}, "nccl-allreduce")
			v := f.Ended["nccl-allreduce"].Verdict
			if v.Grade != c.want {
				t.Errorf("%s: %s", v.Grade, v.Reason)
			}
			for _, w := range c.words {
				if !strings.Contains(v.Said(), w) {
					t.Errorf("%q is missing in %q", w, v.Reason)
				}
			}
		})
	}
}

// What switches a rail on tries it over the link that it leads to.
func TestFixInARing(t *testing.T) {
	t.Parallel()
	f, _ := ranOn(t, rigFlags{rig: ringRig, faults: []string{"link-down@spark-03"}}, "fix-link-up")
	if v := f.Ended["fix-link-up"].Verdict; v.Grade != steps.Pass {
		t.Errorf("%s: %s", v.Grade, v.Reason)
	}
}

// What is wrong in a ring is found at its node.
func TestFaultsInARing(t *testing.T) {
	t.Parallel()
	findsOnThird(t, 8, rigFlags{rig: ringRig, nodeCount: 4})
}
