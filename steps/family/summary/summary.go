package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
)

// notRun stands where a cell has no figure in this session.
const notRun = "not run"

// A reading is one figure of this session, and the cell that it comes from. It is
// what the cell's judge measured, so it was looked at already.
type reading struct {
	name  string // of what was measured: "RDMA write, rail 1"
	cell  string
	grade steps.Grade // NotRun where the cell didn't run
	value float64
	has   bool
	// ceiling is what the PCIe links that it used let through, as far as anybody saw, and
	// link what the ports can carry: both payload at the figure's MTU, in Gb/s; 0 where unknown.
	ceiling, link float64
	by            string // which of the two ends it: "its PCIe link carries, as far as anybody saw"
	// narrow is a rail whose PCIe link came up with less than its device can do; empty where none did.
	narrow string
	figure steps.Figure
	with   string // the conditions that it was measured under
	// first is set for the reading that stands next to the documents' figure of its cell; again for those of further
	// rails, which say the same.
	first, again bool
	bonded       bool // the way led over a bond
}

// good reports whether a figure counts: advice and times are made of these alone.
func (r reading) good() bool { return r.has && (r.grade == steps.Pass || r.grade == steps.Warn) }

// text is the figure as a table shows it: marked where it doesn't count.
func (r reading) text(figure string) string {
	switch {
	case r.grade == steps.NotRun:
		return notRun
	case r.grade == steps.Skipped:
		return "skipped"
	case !r.has:
		return "no result"
	case r.grade == steps.Fail:
		return "✗ " + figure
	case r.grade == steps.Inconclusive:
		return "? " + figure
	}
	return figure
}

// source names the cell and its verdict.
func (r reading) source() string {
	if r.grade == steps.NotRun || r.grade == steps.Skipped { // its figure says so
		return r.cell
	}
	return r.grade.String() + " " + r.cell
}

// A recap is the session as the summary sees it.
type recap struct {
	steps.History
	rates   []reading // in the order of the tutorial
	median  []tail
	kvSizes []float64 // GB
}

// A tail is a reading in microseconds with its tail.
type tail struct {
	reading
	p95, p99 float64 // 0 where it was not measured
}

// summarize is the cell "summary": what this session measured, next to what the documents say and what the hardware
// can do. It reports and does not judge: each figure has the verdict of its own cell next to it.
func summarize(h steps.History) steps.Verdict {
	if len(h.Outcomes) == 0 {
		return registry.Inconclusive(steps.NothingRan, "Nothing ran in this session yet. Run some cells first, for example "+
			"ib-write-bw and tcp-single.")
	}
	r := recap{History: h}
	var rep registry.Report
	r.readRates()
	r.readLatencies()
	r.kvSizes = kvSizes(h.Params["KV_CACHE_GB"], &rep)
	counts := r.count(&rep)
	r.show(&rep)
	// A session of checks and maps has outcomes, and nothing to summarize.
	measured := slices.ContainsFunc(r.rates, func(x reading) bool { return x.has }) ||
		slices.ContainsFunc(r.median, func(x tail) bool { return x.has })
	if !measured {
		all := counts
		if worst := r.worst(); worst != "" {
			all += ". " + worst
		}
		rep.Add(steps.NothingRan, steps.Inconclusive, "no cell of these tables was measured yet. Run ib-write-bw, "+
			"tcp-single or a NIXL cell first. %s", all)
	}
	v := rep.Verdict(counts, r.fastest(), r.worst())
	if !measured {
		return v
	}
	v.Tables = append(v.Tables, r.throughputTable(), r.kvTable(), r.latencyTable())
	if t, ok := r.matrixTable(); ok {
		v.Tables = append(v.Tables, t)
	}
	v.Tables = append(v.Tables, r.adviceTable(), r.bondTable(), r.documentsTable())
	v.Charts = r.charts()
	return v
}

// outcome finds what a cell came to.
func (r recap) outcome(id string) (steps.Outcome, bool) {
	i := slices.IndexFunc(r.Outcomes, func(o steps.Outcome) bool { return o.Cell.ID == id })
	if i < 0 {
		return steps.Outcome{}, false
	}
	return r.Outcomes[i], true
}

// figureOf is the first figure of a measure that a cell gave; ok is false where it gave none.
func figureOf(o steps.Outcome, what steps.Measure) (steps.Figure, bool) {
	all := o.Verdict.Measured(what)
	if len(all) == 0 {
		return steps.Figure{}, false
	}
	return all[0], true
}

