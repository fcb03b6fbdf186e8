package web

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/gauges"
)

// What viewers get, as JSON. Every text in it is cleaned, and the page sets it as text and never as HTML.
type (
	snapshotView struct {
		Rig     rigView     `json:"rig"`
		Fleet   *fleetView  `json:"fleet"`
		Places  []string    `json:"places"`
		Dials   []dialView  `json:"dials"`
		Board   [][]float64 `json:"board"`
		Hosts   []hostView  `json:"hosts"`
		History history     `json:"history"`
		Cells   []cellView  `json:"cells"`
		Now     nowView     `json:"now"`
	}
	rigView struct {
		Name      string     `json:"name"`
		Title     string     `json:"title"`
		Simulated bool       `json:"simulated"`
		Railbench string     `json:"railbench"`
		Nodes     []nodeView `json:"nodes"`
	}
	nodeView struct {
		Name  string `json:"name"`
		End   string `json:"end"`
		Where string `json:"where"`
		// Link is what its cables carry together, Gb/s; 0 where one's rate is unknown.
		Link  float64 `json:"link"`
		State string  `json:"state"`
		Why   string  `json:"why,omitempty"`
	}
	// A fleetView is a board by node, on a rig of more than two: see gauges.Overview.
	fleetView struct {
		Rows  []rowView `json:"rows"`
		Full  float64   `json:"full"`
		Scale string    `json:"scale"`
		Told  string    `json:"told"`
		// Sent and Received have a character a node, in the order of the places: 1 to 8, 0 at rest, x without a link,
		// ? where nothing was heard. They are empty where each node has a row.
		Sent     string `json:"sent"`
		Received string `json:"received"`
	}
	rowView struct {
		Node  string     `json:"node"`
		Tx    [2]float64 `json:"tx"` // by RDMA, and by IP
		Rx    [2]float64 `json:"rx"`
		Why   string     `json:"why,omitempty"`
		Rails []railView `json:"rails"`
	}
	railView struct {
		Dev string  `json:"dev"`
		Tx  float64 `json:"tx"`
		Rx  float64 `json:"rx"`
		Why string  `json:"why,omitempty"`
	}
	// A dialView is what of a gauge doesn't move.
	dialView struct {
		Node    string  `json:"node"`
		Dev     string  `json:"dev"`
		Netdev  string  `json:"netdev"`
		Link    float64 `json:"link"`    // Gb/s on the wire; 0 where unknown
		Ceiling float64 `json:"ceiling"` // where PCIe ends it; 0 where unknown
		Source  string  `json:"source"`
		Down    bool    `json:"down"`
		Stale   string  `json:"stale,omitempty"`
	}
	// A hostView is what a node shows apart from its rails: processors, heat and alarms.
	hostView struct {
		Node  string `json:"node"`
		Cores int    `json:"cores"` // 0 if the load is unknown
		// Busy is how many of Cores are at work.
		Busy    float64     `json:"busy"`
		Adapter int         `json:"adapter"` // degrees of the hottest; 0 where unknown
		GPU     int         `json:"gpu"`
		Alarms  []alarmView `json:"alarms"`
	}
	alarmView struct {
		Grade string `json:"grade"`
		Text  string `json:"text"`
	}
	cellView struct {
		ID       string   `json:"id"`
		Part     string   `json:"part"`
		Title    string   `json:"title"`
		Run      int      `json:"run"`
		Running  bool     `json:"running"`
		Grade    string   `json:"grade"`
		Reason   string   `json:"reason"`
		Node     string   `json:"node,omitempty"`
		Took     string   `json:"took"`
		Evidence []string `json:"evidence"`
	}
	// A nowView is what runs.
	nowView struct {
		Cell    string   `json:"cell"` // empty where nothing runs
		Title   string   `json:"title"`
		Command string   `json:"command"`
		For     int      `json:"for"` // seconds
		Tail    []string `json:"tail"`
		Queue   int      `json:"queue"`
	}
)

// sameRail reports whether two dials are of one rail, however it is.
func (d dialView) sameRail(e dialView) bool { return d.Node == e.Node && d.Dev == e.Dev }

// What one cell may take of a message: a viewer may have a phone.
const (
	mostEvidence = 24
	mostTail     = 8
	mostText     = 600 // runes of one text
)

// clean is a text of a node's or a file's as one line that ends somewhere. It is cut before it
// is looked at: it may have megabytes.
func clean(s string) string { return sanitize.Line(short(s, mostText)) }

