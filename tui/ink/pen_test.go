package ink

import (
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// A pen writes what its style would, but for the colours of nothing.
func TestPen(t *testing.T) {
	for _, profile := range []colorprofile.Profile{
		colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor,
	} {
		k := New(true, profile)
		if got := NewPen(k.Dim).Render(""); got != "" {
			t.Errorf("%v: %q is drawn of nothing", profile, got)
		}
		for name, style := range map[string]lipgloss.Style{
			"strong": k.Strong, "dim": k.Dim, "faint": k.Faint, "mixed": k.Mixed, "ceiling": k.Ceiling,
			"reached": k.RDMACeiling, "plain": {},
		} {
			for _, text := range []string{"x", "one two", "▕███▏ 92.5", "   "} {
				if got, want := NewPen(style).Render(text), style.Render(text); got != want {
					t.Errorf("%v, %s: %q, want %q", profile, name, got, want)
				}
			}
		}
	}
}