// One figure a cell: what it is called.
var wholeCells = []struct{ cell, name string }{
	{"nixl-transfer", "NIXL Python, one rail"},
	{"nixl-transfer-dual", "NIXL Python, two rails"},
	{"nixl-transfer-gpu", "NIXL Python, GPU memory"},
	{"nixl-single-dram", "nixlbench, one rail"},
	{"nixl-dual-dram", "nixlbench, two rails"},
	{"nixl-mt", "nixlbench, two rails, threads"},
	{"nixl-halves-dram", "nixlbench, both PCIe halves"},
	{"nixl-single-vram", "nixlbench GPU, one rail"},
	{"nixl-dual-vram", "nixlbench GPU, two rails"},
	{"ucx-perftest", "UCX by itself, one rail"},
	{"ucx-perftest-gpu", "UCX by itself, GPU memory"},
}

// matrixCells are those of wholeCells that nixlbench's table is made of.
var matrixCells = []string{
	"nixl-single-dram", "nixl-dual-dram", "nixl-mt", "nixl-halves-dram", "nixl-single-vram",
	"nixl-dual-vram",
}

// readRates has a row for each cell that gives a throughput, and of those with a figure for each rail one for
// each: see readEach.
func (r *recap) readRates() {
	for _, c := range []struct{ cell, name string }{
		{"tcp-single", "TCP, 1 stream"},
		{"tcp-parallel", "TCP, several streams"},
	} {
		// A cell that didn't run keeps its row: what is missing is a part of the summary.
		x := reading{name: c.name, cell: c.cell, first: true}
		if o, ok := r.outcome(c.cell); ok {
			x.ofTCP(o, "TCP")
		}
		r.rates = append(r.rates, x)
	}
	r.readEach("ib-write-bw", "RDMA write, each rail", "RDMA write")
	r.readEach("dual-link", "RDMA write, two rails", "RDMA write")
	for _, c := range wholeCells {
		x := reading{name: c.name, cell: c.cell, first: true}
		if o, ok := r.outcome(c.cell); ok {
			x.of(o, steps.Throughput)
		}
		r.rates = append(r.rates, x)
	}
	r.readLoads()
}

// readLoads has a row for each load that ran: they are optional, so none is missing.
func (r *recap) readLoads() {
	for _, cell := range []string{"load-rail", "load-half", "load-halves", "load-all"} {
		if _, ok := r.outcome(cell); ok {
			r.readEach(cell, "load of RDMA writes", "load of RDMA writes")
		}
	}
	if o, ok := r.outcome("load-tcp"); ok {
		x := reading{name: "load of TCP", cell: "load-tcp"}
		x.ofTCP(o, x.name)
		r.rates = append(r.rates, x)
	}
	if o, ok := r.outcome("load-nixl"); ok {
		x := reading{name: "load of nixlbench", cell: "load-nixl"}
		x.of(o, steps.Throughput)
		r.rates = append(r.rates, x)
	}
}

// ofTCP takes the figure of a cell of iperf3; name is what it is called without its streams.
func (x *reading) ofTCP(o steps.Outcome, name string) {
	x.grade = o.Verdict.Grade
	f, has := figureOf(o, steps.Throughput)
	if x.value, x.has = f.Value, has; f.Streams > 1 {
		x.name = fmt.Sprintf("%s, %d streams", name, f.Streams)
	}
	x.under(f)
	x.overPath(o.Result.Rig, f)
}

// overPath adds the way that a figure of iperf3 took, and what that carries.
func (x *reading) overPath(rig steps.Rig, f steps.Figure) {
	if p, ok := rig.Path(); ok {
		x.bonded = p.Bonded[0] || p.Bonded[1]
		x.link, x.ceiling, x.by = reach(rig, p.Rails, limits.TCP(cmp.Or(f.MTU, p.Netdevs[steps.Here].MTU)), f.Streams == 1)
	}
	switch {
	case x.bonded:
		x.name += ", bond"
	case len(f.Rails) == 1:
		x.name += fmt.Sprintf(", rail %d", f.Rails[0])
	}
}

// of takes the figure of a cell, and what the rails carry that it used.
func (x *reading) of(o steps.Outcome, what steps.Measure) {
	x.grade = o.Verdict.Grade
	f, has := figureOf(o, what)
	x.value, x.has = f.Value, has
	x.under(f)
	x.reach(o.Result.Rig, f)
}

