package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// A link is one where the terminal has links, on each line that it goes over, and nothing where
// it has none; no address says anything else to the terminal.
func TestLink(t *testing.T) {
	const address = "https://example.org/a-page-of-much/and-more?x=1&y=2"
	known := New(true, colorprofile.TrueColor).WithLinks(true)
	for _, l := range Wrap("see "+known.Link(address, "the page of much and more words than a line has"), 20, "", "") {
		if n := strings.Count(l, "\x1b]8;;"+address); n != 1 || strings.Count(l, "\x1b]8;;") != 2 {
			t.Errorf("the line %q has %d links", l, n)
		}
		if w := ansi.StringWidth(l); w > 20 {
			t.Errorf("%q has %d columns", l, w)
		}
	}
	if got := New(true, colorprofile.NoTTY).WithLinks(true).Link(address, "text"); got != "text" {
		t.Errorf("into a file: %q", got)
	}
	if got := New(true, colorprofile.TrueColor).Link(address, "text"); got != "text" {
		t.Errorf("where nobody knows links: %q", got)
	}
	for _, bad := range []string{
		"", "file:///etc/passwd", "javascript:alert(1)", "facts.md#tcp", "https://a\x1b\\b", "https://a\ab", "https://a b",
		"https://a;b", "https://a`b",
		"https://ex\u00e4mple.org", "https://" + strings.Repeat("a", longestAddress),
	} {
		if got := known.Link(bad, "text"); got != "text" {
			t.Errorf("%q became a link: %q", bad, got)
		}
	}
}

func TestWhichTerminalsHaveLinks(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{}, false},
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "xterm-kitty"}, true},
		{map[string]string{"TERM": "alacritty"}, true},
		{map[string]string{"TERM": "foot-extra"}, true},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "7601"}, true},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "4205"}, false},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "new"}, false},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, true},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, false},
		{map[string]string{"TERM": "tmux-256color", "TERM_PROGRAM": "tmux", "VTE_VERSION": "7601"}, false},
		{map[string]string{"TERM": "screen", "WT_SESSION": "x"}, false},
		{map[string]string{"TERM": "xterm-kitty", "TMUX": "/tmp/tmux,1,0"}, false},
		{map[string]string{"TERM": "linux"}, false},
	} {
		if got := HasLinks(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %t", c.env, got)
		}
	}
}
