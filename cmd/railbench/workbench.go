package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
)

// workbench opens the screen. The model is nil where it could not be opened.
func workbench(cmd *cobra.Command, flags rigFlags, drill tui.Drill) (*tui.Model, error) {
	if f, ok := cmd.OutOrStdout().(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, usage(errors.New("the workbench needs a terminal; railbench run … and railbench list work without one"))
	}
	asker := session.NewAsker()
	b, err := flags.open(cmd.Context(), asker)
	if err != nil {
		return nil, err
	}
	defer b.close()
	b.options.Asker, b.options.Confirm, b.options.Sample = asker, asker, true
	b.options.Logs = logDir()
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	model := tui.New(s, tui.Options{
		Tutorial: b.options.Tutorial, Simulated: b.options.Simulated, RigName: b.options.Rig,
		Hint: hint(b), NoColor: os.Getenv("NO_COLOR") != "", Drill: drill,
	})
	_, err = tea.NewProgram(model, tea.WithContext(cmd.Context()), tea.WithEnvironment(screenEnviron(os.Environ())), tea.WithFPS(framesPerSecond)).Run()
	closed := s.Close()
	b.remind(cmd.ErrOrStderr())
	if err != nil && !errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrInterrupted) {
		return model, status{exitUsage, fmt.Errorf("run the screen: %w", err)}
	}
	if closed != nil {
		return model, status{exitUnreachable, closed}
	}
	return model, nil
}

// framesPerSecond bounds how long a key waits for the next frame. A frame that
// has not changed costs nothing.
const framesPerSecond = 90

// hint says how to get from the simulated rig to one's own.
func hint(b *bench) string {
	if !b.options.Simulated {
		return ""
	}
	return "On one of your two nodes: railbench --peer USER@OTHER-NODE. To keep it: railbench init --peer USER@OTHER-NODE."
}

// screenEnviron is the environment as Bubble Tea sees it. It asks for
// synchronized output only where SSH_TTY is not set (tea.go), and railbench's
// users sit in SSH sessions: without it they see tearing. Terminals that don't
// know the mode ignore the request.
func screenEnviron(env []string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, "SSH_TTY=") {
			kept = append(kept, v)
		}
	}
	return kept
}
