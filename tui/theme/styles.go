// Package theme is railbench's palette, and the little about lines of text that Lip
// Gloss and x/ansi leave open: what must not reach a terminal at all, lines that
// are exactly as wide as asked for, and a hanging indent.
package theme

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Styles is every style that railbench draws with. There is one accent. All other colours mean a grade or a
// kind of traffic, and each of these also has a mark or a word, so that nothing depends on colour alone.
type Styles struct {
	Strong Style // titles and values
	Dim    Style // what is read second: scripts, labels
	Faint  Style // rules and empty bars, never words
	Accent Style // what is selected or running
	Focus  Style // the selected cell's title

	Pass, Warn, Fail, Inconclusive, Skipped Style

	RDMA, IP, Mixed Style // bars
	Ceiling         Style // the mark on a bar
	RDMACeiling     Style // the mark where the bar has reached it

	Badge  Style // SIMULATED
	Code   Style // `code` in prose
	Head   Style // headings in prose
	Stderr Style
	Em     Style
	Cursor Style

	Found     Style // what a search has found
	FoundHere Style // where it stands

	profile colorprofile.Profile
	links   bool // the terminal has them
}

// Plain reports whether the text is for no terminal at all, but for a file or a pipe.
func (k *Styles) Plain() bool { return k.profile == colorprofile.NoTTY }

// New chooses the styles for a terminal's background and its colours. The renderer
// approximates them where it has 256. Of 16 the terminal's owner chose the shades,
// so greys are its faint text, and green and yellow, which are hard to read on a
// light background, are a background themselves there. Without colours, as NO_COLOR
// asks, bold, faint and reverse do the work.
func New(dark bool, profile colorprofile.Profile) *Styles {
	lightDark, complete := lipgloss.LightDark(dark), lipgloss.Complete(profile)
	few, none := profile <= colorprofile.ANSI, profile <= colorprofile.ASCII
	// Each colour is given for a light background, then for a dark one; of the 16
	// by its number, and "" is the terminal's own.
	pick := func(light16, dark16, light, dark string) Style {
		many := lightDark(lipgloss.Color(light), lipgloss.Color(dark))
		return NewStyle(lipgloss.NewStyle().Foreground(complete(lightDark(lipgloss.Color(light16), lipgloss.Color(dark16)),
			many, many)))
	}
	on := func(text, back Style) Style { return text.Background(back.GetForeground()) }

	k := &Styles{
		profile: profile,

		Strong: pick("", "", "#141820", "#e6eaf0").Bold(true),
		Dim:    pick("", "", "#5c6370", "#8f98a5").Faint(few),
		Faint:  pick("", "", "#9ea3aa", "#4c5460").Faint(few),
		Accent: pick("4", "6", "#0b63c5", "#5fb3f9").Bold(none),

		Pass:         pick("", "2", "#19762a", "#7ec77b").Bold(true),
		Warn:         pick("", "3", "#8c6000", "#e5c067").Bold(true),
		Fail:         pick("1", "1", "#be222a", "#f26c73").Bold(true),
		Inconclusive: pick("5", "5", "#763ab0", "#c69bea").Bold(true),
		Skipped:      pick("", "", "#5c6370", "#8f98a5").Bold(true),

		RDMA:    pick("4", "6", "#0b63c5", "#5fb3f9"),
		IP:      pick("5", "2", "#0c7a6c", "#56bea5"),
		Mixed:   pick("", "12", "#5460a0", "#96a8de"),
		Ceiling: pick("", "3", "#8c6000", "#e5c067").Bold(none),

		Code:   pick("5", "3", "#804614", "#d6ba94"),
		Stderr: pick("5", "3", "#964e18", "#deb28c"),
		Em:     NewStyle(lipgloss.NewStyle().Italic(true)),
		Cursor: NewStyle(lipgloss.NewStyle().Reverse(true)),
	}
	k.Focus, k.Head = k.Accent.Bold(true), k.Strong
	k.RDMACeiling = on(pick("15", "0", "#ffffff", "#14181e"), k.RDMA).Bold(none)
	k.Badge = on(pick("0", "0", "#ffffff", "#1c180a"), pick("3", "3", "#8c6000", "#e5c067")).Bold(true)
	if profile == colorprofile.ANSI && !dark {
		black := NewStyle(lipgloss.NewStyle().Foreground(lipgloss.Black))
		k.Pass, k.Warn = black.Background(lipgloss.Green), black.Background(lipgloss.Yellow)
	}
	k.Found, k.FoundHere = on(pick("15", "0", "#ffffff", "#14181e"), k.Accent), k.Badge
	if none {
		k.Badge, k.Found, k.FoundHere = k.Cursor, k.Cursor, k.Cursor.Bold(true)
	}
	return k
}
