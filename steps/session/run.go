package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/traffic"
)

// What a run waits for, apart from the cell's own limit.
const (
	readyLimit  = 15 * time.Second // until a server is ready
	serverGrace = 5 * time.Second  // for a server to end once its client is done
	failedGrace = time.Second      // the same when the client failed: it may wait for ever
	// togetherGrace is for a partner that has to end by itself: some do up to 3 s after the other.
	togetherGrace = 15 * time.Second
	// idleTime is how long each rail is looked at before a stage, for what moves by itself.
	idleTime = 300 * time.Millisecond
	// linkLook is how long nothing was printed when the links are looked at, and how long it is
	// until they are looked at again.
	linkLook = 10 * time.Second
	// keepText is how many bytes of a role's output a parser gets. No tool that is
	// parsed prints as much.
	keepText = 512 << 10
	// liveText is how many bytes are read for a live table at each of their lines, and
	// livePause how long it is between two tables of more.
	liveText  = 16 << 10
	livePause = 200 * time.Millisecond
)

// A run is one execution of one cell.
type run struct {
	s       *Session
	id      steps.RunID
	cell    steps.Cell
	name    string         // $RUN
	settled *steps.Verdict // what it came to, where no judge is asked: a change that was not kept
	seen    *look          // a look at the nodes that was just taken; nil for one of its own
	link    steps.Link     // that it runs over
	// params are as they were when the run began: a server and its client have the same.
	params map[string]string
	// vars are what the services give the scripts, by End.
	vars   [2]map[string]string
	mortal []Mortal // services that were started
	// before are the counters of all nodes when the stage began; nil if they were not read.
	before []meter.Counters
	// after are those of its end, and idle those that the next stage begins with; nil where it reads them itself.
	after, idle []meter.Counters
	// gathered is what the nodes of a check have said already.
	gathered map[asking]steps.Output
	// held, where not nil, has what it prints until it can be shown.
	held *heldLines
	// locked says that its nodes are locked already.
	locked bool
	// waited is how long the user was asked.
	waited time.Duration
	// printed is when a role last printed a line.
	printed atomic.Int64

	// logMu guards the log, nil where there is none, and what is held.
	logMu sync.Mutex
	log   *logFile
	// Why the log is not whole, or not there.
	unkept string
}

// untrusted is why a cell from an untrusted file does not run.
const untrusted = "its script is from an untrusted or changed file. Read it, then press T on the " +
	"screen or run: railbench trust FILE"

// untrustedValue is that for a value which its script reads.
const untrustedValue = "its parameter %s is %q, from an untrusted or changed file. Read its script, " +
	"then press T or run: railbench trust FILE"

// do runs the cell and collects its result. The error says that a node could not be reached, or that nothing
// could be planned.
//
// Obstacles are looked for in the order of what helps the user: a missing tool is missing whatever state the
// rails are in; a bond hides rails, so "no rails" would send the user to the cables; a service costs time,
// and has to be stopped again, so it is started when nothing else can be in the way.
func (r *run) do(ctx context.Context) (steps.Result, error) {
	if why := r.s.o.refuses(r.cell, r.params); why != "" {
		return steps.Result{}, errors.New("not run: " + why)
	}
	if err := r.lockNodes(ctx); err != nil {
		return steps.Result{}, err
	}
	rig, err := r.s.lookFor(ctx, r.link, r.seen)
	r.s.note(err)
	result := steps.Result{Rig: rig}
	if err != nil {
		if r.cell.Surveys() && ctx.Err() == nil {
			return result, nil // that a node does not answer is a finding
		}
		return result, err
	}
	if r.cell.Own != "" {
		return result, nil
	}
	if result.Skip = r.missing(rig); result.Skip != "" {
		return result, nil
	}
	if err := r.bonded(rig); err != nil {
		return result, err
	}
	if result.Skip = r.lacksRails(rig); result.Skip != "" {
		return result, nil
	}
	stop, err := r.services(ctx, rig)
	defer stop()
	if absent, ok := errors.AsType[Absent](err); ok {
		result.Skip = absent.Why
		return result, nil
	}
	if err != nil {
		return result, err
	}
	if r.cell.Change.Any() { // it plans, and asks, by itself
		result, r.settled, err = r.change(ctx, rig)
		return result, err
	}
	return r.asPlanned(ctx, result)
}

// asPlanned runs the cell as its plan says, where nothing is in the way.
func (r *run) asPlanned(ctx context.Context, result steps.Result) (_ steps.Result, err error) {
	rig := result.Rig
	plan := r.plan(rig)
	switch {
	case plan.Refuse != "":
		return result, errors.New("not run: " + plan.Refuse)
	case plan.Nothing != "":
		result.Changed = &steps.Changed{Nothing: plan.Nothing, After: rig}
		return result, nil
	}
	for _, e := range steps.Ends {
		maps.Copy(r.vars[e], plan.Vars[e])
	}
	if r.cell.Asks {
		if r.settled, err = r.confirm(ctx, rig); r.settled != nil || err != nil {
			return result, err
		}
	}
	result.Stages = r.passes(ctx, rig)
	return result, nil
}

