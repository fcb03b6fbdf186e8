package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// A rig of more than two nodes has a link under test, whose two ends are here and the
// peer to every cell. It is chosen from the palette, and asked for before the first cell
// runs.

// number is the number of the node at an end. Before a rig is known ends are numbers.
func (m *Model) number(e steps.End) int { return numberIn(m.book.Rig, e) }

func numberIn(rig steps.Rig, e steps.End) int {
	if len(rig.Nodes) == 0 {
		return int(e)
	}
	return rig.At(e).No
}

// nodeName is the name of the node with a number.
func (m *Model) nodeName(no int) string {
	for i, name := range m.names() {
		if m.number(steps.End(i)) == no {
			return name
		}
	}
	return steps.End(no).String()
}

// linkable reports whether there is more than one link to choose.
func (m *Model) linkable() bool { return len(m.book.Rig.Nodes) > len(steps.Ends) }

func (m *Model) chooseLink() tea.Cmd {
	if !m.linkable() {
		m.notice = "a rig of two nodes has one link"
		return nil
	}
	m.palette = palette{open: true, links: true}
	return nil
}

// linkChoices are the palette's lines of all links, each both ways: here is where the
// clients run.
func (m *Model) linkChoices() (all []choice) {
	if !m.linkable() {
		return nil
	}
	cabled, _ := m.book.Rig.Cabled()
	for _, two := range cabled {
		for _, l := range []steps.Link{two, {Here: two.Peer, Peer: two.Here}} {
			name := fmt.Sprintf("%s ⇄ %s", m.nodeName(l.Here), m.nodeName(l.Peer))
			if l == m.book.Rig.Link() {
				name += "  (now)"
			}
			all = append(all, choice{"link", name, "", func(m *Model) tea.Cmd { return m.setLink(l) }})
		}
	}
	return all
}

func (m *Model) setLink(l steps.Link) tea.Cmd {
	m.linked = true
	wanted := m.palette.then
	m.notice = fmt.Sprintf("the link under test: %s ⇄ %s", m.nodeName(l.Here), m.nodeName(l.Peer))
	return m.try(func(s Session) error {
		err := s.SetLink(l)
		if err == nil && len(wanted) > 0 {
			s.Run(wanted...)
		}
		return err
	})
}

// needsLink reports whether one of some cells runs over a link.
func (m *Model) needsLink(ids []string) bool {
	for _, id := range ids {
		if c, ok := m.book.Tutorial.Cell(id); ok && c.OverLink() {
			return true
		}
	}
	return false
}
