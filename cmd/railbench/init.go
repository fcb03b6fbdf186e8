package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/theory"
)

func initCommand(rig *rigFlags) *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "init --peer USER@HOST [--here USER@HOST]",
		Short: "Find the rails on both nodes and write the rig file",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rig.peer == "" {
				return usage(errors.New("init needs --peer USER@HOST, the other node; " +
					"with --here USER@HOST it is driven from a third machine"))
			}
			path := out
			if path == "" {
				var err error
				if path, err = rigPath(); err != nil {
					return usage(err)
				}
			}
			config := rig.sshConfig
			if config != "" {
				// The file is read from anywhere.
				absolute, err := filepath.Abs(config)
				if err != nil {
					return usage(err)
				}
				config = absolute
			}
			ask, _ := newAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), false)
			b, err := rig.open(cmd.Context(), ask)
			if err != nil {
				return err
			}
			defer b.close()
			gate.Fprintf(cmd.ErrOrStderr(), "looking at %s and %s …\n", b.options.Where[0], b.options.Where[1])
			found, err := session.Probe(cmd.Context(), b.options)
			if err != nil {
				return status{exitUnreachable, err}
			}
			describe(cmd.OutOrStdout(), found)
			file := rigFile{
				SSHConfig: config, Etcd: rig.etcd,
				Here: nodeFile{SSH: rig.here, Local: rig.here == ""}, Peer: nodeFile{SSH: rig.peer},
			}
			for e, n := range map[steps.End]*nodeFile{steps.Here: &file.Here, steps.Peer: &file.Peer} {
				if n.Name = found.At(e).Host; n.Name == "" {
					n.Name = found.At(e).Name
				}
			}
			file.Name = file.Here.Name + "-" + file.Peer.Name
			for _, p := range found.Pairs {
				file.Rails = append(file.Rails, railFile{Here: found.Rail(p, steps.Here).Dev, Peer: found.Rail(p, steps.Peer).Dev})
			}
			if err := writeRig(path, file, force); err != nil {
				return usage(err)
			}
			if config != "" { // the user has named it
				if t, err := trustsRig(path); err == nil && t.what != "" {
					_ = t.trust() // it is asked for then
				}
			}
			use := "start railbench and it is used"
			if usual, err := rigPath(); err != nil || usual != path {
				use = "railbench --rig " + path + " uses it"
			}
			gate.Fprintf(cmd.OutOrStdout(), "wrote %s; %s\n", path, use)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write this file in place of the one in the configuration folder")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return cmd
}

// describe prints the pairs of rails and what is left over.
func describe(out io.Writer, rig steps.Rig) {
	for _, e := range steps.Ends {
		n := rig.At(e)
		gate.Fprintf(out, "%s  %s  %s\n", n.Name, n.Where, n.Adapter)
		for i, r := range n.Rails {
			pair := "no pair"
			for j, p := range rig.Pairs {
				if p.Rails[e] == i {
					pair = fmt.Sprintf("rail %d", j+1)
				}
			}
			ceiling := ""
			if c, _ := theory.Ceiling(r); c > 0 {
				ceiling = fmt.Sprintf("  PCIe x%d, ceiling %.0f Gb/s", r.PCI.Width, c)
			}
			gate.Fprintf(out, "  %-8s %-14s %-16s %-16s %s%s\n", pair, r.Dev, r.Netdev.Name, r.Addr, r.State, ceiling)
		}
	}
	if len(rig.Pairs) == 0 {
		gate.Fprintln(out, "no pair of rails has addresses in one subnet: the cells that need a rail will say so")
	}
}
