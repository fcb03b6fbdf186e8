package steps

import (
	"fmt"
	"time"

	"github.com/railbench/railbench/runner"
)

// An Event is something that happened. Every screen folds the same ones.
type Event interface{ event() }

// RunID identifies a run of a session; it is also the execution count.
type RunID int

type (
	// CellQueued says that a cell waits for its turn.
	CellQueued struct{ Cell string }
	// CellDequeued takes that back.
	CellDequeued struct{ Cell string }
	// CellStarted begins a run.
	CellStarted struct {
		Run  RunID
		Cell string
		At   time.Time
		// Scripts are those of its roles, as they run.
		Scripts []string
	}
	// CellPrinted carries lines of a run, in order.
	CellPrinted struct {
		Run   RunID
		Cell  string
		Lines []OutputLine
		// Dropped is how many lines came before these and were left out, because a
		// screen that is behind could not show them any more. The log has them.
		Dropped int
	}
	// CellMeasured brings the table of what a run has measured so far.
	CellMeasured struct {
		Run   RunID
		Cell  string
		Table Table
	}
	// CellEnded ends a run.
	CellEnded struct {
		Run     RunID
		Cell    string
		At      time.Time
		Elapsed time.Duration
		Exit    runner.Exit // of the role that decides: the last one, or the first that failed
		HasExit bool        // false where nothing ran
		Verdict Verdict
		Bytes   []RailBytes
		Log     string // file with the full output; empty where there is none
		Unkept  string // why there is none, though there should be
	}
	// CellCleared forgets a cell's output and verdict.
	CellCleared struct{ Cell string }
	// RigProbed brings a new look at the nodes.
	RigProbed struct{ Rig Rig }
	// ParamsSet brings all parameters that are set. What runs after it has them.
	ParamsSet struct{ Params Settings }
	// PartChanged brings the cells of a part: one was edited, added or removed.
	PartChanged struct {
		Part  string
		Cells []Cell
	}
	// Saved says where the session is saved, or why it is not.
	Saved struct {
		Path string
		Why  string
		// Kept says that it is saved in Path all the same, and Why is about another file.
		Kept bool
	}
	// NodeChanged gives the state of a node's connection.
	NodeChanged struct {
		Node  int // its number
		State runner.State
		Why   string // the whole error: what, where, why, and what to do
		Cause string // why, and what to do, for a line that says where already
	}
)

func (CellQueued) event()   {}
func (CellDequeued) event() {}
func (CellStarted) event()  {}
func (CellPrinted) event()  {}
func (CellMeasured) event() {}
func (CellEnded) event()    {}
func (CellCleared) event()  {}
func (RigProbed) event()    {}
func (ParamsSet) event()    {}
func (PartChanged) event()  {}
func (Saved) event()        {}
func (NodeChanged) event()  {}

// LineKind is where a line of a cell's output came from.
type LineKind uint8

// The kinds of lines.
const (
	FromStdout LineKind = iota
	FromStderr
	// Note is railbench's own: which role started where, and how it ended.
	Note
)

// ForRailbench begins a line of a script's output that is railbench's own to read: the log has it, and the screen,
// where it would stand in the way, has not.
const ForRailbench = "#railbench "

// An OutputLine is one line under a cell.
type OutputLine struct {
	Kind LineKind
	// From is the node's name; Role the role's. Both may be empty in a Note.
	From, Role string
	Text       string
	// Rail is the one whose test begins with a Note, from 1; 0 elsewhere.
	Rail int
	// Spans are the colours that the tool gave it. The text itself has no escape
	// sequence.
	Spans []Span
}

// The types of a tool's colours, for packages that must not import the runner.
type (
	Span  = runner.Span
	Style = runner.Style
	Color = runner.Color
	Attr  = runner.Attr
)

// The attributes of a style.
const (
	Bold      = runner.Bold
	Faint     = runner.Faint
	Italic    = runner.Italic
	Underline = runner.Underline
)

// What a node asks, as the screen sees it: it knows no runner.
type (
	HostKeyQuestion = runner.HostKeyQuestion
	SecretQuestion  = runner.SecretQuestion
)

// A Question waits for the user: a host key to accept, a secret, or leave to change a
// network.
type Question struct {
	HostKey *HostKeyQuestion
	Secret  *SecretQuestion
	Change  *ChangeQuestion
	// Answer takes the answer, once. A host key and a change are answered "yes" or
	// "no". ok is false where the user declined.
	Answer func(text string, ok bool)
}

// A ChangeQuestion asks before a change is made and, once it is there and works,
// whether it stays.
type ChangeQuestion struct {
	Cell  string
	Title string
	// Keep is false before the change. After it Deadline is when the nodes are rolled back
	// automatically, on the clock of the person who is asked and not the nodes', and Found
	// what was seen.
	Keep bool
	// Final says that it does not change the network, and can't be rolled back.
	Final    bool
	Deadline time.Time
	Found    Verdict
	// Places are what it changes, a node each.
	Places []ChangePlace
	// Warnings are sentences: what the change cuts off.
	Warnings []string
	// Rollback is a sentence: what happens if the change is not confirmed. Empty if it undoes another change.
	Rollback string
}

// All says on how many nodes it changes something: both nodes, or all 8 nodes.
func (q ChangeQuestion) All() string {
	if len(q.Places) > len(Ends) {
		return fmt.Sprintf("all %d nodes", len(q.Places))
	}
	return "both nodes"
}

// A ChangePlace is one node of a change: the script that runs there as root, and the
// interfaces that it changes.
type ChangePlace struct {
	Node   string
	Script string
	// HandOver runs before it, as root too: it releases the interfaces from their managers.
	// Empty where they are unmanaged.
	HandOver string
	Set      []string
	// Held are those that a manager configures. The change takes them from it.
	Held []HeldNetdev
	// Becomes is their state after the change: "MTU 9000 on each"; empty if only the script says it.
	Becomes string
}

// A HeldNetdev is an interface that a manager configures.
type HeldNetdev struct {
	Netdev  string
	Rail    int // that it carries, from 1; 0 for none
	Manager Manager
}

// String is "rail 1 (enp1s0f0np0): NetworkManager, profile netplan-enp1s0f0np0".
func (h HeldNetdev) String() string {
	if h.Rail == 0 {
		return fmt.Sprintf("%s: %s", h.Netdev, h.Manager)
	}
	return fmt.Sprintf("rail %d (%s): %s", h.Rail, h.Netdev, h.Manager)
}
