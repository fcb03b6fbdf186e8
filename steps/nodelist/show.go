package nodelist

import (
	"fmt"
	"io"
	"strings"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A listedNode is one of railbench nodes --json.
type listedNode struct {
	Name  string `json:"name"`
	SSH   string `json:"ssh,omitempty"`
	Local bool   `json:"local,omitempty"`
	From  string `json:"from,omitempty"`
}

// Show prints the nodes, or one JSON object of them.
func Show(out io.Writer, program string, nodes []nodeset.Node, asJSON bool) error {
	names, width, reach := make([]string, 0, len(nodes)), 0, 0
	all := make([]listedNode, 0, len(nodes))
	for _, n := range nodes {
		l := listedNode{n.Name, n.SSH, n.Local, n.From}
		if n.Local {
			l.SSH = ""
		}
		names, all = append(names, n.Name), append(all, l)
		width, reach = max(width, len(n.Name)), max(reach, len(howReached(l)))
	}
	switch {
	case asJSON:
		return sanitize.JSON(out, map[string]any{"railbench": program, "folded": nodeset.Fold(names), "nodes": all})
	case len(nodes) == 0:
		sanitize.Fprintln(out, "0 nodes: the list is empty")
	default:
		sanitize.Fprintf(out, "%s: %s\n", steps.Counted(len(nodes), "node"), nodeset.Fold(names))
		for _, n := range all {
			line := fmt.Sprintf("  %-*s  %-*s  %s", width, n.Name, reach, howReached(n), n.From)
			sanitize.Fprintln(out, strings.TrimRight(line, " "))
		}
	}
	return nil
}

func howReached(n listedNode) string {
	switch {
	case n.Local:
		return "this machine"
	case n.SSH == "":
		return "srun"
	}
	return "ssh " + n.SSH
}
