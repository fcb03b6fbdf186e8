package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// A LoadingScreen is shown while the rig and the tutorial are made ready: it is there at
// once, and goes when they are.
type LoadingScreen struct {
	*screen.Shared // for the header; there is no session yet
	load           func() (*Model, error)
	typed          []tea.Msg // what came meanwhile, for the screen behind
	view           tea.View  // as it was drawn last
}

// loadedMsg is the screen that was loaded, nil where there will be none.
type loadedMsg struct{ model *Model }

// NewLoadingScreen makes what is shown before the screen that load makes, in a command. If load fails, the
// program ends, and load's caller says why.
func NewLoadingScreen(opts screen.Options, load func() (*Model, error)) *LoadingScreen {
	c := &LoadingScreen{Shared: screen.New(nil, opts), load: load}
	c.ChooseStyles()
	return c
}

// Init starts the loading.
func (c *LoadingScreen) Init() tea.Cmd {
	return func() tea.Msg {
		m, err := c.load()
		if err != nil {
			m = nil
		}
		return loadedMsg{m}
	}
}

// Update waits for the screen, and gives it what came before it.
func (c *LoadingScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case loadedMsg:
		if msg.model == nil {
			return c, tea.Quit
		}
		return c.replace(msg.model)
	case tea.KeyPressMsg:
		if s := msg.String(); s == "ctrl+c" || s == "q" {
			return c, tea.Quit
		}
	case tea.WindowSizeMsg:
		c.Width, c.Height, c.Dirty = msg.Width, msg.Height, true
	case tea.ColorProfileMsg:
		c.Profile = msg.Profile
		c.ChooseStyles()
	}
	c.typed = append(c.typed, msg)
	return c, nil
}

// replace hands over to the screen, with the messages that came meanwhile. They include the terminal's size
// and colours, which it reports only once.
func (c *LoadingScreen) replace(m *Model) (tea.Model, tea.Cmd) {
	cmds := []tea.Cmd{m.Init()}
	for _, msg := range c.typed {
		_, cmd := m.Update(msg)
		cmds = append(cmds, cmd)
	}
	return m, tea.Batch(cmds...)
}

// View is the screen's header, and what is under way.
func (c *LoadingScreen) View() tea.View {
	if c.Dirty {
		c.view, c.Dirty = c.AsView(c.drawLoading()), false
	}
	return c.view
}

func (c *LoadingScreen) drawLoading() string {
	if c.Width <= 0 || c.Height <= 0 {
		return ""
	}
	lines := []string{theme.Pad(c.Header(""), c.Width)}
	if c.Height > 2 {
		lines = append(lines, "", "  "+c.Styles.Dim.Render("opening …"))
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, c.Width, "")
	}
	return strings.Join(lines, "\n")
}
