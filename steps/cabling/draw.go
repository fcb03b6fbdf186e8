package cabling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/nodeset"
)

// The drawing fits 80 columns.
const (
	width     = 80
	nameWidth = 24
	farWidth  = 12 // of a switch's port
	mostDrawn = 16 // nodes that stand for themselves; more are folded
)

// Draw draws the cables, a line each, and then says what was found.
func (m Map) Draw() []string {
	var lines []string
	switch way := m.around(); {
	case m.Shape == Unseen:
		lines = []string{"cabling: unknown, because no node answered on a rail"}
	case (m.Shape == Ring || m.Shape == Chain) && way != nil:
		lines = append([]string{fmt.Sprintf("cabling: %s of %d nodes", m.Shape, len(way))}, m.drawRing(way)...)
	default:
		lines = []string{fmt.Sprintf("cabling: %s", m.Shape)}
		for _, s := range m.Segments {
			if len(s) == 2 && m.switchOf(s) == "" {
				lines = append(lines, m.drawCable(s))
			} else {
				lines = append(lines, m.drawSwitch(s)...)
			}
		}
	}
	for _, f := range m.Findings {
		lines = append(lines, wrap("! "+f, "  ")...)
	}
	return lines
}

func (m Map) name(node int) string {
	name := []rune(m.Rig.Nodes[node].Name)
	if len(name) > nameWidth {
		return string(name[:nameWidth-1]) + "…"
	}
	return string(name)
}

func (m Map) portName(p Port) string {
	if p.No < 0 {
		return m.Rig.Nodes[p.Node].Rails[-1-p.No].Netdev.Name
	}
	return fmt.Sprintf("port %d", p.No)
}

// widest is the widest of the names of some ports' nodes, and of the ports.
func (m Map) widest(ports []Port) (names, numbers int) {
	for _, p := range ports {
		names = max(names, len([]rune(m.name(p.Node))))
		numbers = max(numbers, len([]rune(m.portName(p))))
	}
	return names, numbers
}

// How a cable is drawn.
const (
	soundMark   = "══════"
	crossedMark = "══╳═══"
	halfMark    = "══╌╌══" // one of its two rails
)

// drawCable is one cable: its two ends and the rails that it carries.
func (m Map) drawCable(s Segment) string {
	names, numbers := m.widest(slices.Concat(m.Segments...))
	mark := cmp.Or(m.marks[s[0]], m.marks[s[1]], soundMark)
	return cut(fmt.Sprintf("  %-*s  %-*s %s %-*s  %-*s", names, m.name(s[0].Node), numbers, m.portName(s[0]), mark,
		numbers, m.portName(s[1]), names, m.name(s[1].Node)))
}

// drawSwitch is the ports that one switch joins.
func (m Map) drawSwitch(s Segment) []string {
	// far is the switch's own port, where it says that.
	type row struct{ name, port, far string }
	var rows []row
	if len(s) > mostDrawn {
		byPort := map[string][]string{}
		var order []string
		for _, p := range s {
			port := m.portName(p)
			if byPort[port] == nil {
				order = append(order, port)
			}
			byPort[port] = append(byPort[port], m.Rig.Nodes[p.Node].Name)
		}
		for _, port := range order {
			rows = append(rows, row{nodeset.Fold(byPort[port]), port, ""})
		}
	} else {
		for _, p := range s {
			_, far, _ := m.heard(p)
			rows = append(rows, row{m.name(p.Node), m.portName(p), cutTo(far, farWidth)})
		}
	}
	names, numbers, fars := 0, 0, 0
	for _, r := range rows {
		names, numbers = max(names, len([]rune(r.name))), max(numbers, len([]rune(r.port)))
		fars = max(fars, len([]rune(r.far)))
	}
	room := width - 30
	if fars > 0 {
		room -= fars + 4
	}
	names = min(names, room)
	var lines []string
	for i, r := range rows {
		joint := "╬"
		switch {
		case len(rows) == 1:
			joint = "═"
		case i == 0:
			joint = "╗"
		case i == len(rows)-1:
			joint = "╝"
		default:
			joint = "╣"
		}
		far := "══"
		if fars > 0 {
			far = fmt.Sprintf("══ %-*s ══", fars, r.far)
		}
		line := fmt.Sprintf("  %-*s  %-*s %s%s", names, cutTo(r.name, names), numbers, r.port, far, joint)
		if i == len(rows)/2 {
			if joint == "╣" {
				line = strings.TrimSuffix(line, joint) + "╬"
			}
			line += "══ " + cutTo(cmp.Or(m.switchOf(s), "switch"), nameWidth)
		}
		lines = append(lines, cut(line))
	}
	return lines
}

// around is the nodes of a ring or chain in their order; nil for more than can be drawn.
// Only of cables: ports behind a switch have no order.
func (m Map) around() []int {
	if len(m.Rig.Nodes) > mostDrawn {
		return nil
	}
	next := map[int]map[int]bool{}
	for _, s := range m.Segments {
		if len(s) != 2 {
			return nil
		}
		for i, p := range s {
			if next[p.Node] == nil {
				next[p.Node] = map[int]bool{}
			}
			next[p.Node][s[1-i].Node] = true
		}
	}
	return m.circle(next)
}

// between is the port by which a node is joined with another.
func (m Map) between(a, b int) string {
	var ports []string
	for _, s := range m.Segments {
		for i, p := range s {
			if p.Node == a && s[1-i].Node == b {
				ports = append(ports, strings.TrimPrefix(m.portName(p), "port "))
			}
		}
	}
	return "port " + strings.Join(ports, ",")
}

// drawRing has the nodes one below the other, and the last one's cable goes back to the first.
func (m Map) drawRing(way []int) []string {
	inner, label := 0, 0
	for i, n := range way {
		inner = max(inner, len([]rune(m.name(n))))
		for _, j := range []int{i + 1, i + len(way) - 1} {
			label = max(label, len([]rune(m.between(n, way[j%len(way)]))))
		}
	}
	inner += inner%2 + 1 // an odd number, so that there is a middle
	half := strings.Repeat("─", inner/2+1)
	side := func(edge, text string) string { return fmt.Sprintf("  %s %-*s ", edge, label, text) }
	ring := m.Shape == Ring
	var lines []string
	for i, n := range way {
		first, last := i == 0, i == len(way)-1
		edge, before, after := "║ ", "", ""
		if !ring {
			edge = "  "
		}
		top, bottom, up, down := edge, edge, "╨", "╥"
		if !first || ring {
			before = m.between(n, way[(i+len(way)-1)%len(way)])
		}
		if !last || ring {
			after = m.between(n, way[(i+1)%len(way)])
		}
		if first {
			up = "─"
			if ring {
				top = "╔═"
			}
		}
		if last {
			down = "─"
			if ring {
				bottom = "╚═"
			}
		}
		pad := inner - len([]rune(m.name(n)))
		lines = append(lines,
			side(top, before)+"┌"+half+up+half+"┐",
			side(edge, "")+"│ "+strings.Repeat(" ", pad/2)+m.name(n)+strings.Repeat(" ", pad-pad/2)+" │",
			side(bottom, after)+"└"+half+down+half+"┘")
		if !last {
			lines = append(lines, side(edge, "")+strings.Repeat(" ", inner/2+2)+"║")
		}
	}
	for i := range lines {
		lines[i] = cut(strings.TrimRight(lines[i], " "))
	}
	return lines
}

func cut(line string) string { return cutTo(strings.TrimRight(line, " "), width) }

func cutTo(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// wrap breaks a sentence at its blanks; what follows the first line is indented.
func wrap(text, indent string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), indent+word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, cut(line))
}
