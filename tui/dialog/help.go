package dialog

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Help is the keys of the screen that it was opened on.
type Help struct {
	*screen.Shared
	screen.Inert
	page        viewport.Model
	chapters    func() []screen.Chapter
	openPalette func() tea.Cmd
}

// besideJupyter is the least width of a help that has a column for Jupyter's keys: in a
// narrower one they stand behind what the key does here.
const besideJupyter = 90

// helpLines is the text of the help, from the same bindings.
func (hp *Help) helpLines(width int) []string {
	column, differs := 0, 0
	for _, c := range hp.chapters() {
		for _, b := range c.Bindings {
			column = max(column, lipgloss.Width(b.Help().Key))
			differs = max(differs, lipgloss.Width(b.Jupyter))
		}
	}
	column = min(column, width/3)
	if differs = min(differs, width/4); width < besideJupyter {
		differs = 0
	}
	rest := width - column - 2
	if differs > 0 {
		rest -= differs + 2
	}
	keys := hp.Styles.Strong.Width(column).MarginRight(2)
	text := lipgloss.NewStyle().Width(rest)
	other := hp.Styles.Dim.Width(differs).MarginLeft(2)
	var blocks []string
	for i, c := range hp.chapters() {
		title := hp.Styles.Focus.Render(c.Title)
		if i == 0 && differs > 0 {
			title = theme.Pad(title, column+2+rest+2) + hp.Styles.Dim.Render("in Jupyter")
		}
		blocks = append(blocks, title)
		for _, b := range c.Bindings {
			does := b.Help().Desc
			if differs == 0 && b.Jupyter != "" {
				does += hp.Styles.Dim.Render(" (Jupyter: " + b.Jupyter + ")")
			}
			row := []string{keys.Render(b.Help().Key), text.Render(does)}
			if differs > 0 && b.Jupyter != "" {
				row = append(row, other.Render(b.Jupyter))
			}
			blocks = append(blocks, lipgloss.JoinHorizontal(lipgloss.Top, row...))
		}
		blocks = append(blocks, "")
	}
	blocks = append(blocks, hp.Styles.Focus.Render("mouse"))
	blocks = append(blocks,
		theme.Wrap("Click selects a part or a cell, the wheel scrolls. Hold shift to select text, as the terminal does, or "+
			"press M.",
			width, "", "")...)
	blocks = append(blocks, "", hp.Styles.Focus.Render("marks"))
	blocks = append(blocks,
		theme.Wrap("✓ PASS   ! WARN   ✗ FAIL   ? INCONCLUSIVE   – SKIPPED   ● running   ◌ waits   ○ another railbench asks "+
			"this node   ◐ a part of which some cells passed, and others have not run", width, "", "")...)
	return strings.Split(lipgloss.JoinVertical(lipgloss.Left, blocks...), "\n")
}

// Open shows the beginning.
func (hp *Help) Open() tea.Cmd {
	hp.Layers.Push(screen.Help)
	hp.Fit()
	hp.page.GotoTop()
	return nil
}

// NewHelp shows the keys of the screen that is open.
func NewHelp(sh *screen.Shared, chapters func() []screen.Chapter, openPalette func() tea.Cmd) *Help {
	page := viewport.New()
	page.KeyMap = viewport.KeyMap{
		Down: key.NewBinding(key.WithKeys("down", "j")), Up: key.NewBinding(key.WithKeys("up", "k")),
		PageDown:     key.NewBinding(key.WithKeys("pgdown", "space", "ctrl+f")),
		PageUp:       key.NewBinding(key.WithKeys("pgup", "ctrl+b")),
		HalfPageDown: key.NewBinding(key.WithKeys("ctrl+d")), HalfPageUp: key.NewBinding(key.WithKeys("ctrl+u")),
	}
	return &Help{Shared: sh, page: page, chapters: chapters, openPalette: openPalette}
}

// helpWidth is the widest that the help's text gets.
const helpWidth = 110

// Fit sets the help for the screen's size.
func (hp *Help) Fit() {
	if !hp.Layers.Has(screen.Help) {
		return
	}
	width := max(1, min(helpWidth, hp.Width-8))
	lines := hp.helpLines(width)
	hp.page.SetWidth(width)
	hp.page.SetHeight(max(1, min(len(lines), hp.Height-2)))
	hp.page.SetContentLines(lines)
	hp.page.SetYOffset(hp.page.YOffset())
}

// Key scrolls the help, or closes it. / looks for a key by what it does.
func (hp *Help) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "?", "q", "enter", "ctrl+c":
		hp.Layers.Drop(screen.Help)
	case "/", ":", "ctrl+p", "ctrl+k":
		hp.Layers.Drop(screen.Help)
		return hp.openPalette()
	case "home":
		hp.page.GotoTop()
	case "end", "G":
		hp.page.GotoBottom()
	default:
		hp.page, _ = hp.page.Update(msg)
	}
	return nil
}

// Wheel scrolls.
func (hp *Help) Wheel(lines int) tea.Cmd {
	hp.page.SetYOffset(hp.page.YOffset() + lines)
	return nil
}

// Draw is the part of the help that is scrolled to.
func (hp *Help) Draw(int, int) screen.Picture {
	more := " esc leave "
	if !hp.page.AtTop() || !hp.page.AtBottom() {
		more = " ↑↓ scroll  / find  esc leave "
	}
	return screen.Picture{Lines: strings.Split(hp.page.View(), "\n"), Title: "help", More: more, Columns: hp.page.Width()}
}
