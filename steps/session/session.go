// Package session runs the cells of a tutorial on a rig's nodes and reports what happens as events. It owns
// the goroutines, the queue, the log on disk and the samplers; what events mean is steps.Notebook's, what a
// result means is the judges'.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/trust"
)

// Options are what a session is made of.
type Options struct {
	Rig       string // the rig's name
	Simulated bool
	// Speed is how much faster the nodes' time goes than the user's, if there is a screen; 0 is 1. What a
	// session itself waits for is in the nodes' time (runner.ClockOf).
	Speed float64
	// Nodes are the rig's, two or more, in the order of the rig file: a node's place here
	// is its number. Where says how each is reached, for people.
	Nodes []runner.Node
	Where []string
	// Link is the link under test at the start; the first two nodes where it is zero.
	Link steps.Link
	// Reach are the flags by which railbench finds this rig again.
	Reach    []string
	Tutorial steps.Tutorial
	Catalog  steps.Catalog
	Asker    *Asker // nil where no one is asked
	// Logs is the folder for the full output of every run; empty for none. LogBytes is
	// where a log ends; 0 is a gibibyte.
	Logs     string
	LogBytes int64
	// Rails, where not empty, choose and order the pairs of a link.
	Rails []RailChoice
	// Params override the parameters of the scripts (see params.go) for all cells, and
	// CellParams, by cell id, for one. They are as CheckParam gives them.
	Params     map[string]string
	CellParams map[string]map[string]string
	// Programs are texts that scripts hand to an interpreter, by variable.
	Programs map[string]string
	// Services, by the name that a cell's With has, are what railbench runs for cells.
	Services map[string]Service
	// Claimant is how this railbench introduces itself to others; without a token it takes no locks.
	LockOwner runner.LockOwner
	// OnWait, where not nil, is called with the cell that waits, and for whom.
	OnWait   func(string)
	versions *versions // a session's; nil has tools asked each time

	linger time.Duration // lockLinger, but for tests
	pause  time.Duration // lockPause
	// Trust says whose scripts may run; nil where all may.
	Trust *trust.Book
	// Limit, where not zero, replaces the limit of every cell.
	Limit time.Duration
	// Confirm is asked before a change; nil refuses every change.
	Confirm Confirmer
	// Journal keeps the rollbacks of changes; nil refuses every change.
	Journal *undo.Journal
	// ChangeTime is how long a change has to be confirmed; 0 is two minutes.
	ChangeTime time.Duration
	// Saving is where the session is kept.
	Saving Saving
	// Sample starts the samplers and with them the gauges.
	Sample bool
	// Runs is the last run of the saved session that this one continues; 0 where it
	// continues none.
	Runs steps.RunID
}

// A RailChoice names a rail of the rig file by its RDMA devices at a link's two ends.
type RailChoice struct {
	Link       steps.Link
	Here, Peer string
}

// UndoCommand is what takes the rig's changes back, to be pasted into a shell.
func (o Options) UndoCommand() string { return o.Command("undo") }