// passes are one over the cell's roles, or one for each pair of rails. Those that an interrupt
// left out are missing from the result, and the verdict is INCONCLUSIVE then anyway.
func (r *run) passes(ctx context.Context, rig steps.Rig) (all []steps.Stage) {
	if !r.cell.EachRail {
		return []steps.Stage{r.stage(ctx, rig, -1)}
	}
	defer func() { r.idle = nil }() // the next link has other nodes
	for i, p := range rig.Pairs {
		if ctx.Err() != nil {
			break
		}
		r.print(steps.OutputLine{Kind: steps.Note, Rail: i + 1, Text: sanitize.Line(fmt.Sprintf("rail %d: %s %s ⇄ %s %s", i+1,
			rig.At(steps.Here).Name, rig.Rail(p, steps.Here).Dev, rig.At(steps.Peer).Name, rig.Rail(p, steps.Peer).Dev))},
			false)
		all = append(all, r.stage(ctx, rig, i))
		r.idle = r.after // between two stages nothing of this cell runs
	}
	return all
}

// node is the one at an end of the link.
func (r *run) node(rig steps.Rig, e steps.End) runner.Node { return r.s.o.node(rig, e) }

// missing says which tool the cell needs and a node does not have.
func (r *run) missing(rig steps.Rig) string {
	var lacks []string
	for _, tool := range r.cell.Needs {
		var nodes []string
		pkg := ""
		for _, e := range steps.Ends {
			t, looked := rig.At(e).Tools[tool]
			if !r.runsOn(e) || !looked || t.Path != "" {
				continue
			}
			nodes, pkg = append(nodes, rig.At(e).Name), t.Package
		}
		if len(nodes) == 0 {
			continue
		}
		have := "has"
		if len(nodes) > 1 {
			have = "have"
		}
		lack := fmt.Sprintf("%s %s no %s", strings.Join(nodes, " and "), have, tool)
		if pkg != "" {
			lack += ": install " + pkg + " there"
		}
		lacks = append(lacks, lack+".")
	}
	return strings.Join(lacks, " ")
}

// lacksRails says that the rig has not the rails that the cell needs.
func (r *run) lacksRails(rig steps.Rig) string {
	_, across := rig.AcrossHalves()
	switch {
	case (r.cell.Rails == "2" || r.cell.Rails == steps.AllRails) && len(rig.Pairs) < 2:
		return fmt.Sprintf("It needs two rails that connect the nodes, and there are %d. Run: railbench run rail-map.",
			len(rig.Pairs))
	case r.cell.Rails == "halves" && !across:
		return "It needs a rail on the adapter's other PCIe half, and none connects the " +
			"nodes. Run: railbench run rail-map."
	}
	return ""
}

// bonded refuses a cell that measures rails one by one while a bond holds one:
// it would fail with a message that names something else, or hang without a word.
func (r *run) bonded(rig steps.Rig) error {
	if !r.cell.Unbonded {
		return nil
	}
	var held []string
	for _, e := range steps.Ends {
		var masters []string
		in := map[string][]string{}
		for _, rail := range rig.At(e).Rails {
			if m := rail.Netdev.Master; m != "" {
				if in[m] == nil {
					masters = append(masters, m)
				}
				in[m] = append(in[m], rail.Netdev.Name)
			}
		}
		for _, m := range masters {
			held = append(held, fmt.Sprintf("%s on %s %s in %s", registry.And(in[m]), rig.At(e).Name,
				registry.Plural(len(in[m]), "is", "are"), m))
		}
	}
	if held == nil {
		return nil
	}
	why := "not started: " + strings.Join(held, "; ")
	if undo, ok := r.s.o.Tutorial.Undoing(); ok {
		why += ". Run " + undo.ID + " first"
	}
	return errors.New(why)
}

// runsOn reports whether a role of the cell runs at an end.
func (r *run) runsOn(e steps.End) bool {
	return slices.ContainsFunc(r.cell.Roles, func(role steps.Role) bool { return slices.Contains(role.On.Ends(), e) })
}