// reach is what the rails of a figure of RDMA carry, at its own MTU or else at theirs.
func (x *reading) reach(rig steps.Rig, f steps.Figure) {
	mtu := f.MTU
	for _, n := range f.Rails {
		if mtu == 0 && rig.HasPair(n-1) {
			mtu = limits.AgreedMTU(rig, rig.Pairs[n-1], 0)
		}
	}
	x.link, x.ceiling, x.by = reach(rig, railsOf(rig, f), limits.RoCE(mtu), false)
	for n, e := range steps.Ends {
		for _, i := range railsOf(rig, f)[n] {
			if i >= 0 && i < len(rig.At(e).Rails) && limits.Narrow(rig.At(e).Rails[i]) {
				x.narrow = rig.At(e).Rails[i].Dev + " on " + rig.NameOf(e)
			}
		}
	}
}

// under notes the conditions of a figure.
func (x *reading) under(f steps.Figure) { x.figure, x.with = f, under(f) }

// under are the conditions of a figure in words.
func under(f steps.Figure) string {
	var all []string
	if f.MTU > 0 {
		all = append(all, fmt.Sprintf("MTU %d", f.MTU))
	}
	if f.MessageBytes > 0 {
		all = append(all, registry.BlockSize(f.MessageBytes))
	}
	if f.Memory == "VRAM" {
		all = append(all, "GPU memory")
	}
	return strings.Join(all, ", ")
}

// readEach reads a cell that has a throughput for each rail, or for several at once. none
// is what it is called without.
func (r *recap) readEach(cell, none, name string) {
	o, ran := r.outcome(cell)
	all := o.Verdict.Measured(steps.Throughput)
	if len(all) == 0 {
		r.rates = append(r.rates, reading{name: none, cell: cell, grade: o.Verdict.Grade, first: true})
		return
	}
	for i, f := range all {
		x := reading{name: name + ", " + over(f), cell: cell, value: f.Value, has: ran, grade: o.Verdict.Grade, first: i == 0}
		x.again = i > 0 && len(f.Rails) == 1 // two at once are a finding of their own
		x.under(f)
		x.reach(o.Result.Rig, f)
		r.rates = append(r.rates, x)
	}
}

// over names the rails of a figure: "rail 1", "rails 1 and 3".
func over(f steps.Figure) string {
	var all []string
	for _, n := range f.Rails {
		all = append(all, fmt.Sprint(n))
	}
	return registry.Plural(len(all), "rail ", "rails ") + registry.And(all)
}

// railsOf are the rails that a figure is of, by end.
func railsOf(rig steps.Rig, f steps.Figure) (rails [2][]int) {
	for _, n := range f.Rails {
		if !rig.HasPair(n - 1) {
			continue
		}
		for _, e := range steps.Ends {
			rails[e] = append(rails[e], rig.Pairs[n-1].Rails[e])
		}
	}
	return rails
}

// reach is what the ports and the PCIe links behind some rails carry together, in Gb/s of
// payload in packets like these: two rails on one cable or behind one PCIe link share it,
// and what is one connection takes one of them. The lesser end counts, and 0 is unknown.
// by says which of them ends it.
func reach(rig steps.Rig, rails [2][]int, packets rate.Headers, single bool) (link, pcie float64, by string) {
	var least limits.Reach
	for n, e := range steps.Ends {
		var all []steps.Rail
		for _, i := range rails[e] {
			if i < 0 || i >= len(rig.At(e).Rails) {
				return 0, 0, ""
			}
			all = append(all, rig.At(e).Rails[i])
		}
		r := limits.Carry(all, packets, single)
		if n == 0 || r.Most() < least.Most() {
			least = r
		}
		if l := float64(r.Links); n == 0 || l < link {
			link = l
		}
		if p := float64(r.PCIe); n == 0 || p < pcie {
			pcie = p
		}
	}
	return link, pcie, least.By("its")
}

func (r *recap) readLatencies() {
	for _, c := range []struct {
		cell, name string
		what       steps.Measure
	}{
		{"ping", "ping", steps.RoundTrip},
		{"ib-write-lat", "RDMA write", steps.Latency},
		{"nixl-latency", "NIXL read, 4 KiB", steps.Latency},
	} {
		o, ran := r.outcome(c.cell)
		all := o.Verdict.Measured(c.what)
		if len(all) == 0 {
			r.median = append(r.median, tail{reading: reading{name: c.name, cell: c.cell, grade: o.Verdict.Grade, first: true}})
		}
		for i, f := range all {
			x := reading{
				name: c.name + ", " + over(f), cell: c.cell, grade: o.Verdict.Grade, value: f.Value, has: ran,
				first: i == 0,
			}
			x.under(f)
			r.median = append(r.median, tail{x, f.P95, f.P99})
		}
	}
}

