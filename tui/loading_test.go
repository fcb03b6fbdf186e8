package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/screen"
)

// The loading screen is a frame at once, of any size, marked where the rig is simulated.
func TestLoadingFrames(t *testing.T) {
	for _, simulated := range []bool{true, false} {
		c := NewLoadingScreen(screen.Options{
			Rig: screen.Rig{Simulated: simulated, Name: "lab"}, Terminal: screen.Terminal{NoColor: true},
		}, nil)
		for width := 1; width < 130; width += 7 {
			for height := 1; height < 5; height++ {
				if _, cmd := c.Update(tea.WindowSizeMsg{Width: width, Height: height}); cmd != nil {
					t.Fatal("it asks for something")
				}
				text := c.View().Content
				for line := range strings.Lines(text) {
					if w := ansi.StringWidth(strings.TrimSuffix(line, "\n")); w > width {
						t.Fatalf("%dx%d: a line of %d: %q", width, height, w, line)
					}
				}
				if n := strings.Count(text, "\n"); n >= height {
					t.Fatalf("%dx%d: %d lines", width, height, n+1)
				}
			}
		}
		text := c.View().Content
		if !strings.Contains(text, "railbench") || !strings.Contains(text, "opening") ||
			strings.Contains(text, "SIMULATED") != simulated {
			t.Errorf("%q", text)
		}
	}
}

// What was typed before the screen is there is the screen's, in its order.
func TestLoadingIsReplaced(t *testing.T) {
	f := newFake()
	var behind *Model
	c := NewLoadingScreen(screen.Options{}, func() (*Model, error) {
		behind = New(f, screen.Options{Tutorial: sampleTutorial(), Terminal: screen.Terminal{Background: screen.Dark}})
		return behind, nil
	})
	var m tea.Model = c
	for _, msg := range []tea.Msg{tea.WindowSizeMsg{Width: 120, Height: 40}, tea.KeyPressMsg{Code: '?', Text: "?"}} {
		m, _ = m.Update(msg)
	}
	if m != tea.Model(c) {
		t.Fatal("it rises before anything is loaded")
	}
	m, cmd := m.Update(c.Init()())
	if behind == nil || m != tea.Model(behind) || cmd == nil {
		t.Fatalf("it gives way to %T", m)
	}
	if behind.Width != 120 || behind.Height != 40 || !behind.Layers.Has(screen.Help) {
		t.Errorf("%dx%d, help %t", behind.Width, behind.Height, behind.Layers.Has(screen.Help))
	}
}

func TestLoadingEnds(t *testing.T) {
	for name, msgs := range map[string][]tea.Msg{
		"it can't be loaded": {loadedMsg{}},
		"q":                  {tea.KeyPressMsg{Code: 'q', Text: "q"}},
		"ctrl+c":             {tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}},
	} {
		c := NewLoadingScreen(screen.Options{}, func() (*Model, error) { return nil, errors.New("no rig") })
		var cmd tea.Cmd
		for _, msg := range msgs {
			_, cmd = c.Update(msg)
		}
		if cmd == nil {
			t.Errorf("%s: it stays", name)
			continue
		}
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s: it stays", name)
		}
		if got, ok := c.Init()().(loadedMsg); !ok || got.model != nil {
			t.Errorf("%s: %v is loaded", name, got)
		}
	}
}
