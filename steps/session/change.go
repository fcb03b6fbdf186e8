package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
)

// A Confirmer is asked before a change is made, and whether it stays.
type Confirmer interface {
	Change(ctx context.Context, q steps.ChangeQuestion) (bool, error)
}

// changeTime is how long a change has to be made, looked at and confirmed. After
// that the nodes go back by themselves.
const changeTime = 2 * time.Minute

// backTime is how long going back may take, with the connection made again and the
// interfaces in their managers' hands again.
const backTime = 5 * time.Minute

// A transaction is one change over both nodes, which both get or neither.
type transaction struct {
	*run
	rig    steps.Rig
	plan   steps.Plan
	before [2]change.State // by End
	sets   [2][]string
	guards [2]undo.Guard
	entry  undo.Entry
	over   time.Time // when the switches go back
	result steps.Result
}

// change runs a cell that changes the network: captured, asked, armed, made,
// looked at, and kept or gone back. What it gives is judged only where both nodes
// have the change; everything else is a verdict of its own.
func (r *run) change(ctx context.Context, rig steps.Rig) (result steps.Result, own *steps.Verdict, err error) {
	t := &transaction{run: r, rig: rig, result: steps.Result{Rig: rig, Changed: &steps.Changed{After: rig}}}
	if r.s.o.Journal == nil {
		return t.result, nil, errors.New("there is no folder for the undo journal, and without one nothing is changed")
	}
	t.plan = r.plan(rig)
	states, err := captures(ctx, r.s.o, t.nodes()...)
	if err != nil {
		return t.result, nil, err
	}
	t.before = t.byEnd(states)
	if cell := r.cell.Change.Undoes; cell != "" {
		entries, err := openChanges(r.s.o, states)
		if err != nil {
			return t.result, nil, err
		}
		if i := slices.IndexFunc(entries, func(e undo.Entry) bool {
			return cell == steps.Everything || e.Cell == cell
		}); i >= 0 {
			v, err := t.takeBack(ctx, entries[i:])
			return t.result, v, err
		}
	}
	switch {
	case t.plan.Nothing != "":
		t.result.Changed.Nothing = t.plan.Nothing
		return t.result, nil, nil
	case t.plan.Refuse != "":
		return t.result, verdict(steps.Inconclusive, "Refused: %s", sentence(errors.New(t.plan.Refuse))), nil
	}
	for _, e := range steps.Ends {
		maps.Copy(r.vars[e], t.plan.Vars[e])
	}
	if err := t.collect(); err != nil {
		return t.result, nil, err
	}
	if v, err := t.refused(ctx); v != nil || err != nil {
		return t.result, v, err
	}
	if v, err := t.ask(ctx, steps.ChangeQuestion{}); v != nil || err != nil {
		return t.result, v, err
	}
	if v, err := t.root(ctx); v != nil || err != nil {
		return t.result, v, err
	}
	v, err := t.make(ctx)
	return t.result, v, err
}

// nodes are the numbers of the link's nodes, by End.
func (t *transaction) nodes() []int {
	return []int{t.rig.At(steps.Here).No, t.rig.At(steps.Peer).No}
}

// byEnd are the states of the link's nodes.
func (t *transaction) byEnd(states []change.State) (two [2]change.State) {
	for e, no := range t.nodes() {
		two[e] = states[no]
	}
	return two
}

func verdict(g steps.Grade, format string, args ...any) *steps.Verdict {
	return &steps.Verdict{Grade: g, Reason: fmt.Sprintf(format, args...), Evidence: []steps.Evidence{}}
}

// collect works out the change set, and refuses one that would cut off more than
// a rail.
func (t *transaction) collect() error {
	for _, e := range steps.Ends {
		t.sets[e] = changeSet(t.cell, vars(t.rig, e, -1, t.params), t.vars[e])
		node := t.rig.At(e)
		switch {
		case node.RouteDev != "" && slices.Contains(t.sets[e], node.RouteDev):
			return fmt.Errorf("%s on %s carries the default route: railbench does not change it", node.RouteDev, node.Name)
		}
	}
	if len(t.sets[steps.Here])+len(t.sets[steps.Peer]) == 0 {
		return fmt.Errorf("there is nothing to change: %s names no interface", strings.Join(t.cell.Change.Set, ", "))
	}
	return nil
}

