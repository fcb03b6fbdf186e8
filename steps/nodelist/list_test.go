package nodelist_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/nodelist"
	"github.com/railbench/railbench/steps/rigfile"
)

// A rig has at most steps.MostNodes nodes, however they are named.
func TestMostNodesOfARig(t *testing.T) {
	t.Parallel()
	list := fmt.Sprintf("n[0001-%d]", steps.MostNodes)
	for _, c := range []struct {
		list string
		why  string
	}{{list, ""}, {list + ",m1", "the list 1025"}} {
		f, err := nodelist.List{Names: c.list}.Rig(t.Context())
		if c.why == "" && (err != nil || len(f.Nodes) != steps.MostNodes || f.Name != list) {
			t.Errorf("%s: %d nodes called %s, %v", c.list, len(f.Nodes), f.Name, err)
		}
		if c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", c.list, err)
		}
		var file strings.Builder
		for i := range len(f.Nodes) + strings.Count(c.list, ",")*(steps.MostNodes+1) {
			fmt.Fprintf(&file, "[[node]]\nname = \"n%d\"\nssh = \"n%d\"\n", i, i)
		}
		if _, err := rigfile.Parse("rig.toml", []byte(file.String())); (err == nil) != (c.why == "") {
			t.Errorf("a file of %s: %v", c.list, err)
		}
	}
	for text, ok := range map[string]bool{"p:1024": true, "p:1025": false} {
		if _, _, err := nodelist.WantsSlurm(text); (err == nil) != ok {
			t.Errorf("--slurm %s: %v", text, err)
		}
	}
}
