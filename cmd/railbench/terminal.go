package main

import (
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps/asciicast"
	"github.com/railbench/railbench/tui/render"
)

// A recordedTerminal is a terminal whose output is recorded.
type recordedTerminal struct {
	render.Terminal
	recording *asciicast.Recording
}

func (t recordedTerminal) Write(b []byte) (int, error) {
	screen := t.Terminal
	n, err := screen.Write(b)
	t.recording.Output(b[:n])
	return n, err
}

// recordFlags say where what the screen shows is recorded.
type recordFlags struct {
	path string
	v2   bool
}

func (r *recordFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.path, "record", "", "record the screen in this .cast for asciinema (asciicast v3)")
	cmd.Flags().BoolVar(&r.v2, "record-older", false, "record asciicast v2, for older players")
	completeFlags(cmd, map[string]completer{"record": files("cast")})
}

// start begins a recording, whose file stays as it is until the first screen.
func (r *recordFlags) start(screen *os.File) (*asciicast.Recording, error) {
	return asciicast.New(r.path, r.v2, func() (int, int) {
		columns, rows, err := term.GetSize(int(screen.Fd()))
		if err != nil {
			return 80, 24
		}
		return columns, rows
	})
}

// openPager makes the pager ready for a log, or for a text that is asked for when it runs.
func openPager(log string, text func() string) (tea.ExecCommand, error) {
	logs, _ := stateDir("logs") // without a home there are none
	run, err := console.Pager(logs, log, text, render.Lend)
	if err != nil {
		return nil, err
	}
	return run, nil
}

// openEditor makes the editor ready for a text.
func openEditor(text string) (tea.ExecCommand, func() string, error) {
	run, read, err := console.Editor(text, render.Lend)
	if err != nil {
		return nil, nil, err
	}
	return run, read, nil
}
