// Package presentation is the screen that an audience sees: numerals that can be read from the last
// row, bars with a fixed scale, two minutes of history, and the cell that moves them. Values come
// in and lines go out; it samples nothing, runs nothing and knows no clock.
package presentation

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// A View is what the numerals show, apart from the total.
type View uint8

// The views.
const (
	Halves View = iota
	Cables
	Rails
	Nodes   // of all nodes, and not of the link under test
	Results // what each slide reached: a script asks for them, and no key
	views
)

func (v View) String() string { return [...]string{"halves", "cables", "rails", "nodes", "results"}[v] }

// Next is the view after v on a rig of so many nodes: two have no view by node.
func (v View) Next(nodes int) View {
	if v++; v < Nodes || v == Nodes && nodes > 2 {
		return v
	}
	return Halves
}

// ViewNamed is a view by its name; ok is false where there is none.
func ViewNamed(name string) (v View, ok bool) {
	for v := range views {
		if v.String() == name {
			return v, true
		}
	}
	return 0, false
}

// A Cell is what runs, or what ran last.
type Cell struct {
	Title   string
	Places  string // where it runs
	Command string
	State   string // "running 3.2 s"; empty where it doesn't run
	Grade   steps.Grade
	Verdict string
}

// A Screen is all that is drawn.
type Screen struct {
	Width, Height int
	Dials         Dials
	View          View
	Names         [2]string // of the nodes, by End
	Simulated     bool
	Recorded      bool
	ASCII         bool // the terminal has letters only
	Cell          Cell
	Results       []Result // of the slides, in their order
	// Caption is what a show says at this point, and Place where in it one is: "3 of 9".
	Caption, Place string
	// Title is of the show's scene, and Clock how long it has been going on.
	Title, Clock string
	// Alert stands above everything: a node that does not answer, a hot adapter. Warned says that it is a
	// warning and not yet a failure.
	Alert  string
	Warned bool
	Foot   string // the line of keys, drawn already
}

// The room that a part of the screen has at least.
const (
	leastHistory = 2 // rows of the curve, its axis among them
	wideEnough   = 120
	highEnough   = 36
	// From here on a caption is in large letters, in so many lines of them.
	hugeWidth, hugeHeight = 180, 56
	mostCaption           = 3
)

// Lines draws the screen: Height lines, each Width wide.
func (s Screen) Lines(k *theme.Styles) []string {
	if s.Width < 1 || s.Height < 1 {
		return nil
	}
	if s.View == Nodes {
		s.Dials = s.Dials.byNode()
	}
	d := drawing{Screen: s, k: k, roomy: s.Width >= wideEnough && s.Height >= highEnough}
	lines := []string{d.head()}
	lines = append(lines, d.alert()...)
	lines = append(lines, d.caption()...)
	below := append(d.cell(), s.Foot)
	room := s.Height - len(lines) - len(below)
	if s.View == Results && len(s.Results) > 0 {
		lines = append(lines, d.results(room)...)
	} else {
		lines = append(lines, d.middle(room)...)
	}
	lines[0] = d.keyed(lines)
	for len(lines) < s.Height-len(below) {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, min(len(lines), s.Height-len(below)))], below...)
	// On a screen that is too low for all, what runs and the keys stay.
	lines = lines[max(0, len(lines)-s.Height):]
	for i, l := range lines {
		lines[i] = theme.Pad(l, s.Width)
	}
	return lines
}

// A drawing is a screen under way.
type drawing struct {
	Screen
	k     *theme.Styles
	roomy bool
}

// head has what must not be missed on the right: that it is simulated, or recorded.
func (d drawing) head() string { return d.headWith("") }

// headWith has a key next to the title, where both have room.
func (d drawing) headWith(key string) string {
	k := d.k
	left := " " + k.Focus.Render("railbench")
	if d.Title != "" {
		left += "  " + k.Strong.Render(theme.Clean(d.Title))
	}
	right := ""
	if d.Recorded {
		right += k.Badge.Render(" RECORDED ") + " "
	}
	if d.Simulated {
		right += k.Badge.Render(" SIMULATED ") + " "
	}
	names := theme.Clean(d.Names[0] + " ⇄ " + d.Names[1])
	if n := len(d.Dials.Nodes); d.View == Nodes && n > 0 {
		names = fmt.Sprintf("%d nodes", n)
	}
	place := ""
	if at := strings.TrimSpace(d.Place + "  " + d.Clock); at != "" {
		place = " " + k.Strong.Render(at) + " "
	}
	// The title and the clock come before the names.
	if lipgloss.Width(left+right+names+place)+2 <= d.Width {
		right += k.Dim.Render(names) + " "
	}
	right += place
	if key != "" && lipgloss.Width(left+key+right)+1 <= d.Width {
		left += key
	}
	return theme.Sides(left, right, d.Width)
}

