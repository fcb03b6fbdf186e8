// Command railbench is a workbench in the terminal for an RDMA rig. This
// package is the wiring: flags, the rig file, real or simulated nodes, exit
// codes; one file per subcommand.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/theme"
)

// The exit statuses.
const (
	exitOK           = 0
	exitFail         = 1 // a cell FAILed
	exitUsage        = 2 // wrong usage or configuration
	exitUnreachable  = 3 // a node cannot be reached
	exitInconclusive = 4 // nothing failed, and something was INCONCLUSIVE
	exitUnwritten    = 5 // the result, or the session, could not be written
)

// A status ends the program with an exit status. An empty err has been reported already.
type status struct {
	code int
	err  error
}

func (s status) Error() string {
	if s.err == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.err.Error()
}

func (s status) Unwrap() error { return s.err }

// withStatus gives an error its exit status; nil where there is none.
func withStatus(code int, err error) error {
	if err == nil {
		return nil
	}
	return status{code, err}
}

func usage(err error) error { return withStatus(exitUsage, err) }

func unwritten(err error) error { return withStatus(exitUnwritten, err) }

// alone is set where the process is one railbench, and not a test's with many rigs in it.
var alone bool

func main() {
	alone = true
	crashBySignal()
	console.QuitIsTerm()
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// crashBySignal makes a crash, as for want of memory, end the program by SIGABRT, which a shell reports as 134. Go
// would exit with 2, which is wrong usage here. Where the memory is too little for Go to start at all it still does:
// a second process that watched for that would take more memory than it is worth.
func crashBySignal() { debug.SetTraceback("crash") }

// Main is the program, with its streams and its exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := console.UntilSignalled()
	defer stop()
	out, errs := sanitize.NewWriter(stdout), sanitize.NewWriter(stderr)
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	err := cmd.ExecuteContext(ctx)
	if err == nil && out.Err() != nil {
		err = unwritten(fmt.Errorf("write the result: %w", out.Err()))
	}
	if err == nil {
		return exitOK
	}
	code := exitUsage // what cobra itself says is about the command line
	if s, ok := errors.AsType[status](err); ok {
		code, err = s.code, s.err
	}
	if code == exitUsage && out.Err() != nil {
		code = exitUnwritten // the code that met the failed write may not have known what it means
	}
	if (code == exitUsage || code == exitUnreachable) && errors.Is(err, context.Canceled) && ctx.Err() != nil {
		// The program was interrupted while it waited for an answer: that is neither a wrong configuration
		// nor an unreachable node.
		code, err = exitInconclusive, fmt.Errorf("interrupted: %w", err)
	}
	if err != nil {
		for _, line := range sanitize.Errors(err) {
			sanitize.Fprintln(errs, "railbench:", line)
		}
	}
	return code
}

