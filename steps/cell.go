package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Part is one chapter of a tutorial.
type Part struct {
	ID    string
	Title string
	Prose string // Markdown before the first cell
	Cells []Cell
	// Params are the parameters that the part declares for its scripts: names and
	// defaults.
	Params []Param
}

// AllRails is the Rails of a cell that takes every pair of rails at once.
const AllRails = "all"

// A Cell is one step: prose, scripts that run on the nodes, a parser that reads
// what they print and a judge that says what it means.
type Cell struct {
	ID    string // unique in the tutorial, fixed: scripts name it; see IsID
	Part  string // the part's ID
	Title string
	Prose string // Markdown, shown above the script
	// Roles run in this order; each but the last is a server that the next one
	// waits for, unless On is Both, where one role runs on both nodes at once.
	Roles []Role
	// EachRail repeats the roles for every pair of rails, in order.
	EachRail bool
	Parser   string // registered in the catalog
	Judge    string // registered in the catalog
	Limit    time.Duration
	// Needs are the commands without which the cell is SKIPPED.
	Needs []string
	// Counters has the bytes of every rail read before and after.
	Counters bool
	// Change is what the cell does to the nodes' network; empty where it only looks.
	Change Change
	// Rails is what the cell needs: "2" for two pairs of rails, "halves" for a pair
	// across the PCIe halves, AllRails for two or more, of which it leaves out none; empty
	// where one will do.
	Rails string
	// Inside says that its scripts run in the container that the parameter CONTAINER names, where
	// one is named.
	Inside bool
	// Unbonded refuses the cell while a bond holds a rail.
	Unbonded bool
	// Together says that all roles have to end by themselves: once one has ended
	// the others have a few seconds, and less where it failed.
	Together bool
	// Stall, where not zero, ends the cell when none of its roles printed a line
	// for so long.
	Stall time.Duration
	// With names the services that railbench runs for the cell: see session.Service.
	With []string
	// Own names what railbench does itself in place of a script; Roles is empty then.
	Own string
	// Pairs are the two cells, of bandwidth and of latency, that it measures between every two nodes of the
	// rig; nil if it is not a matrix of pairs.
	Pairs []string `json:",omitempty"`
	// Edited says that the user has changed its scripts, and Scratch that the user has added it: it is in no
	// file.
	Edited, Scratch bool
	// Asks makes railbench ask the user before the scripts run: they change something other than the network,
	// which railbench can't roll back.
	Asks bool
	// Hidden is off the screen by the user's wish. What it came to counts as before.
	Hidden bool `json:",omitempty"`
	// Aside leaves it out of what runs all cells: it is run by itself.
	Aside bool `json:",omitempty"`
	// Shows is a regular expression for the lines of a long output that are seen before it is
	// opened; empty where these are its last ones.
	Shows string `json:",omitempty"`
	// Check is what makes the cell an entry of the checklist.
	Check Check
	// Tail is Markdown that stands after the cell.
	Tail string
}

// LaunchService is the service that starts a program on every node of the rig.
const LaunchService = "launch"

// OfEveryNode reports whether the cell is of all nodes, and not of the link under test alone: what
// it starts runs on each of them.
func (c Cell) OfEveryNode() bool { return c.Pairs != nil || slices.Contains(c.With, LaunchService) }

// AsksAll reports whether the cell asks every node of the rig, and only looks, as a check does.
func (c Cell) AsksAll() bool { return !c.Change.Any() && len(c.Roles) > 0 && c.Roles[0].On == OnAll }

// Surveys reports whether a node that does not answer is a finding of the cell's, and no reason to stop.
func (c Cell) Surveys() bool { return c.Check.Any() || c.AsksAll() }

// OverLink reports whether the cell runs over the link under test, so that a rig of more nodes has
// to say which: a check looks at all, a collective is of all, and some cells are.
func (c Cell) OverLink() bool {
	return !c.Surveys() && !c.OfEveryNode() && !c.ChangesAll() && len(c.Roles) > 0
}

