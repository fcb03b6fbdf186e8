package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps/sanitize"
)

func simCommand() *cobra.Command {
	var o sim.Options
	var port int
	rate := speed(1)
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve the simulated rig over SSH on loopback",
		Long: `Serves the nodes of the simulated rig on this machine's loopback. Any SSH client can log
in to them. All measurements there are simulated.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.Faults) == 1 && o.Faults[0] == "list" {
				return listFaults(cmd.OutOrStdout())
			}
			if port < 0 || port > 65534 {
				return usage(fmt.Errorf("--port %d: give a port from 0 (any) to 65534", port))
			}
			o.Speed = float64(rate)
			rig, err := sim.New(o)
			if err != nil {
				return usage(err)
			}
			defer rig.Close()
			ctx := cmd.Context()
			served := make(chan error, len(rig.Nodes()))
			for i, node := range rig.Nodes() {
				at := port
				if port > 0 {
					at += i
				}
				ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", at))
				if err != nil {
					return usage(fmt.Errorf("serve %s: %w", node, err))
				}
				defer ln.Close()
				sanitize.Fprintf(cmd.OutOrStdout(), "%s (SIMULATED)  ssh -p %d nvidia@127.0.0.1\n", node,
					ln.Addr().(*net.TCPAddr).Port)
				go func() { served <- rig.Serve(ctx, ln, node) }()
			}
			sanitize.Fprintln(cmd.OutOrStdout(), "Ctrl-C ends it")
			select {
			case <-ctx.Done():
				return nil
			case err := <-served:
				if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
					return nil
				}
				return err
			}
		},
	}
	cmd.Flags().IntVar(&o.Nodes, "nodes", 0, "the number of nodes (default 2, with --ring 3); more than two are on a "+
		"switch or in a ring")
	cmd.Flags().BoolVar(&o.Ring, "ring", false, "cable them in a ring: port 0 of each to port 1 of the next")
	cmd.Flags().Var(&rate, "speed", "how much faster the rig's time runs; max: as fast as the processor allows")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "repeat the figures exactly")
	cmd.Flags().StringSliceVar(&o.Faults, "fault", nil, "break the rig: NAME or NAME@NODE; list prints the faults")
	completeFlags(cmd, map[string]completer{
		"fault": completeFaults, "speed": words("10", "max"), "seed": words(), "nodes": words("2", "3", "4"),
	})
	cmd.Flags().IntVar(&port, "port", 0, "the first node's port; the other nodes use the next ones; 0 uses free ports")
	return cmd
}

// listFaults prints what a simulated rig can be broken by.
func listFaults(out io.Writer) error {
	for _, f := range sim.Faults() {
		_ = say(out, fmt.Sprintf("%-22s ", f.Name), f.Title) // a writer that failed once fails from then on
		_ = say(out, strings.Repeat(" ", 23), strings.ReplaceAll(f.Doc, "\n", " "))
	}
	sanitize.Fprintln(out)
	return say(out, "", "NAME@NODE puts one on another node, as in pcie-x2@spark-02.")
}