// stage is one pass over the roles, with the bytes of every rail around it.
func (r *run) stage(ctx context.Context, rig steps.Rig, pair int) steps.Stage {
	began := r.s.clock.Now()
	st := steps.Stage{Pair: pair}
	idle := r.idle
	var before []meter.Counters
	if r.cell.Counters {
		// What moves while nothing runs is taken off what the cell moved.
		if idle == nil {
			idle = r.counters(ctx, rig, noDetails)
		}
		r.s.clock.Await(ctx, idleTime)
		before = r.counters(ctx, rig, pair)
		r.before = before
	}
	if err := r.roles(ctx, rig, pair, &st); err != nil {
		st.Err, st.Stalled = err.Error(), errors.Is(err, errStalled)
		switch {
		case errors.Is(err, errService):
			st.Service = err.Error()
		case errors.Is(err, errHalted):
			st.Halted = err.Error()
		}
		if e, ok := errors.AsType[unready](err); ok {
			r.tell("%s", e.what) // why stands in the lines above it
		} else {
			r.tell("%s", st.Err)
		}
	}
	// After the servers have ended: what they send last is on the wire by then.
	if r.cell.Counters {
		after := r.countersAfter(ctx, rig, pair)
		r.after = after
		st.Bytes = account(rig, idle, before, after)
		if st.Restarted = restarted(rig, before, after); st.Restarted != nil {
			r.tell("restarted during the test: %s", strings.Join(st.Restarted, ", "))
		}
	}
	st.Elapsed = r.s.clock.Now().Sub(began)
	return st
}

// restarted names the nodes that have rebooted between two readings.
func restarted(rig steps.Rig, before, after []meter.Counters) (names []string) {
	for e, n := range rig.Nodes[:len(after)] {
		if meter.Restarted(before[e], after[e]) {
			names = append(names, n.Name)
		}
	}
	return names
}

// account turns three readings on each node into what each rail carried: idle to before is
// what moves by itself, and before to after the stage. A rail whose counters are missing stays in
// the list, unknown: left out, it would look as if nothing had moved.
func account(rig steps.Rig, idle, before, after []meter.Counters) []steps.RailBytes {
	var all []steps.RailBytes
	for e, n := range rig.Nodes[:len(after)] {
		for i, rail := range n.Rails {
			b := steps.RailBytes{End: steps.End(e), Dev: rail.Dev, Rail: i}
			m, err := meter.Between(idle[e], before[e], after[e], portOf(rail))
			b.Tx, b.Rx, b.Source, b.IdleGbps, b.Errors = m.Tx, m.Rx, m.Source.String(), m.IdleGbps, m.Errors
			b.IdleTx, b.IdleRx, b.Degrees = m.IdleTx, m.IdleRx, m.Degrees
			b.Seconds = m.Seconds
			if b.Known = err == nil; err != nil {
				b.Tx, b.Rx, b.Why = 0, 0, err.Error()
			}
			b.IPTx, b.IPRx, b.IPKnown = m.IPTx, m.IPRx, m.IPErr == nil
			if m.IPErr != nil {
				b.IPTx, b.IPRx, b.IPWhy = 0, 0, m.IPErr.Error()
			}
			all = append(all, b)
		}
	}
	return all
}

func portOf(r steps.Rail) meter.Place {
	return meter.Place{Dev: r.Dev, Port: r.Port, Netdev: r.Netdev.Name}
}

// A server is a role that was started; its output is there when it has ended.
type server struct {
	ended chan struct{} // closed by end
	out   steps.Output  // to be read once ended is closed
}

// end is called once.
func (s *server) end(out steps.Output) {
	s.out = out
	close(s.ended)
}

// roles starts the roles in order and ends the servers when the last is done. Outputs stand in the order of
// the roles. The error says why the last role was not started, or that nothing was printed for too long; what
// the roles themselves did is in their outputs. It returns when none of them is alive: each server is waited
// for, even one that was just asked to end.
func (r *run) roles(ctx context.Context, rig steps.Rig, pair int, st *steps.Stage) error {
	if !r.cell.Probed() {
		return r.inOrder(ctx, rig, pair, r.cell.Roles, st)
	}
	isProbe := func(role steps.Role) bool { return role.Probe }
	if lesson := slices.DeleteFunc(slices.Clone(r.cell.Roles), isProbe); len(lesson) > 0 {
		var shown steps.Stage
		if err := r.inOrder(ctx, rig, pair, lesson, &shown); err != nil {
			return err
		}
	}
	for _, role := range r.cell.Roles {
		if role.Probe {
			st.Outputs = append(st.Outputs, r.everywhere(ctx, rig, pair, role)...)
		}
	}
	return nil
}

