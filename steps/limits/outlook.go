package limits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// ThisRig is the place of the outlook in a tutorial's text. It is a comment, so that no one sees it where no rig is
// known.
const ThisRig = "<!-- this rig -->"

// Outlook says in Markdown what a rig has, and what its rails should reach: before anything is
// measured. It is empty as long as no rail is known that leads from node to node.
func Outlook(rig steps.Rig) string {
	if !rig.HasPair(0) || rig.Probed.IsZero() {
		return ""
	}
	first := rig.Pairs[0]
	here, mtu := rig.Rail(first, steps.Here), AgreedMTU(rig, first, 0)
	var has []string
	if here.RateGbps > 0 {
		has = append(has, fmt.Sprintf("a link of %.0f Gb/s", here.RateGbps))
	}
	if s := now(here); s.known() {
		has = append(has, "behind "+s.String())
	}
	if mtu > 0 {
		has = append(has, fmt.Sprintf("%s %d", here.MTUName(), mtu))
	}
	if n := here.Netdev.MTU; n > 0 {
		has = append(has, fmt.Sprintf("interface MTU %d", n))
	}
	name := "**This rig**"
	if rig.Simulated {
		name += " (SIMULATED)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, as probed: %s (client) and %s (peer), %s.", name, rig.NameOf(steps.Here),
		rig.NameOf(steps.Peer), railsLead(len(rig.Pairs)))
	if len(has) > 0 {
		fmt.Fprintf(&b, " Rail 1 has %s.", strings.Join(has, ", "))
	}
	rows := outlooks(rig, mtu)
	if len(rows) == 0 {
		fmt.Fprintf(&b, " What it should reach is unknown: %s.", BandOf(rig, Test{MTU: mtu}, first).None)
		return b.String()
	}
	best := int(LargestMTU.Value())
	fmt.Fprintf(&b, " In Gb/s of payload it should reach:\n\n| | at RoCE MTU %d, as now |", mtu)
	if mtu < best {
		fmt.Fprintf(&b, " at %d |", best)
	}
	b.WriteString("\n|---|---:|" + map[bool]string{true: "---:|"}[mtu < best] + "\n" + strings.Join(rows, "\n"))
	return b.String()
}

func railsLead(n int) string {
	if n == 1 {
		return "one rail connects the nodes"
	}
	return fmt.Sprintf("%d rails connect the nodes", n)
}

// outlooks are the rows of what is known: one rail, two behind one PCIe link, two behind two.
func outlooks(rig steps.Rig, mtu int) (rows []string) {
	add := func(name string, pairs ...steps.Pair) {
		b := BandOf(rig, Test{MTU: mtu}, pairs...)
		if b.Expected <= 0 {
			return
		}
		most := ""
		if b.Unless != "" {
			most = "at most "
		}
		row := fmt.Sprintf("| %s | %s%.1f |", name, most, b.Expected)
		if best := int(LargestMTU.Value()); mtu < best {
			could := BandOf(rig, Test{MTU: best}, pairs...)
			if could.Expected <= 0 {
				return
			}
			row += fmt.Sprintf(" %s%.1f |", most, could.Expected)
		}
		rows = append(rows, row)
	}
	first := rig.Pairs[0]
	add("rail 1", first)
	across, halves := rig.AcrossHalves()
	for i, p := range rig.Pairs {
		if i > 0 && rig.HasPair(i) && rig.SharesHalf(first, p) {
			add(fmt.Sprintf("rails 1 and %d, behind one PCIe link", i+1), first, p)
			break
		}
	}
	if halves {
		add(fmt.Sprintf("rails 1 and %d, behind two", slices.Index(rig.Pairs, across)+1), first, across)
	}
	return rows
}
