// Package ink is how text becomes a line of the terminal: its colours, its
// width, and what must not reach a terminal at all. It knows nothing of cells,
// gauges or keys.
//
// A Style is the escape sequence itself and not a description of one, because a
// frame has some hundreds of styled pieces and is drawn up to 30 times a second.
package ink

// A Style is the SGR sequence that turns it on; the empty one changes nothing.
type Style string

const reset = "\x1b[m"

// Paint gives s in the style.
func (y Style) Paint(s string) string {
	if y == "" || s == "" {
		return s
	}
	return string(y) + s + reset
}

// Ink is every style that railbench draws with. There is one accent; colours
// beyond it mean a grade or a kind of traffic, and each has a mark or a word
// beside it, so that nothing is said by colour alone.
type Ink struct {
	Strong Style // titles and values
	Dim    Style // what is read second: scripts, labels
	Faint  Style // rules and empty bars
	Accent Style // what is selected or running
	Focus  Style // the selected cell's title

	Pass, Warn, Fail, Inconclusive, Skipped Style

	RDMA, IP, Mixed Style // bars
	RDMABack        Style // the ceiling's mark on top of a bar
	Ceiling         Style

	Badge  Style // SIMULATED
	Code   Style // `code` in prose
	Head   Style // headings in prose
	Stderr Style
	Em     Style
	Cursor Style
}

// Dark is for dark backgrounds, with 256 colours at least; the renderer
// approximates them where the terminal has fewer than 2^24.
func Dark() *Ink {
	return &Ink{
		Strong: fg(230, 234, 240) + bold,
		Dim:    fg(143, 152, 165),
		Faint:  fg(76, 84, 96),
		Accent: fg(95, 179, 249),
		Focus:  fg(95, 179, 249) + bold,

		Pass: fg(126, 199, 123) + bold, Warn: fg(229, 192, 103) + bold, Fail: fg(242, 108, 115) + bold,
		Inconclusive: fg(198, 155, 234) + bold, Skipped: fg(143, 152, 165) + bold,

		RDMA: fg(95, 179, 249), IP: fg(86, 190, 165), Mixed: fg(150, 168, 222),
		RDMABack: "\x1b[38;2;20;24;30;48;2;95;179;249m", Ceiling: fg(229, 192, 103),

		Badge: "\x1b[1;38;2;28;24;10;48;2;229;192;103m",
		Code:  fg(214, 186, 148), Head: fg(230, 234, 240) + bold,
		Stderr: fg(222, 178, 140), Em: italic, Cursor: reverse,
	}
}

// Light is Dark's counterpart for light backgrounds.
func Light() *Ink {
	return &Ink{
		Strong: fg(20, 24, 32) + bold,
		Dim:    fg(92, 99, 112),
		Faint:  fg(184, 189, 198),
		Accent: fg(11, 99, 197),
		Focus:  fg(11, 99, 197) + bold,

		Pass: fg(25, 118, 42) + bold, Warn: fg(140, 96, 0) + bold, Fail: fg(190, 34, 42) + bold,
		Inconclusive: fg(118, 58, 176) + bold, Skipped: fg(92, 99, 112) + bold,

		RDMA: fg(11, 99, 197), IP: fg(12, 122, 108), Mixed: fg(84, 96, 160),
		RDMABack: "\x1b[38;2;255;255;255;48;2;11;99;197m", Ceiling: fg(140, 96, 0),

		Badge: "\x1b[1;38;2;255;255;255;48;2;140;96;0m",
		Code:  fg(128, 70, 20), Head: fg(20, 24, 32) + bold,
		Stderr: fg(150, 78, 24), Em: italic, Cursor: reverse,
	}
}

// Sixteen keeps to the terminal's own 16 colours, which fit its background.
func Sixteen() *Ink {
	return &Ink{
		Strong: bold, Dim: faint, Faint: faint, Accent: "\x1b[36m", Focus: "\x1b[1;36m",
		Pass: "\x1b[1;32m", Warn: "\x1b[1;33m", Fail: "\x1b[1;31m", Inconclusive: "\x1b[1;35m", Skipped: bold,
		RDMA: "\x1b[36m", IP: "\x1b[32m", Mixed: "\x1b[34m", RDMABack: "\x1b[30;46m", Ceiling: "\x1b[33m",
		Badge: "\x1b[1;30;43m", Code: "\x1b[33m", Head: bold, Stderr: "\x1b[33m", Em: italic, Cursor: reverse,
	}
}

// Plain has no colours, as NO_COLOR asks: bold, faint and reverse only.
func Plain() *Ink {
	return &Ink{
		Strong: bold, Dim: faint, Faint: faint, Accent: bold, Focus: bold,
		Pass: bold, Warn: bold, Fail: bold, Inconclusive: bold, Skipped: bold,
		Ceiling: bold, Badge: reverse, Head: bold, Em: italic, Cursor: reverse,
	}
}

const (
	bold    Style = "\x1b[1m"
	faint   Style = "\x1b[2m"
	italic  Style = "\x1b[3m"
	reverse Style = "\x1b[7m"
)
