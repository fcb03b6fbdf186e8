// Package explain finds the causes in a text that a person pasted: a log, a thread of a forum, the outputs of several
// tools. It cuts the text into lines without their prefixes, takes facts from what tools printed, and compares both
// with the knowledge, which is data (assets/knowledge). It reads no file and asks no node.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Bounds of what is kept and shown.
const (
	mostLines   = 200_000 // lines that are looked at
	mostFacts   = 400
	mostUnknown = 12  // lines that were not understood and are shown
	mostShown   = 300 // bytes of a line that are shown
	mostHits    = 3   // lines of a cause that are shown
	mostTyped   = 3   // lines of a text that a person typed
	mostShort   = 10  // lines of a text of one output
)

// An Answer is what a text leads to.
type Answer struct {
	// Tools are those whose output is in the text.
	Tools []string `json:"tools"`
	// Seen are the facts, in the order of their lines.
	Seen []Fact `json:"seen"`
	// Causes are what follows, the surest first.
	Causes []Found `json:"causes"`
	// Healthy are the figures and messages that are as they should be.
	Healthy []Found `json:"healthy"`
	// Unknown are lines that were not understood, the first of UnknownLines.
	Unknown      []Fact `json:"unknown"`
	UnknownLines int    `json:"unknownLines"`
	// Lines is how many lines the text has, and LeftOut how many of them were not read.
	Lines   int `json:"lines"`
	LeftOut int `json:"leftOut"`
	// Kind is what a text without a cause is about; nil where not even that shows.
	Kind *Kind `json:"kind,omitempty"`
	// Near are other causes whose entries share the most words with the text, the nearest first, where no cause is sure.
	Near []Near `json:"near"`
	// Old are releases that the text names and that newer ones have replaced, the oldest first, where no cause is sure.
	Old []Release `json:"old"`
	// Collect are the outputs that would lead further, where there is no cause.
	Collect []string `json:"collect"`
}

// A Fact is something that stands in a text, with its line, counted from 1.
type Fact struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// A Found is a cause, with the lines that lead to it.
type Found struct {
	ID     string     `json:"id"`
	Title  string     `json:"title"`
	Code   steps.Code `json:"code,omitempty"`
	Sure   Sure       `json:"sure"`
	Lines  []Fact     `json:"lines"`
	Why    string     `json:"why"`
	Fix    string     `json:"fix"`
	Next   string     `json:"next"`
	Checks []string   `json:"checks"`
	Docs   string     `json:"docs"`
	Source string     `json:"source"`

	score   int
	generic bool
	common  bool
	hint    bool
	asked   bool // the text's title has it
}

// Explained reports whether the text led anywhere: that only some words fit is not an answer, and that a part of the
// text is harmless is none for the rest, if the text does not ask about it.
func (a Answer) Explained() bool {
	answers := func(f Found) bool {
		return f.Sure != Weak && (f.Sure != Harmless || f.asked || a.UnknownLines+len(a.Causes) == 0)
	}
	return slices.ContainsFunc(a.Healthy, answers) || slices.ContainsFunc(a.Causes, answers)
}

// Outputs are what to collect on both nodes where a text leads to no cause.
var Outputs = []string{
	"rdma link; ibv_devinfo -v",
	"ip -d -s addr; ip route; ip neigh",
	"ibdev2netdev; show_gids",
	"ethtool DEV; ethtool -m DEV; ethtool -S DEV | grep -v ': 0'",
	"grep -H . /sys/class/infiniband/*/ports/1/{counters,hw_counters}/* | grep -v ':0$'",
	"sudo dmesg -T | grep -iE 'mlx5|bnxt|irdma|aer|iommu|pcie|nvrm'",
	"sudo lspci -vvv -d 15b3: | grep -E 'LnkCap|LnkSta|ACSCtl|MaxPayload'; nvidia-smi topo -m",
	"ib_write_bw -d DEVICE --report_gbits (both ends, with the whole head)",
	"env | grep -E 'NCCL|UCX|NIXL|RCCL|GLOO'; the job's log with NCCL_DEBUG=INFO or UCX_LOG_LEVEL=info",
	"ulimit -l; free -m; uname -r; the versions of NCCL, UCX, rdma-core and firmware",
}

