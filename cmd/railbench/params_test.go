package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/screen"
)

// What is typed at the form is what the next run is run with.
func TestParametersReachARun(t *testing.T) {
	t.Parallel()
	b, err := rigFlags{rig: "sim", speed: speed(sim.Max), seed: 1}.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.options.Asker = session.NewAsker()
	s := session.New(b.options)
	b.onState = s.State
	s.Open()
	typed := func(text string) (keys []tea.KeyPressMsg) {
		for _, r := range text {
			keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
		}
		return keys
	}
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	var taken string
	c := camera{taken: &taken, waits: []wait{
		{"● spark", slices.Concat([]tea.KeyPressMsg{{Code: 'p', Mod: tea.ModCtrl}}, typed("ib-write-bw"),
			[]tea.KeyPressMsg{enter}, typed("p"))},
		{"Parameters of ib-write-bw", slices.Concat([]tea.KeyPressMsg{{Code: 'u', Mod: tea.ModCtrl}}, typed("1M"),
			[]tea.KeyPressMsg{enter})},
		{"SIZE=1 MiB (default 64 KiB)", []tea.KeyPressMsg{enter}},
		{"PASS", nil},
	}}
	c.Model = tui.New(s, screen.Options{
		Tutorial: b.options.Tutorial,
		Params:   session.Params(b.options.Catalog, b.options.Tutorial),
		Rig:      screen.Rig{Simulated: true},
		Terminal: screen.Terminal{NoColor: true, Background: screen.Dark},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err = tea.NewProgram(c, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(io.Discard),
		tea.WithWindowSize(120, 50), tea.WithoutSignals()).Run()
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatalf("%v at\n%s", err, ansi.Strip(c.View().Content))
	}
	if !strings.Contains(taken, " 1048576 ") {
		t.Errorf("no message of 1 MiB was measured:\n%s", taken)
	}
}
