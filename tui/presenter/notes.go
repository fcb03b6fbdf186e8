package presenter

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Notes is the presenter's own screen: it follows a presentation that another railbench gives.
type Notes struct {
	opts          screen.Options
	read          func() (script.Moment, error)
	at            script.Moment
	err           error
	width, height int
	profile       colorprofile.Profile
}

// notesPace is how often the presenter's screen looks where the presentation is.
const notesPace = 300 * time.Millisecond

type momentMsg struct {
	at  script.Moment
	err error
}

// NewNotes makes it; read gives where the presentation is, and is called from a command.
func NewNotes(read func() (script.Moment, error), opts screen.Options) *Notes {
	return &Notes{opts: opts, read: read, profile: colorprofile.TrueColor}
}

// Init looks for the first time.
func (n *Notes) Init() tea.Cmd { return n.look() }

func (n *Notes) look() tea.Cmd {
	read := n.read
	return func() tea.Msg {
		at, err := read()
		return momentMsg{at, err}
	}
}

// Update follows the presentation.
func (n *Notes) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		n.width, n.height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		n.profile = msg.Profile
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "ctrl+c", "esc":
			return n, tea.Quit
		}
	case momentMsg:
		n.at, n.err = msg.at, msg.err
		return n, tea.Tick(notesPace, func(time.Time) tea.Msg { return SlideTickMsg{} })
	case SlideTickMsg:
		return n, n.look()
	}
	return n, nil
}

// View is where the presentation is, the notes first.
func (n *Notes) View() tea.View {
	profile := n.profile
	if n.opts.Terminal.NoColor {
		profile = colorprofile.ASCII
	}
	frame := strings.Join(n.lines(theme.New(n.opts.Terminal.Background != screen.Light, profile)), "\n")
	if n.opts.Terminal.ASCII {
		frame = theme.ASCII(frame)
	}
	v := tea.NewView(frame)
	v.AltScreen = true
	v.WindowTitle = "railbench notes"
	return v
}

func (n *Notes) lines(k *theme.Styles) []string {
	if n.width < 1 || n.height < 1 {
		return nil
	}
	if n.err != nil {
		return n.fit(theme.Wrap(theme.Clean(n.err.Error()), n.width-2, " ", " "))
	}
	place, clock := "not begun", ""
	if n.at.Slide > 0 {
		place = fmt.Sprintf("%d/%d", n.at.Slide, n.at.Of)
		if gone := n.opts.Clock.Now().Sub(n.at.Began).Truncate(time.Second); !n.at.Began.IsZero() && gone >= 0 {
			clock = fmt.Sprintf("  %d:%02d", int(gone.Minutes()), int(gone.Seconds())%60)
		}
	}
	if n.at.Auto {
		place += " auto"
	}
	lines := []string{
		theme.Sides(" "+k.Focus.Render(theme.Clean(n.at.Script)), k.Strong.Render(place+clock)+" ", n.width),
		k.Faint.Render(strings.Repeat("─", n.width)),
	}
	if n.at.Alarm != "" {
		lines = append(lines, theme.Wrap(k.Fail.Render("ALARM "+theme.Clean(n.at.Alarm)), n.width-2, " ", "   ")...)
	}
	section := func(name, text string, style func(string) string) {
		if text == "" {
			return
		}
		lines = append(lines, "", " "+k.Dim.Render(name))
		for _, l := range theme.Wrap(theme.Clean(text), n.width-3, "", "") {
			lines = append(lines, "  "+style(l))
		}
	}
	if n.at.Title != "" {
		lines = append(lines, "", " "+k.Strong.Render(theme.Clean(n.at.Title)))
	}
	section("notes", n.at.Notes, k.Strong.Render)
	section("the audience reads", n.at.Caption, k.Dim.Render)
	section(theme.Clean(n.at.Cell), n.at.Verdict, k.Accent.Render)
	section("next", n.at.Following(), k.Strong.Render)
	return n.fit(lines)
}

// fit gives as many lines as the terminal has, each as wide as it is.
func (n *Notes) fit(lines []string) []string {
	lines = screen.Fill(lines, n.height, n.width)
	for i, l := range lines {
		lines[i] = theme.Pad(l, n.width)
	}
	return lines
}
