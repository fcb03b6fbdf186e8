package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// What the judge of a link says of one of its nodes he says again of each link that the node has: of six links between
// four nodes that booted a moment ago each would be told three times. Told by their nodes instead, they are four facts,
// or one.

// A saying is a sentence: end is which of the link's nodes it names, from 1; 0 none, and less where it names both. In
// its text the node is called itself.
type saying struct {
	end  int
	text string
}

const itself = "\x00"

// anyOfTwo is how a judge speaks of a link's ends without their names.
var anyOfTwo = lazyregexp.New(`(?i)\b(?:both|n?either)\b|\bthe other(?:'s|\W+(?:node|end|one|side|has|is|does|was)\b)`)

// sentencesOf takes a reason apart.
func sentencesOf(t linkVerdict) (all []saying) {
	var s saying
	var text strings.Builder
	parts := partsOf(t)
	for i, p := range parts {
		switch {
		case p.end == 0:
			text.WriteString(p.text)
		case s.end != 0 && s.end != p.end:
			s.end = -1
		default:
			s.end = p.end
			text.WriteString(itself)
		}
		last := i+1 == len(parts)
		if last || strings.ContainsAny(p.text, ".!?") && strings.TrimSpace(parts[i+1].text) == "" {
			s.text = strings.TrimSpace(text.String())
			all = append(all, s)
			s, text = saying{}, strings.Builder{}
		}
	}
	return all
}

// nodeFacts are the reasons of the links that have a grade as what is said of each of their nodes, all those of whom
// the same is said together. ok is false where a sentence is about both ends of a link or none is about one, and where
// a node is not told the same over each of its links: then the links have to be named.
func nodeFacts(told []linkVerdict, g steps.Grade) (text string, ok bool) {
	var links []linkVerdict
	var reasons [][]saying
	for _, t := range told {
		if t.Grade != g {
			continue
		}
		if anyOfTwo.Regexp().MatchString(t.Reason) {
			return "", false
		}
		links, reasons = append(links, t), append(reasons, sentencesOf(t))
	}
	if len(links) < 2 {
		return "", false
	}
	if of, ok := factsOf(links, reasons); ok {
		return factsText(told, g, of)
	}
	// What all end with is about no node, although it stands behind one.
	end := commonEnd(reasons)
	if len(end) == 0 {
		return "", false
	}
	for i := range reasons {
		reasons[i] = reasons[i][:len(reasons[i])-len(end)]
	}
	of, ok := factsOf(links, reasons)
	if !ok {
		return "", false
	}
	if text, ok = factsText(told, g, of); ok {
		for _, s := range end {
			text += " " + s.text
		}
	}
	return text, ok
}

// commonEnd are the sentences about no node that all reasons end with.
func commonEnd(reasons [][]saying) []saying {
	for n := 1; ; n++ {
		for _, r := range reasons {
			if n > len(r) || r[len(r)-n].end != 0 || r[len(r)-n] != reasons[0][len(reasons[0])-n] {
				return reasons[0][len(reasons[0])-n+1:]
			}
		}
	}
}

// factsOf is what the reasons of links say, by node: the sentences that name it, each with those behind it that name
// none. Those before the first that names a node are about no node.
func factsOf(links []linkVerdict, reasons [][]saying) (of map[string]string, ok bool) {
	of = map[string]string{}
	for i, t := range links {
		said, about := map[string]string{}, ""
		for _, s := range reasons[i] {
			if s.end < 0 {
				return nil, false
			}
			if s.end > 0 {
				about = t.link[s.end-1]
			}
			said[about] = strings.TrimPrefix(said[about]+" "+s.text, " ")
		}
		for _, node := range []string{"", t.link[0], t.link[1]} {
			if has, known := of[node]; known && has != said[node] {
				return nil, false
			}
			of[node] = said[node]
		}
	}
	for node, said := range of {
		ok = ok || node != "" && said != ""
	}
	return of, ok
}

// factsText tells each fact once, of the first node of whom it is said, and who else it is said of.
func factsText(links []linkVerdict, g steps.Grade, of map[string]string) (text string, ok bool) {
	for _, t := range links {
		if t.Grade != g && (of[t.link[0]] != "" || of[t.link[1]] != "") {
			return "", false // over this one it is not so
		}
	}
	nodes := nodesOf(links)
	var all []string
	if of[""] != "" {
		all = append(all, of[""])
	}
	who := map[string][]string{}
	for _, node := range nodes {
		who[of[node]] = append(who[of[node]], node)
	}
	told, left := 0, 0
	for _, node := range nodes {
		same := who[of[node]]
		if of[node] == "" || same[0] != node {
			continue
		}
		if told++; told > mostReasons {
			left += len(same)
			continue
		}
		all = append(all, strings.ReplaceAll(of[node], itself, node))
		if len(same) > 1 {
			all = append(all, fmt.Sprintf("The same applies to %s.", nodeset.Fold(slices.Sorted(slices.Values(same[1:])))))
		}
	}
	if left > 0 {
		all = append(all, fmt.Sprintf("Of %d more nodes, see the evidence.", left))
	}
	return strings.Join(all, " "), true
}
