package steps

import (
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps/parse"
)

// A Result is everything that was seen while a cell ran. It is what the judge gets.
type Result struct {
	Rig    Rig
	Stages []Stage
	// Before and After are the counters of every rail around each stage's run; they
	// stand in the Stage. Skip says why nothing was run: a missing tool, no rails.
	Skip string
	// Changed is what became of a cell's change of the network; nil where the cell
	// has none.
	Changed *Changed
}

// Changed is the outcome of a guarded change. A judge sees one only where both
// nodes have it, or where there was nothing to do.
type Changed struct {
	// Nothing says why there was nothing to do; empty where there was.
	Nothing string
	// Undone says that what the cell undoes was put back, as it was captured.
	Undone bool
	// Tried says that it was looked at and is back: After is how the nodes looked meanwhile.
	Tried bool
	// After is how the nodes look now.
	After Rig
}

// A Plan is what a change would do to a rig.
type Plan struct {
	// Refuse says why it must not be made, Nothing why it need not.
	Refuse, Nothing string
	// Vars are what its scripts read, by End.
	Vars [2]map[string]string
	// Becomes says what state each node will have, by End, for the question to the user; empty if only the
	// scripts say it.
	Becomes [2]string
}

// A Planner works out a change from what the rig looks like. params are the
// parameters of the scripts.
type Planner func(rig Rig, params map[string]string) Plan

// A Stage is one pass over a cell's roles: the only one, or one per pair of rails.
type Stage struct {
	// Pair is the index into Rig.Pairs, -1 where the cell is not repeated per rail.
	Pair    int
	Outputs []Output
	// Bytes is what each rail moved during the stage; empty unless the cell asks
	// for counters.
	Bytes []RailBytes
	// Restarted are the nodes that rebooted in the middle, which resets their counters.
	Restarted []string
	// Err is set where the stage could not be run to its end.
	Err string
	// Stalled is set where that is because nothing was printed and nothing moved for too long.
	Stalled bool
	// Service is set where that is because a service that the cell needs ended: its name and why.
	Service string
	// Halted is set where that is because a process of the test is stopped (state T): its name and node.
	Halted  string
	Elapsed time.Duration
}

// Output is what one role did on one node.
type Output struct {
	Role string
	End  End
	// Complaint is the last line of stderr; empty where it said nothing.
	Complaint string
	// Asked are the variables that its script was given, by name.
	Asked map[string]string
	Exit  runner.Exit
	// Ran is false if the script never started, or its end was not seen: Err says why, and Failed gives the
	// kind of that. Err is empty if it was not tried, because a role before it was not ready.
	Ran    bool
	Err    string
	Failed runner.Kind
	// Text is what it printed on both streams, kept up to a limit; Cut says that
	// there was more.
	Text string
	Cut  bool
	// Value is what the parser read; ParseErr says why it could not.
	Value    any
	ParseErr string
	// Defect says that the parser itself broke off: ParseErr has where. No judge is asked.
	Defect bool
}

// RailBytes is what one rail carried in some time.
type RailBytes struct {
	End  End
	Dev  string
	Rail int // index into Rig.At(End).Rails
	// Test is the rail whose test it was counted in, from 1; 0 in a stage, and where a cell has one for all rails.
	Test int
	// Tx and Rx are bytes on the wire, without the idle baseline; Known is false where a counter was
	// missing or went backwards, and Why says so.
	Tx, Rx uint64
	Known  bool
	Why    string
	// Source is "port_xmit_data" or "netdev", which count different things (see
	// meter.Source).
	Source string
	// IPTx and IPRx are the bytes that the rail's interface counted, without the idle baseline: TCP and
	// everything else that is not RDMA on an adapter that has port counters, and all bytes if Source is the
	// interface itself. IPKnown is false if they were missing, and IPWhy says why.
	IPTx, IPRx uint64
	IPKnown    bool
	IPWhy      string
	// Seconds are those in which it did, by the node's clock; 0 where unknown. What the tools take
	// to begin and to end is in them.
	Seconds float64
	// IdleGbps is what moved on the rail before the stage began, and IdleTx and IdleRx the
	// bytes that were taken off for it.
	IdleGbps       float64
	IdleTx, IdleRx uint64
	// Degrees is the adapter's own temperature when the stage was over, or its sensor's maximum since then,
	// in degrees Celsius; 0 if it is not measured.
	Degrees float64
	// Errors are the error counters that grew, by name.
	Errors map[string]uint64
}

// A Catalog is what a cell can name as parser and judge.
type Catalog struct {
	Parsers map[string]Parser
	Judges  map[string]Judge
	// Plans, by judge, are of the cells that change something.
	Plans map[string]Planner
	// Live, by parser, make a table of what a role has printed so far, for the
	// screen. ok is false as long as there is nothing to show.
	Live map[string]func(stdout string) (t Table, ok bool)
	// Own, by name, judge the cells that railbench does itself, from what the cells
	// of this session came to.
	Own map[string]func(History) Verdict
	// Figures, by judge, are what its figures are of; none for most.
	Figures map[string][]Measure
	// Params are the parameters of the scripts, in the order in which they are shown.
	Params []Param
	// Commands are the programs that the cells call.
	Commands []Command
	// Tools are those whose saved output can be read without a cell.
	Tools parse.Tools
	// Fits reports whether what a parser gives is what a judge takes.
	Fits func(parser, judge string) bool
}

// A Command is a program that cells call on a node.
type Command struct {
	Name    string
	Package string // of Debian and Ubuntu, that brings it
	// Probed has it looked for on every node: a tool that a cell needs and a node lacks is reported before
	// the cell runs.
	Probed bool
	// Version is the option that prints its version; empty if it is not asked. The others of its package have
	// the same.
	Version string
}

// Probed are the names of the commands that are looked for.
func (c Catalog) Probed() []string {
	var names []string
	for _, p := range c.Commands {
		if p.Probed {
			names = append(names, p.Name)
		}
	}
	return names
}

// A History is what a cell of railbench's own looks back on.
type History struct {
	Rig Rig // as it is now
	// Outcomes are of the cells that ran, each once, in the order of their last end.
	Outcomes []Outcome
	// Params are the parameters of the scripts, by name.
	Params map[string]string
}

// An Outcome is what one cell of this session came to, the last time it ran.
type Outcome struct {
	Cell    Cell
	Result  Result
	Verdict Verdict
	At      time.Time
}

// A Parser reads what one role printed. It gets stdout and stderr as lines.
type Parser func(stdout, stderr string) (any, error)

// A Judge says what a result means. It is pure.
type Judge func(Cell, Result) Verdict
