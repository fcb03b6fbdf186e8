package main

import (
	"github.com/spf13/cobra"
)

func demoCommand(rig *rigFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The rails on a stage: numerals that can be read from the last row",
		Long: `demo opens the screen for an audience: rates in numerals five rows high and more, of
each rail, cable and half and of all of them; bars with a scale that shows the link, the
PCIe ceiling and the payload that fits through it; RDMA and IP in two colours, with the
processors of both nodes beside them; two minutes of history; and below them the cell
that runs, its command and its verdict.

1 to 7 keep rails busy, x stops them, ? shows all keys. In the workbench ctrl+g opens it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := workbench(cmd, *rig, opening{stage: true})
			return err
		},
	}
	return cmd
}
