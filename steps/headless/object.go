package headless

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/sanitize"
)

// linesTold is up to how many nodes have a line each.
const linesTold = 64

// Object is what run --json prints; scripts rely on its keys.
type Object struct {
	Railbench string         `json:"railbench"`
	Rig       Rig            `json:"rig"`
	Cells     []Cell         `json:"cells"`
	Summary   map[string]int `json:"summary"`
}

// A Rig is what the cells ran on.
type Rig struct {
	Name      string `json:"name"`
	Simulated bool   `json:"simulated"`
	Nodes     []Node `json:"nodes"`
	Rails     []Rail `json:"rails"`
}

// A Node is one of the rig.
type Node struct {
	Name   string `json:"name"`
	End    string `json:"end"`
	Where  string `json:"where"`
	Host   string `json:"host"`
	Kernel string `json:"kernel"`
	OS     string `json:"os"`
}

// about is what a node is, for people.
func (n Node) about() string {
	return strings.Join(slices.DeleteFunc([]string{n.Where, n.OS, n.Kernel}, func(s string) bool { return s == "" }), ", ")
}

// A Rail is one of a node.
type Rail struct {
	Node     string  `json:"node"`
	Dev      string  `json:"dev"`
	Netdev   string  `json:"netdev"`
	Address  string  `json:"address"`
	Pair     int     `json:"pair"` // 1 is RAIL1; 0 where nothing is at the other end
	GIDIndex int     `json:"gidIndex"`
	MTU      int     `json:"mtu"`
	PCI      string  `json:"pci"`
	PCIeGTps float64 `json:"pcieGTps"`
	Lanes    int     `json:"pcieLanes"`
	LinkGbps float64 `json:"linkGbps"`
	State    string  `json:"state"`
}

// A Cell is what one cell came to.
type Cell struct {
	ID        string             `json:"id"`
	Part      string             `json:"part"`
	Title     string             `json:"title"`
	Verdict   steps.Grade        `json:"verdict"`
	Reason    string             `json:"reason"`
	Code      steps.Code         `json:"code,omitempty"`
	Codes     []steps.Code       `json:"codes,omitempty"`
	Decided   steps.Verification `json:"decided,omitempty"`
	Findings  []steps.Found      `json:"findings,omitempty"`
	Advice    []steps.Found      `json:"advice,omitempty"`
	Evidence  []steps.Evidence   `json:"evidence"`
	Figures   []steps.Figure     `json:"figures"`
	Exit      *int               `json:"exit"` // null where nothing ran
	ElapsedMS int64              `json:"elapsedMS"`
	Rails     []Bytes            `json:"rails"`
	Tables    []steps.Table      `json:"tables,omitempty"`
	Charts    []steps.Chart      `json:"charts,omitempty"`
	Log       string             `json:"log,omitempty"`
}

// Bytes are what a rail carried while a cell ran.
type Bytes struct {
	Node    string `json:"node"`
	Rail    string `json:"rail"`
	TxBytes uint64 `json:"txBytes"`
	RxBytes uint64 `json:"rxBytes"`
}

// grades are the verdicts in the order of a summary.
var grades = []steps.Grade{steps.Pass, steps.Warn, steps.Fail, steps.Inconclusive, steps.Skipped}