// ask fills in a question and puts it. A verdict says that the answer was no.
func (t *transaction) ask(ctx context.Context, q steps.ChangeQuestion) (*steps.Verdict, error) {
	q.Cell, q.Title = t.cell.ID, t.cell.Title
	for _, e := range steps.Ends {
		name := t.rig.At(e).Name
		q.Places = append(q.Places, steps.ChangePlace{
			Node: name, Set: t.sets[e], Held: t.hands(e), Script: t.own(e), HandOver: t.handOver(e),
			Becomes: t.plan.Becomes[e],
		})
		if dev := t.rig.At(e).SSHDev; !q.Keep && slices.Contains(t.sets[e], dev) {
			q.Warnings = append(q.Warnings, fmt.Sprintf("%s carries the connection to %s: "+
				"it breaks and is made again, or %s goes back by itself.", dev, name, name))
		}
	}
	return t.put(ctx, q)
}

// busyTime is how long a manager that is at work, or does not answer in time, is asked again.
const busyTime = 30 * time.Second

// refused is a verdict where a manager that can't be asked has an interface of the change in
// its hands: nothing was touched. One that is busy is asked again for a while.
func (t *transaction) refused(ctx context.Context) (*steps.Verdict, error) {
	planned, told := t.before, ""
	for end := t.s.clock.Now().Add(busyTime); ; {
		e, why, busy := t.refusal()
		switch {
		case why == "":
			return t.moved(planned), nil
		case !busy || t.s.clock.Now().After(end):
			return verdict(steps.Inconclusive, "Refused, and nothing was changed: on %s %s.", t.rig.NameOf(e), why), nil
		case why != told:
			told = why
			t.tell("on %s %s; asked again for %.0f s", t.rig.NameOf(e), why, busyTime.Seconds())
		}
		if t.s.clock.Await(ctx, time.Second) == runner.Interrupted {
			return nil, context.Cause(ctx)
		}
		states, err := captures(ctx, t.s.o, t.nodes()...)
		if err != nil {
			return nil, err
		}
		t.before = t.byEnd(states)
	}
}

// refusal is the first end at which a change must not be begun, and why.
func (t *transaction) refusal() (at steps.End, why string, busy bool) {
	for _, e := range steps.Ends {
		if why, busy = change.Refuse(t.before[e], t.sets[e]); why != "" {
			return e, why, busy
		}
	}
	return at, "", false
}

// moved is a verdict where a network that was waited for is another than the one that the change
// was planned for.
func (t *transaction) moved(planned [2]change.State) *steps.Verdict {
	for _, e := range steps.Ends {
		planned[e].Managers = change.Managers{} // which were not settled, and are not what was planned
		of := func(link string) bool { return slices.Contains(t.sets[e], link) }
		diff := change.Differences(planned[e], t.before[e], of)
		if diff != nil {
			return verdict(steps.Inconclusive, "Nothing was changed: %s became another while its manager was waited for (%s). "+
				"Run the cell again.", t.rig.NameOf(e), strings.Join(diff, "; "))
		}
	}
	return nil
}

// text is what runs at an end: what takes its interfaces out of their managers' hands, and
// the cell's script.
func (t *transaction) text(e steps.End) string { return t.handOver(e) + t.own(e) }

// handOver is what takes an end's interfaces out of their managers' hands; a change that the
// managers make leaves them there.
func (t *transaction) handOver(e steps.End) string {
	if t.cell.Change.Tries {
		return ""
	}
	return change.Take(t.before[e].Managers, t.sets[e])
}

// own is the cell's script at an end, with its values.
func (t *transaction) own(e steps.End) string {
	return t.script(t.rig, -1, t.cell.Roles[0], e, t.limit()).Text()
}

// back is what puts an end back. What managers made they forget first: they would make it again.
func (t *transaction) back(e steps.End) string {
	back := change.Back(t.before[e], t.sets[e])
	if forgets, ok := t.cell.Forgets(); ok {
		return "(\n" + t.script(t.rig, -1, forgets, e, t.limit()).Text() + ")\n" + back
	}
	return back
}

