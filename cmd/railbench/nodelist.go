package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/sanitize"
)

// nodesFlag is --nodes: how many nodes the simulated rig has, or a list of those of a real one.
type nodesFlag struct{ f *rigFlags }

func (n nodesFlag) Set(text string) error {
	n.f.nodeCount, n.f.nodeList = 0, ""
	if text != "" && strings.Trim(text, "0123456789") == "" {
		count, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("it is a number of simulated nodes, or a list of real ones")
		}
		if count == 0 { // which would be as if nothing had been said
			return errors.New("a rig has 2 nodes or more: give a number of simulated nodes, or a list of real ones")
		}
		n.f.nodeCount = count
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return errors.New("the list is empty")
	}
	n.f.nodeList = text
	return nil
}

func (n nodesFlag) String() string {
	switch {
	case n.f == nil || n.f.nodeCount == 0 && n.f.nodeList == "":
		return ""
	case n.f.nodeList != "":
		return n.f.nodeList
	}
	return strconv.Itoa(n.f.nodeCount)
}

func (n nodesFlag) Type() string { return "count|list" }

// namedNodes reads the list: in an inventory where one was given, with ClusterShell where the list has groups, and
// else by itself. What the inventory says and is not used is in notes.
func (f rigFlags) namedNodes(ctx context.Context, slurm []string) (nodes []nodeset.Node, notes []string, err error) {
	switch {
	case f.inventory != "":
		inv, err := f.inventoried(ctx)
		if err != nil {
			return nil, nil, err
		}
		nodes, err = nodeset.Finder{Inventory: inv}.Nodes(f.nodeList)
		return nodes, inv.Notes, err
	case nodeset.ForClusterShell(f.nodeList):
		nodes, err = f.grouped(ctx)
		return nodes, nil, err
	}
	nodes, err = nodeset.Finder{Slurm: slurm}.Nodes(f.nodeList)
	return nodes, nil, err
}

// listed are the nodes that --nodes and --inventory name, and what the inventory says and isn't used.
func (f rigFlags) listed(ctx context.Context) (nodes []nodeset.Node, notes []string, err error) {
	var a runner.Allocation
	if f.onSlurm() {
		if a, err = allocated(); err != nil {
			return nil, nil, err
		}
	}
	if nodes, notes, err = f.namedNodes(ctx, a.Nodes); err != nil {
		if f.nodeList != "" && !strings.Contains(err.Error(), cutList(f.nodeList)) {
			err = fmt.Errorf("the list of nodes %s: %w", cutList(f.nodeList), err)
		}
		return nil, nil, err
	}
	if f.onSlurm() {
		return nodes, nil, ofAllocation(a, nodes)
	}
	// One node at most is this machine: the one that an inventory says is, or else one of its name that the
	// list gives no other address.
	local := slices.IndexFunc(nodes, func(n nodeset.Node) bool { return n.Local })
	for i, n := range nodes {
		nodes[i].Local = i == local || local < 0 && n.SSH == n.Name && isThisMachine(n.Name)
	}
	return nodes, notes, nil
}

// cutList is a list as an error quotes it.
func cutList(list string) string {
	const most = 60
	if len(list) > most {
		return list[:most] + "…"
	}
	return list
}

// isThisMachine reports whether a name is this machine's own, with its domain or without.
func isThisMachine(name string) bool {
	own, err := os.Hostname()
	if err != nil || own == "" {
		return name == "localhost"
	}
	short, _, _ := strings.Cut(own, ".")
	return name == "localhost" || strings.EqualFold(name, own) || strings.EqualFold(name, short)
}