// NewObject is what cells came to. A cell's lists are empty and not null, and grades that none has are 0, so
// that scripts need not ask.
func NewObject(program string, rig steps.Rig, cells []steps.Cell, ended map[string]steps.CellEnded) Object {
	r := Object{
		Railbench: program, Rig: Rig{Name: rig.Name, Simulated: rig.Simulated, Rails: []Rail{}},
		Summary: map[string]int{},
	}
	for i, n := range rig.Nodes {
		e := steps.End(i)
		r.Rig.Nodes = append(r.Rig.Nodes, Node{n.Name, e.String(), n.Where, n.Host, n.Kernel, n.OS})
		for i, rail := range n.Rails {
			pair := 1 + slices.IndexFunc(rig.Pairs, func(p steps.Pair) bool { return e <= steps.Peer && p.Rails[e] == i })
			r.Rig.Rails = append(r.Rig.Rails, Rail{
				Node: n.Name, Dev: rail.Dev, Netdev: rail.Netdev.Name, Address: rail.Addr, Pair: pair, GIDIndex: rail.GIDIndex,
				MTU: rail.MTU, PCI: rail.PCI.Addr, PCIeGTps: rail.PCI.GTps,
				Lanes: rail.PCI.Width, LinkGbps: rail.RateGbps, State: rail.State,
			})
		}
	}
	for _, g := range grades {
		r.Summary[g.String()] = 0
	}
	for _, c := range cells {
		e := ended[c.ID]
		cell := Cell{
			ID: c.ID, Part: c.Part, Title: c.Title, Verdict: e.Verdict.Grade, Reason: e.Verdict.Reason,
			Code: e.Verdict.Code, Codes: e.Verdict.Codes,
			Decided: e.Verdict.Decided, Findings: e.Verdict.Findings, Advice: e.Verdict.Advice,
			Evidence: Whole(e.Verdict.Evidence), Figures: Whole(e.Verdict.Figures),
			ElapsedMS: e.Elapsed.Milliseconds(), Rails: []Bytes{}, Log: e.Log,
			Tables: marked(rig, e.Verdict.Tables, func(t *steps.Table) *string { return &t.Title }),
			Charts: marked(rig, e.Verdict.Charts, func(c *steps.Chart) *string { return &c.Title }),
		}
		if e.HasExit {
			cell.Exit = &e.Exit.Code
		}
		cell.Rails = append(cell.Rails, Total(rig, e.Bytes)...)
		r.Cells = append(r.Cells, cell)
		r.Summary[e.Verdict.Grade.String()]++
	}
	return r
}

// Whole is a list that is empty and not null in JSON.
func Whole[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// marked are the figures with SIMULATED in their titles, where they are: each may be
// taken out of the object and shown alone.
func marked[T any](rig steps.Rig, all []T, title func(*T) *string) []T {
	if !rig.Simulated {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		text := title(&all[i])
		*text = strings.TrimSpace(*text + " SIMULATED")
	}
	return all
}

// NodeLines say what the nodes are: the ends have a line each, of the others those that are alike have one.
func (r Rig) NodeLines() (lines []string) {
	many := len(r.Nodes) > linesTold
	for nodes := r.Nodes; len(nodes) > 0; {
		end, names := nodes[0].End, []string{nodes[0].Name}
		about := nodes[0].about()
		nodes = nodes[1:]
		if len(r.Nodes)-len(nodes) > len(steps.Ends) {
			apart := false
			nodes = slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool {
				alike := n.about() == about && (many || !apart) // of many nodes also those that don't follow each other
				if apart = !alike; alike {
					names = append(names, n.Name)
				}
				return alike
			})
		}
		if len(names) > 1 {
			end = fmt.Sprintf("%d more", len(names))
		}
		lines = append(lines, fmt.Sprintf("%-5s %s: %s", end, nodeset.Fold(names), about))
	}
	return lines
}

// Total adds up the stages of a cell. A rail whose counters were not known in
// one of them is left out: part of a sum would read as the whole.
func Total(rig steps.Rig, bytes []steps.RailBytes) []Bytes {
	type key struct {
		end steps.End
		dev string
	}
	sums := map[key]*Bytes{}
	unknown := map[key]bool{}
	var order []key
	for _, b := range bytes {
		k := key{b.End, b.Dev}
		if sums[k] == nil {
			sums[k] = &Bytes{Node: rig.At(b.End).Name, Rail: b.Dev}
			order = append(order, k)
		}
		unknown[k] = unknown[k] || !b.Known
		sums[k].TxBytes += b.Tx
		sums[k].RxBytes += b.Rx
	}
	var out []Bytes
	for _, k := range order {
		if !unknown[k] {
			out = append(out, *sums[k])
		}
	}
	return out
}

// Sums are the grades with how often each was given.
func Sums(summary map[string]int) string {
	var all []string
	for _, g := range grades {
		if n := summary[g.String()]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, g))
		}
	}
	return strings.Join(all, ", ")
}

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
