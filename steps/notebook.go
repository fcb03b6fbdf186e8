package steps

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/railbench/railbench/runner"
)

// KeepLines is how many lines of a cell's output a Notebook holds, and KeepBytes what
// they may take: with lines as long as they can be 10,000 of them would be 160 MB. KeepAll is what the
// outputs of all cells may take together: beyond it the longest loses its oldest lines. The rest is in
// the logs on disk.
const (
	KeepLines = 10_000
	KeepBytes = 8 << 20
	KeepAll   = 32 << 20
)

// A Notebook is the state of a session: the fold of its events. It is a value,
// and Apply never changes the one that it is called on.
type Notebook struct {
	Tutorial    Tutorial
	Rig         Rig
	Connections []Connection         // by the nodes' numbers; see Connection
	Cells       map[string]CellState // by cell id; a cell that never ran is missing
	Running     string               // id of the cell that has been running longest; empty when idle
	Queue       []string             // ids of the cells that wait, in order
	Params      Settings             // the parameters that are set
	Saved       Saved                // where the session is saved
	kept        int                  // bytes that the outputs of all cells take
	changes     int                  // of cells and of parts, counted
	edits       int                  // the change with the last edit of a part
	plans       int                  // how often something changed that a plan depends on
}

// A Connection is the state of the connection to one node.
type Connection struct {
	State runner.State
	Why   string // see NodeChanged
	Cause string
}

// Connected reports whether scripts can run there.
func (l Connection) Connected() bool { return l.State == runner.Connected }

// Connecting reports whether the node is being connected to.
func (l Connection) Connecting() bool { return l.State == runner.Connecting }

// Lost reports whether the connection broke or could not be made.
func (l Connection) Lost() bool { return l.State == runner.Disconnected }

// CellState is what is known about one cell.
type CellState struct {
	Run     RunID // execution count; 0 = never run
	Running bool
	Started time.Time
	Elapsed time.Duration
	Exit    runner.Exit
	HasExit bool
	Output  Scroll
	Verdict Verdict
	Bytes   []RailBytes
	Log     string
	Live    Table // what the run has measured so far
	Rail    int   // that is being tested, from 1; 0 where the cell does not test each
	// What it ran with: see Stale. Scripts is nil if that is unknown.
	Scripts []string
	Params  map[string]string
	Rig     Rig
	changes int // of the notebook, at its last
}

// A Version identifies a state of a cell: as long as it is the same, nothing of the cell or its result has
// changed.
type Version struct{ state, edit int }

// Version is the version of a cell.
func (n Notebook) Version(id string) Version { return Version{n.Cells[id].changes, n.edits} }

// PlanVersion identifies a state on which a plan depends: as long as it is the same, the rig, the parameters
// and the scripts are.
func (n Notebook) PlanVersion() int { return n.plans }

// Connection is the state of the connection to a node by its number.
func (n Notebook) Connection(node int) Connection {
	if node < 0 || node >= len(n.Connections) {
		return Connection{}
	}
	return n.Connections[node]
}

// NewNotebook is the empty session of a tutorial.
func NewNotebook(t Tutorial) Notebook {
	return Notebook{Tutorial: t, Cells: map[string]CellState{}}
}

// Apply folds one event. An event of a run that is over is dropped.
func (n Notebook) Apply(e Event) Notebook {
	switch e := e.(type) {
	case CellQueued:
		n.Queue = append(slices.Clip(n.Queue), e.Cell)
	case CellDequeued:
		n.Queue = without(n.Queue, e.Cell)
	case CellStarted:
		n.Queue = without(n.Queue, e.Cell)
		if n.Running == "" {
			n.Running = e.Cell
		}
		n = n.with(e.Cell, CellState{
			Run: e.Run, Running: true, Started: e.At,
			Scripts: e.Scripts, Params: n.Params.Of(e.Cell),
		})
	case CellPrinted:
		return n.alter(e.Cell, e.Run, func(c *CellState) {
			c.Output = c.Output.Skip(e.Dropped).Append(e.Lines)
			for _, l := range e.Lines {
				c.Rail = cmp.Or(l.Rail, c.Rail)
			}
		})
	case CellMeasured:
		return n.alter(e.Cell, e.Run, func(c *CellState) { c.Live = e.Table })
	case CellEnded:
		return n.ended(e)
	case CellCleared:
		if c := n.Cells[e.Cell]; !c.Running {
			n.kept -= c.Output.bytes
			n.Cells = maps.Clone(n.Cells)
			delete(n.Cells, e.Cell)
		}
	case RigProbed:
		n.Rig = e.Rig
		n.plans++
	case ParamsSet:
		n.Params = e.Params
		n.plans++
	case PartChanged:
		n.plans++
		n.changes++
		n.edits = n.changes
		n.Tutorial = n.Tutorial.With(e.Part, e.Cells)
	case Saved:
		n.Saved = e
	case NodeChanged:
		return n.connection(e)
	}
	return n
}

