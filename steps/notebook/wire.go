package notebook

import (
	"math"
	"slices"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// The facts of railbench in a file: what stands under metadata.railbench and in the
// journal. Keys are like those of railbench run --json.

// format counts up when an older railbench would read a file wrongly.
const format = 1

// What a cell of the file is.
const (
	kindHead  = "session" // the title and the rig
	kindPart  = "part"
	kindAbout = "about" // the prose above a cell
	kindCell  = "cell"
	kindNote  = "note"        // a cell of text that the user added
	kindTail  = "tail"        // the prose after it
	kindNotes = "differences" // what the numbers in the texts stand for
)

// What an output shows. The data of all but streams are in the cell's metadata.
const (
	showVerdict = "verdict"
	showTable   = "table"
	showChart   = "chart"
	showGauges  = "gauges"
)

// head is the notebook's own metadata.
type head struct {
	Format    int       `json:"format"`
	Railbench string    `json:"railbench"`
	Title     string    `json:"title"`
	Created   time.Time `json:"created"`
	Saved     time.Time `json:"saved"`
	Simulated bool      `json:"simulated"`
	Rig       rigWire   `json:"rig"`
	// Rigs are the looks at the nodes that results came from, each once.
	Rigs []rigWire `json:"rigs,omitempty"`
	// Params are the parameters that are set; each cell has those that it ran with.
	Params *paramsWire `json:"params,omitempty"`
	// Journal is the last event in the file: what the journal has before it is here.
	Journal int64 `json:"journal"`
}

type paramsWire struct {
	All   map[string]string            `json:"all,omitempty"`
	Cells map[string]map[string]string `json:"cells,omitempty"`
}

// wireParams is nil where nothing was set: a session of before there were parameters has
// no such field either.
func wireParams(s steps.Settings) *paramsWire {
	if !s.Any() {
		return nil
	}
	return &paramsWire{s.All, s.Cells}
}

func (w *paramsWire) settings() steps.Settings {
	if w == nil {
		return steps.Settings{}
	}
	return steps.Settings{All: w.All, Cells: w.Cells}
}

// A rigWire is what a file keeps of a look at the nodes: enough to say what a result was measured on, and to
// compare.
type rigWire struct {
	Name      string     `json:"name"`
	Simulated bool       `json:"simulated"`
	Probed    *time.Time `json:"probed,omitempty"`
	Nodes     []nodeWire `json:"nodes"`
	Pairs     []pairWire `json:"pairs,omitempty"`
	Missing   []string   `json:"missing,omitempty"`
}

// A nodeWire has both its place in the order of the link (end) and its number in the rig file: files from
// before there were numbers have the place alone.
type nodeWire struct {
	Name    string            `json:"name"`
	End     string            `json:"end"`
	No      int               `json:"no,omitempty"` // its number in the rig file, from 0
	Where   string            `json:"where"`
	Host    string            `json:"host,omitempty"`
	Kernel  string            `json:"kernel,omitempty"`
	Arch    string            `json:"arch,omitempty"`
	OS      string            `json:"os,omitempty"`
	Adapter string            `json:"adapter,omitempty"`
	Err     string            `json:"error,omitempty"`
	Rails   []railWire        `json:"rails,omitempty"`
	Tools   map[string]string `json:"tools,omitempty"` // versions; empty if a tool prints none
}

// A railWire is a rail as it was found: mtu is the RoCE MTU and netdevMTU the interface's, both in bytes.
type railWire struct {
	Dev      string  `json:"dev"`
	Port     int     `json:"port"`
	Netdev   string  `json:"netdev"`
	Address  string  `json:"address,omitempty"`
	Prefix   int     `json:"prefix,omitempty"`
	GIDIndex int     `json:"gidIndex"`
	MTU      int     `json:"mtu"`
	NetMTU   int     `json:"netdevMTU,omitempty"`
	PCI      string  `json:"pci,omitempty"`
	PCIeGTps float64 `json:"pcieGTps,omitempty"`
	Lanes    int     `json:"pcieLanes,omitempty"`
	LinkGbps float64 `json:"linkGbps,omitempty"`
	State    string  `json:"state,omitempty"`
	Bond     string  `json:"bond,omitempty"`
	PhysPort int     `json:"physPort"`
}

// A pairWire is two rails that belong together.
type pairWire struct {
	Here   int    `json:"here"` // indexes of the nodes' rails
	Peer   int    `json:"peer"`
	Subnet string `json:"subnet,omitempty"`
}

// wireRig leaves out tools that weren't found, and what only a look now could show.
func wireRig(r steps.Rig) rigWire {
	w := rigWire{Name: r.Name, Simulated: r.Simulated, Missing: r.Missing}
	if !r.Probed.IsZero() {
		w.Probed = new(r.Probed)
	}
	for e, n := range r.Nodes {
		node := nodeWire{
			Name: n.Name, End: steps.End(e).String(), No: n.No, Where: n.Where, Host: n.Host, Kernel: n.Kernel,
			Arch: n.Arch, OS: n.OS, Adapter: n.Adapter, Err: n.Err,
		}
		for _, x := range n.Rails {
			node.Rails = append(node.Rails, railWire{
				Dev: x.Dev, Port: x.Port, Netdev: x.Netdev.Name,
				Address: x.Addr, Prefix: x.Prefix, GIDIndex: x.GIDIndex,
				MTU: x.MTU, NetMTU: x.Netdev.MTU, PCI: x.PCI.Addr, PCIeGTps: x.PCI.GTps, Lanes: x.PCI.Width,
				LinkGbps: x.RateGbps, State: x.State, PhysPort: x.PhysPort, Bond: x.Netdev.Master,
			})
		}
		for name, t := range n.Tools {
			// A tool without a path wasn't there.
			if t.Path != "" {
				if node.Tools == nil {
					node.Tools = map[string]string{}
				}
				node.Tools[name] = t.Version
			}
		}
		w.Nodes = append(w.Nodes, node)
	}
	for _, p := range r.Pairs {
		w.Pairs = append(w.Pairs, pairWire{p.Rails[steps.Here], p.Rails[steps.Peer], p.Subnet})
	}
	return w
}

// number is a node's number. Files from before there were numbers, and altered ones, have the order instead.
func (w rigWire) number(e int) int {
	seen := map[int]bool{}
	for _, n := range w.Nodes {
		if n.No < 0 || n.No >= len(w.Nodes) || seen[n.No] {
			return e
		}
		seen[n.No] = true
	}
	return w.Nodes[e].No
}

// rig is what a file remembers of a rig: less than a look at it gives.
func (w rigWire) rig() steps.Rig {
	r := steps.NewRig(w.Name, w.Simulated, min(len(w.Nodes), steps.MostNodes))
	r.Missing = w.Missing
	if w.Probed != nil {
		r.Probed = *w.Probed
	}
	for e, n := range w.Nodes {
		// More than a rig may have: an altered file.
		if e >= len(r.Nodes) {
			break
		}
		node := steps.Node{
			No: w.number(e), Name: n.Name, Where: n.Where, Host: n.Host,
			Kernel: n.Kernel, Arch: n.Arch, OS: n.OS, Adapter: n.Adapter, Err: n.Err,
		}
		for _, x := range n.Rails {
			node.Rails = append(node.Rails, steps.Rail{
				Dev: x.Dev, Port: x.Port, Netdev: steps.Netdev{Name: x.Netdev, MTU: x.NetMTU, Master: x.Bond},
				Addr: x.Address, Prefix: x.Prefix, GIDIndex: x.GIDIndex,
				MTU: x.MTU, PCI: steps.PCI{Addr: x.PCI, GTps: x.PCIeGTps, Width: x.Lanes},
				RateGbps: x.LinkGbps, State: x.State, PhysPort: x.PhysPort,
			})
		}
		for name, version := range n.Tools {
			if node.Tools == nil {
				node.Tools = map[string]steps.Tool{}
			}
			node.Tools[name] = steps.Tool{Path: name, Version: version}
		}
		r.Nodes[e] = node
	}
	for _, p := range w.Pairs {
		// An invalid index must not be followed.
		if p.Here >= 0 && p.Here < len(r.At(steps.Here).Rails) && p.Peer >= 0 && p.Peer < len(r.At(steps.Peer).Rails) {
			r.Pairs = append(r.Pairs, steps.Pair{Rails: [2]int{p.Here, p.Peer}, Subnet: p.Subnet})
		}
	}
	return r
}

// facts are the metadata of one cell of the file. Which are set depends on Kind.
type facts struct {
	Kind  string `json:"kind"`
	Part  string `json:"part,omitempty"`
	Cell  string `json:"cell,omitempty"`
	Title string `json:"title,omitempty"`
	Check bool   `json:"check,omitempty"` // of the checklist
	// Edited says of a part that a cell was edited, added, moved or removed; its cells have their whole
	// Definition then.
	Edited     bool        `json:"edited,omitempty"`
	Definition *steps.Cell `json:"definition,omitempty"`
	Simulated  bool        `json:"simulated,omitempty"`
	Notes      []noteWire  `json:"differences,omitempty"` // that the text has the numbers of
	ranWire
}

// ranWire are the facts of a code cell.
type ranWire struct {
	Roles    []roleWire `json:"roles,omitempty"`
	EachRail bool       `json:"eachRail,omitempty"`
	Own      string     `json:"own,omitempty"`
	// Rig is which of the head's rigs it ran on, counted from 1.
	Rig int `json:"rig,omitempty"`
	// Params are those that were set when it ran.
	Params  map[string]string `json:"params,omitempty"`
	Run     int               `json:"run,omitempty"` // execution count; missing where it never ran
	Running bool              `json:"running,omitempty"`
	*steps.Verdict
	Exit      *exitWire    `json:"exit,omitempty"`
	Started   *time.Time   `json:"started,omitempty"`
	ElapsedMS float64      `json:"elapsedMS,omitempty"`
	Rails     []bytesWire  `json:"rails,omitempty"`
	Log       string       `json:"log,omitempty"`
	Live      *steps.Table `json:"live,omitempty"` // what a run has measured so far
	Output    *outputWire  `json:"output,omitempty"`
	Gauges    *Samples     `json:"gauges,omitempty"`
}

// A roleWire is one role of a cell as it ran. Nodes are names, for people: On says where it runs.
type roleWire struct {
	Name   string   `json:"role,omitempty"`
	On     string   `json:"on"`
	Nodes  []string `json:"nodes"`
	Root   bool     `json:"root,omitempty"`
	Script string   `json:"script"`

	Before      string `json:"before,omitempty"`
	Probe       bool   `json:"probe,omitempty"`
	Shared      bool   `json:"shared,omitempty"`
	Interpreter string `json:"interpreter,omitempty"`
}

// An exitWire is a runner.Exit, in words.
type exitWire struct {
	Code      int     `json:"code"`
	Why       string  `json:"why"`
	ElapsedMS float64 `json:"elapsedMS"`
}

// outputWire says where each line of the streams came from.
type outputWire struct {
	// Dropped is how many lines came before the first that is kept.
	Dropped int        `json:"dropped,omitempty"`
	Lines   []lineWire `json:"lines,omitempty"`
}

// lineWire is about Count lines, one after the other.
type lineWire struct {
	Kind  string `json:"kind"`
	From  string `json:"from,omitempty"`
	Role  string `json:"role,omitempty"`
	Count int    `json:"count"`
}

// A bytesWire is a steps.RailBytes, which says what each of them is.
type bytesWire struct {
	Node    string            `json:"node"`
	End     string            `json:"end"`
	No      int               `json:"no,omitempty"` // its number in the rig file, from 0
	Rail    string            `json:"rail"`
	Index   int               `json:"index"`
	Test    int               `json:"test,omitempty"` // the rail whose test it was, from 1
	Tx      uint64            `json:"txBytes"`
	Rx      uint64            `json:"rxBytes"`
	Known   bool              `json:"known"`
	Why     string            `json:"why,omitempty"`
	Source  string            `json:"source,omitempty"`
	IPTx    uint64            `json:"ipTxBytes,omitempty"`
	IPRx    uint64            `json:"ipRxBytes,omitempty"`
	IPKnown bool              `json:"ipKnown,omitempty"`
	IPWhy   string            `json:"ipWhy,omitempty"`
	Seconds float64           `json:"seconds,omitempty"`
	Idle    float64           `json:"idleGbps,omitempty"`
	IdleTx  uint64            `json:"idleTxBytes,omitempty"`
	IdleRx  uint64            `json:"idleRxBytes,omitempty"`
	Degrees float64           `json:"degrees,omitempty"`
	Errors  map[string]uint64 `json:"errors,omitempty"`
}

var kindNames = map[steps.LineKind]string{steps.FromStdout: "stdout", steps.FromStderr: "stderr", steps.Note: "note"}

// kindOf takes a kind that it doesn't know for stdout: a newer railbench's line is shown
// rather than dropped.
func kindOf(name string) steps.LineKind {
	for k, n := range kindNames {
		if n == name {
			return k
		}
	}
	return steps.FromStdout
}

func endOf(name string) steps.End {
	e, _ := steps.ParseEnd(name) // Here instead of an invalid index, which must not be followed
	return e
}

// whereOf takes what it doesn't know for here, as a fence that says nothing does.
func whereOf(name string) steps.Where {
	for _, w := range []steps.Where{steps.OnPeer, steps.OnBoth, steps.OnAll} {
		if w.String() == name {
			return w
		}
	}
	return steps.OnHere
}

func wireExit(x runner.Exit) *exitWire {
	return &exitWire{x.Code, x.Why.String(), milliseconds(x.Elapsed)}
}

func (w exitWire) exit() runner.Exit {
	x := runner.Exit{Code: w.Code, Elapsed: duration(w.ElapsedMS)}
	for _, why := range []runner.Why{runner.TimedOut, runner.Cancelled} {
		if why.String() == w.Why {
			x.Why = why
		}
	}
	return x
}

// milliseconds and duration lose no precision of a clock.
func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// duration rounds to the nanosecond: a figure of JSON that was one is it again.
func duration(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

func (d *Document) wireBytes(all []steps.RailBytes) []bytesWire {
	var out []bytesWire
	for _, b := range all {
		out = append(out, bytesWire{
			Node: d.node(b.End), End: b.End.String(), Rail: b.Dev,
			Index: b.Rail, Test: b.Test, Tx: b.Tx, Rx: b.Rx, Known: b.Known, Why: b.Why,
			Source: b.Source, IPTx: b.IPTx, IPRx: b.IPRx, IPKnown: b.IPKnown,
			IPWhy: b.IPWhy, Seconds: b.Seconds, Idle: b.IdleGbps, IdleTx: b.IdleTx, IdleRx: b.IdleRx, Degrees: b.Degrees,
			Errors: b.Errors,
		})
	}
	return out
}

func railBytes(all []bytesWire) []steps.RailBytes {
	var out []steps.RailBytes
	for _, w := range all {
		out = append(out, steps.RailBytes{
			End: endOf(w.End), Dev: w.Rail, Rail: w.Index, Test: w.Test, Tx: w.Tx,
			Rx: w.Rx, Known: w.Known, Why: w.Why, Source: w.Source,
			IPTx: w.IPTx, IPRx: w.IPRx, IPKnown: w.IPKnown, IPWhy: w.IPWhy, Seconds: w.Seconds, IdleGbps: w.Idle,
			IdleTx: w.IdleTx, IdleRx: w.IdleRx, Degrees: w.Degrees, Errors: w.Errors,
		})
	}
	return out
}

// finite is a verdict without the figures that JSON cannot hold.
func finite(v steps.Verdict) steps.Verdict {
	v.Evidence = append([]steps.Evidence{}, v.Evidence...)
	for i, e := range v.Evidence {
		if x, ok := e.Value.(float64); ok && !isFinite(x) {
			v.Evidence[i].Value = "unknown"
		}
		if x := e.Expected; x != nil {
			band := *x
			if band.Min != nil && !isFinite(*band.Min) {
				band.Min = nil
			}
			if band.Max != nil && !isFinite(*band.Max) {
				band.Max = nil
			}
			v.Evidence[i].Expected = &band
		}
	}
	v.Figures = slices.DeleteFunc(slices.Clone(v.Figures), func(f steps.Figure) bool {
		return !isFinite(f.Value) || !isFinite(f.P95) || !isFinite(f.P99) || !isFinite(f.Last)
	})
	v.Charts = slices.Clone(v.Charts)
	for i, c := range v.Charts {
		v.Charts[i] = finiteChart(c)
	}
	return v
}

// finiteChart leaves out what JSON has no number for.
func finiteChart(c steps.Chart) steps.Chart {
	c.Limits = slices.DeleteFunc(slices.Clone(c.Limits), func(l steps.Limit) bool { return !isFinite(l.Value) })
	c.Series = slices.Clone(c.Series)
	for i, s := range c.Series {
		c.Series[i].Points = slices.DeleteFunc(slices.Clone(s.Points),
			func(p steps.Point) bool { return !isFinite(p.X) || !isFinite(p.Y) })
	}
	return c
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