// hands says in whose hands the interfaces of an end are before the change.
func (t *transaction) hands(e steps.End) (all []string) {
	for _, name := range t.sets[e] {
		for _, m := range t.before[e].Managers.Of(name) {
			if m.Holds() {
				all = append(all, fmt.Sprintf("%s: %s", t.rail(e, name), m))
			}
		}
	}
	return all
}

// rail names an interface by the rail that it carries, where it does.
func (t *transaction) rail(e steps.End, netdev string) string {
	for i, p := range t.rig.Pairs {
		if t.rig.Rail(p, e).Netdev.Name == netdev {
			return fmt.Sprintf("rail %d (%s)", i+1, netdev)
		}
	}
	return netdev
}

// put puts a question to the user. A verdict says that the answer was no.
func (r *run) put(ctx context.Context, q steps.ChangeQuestion) (*steps.Verdict, error) {
	if r.s.o.Confirm == nil {
		return nil, errors.New("a change has to be confirmed, and nobody is there to ask: run it with --yes")
	}
	ok, err := r.confirmed(ctx, q)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("ask before the change: %w", err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !ok && !q.Keep:
		return verdict(steps.Inconclusive, "You declined: nothing was changed."), nil
	case !ok:
		return verdict(steps.Inconclusive, "You did not keep it."), nil
	}
	return nil, nil
}

// confirmed asks the user. Meanwhile the nodes' time goes on.
func (r *run) confirmed(ctx context.Context, q steps.ChangeQuestion) (ok bool, err error) {
	r.s.clock.Apart(ctx, false, func() { ok, err = r.s.o.Confirm.Change(ctx, q) })
	return ok, err
}

// confirm asks before scripts that change something else than the network. A
// verdict says that the answer was no.
func (r *run) confirm(ctx context.Context, rig steps.Rig) (*steps.Verdict, error) {
	q := steps.ChangeQuestion{Cell: r.cell.ID, Title: r.cell.Title, Final: true}
	for _, e := range steps.Ends {
		place := steps.ChangePlace{Node: rig.At(e).Name}
		for _, role := range r.cell.Roles {
			if slices.Contains(role.On.Ends(), e) {
				place.Script += r.script(rig, -1, role, e, r.limit()).Text()
			}
		}
		if place.Script != "" {
			q.Places = append(q.Places, place)
		}
	}
	return r.put(ctx, q)
}

// root says whether a script can run as root on both nodes: before anything is
// armed on one of them.
func (t *transaction) root(ctx context.Context) (*steps.Verdict, error) {
	err := t.both(ctx, func(ctx context.Context, e steps.End) error {
		_, err := runner.Text(ctx, t.node(t.rig, e), runner.Script{
			Name: "become root", Body: "id -u\n", Limit: readyLimit, Root: true,
		})
		return err
	})
	if rootless(err) {
		return verdict(steps.Skipped, "It needs root, and nothing was changed. %s", sentence(err)), nil
	}
	return nil, err
}

// make is the change from the journal's entry on. Whatever goes wrong, both nodes
// go back.
func (t *transaction) make(ctx context.Context) (*steps.Verdict, error) {
	if err := t.record(); err != nil {
		return nil, err
	}
	t.over = t.s.clock.Now().Add(t.span())
	t.entry.Until = t.over
	timed, cancel := t.s.clock.WithTimeout(ctx, t.span(), errors.New("the time for the change is over"))
	defer cancel()
	v, err := t.attempt(timed)
	if v == nil && err == nil && t.entry.Kept {
		return nil, nil
	}
	grade := steps.Fail
	if err != nil {
		if errors.Is(err, errUnarmed) || rootless(err) {
			grade = steps.Inconclusive // nothing was begun, or nobody could go on: nothing is known of the change
		}
		if timed.Err() != nil {
			// What was under way has its own words for being ended.
			grade, err = steps.Inconclusive, context.Cause(timed)
		}
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		t.tell("%s", err)
	}
	t.tell("going back on both nodes")
	away, done := t.s.clock.WithTimeout(context.WithoutCancel(ctx), backTime, nil)
	defer done()
	tried := t.result.Changed.After
	left, kept := undoEntry(away, t.s.o, t.entry, t.tell)
	if rig, err := t.s.probe(away, 0); err == nil {
		t.result.Changed.After = rig
	}
	if v == nil && err == nil && left == nil {
		// What was looked at is judged, though it is no longer there.
		t.result.Changed.Tried, t.result.Changed.After = true, tried
		return nil, nil
	}
	t.result.Stages = nil // nothing of it is there to be judged
	switch {
	case v == nil && err == nil:
		v = verdict(grade, "It worked.")
	case v == nil:
		v = verdict(grade, "%s", sentence(err))
	}
	if left != nil {
		v.Grade = steps.Fail
		v.Reason += " It could not be put back: " + strings.Join(left, "; ") + ". " + t.s.o.UndoCommand() + " tries again."
		return v, nil
	}
	v.Reason += " Both nodes are as they were before."
	if kept != nil {
		v.Reason += fmt.Sprintf(" %s went back without railbench, which is not root there any more, and kept the way back "+
			"in /run/railbench: %s removes it as soon as root is there again, and so does a reboot.",
			strings.Join(kept, " and "), t.s.o.UndoCommand())
	}
	return v, nil
}

