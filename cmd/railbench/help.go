package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/theme"
)

// helpOf prints the help of a command. What --help prints of a verb fits on a screen: the first paragraph and two
// examples; "railbench help VERB", which has no args, prints all of it.
func helpOf(c *cobra.Command, args []string) {
	out := c.OutOrStdout()
	sanitize.Fprintf(out, "%s", sanitize.Several(helpText(c, columns(out), len(args) > 0 && c.HasParent())))
}

func helpText(c *cobra.Command, width int, short bool) string {
	text := cmp.Or(c.Long, c.Short)
	if first, rest, _ := strings.Cut(text, "\n\n"); short && rest != "" {
		text = flow(first) + " More: " + c.Root().CommandPath() + " help" +
			strings.TrimPrefix(c.CommandPath(), c.Root().CommandPath())
		text = strings.Join(theme.Wrap(text, cmp.Or(width, plainHelp), "", ""), "\n")
	}
	return text + "\n\n" + usageText(c, width, short)
}

// usageOfCommand is the end of a command's help.
func usageOfCommand(c *cobra.Command) error {
	out := c.OutOrStderr()
	return sanitize.WriteText(out, usageText(c, columns(out), false))
}

// usageText is cobra's with the flags of the rig apart, as wide as the terminal; width 0 for as long as the lines are.
func usageText(c *cobra.Command, width int, short bool) string {
	var b strings.Builder
	put := func(format string, args ...any) { sanitize.Fprintf(&b, format, args...) }
	put("Usage:\n")
	if c.Runnable() {
		put("  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		put("  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		examples := strings.Split(c.Example, "\n")
		for i, n := 0, 0; short && i < len(examples); i++ {
			if n++; strings.HasSuffix(examples[i], "\\") {
				n-- // it goes on in the next line
			}
			if n == shortExamples {
				examples = examples[:i+1]
			}
		}
		put("\nExamples:\n%s\n", sanitize.Several(strings.Join(examples, "\n")))
	}
	for _, group := range grouped(c) {
		put("\n%s:\n", group.title)
		for _, sub := range group.commands {
			put("  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	own, rig := split(c.LocalFlags())
	if own.HasAvailableFlags() {
		put("\nFlags:\n%s\n", sanitize.Several(strings.TrimRight(own.FlagUsagesWrapped(width), " \n")))
	}
	switch {
	case !rig.HasAvailableFlags():
	case c.HasParent():
		names := "Rig flags (" + c.Root().CommandPath() + " --help):"
		rig.VisitAll(func(f *pflag.Flag) { names += " --" + f.Name })
		put("\n%s\n", sanitize.Several(strings.Join(theme.Wrap(names, cmp.Or(width, plainHelp), "", "  "), "\n")))
	default:
		put("\nRig flags:\n%s\n", sanitize.Several(strings.TrimRight(rig.FlagUsagesWrapped(width), " \n")))
	}
	if c.HasAvailableSubCommands() && !short {
		put("\nUse \"%s [command] --help\" for more about a command.\n", c.CommandPath())
	}
	return b.String()
}

// shortExamples is how many examples --help shows.
const shortExamples = 2

// plainHelp is how wide help is where nothing says how wide the terminal is.
const plainHelp = 80

// A commandGroup is commands for one purpose.
type commandGroup struct {
	title    string
	names    []string
	commands []*cobra.Command
}

// grouped are the subcommands of a command, by what they are for; those of a subcommand are one group.
func grouped(c *cobra.Command) []commandGroup {
	groups := []commandGroup{
		{title: "Learn", names: []string{"docs", "progress", "drill", "list", "run", "new", "check"}},
		{title: "Diagnose", names: []string{"doctor", "explain", "pairs", "compare", "parse"}},
		{title: "Present", names: []string{"demo", "notes", "serve", "gauge", "stream", "export"}},
		{title: "Rig", names: []string{"init", "nodes", "rig", "sim", "trust", "undo"}},
		{title: "Other"},
	}
	if c.HasParent() {
		groups = []commandGroup{{title: "Commands"}}
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		i := slices.IndexFunc(groups, func(g commandGroup) bool { return slices.Contains(g.names, sub.Name()) })
		if i < 0 {
			i = len(groups) - 1
		}
		groups[i].commands = append(groups[i].commands, sub)
	}
	return slices.DeleteFunc(groups, func(g commandGroup) bool { return g.commands == nil })
}
