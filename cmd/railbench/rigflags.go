package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railbench/railbench/steps"
)

// ofRig marks the flags that choose a rig: help shows them apart, and a command that does not use one refuses it.
const ofRig = "railbench_rig"

// newRigFlags are all flags that choose a rig, to be given to the commands that use them.
func newRigFlags(rig *rigFlags) *pflag.FlagSet {
	all := pflag.NewFlagSet("rig", pflag.ContinueOnError)
	rig.add(all)
	all.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{ofRig: nil} })
	return all
}

// withRig gives a command flags of the rig; all of them where none is named.
func withRig(cmd *cobra.Command, all *pflag.FlagSet, names ...string) *cobra.Command {
	all.VisitAll(func(f *pflag.Flag) {
		if len(names) == 0 || slices.Contains(names, f.Name) {
			cmd.Flags().AddFlag(f)
		}
	})
	return cmd
}

// rigNames are the names of all flags of the rig.
func rigNames(all *pflag.FlagSet) (names []string) {
	all.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func isOfRig(f *pflag.Flag) bool {
	_, ok := f.Annotations[ofRig]
	return ok
}

// split are a command's own flags, and those that choose its rig.
func split(flags *pflag.FlagSet) (own, rig *pflag.FlagSet) {
	own, rig = pflag.NewFlagSet("own", pflag.ContinueOnError), pflag.NewFlagSet("rig", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if isOfRig(f) {
			rig.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	return own, rig
}

// refusals say more of a rig's flag than that a command does not use it.
var refusals = map[string]map[string]string{
	"drill": {
		"peer":  "a drill is on the simulated rig: leave out --peer",
		"fault": "a drill chooses the fault: leave out --fault",
	},
	"init": {
		"slurm": "Slurm gets its nodes back at the end of the command. In an allocation run: railbench init --nodes slurm",
	},
	"pairs": {"link": "pairs measures all links: leave out --link"},
}

// unknownFlag and unknownLetter are how pflag (v1.0.10) begins its words for a flag that is missing.
const unknownFlag, unknownLetter = "unknown flag: --", "unknown shorthand flag: '"

// noFlag is about a flag that a command does not have: one of a rig that it does not use, or an unknown one, for which
// it names the nearest.
func noFlag(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), unknownFlag)
	if letter, short := strings.CutPrefix(err.Error(), unknownLetter); short && letter != "" {
		if f := cmd.Root().Flags().ShorthandLookup(letter[:1]); f != nil && isOfRig(f) {
			name, ok = f.Name, true
		}
	}
	if !ok {
		return err
	}
	if f := cmd.Root().Flags().Lookup(name); f != nil && isOfRig(f) {
		return errors.New(cmp.Or(refusals[cmd.Name()][name],
			fmt.Sprintf("%s does not use --%s: leave it out", cmd.CommandPath(), name)))
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	near := cmp.Or(steps.DidYouMean("--"+name, known), ": "+cmd.CommandPath()+" --help lists all flags")
	return fmt.Errorf("%s has no flag --%s%s", cmd.CommandPath(), name, near)
}
