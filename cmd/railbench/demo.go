package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/replay"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/presenter"
	"github.com/railbench/railbench/tui/screen"
)

func demoCommand(rig *rigFlags) *cobra.Command {
	var o stageOpening
	var record recordFlags
	cmd := &cobra.Command{
		Use:   "demo [SESSION.ipynb]",
		Short: "Present the rails to an audience: large numerals, and a scripted presentation",
		Long: `Shows the rails to an audience, in numerals five rows high and more. Bars have a scale
with the link, the PCIe ceiling and the payload that fits through it. RDMA and IP have
two colours. Below are two minutes of history, and the running cell with its command and
verdict.

space goes through a presentation: the built-in one, or a script of your own. "railbench
notes" follows it in another terminal, with notes for the presenter. 1 to 8 load rails
without a presentation, x stops the load, ? shows all keys. In the workbench ctrl+g opens
the same screen.

With a saved session, demo plays its gauges and verdicts, marked RECORDED. It then
connects to no node: use it if the rig fails.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.open = true
			if len(args) == 1 {
				if o.script != "" || o.auto {
					return usage(fmt.Errorf("%s is played as it ran: leave out --show and --auto", args[0]))
				}
				return playSession(cmd, args[0], opening{stage: o, record: record})
			}
			_, err := workbench(cmd, *rig, opening{stage: o, record: record})
			return err
		},
	}
	cmd.Flags().StringVar(&o.script, "show", "", "present this script, a Markdown file (see railbench docs demo)")
	cmd.Flags().BoolVar(&o.auto, "auto", false, "start the presentation at once, and advance automatically")
	completeFlags(cmd, map[string]completer{"show": files("md")})
	record.add(cmd)
	return cmd
}

// playSession shows a saved session as a presentation, as it ran.
func playSession(cmd *cobra.Command, path string, o opening) error {
	doc, err := notebook.Read(path)
	if err != nil {
		return usage(err)
	}
	shown := replay.Script(doc)
	if len(shown.Slides) == 0 {
		return usage(fmt.Errorf("%s has no cell that has run: there is nothing to play", path))
	}
	if terminal(cmd.OutOrStdout()) == nil {
		return usage(errors.New("a session is played in a terminal; railbench export makes a page of it"))
	}
	ctx, stop := context.WithCancel(cmd.Context())
	r := replay.New(ctx, doc)
	defer r.Wait()
	defer stop()
	return o.recorded(cmd, func(o opening) error {
		opts := screen.Options{
			Tutorial:     doc.Book.Tutorial,
			Rig:          screen.Rig{Simulated: doc.Book.Rig.Simulated, Name: doc.Book.Rig.Name, Recorded: true},
			Presentation: screen.Presentation{Open: true, Script: shown, Auto: true},
			Terminal:     unlinked(),
			Docs:         pages,
			Explain:      explainPage,
		}
		if o.recording != nil {
			opts.Presentation.Mark = o.recording.Mark
		}
		return o.show(cmd, tui.New(r, opts))
	})
}

// A stageOpening is what the presentation is opened with.
type stageOpening struct {
	open   bool
	script string // of the presentation; the built-in one where it is empty
	auto   bool
}

// put gives a screen its script, and what the presentation can do with this rig.
func (o stageOpening) put(opts *screen.Options, b *openRig) error {
	name, text := "the built-in show", string(assets.Show)
	if o.script != "" {
		raw, err := safefile.Read(o.script, script.Most)
		if err != nil {
			return err
		}
		name, text = o.script, string(raw)
	}
	shown, err := script.Parse(name, text)
	if err != nil {
		return err
	}
	err = shown.Check(opts.Tutorial, func(cell, name, value string) error {
		_, err := session.CheckParam(catalog.New(), opts.Tutorial, cell, name, value)
		return err
	})
	switch {
	case err == nil:
		opts.Presentation.Script, opts.Presentation.Auto = shown, o.auto
	case o.open:
		return fmt.Errorf("%s: %w", name, err)
	default: // a runbook of another user's own hasn't the built-in show's cells
		return nil
	}
	if rig := b.simRig; rig != nil {
		const cable = "cable-unplugged"
		// On a real rig a hand does it.
		opts.Presentation.Pull = func(out bool) error {
			if out {
				return rig.Inject(cable)
			}
			return rig.Clear(cable)
		}
	}
	if path, err := showPath(); err == nil {
		opts.Presentation.Tell = script.Teller(path)
	}
	return nil
}

// showPath is where a presentation says where it is. There is one: a user gives one at a time.
func showPath() (string, error) { return stateDir("show.json") }

func notesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "notes",
		Short: "Show the presenter's notes of a running demo in another terminal",
		Long: `Follows the presentation of "railbench demo" on this machine: what to say now, what comes
next, the time it has taken, and the last verdict. It only reads; q ends it. Without a
terminal it prints the current state and ends. It says when the presentation is over, and
when the railbench that gave it has ended.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := showPath()
			if err != nil {
				return err
			}
			read := func() (script.Moment, error) { return script.Follow(path) }
			out := terminal(cmd.OutOrStdout())
			if out == nil {
				at, err := read()
				if err != nil {
					return usage(err)
				}
				for _, line := range at.Lines() {
					sanitize.Fprintln(cmd.OutOrStdout(), line)
				}
				return nil
			}
			model := presenter.NewNotes(read, screen.Options{
				Terminal: unlinked(),
				Clock:    screen.Clock{Now: time.Now},
			})
			return show(cmd, model, out)
		},
	}
}