// ChangesAll reports whether the cell is a change that every node of the rig gets, or none.
func (c Cell) ChangesAll() bool { return c.Change.Any() && len(c.Roles) > 0 && c.Roles[0].On == OnAll }

// Container is the variable that names the container in which scripts with the attribute inside run; empty for none.
const Container = "CONTAINER"

// NoContainer is how a script ends that should run in a container that is not there: EX_NOINPUT,
// which no tool of the catalog uses.
const NoContainer = 66

// maxID bounds an id: a file's name is made of it.
const maxID = 100

var idForm = lazyregexp.New(`^[a-z0-9][a-z0-9-]*$`)

// IsID reports whether a word can be the id of a cell or a part: small letters, digits and -, a hundred at
// most. Ids become names of files and words of commands, so every id from a file is checked with this first.
func IsID(id string) bool { return len(id) <= maxID && idForm.Regexp().MatchString(id) }

var commandForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// IsCommand reports whether a word can be the name of a command that a node is looked at for:
// a shell takes it as it stands.
func IsCommand(name string) bool { return len(name) <= maxID && commandForm.Regexp().MatchString(name) }

// Retells reports whether railbench makes it of what other cells came to: it measures nothing, unlike the pairs,
// which railbench does itself, too.
func (c Cell) Retells() bool { return c.Own != "" && c.Pairs == nil }

// Note reports whether it is text only: there is nothing to run.
func (c Cell) Note() bool { return len(c.Roles) == 0 && c.Own == "" }

// Check is what only an entry of the checklist has: it looks at one thing that can be wrong with a rig.
type Check struct {
	// Finds are the faults of the simulated rig that it has to see.
	Finds []string
	// Explains are the cells whose FAIL, and the codes that it may explain; a * stands for anything.
	Explains []string
	// Fix is the cell that corrects it; empty where a person has to do it.
	Fix string
	// Measures says that it moves data over the rails: it runs alone, after others.
	Measures bool
	// EveryPair says that it compares each two nodes, however many there are: what must be
	// different everywhere shows between no two neighbours.
	EveryPair bool
}

// Cures names the cell that fixes what a check found; empty if there is none, or it does not fix that.
func (c Check) Cures(v Verdict) string {
	if v.ByHand {
		return ""
	}
	return c.Fix
}

// Any reports whether the cell is a check.
func (c Check) Any() bool { return len(c.Finds) > 0 }

// Where says on which nodes a role runs.
type Where uint8

// The places.
const (
	OnHere Where = iota
	OnPeer
	OnBoth
	// OnAll is OnBoth, over every link of a rig of more than two nodes: of a change, which all get or none, and of what
	// looks at each.
	OnAll
)

func (w Where) String() string { return [...]string{"here", "peer", "both", "all"}[w] }

// UnmarshalJSON takes a place of a session's, which may be anybody's.
func (w *Where) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 8)
	if err != nil || Where(n) > OnAll {
		return fmt.Errorf("%s is not a place where a script runs", b)
	}
	*w = Where(n)
	return nil
}

// Ends lists the ends of a link that w means.
func (w Where) Ends() []End {
	switch w {
	case OnHere:
		return []End{Here}
	case OnPeer:
		return []End{Peer}
	default:
		return []End{Here, Peer}
	}
}

// A Role is one script of a cell and the place where it runs.
type Role struct {
	Name   string // "server", "client", or empty where there is only one
	On     Where
	Script string // POSIX shell, or for Interpreter; as shown and copied
	Ready  Ready  // when the next role may start
	Root   bool
	// Before runs in front of the script, in the same shell. It is what several cells have
	// in common, and is folded where the script is shown.
	Before string `json:",omitempty"`
	// Probe says that it is not part of the lesson: railbench reads from it what the judge needs, after the
	// other roles, and its output is only in the log. In a cell with a probe nothing else is parsed or
	// judged.
	Probe bool `json:",omitempty"`
	// Shared says that its script is that of the role before it: one block of the file.
	Shared bool `json:",omitempty"`
	// Interpreter runs the script, and what is before it, in place of the shell: see
	// Interpreters.
	Interpreter string `json:",omitempty"`
	// Values and Expects are what the runbook itself says of the output: see package expect.
	Values  []string `json:",omitempty"`
	Expects []string `json:",omitempty"`
}

