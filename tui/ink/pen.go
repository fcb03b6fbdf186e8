package ink

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// A Pen is a style of colours and weights alone, for text that is drawn many times a
// second. Lip Gloss works a style out anew for each word; a pen knows what it came to.
type Pen struct{ on, off string }

// NewPen makes a style's pen. The style must not change what is written, as one does that
// has a border, a width or underlined words.
func NewPen(s lipgloss.Style) Pen {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return Pen{on, off}
}

// Render draws a part of a line.
func (p Pen) Render(s string) string {
	if s == "" {
		return ""
	}
	return p.on + s + p.off
}
