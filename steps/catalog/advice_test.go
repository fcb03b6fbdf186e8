package catalog

import (
	"regexp"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/traffic"
)

// Where no cause shows the sentence ends in something to do: the cell and the checks that it names
// are there.
func TestWithoutACauseThereIsSomethingToDo(t *testing.T) {
	tut := kindtest.Tutorial(t)
	c := traffic.LikelyCause(kindtest.Spark(), traffic.Rate{Gbps: 60, MTU: 1024})
	said := c.Text
	if c.Known || c.Code != steps.BelowLimit {
		t.Fatalf("a cause shows: %s", said)
	}
	for _, what := range []string{"Run ([a-z-]+)", "check ([a-z-]+)", "and ([a-z-]+)$"} {
		m := regexp.MustCompile(what).FindStringSubmatch(said)
		if m == nil {
			t.Errorf("%q names no %s", said, what)
			continue
		}
		if _, ok := tut.Cell(m[1]); !ok {
			t.Errorf("%s is nowhere in the tutorial", m[1])
		}
	}
}
