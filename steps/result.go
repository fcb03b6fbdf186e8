package steps

import (
	"time"

	"github.com/railbench/railbench/runner"
)

// A Result is everything that was seen while a cell ran. It is what the judge gets.
type Result struct {
	Rig    Rig
	Stages []Stage
	// Before and After are the counters of every rail around each stage's run; they
	// stand in the Stage. Skip says why nothing was run: a missing tool, no rails.
	Skip string
}

// A Stage is one pass over a cell's roles: the only one, or one per pair of rails.
type Stage struct {
	// Pair is the index into Rig.Pairs, -1 where the cell is not repeated per rail.
	Pair    int
	Outputs []Output
	// Bytes is what each rail moved during the stage; empty unless the cell asks
	// for counters.
	Bytes []RailBytes
	// Err is set where the stage could not be run to its end.
	Err     string
	Elapsed time.Duration
}

// Output is what one role did on one node.
type Output struct {
	Role string
	End  End
	Exit runner.Exit
	// Ran is false where the script never started, or its end was not seen: Err says why.
	Ran bool
	Err string
	// Text is what it printed on both streams, kept up to a limit; Cut says that
	// there was more.
	Text string
	Cut  bool
	// Value is what the parser read; ParseErr says why it could not.
	Value    any
	ParseErr string
}

// RailBytes is what one rail carried in some time.
type RailBytes struct {
	End  End
	Dev  string
	Rail int // index into Rig.Nodes[End].Rails
	// Tx and Rx are bytes on the wire, without the idle baseline; Known is false where a counter was
	// missing or went backwards, and Why says so.
	Tx, Rx uint64
	Known  bool
	Why    string
	// Source is "port_xmit_data" or "netdev", which count different things (see
	// meter.Source).
	Source string
	// IPTx and IPRx are the bytes that the rail's interface counted, without the
	// idle baseline: TCP and all else that is no RDMA on an adapter that has port
	// counters, and everything where Source is the interface itself. IPKnown is
	// false where they were missing, and IPWhy says why.
	IPTx, IPRx uint64
	IPKnown    bool
	IPWhy      string
	// IdleGbps is what moved on the rail before the stage began.
	IdleGbps float64
	// Errors are the error counters that grew, by name.
	Errors map[string]uint64
}

// A Catalog is what a cell can name as parser and judge.
type Catalog struct {
	Parsers map[string]Parser
	Judges  map[string]Judge
}

// A Parser reads what one role printed. It gets stdout and stderr as lines.
type Parser func(stdout, stderr string) (any, error)

// A Judge says what a result means. It is pure.
type Judge func(Cell, Result) Verdict