// listedRig is a rig of the nodes that --nodes and --inventory name.
func (f rigFlags) listedRig(ctx context.Context) (rigfile.File, error) {
	nodes, _, err := f.listed(ctx)
	if err != nil {
		return rigfile.File{}, err
	}
	if len(nodes) < len(steps.Ends) || len(nodes) > steps.MostNodes {
		return rigfile.File{}, fmt.Errorf("a rig has from %d to %d nodes, and the list %d", len(steps.Ends), steps.MostNodes,
			len(nodes))
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	if f.onSlurm() {
		return rigfile.OfAllocation(names), nil
	}
	file := rigfile.File{Name: nodeset.Fold(names)}
	for _, n := range nodes {
		own := rigfile.Node{Name: n.Name, SSH: n.SSH, Local: n.Local}
		if n.Local {
			own.SSH = ""
		}
		file.Nodes = append(file.Nodes, own)
	}
	return file, nil
}

// onSlurm reports whether --nodes means nodes of the allocation that railbench was started in.
func (f rigFlags) onSlurm() bool { return f.inventory == "" && nodeset.NamesAllocation(f.nodeList) }

// lists reports whether the flags name real nodes by a list.
func (f rigFlags) lists() bool { return f.nodeList != "" || f.inventory != "" }

// listReach are the flags by which listed nodes are found again.
func (f rigFlags) listReach() ([]string, error) {
	var flags []string
	if f.nodeList != "" {
		flags = append(flags, "--nodes", f.nodeList)
	}
	if f.inventory != "" {
		path, err := filepath.Abs(f.inventory)
		if err != nil {
			return nil, fmt.Errorf("--inventory: %w", err)
		}
		flags = append(flags, "--inventory", path)
	}
	return flags, nil
}

func nodesCommand(rig *rigFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "nodes [LIST]",
		Short: "Show the nodes of a list, without connecting to them",
		Long: `Expands --nodes LIST: names (a,b), folded names (spark-[01-04,07]), and the allocation's
below salloc or sbatch (slurm). "!" excludes nodes: spark-[01-04]!spark-03. For groups
(@rack1) and the operators "&" and "^" ClusterShell's program nodeset must be installed.
With --inventory FILE, ansible-inventory reads the file, and LIST names its hosts and
groups. At most 4096 nodes are read.`,
		Example: `  railbench nodes 'spark-[01-04]'
  railbench nodes '@rack1!spark-03'
  railbench nodes --inventory hosts.yml @sparks`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := *rig
			if len(args) == 1 {
				if f.nodeList != "" || f.nodeCount != 0 {
					return usage(errors.New("--nodes and LIST are the same: give one of them"))
				}
				f.nodeList = args[0]
			}
			if !f.lists() {
				return usage(errors.New("name a LIST, or an inventory with --inventory FILE"))
			}
			nodes, notes, err := f.listed(cmd.Context())
			if err != nil {
				return usage(err)
			}
			return showNodes(cmd, nodes, notes, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// A listedNode is one of railbench nodes --json.
type listedNode struct {
	Name  string `json:"name"`
	SSH   string `json:"ssh,omitempty"`
	Local bool   `json:"local,omitempty"`
	From  string `json:"from,omitempty"`
}

func showNodes(cmd *cobra.Command, nodes []nodeset.Node, notes []string, asJSON bool) error {
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
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		if err := writeJSON(out, map[string]any{
			"railbench": version(), "folded": nodeset.Fold(names), "nodes": all,
		}); err != nil {
			return unwritten(fmt.Errorf("write the result: %w", err))
		}
	case len(nodes) == 0:
		sanitize.Fprintln(out, "0 nodes: the list is empty")
	default:
		sanitize.Fprintf(out, "%s: %s\n", steps.Counted(len(nodes), "node"), nodeset.Fold(names))
		for _, n := range all {
			line := fmt.Sprintf("  %-*s  %-*s  %s", width, n.Name, reach, howReached(n), n.From)
			sanitize.Fprintln(out, strings.TrimRight(line, " "))
		}
	}
	// A user who passes the list to a program has to know which part of the inventory is missing from it,
	// too.
	for _, note := range notes {
		sanitize.Fprintln(cmd.ErrOrStderr(), note)
	}
	if len(nodes) > steps.MostNodes {
		sanitize.Fprintf(cmd.ErrOrStderr(), "a rig has at most %d of them\n", steps.MostNodes)
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
