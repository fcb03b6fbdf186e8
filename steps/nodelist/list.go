// Package nodelist is a rig's nodes by a list: names, an allocation of Slurm's, ClusterShell's groups, an inventory of
// Ansible's. It makes a rig file of them. It connects to no node, and asks no user whether an inventory may run.
package nodelist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/trust"
)

// A List says which nodes, and where they are looked up.
type List struct {
	Names     string // as nodeset reads them; empty for all of the inventory
	Inventory string // Ansible's file; empty for none

	Trust *trust.Book
	State string // railbench's folder, where an inventory is copied to
	// Allow lets a request be, or gives the error why it may not.
	Allow func(r trust.Request, why error) error
}

// Any reports whether it names real nodes.
func (l List) Any() bool { return l.Names != "" || l.Inventory != "" }

// OnSlurm reports whether the names are of the allocation that railbench was started in.
func (l List) OnSlurm() bool { return l.Inventory == "" && nodeset.NamesAllocation(l.Names) }

// named reads the list: in an inventory where one was given, with ClusterShell where the list has groups, and
// else by itself. What the inventory says and is not used is in notes.
func (l List) named(ctx context.Context, slurm []string) (nodes []nodeset.Node, notes []string, err error) {
	switch {
	case l.Inventory != "":
		inv, err := l.inventoried(ctx)
		if err != nil {
			return nil, nil, err
		}
		nodes, err = nodeset.Finder{Inventory: inv}.Nodes(l.Names)
		return nodes, inv.Notes, err
	case nodeset.ForClusterShell(l.Names):
		nodes, err = l.grouped(ctx)
		return nodes, nil, err
	}
	nodes, err = nodeset.Finder{Slurm: slurm}.Nodes(l.Names)
	return nodes, nil, err
}

// grouped are the nodes of a list with groups, as ClusterShell reads it.
func (l List) grouped(ctx context.Context) ([]nodeset.Node, error) {
	if nodeset.NamesAllocation(l.Names) {
		return nil, errors.New(`"slurm" and ClusterShell's groups can't be in one list: write the names`)
	}
	names, err := runner.AskClusterShell(ctx, l.Names)
	if err != nil || strings.TrimSpace(names) == "" {
		return nil, err
	}
	nodes, err := nodeset.Finder{}.Nodes(names)
	for i := range nodes {
		nodes[i].From = "nodeset -e"
	}
	return nodes, err
}

// Nodes are the nodes, and what the inventory says and isn't used.
func (l List) Nodes(ctx context.Context) (nodes []nodeset.Node, notes []string, err error) {
	var a runner.Allocation
	if l.OnSlurm() {
		if a, err = Allocated(); err != nil {
			return nil, nil, err
		}
	}
	if nodes, notes, err = l.named(ctx, a.Nodes); err != nil {
		if l.Names != "" && !strings.Contains(err.Error(), cut(l.Names)) {
			err = fmt.Errorf("the list of nodes %s: %w", cut(l.Names), err)
		}
		return nil, nil, err
	}
	if l.OnSlurm() {
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

// cut is a list as an error quotes it.
func cut(list string) string {
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

// Rig is a rig of the nodes.
func (l List) Rig(ctx context.Context) (rigfile.File, error) {
	nodes, _, err := l.Nodes(ctx)
	if err != nil {
		return rigfile.File{}, err
	}
	if len(nodes) < len(steps.Ends) || len(nodes) > steps.MostNodes {
		return rigfile.File{}, fmt.Errorf("a rig has from %d to %d nodes, and the list %d", len(steps.Ends), steps.MostNodes,
			len(nodes))
	}
	names := steps.Each(nodes, func(n nodeset.Node) string { return n.Name })
	if l.OnSlurm() {
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

// Reach are the flags by which the nodes are found again.
func (l List) Reach() ([]string, error) {
	var flags []string
	if l.Names != "" {
		flags = append(flags, "--nodes", l.Names)
	}
	if l.Inventory != "" {
		path, err := filepath.Abs(l.Inventory)
		if err != nil {
			return nil, fmt.Errorf("--inventory: %w", err)
		}
		flags = append(flags, "--inventory", path)
	}
	return flags, nil
}

// Allocated is the allocation that railbench was started in.
func Allocated() (runner.Allocation, error) {
	a, ok, err := runner.Allocated(os.Getenv)
	if !ok {
		return a, errors.New("not in a Slurm allocation (SLURM_JOB_ID is not set): start railbench below salloc or sbatch, " +
			"or ask for nodes with --slurm PARTITION:N")
	}
	return a, err
}

// ofAllocation makes nodes of a list the allocation's, which Slurm reaches by their names. The way
// to another would be another engine, and a rig has one.
func ofAllocation(a runner.Allocation, nodes []nodeset.Node) error {
	for i, n := range nodes {
		if !slices.Contains(a.Nodes, n.SSH) {
			return Lacking(a, n.SSH)
		}
		nodes[i] = nodeset.Node{Name: n.Name, From: fmt.Sprintf("allocation %d", a.Job)}
	}
	return nil
}

// Lacking says that an allocation doesn't have a node.
func Lacking(a runner.Allocation, node string) error {
	return fmt.Errorf("the allocation %d has no node %s: it has %s", a.Job, node, nodeset.Fold(a.Nodes))
}

// WantsSlurm reads --slurm PARTITION:N.
func WantsSlurm(text string) (partition string, nodes int, err error) {
	partition, count, ok := strings.Cut(text, ":")
	nodes, bad := strconv.Atoi(count)
	if !ok || bad != nil || nodes < len(steps.Ends) || nodes > steps.MostNodes {
		return "", 0, fmt.Errorf("--slurm %s: give PARTITION:N, with %d to %d nodes", cut(text), len(steps.Ends),
			steps.MostNodes)
	}
	if err := nodeset.Check("partition", partition); err != nil {
		return "", 0, fmt.Errorf("--slurm: %w", err)
	}
	return partition, nodes, nil
}

// Show prints the nodes, or one JSON object of them.
func Show(out io.Writer, program string, nodes []nodeset.Node, asJSON bool) error {
	names, width, reach := make([]string, 0, len(nodes)), 0, 0
	all := append([]nodeset.Node{}, nodes...)
	for i, n := range all {
		if n.Local {
			all[i].SSH = ""
		}
		names = append(names, n.Name)
		width, reach = max(width, len(n.Name)), max(reach, len(howReached(n)))
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

func howReached(n nodeset.Node) string {
	switch {
	case n.Local:
		return "this machine"
	case n.SSH == "":
		return "srun"
	}
	return "ssh " + n.SSH
}
