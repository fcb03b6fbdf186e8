package dialog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// The question before a change: what it is about first, then its own commands, and what is
// the same before every change folded.

// changeBox asks about a change that was not made yet, and shows what would run. The answers
// are always seen: all above them but the first sentence scrolls.
func (qs *Questions) changeBox(b *box, q *steps.ChangeQuestion, height int) (title string) {
	title = "Change the network?"
	what := q.Title + ": as root, on both nodes or on neither. " + interrupts
	if len(q.Places) > len(steps.Ends) {
		what = fmt.Sprintf("%s: as root, on all %d nodes or on none. %s", q.Title, len(q.Places), interrupts)
	}
	if q.Final {
		title = theme.Clean(q.Title) + "?"
		what = "The commands below run. They do not change the network, and cannot be undone."
	}
	b.say(what)
	for _, w := range q.Warnings {
		b.say(qs.Styles.Warn.Render(theme.Clean(w)))
	}
	head := height / 2 // of many warnings the rest scrolls
	var rest []string
	if len(b.lines) > head {
		b.lines, rest = b.lines[:head], b.lines[head:]
	}
	body := box{k: b.k, width: b.width, lines: append(slices.Clip(rest), "")}
	if !q.Final {
		qs.changeSummary(&body, q)
		body.add("")
	}
	qs.changeCommands(&body, q)
	if n := handedOver(q); n > 0 && !qs.wholeScript {
		body.add(theme.Wrap(b.k.Dim.Render(fmt.Sprintf("Before them, %d lines release the interfaces from their managers"+
			" until rollback: s shows them.", n)), b.width, "", "")...)
	}
	lines, more := qs.window(body.lines, height-len(b.lines)-2)
	b.add(lines...)
	pairs := []string{"y", "make it", "n, esc", "change nothing"}
	if more {
		pairs = append(pairs, "↑↓", "scroll")
	}
	if handedOver(q) > 0 {
		pairs = append(pairs, "s", map[bool]string{true: "less", false: "all of the script"}[qs.wholeScript])
	}
	b.keys(pairs...)
	return title
}

// window is the part of some lines that is scrolled to, and whether there is more.
func (qs *Questions) window(all []string, height int) (lines []string, more bool) {
	height = max(1, height)
	qs.scrolled = max(0, min(qs.scrolled, len(all)-height+1))
	if len(all) <= height {
		qs.scrolled = 0
		return all, false
	}
	end := min(len(all), qs.scrolled+height-1)
	shown := slices.Clone(all[qs.scrolled:end])
	return append(shown, qs.Styles.Dim.Render(fmt.Sprintf("lines %d to %d of %d", qs.scrolled+1, end, len(all)))), true
}

// interrupts is what a change means for connections.
const interrupts = "Connections over these interfaces are interrupted for some seconds."

// changeSummary says what is changed, its present state, and how it is rolled back.
func (qs *Questions) changeSummary(b *box, q *steps.ChangeQuestion) {
	for _, p := range q.Places {
		b.add(b.k.Strong.Render(theme.Clean(p.Node)))
		width := 0
		for _, name := range p.Set {
			width = max(width, ansi.StringWidth(theme.Clean(name)))
		}
		held := slices.Clone(p.Held)
		for _, name := range p.Set {
			facts := qs.netdevNow(p.Node, name)
			if i := slices.IndexFunc(held, func(h steps.HeldNetdev) bool { return h.Netdev == name }); i >= 0 {
				facts = append(facts, held[i].Manager.By)
				held = slices.Delete(held, i, i+1)
			}
			b.add(theme.Wrap(b.k.Dim.Render(theme.Clean(strings.Join(facts, "  "))), b.width,
				"  "+theme.Pad(theme.Clean(name), width)+"  ", strings.Repeat(" ", width+4))...)
		}
		for _, h := range held {
			b.add(theme.Wrap(b.k.Dim.Render(theme.Clean(h.String())), b.width, "  ", "    ")...)
		}
		if p.Becomes != "" {
			b.add(theme.Wrap(theme.Clean(p.Becomes), b.width, "  "+b.k.Strong.Render("then")+"  ", "        ")...)
		}
	}
	b.add("")
	b.add(theme.Wrap(cmp.Or(theme.Clean(q.Rollback), "none. This restores the state before the change."),
		b.width, b.k.Strong.Render("Rollback:")+" ", "          ")...)
}

