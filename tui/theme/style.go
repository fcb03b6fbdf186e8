package theme

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// A Style is a Lip Gloss style with colours and weights only, which keeps its rendered form: Lip Gloss
// computes that for each word, and a screen is drawn many times a second. The zero value changes nothing.
type Style struct {
	lipgloss.Style
	on, off string
}

// NewStyle makes a style of one that does not change what is written, as one does that has a
// border, a width or underlined words.
func NewStyle(s lipgloss.Style) Style {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return Style{s, on, off}
}

// Bold is the style in bold, or not.
func (s Style) Bold(on bool) Style { return NewStyle(s.Style.Bold(on)) }

// Faint is the style with the terminal's faint text, or not.
func (s Style) Faint(on bool) Style { return NewStyle(s.Style.Faint(on)) }

// Background is the style on a colour.
func (s Style) Background(c color.Color) Style { return NewStyle(s.Style.Background(c)) }

// Render draws a part of a line, or lines.
func (s Style) Render(text string) string {
	switch {
	case text == "":
		return ""
	case strings.ContainsAny(text, "\n\r\t"):
		return s.Style.Render(text)
	}
	return s.on + text + s.off
}
