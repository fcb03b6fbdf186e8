package tui

import (
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/tui/theme"
)

// restyle chooses the styles for the terminal. What was drawn with others is void.
func (m *Model) restyle() {
	profile := m.profile
	if m.opts.Terminal.NoColor {
		profile = colorprofile.ASCII
	}
	m.styles = theme.New(m.dark, profile).WithLinks(m.opts.Terminal.Links)
	m.notebook.cache, m.docs.lines = cache{}, nil
	m.dirty = true
	m.help.fitHelp()
	m.editor.dressEditor()
}
