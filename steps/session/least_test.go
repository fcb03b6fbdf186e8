package session

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// What a test without a judge has to reach is four fifths of the rail's band, and 0.95 of it without a
// warning; nothing where there is no band: an empty limit is refused, and 0 would be reached by everything.
func TestLeast(t *testing.T) {
	t.Parallel()
	unknown := kindtest.Spark()
	for _, p := range unknown.Pairs[:1] {
		for _, e := range steps.Ends {
			unknown.Nodes[e].Rails[p.Rails[e]].PCI = steps.PCI{}
		}
	}
	for name, c := range map[string]struct {
		rig    steps.Rig
		params map[string]string
		want   string // LEAST, LEAST_BOTH, GOOD, GOOD_BOTH, MOST, MOST_BOTH
	}{
		"a Spark":                       {kindtest.Spark(), nil, "74.0 148.0 87.9 175.8 127.9 255.9"},
		"set":                           {kindtest.Spark(), map[string]string{"LEAST_GBPS": "90"}, "90 90 90 90 127.9 255.9"},
		"soft-RoCE":                     {kindtest.Virtual(), nil, "     "},
		"messages too small for a band": {kindtest.Spark(), map[string]string{"SIZE": "4096"}, "    127.9 255.9"},
		"what else may end it":          {unknown, nil, "    188.9 377.8"},
	} {
		if c.params == nil {
			c.params = map[string]string{}
		}
		v := vars(c.rig, steps.Here, -1, c.params)
		got := strings.Join([]string{
			v["LEAST_GBPS"], v["LEAST_BOTH_GBPS"], v["GOOD_GBPS"], v["GOOD_BOTH_GBPS"],
			v["MOST_GBPS"], v["MOST_BOTH_GBPS"],
		}, " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A port counts its own packets, and an interface whatever passes: it may count more than was sent.
func TestCounted(t *testing.T) {
	t.Parallel()
	for rig, want := range map[string]struct {
		rig  steps.Rig
		most string
	}{"a port": {kindtest.Spark(), "103.0"}, "an interface": {kindtest.Virtual(), "108.0"}} {
		v := vars(want.rig, steps.Here, -1, map[string]string{})
		if v["LEAST_COUNTED"] != "98.0" || v["MOST_COUNTED"] != want.most {
			t.Errorf("%s: %s to %s", rig, v["LEAST_COUNTED"], v["MOST_COUNTED"])
		}
	}
}