// alter changes a cell while that run of it is under way. Else the event is late, and of
// what another run has replaced.
func (n Notebook) alter(cell string, run RunID, change func(*CellState)) Notebook {
	c := n.Cells[cell]
	if c.Run != run || !c.Running {
		return n
	}
	change(&c)
	return n.with(cell, c)
}

func (n Notebook) ended(e CellEnded) Notebook {
	rig := n.Rig // the session looks at the nodes before a run, and after a change
	cell, _ := n.Tutorial.Cell(e.Cell)
	n = n.alter(e.Cell, e.Run, func(c *CellState) {
		c.Running, c.Elapsed = false, e.Elapsed
		c.Output = c.Output.ByNode(cell.Places(rig))
		c.Exit, c.HasExit = e.Exit, e.HasExit
		c.Verdict, c.Bytes, c.Log = e.Verdict, e.Bytes, e.Log
		c.Rig = rig
	})
	if n.Running == e.Cell && !n.Cells[e.Cell].Running {
		n.Running = n.longest()
	}
	return n
}

// connection notes the state of a connection, of nodes that a rig can have: a number comes
// from a file.
func (n Notebook) connection(e NodeChanged) Notebook {
	if e.Node < 0 || e.Node >= MostNodes {
		return n
	}
	n.Connections = slices.Clone(n.Connections)
	for len(n.Connections) <= e.Node {
		n.Connections = append(n.Connections, Connection{})
	}
	n.Connections[e.Node] = Connection{State: e.State, Why: e.Why, Cause: e.Cause}
	return n
}

// longest is the running cell that began first: checks run side by side.
func (n Notebook) longest() string {
	first := ""
	for id, c := range n.Cells {
		if c.Running && (first == "" || c.Run < n.Cells[first].Run) {
			first = id
		}
	}
	return first
}

// with is a notebook with another state of a cell. The map is a new one: older notebooks keep theirs.
func (n Notebook) with(id string, c CellState) Notebook {
	n.changes++
	c.changes = n.changes
	n.Cells = maps.Clone(n.Cells)
	n.Put(id, c)
	return n
}

// Put sets the state of a cell in place, for a notebook that is not shared yet.
func (n *Notebook) Put(id string, c CellState) {
	n.kept += c.Output.bytes - n.Cells[id].Output.bytes
	n.Cells[id] = c
	for n.kept > KeepAll {
		longest := ""
		for other, c := range n.Cells {
			most := n.Cells[longest].Output.bytes
			if other != id && (c.Output.bytes > most || c.Output.bytes == most && other < longest) {
				longest = other
			}
		}
		if longest == "" {
			return // one cell by itself is bounded by KeepBytes
		}
		c := n.Cells[longest]
		n.kept -= c.Output.bytes
		c.Output = c.Output.shorter()
		n.kept += c.Output.bytes
		n.changes++
		c.changes = n.changes
		n.Cells[longest] = c
	}
}

func without(ids []string, id string) []string {
	var rest []string
	for _, x := range ids {
		if x != id {
			rest = append(rest, x)
		}
	}
	return rest
}

// A Scroll holds the last KeepLines lines of an output, or those that KeepBytes have
// room for, in blocks, so that appending to it copies block headers and never the
// lines.
type Scroll struct {
	blocks []block
	kept   int
	bytes  int
	total  int
}

type block struct {
	lines []OutputLine
	bytes int
}

// Append gives a scroll with the lines added and the oldest blocks dropped. It
// keeps the slice: the caller must not change it afterwards.
func (s Scroll) Append(lines []OutputLine) Scroll {
	if len(lines) == 0 {
		return s
	}
	s.total += len(lines)
	added := block{lines: lines}
	for i, l := range slices.Backward(lines) {
		if added.bytes += l.Size(); added.bytes > KeepBytes && i+1 < len(lines) {
			added.bytes -= l.Size()
			added.lines = slices.Clone(lines[i+1:]) // or the others would stay, too
			break
		}
	}
	s.kept += len(added.lines)
	s.bytes += added.bytes
	blocks := s.blocks
	for len(blocks) > 0 && (s.kept-len(blocks[0].lines) >= KeepLines || s.bytes-blocks[0].bytes >= KeepBytes) {
		s.kept -= len(blocks[0].lines)
		s.bytes -= blocks[0].bytes
		blocks = blocks[1:]
	}
	if n := len(blocks); n > 0 && blocks[n-1].takes(added) {
		// Small batches are merged, or a slow cell would have one block a line.
		last := blocks[n-1]
		merged := make([]OutputLine, 0, len(last.lines)+len(added.lines))
		merged = append(append(merged, last.lines...), added.lines...)
		s.blocks = append(blocks[:n-1:n-1], block{merged, last.bytes + added.bytes})
		return s
	}
	s.blocks = append(slices.Clip(blocks), added)
	return s
}

