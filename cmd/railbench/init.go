package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

func initCommand(rig *rigFlags) *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "init --peer USER@HOST [--here USER@HOST] | --nodes LIST",
		Short: "Find the rails on all nodes, find which ports are cabled together, and write the rig file",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rig.peer == "" && !rig.lists() && rig.rig != "sim" && rig.rig != ringRig {
				return usage(errors.New("init needs --peer USER@HOST, the other node, or --nodes LIST " +
					"(from a third machine also --here USER@HOST)"))
			}
			path := out
			if path == "" {
				var err error
				if path, err = rigPath(); err != nil {
					return usage(err)
				}
			}
			if config := rig.sshConfig; config != "" {
				// The file is read from anywhere.
				absolute, err := filepath.Abs(config)
				if err != nil {
					return usage(err)
				}
				rig.sshConfig = absolute
			}
			ask, _ := newAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), false)
			b, err := rig.open(cmd.Context(), ask)
			if err != nil {
				return err
			}
			defer b.close()
			return rig.survey(cmd, b, path, force)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write this file instead of the one in the configuration folder")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

// survey looks at the nodes, shows what there is, and writes the rig file where two of them answered.
func (f rigFlags) survey(cmd *cobra.Command, b *bench, path string, force bool) error {
	where := b.options.Where
	if b.simRig != nil {
		where = b.names()
	}
	sanitize.Fprintf(cmd.ErrOrStderr(), "looking at %s …\n", looksAt(where, b.names()))
	found, cables, errs := session.Survey(cmd.Context(), b.options)
	answered := 0
	for _, err := range errs {
		if err == nil {
			answered++
		}
	}
	var silent error
	if answered < len(errs) {
		silent = status{exitUnreachable, errors.Join(errs...)}
	}
	if answered < len(steps.Ends) {
		return silent
	}
	out := cmd.OutOrStdout()
	if len(found.Nodes) == len(steps.Ends) {
		found = found.Over(steps.DefaultLink)
		describe(out, found)
	} else {
		describeAll(out, found)
	}
	for _, line := range cables.Draw() {
		sanitize.Fprintln(out, line)
	}
	if b.simRig != nil {
		sanitize.Fprintln(out, "these nodes are SIMULATED: a rig file is not written")
		return silent
	}
	if err := writeRig(path, f.fileOf(b, found), force); err != nil {
		return err
	}
	if f.sshConfig != "" { // the user has named it
		if t, err := trustsRig(path); err == nil && t.what != "" {
			_ = t.trust() // it is asked for then
		}
	}
	use := "start railbench and it is used"
	if usual, err := rigPath(); err != nil || usual != path {
		use = "railbench --rig " + path + " uses it"
	}
	sanitize.Fprintf(out, "wrote %s; %s\n", path, use)
	if silent != nil {
		sanitize.Fprintln(out, "nodes that did not answer are in it, too")
	}
	return silent
}

// looksAt are the nodes that are looked at, in one line.
func looksAt(where, names []string) string {
	if len(where) == len(steps.Ends) {
		return where[0] + " and " + where[1]
	}
	return fmt.Sprintf("%d nodes: %s", len(names), nodeset.Fold(names))
}

// fileOf is the rig file of what was found: of two nodes as --peer names them, or of a list.
func (f rigFlags) fileOf(b *bench, found steps.Rig) rigfile.File {
	if f.lists() {
		return f.listFile(b, found)
	}
	file := rigfile.File{
		SSHConfig: f.sshConfig, Etcd: f.etcd,
		Here: rigfile.Node{SSH: f.here, Local: f.here == ""}, Peer: rigfile.Node{SSH: f.peer},
	}
	for e, n := range map[steps.End]*rigfile.Node{steps.Here: &file.Here, steps.Peer: &file.Peer} {
		if n.Name = found.At(e).Host; n.Name == "" {
			n.Name = found.At(e).Name
		}
	}
	file.Name = file.Here.Name + "-" + file.Peer.Name
	for _, p := range found.Pairs {
		file.Rails = append(file.Rails, rigfile.Rail{
			Here: found.Rail(p, steps.Here).Dev, Peer: found.Rail(p, steps.Peer).Dev,
		})
	}
	return file
}

// railsTold is the number of nodes up to which the rig file names the rails of each link. A rig with more
// nodes uses the rails that are found: a file of thousands of rails is too long to read.
const railsTold = 8

func (f rigFlags) listFile(b *bench, found steps.Rig) rigfile.File {
	file := b.listed
	file.SSHConfig, file.Etcd = f.sshConfig, f.etcd
	if len(found.Nodes) > railsTold {
		return file
	}
	for _, l := range steps.Links(len(found.Nodes)) {
		link := found.Over(l)
		for _, p := range link.Pairs {
			end := func(e steps.End) string { return link.At(e).Name + ":" + link.Rail(p, e).Dev }
			file.Rails = append(file.Rails, rigfile.Rail{A: end(steps.Here), B: end(steps.Peer)})
		}
	}
	return file
}

// linesTold is up to how many nodes have a line each.
const linesTold = 64

// describeAll prints a line for each node: what it is and how many rails it has. Of many nodes those that say the same
// have one.
func describeAll(out io.Writer, rig steps.Rig) {
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

// describe prints the pairs of rails and what is left over.
func describe(out io.Writer, rig steps.Rig) {
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