// count puts how many cells came to which verdict on record, and says it in a sentence without
// its full stop.
func (r recap) count(rep *registry.Report) string {
	cells := map[steps.Grade][]string{}
	for _, o := range r.Outcomes {
		cells[o.Verdict.Grade] = append(cells[o.Verdict.Grade], o.Cell.ID)
	}
	var parts []string
	for _, g := range []steps.Grade{steps.Pass, steps.Warn, steps.Fail, steps.Inconclusive, steps.Skipped} {
		if len(cells[g]) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(cells[g]), g))
			rep.Show("cells "+g.String(), strings.Join(cells[g], " "), "", nil)
		}
	}
	what := "cells"
	if len(r.Outcomes) == 1 {
		what = "cell"
	}
	return fmt.Sprintf("%d %s: %s", len(r.Outcomes), what, strings.Join(parts, ", "))
}

// show puts the figures that count on record.
func (r recap) show(rep *registry.Report) {
	for _, x := range r.rates {
		if !x.good() {
			continue
		}
		var e *steps.Expected
		if most := x.most(); most > 0 {
			e = &steps.Expected{Max: new(registry.Round(most)), From: "the limits of the link and of the PCIe link behind it; " +
				x.source()}
		}
		rep.Show(x.name, registry.Round(x.value), "Gb/s", e)
	}
	for _, x := range r.median {
		if x.good() {
			rep.Show(x.name, registry.Round(x.value), "us", nil)
		}
	}
}

// most is the lesser of link and ceiling.
func (r reading) most() float64 {
	if r.ceiling == 0 {
		return r.link
	}
	return limits.Lesser(r.link, r.ceiling)
}

// best is the fastest figure that counts, of those that a filter takes.
// Ties go to the first, in the tutorial's order.
func (r recap) best(take func(reading) bool) (best reading, ok bool) {
	for _, x := range r.rates {
		if x.good() && take(x) && x.value > best.value {
			best, ok = x, true
		}
	}
	return best, ok
}

func (r recap) fastest() string {
	x, ok := r.best(func(reading) bool { return true })
	if !ok {
		return ""
	}
	text := fmt.Sprintf("Fastest: %s, %s", x.name, registry.Gbps(x.value))
	if most := x.most(); most > 0 {
		text += fmt.Sprintf(" of %.1f (%s)", most, x.by)
	}
	if x.narrow != "" {
		text += ", although the PCIe link of " + x.narrow + " came up narrower than it can"
	}
	if x.grade != steps.Pass {
		text += fmt.Sprintf(" (its cell is %s)", x.grade)
	}
	return text
}

// worst names the cells with the worst verdict, unless that is PASS.
func (r recap) worst() string {
	grade := steps.Pass
	for _, o := range r.Outcomes {
		grade = grade.Worst(o.Verdict.Grade)
	}
	if grade == steps.Pass {
		return ""
	}
	var ids []string
	reason := ""
	for _, o := range r.Outcomes {
		if o.Verdict.Grade == grade {
			if ids = append(ids, o.Cell.ID); reason == "" {
				reason = o.Verdict.Reason
			}
		}
	}
	if len(ids) == 1 {
		return fmt.Sprintf("The worst is %s with %s: %s", ids[0], grade, reason)
	}
	return fmt.Sprintf("The worst are %s with %s", registry.And(ids), grade)
}

// The most sizes of a KV cache, and the largest: a table has only so many columns.
const (
	mostKVSizes   = 8
	largestKVSize = 100_000
)

// kvSizes reads a list like "1,4,8,40", in GB. An entry that is not a size is reported and left out; an empty
// list means the tutorial's three sizes.
func kvSizes(list string, rep *registry.Report) (sizes []float64) {
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		gb, err := strconv.ParseFloat(word, 64)
		switch {
		case err != nil || !(gb > 0) || gb > largestKVSize:
			rep.Add(steps.ParameterUnusable, steps.Warn, "KV_CACHE_GB has %q, which is not a size in GB", word)
		case len(sizes) == mostKVSizes:
			rep.Add(steps.ParameterUnusable, steps.Warn, "KV_CACHE_GB has more than %d sizes; the others are ignored",
				mostKVSizes)
			return sizes
		case !slices.Contains(sizes, gb):
			sizes = append(sizes, gb)
		}
	}
	if len(sizes) == 0 {
		return []float64{1, 4, 8}
	}
	return sizes
}