// span is how long the change has, in the nodes' time: a person has as long whatever
// the speed.
func (t *transaction) span() time.Duration {
	return time.Duration(float64(t.s.o.ChangeTime) * t.s.o.Speed)
}

// deadline is when the switches go back, for a person.
func (t *transaction) deadline() time.Time {
	return time.Now().Add(time.Duration(float64(t.over.Sub(t.s.clock.Now())) / t.s.o.Speed))
}

// record writes the journal's entry: before the first change.
func (t *transaction) record() error {
	t.entry = undo.Entry{
		ID: strings.ToLower(rand.Text()[:12]), Rig: t.rig.Name,
		Reach: t.s.o.Reach, Cell: t.cell.ID, At: t.s.clock.Now().UTC(),
	}
	for _, e := range steps.Ends {
		before, err := json.Marshal(t.before[e])
		if err != nil {
			return err
		}
		t.guards[e] = undo.Guard{Node: t.node(t.rig, e), ID: t.entry.ID + "-" + e.String()}
		t.entry.Nodes = append(t.entry.Nodes, undo.Place{
			Name: t.rig.At(e).Name, Where: t.rig.At(e).Where, Boot: t.before[e].Boot, Guard: t.guards[e].ID,
			Back: t.back(e), Set: t.sets[e], Before: before,
		})
	}
	return t.s.o.Journal.Write(t.entry)
}

// errUnarmed is for a change that never began: without a way back there is none.
var errUnarmed = errors.New("the way back could not be made ready")

