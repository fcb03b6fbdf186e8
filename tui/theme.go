package tui

import (
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/tui/ink"
)

// colours is how many there are.
type colours uint8

const (
	many colours = iota
	sixteen
	none
)

func coloursOf(p colorprofile.Profile) colours {
	switch p {
	case colorprofile.TrueColor, colorprofile.ANSI256:
		return many
	case colorprofile.ANSI:
		return sixteen
	default:
		return none
	}
}

// restyle chooses the ink for the terminal. What was drawn with another is void.
func (m *Model) restyle() {
	switch {
	case m.opts.NoColor || m.colours == none:
		m.ink = ink.Plain()
	case m.colours == sixteen:
		m.ink = ink.Sixteen()
	case m.dark:
		m.ink = ink.Dark()
	default:
		m.ink = ink.Light()
	}
	m.cache = cache{}
	m.dirty = true
}