// Command is a verb with its arguments on this rig, to be pasted into a shell.
func (o Options) Command(args ...string) string {
	words := append([]string{"railbench"}, args...)
	for _, w := range o.Reach {
		if !plainWord.Regexp().MatchString(w) {
			w = runner.Quote(w)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// plainWord is what no shell takes apart.
var plainWord = lazyregexp.New(`^[\w./@:-]+$`)

// clock is the nodes' time. A rig's nodes have one.
func (o Options) clock() runner.Clock {
	if len(o.Nodes) == 0 {
		return runner.WallClock{}
	}
	return runner.ClockOf(o.Nodes[0])
}

func (o Options) settings() steps.Settings {
	return steps.Settings{All: o.Params, Cells: o.CellParams}
}

// A Session is safe for use by several goroutines.
type Session struct {
	o     Options
	clock runner.Clock
	out   *outbox
	// boards has room for one, which the newest replaces. Only samplers.publish sends, and
	// only samplers.stop closes, both under the samplers' mu.
	boards chan meter.Board
	// questions has no room: a question that was not fetched is still the node's.
	questions chan steps.Question

	//nolint:containedctx // the session's own life, no call's: ends at Close
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup // the worker and ask

	// mu guards what follows, up to idle. It is taken before the outbox's own, never after: the event of a
	// change is put while mu is held, so that events come in the order of the changes. No node is asked
	// anything while it is held.
	mu        sync.Mutex
	tutorial  steps.Tutorial // with what was edited
	queue     []string
	asks      int                // how often cells were queued: see look
	wake      chan struct{}      // signals the worker that the queue has something
	interrupt context.CancelFunc // ends what runs; nil while nothing does
	runs      int                // the last run's number, those of a saved session included
	table     []steps.Param      // never changes
	set       steps.Settings     // the parameters that are set
	link      steps.Link
	last      look              // at all nodes, by their numbers
	rig       steps.Rig         // the last look, with the link under test
	probed    bool              // last and rig are set
	lost      error             // why a node could not be reached the last time one was needed
	logs      map[string]string // by cell: the file of its last run
	outcomes  []steps.Outcome   // of the cells that ran, each once, in the order of their last end
	idle      chan struct{}     // closed while nothing runs or waits

	// The worker's: who is locked, by number, and when a cell has last run.
	locks    map[int]*runner.NodeLock
	ranUntil time.Time
	sampler  *samplers
	saver    *saver
	unsaved  error // of Close
}

// New makes a session; Open starts it. Nothing runs before Open, and no node is asked.
func New(o Options) *Session {
	o.linger, o.pause = cmp.Or(o.linger, lockLinger), cmp.Or(o.pause, lockPause)
	if o.Speed <= 0 {
		o.Speed = 1
	}
	o.Link = o.link()
	o.versions = &versions{needed: map[string]bool{}, known: map[int]map[string]steps.Tool{}}
	if o.LogBytes <= 0 {
		o.LogBytes = 1 << 30
	}
	if o.ChangeTime <= 0 {
		o.ChangeTime = changeTime
	}
	s := &Session{
		o: o, clock: o.clock(), tutorial: o.Tutorial, out: newOutbox(),
		boards: make(chan meter.Board, 1), questions: make(chan steps.Question),
		runs: int(o.Runs), wake: make(chan struct{}, 1), logs: map[string]string{}, idle: make(chan struct{}),
		locks: map[int]*runner.NodeLock{},
		table: Params(o.Catalog, o.Tutorial), set: o.settings(), link: o.Link,
	}
	close(s.idle)
	s.life, s.end = context.WithCancel(context.Background())
	s.sampler = newSamplers(s)
	s.saver = &saver{saving: o.Saving}
	return s
}

// Open looks at all nodes at once and then waits for cells. It returns without
// waiting for anything.
func (s *Session) Open() {
	s.out.put(steps.RigProbed{Rig: Named(s.o)})
	if s.set.Any() || s.o.Runs > 0 { // a saved session may have had some that hold no more
		s.out.put(steps.ParamsSet{Params: s.set})
	}
	for i, n := range s.o.Nodes {
		if _, local := n.(*runner.Local); local {
			s.State(i, runner.Connected, nil)
		}
	}
	s.work.Go(s.ask)
	// The one worker: cells run one after the other, because they share rails and counters.
	s.work.Go(func() {
		_, err := s.probe(s.life, 0)
		s.note(err)
		s.serve()
	})
}

// Close interrupts what runs, waits until nothing of it is alive on any node, and closes the nodes. The order
// matters: the nodes are closed when they are not used any more, and the outbox after them, because it gets
// what they report while they close. The file is written last, from all events.
func (s *Session) Close() error {
	s.Interrupt()
	s.end()
	s.sampler.stop()
	s.work.Wait()
	var errs []error
	for _, n := range s.o.Nodes {
		errs = append(errs, n.Close())
	}
	s.out.close()
	s.unsaved = s.saver.close(s.out)
	return errors.Join(errs...)
}

// Run queues cells in this order. The queue stops at the first FAIL of a cell that is not a check. Checks
// that measure nothing run at the same time.
func (s *Session) Run(ids ...string) { s.enqueue(ids) }

func (s *Session) enqueue(ids []string) {
	s.mu.Lock()
	s.asks++
	for _, id := range ids {
		c, ok := s.tutorial.Cell(id)
		if !ok || c.Note() || slices.Contains(s.queue, id) {
			continue
		}
		s.queue = append(s.queue, id)
		s.o.versions.need(c.Needs...)
		s.out.put(steps.CellQueued{Cell: id})
	}
	if len(s.queue) > 0 {
		select {
		case <-s.idle:
			s.idle = make(chan struct{})
		default:
		}
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // one signal is enough: the worker looks at the whole queue
	}
}

// Edit puts cells into a part in place of those that it has. What runs or waits goes
// on; a cell that waits runs as it is then.
func (s *Session) Edit(part string, cells []steps.Cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Trust != nil {
		s.o.Trust.Foreign(s.tutorial) // met before the edit: what is there is not the user's
		// That it will not last is said when the user asks for it again.
		_ = s.o.Trust.Edited(s.tutorial.CellsOf(part), cells)
	}
	s.tutorial = s.tutorial.With(part, cells)
	s.out.put(steps.PartChanged{Part: part, Cells: cells})
}

// Trust lets a cell from an untrusted file run. The error says that this holds for now and will not last.
func (s *Session) Trust(id string) error {
	s.mu.Lock()
	c, ok := s.tutorial.Cell(id)
	params := effective(s.table, s.set, id)
	s.mu.Unlock()
	if !ok || s.o.Trust == nil {
		return nil
	}
	errs := []error{s.o.Trust.Trust(c)}
	for _, p := range s.o.values(c, params) {
		errs = append(errs, s.o.Trust.TrustProgram(p.Name, p.Default))
	}
	return errors.Join(errs...)
}

// Interrupt ends the running cell and forgets the queue. It does not wait for either, and
// does nothing where nothing runs.
func (s *Session) Interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	if s.interrupt != nil {
		s.interrupt()
	}
}

// drop forgets the queue; mu is held.
func (s *Session) drop() {
	for _, id := range s.queue {
		s.out.put(steps.CellDequeued{Cell: id})
	}
	s.queue = nil
}

// SetParam sets a parameter for the runs of a cell, or of all cells where cell is
// empty, that begin from now on. A value that holds there anyway takes back what was
// set. The error says what is allowed.
func (s *Session) SetParam(cell, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, err := CheckParam(s.o.Catalog, s.tutorial, cell, name, value)
	if err != nil {
		return err
	}
	if s.o.Trust != nil && isProgram(s.table, name) {
		if err := s.o.Trust.TrustProgram(name, value); err != nil {
			return err
		}
	}
	rest := s.set.Without(cell, name)
	if effective(s.table, rest, cell)[name] == value {
		s.set = rest
	} else {
		s.set = rest.With(cell, name, value)
	}
	s.out.put(steps.ParamsSet{Params: s.set})
	return nil
}

// Now is the nodes' time: that of a simulated rig may go faster than the wall's.
func (s *Session) Now() time.Time { return s.clock.Now() }

// Clear forgets a cell's output and verdict.
func (s *Session) Clear(id string) { s.out.put(steps.CellCleared{Cell: id}) }

// ResetPeaks forgets the peaks, averages and histories of the gauges.
func (s *Session) ResetPeaks() { s.sampler.reset() }

// Next waits for events and gives what has come, in order; false at the end.
// Lines are handed over at most 30 times a second.
func (s *Session) Next(ctx context.Context) ([]steps.Event, bool) { return s.saver.fetch(ctx, s.out) }

// Boards gives the newest gauges whenever their picture changes. It is closed with the
// session.
func (s *Session) Boards() <-chan meter.Board { return s.boards }

// Questions gives what a node asks the user. It is closed with the session.
func (s *Session) Questions() <-chan steps.Question { return s.questions }

// ask hands the nodes' questions on until the session ends.
func (s *Session) ask() {
	defer close(s.questions)
	var asked <-chan steps.Question // of no one where no one is asked
	if s.o.Asker != nil {
		asked = s.o.Asker.questions
	}
	for {
		select {
		case q := <-asked:
			select {
			case s.questions <- q:
			case <-s.life.Done():
				return
			}
		case <-s.life.Done():
			return
		}
	}
}

// Log is the file with the full output of a cell's last run; empty where there is none.
func (s *Session) Log(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[id]
}

// Wait returns when nothing runs and nothing waits.
func (s *Session) Wait(ctx context.Context) error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Named is the rig before anybody has looked at it: its nodes' names, in the order of
// the link under test.
func Named(o Options) steps.Rig {
	rig := steps.NewRig(o.Rig, o.Simulated, len(o.Nodes))
	for i, n := range o.Nodes {
		rig.Nodes[i].Name, rig.Nodes[i].Where = n.Name(), o.Where[i]
	}
	return rig.Over(o.link())
}

// SetLink chooses the link under test for the cells that run from now on. It is refused while a cell runs or
// waits: its result would be shown for other nodes.
func (s *Session) SetLink(l steps.Link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.o.Nodes)
	if l.Here < 0 || l.Peer < 0 || l.Here >= n || l.Peer >= n || l.Here == l.Peer {
		return fmt.Errorf("no link from node %d to node %d: the rig has %d nodes", l.Here+1, l.Peer+1, n)
	}
	select {
	case <-s.idle:
	default:
		return errors.New("a cell is running or queued. Change the link when no cell runs")
	}
	s.link = l
	rig := Named(s.o).Over(l)
	if s.probed {
		rig, _ = s.last.over(s.o, l) // a node that does not answer is reported when a cell needs it
		s.rig = rig
	}
	s.out.put(steps.RigProbed{Rig: rig})
	return nil
}

// Unreachable says why a node could not be reached when a cell needed it; nil
// where both answered.
func (s *Session) Unreachable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// note keeps why a node could not be reached, or that all could.
func (s *Session) note(err error) {
	s.mu.Lock()
	s.lost = err
	s.mu.Unlock()
}

// State informs the session that the connection of a node has changed. It doesn't wait for anything. node is a number
// of the rig file, from 0, and why is nil where nothing went wrong.
func (s *Session) State(node int, state runner.State, why error) {
	c := steps.NodeChanged{Node: node, State: state}
	if why != nil {
		c.Why, c.Cause = why.Error(), why.Error()
		if e, ok := errors.AsType[*runner.Error](why); ok {
			c.Cause = e.Cause()
		}
	}
	s.out.put(c)
	s.sampler.state(node, state)
}

// Rig is the last look at the nodes; false before the first.
func (s *Session) Rig() (steps.Rig, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rig, s.probed
}

// serve runs the queue until the session ends.
func (s *Session) serve() {
	defer s.release()
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			select {
			case <-s.idle: // closed already: enqueue makes a new one
			default:
				close(s.idle)
			}
			s.mu.Unlock()
			select {
			case <-s.wake:
			case <-s.released():
				s.release()
			case <-s.watch():
				s.lookAgain()
			case <-s.life.Done():
				return
			}
			continue
		}
		s.mu.Unlock()
		// Between two cells of the queue no time goes by.
		s.clock.Join(s.life, func(ctx context.Context) {
			for s.runNext(ctx) {
			}
		})
		s.ranUntil = time.Now()
	}
}

