package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/steps/gate"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The man page is written in roff here and not through a library: cobra's own way and
// others go over Markdown, whose parser costs each start of railbench a millisecond.

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
			if err := gate.WriteText(cmd.OutOrStdout(), manual(cmd.Root(), thisEdition())); err != nil {
				return unwritten(fmt.Errorf("write the man page: %w", err))
			}
			return nil
		},
	}
}

// roff is a man page in the making.
type roff struct{ strings.Builder }

// escaped is text in which nothing is a request.
// groff sets these signs as other ones (a minus as a hyphen, a quote as a curled one) unless they are escaped,
// and what was copied from the page would not run.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

func (r *roff) request(name, text string) {
	gate.Fprintf(r, ".%s %s\n", name, strings.ReplaceAll(escaped(text), `"`, `\(dq`))
}

func (r *roff) paragraph(text string) {
	r.WriteString(".PP\n")
	r.lines(text)
}

func (r *roff) lines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		r.WriteString(escaped(line) + "\n")
	}
}

// term is a word and what it means.
func (r *roff) term(name, text string) {
	r.WriteString(".TP\n")
	r.request("B", name)
	r.lines(text)
}

// example is text that is shown as it is.
func (r *roff) example(text string) {
	r.WriteString(".PP\n.nf\n")
	r.lines(text)
	r.WriteString(".fi\n")
}

// long is the long help of a command: paragraphs, and what is indented as it is.
func (r *roff) long(text string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(block, "\n")
		at := 0
		for at < len(lines) && !strings.HasPrefix(lines[at], "  ") {
			at++
		}
		if at > 0 {
			r.paragraph(strings.Join(lines[:at], "\n"))
		}
		if at < len(lines) {
			r.example(strings.Join(lines[at:], "\n"))
		}
	}
}

func (r *roff) flags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			r.term(flagName(f), f.Usage)
		}
	})
}

// manual is one page for all commands, so that it can be searched.
// Words are neither broken (.nh) nor spread (.ad l): commands stand among them.
func manual(root *cobra.Command, made edition) string {
	var r roff
	gate.Fprintf(&r, ".TH RAILBENCH 1 \"%s\" \"railbench %s\" \"User commands\"\n.nh\n.ad l\n",
		escaped(manDate(made)), escaped(made.version))
	r.request("SH", "NAME")
	r.lines("railbench - " + strings.ToLower(root.Short[:1]) + root.Short[1:])
	r.request("SH", "SYNOPSIS")
	r.WriteString(`.B railbench
[\fIFLAG\fR ...] [\fIFILE.md\fR ...|\fIFOLDER\fR]
.br
.B railbench
\fICOMMAND\fR [\fIFLAG\fR ...] [\fIARGUMENT\fR ...]
`)
	r.request("SH", "DESCRIPTION")
	r.long(root.Long)
	r.request("SH", "COMMANDS")
	for _, c := range commandsUnder(root) {
		r.request("SS", usageOf(c))
		r.lines(c.Short + ".")
		if c.Long != "" {
			r.long(c.Long)
		}
		if c.Example != "" {
			r.example(c.Example)
		}
		r.flags(c.LocalNonPersistentFlags())
	}
	r.request("SH", "OPTIONS")
	r.lines("Of the workbench:")
	r.flags(root.LocalNonPersistentFlags())
	r.paragraph("Of all commands that need a rig:")
	r.flags(root.PersistentFlags())
	for _, section := range manEnd() {
		r.request("SH", section.title)
		for _, t := range section.terms {
			r.term(t[0], t[1])
		}
	}
	r.request("SH", "SEE ALSO")
	r.lines("railbench docs has more pages: troubleshooting, a glossary, keys, formats.")
	r.paragraph("ssh_config(5), ip(8), ib_write_bw(1), iperf3(1)")
	return r.String()
}

// manEnd is what no command knows of.
func manEnd() []manSection {
	return []manSection{
		{"EXIT STATUS", [][2]string{
			{"0", "nothing failed"},
			{"1", "a cell or a check FAILed, or a comparison found something worse"},
			{"2", "wrong usage or configuration"},
			{"3", "a node can't be reached"},
			{"4", "nothing failed, but something was INCONCLUSIVE"},
			{"5", "the result, or the session, could not be written"},
		}},
		{"ENVIRONMENT", [][2]string{
			{"PAGER", "shows logs and pages; less or more where it is not set"},
			{"VISUAL, EDITOR", "edit a cell's script"},
			{"NO_COLOR", "the workbench uses bold, faint and reverse only"},
			{"XDG_CONFIG_HOME, XDG_STATE_HOME", "where the files below are, in place of ~/.config and ~/.local/state"},
		}},
		{"FILES", [][2]string{
			{"~/.config/railbench/rig.toml", "the rig file, which railbench init writes"},
			{"~/.local/state/railbench/sessions", "the sessions of the workbench, the last 50"},
			{"~/.local/state/railbench/logs", "the full output of every run, of the last 20 sessions"},
			{"~/.local/state/railbench/undo", "the ways back of changes of the network"},
		}},
	}
}

// A manSection is words and what they mean under a title.
type manSection struct {
	title string
	terms [][2]string
}

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
