package main

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/tui/render"
)

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
