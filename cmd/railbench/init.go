package main

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
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
			if rig.peer == "" && !rig.list().Any() && rig.rig != "sim" && rig.rig != ringRig {
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
			ask, _ := headless.NewAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), false)
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
func (f rigFlags) survey(cmd *cobra.Command, b *openRig, path string, force bool) error {
	where := b.options.Where
	if b.simRig != nil {
		where = b.names()
	}
	sanitize.Fprintf(cmd.ErrOrStderr(), "looking at %s …\n", headless.Asked(where, b.names()))
	found, cables, errs := session.Survey(cmd.Context(), b.options)
	answered := len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err != nil }))
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
		headless.Describe(out, found)
	} else {
		headless.DescribeAll(out, found)
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
		if t, err := trustsRig(path); err == nil && t.What != "" {
			_ = t.Trust() // it is asked for then
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

// fileOf is the rig file of what was found: of two nodes as --peer names them, or of a list.
func (f rigFlags) fileOf(b *openRig, found steps.Rig) rigfile.File {
	file := rigfile.File{
		Here: rigfile.Node{SSH: f.here, Local: f.here == ""}, Peer: rigfile.Node{SSH: f.peer},
	}
	if f.list().Any() {
		file = b.listed
	}
	file.SSHConfig, file.Etcd = f.sshConfig, f.etcd
	return file.Found(found)
}
