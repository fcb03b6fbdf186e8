package tui

// restyle draws everything again with the terminal's styles.
func (m *Model) restyle() {
	m.ChooseStyles()
	m.notebook.cache = cache{}
	m.docs.Restyle()
	m.help.Fit()
	m.editor.dressEditor()
}