// Interpreters are what can run a script, apart from the shell.
func Interpreters() []string { return []string{"bash", "python3"} }

// Text is all of a role that runs.
func (r Role) Text() string { return r.Before + r.Script }

// Reads reports whether a role reads a variable: its script does, or a range of its values.
func (r Role) Reads(name string) bool {
	return Names(r.Text(), name) || Names(r.Ready.Port, name) || Names(strings.Join(r.Values, "\n"), name)
}

// A Lesson is a script of a cell as it is shown: once, however many roles run it.
type Lesson struct {
	Role
	No    int      // of the first role that runs it
	Names []string // of all roles that run it, the empty one left out
}

// Lessons are the scripts of a cell that a reader is shown; probes are the others.
func (c Cell) Lessons() (shown, probes []Lesson) {
	var all []Lesson
	for i, r := range c.Roles {
		if !r.Shared || len(all) == 0 {
			all = append(all, Lesson{Role: r, No: i})
		}
		if last := &all[len(all)-1]; r.Name != "" {
			last.Names = append(last.Names, r.Name)
		}
	}
	for _, l := range all {
		if l.Probe {
			probes = append(probes, l)
		} else {
			shown = append(shown, l)
		}
	}
	return shown, probes
}

// Probed reports whether a probe is what is judged.
func (c Cell) Probed() bool {
	return !c.Change.Any() && slices.ContainsFunc(c.Roles, func(r Role) bool { return r.Probe })
}

// WithScript is a cell with another script in the place of one role's, and of those that
// share it.
func (c Cell) WithScript(no int, script string) Cell {
	c.Roles = slices.Clone(c.Roles)
	first := no
	for first > 0 && c.Roles[first].Shared {
		first--
	}
	for i := first; i < len(c.Roles) && (i == first || c.Roles[i].Shared); i++ {
		c.Roles[i].Script = script
	}
	return c
}

// OnSeveral reports whether lines of its output come from more than one node.
func (c Cell) OnSeveral() bool {
	for _, r := range c.Roles {
		if r.On != OnHere && r.On != OnPeer || r.On != c.Roles[0].On {
			return true
		}
	}
	return false
}

// Change says what a cell does to the nodes' network. A cell that changes it runs
// as a guarded change: see session/change.go.
type Change struct {
	// Set names variables that hold the interfaces that may change, and those that
	// may be made: the change set.
	Set []string
	// Undoes is the cell whose change is taken back, or Everything; where it left none the script
	// runs, as a change of its own.
	Undoes string
	// Tries says that the interfaces' managers make the change and keep the interfaces, and that it is rolled
	// back as soon as it was probed. The script of the role back makes the managers forget it: the rollback
	// begins with that.
	Tries bool
}

// RoleBack is the role of a script that a rollback begins with.
const RoleBack = "back"

// Looks are the scripts of a change that look at what it did.
func (c Cell) Looks() []Role {
	return slices.DeleteFunc(slices.Clone(c.Roles[1:]), func(r Role) bool { return r.Name == RoleBack })
}

// Forgets is the script by which managers forget what they made; ok is false where there is none.
func (c Cell) Forgets() (r Role, ok bool) {
	i := slices.IndexFunc(c.Roles, func(r Role) bool { return r.Name == RoleBack })
	if i < 0 {
		return r, false
	}
	return c.Roles[i], true
}

// Everything is what a cell undoes that takes back all that railbench changed.
const Everything = "*"

// Any reports whether the cell changes something.
func (c Change) Any() bool { return len(c.Set) > 0 }

// Ready says when a server can be talked to. The zero value: at once.
type Ready struct {
	Line string // a regular expression that a line of its output matches
	Port string // a TCP port, or a variable that holds one, that listens on its node
}

