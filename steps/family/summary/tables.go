package summary

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// The columns of each table stand in the order of their importance: a narrow
// screen leaves the last ones out.

func words(name string) steps.Column { return steps.Column{Name: name} }

func figures(name string) steps.Column { return steps.Column{Name: name, Number: true} }

// rateText writes a throughput for a column of them.
func rateText(v float64) string {
	switch {
	case v <= 0:
		return "–"
	case v < 1:
		return fmt.Sprintf("%.3f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// limitText is a limit, with as many decimals as the figures that come near it.
func limitText(v float64) string {
	if v <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", v)
}

func usText(v float64) string {
	switch {
	case v <= 0:
		return "–"
	case v < 100:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// text is a documented throughput, marked where it is none.
func (d documented) text() string {
	if d.value == 0 {
		return "–"
	}
	if d.wrong {
		return fmt.Sprintf("%.1f*", d.value)
	}
	return fmt.Sprintf("%.1f", d.value)
}

func (d documented) source() string {
	var names []string
	for _, n := range d.from {
		names = append(names, documentNames[n])
	}
	return strings.Join(names, ", ")
}

// throughputTable has every approach, measured or not.
func (r recap) throughputTable() steps.Table {
	t := steps.Table{
		Title: "Throughput",
		Columns: []steps.Column{
			words("test"), figures("Gb/s"), figures("PCIe Gb/s"), figures("link Gb/s"), figures("tutorial Gb/s"),
			words("measured with"),
			words("cell"),
		},
		Note: "Payload measured in this session. PCIe: highest rate measured through such " +
			"PCIe links. Link: limit of the ports at this MTU. ✗ or ?: from a cell that " +
			"did not pass, not used below. *: wrong, see the documents' figures. " +
			"Throughput demos, pairs and collectives have their own tables.",
	}
	for _, x := range r.rates {
		d := documentedGbps[x.cell]
		row := []string{x.name, x.text(rateText(x.value)), limitText(x.ceiling), limitText(x.link), "", x.with, x.source()}
		// What never ran went through no link.
		if x.grade == steps.NotRun {
			row[2], row[3] = "", ""
		}
		if x.first {
			row[4] = d.text()
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// documentsTable is what is the case where a document's figure is wrong, or says
// too little.
func (r recap) documentsTable() steps.Table {
	t := steps.Table{
		Title:   "The documents' figures",
		Columns: []steps.Column{words("test"), figures("tutorial"), words("in fact"), words("from")},
	}
	add := func(x reading, d documented, unit string) {
		if !x.first || d.fact == "" {
			return
		}
		value := "–"
		switch {
		case d.value > 0 && unit == "us":
			value = usText(d.value) + " us"
		case d.value > 0:
			value = fmt.Sprintf("%.1f %s", d.value, unit)
		}
		t.Rows = append(t.Rows, []string{x.name, value, d.fact, d.source()})
	}
	for _, x := range r.rates {
		add(x, documentedGbps[x.cell], "Gb/s")
	}
	for _, x := range r.median {
		add(x.reading, documentedUS[x.cell], "us")
	}
	return t
}

// kvTable is how long a KV cache takes by each approach that was measured.
func (r recap) kvTable() steps.Table {
	t := steps.Table{Title: "Time to move a KV cache", Columns: []steps.Column{words("over"), figures("Gb/s")}}
	for _, gb := range r.kvSizes {
		t.Columns = append(t.Columns, figures(fmt.Sprintf("%g GB ms", gb)))
	}
	t.Columns = append(t.Columns, words("measured with"), words("cell"))
	row := func(name string, rate float64, ms func(gb float64) string, with, source string) {
		line := []string{name, rateText(rate)}
		for _, gb := range r.kvSizes {
			line = append(line, ms(gb))
		}
		t.Rows = append(t.Rows, append(line, with, source))
	}
	var good []reading
	for _, x := range r.rates {
		if x.good() && !x.again {
			good = append(good, x)
		}
	}
	link, ceiling, mtu := r.oneRail()
	most := reading{link: link, ceiling: ceiling}.most()
	slices.SortStableFunc(good, func(a, b reading) int { return cmp.Compare(b.value, a.value) })
	for _, x := range good {
		row(x.name, x.value, func(gb float64) string { return milliseconds(gb, x.value) }, x.with, x.source())
	}
	if most > 0 {
		name := "limit of one rail"
		if ceiling > 0 && ceiling < link {
			name = "seen through one rail's PCIe link"
		}
		row(name, most, func(gb float64) string { return milliseconds(gb, most) }, under(steps.Figure{MTU: mtu}), "rail map")
	}
	for _, d := range documentedKV {
		row("tutorial: "+d.what, d.gbps, func(gb float64) string {
			if ms, ok := d.ms[gb]; ok {
				return fmt.Sprintf("%.0f", ms)
			}
			return milliseconds(gb, d.gbps) // the document has no such size
		}, "", documentNames[d.from])
	}
	t.Note = "Bytes times 8 divided by the payload rate; sizes in 10^9 bytes. Rows with " +
		"another MTU, size or memory are not comparable. The parameter KV_CACHE_GB " +
		"sets the sizes, for example 1,4,8,40. Sizes that a document lacks are " +
		"computed from its rate."
	if len(good) == 0 {
		t.Note += " No valid measurement yet."
	}
	return t
}

// milliseconds is the time for gb times 10^9 bytes.
func milliseconds(gb, gbps float64) string {
	ms := 8000 * gb / gbps
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

func (r recap) latencyTable() steps.Table {
	t := steps.Table{
		Title: "Latency",
		Columns: []steps.Column{
			words("test"), figures("typical us"), figures("p95 us"), figures("p99 us"), words("cell"), words("measured with"),
			figures("tutorial us"),
		},
		Note: "A write is one way; a read and a ping are round trips. Pings, and the " +
			"tutorial's ping and write, are averages; all other values are medians.",
	}
	any := false
	for _, x := range r.median {
		any = any || x.good()
		d := documentedUS[x.cell]
		row := []string{x.name, x.text(usText(x.value)), "", "", x.source(), x.with, ""}
		if x.has {
			row[2], row[3] = usText(x.p95), usText(x.p99)
		}
		if x.first {
			row[6] = usText(d.value)
		}
		t.Rows = append(t.Rows, row)
	}
	if !any {
		t.Note += " No latency was measured in this session, so no chart is drawn."
	}
	return t
}

// matrixTable is what nixlbench gave; ok is false where none of it ran.
func (r recap) matrixTable() (t steps.Table, ok bool) {
	t = steps.Table{
		Title: "nixlbench",
		Columns: []steps.Column{
			words("test"), figures("best Gb/s"), words("at block"), figures("last row Gb/s"), words("GB a " +
				"rail"), words("split"), words("cell"), words("tutorial's GB a link"),
		},
		Note: "The last row is not always the best. GB a rail: bytes sent by each rail in " +
			"the whole run, with warm-up and headers.",
	}
	for _, x := range r.rates {
		if !slices.Contains(matrixCells, x.cell) {
			continue
		}
		row := []string{
			matrixName(x), x.text(rateText(x.value)), "", "", "", "", x.source(),
			cmp.Or(documentedLinkGB[x.cell], "–"),
		}
		if o, ran := r.outcome(x.cell); ran && x.has {
			ok = true
			f, _ := figureOf(o, steps.Throughput)
			if f.MessageBytes > 0 {
				row[2] = registry.BlockSize(f.MessageBytes)
			}
			if f.Last > 0 {
				row[3] = x.text(rateText(f.Last))
			}
			row[4], row[5] = sentByRail(o)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, ok
}

func matrixName(x reading) string {
	return strings.TrimLeft(strings.TrimPrefix(x.name, "nixlbench"), ", ")
}

// sentByRail is what each rail of this end sent, those that were used first of all. A rail that the test did not name
// is shown from 1 % on, below which it is another user's chatter.
func sentByRail(o steps.Outcome) (gigabytes, split string) {
	sums := map[int]float64{}
	for _, s := range o.Result.Stages {
		for _, b := range s.Bytes {
			if b.End != steps.Here {
				continue
			}
			if !b.Known {
				return "not counted", ""
			}
			sums[b.Rail] += float64(b.Tx)
		}
	}
	total := 0.0
	for _, n := range sums {
		total += n
	}
	if total == 0 {
		return "", ""
	}
	f, _ := figureOf(o, steps.Throughput)
	used := railsOf(o.Result.Rig, f)[steps.Here]
	var parts, shares []string
	for _, i := range slices.Sorted(maps.Keys(sums)) {
		if !slices.Contains(used, i) && sums[i] < 0.01*total {
			continue
		}
		parts = append(parts, fmt.Sprintf("%.2f", sums[i]/1e9))
		shares = append(shares, fmt.Sprintf("%.0f", 100*sums[i]/total))
	}
	return strings.Join(parts, " + "), strings.Join(shares, "/") + " %"
}

// adviceTable says what to use for which work: by what was measured where that
// decides, and else as the documents do.
func (r recap) adviceTable() steps.Table {
	t := steps.Table{
		Title:   "Which approach for which work",
		Columns: []steps.Column{words("work"), words("use"), words("because"), words("tutorial")},
		Note: "\"Measured\" is based on cells of this session that passed or warned. Everything else is the documents' " +
			"general advice.",
	}
	add := func(work, use, because, tutorial string) {
		t.Rows = append(t.Rows, []string{work, use, because, tutorial})
	}
	use, because := r.bulk()
	add("KV cache, tensor shards, disaggregated inference", use, because, "NIXL")
	use, because = r.gpu()
	add("what lies in GPU memory", use, because, "host memory, pinned")
	use, because = r.second()
	add("more than one rail's rate", use, because, "both ports")
	use, because = r.collectives()
	add("collectives (all-reduce)", use, because, "NCCL")
	use, because = r.storage()
	add("NFS and other TCP storage", use, because, "a bond, mode 0")
	add("SSH and management", "any link, a bond of mode 1 for failover", general, "a bond, mode 1")
	use, because = r.small()
	add("small messages", use, because, "NIXL")
	return t
}

const general = "general advice: not measured here"

func isTCP(x reading) bool { return strings.HasPrefix(x.cell, "tcp-") || x.cell == "load-tcp" }

// severalStreams reports whether a reading is TCP over several connections.
func severalStreams(x reading) bool { return isTCP(x) && x.figure.Streams > 1 }

func isNIXL(x reading) bool { return strings.HasPrefix(x.cell, "nixl-") || x.cell == "load-nixl" }

func isGPU(x reading) bool {
	return strings.HasSuffix(x.cell, "-vram") || strings.HasSuffix(x.cell, "-gpu")
}

// bulk compares RDMA out of host memory with TCP. One transfer is one connection,
// so a single stream is what it competes with.
func (r recap) bulk() (use, because string) {
	rdma, hasRDMA := r.best(func(x reading) bool { return !isTCP(x) && !isGPU(x) })
	// What is within a tenth of the best is as good, and NIXL is what such work would call.
	if nixl, ok := r.best(func(x reading) bool { return isNIXL(x) && !isGPU(x) }); ok && nixl.value > 0.9*rdma.value {
		rdma = nixl
	}
	one, hasOne := r.best(func(x reading) bool { return x.cell == "tcp-single" })
	more, hasMore := r.best(severalStreams)
	if !hasRDMA || !hasOne && !hasMore {
		return "NIXL", "general advice: needs results of RDMA and TCP"
	}
	because = fmt.Sprintf("measured: %s with %s", registry.Gbps(rdma.value), rdma.name)
	for _, x := range []reading{one, more} {
		if x.has {
			because += fmt.Sprintf("; %s with %s", registry.Gbps(x.value), x.name)
		}
	}
	switch {
	case hasOne && one.value > rdma.value || !hasOne && more.value > worthwhile*rdma.value:
		return "TCP", because
	case isNIXL(rdma):
		return "NIXL", because
	}
	return "RDMA, by NIXL", because
}

// gpu compares the GPU's memory with the host's.
func (r recap) gpu() (use, because string) {
	vram, hasGPU := r.best(isGPU)
	host, hasHost := r.best(func(x reading) bool {
		f := x.figure
		f.Memory = vram.figure.Memory // what differs on purpose
		return isNIXL(x) && !isGPU(x) && len(f.Rails) == len(vram.figure.Rails) && f.Unlike(vram.figure) == ""
	})
	if !hasGPU || !hasHost {
		return "memory from cudaHostAlloc", "general advice: needs NIXL results of both memories over equal rails"
	}
	use = "memory from cudaHostAlloc"
	if vram.value >= 0.9*host.value {
		use = "GPU memory as it is"
	}
	return use, fmt.Sprintf("measured: %s from GPU memory (%s), %s from the host's (%s)", registry.Gbps(vram.value),
		vram.name, registry.Gbps(host.value), host.name)
}

// worthwhile is the gain from which a second rail is worth its trouble.
// Chosen: no document says from which gain on.
const worthwhile = 1.3

// pairsOfRails are the cells that compare one rail with two, those of NIXL first.
var pairsOfRails = []struct {
	one string
	two []string
}{
	{"nixl-single-dram", []string{"nixl-halves-dram", "nixl-dual-dram"}},
	{"nixl-transfer", []string{"nixl-transfer-dual"}},
	{"ib-write-bw", []string{"dual-link"}},
	{"load-rail", []string{"load-halves", "load-half"}},
}

// second compares two rails with one.
// The first pair of cells that both ran decides: what was measured by the tool that would be used is worth
// more than the larger figure.
func (r recap) second() (use, because string) {
	for _, c := range pairsOfRails {
		one, hasOne := r.best(func(x reading) bool { return x.cell == c.one && x.first })
		two, hasTwo := r.best(func(x reading) bool { return slices.Contains(c.two, x.cell) })
		if !hasOne || !hasTwo {
			continue
		}
		if why := one.figure.Unlike(two.figure); why != "" {
			return "the adapter's two PCIe halves",
				fmt.Sprintf("general advice: %s and %s are not comparable (%s)", one.name, two.name, why)
		}
		use = "two rails"
		// Only rails behind two PCIe links may carry so much more together than one.
		if two.ceiling > worthwhile*one.ceiling {
			use = "the adapter's two PCIe halves"
		}
		gain := two.value / one.value
		if gain < worthwhile {
			use = "one rail"
		}
		return use, fmt.Sprintf("measured: %s with %s; %s with one: %+.0f %%", registry.Gbps(two.value), two.name,
			registry.Gbps(one.value), 100*(gain-1))
	}
	return "the adapter's two PCIe halves", "general advice: two ports of one half share its PCIe link"
}

// storage compares one stream of TCP with several.
// nconnect gives an NFS mount several connections, which is what several streams are.
func (r recap) storage() (use, because string) {
	one, hasOne := r.best(func(x reading) bool { return x.cell == "tcp-single" })
	more, hasMore := r.best(severalStreams)
	if !hasOne || !hasMore {
		return "several connections, over a bond of mode 2", "general advice: mode 0 reorders the packets of a connection"
	}
	because = fmt.Sprintf("measured: %s with %s; %s with %s", registry.Gbps(more.value), more.name,
		registry.Gbps(one.value), one.name)
	if more.value < worthwhile*one.value {
		return "one connection is enough", because
	}
	return "several connections (nconnect)", because
}

// collectives are NCCL's business. The reason reports what NCCL reached here.
func (r recap) collectives() (use, because string) {
	for _, cell := range []string{"nccl-allreduce", "nccl-allgather"} {
		o, ok := r.outcome(cell)
		f, has := figureOf(o, steps.Throughput)
		if ok && has && (o.Verdict.Grade == steps.Pass || o.Verdict.Grade == steps.Warn) {
			return "NCCL", fmt.Sprintf("measured: %.2f GB/s of bus bandwidth by %s", f.Value/8, cell)
		}
	}
	return "NCCL", general
}

// small says what RDMA takes. Nothing here measures TCP's latency: a ping is two kernels that wake up, there and back.
func (r recap) small() (use, because string) {
	because = "general advice: no cell measures TCP's latency"
	best := 0.0
	for _, x := range r.median {
		if x.cell == "ib-write-lat" && x.good() && (best == 0 || x.value < best) {
			best = x.value
		}
	}
	if best > 0 {
		because += fmt.Sprintf("; a write takes %s one way", registry.Microseconds(best))
	}
	return "RDMA", because
}

// bondTable compares the modes, with what TCP reached over the one that was there.
func (r recap) bondTable() steps.Table {
	t := steps.Table{
		Title:   "Bond modes",
		Columns: []steps.Column{words("mode"), words("distributes"), words("good for"), words("needs a switch")},
		Note: "General, from the documents. One of them gives mode 0 to NFS, another to " +
			"single streams; both say that it reorders packets. RDMA bypasses the bond and " +
			"needs none of them.",
	}
	present := r.bondMode()
	if present != "" {
		t.Columns = append(t.Columns, words("TCP over it here"))
	}
	for _, m := range documentedModes {
		row := []string{m.number + " " + m.name, m.deals, m.good, m.needs}
		if m.name == present {
			row = append(row, r.bonded())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// bondMode is the mode of the bond that this session last saw.
func (r recap) bondMode() string {
	for _, id := range []string{"bond-status", "bond-check"} {
		o, ok := r.outcome(id)
		if !ok {
			continue
		}
		if f, has := figureOf(o, steps.BondMode); has {
			return f.Words
		}
	}
	return ""
}

// bonded is what TCP reached over a bond in this session.
func (r recap) bonded() string {
	var parts []string
	for _, x := range r.rates {
		if isTCP(x) && x.bonded && x.has {
			parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(x.name, "TCP, "),
				", bond")+" "+x.text(registry.Gbps(x.value)))
		}
	}
	if parts == nil {
		return "bonded, but TCP not measured"
	}
	return strings.Join(parts, ", ")
}

// charts are the figures that count, drawn.
func (r recap) charts() []steps.Chart {
	var all []steps.Chart
	rates := steps.Series{Name: "measured"}
	mtus := r.mtus()
	for _, x := range r.rates {
		if x.good() {
			f := x.figure
			if len(mtus) == 1 && f.MTU == mtus[0] {
				f.MTU = 0 // all have it, and the title says so
			}
			label := x.name
			if with := under(f); with != "" {
				label += " (" + with + ")"
			}
			rates.Points = append(rates.Points, steps.Point{Label: label, Y: registry.Round(x.value)})
		}
	}
	link, ceiling, mtu := r.oneRail()
	if len(rates.Points) > 0 {
		title := "Throughput, payload"
		if len(mtus) == 1 && mtus[0] > 0 {
			title += fmt.Sprintf(", RoCE MTU %d", mtus[0])
		}
		all = append(all, steps.Chart{
			Title: title, Shape: steps.Bars, Unit: "Gb/s", Series: []steps.Series{rates},
			Limits: append([]steps.Limit{{Name: "link, as the documents take it", Value: documentedLink}},
				linesOfLimits(link, ceiling, mtu)...),
		})
	}
	medians := steps.Series{Name: "median"}
	for _, x := range r.median {
		if x.good() {
			medians.Points = append(medians.Points, steps.Point{Label: x.name, Y: registry.Round(x.value)})
		}
	}
	if len(medians.Points) > 0 {
		all = append(all, steps.Chart{
			Title: "Latency, typical", Shape: steps.LogBars, Unit: "us",
			Series: []steps.Series{medians},
		})
	}
	if c, ok := r.blockChart(link, ceiling, mtu); ok {
		all = append(all, c)
	}
	return all
}

// mtus are the RoCE MTUs that the figures of RDMA that count were measured with. Of several, none stands next to
// another without its own.
func (r recap) mtus() (all []int) {
	for _, x := range r.rates {
		if x.good() && !isTCP(x) && !slices.Contains(all, x.figure.MTU) {
			all = append(all, x.figure.MTU)
		}
	}
	return all
}

// oneRail is what the first rail's link and PCIe link carry; as they were when a
// figure was measured, where a bond holds the rails now.
func (r recap) oneRail() (link, ceiling float64, mtu int) {
	rigs := []steps.Rig{r.Rig}
	for _, o := range r.Outcomes {
		rigs = append(rigs, o.Result.Rig)
	}
	for _, rig := range rigs {
		if rig.HasPair(0) {
			p := rig.Pairs[0]
			mtu := limits.AgreedMTU(rig, p, 0)
			link, ceiling, _ := reach(rig, [2][]int{{p.Rails[0]}, {p.Rails[1]}}, limits.RoCE(mtu), false)
			return link, ceiling, mtu
		}
	}
	return 0, 0, 0
}

// limits are the lines across a chart of throughput.
func linesOfLimits(link, ceiling float64, mtu int) (all []steps.Limit) {
	if ceiling > 0 {
		all = append(all, steps.Limit{
			Name:  fmt.Sprintf("measured through the PCIe link of one rail, MTU %d", mtu),
			Value: registry.Round(ceiling),
		})
	}
	if link > 0 {
		all = append(all, steps.Limit{
			Name:  fmt.Sprintf("link of one rail, payload, MTU %d", mtu),
			Value: registry.Round(link),
		})
	}
	return all
}

// blockChart puts the charts of nixlbench's cells into one.
func (r recap) blockChart(link, ceiling float64, mtu int) (c steps.Chart, ok bool) {
	c = steps.Chart{
		Title: "nixlbench: throughput by block size, payload", Shape: steps.Lines, Unit: "Gb/s", XUnit: "bytes",
		Limits: linesOfLimits(link, ceiling, mtu),
	}
	for _, x := range r.rates {
		o, ran := r.outcome(x.cell)
		if !ran || !x.good() || !slices.Contains(matrixCells, x.cell) {
			continue
		}
		for _, chart := range o.Verdict.Charts {
			if chart.Shape != steps.Lines || len(chart.Series) == 0 {
				continue
			}
			s := chart.Series[0]
			s.Name = matrixName(x)
			if len(r.mtus()) > 1 {
				s.Name += fmt.Sprintf(" (MTU %d)", x.figure.MTU)
			}
			c.Series = append(c.Series, s)
		}
	}
	c.Series = apart(c.Series, max(link, ceiling))
	return c, len(c.Series) > 0
}

// apart are series that can be distinguished in the chart. Where two series are closer than a hundredth of
// the scale, one would hide the other: its name is added to the other's.
func apart(all []steps.Series, top float64) (seen []steps.Series) {
	for _, s := range all {
		for _, p := range s.Points {
			top = max(top, p.Y)
		}
	}
	for _, s := range all {
		i := slices.IndexFunc(seen, func(o steps.Series) bool { return coincide(o.Points, s.Points, 0.01*top) })
		if i < 0 {
			seen = append(seen, s)
			continue
		}
		seen[i].Name += "; " + s.Name + " lies there, too"
	}
	return seen
}

// coincide reports whether two series have the same points, as near as room.
func coincide(a, b []steps.Point, room float64) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, func(p, q steps.Point) bool {
		return p.X == q.X && math.Abs(p.Y-q.Y) <= room
	})
}
