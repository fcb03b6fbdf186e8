package session

import (
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// What links say alike but for the names of their own nodes and for what was measured is told once: "spark-02 for 26 h
// and spark-01 for 27 h" of each link becomes "spark-[01-08] for 25 to 27 h".

// A part is a piece of a reason: a word, what stands between two, a node of the link, or a figure.
type part struct {
	text    string // a figure's: the least that was said
	most    string // of a figure; empty for all else
	end     int    // of the link's nodes which, from 1; 0 for all else
	low, up float64
}

// same reports whether two parts stand for the same: figures may differ.
func (p part) same(q part) bool {
	return p.end == q.end && (p.most != "") == (q.most != "") && (p.most != "" || p.text == q.text)
}

// with is a figure that reaches over another, too.
func (p part) with(q part) part {
	if q.most == "" {
		return p
	}
	if q.low < p.low {
		p.text, p.low = q.text, q.low
	}
	if q.up > p.up {
		p.most, p.up = q.most, q.up
	}
	return p
}

func (p part) String() string {
	if p.most == "" || p.most == p.text {
		return p.text
	}
	return p.text + " to " + p.most
}

var (
	pieces = lazyregexp.New(`[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?|\s+|.`)
	number = lazyregexp.New(`^\d+(?:\.\d+)?$`)
	// measured is what follows a figure that may differ from link to link; any other number may be a name.
	measured = lazyregexp.New(`^(?: of \d[\d.]*)? ` +
		`(?:[KMGT]i?B(?:/s)?|[KMG]b/s|[MG]Hz|bytes|degrees|h|min|s|ms|us|W|%)(?:\W|$)`)
)

// partsOf takes a reason apart.
func partsOf(t linkVerdict) (parts []part) {
	rest := t.Reason
	for _, text := range pieces.Regexp().FindAllString(t.Reason, -1) {
		rest = rest[len(text):]
		p := part{text: text}
		if value, err := strconv.ParseFloat(text, 64); slices.Contains(t.link[:], text) {
			p.end = slices.Index(t.link[:], text) + 1
			p.text = ""
		} else if err == nil && number.Regexp().MatchString(text) && measured.Regexp().MatchString(rest) {
			p.most, p.low, p.up = text, value, value
		}
		parts = append(parts, p)
	}
	return parts
}

// A group are links that say the same of their own nodes.
type group struct {
	parts   []part
	reasons []string // the different ones
	links   []string
	nodes   []string
}

// grouped are the links of a grade, those that say the same together.
func grouped(told []linkVerdict, g steps.Grade) (all []*group) {
	for _, t := range told {
		if t.Grade != g {
			continue
		}
		parts := partsOf(t)
		at := slices.IndexFunc(all, func(x *group) bool { return slices.EqualFunc(x.parts, parts, part.same) })
		if at < 0 {
			at = len(all)
			all = append(all, &group{parts: parts})
		}
		x := all[at]
		for i, p := range parts {
			x.parts[i] = x.parts[i].with(p)
		}
		if !slices.Contains(x.reasons, t.Reason) {
			x.reasons = append(x.reasons, t.Reason)
		}
		x.links = append(x.links, t.link.String())
		for _, node := range t.link {
			if !slices.Contains(x.nodes, node) {
				x.nodes = append(x.nodes, node)
			}
		}
	}
	return all
}

// says is the group's reason; ok is false where several can't be told as one without leaving out a node, or, of what
// is amiss, whose figure is which.
func (x *group) says(amiss bool) (text string, ok bool) {
	if len(x.reasons) == 1 {
		return x.reasons[0], true
	}
	parts := slices.Clone(x.parts)
	for a := slices.IndexFunc(parts, first); a >= 0; a = slices.IndexFunc(parts, first) {
		if parts, ok = joined(parts, a, nodeset.Fold(slices.Sorted(slices.Values(x.nodes)))); !ok {
			return x.reasons[0], false
		}
	}
	var b strings.Builder
	for _, p := range parts {
		if p.end != 0 || amiss && p.most != p.text && p.most != "" {
			return x.reasons[0], false
		}
		b.WriteString(p.String())
	}
	return b.String(), true
}

func first(p part) bool { return p.end == 1 }

// joined makes one of what is said of both ends of a link, "58 degrees on A and 57 degrees on B", from the part a on,
// which is the first of them, and puts the nodes' names there.
func joined(parts []part, a int, nodes string) ([]part, bool) {
	b := slices.IndexFunc(parts, func(p part) bool { return p.end == 2 })
	for k := a + 1; k+3 <= b; k++ {
		behind, before := parts[a+1:k], parts[k+3:b]
		if parts[k].text+parts[k+1].text+parts[k+2].text != " and " || a < len(before) || b+1+len(behind) > len(parts) ||
			!slices.EqualFunc(parts[a-len(before):a], before, part.same) ||
			!slices.EqualFunc(parts[b+1:b+1+len(behind)], behind, part.same) {
			continue
		}
		all := slices.Clone(parts[:a])
		for i, p := range before {
			at := a - len(before) + i
			all[at] = all[at].with(p)
		}
		all = append(all, part{text: nodes})
		for i, p := range behind {
			all = append(all, p.with(parts[b+1+i]))
		}
		return append(all, parts[b+1+len(behind):]...), true
	}
	return parts, false
}
