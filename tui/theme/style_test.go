package theme

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// A style writes what Lip Gloss would, but for the colours of nothing.
func TestStyle(t *testing.T) {
	for _, profile := range []colorprofile.Profile{
		colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor,
	} {
		k := New(true, profile)
		if got := k.Dim.Render(""); got != "" {
			t.Errorf("%v: %q is drawn of nothing", profile, got)
		}
		for name, style := range map[string]Style{
			"strong": k.Strong, "dim": k.Dim, "faint": k.Faint, "mixed": k.Mixed, "ceiling": k.Ceiling,
			"reached": k.RDMACeiling, "plain": {},
		} {
			for _, text := range []string{"x", "one two", "▕███▏ 92.5", "   ", "two\nlines", "a\ttab"} {
				if got, want := style.Render(text), style.Style.Render(text); got != want {
					t.Errorf("%v, %s: %q, want %q", profile, name, got, want)
				}
			}
		}
	}
}