// inOrder is roles without what is a probe.
func (r *run) inOrder(ctx context.Context, rig steps.Rig, pair int, roles []steps.Role, st *steps.Stage) error {
	last := len(roles) - 1
	began := r.s.clock.Now()
	halted := func(ctx context.Context) string { return r.halted(ctx, rig, began) }
	ctx, stalled := r.watch(ctx, r.vitals(rig, pair), halted)
	serving, endServers := context.WithCancel(ctx)
	defer endServers()
	servers := make([]*server, 0, last)
	var failed error
	for _, role := range roles[:last] {
		s, err := r.serve(serving, rig, pair, role)
		servers = append(servers, s)
		if err != nil {
			failed = err
			break
		}
	}
	var main []steps.Output
	if failed == nil {
		running, end := context.WithCancel(ctx)
		if r.cell.Together {
			for _, s := range servers {
				r.s.clock.Go(running, func(ctx context.Context) { r.desert(ctx, end, s) })
			}
		}
		main = r.everywhere(running, rig, pair, roles[last])
		end()
	}
	grace := serverGrace
	if r.cell.Together {
		grace = togetherGrace
	}
	for _, o := range main {
		if !o.Ran || !o.Exit.OK() {
			grace = failedGrace
		}
	}
	if failed != nil {
		grace = 0 // those that are up wait for a client that never comes
	}
	deadline := r.s.clock.Now().Add(grace)
	for _, s := range servers {
		if r.s.clock.Await(ctx, deadline.Sub(r.s.clock.Now()), s.ended) == runner.Late {
			endServers()
		}
		r.s.clock.Await(context.WithoutCancel(ctx), runner.Forever, s.ended)
		st.Outputs = append(st.Outputs, s.out)
	}
	st.Outputs = append(st.Outputs, main...)
	if cause := context.Cause(ctx); failed == nil && watched(cause) {
		failed = cause
	}
	stalled()
	return failed
}

// A linkActivity is what a look at the links of a test found: that one went down since the test began, or that they
// carry something, since the look before.
type linkActivity struct{ went, moves bool }

// watched reports whether a run was ended by its watch.
func watched(cause error) bool {
	return errors.Is(cause, errStalled) || errors.Is(cause, errHalted) || errors.Is(cause, errLinkDown) ||
		errors.Is(cause, errService)
}

// nothingMoved matches a line that does not count as progress: iperf3's server prints one each second even while no
// data arrives.
var nothingMoved = lazyregexp.New(`\s0\.00 +\w?bits/sec`)