// Text explains a text. Tools read the outputs in it. omitted says after which line how many were left out before
// the text came here.
func (k *Knowledge) Text(text string, tools parse.Tools, omitted Omitted) Answer {
	all := cut(text, omitted)
	a := Answer{
		Tools: []string{}, Seen: []Fact{}, Causes: []Found{}, Healthy: []Found{}, Unknown: []Fact{}, Collect: []string{},
		Near: []Near{}, Old: []Release{},
		LeftOut: omitted.Lines + all.dropped,
	}
	a.Lines = len(all.lines) + a.LeftOut
	facts := read(&all, tools)
	for _, f := range facts {
		if f.tool != "" && !slices.Contains(a.Tools, f.tool) {
			a.Tools = append(a.Tools, f.tool)
		}
	}
	corpus := searched(all, facts)
	found, understood := k.match(all, corpus)
	for _, f := range found {
		f.asked = slices.ContainsFunc(f.Lines, func(l Fact) bool { return l.Line == all.title() })
		if f.Sure == Healthy || f.Sure == Harmless {
			a.Healthy = append(a.Healthy, f)
		} else {
			a.Causes = append(a.Causes, f)
		}
	}
	asked := slices.ContainsFunc(a.Healthy, func(f Found) bool { return f.asked })
	if !asked && !slices.ContainsFunc(a.Causes, Found.isFault) { // what tools printed says more than a person
		said := k.said(all)
		if all.complains(understood) {
			for i := range said {
				said[i].Sure = Weak
			}
		}
		a.listen(said, found)
	}
	for _, c := range a.Causes {
		for _, l := range c.Lines {
			understood[l.Line] = true
		}
	}
	a.Seen = seen(facts, slices.Concat(a.Causes, a.Healthy))
	for _, l := range all.lines {
		if l.known || understood[l.n] || !worth(l.text) {
			continue
		}
		if a.UnknownLines++; len(a.Unknown) < mostUnknown {
			a.Unknown = append(a.Unknown, Fact{l.n, short(l.text)})
		}
	}
	sure := asked || slices.ContainsFunc(a.Causes, Found.isSure) || slices.ContainsFunc(a.Healthy, Found.isSure)
	if !sure {
		a.Old = k.old(corpus)
	}
	switch {
	case !a.Explained():
		a.Kind = k.kindOf(all)
		a.Near = k.near(all, a.Kind, a.Causes)
		a.Causes = []Found{}
		a.Collect = Outputs
	case !sure:
		a.Near = slices.DeleteFunc(k.near(all, k.kindOf(all), nil), func(n Near) bool {
			return slices.ContainsFunc(a.Causes, func(f Found) bool { return f.ID == n.ID })
		})
	}
	return a
}

// listen adds what a person says to what was found in outputs.
func (a *Answer) listen(said, found []Found) {
	if slices.ContainsFunc(said, Found.isFault) {
		a.Causes = slices.DeleteFunc(a.Causes, func(f Found) bool { return f.common })
	}
	for _, f := range said {
		same := func(o Found) bool { return o.ID == f.ID }
		if !slices.ContainsFunc(a.Causes, same) && (f.Sure != Weak || !slices.ContainsFunc(found, notHarmless)) {
			a.Causes = append(a.Causes, f)
		}
	}
}

// isFault is false for an error that many programs print, for what is in many reports, and for what a text only is
// about.
func (f Found) isFault() bool {
	named := f.Sure == OneOf && f.Code != ""
	return !f.generic && !f.common && (named || f.Sure == Proves || f.Sure == Fits || f.Sure == ByWords)
}

func (f Found) isSure() bool { return f.Sure == Proves || f.Sure == Fits || f.Sure == Healthy }

func notHarmless(f Found) bool { return f.Sure != Harmless }

// seen are the facts that a person wants to read, and the lines that causes follow from.
func seen(facts []fact, found []Found) []Fact {
	var all []Fact
	for _, f := range facts {
		if f.shown {
			all = append(all, Fact{f.line, f.text})
		}
	}
	for _, f := range found {
		for _, l := range f.Lines {
			if !slices.ContainsFunc(all, func(a Fact) bool { return a.Line == l.Line && a.Text == l.Text }) {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Fact) int { return cmp.Compare(a.Line, b.Line) })
	return all[:min(len(all), mostFacts)]
}

// worth reports whether a line says anything that could be missed.
func worth(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters > 2
}

func short(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > mostShown {
		s = strings.ToValidUTF8(s[:mostShown], "") + "…"
	}
	return s
}

func factf(line int, format string, args ...any) fact {
	return fact{line: line, text: fmt.Sprintf(format, args...), shown: true}
}