// netdevNow is which rail an interface carries, and how it was when the node was last
// looked at.
func (qs *Questions) netdevNow(node, name string) (facts []string) {
	rig := qs.Book.Rig
	for e, n := range rig.Nodes {
		if n.Name != node {
			continue
		}
		for i, p := range rig.Pairs {
			if e < len(steps.Ends) && rig.Rail(p, steps.End(e)).Netdev.Name == name {
				facts = append(facts, fmt.Sprintf("rail %d", i+1))
			}
		}
		for _, r := range n.Rails {
			if r.Netdev.Name != name {
				continue
			}
			if r.Netdev.MTU > 0 {
				facts = append(facts, fmt.Sprintf("MTU %d", r.Netdev.MTU))
			}
			if r.Netdev.Master != "" {
				facts = append(facts, "in "+r.Netdev.Master)
			}
			if r.Addr != "" {
				facts = append(facts, fmt.Sprintf("%s/%d", r.Addr, r.Prefix))
			}
			return facts
		}
		if len(n.Netdevs) > 0 && !slices.ContainsFunc(n.Netdevs, func(d steps.Netdev) bool { return d.Name == name }) {
			facts = append(facts, "not there")
		}
	}
	return facts
}

// handedOver counts the lines that run before a change's own.
func handedOver(q *steps.ChangeQuestion) int {
	n := 0
	for _, p := range q.Places {
		n += strings.Count(p.HandOver, "\n")
	}
	return n
}

// changeCommands are what runs: once where all nodes run the same but for its values.
// A node's script is assignments and then the cell's own: those that all nodes have stand above it once, and
// the others with their node behind them.
func (qs *Questions) changeCommands(b *box, q *steps.ChangeQuestion) {
	k := b.k
	places := slices.DeleteFunc(slices.Clone(q.Places), func(p steps.ChangePlace) bool { return p.Script == "" })
	if len(places) == 0 {
		return
	}
	if qs.wholeScript {
		for _, p := range places {
			b.add(k.Strong.Render("On " + theme.Clean(p.Node)))
			b.script(p.HandOver + p.Script)
		}
		return
	}
	c, _ := qs.Book.Tutorial.Cell(q.Cell)
	own := ""
	if len(c.Roles) > 0 {
		own = c.Roles[0].Script
	}
	same := own != "" && !slices.ContainsFunc(places,
		func(p steps.ChangePlace) bool { return !strings.HasSuffix(p.Script, own) })
	if !same {
		for _, p := range places {
			b.add(k.Strong.Render("On " + theme.Clean(p.Node)))
			b.script(p.Script)
		}
		return
	}
	b.add(k.Strong.Render("The commands, on each node"))
	var all []string // values that are the same on all nodes
	for line := range strings.Lines(strings.TrimSuffix(places[0].Script, own)) {
		if !slices.ContainsFunc(places, func(p steps.ChangePlace) bool { return !hasLine(p.Script, line) }) {
			all = append(all, line)
		}
	}
	b.script(strings.Join(all, ""))
	for _, p := range places {
		for line := range strings.Lines(strings.TrimSuffix(p.Script, own)) {
			if !slices.Contains(all, line) {
				b.script(strings.TrimSuffix(line, "\n") + "   # on " + p.Node)
			}
		}
	}
	b.script(own)
}

func hasLine(text, line string) bool {
	return strings.HasPrefix(text, line) || strings.Contains(text, "\n"+line)
}

// script adds the lines of a script as they are.
func (b *box) script(text string) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
		sign := "  "
		for _, part := range theme.Fold(theme.Clean(line), max(8, b.width-2)) {
			b.add(sign + part)
			sign = b.k.Faint.Render("┊") + " "
		}
	}
}