// watch ends the roles if nothing was printed and nothing moved for the cell's stall limit, if a service that
// they need ended, if a link of the test went down (UCX doesn't report that, and the counters show it at once), or if
// two looks found the same process stopped by a signal. Nodes are asked only after a silence, so that a good run is not
// disturbed. It gives the context to run the roles in, and a function that stops the watch, to be called when they have
// ended. If the watch ended them, the context's cause says so.
func (r *run) watch(ctx context.Context, look func(context.Context) linkActivity, halted func(context.Context) string,
) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if r.cell.Stall == 0 {
		return ctx, func() { cancel(nil) }
	}
	clock := r.s.clock
	r.printed.Store(clock.Now().UnixNano())
	clock.Go(ctx, func(ctx context.Context) {
		var moved time.Time
		var found string
		for {
			for _, service := range r.mortal {
				if err := service.Failed(); err != nil {
					cancel(fmt.Errorf("%w: %w", errService, err))
					return
				}
			}
			now, printed := clock.Now(), time.Unix(0, r.printed.Load())
			silent, still := now.Sub(printed), min(now.Sub(printed), now.Sub(moved))
			if silent >= linkLook && still < r.cell.Stall {
				switch seen := look(ctx); {
				case seen.went:
					cancel(fmt.Errorf("%w, so it was stopped", errLinkDown))
					return
				case seen.moves: // a large block may take minutes
					moved = clock.Now()
				default:
					before := found
					if found = halted(ctx); found != "" && found == before {
						cancel(fmt.Errorf("%w: %s", errHalted, found))
						return
					}
				}
			}
			if still >= r.cell.Stall {
				cancel(fmt.Errorf("%w for %s, so it was stopped", errStalled, r.cell.Stall))
				return
			}
			if clock.Await(ctx, min(r.cell.Stall-still, linkLook)) == runner.Interrupted {
				return
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

// vitals looks at the links that the cell leads over. What they carried before the first look does not count
// as a sign of life.
func (r *run) vitals(rig steps.Rig, pair int) func(context.Context) linkActivity {
	rt, ok := traffic.RouteOf(r.cell, steps.Result{Rig: rig}, steps.Stage{Pair: pair})
	var last []meter.Counters
	var looked time.Time
	return func(ctx context.Context) (seen linkActivity) {
		if r.before == nil || !ok {
			return seen
		}
		now := r.counters(ctx, rig, pair)
		seen.went = traffic.Flaps(account(rig, r.before, r.before, now), rt.Ports()...) != ""
		if at := r.s.clock.Now(); at.Sub(looked) <= 2*linkLook {
			moved := traffic.WorkOf(rig, account(rig, last, last, now), rt.Ports()...)
			seen.moves = moved.Gbps >= limits.BusyBefore.Value()
		}
		last, looked = now, r.s.clock.Now()
		return seen
	}
}

// halted names the processes of a script that are stopped and began after a time, and their nodes; empty if there are
// none.
func (r *run) halted(ctx context.Context, rig steps.Rig, began time.Time) string {
	const slack = 2 // seconds: the nodes' clocks count whole ones
	ago := int(r.s.clock.Now().Sub(began).Seconds()) + slack
	all := make([][]string, len(r.counted(rig)))
	atOnce(ctx, r.s.clock, len(all), func(ctx context.Context, e int) {
		n := rig.Nodes[e]
		out, err := runner.Text(ctx, r.s.o.Nodes[n.No], runner.Script{
			Name: r.cell.ID + " stopped processes", Body: scripts.Stopped, Limit: readyLimit,
			Vars: map[string]string{"SECONDS_AGO": strconv.Itoa(ago)},
		})
		if err != nil {
			return
		}
		for line := range strings.Lines(out) {
			if number, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				all[e] = append(all[e], fmt.Sprintf("%s on %s (process %s)", name, n.Name, number))
			}
		}
	})
	return strings.Join(slices.Concat(all...), ", ")
}

// desert ends the last role when one that it needs has ended before it: it may
// never notice.
func (r *run) desert(ctx context.Context, end context.CancelFunc, s *server) {
	if r.s.clock.Await(ctx, runner.Forever, s.ended) == runner.Interrupted {
		return
	}
	grace := togetherGrace
	if !s.out.Ran || !s.out.Exit.OK() {
		grace = failedGrace
	}
	if r.s.clock.Await(ctx, grace) == runner.Late {
		end()
	}
}

// everywhere runs a role on the nodes it is for, at once.
func (r *run) everywhere(ctx context.Context, rig steps.Rig, pair int, role steps.Role) []steps.Output {
	ends := role.On.Ends()
	outputs := make([]steps.Output, len(ends))
	atOnce(ctx, r.s.clock, len(ends), func(ctx context.Context, i int) {
		outputs[i] = r.one(ctx, rig, pair, role, ends[i], r.limit(), nil)
	})
	return outputs
}

// atOnce does n things at the same time, and returns when all are done, even if ctx has ended: each of them
// notices that itself, and may have something to end on a node.
func atOnce(ctx context.Context, clock runner.Clock, n int, do func(context.Context, int)) {
	all := make([]chan struct{}, n)
	for i := range all {
		all[i] = make(chan struct{})
		clock.Go(ctx, func(ctx context.Context) {
			defer close(all[i])
			do(ctx, i)
		})
	}
	for _, done := range all {
		clock.Await(context.WithoutCancel(ctx), runner.Forever, done)
	}
}

func (r *run) limit() time.Duration {
	if r.cell.Limit > 0 {
		return r.cell.Limit
	}
	return runner.DefaultLimit
}

// serve starts a server and waits until it is ready. The error says why it is not; the server
// may be running all the same, and is the caller's to end and to wait for.
func (r *run) serve(ctx context.Context, rig steps.Rig, pair int, role steps.Role) (*server, error) {
	clock := r.s.clock
	s := &server{ended: make(chan struct{})}
	end := role.On.Ends()[0]
	name := rig.At(end).Name
	port := os.Expand(role.Ready.Port, func(v string) string { return vars(rig, end, pair, r.params)[v] })
	notStarted := steps.Output{Role: role.Name, End: end}
	// A client would measure against the program that listens there, and its result would be that program's.
	if port != "" {
		if taken, err := r.listens(ctx, rig.At(end).No, port, 0); err != nil || taken {
			s.end(notStarted)
			if err != nil {
				return s, err
			}
			return s, fmt.Errorf("port %s on %s is in use. Stop that program (ss -ltnp sport = :%s) or change the port", port,
				name, port)
		}
	}
	var line *regexp.Regexp
	if role.Ready.Line != "" {
		var err error
		if line, err = regexp.Compile(role.Ready.Line); err != nil {
			s.end(notStarted)
			return s, fmt.Errorf("the ready line of %s: %w", role.Name, err)
		}
	}
	ready := make(chan struct{})
	isReady := sync.OnceFunc(func() { close(ready) })
	clock.Go(ctx, func(ctx context.Context) {
		// A server outlasts its client: the client's limit is the one that is reported.
		s.end(r.one(ctx, rig, pair, role, end, r.limit()+2*readyLimit, func(l runner.Line) {
			if line != nil && line.MatchString(l.Text) {
				isReady()
			}
		}))
	})
	waiting, stop := clock.WithTimeout(ctx, readyLimit, nil)
	defer stop()
	var deaf error // why nothing listens
	given := make(chan struct{})
	switch {
	case port != "":
		clock.Go(waiting, func(ctx context.Context) {
			up, err := r.listens(ctx, rig.At(end).No, port, readyLimit)
			switch {
			case up:
				isReady()
			case err == nil:
				err = fmt.Errorf("nothing is listening on port %s", port)
				fallthrough
			default:
				deaf = err
				close(given)
			}
		})
	case line == nil:
		isReady()
	}
	late := fmt.Errorf("%s on %s was not ready after %s", role.Name, name, readyLimit)
	switch clock.Await(waiting, runner.Forever, ready, s.ended, given) {
	case 0:
		return s, nil
	case 1:
		return s, early(s.out, role, name)
	case 2:
		return s, fmt.Errorf("%w: %w", late, deaf)
	default:
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		return s, late
	}
}

// An unready is a server that ended before it was ready: its last words say why.
type unready struct{ what, why string }

func (u unready) Error() string { return u.what + u.why }

func early(o steps.Output, role steps.Role, node string) error {
	u := unready{what: fmt.Sprintf("%s on %s ended before it was ready", role.Name, node)}
	words, _, _ := strings.Cut(strings.TrimSpace(o.Text), "\n")
	switch {
	case !o.Ran:
		u.why = ": " + o.Err
	case words == "":
		u.why = fmt.Sprintf(", with %s and no message", o.Exit)
	default:
		// The first line of a complaint names the cause, the others what follows from it.
		u.why = fmt.Sprintf(", with %s: %s", o.Exit, strings.TrimSpace(words))
	}
	return u
}

// listens reports whether a TCP port listens on a node, now or within a time.
func (r *run) listens(ctx context.Context, node int, port string, within time.Duration) (bool, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return false, fmt.Errorf("%q is not a TCP port", port)
	}
	tenths := 1
	if within > 0 {
		tenths = int(within.Seconds() * 10)
	}
	out, err := runner.Text(ctx, r.s.o.Nodes[node], runner.Script{
		Name: "look at port " + port, Body: scripts.Listening, Limit: within + readyLimit,
		Vars: map[string]string{"HEX": fmt.Sprintf("%04X", n), "TENTHS": strconv.Itoa(tenths)},
	})
	return strings.TrimSpace(out) == "yes", err
}

// one runs one role on one node, streams its lines and parses what it printed. seen, where not
// nil, gets each line as it comes, in the goroutine that reads them; so does the live table. The
// next line waits for both.
func (r *run) one(ctx context.Context, rig steps.Rig, pair int, role steps.Role,
	e steps.End, limit time.Duration, seen func(runner.Line),
) steps.Output {
	asked := r.script(rig, pair, role, e, limit)
	if said, ok := r.gathered[asking{rig.At(e).No, asked.Text()}]; ok {
		said.End = e
		return said
	}
	return r.ask(ctx, rig, role, e, asked, seen)
}

// live shows what a script has printed as a table, where the cell's parser has one, each time that it prints more.
func (r *run) live(said *spoken) func(runner.Line) {
	live := r.s.o.Catalog.Live[r.cell.Parser]
	var shown time.Time // when it was last called, by the node's clock
	return func(line runner.Line) {
		if live == nil || r.held != nil || line.Stream != runner.Stdout || !said.worth(line.At.Sub(shown)) {
			return
		}
		shown = line.At
		var t steps.Table
		ok := false
		if d := contain("the live table of "+r.cell.Parser, func() { t, ok = live(said.stdout.String()) }); d != nil {
			live = nil // the next line would break it off again
			r.defect(d)
		}
		if ok {
			r.s.out.put(steps.CellMeasured{Run: r.id, Cell: r.cell.ID, Table: t})
		}
	}
}

// ask is one with the script as it is.
func (r *run) ask(ctx context.Context, rig steps.Rig, role steps.Role, e steps.End,
	asked runner.Script, seen func(runner.Line),
) steps.Output {
	out := steps.Output{Role: role.Name, End: e, Asked: asked.Vars}
	var said spoken
	node := rig.At(e).Name
	lesson := r.cell.Probed() && !role.Probe // what is judged is the probe's
	show := func(runner.Line) {}
	if !lesson {
		show = r.live(&said)
	}
	exit, err := r.node(rig, e).Run(ctx, asked, func(line runner.Line) {
		kind := steps.FromStdout
		if line.Stream == runner.Stderr {
			kind = steps.FromStderr
		}
		if !nothingMoved.Regexp().MatchString(line.Text) {
			r.printed.Store(line.At.UnixNano())
		}
		printed := steps.OutputLine{Kind: kind, From: node, Role: role.Name, Text: line.Text, Spans: line.Spans}
		if kind == steps.FromStdout && (role.Probe || strings.HasPrefix(line.Text, steps.ForRailbench)) {
			r.write(printed, line.Cut)
		} else {
			r.print(printed, line.Cut)
		}
		said.add(line)
		if seen != nil {
			seen(line)
		}
		show(line)
	})
	out.Exit, out.Ran, out.Text, out.Cut = exit, err == nil, said.both.String(), said.cut
	out.Complaint = lastLine(said.stderr.String())
	if err != nil {
		out.Err = err.Error()
		if e, ok := errors.AsType[*runner.Error](err); ok {
			out.Failed = e.Kind
			out.Err = e.Cause() // the caller adds which role, and where
			if e.Kind == runner.Lost {
				r.s.note(err)
			}
		}
		r.tell("%s", err)
		return out
	}
	if len(r.cell.Roles) > 1 && !r.cell.Probed() || !exit.OK() {
		r.print(steps.OutputLine{
			Kind: steps.Note, From: node, Role: role.Name,
			Text: sanitize.Line(fmt.Sprintf("%s on %s: %s", or(role.Name, "script"), node, exit)),
		}, false)
	}
	if !lesson {
		r.read(&out, &said)
	}
	return out
}

// read has the cell's parser read what a role printed. A parser that panics is a defect of railbench. It is
// reported as one, and ends neither the run nor the program.
func (r *run) read(out *steps.Output, said *spoken) {
	parser, ok := r.s.o.Catalog.Parsers[r.cell.Parser]
	if !ok {
		return
	}
	if out.Cut {
		// Half of a table would be a result of another test.
		out.ParseErr = fmt.Sprintf("it printed more than %d bytes", keepText)
		return
	}
	var err error
	d := contain("the parser "+r.cell.Parser, func() {
		out.Value, err = parser(said.stdout.String(), said.stderr.String())
	})
	if d != nil {
		out.Value, err, out.Defect = nil, d, true
		r.defect(d)
	}
	if err != nil {
		out.ParseErr = err.Error()
	}
}

// spoken is what a role has printed: for its parser by stream, and for people as it came.
type spoken struct {
	stdout, stderr, both strings.Builder
	cut                  bool // there was more than keepText
}

// add takes a line, up to keepText bytes of both streams together. What comes after that is left
// out as a whole, and cut says so: nothing is parsed then.
func (s *spoken) add(line runner.Line) {
	if s.both.Len()+len(line.Text) > keepText {
		s.cut = true
		return
	}
	to := &s.stdout
	if line.Stream == runner.Stderr {
		to = &s.stderr
	}
	for _, b := range []*strings.Builder{to, &s.both} {
		b.WriteString(line.Text)
		if !line.Cut {
			b.WriteByte('\n')
		}
	}
}

// worth reports whether the live table should be read again, some time after the last one. It reads all of
// the output: at each of the lines that UCX logs at level trace that would take longer than the tool, which
// waits for the reader of its pipe. Short output is read at each line, so that no row of a table is late.
func (s *spoken) worth(since time.Duration) bool {
	return !s.cut && (s.stdout.Len() < liveText || since >= livePause)
}

// script is what runs, byte for byte.
func (r *run) script(rig steps.Rig, pair int, role steps.Role, e steps.End, limit time.Duration) runner.Script {
	return script(r.cell, role, limit, vars(rig, e, pair, r.params), r.s.o.Programs, r.vars[e])
}

// script is a role's with the variables that it names: all, and those that were
// worked out or given for the run, which win. What eval reads is named nowhere: RAIL1_DEV
// is RAIL${i}_DEV there. A script with eval gets what there is, but for the programs, and
// for RUN, which a dry run can't know.
func script(cell steps.Cell, role steps.Role, limit time.Duration,
	all, programs, given map[string]string,
) runner.Script {
	used := map[string]string{}
	body := role.Text()
	evaluates := role.Interpreter == "" && steps.Names(body, "eval")
	for _, values := range []map[string]string{all, programs, {roleVariable: role.Name}, given} {
		for name, value := range values {
			_, program := programs[name]
			if role.Reads(name) || evaluates && !program && name != "RUN" {
				used[name] = value
			}
		}
	}
	if role.Interpreter != "" {
		body = interpreted(role.Interpreter, body, used)
	}
	if name := all[steps.Container]; cell.Inside && name != "" {
		body = inContainer(body, used)
		used[steps.Container] = name
	}
	return runner.Script{Name: cell.ID, Body: body, Vars: used, Limit: limit, Root: role.Root}
}

// roleVariable holds the role's name: code that two roles share can see which one it runs in.
const roleVariable = "ROLE"

// interpreted is the shell that hands a script to another program, with the variables that it
// names in its environment. Python takes all of its standard input before it begins; bash would
// read a line at a time, and leave the rest to the commands of the script.
func interpreted(interpreter, script string, vars map[string]string) string {
	end := "END_OF_SCRIPT"
	for strings.Contains(script, end) {
		end += "_"
	}
	exports := ""
	if len(vars) > 0 {
		exports = "export " + strings.Join(slices.Sorted(maps.Keys(vars)), " ") + "\n"
	}
	if !strings.HasSuffix(script, "\n") {
		script += "\n"
	}
	if interpreter == "python3" {
		return exports + "exec python3 -u - <<'" + end + "'\n" + script + end + "\n"
	}
	return exports + "exec " + interpreter + ` -c "$(cat <<'` + end + "'\n" + script + end + "\n)\"\n"
}

// counted are the nodes whose counters are read, by End: all, because traffic that takes a way
// past the link shows at a third one. A check goes over many links, and reads those at its ends.
func (r *run) counted(rig steps.Rig) []steps.Node {
	if r.cell.Check.Any() {
		return rig.Nodes[:len(steps.Ends)]
	}
	return rig.Nodes
}

// noDetails is the pair of a reading that takes no process for an interface.
const noDetails = -2

// counters reads every counter of the nodes that are counted. Those that take a process for each interface are read of
// a pair of rails where a stage is of one, and of all rails where it is of none. A node that does not answer has none.
func (r *run) counters(ctx context.Context, rig steps.Rig, pair int) []meter.Counters {
	c := make([]meter.Counters, len(r.counted(rig)))
	atOnce(ctx, r.s.clock, len(c), func(ctx context.Context, e int) {
		n := rig.Nodes[e]
		if n.Err != "" {
			return
		}
		details := meter.EveryInterface
		switch {
		case pair == noDetails, pair >= 0 && e >= len(steps.Ends):
			details = ""
		case pair >= 0:
			details = rig.Rail(rig.Pairs[pair], steps.End(e)).Netdev.Name
		}
		read := meter.ReadCounters(r.cell.ID+" counters", details)
		read.Limit = readyLimit
		out, err := runner.Text(ctx, r.s.o.Nodes[n.No], read)
		if err == nil {
			c[e], _ = meter.ParseCounters(out) // what is missing is reported where it is used
		}
	})
	return c
}

// countersAfter reads the counters once more, of a run that was interrupted, too: what it moved
// until then is all that is known of it. A session that closes doesn't wait for them.
func (r *run) countersAfter(ctx context.Context, rig steps.Rig, pair int) []meter.Counters {
	if ctx.Err() == nil {
		return r.counters(ctx, rig, pair)
	}
	if r.s.life.Err() != nil {
		return make([]meter.Counters, len(r.counted(rig)))
	}
	// As long as the session, but as part of this run: on a rig with a clock of its own, a new participant
	// would wait for this run to give up its turn, and this run for it.
	lasting, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	defer context.AfterFunc(r.s.life, done)()
	return r.counters(lasting, rig, pair)
}

// report prints a line of railbench's own under the cell.
func (r *run) tell(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		// It may be what a node said, decoded: the log takes it as it comes from here.
		r.print(steps.OutputLine{Kind: steps.Note, Text: sanitize.Line(strings.TrimRight(line, "\n"))}, false)
	}
}

// print hands a line to the screen and to the log. Roles print at the same time: logMu keeps their lines
// whole. cut says that the line goes on in the next one.
func (r *run) print(line steps.OutputLine, cut bool) {
	if r.held != nil {
		r.hold(heldLine{line, cut, false})
		return
	}
	r.s.out.print(r.id, r.cell.ID, line)
	r.write(line, cut)
}

// write puts a line into the log.
func (r *run) write(line steps.OutputLine, cut bool) {
	if r.held != nil {
		r.hold(heldLine{line, cut, true})
		return
	}
	r.logMu.Lock()
	defer r.logMu.Unlock()
	if r.log != nil {
		r.log.add(line, cut)
	}
}

// openLog starts the file with the full output. A log that cannot be written is reported and does not stop
// the run.
func (r *run) openLog(dir string) {
	if dir == "" {
		return
	}
	log, err := createLog(dir, r)
	if err != nil {
		r.unkept = fmt.Sprintf("the full output could not be saved: %v", err)
		r.tell("%s", r.unkept)
		return
	}
	r.log = log
}

// closeLog ends the log and gives its file; empty if there is none, or it is incomplete. A later line is on
// the screen only.
func (r *run) closeLog() string {
	r.logMu.Lock()
	log := r.log
	r.log = nil
	r.logMu.Unlock()
	if log == nil {
		return ""
	}
	if err := log.close(); err != nil {
		r.unkept = fmt.Sprintf("the full output could not be saved: %v", err)
		r.tell("%s", r.unkept)
		return ""
	}
	if log.left > 0 {
		r.tell("the log ends after %d bytes: %d more lines were printed", log.written, log.left)
	}
	return log.file.Name()
}