// runNext runs what is first in the queue; it reports false where nothing is.
func (s *Session) runNext(ctx context.Context) bool {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.mu.Unlock()
		return false
	}
	cell, ok := s.tutorial.Cell(s.queue[0])
	if !ok || cell.Note() {
		// A user has removed it, or made it a note, while it waited.
		s.out.put(steps.CellDequeued{Cell: s.queue[0]})
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.interrupt = cancel
	if onlyLooks(cell) { // as many at once as stand together in the queue
		s.mu.Unlock()
		s.survey(ctx)
	} else {
		id := s.take()
		s.mu.Unlock()
		s.run(ctx, id, cell, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = nil
	return true
}

// take takes the first cell from the queue for a run; mu is held.
func (s *Session) take() steps.RunID {
	s.queue = s.queue[1:]
	s.runs++
	return steps.RunID(s.runs)
}

// run runs one cell from its first event to its last. seen, where not nil, is a
// look at the nodes that it shares with others.
func (s *Session) run(ctx context.Context, id steps.RunID, cell steps.Cell, seen *look) {
	began := s.clock.Now()
	// This run has the parameters that were reported before its start.
	s.mu.Lock()
	params := effective(s.table, s.set, cell.ID)
	started := steps.CellStarted{Run: id, Cell: cell.ID, At: began, Scripts: []string{}}
	for _, role := range cell.Roles {
		started.Scripts = append(started.Scripts, role.Script)
	}
	s.out.put(started)
	s.mu.Unlock()
	if s.o.Limit > 0 {
		cell.Limit = s.o.Limit
	}
	r := &run{s: s, id: id, cell: cell, name: newRun(), seen: seen, params: params}
	r.openLog(s.o.Logs)
	ended := steps.CellEnded{Run: id, Cell: cell.ID}
	var result steps.Result
	switch {
	case cell.Pairs != nil:
		result, ended.Verdict = r.matrix(ctx)
	case cell.Surveys() && !cell.OfEveryNode() && len(s.o.Nodes) > len(steps.Ends):
		result, ended.Verdict = r.everyLink(ctx)
	default:
		result, ended.Verdict = r.overLink(ctx, s.currentLink())
	}
	ended.Exit, ended.HasExit = deciding(result)
	for _, st := range result.Stages {
		for _, b := range st.Bytes {
			b.Test = st.Pair + 1
			ended.Bytes = append(ended.Bytes, b)
		}
	}
	ended.Log = r.closeLog()
	ended.Unkept = r.unkept
	// What retells reads the others' outcomes, and would read its own. Checks measure nothing that
	// another cell reads.
	if !cell.Retells() && !cell.Check.Any() {
		s.remember(steps.Outcome{Cell: cell, Result: result, Verdict: ended.Verdict, At: s.clock.Now()})
	}
	s.mu.Lock()
	s.logs[cell.ID] = ended.Log
	s.mu.Unlock()
	ended.At = s.clock.Now()
	ended.Elapsed = ended.At.Sub(began) - r.waited
	s.mu.Lock()
	defer s.mu.Unlock()
	// The end is reported first, so that a caller that receives it knows what still waited. What a user
	// queues after that report is meant, and has to wait for mu.
	s.out.put(ended)
	if ended.Verdict.Grade == steps.Fail && !cell.Surveys() {
		s.drop()
	}
}

func (s *Session) currentLink() steps.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// overLink runs the cell over one link, and judges it.
func (r *run) overLink(ctx context.Context, l steps.Link) (steps.Result, steps.Verdict) {
	r.link = l
	result, err := r.do(ctx)
	busy, waited := errors.AsType[busyError](err)
	switch {
	case waited:
		return result, steps.Verdict{
			Grade: steps.Inconclusive, Code: steps.Interrupted, Reason: "Interrupted before it began: " + busy.Error() + ".",
		}
	// An interrupt makes errors of its own, which say nothing; a change that was settled has a
	// verdict that says what became of it, however it was ended.
	case ctx.Err() != nil && r.settled == nil:
		return result, steps.Verdict{
			Grade: steps.Inconclusive, Code: steps.Interrupted, Reason: "Interrupted before it was done." + moved(result),
		}
	case err != nil:
		return result, steps.Verdict{Grade: steps.Inconclusive, Code: steps.NotRunToEnd, Reason: sentence(err)}
	case r.settled != nil:
		return result, *r.settled
	}
	return result, placed(r.cell, r.params[steps.Container], finite(r.judge(result)))
}

// finite is a verdict without evidence that is not a number: nothing passes by it, and it is written nowhere.
func finite(v steps.Verdict) steps.Verdict {
	for i, e := range v.Evidence {
		if x, ok := e.Value.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
			v.Evidence = slices.Clone(v.Evidence)
			v.Evidence[i].Value = "no number"
			if v.Grade == steps.Pass || v.Grade == steps.Warn {
				v.Grade, v.Code, v.Decided = steps.Inconclusive, steps.FigureImpossible, steps.ByFigure
				v.Reason = fmt.Sprintf("%s is not a number. %s", e.Name, v.Reason)
			}
		}
	}
	return v
}

// judge asks the catalog's judge, and holds what it says to the one rule that
// no judge may break: nothing passes that did not run to its end with status 0.
func (r *run) judge(result steps.Result) steps.Verdict {
	if r.cell.Own != "" {
		history := steps.History{Rig: result.Rig, Outcomes: r.s.remembered(), Params: r.params}
		return r.contained(r.cell.Own, func() steps.Verdict { return r.s.o.Catalog.Own[r.cell.Own](history) })
	}
	if result.Skip != "" {
		return steps.Verdict{Grade: steps.Skipped, Code: steps.CannotRun, Reason: result.Skip}
	}
	judge, ok := r.s.o.Catalog.Judges[r.cell.Judge]
	if !ok {
		return steps.Verdict{
			Grade: steps.Inconclusive, Code: steps.NotJudged, Reason: "This cell has no judge. Read its output.",
		}
	}
	for _, st := range result.Stages {
		for _, o := range st.Outputs {
			if o.Defect {
				// Whatever the judge makes of what is there, a part of it was never read.
				return steps.Verdict{
					Grade: steps.Inconclusive, Code: steps.Defect, Reason: sentence(errors.New(o.ParseErr)),
					Evidence: []steps.Evidence{{Name: "defect of railbench", Value: o.ParseErr}},
				}
			}
		}
	}
	v := r.contained(r.cell.Judge, func() steps.Verdict { return judge(r.cell, result) }).On(result.Rig)
	// The rails that were there may all have been good: one that the rig file names was not
	// measured, so it can't pass. A FAIL stands.
	if r.cell.EachRail && len(result.Rig.Missing) > 0 && v.Grade.Worst(steps.Inconclusive) == steps.Inconclusive {
		return steps.Verdict{
			Grade: steps.Inconclusive, Code: steps.RailMissing,
			Reason:   sentence(errors.New(result.Rig.Missing[0])) + " " + v.Reason,
			Evidence: v.Evidence, Figures: v.Figures,
		}
	}
	v = whole(v, r.cell, result)
	if v.Grade != steps.Pass && v.Grade != steps.Warn {
		return v
	}
	return held(v, result)
}

// whole is a PASS of every rail, or a WARN where a port that should be one is none and was left out. What is worse
// stands before that. The checklist has a check of its own for it.
func whole(v steps.Verdict, c steps.Cell, result steps.Result) steps.Verdict {
	rig := result.Rig
	left := rig.LeftOut()
	concerned := !c.Check.Any() && (c.EachRail || c.Counters && c.Rails != "")
	if left == nil || len(result.Stages) == 0 || v.Grade < steps.Pass || !concerned {
		return v
	}
	said := registry.Count(len(left), "port is not used as a rail: ", "ports are not used as rails; the first: ")
	said += left[0] + ". Run: railbench doctor rail-addresses."
	if v.Grade == steps.Pass {
		v.Grade, v.Code, v.Reason = steps.Warn, steps.PortLeftOut, said+" Otherwise: "+v.Reason
	} else {
		if v.Findings == nil {
			v.Findings = []steps.Found{{Grade: v.Grade, Code: v.Code, Text: v.Reason, Node: v.Node, Devices: v.Devices}}
		}
		v.Findings = append(v.Findings, steps.Found{Grade: steps.Warn, Code: steps.PortLeftOut, Text: said})
		if v.Grade == steps.Warn {
			v.Reason = said + " " + v.Reason
		} else { // what is worse comes first
			v.Reason += " " + said
		}
	}
	for _, why := range left {
		v.Evidence = append(v.Evidence, steps.Evidence{Name: steps.NoteName, Value: "Left out: " + why})
	}
	// A rail's number is its place among those that there are.
	if len(rig.Pairs) > 1 {
		a, b := rig.Rail(rig.Pairs[0], steps.Here), rig.Rail(rig.Pairs[1], steps.Here)
		if a.PhysPort >= 0 && a.PhysPort == b.PhysPort {
			v.Evidence = append(v.Evidence, steps.Evidence{Name: steps.NoteName, Value: fmt.Sprintf("So rails 1 and 2 are "+
				"the two PCIe halves of one port, %s and %s, not two cables", a.Dev, b.Dev)})
		}
	}
	return v
}

// held is a PASS or a WARN, or what speaks against either whatever the judge has looked at: a
// script that did not run to its end with status 0, or none that ran. A WARN says that it
// works, too.
func held(v steps.Verdict, result steps.Result) steps.Verdict {
	against := func(why string) steps.Verdict {
		if v.Grade == steps.Warn {
			why += " " + v.Reason
		}
		v.Grade, v.Code, v.Reason, v.Decided = steps.Inconclusive, steps.NotRunToEnd, why, steps.ByEnds
		return v
	}
	for _, st := range result.Stages {
		if st.Err != "" {
			return against(sentence(fmt.Errorf("not completed: %s", st.Err)))
		}
		for _, o := range st.Outputs {
			if !o.Ran || !o.Exit.OK() {
				return against(fmt.Sprintf("%s on %s did not end well: %s.", or(o.Role, "the script"),
					result.Rig.At(o.End).Name, or(o.Err, o.Exit.String())))
			}
		}
	}
	if len(result.Stages) == 0 && (result.Changed == nil || result.Changed.Nothing == "") {
		return against("Nothing ran.")
	}
	return v
}

// contained is what a judge says, or that it broke off.
func (r *run) contained(name string, judge func() steps.Verdict) (v steps.Verdict) {
	if d := contain("the judge "+name, func() { v = judge() }); d != nil {
		r.defect(d)
		return d.verdict()
	}
	return v
}

// remember keeps what a cell came to in place of what it came to before.
func (s *Session) remember(o steps.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = slices.DeleteFunc(s.outcomes, func(old steps.Outcome) bool { return old.Cell.ID == o.Cell.ID })
	s.outcomes = append(s.outcomes, o)
}

// remembered is what the cells of this session came to. It is a copy: the worker goes on.
func (s *Session) remembered() []steps.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.outcomes)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// deciding is the exit that stands for the cell: the first that isn't OK, else the last.
func deciding(result steps.Result) (exit runner.Exit, ok bool) {
	for _, st := range result.Stages {
		for _, o := range st.Outputs {
			if !o.Ran {
				continue
			}
			if exit, ok = o.Exit, true; !exit.OK() {
				return exit, true
			}
		}
	}
	return exit, ok
}

// sentence makes an error a sentence for the screen, and one of each of several.
func sentence(err error) string {
	if several, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		var all []string
		for _, err := range several.Unwrap() {
			all = append(all, sentence(err))
		}
		return strings.Join(all, " ")
	}
	text := err.Error()
	if e, ok := errors.AsType[*runner.Error](err); ok && strings.HasPrefix(text, e.Op) {
		text = "could not " + text
	}
	if text == "" {
		return text
	}
	// A name keeps its spelling: enp1s0f0np0, ib_write_bw.
	first, _, _ := strings.Cut(text, " ")
	if c := text[0]; c >= 'a' && c <= 'z' && !strings.ContainsAny(first, "0123456789_-.") {
		text = string(c-'a'+'A') + text[1:]
	}
	if last := text[len(text)-1]; last != '.' && last != '?' && last != '!' {
		text += "."
	}
	return text
}
