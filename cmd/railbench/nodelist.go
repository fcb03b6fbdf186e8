package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/nodelist"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/trust"
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

// list are the nodes that --nodes and --inventory name.
func (f rigFlags) list() nodelist.List {
	state, _ := stateDir() // without a home an inventory is copied to the temporary files
	return nodelist.List{
		Names: f.nodeList, Inventory: f.inventory, Trust: newTrust(steps.Tutorial{}), State: state,
		Allow: func(r trust.Request, why error) error { return allow(r, f.trust, why) },
	}
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
			if !f.list().Any() {
				return usage(errors.New("name a LIST, or an inventory with --inventory FILE"))
			}
			nodes, notes, err := f.list().Nodes(cmd.Context())
			if err != nil {
				return usage(err)
			}
			if err := nodelist.Show(cmd.OutOrStdout(), version(), nodes, asJSON); err != nil {
				return unwritten(fmt.Errorf("write the result: %w", err))
			}
			// A user who passes the list to a program has to know which part of the inventory is missing from it, too.
			for _, note := range notes {
				sanitize.Fprintln(cmd.ErrOrStderr(), note)
			}
			if len(nodes) > steps.MostNodes {
				sanitize.Fprintf(cmd.ErrOrStderr(), "a rig has at most %d of them\n", steps.MostNodes)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}
