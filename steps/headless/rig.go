package headless

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/sanitize"
)

// Asked are the nodes that are looked at, in one line.
func Asked(where, names []string) string {
	if len(where) == len(steps.Ends) {
		return where[0] + " and " + where[1]
	}
	return fmt.Sprintf("%d nodes: %s", len(names), nodeset.Fold(names))
}

// DescribeAll prints a line for each node: what it is and how many rails it has. Of many nodes those that say the same
// have one.
func DescribeAll(out io.Writer, rig steps.Rig) {
	var texts []string
	names := map[string][]string{}
	for _, n := range rig.Nodes {
		text := "did not answer"
		if n.Err == "" {
			up, addressed := 0, 0
			for _, r := range n.Rails {
				if r.State == "ACTIVE" {
					up++
				}
				if r.Addr != "" {
					addressed++
				}
			}
			text = fmt.Sprintf("%s: %d active, %d with an address  %s", steps.Counted(len(n.Rails), "rail"), up, addressed,
				n.Adapter)
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], n.Name)
		if len(rig.Nodes) <= linesTold {
			sanitize.Fprintf(out, "%-*s  %s\n", widest(rig), n.Name, text)
		}
	}
	if len(rig.Nodes) <= linesTold {
		return
	}
	for _, text := range texts {
		sanitize.Fprintf(out, "%s: %s\n", nodeset.Fold(names[text]), text)
	}
}

// widest is how wide the longest name of a node is.
func widest(rig steps.Rig) (width int) {
	for _, n := range rig.Nodes {
		width = max(width, len(n.Name))
	}
	return width
}

// Describe prints the pairs of rails and what is left over.
func Describe(out io.Writer, rig steps.Rig) {
	for _, e := range steps.Ends {
		n := rig.At(e)
		sanitize.Fprintf(out, "%s  %s  %s\n", n.Name, n.Where, n.Adapter)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) // a Spark's lines are 80 columns wide
		for i, r := range n.Rails {
			pair := "no pair"
			for j, p := range rig.Pairs {
				if p.Rails[e] == i {
					pair = fmt.Sprintf("rail %d", j+1)
				}
			}
			sanitize.Fprintf(table, "  %s\t%s\t%s\t%s\t%s", pair, r.Dev, r.Netdev.Name, r.Addr, r.State)
			if c, _ := limits.Ceiling(r); c > 0 {
				sanitize.Fprintf(table, "\tPCIe x%d: %.0f Gb/s", r.PCI.Width, c)
			}
			sanitize.Fprintln(table)
		}
		_ = table.Flush() // a failed write is reported at the next question
	}
	if len(rig.Pairs) == 0 {
		sanitize.Fprintln(out, "no pair of rails has addresses in one subnet: the cells that need a rail will say so")
	}
}