// keyed is the head of a screen: with the key of the bars, where its other lines had no room for that.
func (d drawing) keyed(lines []string) string {
	head, key := lines[0], d.key()
	bars := slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "▕") })
	said := slices.ContainsFunc(lines, func(l string) bool {
		return strings.Contains(l, "░ headers") || strings.Contains(l, key)
	})
	if !bars || said {
		return head
	}
	return d.headWith("  " + key)
}

func (d drawing) alert() []string {
	if d.Alert == "" {
		return nil
	}
	style, mark := d.k.Fail, "✗ "
	if d.Warned {
		style, mark = d.k.Warn, "! "
	}
	lines := theme.Wrap(mark+theme.Clean(d.Alert), d.Width-2, "", "  ")
	if len(lines) > 2 {
		lines = lines[:2]
		lines[1] = ansi.Truncate(lines[1], d.Width-3, "") + "…"
	}
	for i, l := range lines {
		lines[i] = " " + style.Render(l)
	}
	return lines
}

// caption is what the show says to the audience.
func (d drawing) caption() []string {
	if d.Caption == "" {
		return nil
	}
	if d.Width >= hugeWidth && d.Height >= hugeHeight && !d.ASCII {
		if lines, ok := large(theme.Clean(d.Caption), d.Width-4); ok && len(lines) <= mostCaption*letterRows {
			for i, l := range lines {
				lines[i] = "  " + d.k.Head.Render(l)
			}
			return append([]string{""}, lines...)
		}
	}
	most := 2
	if d.roomy {
		most = 4
	}
	lines := theme.Wrap(theme.Clean(d.Caption), d.Width-4, "", "")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = ansi.Truncate(lines[most-1], d.Width-5, "") + "…"
	}
	for i, l := range lines {
		lines[i] = "  " + d.k.Head.Render(l)
	}
	if d.roomy {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// middle is the numerals, the bars, the processors and the history, in so many rows.
func (d drawing) middle(room int) []string {
	var lines []string
	numerals := d.numerals(room)
	left := room - len(numerals)
	if d.roomy {
		left-- // for what is between them
	}
	bars, hosts := d.bars(left), d.hosts()
	// The history has what is left; before the processors' line goes, bars do.
	if room < len(numerals)+len(bars)+len(hosts) {
		bars = bars[:max(0, min(len(bars), room-len(numerals)-len(hosts)))]
	}
	lines = append(lines, numerals...)
	if d.roomy {
		lines = append(lines, "")
	}
	lines = append(lines, bars...)
	if d.roomy {
		lines = append(lines, "")
	}
	lines = append(lines, hosts...)
	if d.roomy {
		lines = append(lines, "")
	}
	left = room - len(lines)
	if d.roomy {
		left = min(left, d.Height/3) // what moves now is worth more than what moved
	}
	if left >= leastHistory {
		lines = append(lines, d.history(left)...)
	}
	return lines[:max(0, min(len(lines), room))]
}

// cell is what moves it all: title, command and verdict.
func (d drawing) cell() []string {
	k, c := d.k, d.Cell
	rule := k.Faint.Render(strings.Repeat("─", d.Width))
	if c.Title == "" {
		return []string{rule, " " + k.Dim.Render("nothing is running")}
	}
	left := " " + k.Strong.Render(theme.Clean(c.Title)) + "  " + k.Dim.Render(theme.Clean(c.Places))
	right := ""
	if c.State != "" {
		right = k.Accent.Render(c.State) + " "
	}
	lines := []string{rule, theme.Sides(left, right, d.Width)}
	if c.Command != "" {
		most := 1
		if d.roomy {
			most = 3
		}
		folded := theme.Fold(theme.Clean(c.Command), d.Width-6)
		if len(folded) > most {
			folded = folded[:most]
			folded[most-1] += " …"
		}
		for i, l := range folded {
			mark := "$ "
			if i > 0 {
				mark = "  "
			}
			lines = append(lines, " "+k.Faint.Render(mark)+k.Dim.Render(l))
		}
	}
	return append(lines, d.verdict()...)
}

func (d drawing) verdict() []string {
	k, c := d.k, d.Cell
	if c.Grade == steps.NotRun {
		return nil
	}
	first := " " + cells.GradeStyle(k, c.Grade).Render(c.Grade.String()) + "  "
	if d.Simulated {
		first += k.Dim.Render("SIMULATED  ")
	}
	most := 2
	if d.roomy {
		most = 4
	}
	if c.Grade != steps.Pass && c.Grade != steps.Skipped { // what to do stands at the end: nothing of it is cut
		most = max(most, d.Height/2)
	}
	lines := theme.Wrap(first+theme.Clean(c.Verdict), d.Width-2, "", "   ")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = ansi.Truncate(lines[most-1], d.Width-3, "") + "…"
	}
	return lines
}
