package tui

// restyle draws everything again with the terminal's styles.
func (m *Model) restyle() {
	m.ChooseStyles()
	m.notebook.cache, m.docs.lines = cache{}, nil
	m.help.Fit()
	m.editor.dressEditor()
}
