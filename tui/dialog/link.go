package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// A rig of more than two nodes has a link under test, whose two ends are here and the
// peer to every cell. It is chosen from the palette, and asked for before the first cell
// runs.

// Links is the choice of the link under test.
type Links struct {
	*screen.Shared
	Palette *Palette
}

// Open is the key that asks for the link under test.
func (ln *Links) Open() tea.Cmd {
	if ln.Linkable() {
		ln.Palette.ChooseLink(nil)
	} else {
		ln.Notice = "a rig of two nodes has one link"
	}
	return nil
}

// ChooseLink asks for the link under test, and runs cells then.
func (pal *Palette) ChooseLink(then []string) {
	pal.Open()
	pal.Links, pal.then = true, then
}

// mostLinks is how many links are offered: those of 64 nodes. Of more nodes the palette's words find them.
const mostLinks = 64 * 63 / 2

// Choices are the palette's lines of all links, each both ways: here is where the
// clients run.
func (ln *Links) Choices() (all []Choice) {
	if !ln.Linkable() {
		return nil
	}
	names := make([]string, len(ln.Book.Rig.Nodes)) // by number
	for i, name := range ln.Names() {
		if no := ln.Number(steps.End(i)); no >= 0 && no < len(names) { // a saved one may be any
			names[no] = name
		}
	}
	links, next := ln.Book.Rig.Cabled()
	if len(links) > mostLinks {
		words := strings.Fields(strings.ToLower(ln.Palette.Line.Text()))
		if links = linksOf(names, words); len(words) == 0 && ln.Palette.Links {
			links = next
		}
	}
	for _, two := range links {
		for _, l := range []steps.Link{two, {Here: two.Peer, Peer: two.Here}} {
			name := fmt.Sprintf("%s ⇄ %s", names[l.Here], names[l.Peer])
			if l == ln.Book.Rig.Link() {
				name += "  (now)"
			}
			all = append(all, Choice{Kind: "link", Name: name, Act: func() tea.Cmd { return ln.setLink(l) }})
		}
	}
	return all
}

// linksOf are links of nodes whose names have words: of those that have the one to those that have the other, and
// where there is one such word to all.
func linksOf(names, words []string) (links []steps.Link) {
	var ends [][]int
	for _, word := range words {
		var has []int
		for no, name := range names {
			if strings.Contains(strings.ToLower(name), word) {
				has = append(has, no)
			}
		}
		if has != nil { // a word may also be of what a line begins with
			ends = append(ends, has)
		}
	}
	if ends == nil {
		return nil
	}
	to := ends[len(ends)-1]
	if len(ends) == 1 {
		to = make([]int, len(names))
		for no := range names {
			to[no] = no
		}
	}
	for _, a := range ends[0] {
		for _, b := range to {
			// Both ways are offered of each: where both ends have both words it would come twice.
			if a != b && (a < b || !slices.Contains(ends[0], b) || !slices.Contains(to, a)) {
				links = append(links, steps.Link{Here: min(a, b), Peer: max(a, b)})
			}
			if len(links) == mostLinks {
				return links
			}
		}
	}
	return links
}

func (ln *Links) setLink(l steps.Link) tea.Cmd {
	ln.Linked = true
	wanted := ln.Palette.then
	ln.Notice = fmt.Sprintf("the link under test: %s ⇄ %s", ln.NodeName(l.Here), ln.NodeName(l.Peer))
	return ln.Try(func(s screen.Session) error {
		err := s.SetLink(l)
		if err == nil && len(wanted) > 0 {
			s.Run(wanted...)
		}
		return err
	})
}