// attempt makes the change and looks at it. A verdict or an error means: go back.
func (t *transaction) attempt(ctx context.Context) (*steps.Verdict, error) {
	arm := func(ctx context.Context, e steps.End) error {
		return t.guards[e].Arm(ctx, t.entry.Nodes[e].Back, t.span())
	}
	if err := t.both(ctx, arm); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnarmed, err)
	}
	t.entry.Until = t.s.clock.Now().Add(t.span())
	t.tell("armed: both nodes go back in %.0f s unless you keep it", t.s.o.ChangeTime.Seconds())
	// The peer first: a change here may cut the way to it.
	for _, e := range []steps.End{steps.Peer, steps.Here} {
		if err := t.guards[e].Start(ctx, t.text(e)); err != nil {
			return nil, err
		}
	}
	stage := steps.Stage{Pair: -1, Outputs: make([]steps.Output, len(steps.Ends))}
	began := t.s.clock.Now()
	err := t.both(ctx, func(ctx context.Context, e steps.End) error {
		r, err := t.guards[e].Wait(ctx)
		stage.Outputs[e] = steps.Output{
			Role: t.cell.Roles[0].Name, End: e, Ran: err == nil, Text: r.Output,
			Exit: runner.Exit{Code: r.Code, Elapsed: t.s.clock.Now().Sub(began)},
		}
		for line := range strings.Lines(r.Output) {
			t.print(steps.OutputLine{
				From: t.rig.At(e).Name, Role: t.cell.Roles[0].Name, Text: strings.TrimRight(line, "\n"),
			}, false)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, o := range stage.Outputs {
		if !o.Exit.OK() {
			return verdict(steps.Fail, "The change failed on %s with %s: %s.",
				t.rig.At(o.End).Name, o.Exit, or(lastLine(o.Text), "not a word")), nil
		}
	}
	if v, err := t.untouched(ctx); v != nil || err != nil {
		return v, err
	}
	if v, err := t.inspect(ctx, &stage); v != nil || err != nil || t.cell.Change.Tries {
		return v, err
	}
	return t.keep(ctx)
}

// untouched says whether anything outside the change set is another than before, and
// whether a manager has taken back what was taken from it. A verdict is of the latter.
func (t *transaction) untouched(ctx context.Context) (*steps.Verdict, error) {
	states, err := captures(ctx, t.s.o, t.nodes()...)
	if err != nil {
		return nil, err
	}
	now := t.byEnd(states)
	if v := t.fought(ctx, now); v != nil {
		return v, nil
	}
	return nil, t.both(ctx, func(_ context.Context, e steps.End) error {
		diff := change.Differences(t.before[e], now[e], func(link string) bool {
			// Those of containers come and go by themselves.
			veth := t.before[e].Links[link].Kind == "veth" || now[e].Links[link].Kind == "veth"
			return !slices.Contains(t.sets[e], link) && !veth
		})
		if diff != nil {
			return fmt.Errorf("it touched what it must not on %s: %s", t.rig.At(e).Name, strings.Join(diff, "; "))
		}
		return nil
	})
}

// fought is a verdict where a manager works against the change: it has an interface again that
// was taken out of its hands. What it says of that in its log is the evidence.
func (t *transaction) fought(ctx context.Context, now [2]change.State) *steps.Verdict {
	if t.cell.Change.Tries {
		return nil // the managers do it themselves
	}
	var who []string
	evidence := []steps.Evidence{}
	for _, e := range steps.Ends {
		found := change.TakenBack(t.before[e], now[e], t.sets[e])
		if found == nil {
			continue
		}
		name := t.rig.NameOf(e)
		for _, f := range found {
			who = append(who, "on "+name+" "+f)
		}
		said, err := runner.Text(ctx, t.node(t.rig, e), runner.Script{
			Name: "read the managers' log", Body: change.ManagersLog, Limit: readyLimit, Root: true,
			Vars: map[string]string{"SET": strings.Join(t.sets[e], " ")},
		})
		if err != nil {
			said = err.Error()
		}
		for i, line := range slices.Collect(strings.Lines(said)) {
			evidence = append(evidence, steps.Evidence{
				Name: fmt.Sprintf("%s manager's log, %d", name, i+1), Value: strings.TrimSpace(line),
			})
		}
	}
	if who == nil {
		return nil
	}
	v := verdict(steps.Fail, "%s", sentence(errors.New(strings.Join(who, "; "))))
	v.Evidence = evidence
	return v
}

// inspect runs the roles that look at the change, and asks the judge.
func (t *transaction) inspect(ctx context.Context, stage *steps.Stage) (*steps.Verdict, error) {
	rig, err := t.s.probe(ctx, 0)
	if err != nil {
		return nil, err
	}
	t.result.Changed.After = rig
	t.tellSets()
	for _, role := range t.cell.Looks() {
		stage.Outputs = append(stage.Outputs, t.everywhere(ctx, rig, -1, role)...)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.result.Stages = []steps.Stage{*stage}
	v := t.judge(t.result)
	if v.Grade == steps.Pass || v.Grade == steps.Warn {
		return nil, nil
	}
	if states, err := captures(ctx, t.s.o, t.nodes()...); err == nil {
		if why := t.fought(ctx, t.byEnd(states)); why != nil {
			v.Reason = why.Reason + " " + v.Reason
			v.Evidence = append(v.Evidence, why.Evidence...)
		}
	}
	return &v, nil
}

// tellSets gives $CHANGED to the scripts that look: the interfaces of the change.
func (t *transaction) tellSets() {
	for _, e := range steps.Ends {
		t.vars[e]["CHANGED"] = strings.Join(t.sets[e], " ")
	}
}

// keep asks whether the change stays, and disarms the switches.
func (t *transaction) keep(ctx context.Context) (*steps.Verdict, error) {
	t.tell("made and looked at: keep it?")
	v, err := t.ask(ctx, steps.ChangeQuestion{Keep: true, Deadline: t.deadline(), Found: t.judge(t.result)})
	if v != nil || err != nil {
		return v, err
	}
	if err := t.both(ctx, func(ctx context.Context, e steps.End) error { return t.guards[e].Confirm(ctx) }); err != nil {
		return nil, err
	}
	t.entry.Kept = true
	if err := t.s.o.Journal.Write(t.entry); err != nil {
		return nil, err
	}
	t.tell("kept on both nodes; %s takes it back", t.s.o.UndoCommand())
	return nil, nil
}

// takeBack undoes entries, the newest first: what the cell undoes, and what was
// changed on top of it.
func (t *transaction) takeBack(ctx context.Context, entries []undo.Entry) (*steps.Verdict, error) {
	slices.Reverse(entries)
	q := steps.ChangeQuestion{Cell: t.cell.ID, Title: t.cell.Title}
	for _, e := range entries {
		for _, place := range e.Nodes {
			if end, ok := t.end(place); ok {
				t.sets[end] = append(t.sets[end], place.Set...)
			}
			i := slices.IndexFunc(q.Places, func(p steps.ChangePlace) bool { return p.Node == place.Name })
			if i < 0 {
				i, q.Places = len(q.Places), append(q.Places, steps.ChangePlace{Node: place.Name})
			}
			q.Places[i].Set = append(q.Places[i].Set, place.Set...)
			q.Places[i].Script += fmt.Sprintf("# before %s, %s\n%s", e.Cell, e.At.Local().Format(time.DateTime), place.Back)
		}
	}
	if t.s.o.Confirm == nil {
		return nil, errors.New("a change has to be confirmed, and nobody is there to ask: run it with --yes")
	}
	switch ok, err := t.confirmed(ctx, q); {
	case err != nil:
		return nil, err
	case !ok:
		return verdict(steps.Inconclusive, "You declined: nothing was changed."), nil
	}
	if v, err := t.root(ctx); v != nil || err != nil {
		return v, err
	}
	away, done := t.s.clock.WithTimeout(context.WithoutCancel(ctx), time.Duration(len(entries))*backTime, nil)
	defer done()
	var left []string
	for _, e := range entries {
		if left, _ = undoEntry(away, t.s.o, e, t.tell); left != nil {
			break // what lies below it was captured before it
		}
	}
	rig, err := t.s.probe(away, 0)
	if err != nil {
		return nil, err
	}
	t.result.Changed.After, t.result.Changed.Undone = rig, true
	stage := steps.Stage{Pair: -1}
	t.tellSets()
	for _, role := range t.cell.Looks() {
		stage.Outputs = append(stage.Outputs, t.everywhere(ctx, rig, -1, role)...)
	}
	t.result.Stages = []steps.Stage{stage}
	if left != nil {
		return verdict(steps.Fail, "It could not be put back: %s. Run the cell again, or %s.",
			strings.Join(left, "; "), t.s.o.UndoCommand()), nil
	}
	return nil, nil
}

// end is the end of the link that a journal's place is now; ok is false where it is at
// neither.
func (t *transaction) end(p undo.Place) (e steps.End, ok bool) {
	no, ok := nodeOf(t.s.o, nil, p)
	i := slices.Index(t.nodes(), no)
	return steps.End(max(i, 0)), ok && i >= 0
}

// both does something at both ends at once.
func both(ctx context.Context, clock runner.Clock, do func(context.Context, steps.End) error) error {
	var errs [2]error
	clock.Join(ctx, func(ctx context.Context) {
		atEnds(ctx, clock, func(ctx context.Context, e steps.End) { errs[e] = do(ctx, e) })
	})
	return errors.Join(errs[:]...)
}

func (r *run) both(ctx context.Context, do func(context.Context, steps.End) error) error {
	return both(ctx, r.s.clock, do)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	// A mark under the line in question, both below what is wrong with it.
	if n := len(lines); n > 2 && strings.TrimSpace(lines[n-1]) == "^" {
		return strings.TrimSuffix(strings.TrimSpace(lines[n-3]), ":")
	}
	return strings.TrimSuffix(strings.TrimSpace(lines[len(lines)-1]), ".")
}
