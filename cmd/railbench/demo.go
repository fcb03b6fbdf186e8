package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
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
	"github.com/railbench/railbench/tui/render"
)

func demoCommand(rig *rigFlags) *cobra.Command {
	var o stageOpening
	var record recordFlags
	cmd := &cobra.Command{
		Use:   "demo [SESSION.ipynb]",
		Short: "The rails on a stage: numerals that can be read from the last row, and a show",
		Long: `demo opens the screen for an audience: rates in numerals five rows high and more, of
each rail, cable and half and of all of them; bars with a scale that shows the link, the
PCIe ceiling and the payload that fits through it; RDMA and IP in two colours, with the
processors of the nodes beside them; two minutes of history; and below them the cell
that runs, its command and its verdict.

space goes through a show, the built-in one or a script of your own; railbench notes
follows it in another terminal, with the notes for the presenter. 1 to 8 keep rails
busy without a show, x stops them, ? shows all keys. In the workbench ctrl+g opens it.

With a saved session it plays that one, its gauges and verdicts, marked RECORDED: for
when the rig fails. It touches no node then.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.open = true
			if len(args) == 1 {
				if o.script != "" || o.auto {
					return usage(fmt.Errorf("%s is played as it ran, and goes on by itself: leave out --show and --auto", args[0]))
				}
				return playSession(cmd, args[0], opening{stage: o, record: record})
			}
			_, err := workbench(cmd, *rig, opening{stage: o, record: record})
			return err
		},
	}
	cmd.Flags().StringVar(&o.script, "show", "", "the script of a show of your own, a Markdown file; railbench docs "+
		"demo says how")
	cmd.Flags().BoolVar(&o.auto, "auto", false, "the show begins at once and goes on by itself")
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
		return usage(fmt.Errorf("%s: no cell has run in it that could be played", path))
	}
	if terminal(cmd.OutOrStdout()) == nil {
		return usage(errors.New("a session is played in a terminal; railbench export makes a page of it"))
	}
	ctx, stop := context.WithCancel(cmd.Context())
	r := replay.New(ctx, doc)
	defer r.Wait()
	defer stop()
	return o.recorded(cmd, func(o opening) error {
		opts := tui.Options{
			Tutorial:     doc.Book.Tutorial,
			Rig:          tui.Rig{Simulated: doc.Book.Rig.Simulated, Name: doc.Book.Rig.Name, Recorded: true},
			Presentation: tui.Presentation{Open: true, Script: shown, Auto: true},
			Terminal:     tui.Terminal{NoColor: os.Getenv("NO_COLOR") != "", ASCII: lettersOnly(os.Getenv)},
			Docs:         pages,
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
func (o stageOpening) put(opts *tui.Options, b *bench) error {
	name, text := "the built-in show", string(assets.Show)
	if o.script != "" {
		raw, err := safefile.Read(o.script, mostMoment)
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
	default: // a runbook of somebody's own hasn't the built-in show's cells
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
		var mu sync.Mutex
		last := 0
		// The screen tells from several goroutines: a moment that comes late replaces no newer one.
		opts.Presentation.Tell = func(at script.Moment) error {
			mu.Lock()
			defer mu.Unlock()
			if at.No < last {
				return nil
			}
			last = at.No
			raw, err := json.Marshal(at)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			return safefile.Replace(path, raw, 0o600)
		}
	}
	return nil
}

// showPath is where a presentation says where it is. There is one: a user gives one at a time.
func showPath() (string, error) {
	state, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "show.json"), nil
}

func notesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "notes",
		Short: "Follow a show in another terminal: notes for the presenter, and what comes next",
		Long: `notes follows the show that railbench demo gives on this machine: what to say at this
point, what comes next, how long it has been going on, and the last verdict. It only
looks, and q ends it. Where it isn't in a terminal it prints where the show is, and ends.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := showPath()
			if err != nil {
				return err
			}
			read := func() (script.Moment, error) { return readMoment(path) }
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
			model := tui.NewNotes(read, tui.Options{
				Terminal: tui.Terminal{NoColor: os.Getenv("NO_COLOR") != "", ASCII: lettersOnly(os.Getenv)},
				Clock:    tui.Clock{Now: time.Now},
			})
			ctx, lend, stop := screenSignals(cmd.Context())
			defer stop()
			err = render.Show(ctx, model, out, screenEnviron(os.Environ()), lend)
			if err != nil && !errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrInterrupted) {
				return fmt.Errorf("run the screen: %w", err)
			}
			return nil
		},
	}
}

// mostMoment bounds what is read of a presentation: its script, or its captions, notes and a verdict.
const mostMoment = 1 << 20

func readMoment(path string) (at script.Moment, err error) {
	raw, err := safefile.ReadOwn(path, mostMoment)
	if errors.Is(err, fs.ErrNotExist) {
		return at, errors.New("no show has begun on this machine: railbench demo gives one")
	}
	if err != nil {
		return at, fmt.Errorf("follow the show: %w", err)
	}
	if err := json.Unmarshal(raw, &at); err != nil {
		return at, fmt.Errorf("follow the show: %s: %w", path, err)
	}
	return at, nil
}
