package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/sanitize"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the man page",
		Long: `Prints the man page of all commands, in roff. man finds it in a man1 folder, such as
~/.local/share/man/man1/railbench.1.`,
		Example: `  railbench man > ~/.local/share/man/man1/railbench.1
  railbench man | man -l -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := manual(commands(false), thisEdition())
			if err == nil {
				err = sanitize.WriteText(cmd.OutOrStdout(), page)
			}
			if err != nil {
				return unwritten(fmt.Errorf("write the man page: %w", err))
			}
			return nil
		},
	}
}

// A document is roff's with the day of the build in its heading. Its texts go through fmt as formats.
type document struct {
	*roff.Document
	made edition
}

func (d document) Heading(section uint, title, _ string, now time.Time) {
	d.Document.Heading(section, title, "User commands", manDate(d.made, now))
}

func (d document) Text(text string) { d.Document.Text(strings.ReplaceAll(text, "%", "%%")) }

func (d document) TextBold(text string) { d.Document.TextBold(strings.ReplaceAll(text, "%", "%%")) }

// manual is one page for all commands, so that it can be searched.
func manual(root *cobra.Command, made edition) (string, error) {
	page, err := mcobra.NewManPage(1, root)
	if err != nil {
		return "", err
	}
	page.WithLongDescription(flow(root.Long))
	for _, c := range commandsUnder(root) {
		if c.Long != "" {
			page.WithSection(c.CommandPath(), flow(c.Long))
		}
	}
	for _, s := range manEnd(made) {
		page.WithSection(s[0], s[1])
	}
	heading, text, _ := strings.Cut(page.Build(document{roff.NewDocument(), made}), "\n")
	// groff sets these signs as other ones (a minus as a hyphen, a quote as a curled one) unless they are escaped,
	// and what was copied from the page would not run.
	text = strings.NewReplacer("-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	// Words are neither broken (.nh) nor spread (.ad l): commands stand among them.
	return heading + "\n.nh\n.ad l\n" + text + "\n", nil
}

// flow joins the lines of each paragraph, because mango begins a paragraph at every line break. Indented lines stay.
func flow(text string) string {
	return strings.NewReplacer("\n\n", "\n", "\n  ", "\n  ", "\n", " ").Replace(text)
}

// manEnd has the sections that no command knows of: a title and a paragraph for each line.
func manEnd(made edition) [][2]string {
	return [][2]string{
		{"Exit status", `0  nothing failed
1  a cell or a check FAILed, or a comparison found something worse
2  wrong usage or configuration
3  a node can't be reached
4  nothing failed, but something was INCONCLUSIVE
5  the result, or the session, could not be written
134  railbench itself crashed (SIGABRT), as for want of memory`},
		{"Environment", `PAGER  shows logs and pages; less or more where it is not set
VISUAL, EDITOR  edit a cell's script
NO_COLOR  the workbench uses bold, faint and reverse only
XDG_CONFIG_HOME, XDG_STATE_HOME  where the files below are, instead of ~/.config and ~/.local/state`},
		{"Files", `~/.config/railbench/rig.toml  the rig file, which railbench init writes
~/.local/state/railbench/sessions  the sessions of the workbench, the last 50
~/.local/state/railbench/logs  the full output of every run, of the last 20 sessions
~/.local/state/railbench/undo  rollbacks of changes of the network`},
		{"See also", `railbench docs has more pages: troubleshooting, a glossary, keys, formats.
ssh_config(5), ip(8), ib_write_bw(1), iperf3(1)`},
		{"Version", "railbench " + made.version},
	}
}

// manDate is the day of the build, and now where the build has no date. SOURCE_DATE_EPOCH gives a distribution's own.
func manDate(made edition, now time.Time) time.Time {
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(s, 0).UTC()
	}
	if day, err := time.Parse(time.RFC3339, made.date); err == nil {
		return day
	}
	return now
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
