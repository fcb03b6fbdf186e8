package summary

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// A demo is a cell of the part on throughput, or one that stands next to it.
type demo struct {
	cell, name string
	// against is the cell whose figure stands next to this one's, where their conditions are equal.
	against string
	beside  bool // it is not a cell of the part: shown where it ran
}

func demos() []demo {
	return []demo{
		{cell: "stream-rail", name: "railbench stream, rail 1", against: "tcp-parallel"},
		{cell: "stream-half", name: "railbench stream, one half"},
		{cell: "stream-halves", name: "railbench stream, both halves"},
		{cell: "tcp-single", name: "iperf3, 1 stream", beside: true},
		{cell: "tcp-parallel", name: "iperf3, several streams", beside: true},
		{cell: "rdma-host", name: "verbs, host to host"},
		{cell: "rdma-host-gpu", name: "verbs, host to GPU", against: "rdma-host"},
		{cell: "rdma-gpu", name: "verbs, GPU to GPU", against: "rdma-host"},
		{cell: "ucx-perftest", name: "UCX, host to host", beside: true},
		{cell: "ucx-perftest-gpu", name: "UCX, GPU to GPU", against: "ucx-perftest", beside: true},
	}
}

// throughput is the cell "throughput": what the part on throughput demos measured, next to the COTS report's figures.
// It judges nothing.
func throughput(h steps.History) steps.Verdict {
	r := recap{History: h}
	var rep registry.Report
	ran, skipped := 0, 0
	for _, d := range demos() {
		o, ok := r.outcome(d.cell)
		if !ok && d.beside {
			continue
		}
		switch {
		case !ok || d.beside:
		case o.Verdict.Grade == steps.Skipped:
			skipped++
		default:
			ran++
		}
		r.rates = append(r.rates, d.read(o, ok)...)
	}
	if !slices.ContainsFunc(r.rates, func(x reading) bool { return x.has }) {
		rep.Add(steps.NothingRan, steps.Inconclusive, "nothing of this part was measured yet. Run its other cells first, "+
			"for example stream-rail and rdma-host")
		return rep.Verdict()
	}
	for _, x := range r.rates {
		if x.good() {
			rep.Show(x.name, registry.Round(x.value), "Gb/s", nil)
		}
	}
	own := len(demos()) - count(demos(), func(d demo) bool { return d.beside })
	lead := fmt.Sprintf("%d of %d cells of this part ran", ran, own)
	if skipped > 0 {
		lead += fmt.Sprintf(", %d %s skipped", skipped, registry.Plural(skipped, "was", "were"))
	}
	v := rep.Verdict(lead, r.fastest(), r.secondHalf(), r.notGood())
	v.Tables = []steps.Table{r.demoTable()}
	if chart, ok := r.demoChart(); ok {
		v.Charts = []steps.Chart{chart}
	}
	return v
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

// read are a cell's figures: one, or one for each rail.
func (d demo) read(o steps.Outcome, ran bool) []reading {
	var all []reading
	for _, f := range o.Verdict.Measured(steps.Throughput) {
		x := reading{name: d.name, cell: d.cell, grade: o.Verdict.Grade, value: f.Value, has: ran}
		if o.Cell.EachRail {
			x.name += ", " + over(f)
		}
		x.under(f)
		packets := limits.RoCE(f.MTU)
		if f.Streams > 0 {
			packets = limits.TCP(f.MTU)
			x.with = fmt.Sprintf("%d %s, %s", f.Streams, registry.Plural(f.Streams, "stream", "streams"), x.with)
		}
		switch {
		case d.beside && f.Streams > 0:
			x.overPath(o.Result.Rig, f)
		case f.MTU > 0 && len(f.Rails) > 0:
			x.link, x.ceiling, x.by = reach(o.Result.Rig, railsOf(o.Result.Rig, f), packets, false)
		}
		all = append(all, x)
	}
	if all == nil {
		grade := o.Verdict.Grade
		if !ran {
			grade = steps.NotRun
		}
		all = []reading{{name: d.name, cell: d.cell, grade: grade}}
	}
	return all
}

// secondHalf says what the adapter's other PCIe half added to TCP over one.
func (r recap) secondHalf() string {
	find := func(cell string) (x reading, ok bool) {
		i := slices.IndexFunc(r.rates, func(x reading) bool { return x.cell == cell && x.good() })
		if i < 0 {
			return x, false
		}
		return r.rates[i], true
	}
	one, ok := find("stream-half")
	both, also := find("stream-halves")
	if !ok || !also || !alike(one.figure, both.figure) {
		return ""
	}
	return fmt.Sprintf("TCP over both PCIe halves reached %.2f times the rate over one", both.value/one.value)
}

// notGood names the cells of which no figure counts, though they ran.
func (r recap) notGood() string {
	var all []string
	for _, x := range r.rates {
		if x.grade != steps.NotRun && x.grade != steps.Skipped && !x.good() && !slices.Contains(all, x.cell) {
			all = append(all, x.cell)
		}
	}
	if all == nil {
		return ""
	}
	return fmt.Sprintf("The result of %s was not used. Check %s", registry.And(all),
		registry.Plural(len(all), "it", "them"))
}

// next to is a figure against another one that was measured under equal conditions, over the same number of rails;
// empty where there is none.
func (r recap) beside(x reading) string {
	i := slices.IndexFunc(demos(), func(d demo) bool { return d.cell == x.cell })
	if i < 0 || demos()[i].against == "" || !x.good() {
		return ""
	}
	for _, y := range r.rates {
		if y.cell != demos()[i].against || !y.good() || !slices.Equal(x.figure.Rails, y.figure.Rails) ||
			!alike(x.figure, y.figure) {
			continue
		}
		return fmt.Sprintf("%.2f of %s", x.value/y.value, y.cell)
	}
	return ""
}

// alike reports whether two figures were measured under equal conditions, all of which are known.
// Memory is what a test of GPU memory is held against, so it isn't asked for.
func alike(f, g steps.Figure) bool {
	f.Memory, g.Memory = "", ""
	return f.MTU > 0 && g.MTU > 0 && (f.Streams > 0) == (g.Streams > 0) && f.Unlike(g) == ""
}

// demoTable is all of it, with the report's own figures as rows of their own: nothing here was
// measured under their conditions.
func (r recap) demoTable() steps.Table {
	t := steps.Table{
		Title: "Throughput demos",
		Columns: []steps.Column{
			words("test"), figures("Gb/s"), figures("GB/s"), words("cell"), words("measured with"), words("beside"),
			figures("PCIe Gb/s"),
			figures("link Gb/s"),
		},
		Note: "Payload. Beside: compared with another cell under equal conditions (rails, " +
			"MTU, streams, size). The report's values are from other hardware and not " +
			"comparable; its wire value includes headers. ✗ or ?: from a cell that did " +
			"not pass.",
	}
	for _, x := range r.rates {
		row := []string{x.name, x.text(rateText(x.value)), "", x.source(), x.with, r.beside(x), "", ""}
		if x.has {
			row[2] = rateText(x.value / 8)
			row[6], row[7] = limitText(x.ceiling), limitText(x.link)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, d := range []struct {
		name  string
		limit limits.Limit
	}{{"the report: UCX, GPU to GPU", limits.UCXOfReport}, {"the report: one wire", limits.WireOf100G}} {
		gigabytes := d.limit.Value()
		t.Rows = append(t.Rows, []string{
			d.name, rateText(8 * gigabytes), rateText(gigabytes), d.limit.Entry().Basis.String(), d.limit.Entry().When, "", "",
			"",
		})
	}
	return t
}

// demoChart is what counts of the table; ok is false where nothing does.
func (r recap) demoChart() (c steps.Chart, ok bool) {
	measured := steps.Series{Name: "payload"}
	for _, x := range r.rates {
		if x.good() {
			label := x.name
			if x.with != "" {
				label += " (" + x.with + ")"
			}
			measured.Points = append(measured.Points, steps.Point{Label: label, Y: registry.Round(x.value)})
		}
	}
	if len(measured.Points) == 0 {
		return c, false
	}
	measured.Points = append(measured.Points, steps.Point{
		Label: "the report: UCX, GPU to GPU (2^26 bytes, its hardware)", Y: registry.Round(8 * limits.UCXOfReport.Value()),
	})
	return steps.Chart{
		Title: "Throughput demos, payload", Shape: steps.Bars, Unit: "Gb/s", Series: []steps.Series{measured},
		Limits: []steps.Limit{{Name: "one wire of the report, with headers", Value: 8 * limits.WireOf100G.Value()}},
	}, true
}
