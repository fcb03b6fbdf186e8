package theme

import (
	"slices"
	"strconv"
	"strings"
)

// LettersOnly reports whether the locale has no Unicode, as the C library decides it. Where
// no locale is set, as in many containers, the terminal most probably has it.
func LettersOnly(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// HasLinks reports whether the terminal has links (OSC 8). A program can't ask a terminal for that. Some of
// the terminals that are not known to have links print the address as text. A program in between, such as
// tmux, may not have links.
func HasLinks(getenv func(string) string) bool {
	name := getenv("TERM")
	for _, between := range []string{"tmux", "screen", "linux", "dumb"} {
		if strings.HasPrefix(name, between) {
			return false
		}
	}
	if name == "" || getenv("TMUX") != "" || getenv("STY") != "" {
		return false
	}
	for _, known := range []string{"kitty", "ghostty", "alacritty", "foot", "wezterm", "contour"} {
		if strings.HasPrefix(strings.TrimPrefix(name, "xterm-"), known) {
			return true
		}
	}
	vte, err := strconv.Atoi(getenv("VTE_VERSION"))
	const firstVTE = 5000 // 0.50
	return err == nil && vte >= firstVTE || getenv("WT_SESSION") != "" || getenv("KONSOLE_VERSION") != "" ||
		slices.Contains([]string{"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby"},
			getenv("TERM_PROGRAM"))
}