// shorter gives a scroll without its oldest block, or of a single one without the older half.
func (s Scroll) shorter() Scroll {
	if len(s.blocks) > 1 {
		s.kept -= len(s.blocks[0].lines)
		s.bytes -= s.blocks[0].bytes
		s.blocks = slices.Clone(s.blocks[1:]) // or what is dropped would stay behind it
		return s
	}
	lines := s.Lines((s.kept+1)/2, s.kept)
	return Scroll{}.Skip(s.total - len(lines)).Append(lines)
}

// ByNode groups what each node printed, in the order of their places: lines that several nodes print at once
// are mixed. A line of railbench's own without a node, such as the one with the rail, begins a new group.
func (s Scroll) ByNode(place func(OutputLine) int) Scroll {
	lines := s.Lines(0, s.Len())
	from, sorted := 0, true
	settle := func(to int) {
		block := lines[from:to]
		byPlace := func(a, b OutputLine) int { return place(a) - place(b) }
		if !slices.IsSortedFunc(block, byPlace) {
			sorted = false
			slices.SortStableFunc(block, byPlace)
		}
	}
	for i, l := range lines {
		if l.From == "" {
			settle(i)
			from = i + 1
		}
	}
	settle(len(lines))
	if sorted {
		return s
	}
	return Scroll{}.Skip(s.Dropped()).Append(lines)
}

// Place is where a line that one of the cell's roles printed stands among those of others:
// servers before their client, and the nodes in the rig's order.
func (c Cell) Place(l OutputLine, rig Rig) int {
	role := slices.IndexFunc(c.Roles, func(r Role) bool { return r.Name == l.Role })
	node := slices.IndexFunc(rig.Nodes, func(n Node) bool { return n.Name == l.From })
	return role*MostNodes + node
}

// Places is Place for many lines: it looks for each node and role once.
func (c Cell) Places(rig Rig) func(OutputLine) int {
	known := map[[2]string]int{}
	return func(l OutputLine) int {
		key := [2]string{l.Role, l.From}
		at, ok := known[key]
		if !ok {
			at = c.Place(l, rig)
			known[key] = at
		}
		return at
	}
}

// Size is about the memory that a line takes.
func (l OutputLine) Size() int {
	const line, span = 96, 16
	return line + len(l.Text) + span*len(l.Spans)
}

// Skip gives a scroll in which n lines were printed and not kept.
func (s Scroll) Skip(n int) Scroll {
	if n > 0 {
		s.total += n
	}
	return s
}

// blockLines and blockBytes are the size up to which blocks are merged. A block is
// dropped as a whole.
const (
	blockLines = 512
	blockBytes = KeepBytes / 16
)

func (b block) takes(more block) bool {
	return len(b.lines)+len(more.lines) <= blockLines && b.bytes+more.bytes <= blockBytes
}

// Len is how many lines can be read with Line.
func (s Scroll) Len() int { return s.kept }

// Dropped is how many lines came before the first that is kept.
func (s Scroll) Dropped() int { return s.total - s.kept }

// Lines copies the kept lines from i on, n at most.
func (s Scroll) Lines(i, n int) []OutputLine {
	var out []OutputLine
	for _, b := range s.blocks {
		if i >= len(b.lines) {
			i -= len(b.lines)
			continue
		}
		part := b.lines[i:min(len(b.lines), i+n-len(out))]
		out = append(out, part...)
		if i = 0; len(out) >= n {
			break
		}
	}
	return out
}

// Progress is how many cells of a part's way have a verdict, and how many there are.
func (n Notebook) Progress(p Part) (ran, all int) {
	for _, c := range p.Way() {
		all++
		if n.Cells[c.ID].Verdict.Grade != NotRun {
			ran++
		}
	}
	return ran, all
}

// Way are the cells that belong to the tutorial's way. Optional ones count only if the part has no others;
// notes and hidden ones don't.
func (p Part) Way() []Cell {
	runs := slices.DeleteFunc(slices.Clone(p.Cells), func(c Cell) bool { return c.Note() || c.Hidden })
	main := slices.DeleteFunc(slices.Clone(runs), func(c Cell) bool { return c.Aside })
	if len(main) == 0 {
		return runs
	}
	return main
}
