package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the man page",
		Long: `Prints the man page of all commands, in roff. man reads it where it is kept in a man1
folder, such as ~/.local/share/man/man1/railbench.1.`,
		Example: `  railbench man > ~/.local/share/man/man1/railbench.1
  railbench man | man -l -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(md2man.Render([]byte(manual(cmd.Root(), thisEdition()))))
			if err != nil {
				return status{exitUsage, fmt.Errorf("write the man page: %w", err)}
			}
			return nil
		},
	}
}

// manual is the man page in Markdown: one page for all commands, so that it can be
// searched.
func manual(root *cobra.Command, made edition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% railbench 1 %q %q %q\n\n", manDate(made), "railbench "+made.version, "User commands")
	fmt.Fprintf(&b, "# NAME\n\nrailbench - %s\n\n", strings.ToLower(root.Short[:1])+plainMarkdown(root.Short[1:]))
	fmt.Fprintf(&b, "# SYNOPSIS\n\n**railbench** [*FLAG*...] [*FILE.md*...|*FOLDER*]\n\n**railbench** *COMMAND* [*FLAG*...] [*ARGUMENT*...]\n\n")
	fmt.Fprintf(&b, "# DESCRIPTION\n\n%s\n", markdownOf(root.Long))
	b.WriteString("# COMMANDS\n\n")
	for _, c := range commandsUnder(root) {
		fmt.Fprintf(&b, "## %s\n\n%s.\n\n", plainMarkdown(usageOf(c)), plainMarkdown(c.Short))
		if c.Long != "" {
			b.WriteString(markdownOf(c.Long))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", c.Example)
		}
		b.WriteString(manFlags(c.LocalNonPersistentFlags()))
	}
	fmt.Fprintf(&b, "# OPTIONS\n\nOf the workbench:\n\n%sOf all commands that need a rig:\n\n%s", manFlags(root.LocalNonPersistentFlags()), manFlags(root.PersistentFlags()))
	b.WriteString(manEnd)
	return b.String()
}

// manEnd is what no command knows of.
const manEnd = `# EXIT STATUS

**0**
: nothing failed

**1**
: a cell or a check FAILed, or a comparison found something worse

**2**
: wrong usage or configuration

**3**
: a node can't be reached

**4**
: nothing failed, but something was INCONCLUSIVE

# ENVIRONMENT

**PAGER**
: shows logs and pages; less or more where it is not set

**VISUAL**, **EDITOR**
: edit a cell's script

**NO\_COLOR**
: the workbench uses bold, faint and reverse only

**XDG\_CONFIG\_HOME**, **XDG\_STATE\_HOME**
: where the files below are, in place of ~/.config and ~/.local/state

# FILES

**~/.config/railbench/rig.toml**
: the rig file, which **railbench init** writes

**~/.local/state/railbench/sessions**
: the sessions of the workbench, the last 50

**~/.local/state/railbench/logs**
: the full output of every run, of the last 20 sessions

**~/.local/state/railbench/undo**
: the ways back of changes of the network

# SEE ALSO

**railbench docs** has more pages: troubleshooting, a glossary, keys, formats.

**ssh\_config**(5), **ip**(8), **ib\_write\_bw**(1), **iperf3**(1)
`

// manDate is the day of the build. SOURCE_DATE_EPOCH gives a distribution's own.
func manDate(made edition) string {
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(s, 0).UTC().Format(time.DateOnly)
	}
	day, _, _ := strings.Cut(made.date, "T")
	return day
}

// commandsUnder are all commands below one that a user may call, in the order of help.
func commandsUnder(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.Name() == "help" || sub.Hidden {
			continue
		}
		if sub.Runnable() {
			all = append(all, sub)
		}
		all = append(all, commandsUnder(sub)...)
	}
	return all
}

// usageOf is a command's line with those above it.
func usageOf(c *cobra.Command) string {
	use := c.Use
	for p := c.Parent(); p != nil; p = p.Parent() {
		use = p.Name() + " " + use
	}
	return use
}

// flagName is how a flag is typed, with a word for its value.
func flagName(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	switch f.Value.Type() {
	case "bool":
	case "duration":
		name += " TIME"
	case "int", "float64", "uint64":
		name += " NUMBER"
	default:
		name += " TEXT"
	}
	return name
}

func manFlags(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			fmt.Fprintf(&b, "**%s**\n: %s\n\n", plainMarkdown(flagName(f)), plainMarkdown(f.Usage))
		}
	})
	return b.String()
}

// plainMarkdown is text in which nothing is markup.
func plainMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `<`, `\<`, "`", "\\`", `[`, `\[`).Replace(text)
}

// markdownOf is the long help of a command: paragraphs, and what is indented as it is.
func markdownOf(long string) string {
	var b strings.Builder
	for block := range strings.SplitSeq(long, "\n\n") {
		lines := strings.Split(block, "\n")
		at := 0
		for at < len(lines) && !strings.HasPrefix(lines[at], "  ") {
			at++
		}
		if at > 0 {
			b.WriteString(plainMarkdown(strings.Join(lines[:at], "\n")) + "\n\n")
		}
		if at < len(lines) {
			b.WriteString("```\n" + strings.Join(lines[at:], "\n") + "\n```\n\n")
		}
	}
	return b.String()
}