// terminal is the terminal that a stream leads to; nil where it leads elsewhere.
func terminal(out io.Writer) *os.File {
	if f, ok := direct(out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// columns is how wide a terminal is; 0 where out is none, or doesn't say.
func columns(out io.Writer) int {
	f := terminal(out)
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// say prints a sentence behind what stands before it, broken as wide as a terminal is: its next lines begin with
// blanks. In a pipe or a file it stays one line.
func say(out io.Writer, before, text string) error {
	width := cmp.Or(columns(out), math.MaxInt)
	for _, line := range theme.Wrap(text, width, before, strings.Repeat(" ", len(before))) {
		if _, err := sanitize.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// atOnce makes a command that changes nothing on any node end with the first signal, whatever it waits for: a file on
// a server that is gone, or a pipe that no one reads.
func atOnce(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		atOnce(c.Commands()...)
		run := c.RunE
		if run == nil {
			continue // a heading of others
		}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			done := make(chan error, 1)
			go func() { done <- run(cmd, args) }()
			select {
			case err := <-done:
				return err
			case <-cmd.Context().Done():
				return status{exitInconclusive, errors.New("interrupted")}
			}
		}
	}
	return commands
}

func rootCommand() *cobra.Command { return commands(true) }

// commands are the program's. The man page has the flags of the rig once: there they are the root's alone.
func commands(ofEach bool) *cobra.Command {
	var rig rigFlags
	var file string
	var record recordFlags
	root := &cobra.Command{
		Use:   "railbench [FILE.md…|FOLDER|FILE.ipynb]",
		Short: "A workbench in the terminal for an RDMA rig of two nodes or more",
		Long: `railbench tests multi-rail RDMA between two nodes. It runs each step of a tutorial on
this machine or over SSH, shows what every rail carries, and compares the result with
what the hardware can do. Without a rig it simulates one. On a rig of more nodes --link
(or L) chooses the two nodes of a cell.

It opens the built-in tutorial, or runbooks of your own: Markdown files, each a part,
or a folder of them. A saved session is opened by its name: FILE.ipynb.`,
		Version:       thisEdition().String(),
		Args:          runbooksOrNoCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path, ok, err := sessionArg(args, file); err != nil {
				return usage(err)
			} else if ok {
				args, file = nil, path
			}
			rig.runbooks = args
			_, err := workbench(cmd, rig, opening{session: file, record: record})
			return err
		},
	}
	root.SetFlagErrorFunc(noFlag)
	root.SetVersionTemplate("railbench {{.Version}}\n")
	flags := newRigFlags(&rig)
	withRig(root, flags)
	if !ofEach {
		flags = pflag.NewFlagSet("none", pflag.ContinueOnError)
	}
	root.SetUsageFunc(usageOfCommand)
	root.SetHelpFunc(helpOf)
	rig.tell = func(text string) { sanitize.Fprintln(root.ErrOrStderr(), text) }
	root.Flags().StringVar(&file, "session", "", sessionDoes)
	all := func(cmd *cobra.Command) *cobra.Command { return withRig(cmd, flags) }
	root.AddCommand(all(runCommand(&rig)), all(doctorCommand(&rig)), all(demoCommand(&rig)), all(serveCommand(&rig)),
		withRig(pairsCommand(&rig), flags, without(rigNames(flags), []string{"link"})...),
		withRig(drillCommand(&rig), flags, "rig", "nodes", "seed", "speed", "param", "link"),
		withRig(undoCommand(&rig), flags, without(rigNames(flags), []string{"container", "link", "param", "etcd"})...),
		withRig(initCommand(&rig), flags,
			without(rigNames(flags), []string{"container", "link", "param", "etcd", "slurm"})...))
	root.AddCommand(notesCommand(), streamCommand(), gaugeCommand(), simCommand(), virtualCommand(), docsCommand())
	root.AddCommand(atOnce(trustCommand(), listCommand(), progressCommand(), newCommand(), checkCommand(),
		withRig(nodesCommand(&rig), flags, "nodes", "inventory"),
		parseCommand(), explainCommand(), exportCommand(), compareCommand(), completionCommand(), manCommand())...)
	completeFlags(root, rigCompletions())
	completeFlags(root, map[string]completer{"session": files("ipynb")})
	record.add(root)
	return root
}

// noCommand is about a word that is not a command, and names the nearest.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], steps.DidYouMean(args[0], commandNames(cmd)))
}

// sessionArg is a saved session that is opened by its name alone.
func sessionArg(args []string, flag string) (path string, ok bool, err error) {
	i := slices.IndexFunc(args, isSession)
	switch {
	case i < 0:
		return "", false, nil
	case flag != "" || len(args) > 1:
		return "", false, fmt.Errorf("%s is a saved session, and opened alone; with runbooks use --session %[1]s",
			args[i])
	}
	if _, err := os.Stat(args[i]); err != nil {
		return "", false, fmt.Errorf("session %s does not exist (--session starts a new one)", args[i])
	}
	return args[i], true, nil
}

// isSession reports whether a word is the name of a saved session.
func isSession(name string) bool { return strings.EqualFold(filepath.Ext(name), notebook.Extension) }

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}
