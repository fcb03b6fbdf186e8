package tui

import (
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/tui/theme"
)

// chooseStyles has the terminal's colours. What was drawn with others is void.
func (sh *shared) chooseStyles() {
	profile := sh.profile
	if sh.opts.Terminal.NoColor {
		profile = colorprofile.ASCII
	}
	sh.styles = theme.New(sh.dark, profile).WithLinks(sh.opts.Terminal.Links)
	sh.dirty = true
}

// restyle draws everything again with the terminal's styles.
func (m *Model) restyle() {
	m.chooseStyles()
	m.notebook.cache, m.docs.lines = cache{}, nil
	m.help.fitHelp()
	m.editor.dressEditor()
}