func short(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// mostTold is how many nodes have dials for each rail. More nodes have a strip instead: with their history,
// the dials of 1,024 nodes are 20 MB.
const mostTold = 16

// fleetOf is the board by node, nil for a rig of few; places are the nodes of its strip.
func fleetOf(b meter.Board) (v *fleetView, places []string) {
	o, many := gauges.Look(b, mostTold)
	if !many {
		return nil, nil
	}
	v = &fleetView{Rows: []rowView{}, Full: tenth(o.Full), Scale: o.Scale, Told: o.Told}
	for _, r := range o.Rows {
		row := rowView{
			Node: clean(r.Node), Tx: [2]float64{tenth(r.Tx.RDMA), tenth(r.Tx.IP)},
			Rx: [2]float64{tenth(r.Rx.RDMA), tenth(r.Rx.IP)}, Why: clean(r.Why), Rails: []railView{},
		}
		for _, g := range r.Rails {
			rail := railView{Dev: clean(g.Dev), Tx: tenth(g.Tx.Total()), Rx: tenth(g.Rx.Total()), Why: clean(g.Stale)}
			if g.Down && g.Stale == "" {
				rail.Why = "down"
			}
			row.Rails = append(row.Rails, rail)
		}
		v.Rows = append(v.Rows, row)
	}
	for _, c := range o.Strip {
		v.Sent += sign(c.Tx)
		v.Received += sign(c.Rx)
		places = append(places, cmp.Or(clean(c.Node), "not heard"))
	}
	return v, places
}

// sign is a level in one character.
func sign(l gauges.Level) string {
	switch l {
	case gauges.Unheard:
		return "?"
	case gauges.Down:
		return "x"
	case gauges.AtRest:
	}
	return strconv.Itoa(int(l))
}

// next to leaves those nodes of a strip that have a row, or an alarm.
func (v *fleetView) beside(hosts []hostView) []hostView {
	if v == nil || v.Sent == "" {
		return hosts
	}
	return slices.DeleteFunc(hosts, func(h hostView) bool {
		return len(h.Alarms) == 0 && !slices.ContainsFunc(v.Rows, func(r rowView) bool { return r.Node == h.Node })
	})
}

func dialsOf(b meter.Board) []dialView {
	all := make([]dialView, 0, len(b.Gauges))
	for _, g := range b.Gauges {
		all = append(all, dialView{
			Node: clean(g.Node), Dev: clean(g.Dev), Netdev: clean(g.Netdev), Link: tenth(g.LinkGbps),
			Ceiling: tenth(g.CeilingGbps),
			Source:  g.Source.String(), Down: g.Down, Stale: clean(g.Stale),
		})
	}
	return all
}

// needlesOf is what moves: sent by RDMA and IP, received by both, and the two peaks, all on the
// wire; and what of it is payload, sent and received.
func needlesOf(b meter.Board) [][]float64 {
	all := make([][]float64, 0, len(b.Gauges))
	for _, g := range b.Gauges {
		all = append(all, []float64{
			tenth(g.Tx.RDMA), tenth(g.Tx.IP), tenth(g.Rx.RDMA), tenth(g.Rx.IP), tenth(g.Tx.Peak), tenth(g.Rx.Peak),
			payload(g, g.Tx), payload(g, g.Rx),
		})
	}
	return all
}

// payload is what programs see of a flow; unknown where no one can report.
func payload(g meter.Gauge, f meter.Flow) float64 {
	if p, ok := g.Payload(f.RDMA, f.IP); ok {
		return tenth(float64(p))
	}
	return unknown
}

// unknown is not a rate: those are 0 or more.
const unknown = -1

// hostsOf are the nodes next to their rails.
func hostsOf(b meter.Board) []hostView {
	all := make([]hostView, 0, len(b.Hosts))
	for _, h := range b.Hosts {
		v := hostView{Node: clean(h.Node), Alarms: []alarmView{}}
		if h.Known {
			v.Cores, v.Busy = h.Cores, tenth(h.Busy)
		}
		for _, n := range b.Health {
			if n.No != h.No || n.Stale != "" {
				continue
			}
			if hot, ok := n.Hottest(); ok {
				v.Adapter = int(math.Round(hot.Celsius))
			}
			if gpu, ok := n.HottestGPU(); ok {
				v.GPU = int(math.Round(gpu.Celsius))
			}
			for _, a := range n.Alarms() {
				v.Alarms = append(v.Alarms, alarmView{a.Grade.String(), clean(a.Text)})
			}
		}
		all = append(all, v)
	}
	return all
}

// cables is what a node's connectors carry together: two rails may be one cable's.
func cables(n steps.Node) float64 {
	type connector struct {
		port int
		dev  string // where it is unknown which port it is
	}
	links := map[connector]float64{}
	for _, r := range n.Rails {
		at := connector{port: r.PhysPort}
		if r.PhysPort < 0 {
			at.dev = r.Dev
		}
		if r.Netdev.SpeedGbps == 0 && !r.InfiniBand() {
			return 0 // declared by soft-RoCE, known by no one
		}
		links[at] = max(links[at], r.RateGbps)
	}
	sum := 0.0
	for _, gbps := range links {
		sum += gbps
	}
	return sum
}

func cellOf(book steps.Notebook, id string) cellView {
	c, _ := book.Tutorial.Cell(id)
	s := book.Cells[id]
	v := cellView{
		ID: clean(id), Part: clean(c.Part), Title: clean(c.Title), Run: int(s.Run), Running: s.Running,
		Grade: s.Verdict.Grade.String(), Reason: clean(s.Verdict.Reason), Node: clean(s.Verdict.Node),
		Evidence: []string{},
	}
	if !s.Running {
		v.Took = s.Elapsed.Round(100 * time.Millisecond).String()
	}
	for i, e := range s.Verdict.Facts() {
		if i == mostEvidence {
			v.Evidence = append(v.Evidence, "…")
			break
		}
		v.Evidence = append(v.Evidence, clean(cells.Evidence(e)))
	}
	return v
}

// byRun puts cells in the order in which they ran.
func byRun(all []cellView) {
	slices.SortFunc(all, func(a, b cellView) int { return cmp.Or(a.Run-b.Run, cmp.Compare(a.ID, b.ID)) })
}

func (p *Page) nowOf(book steps.Notebook) nowView {
	v := nowView{Queue: len(book.Queue), Tail: []string{}}
	c, ok := book.Tutorial.Cell(book.Running)
	if !ok {
		return v
	}
	s := book.Cells[c.ID]
	v.Cell, v.Title = clean(c.ID), clean(c.Title)
	v.For = max(0, int(p.o.Now().Sub(s.Started).Seconds()))
	if len(c.Roles) > 0 {
		v.Command = sanitize.Text(short(c.Roles[len(c.Roles)-1].Script, mostText))
	}
	for _, l := range s.Output.Lines(max(0, s.Output.Len()-mostTail), mostTail) {
		v.Tail = append(v.Tail, sanitize.Line(short(l.Text, mostText/4)))
	}
	return v
}