// A Tutorial is the parts in order, and the checklist.
type Tutorial struct {
	Title string
	Parts []Part
	// Checklist are the parts that are not in the notebook: checks, the cells that fix what they find, and
	// those that load rails.
	Checklist []Part
	// Sayings are what leads to a check: what people say and what tools print. They are made on the first
	// use; nil is none.
	Sayings func() *Sayings
}

// Cell finds a cell by its id, in the checklist too.
func (t Tutorial) Cell(id string) (Cell, bool) {
	for _, p := range t.all() {
		for _, c := range p.Cells {
			if c.ID == id {
				return c, true
			}
		}
	}
	return Cell{}, false
}

// IDs are those of every cell, of the checklist too.
func (t Tutorial) IDs() []string {
	var ids []string
	for _, p := range t.all() {
		for _, c := range p.Cells {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Own is a copy whose parts, cells and roles are the caller's to change.
func (t Tutorial) Own() Tutorial {
	own := func(parts []Part) []Part {
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Cells = slices.Clone(parts[i].Cells)
			for j := range parts[i].Cells {
				parts[i].Cells[j].Roles = slices.Clone(parts[i].Cells[j].Roles)
			}
		}
		return parts
	}
	t.Parts, t.Checklist = own(t.Parts), own(t.Checklist)
	return t
}

func (t Tutorial) all() []Part { return slices.Concat(t.Parts, t.Checklist) }

// Cells lists every cell of the parts, in order, and none of the checklist.
func (t Tutorial) Cells() []Cell {
	var all []Cell
	for _, p := range t.Parts {
		all = append(all, p.Cells...)
	}
	return all
}

// Main lists the cells that run where all are asked for.
func (t Tutorial) Main() []Cell {
	return slices.DeleteFunc(t.Cells(), func(c Cell) bool { return c.Aside || c.Hidden })
}

// CellsOf lists the cells of a part, of the checklist too.
func (t Tutorial) CellsOf(part string) []Cell {
	for _, p := range t.all() {
		if p.ID == part {
			return p.Cells
		}
	}
	return nil
}

// With is the tutorial with other cells in one of its parts.
func (t Tutorial) With(part string, cells []Cell) Tutorial {
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		if t.Parts[i].ID == part {
			t.Parts[i].Cells = cells
		}
	}
	return t
}

// Params are the parameters that the parts declare, each once.
func (t Tutorial) Params() []Param {
	var all []Param
	for _, part := range t.all() {
		for _, p := range part.Params {
			if !slices.ContainsFunc(all, func(q Param) bool { return q.Name == p.Name }) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Undoing is the one cell that undoes what another one changes. If there are several, it is unknown whose
// change is in the way.
func (t Tutorial) Undoing() (undo Cell, ok bool) {
	for _, p := range t.all() {
		for _, c := range p.Cells {
			if c.Change.Undoes == "" || c.Change.Undoes == Everything {
				continue
			}
			if ok {
				return Cell{}, false
			}
			undo, ok = c, true
		}
	}
	return undo, ok
}

// Select resolves ids of cells and parts, of the checklist too, to cells in the
// tutorial's order, each once. An id that names nothing is an error that names the
// nearest.
func (t Tutorial) Select(ids ...string) ([]Cell, error) {
	want := map[string]bool{}
	var known []string
	for _, id := range ids {
		found := false
		for _, p := range t.all() {
			for _, c := range p.Cells {
				if c.ID == id || p.ID == id {
					want[c.ID], found = true, true
				}
			}
			found = found || p.ID == id
		}
		if found {
			continue
		}
		if known == nil {
			for _, p := range t.all() {
				known = append(known, p.ID)
				for _, c := range p.Cells {
					known = append(known, c.ID)
				}
			}
		}
		return nil, fmt.Errorf("unknown cell or part %q%s (railbench list shows all)", id, DidYouMean(id, known))
	}
	var cells []Cell
	for _, p := range t.all() {
		for _, c := range p.Cells {
			if want[c.ID] {
				cells = append(cells, c)
			}
		}
	}
	return cells, nil
}
