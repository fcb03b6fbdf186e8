package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/screen"
)

// What a shell offers where a word is begun. cobra makes the scripts of the shells: they
// ask railbench itself, so they know of a runbook's cells, too. No node is asked.

const noFiles = cobra.ShellCompDirectiveNoFileComp

func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script for bash, zsh or fish",
		Long: `Prints a script for a shell. It completes commands, flags, the ids of cells and checks,
faults, parameters and pages. Bash needs its package bash-completion.`,
		Example: `  railbench completion bash > ~/.local/share/bash-completion/completions/railbench
  railbench completion zsh > ~/.zfunc/_railbench
  railbench completion fish > ~/.config/fish/completions/railbench.fish`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one shell: %s", strings.Join(shells, ", "))
			}
			if !slices.Contains(shells, args[0]) {
				near := steps.DidYouMean(args[0], shells)
				return fmt.Errorf("unknown shell %q%s (use %s)", args[0], near, strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeCompletion(cmd.Root(), args[0], cmd.OutOrStdout()); err != nil {
				return status{exitUsage, fmt.Errorf("write the completions: %w", err)}
			}
			return nil
		},
	}
}

func writeCompletion(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	default:
		var script bytes.Buffer
		if err := root.GenBashCompletionV2(&script, true); err != nil {
			return err
		}
		// Without the package bash-completion each Tab printed "command not found".
		const words = "_get_comp_words_by_ref"
		return sanitize.WriteText(out, strings.ReplaceAll(script.String(), "    "+words,
			"    declare -F "+words+" >/dev/null || return 1\n    "+words))
	}
}

type completer = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// without leaves out what is on the command line already.
func without(all []cobra.Completion, args []string) []cobra.Completion {
	return slices.DeleteFunc(all, func(c cobra.Completion) bool {
		name, _, _ := strings.Cut(c, "\t")
		return slices.Contains(args, name)
	})
}

func described(name, what string) cobra.Completion { return cobra.CompletionWithDesc(name, what) }

func completeDocs(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	all := steps.Each(pages(), func(p screen.Doc) cobra.Completion { return described(p.Name, p.About) })
	return all, noFiles
}

// completeCells offers cells and parts: of the runbooks that are named, too.
func completeCells(runbooks *[]string) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		// cobra reads the flags twice before it asks.
		var named []string
		for _, name := range *runbooks {
			if !slices.Contains(named, name) {
				named = append(named, name)
			}
		}
		t, _, err := rigFlags{runbooks: named}.tutorial()
		if err != nil {
			return nil, noFiles
		}
		var all []cobra.Completion
		for _, p := range t.Parts {
			all = append(all, described(p.ID, "part: "+p.Title))
			for _, c := range p.Cells {
				all = append(all, described(c.ID, c.Title))
			}
		}
		return without(all, args), noFiles
	}
}

func completeChecks(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	t, _, err := tutorial()
	if err != nil {
		return nil, noFiles
	}
	all := steps.Each(t.Checks(), func(c steps.Cell) cobra.Completion { return described(c.ID, c.Title) })
	return without(all, args), noFiles
}

// completeFaults offers the faults, and the nodes behind one's @.
func completeFaults(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	if name, _, at := strings.Cut(typed, "@"); at {
		flag := cmd.Flags().Lookup("nodes")
		if flag == nil {
			return nil, noFiles
		}
		count, _ := strconv.Atoi(flag.Value.String()) // a list names no simulated node
		for _, node := range sim.NodeNames(count) {
			all = append(all, name+"@"+node)
		}
		return all, noFiles
	}
	for _, f := range sim.Faults() {
		all = append(all, described(f.Name, f.Title))
	}
	return all, noFiles
}

func completeParams(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	t, _, err := tutorial()
	if err != nil {
		return nil, noFiles
	}
	all := steps.Each(session.Params(catalog.New(), t),
		func(p steps.Param) cobra.Completion { return described(p.Name+"=", p.Does) })
	return all, noFiles | cobra.ShellCompDirectiveNoSpace
}

// mostLinked is of how many nodes all links are offered at once; of more one end is completed after the other.
const mostLinked = 64

// completeLinks offers the pairs of a rig's nodes, each both ways: the clients run on the
// first. The names are the rig file's, and no node is asked; one without a name there goes
// by its number.
func completeLinks(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	// A flag that the command hasn't is as if it weren't given.
	text := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	f := rigFlags{rig: text("rig"), peer: text("peer"), here: text("here"), inventory: text("inventory"), speed: 1}
	if given := text("nodes"); given != "" {
		if err := (nodesFlag{&f}).Set(given); err != nil {
			return nil, noFiles
		}
	}
	names, err := f.nodeNames(cmd.Context())
	if err != nil {
		return nil, noFiles // said when the command runs
	}
	var all []cobra.Completion
	if len(names) > mostLinked {
		here, _, whole := strings.Cut(typed, ":")
		for _, name := range names {
			switch {
			case !whole:
				all = append(all, described(name+":", "clients on "+name))
			case name != here:
				all = append(all, described(here+":"+name, "clients on "+here))
			}
		}
		if whole {
			return all, noFiles
		}
		return all, noFiles | cobra.ShellCompDirectiveNoSpace
	}
	for _, l := range steps.Links(len(names)) {
		a, b := names[l.Here], names[l.Peer]
		all = append(all, described(a+":"+b, "clients on "+a), described(b+":"+a, "clients on "+b))
	}
	return all, noFiles
}

// nodeNames are how --link may call the nodes of the rig that the flags name.
func (f rigFlags) nodeNames(ctx context.Context) (names []string, err error) {
	c, err := f.choose(ctx)
	if err != nil {
		return nil, err
	}
	if c.simulated {
		rig, err := sim.New(sim.Options{Nodes: f.nodeCount, Ring: f.rig == ringRig, Speed: sim.Max})
		if err != nil {
			return nil, err
		}
		defer rig.Close()
		return simNames(rig), nil
	}
	for i, n := range c.file.All() {
		if n.Name == "" {
			n.Name = strconv.Itoa(i + 1)
		}
		names = append(names, n.Name)
	}
	return names, nil
}

// completeTools offers tools, and a file behind one.
func completeTools(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	all := steps.Each(catalog.New().Tools, func(t parse.Tool) cobra.Completion { return described(t.Name, t.Shows) })
	return all, noFiles
}

// completeFlags gives flags what they can be set to. A flag that isn't there is a
// mistake in this table, which every start would show.
func completeFlags(cmd *cobra.Command, flags map[string]completer) {
	for name, complete := range flags {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err)
		}
	}
}

// rigCompletions are for the flags that choose a rig.
func rigCompletions() map[string]completer {
	return map[string]completer{
		"rig": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{
				described("sim", "the simulated rig"), described(ringRig, "the simulated rig, its nodes in a ring"),
				described("virtual", "two virtual machines"),
			}, cobra.ShellCompDirectiveDefault // or a rig file
		},
		"fault": completeFaults,
		"param": completeParams,
		"peer":  words(), "here": words(), "link": completeLinks, "etcd": words(), "container": words(),
		"speed": words("10", "max"), "seed": words(), "nodes": words("2", "3", "4", rigfile.Slurm), "slurm": words(),
		"inventory": files("ini", "yml", "yaml", "json"),
	}
}

func words(all ...cobra.Completion) completer { return cobra.FixedCompletions(all, noFiles) }

// files with one of these endings, and folders.
func files(endings ...cobra.Completion) completer {
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}
