package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/registry"
)

// A Confirmer is asked before a change is made, and whether it stays.
type Confirmer interface {
	Change(ctx context.Context, q steps.ChangeQuestion) (bool, error)
}

// changeTime is how long a change has to be made, looked at and confirmed. After
// that the nodes go back by themselves.
const changeTime = 2 * time.Minute

// backTime is how long going back may take, with the connection made again and the
// interfaces managed again.
const backTime = 5 * time.Minute

// A transaction is one change over several nodes, which all get or none: the two of a link, or, where
// the cell is for all nodes, those of a rig.
type transaction struct {
	*run
	sides  []*side
	places []*changedNode // those of the link under test first
	entry  undo.Entry
	over   time.Time // when the switches go back
}

// A side is a link that a change is planned for, looked at and judged over.
type side struct {
	*run
	rig    steps.Rig
	plan   steps.Plan
	result steps.Result
}

// A changedNode is a node of a change, and the sides that it is at an end of.
type changedNode struct {
	no     int // its number
	at     []sideEnd
	before change.State
	set    []string // the interfaces that may become others
	guard  undo.Guard
	// unarmed says that the node refused to start the rollback timer, so that nothing of the change is there.
	unarmed bool
}

type sideEnd struct {
	*side
	end steps.End
}

// node is what was found on a place's node.
func (p *changedNode) node() steps.Node { return p.at[0].rig.At(p.at[0].end) }

func (p *changedNode) name() string { return p.node().Name }

// tag separates a place's switch from the others of its change.
func (p *changedNode) tag(i int) string {
	if i < len(steps.Ends) {
		return steps.End(i).String()
	}
	return strconv.Itoa(i)
}

// each are the texts of a place at its sides, those that are the same once.
func (p *changedNode) each(text func(sideEnd) string) (all []string) {
	for _, at := range p.at {
		all = append(all, text(at))
	}
	return distinct(all)
}

// change runs a cell that changes the network: captured, asked, armed, made,
// looked at, and kept or gone back. What it gives is judged only where all nodes
// have the change; everything else is a verdict of its own.
func (r *run) change(ctx context.Context, rig steps.Rig) (result steps.Result, own *steps.Verdict, err error) {
	t := &transaction{run: r, sides: []*side{{run: r, rig: rig}}}
	if r.wide() {
		if own, err = t.widen(ctx); own != nil || err != nil {
			return steps.Result{Rig: rig}, own, err
		}
	}
	for _, s := range t.sides {
		s.result = steps.Result{Rig: s.rig, Changed: &steps.Changed{After: s.rig}}
	}
	t.findPlaces()
	own, err = t.whole(ctx)
	if !r.wide() {
		return t.sides[0].result, own, err
	}
	if own == nil && err == nil {
		v := finite(t.judged())
		own = &v
	}
	result = t.sides[0].result
	result.Stages = nil
	for _, s := range t.sides {
		result.Stages = append(result.Stages, r.s.renumbered(s.result)...)
	}
	return result, own, err
}

// wide reports whether the cell changes all nodes of a rig that has more than the link's.
func (r *run) wide() bool {
	return r.cell.ChangesAll() && len(r.s.o.Nodes) > len(steps.Ends)
}

// widen makes a side of every link from a node to the next. A verdict says why one of them can't be changed.
// A rollback works where it can: a node that can't be reached is reported with what is left there.
func (t *transaction) widen(ctx context.Context) (*steps.Verdict, error) {
	seen := t.s.look(ctx, fresh)
	t.sides = nil
	var away error
	_, next := seen.rig.Cabled()
	for _, l := range next {
		rig, err := seen.over(t.s.o, l)
		if err != nil && t.cell.Change.Undoes != "" {
			away = err
			continue
		} else if err != nil {
			return nil, err
		}
		sub := &run{
			s: t.s, id: t.id, cell: t.cell, name: t.name, seen: &seen, link: l, params: t.params, locked: true,
			held: &heldLines{},
			vars: [2]map[string]string{maps.Clone(t.vars[steps.Here]), maps.Clone(t.vars[steps.Peer])},
		}
		if why := sub.missing(rig); why != "" {
			return verdict(steps.NothingToChange, steps.Skipped, "%s", why), nil
		}
		t.sides = append(t.sides, &side{run: sub, rig: rig})
	}
	if t.sides == nil {
		return nil, away
	}
	if away != nil {
		t.tell("%s", away)
	}
	return nil, nil
}

// findPlaces finds the nodes of the sides, those of the link under test first.
func (t *transaction) findPlaces() {
	old := t.places
	t.places = nil
	for _, no := range t.link.Reorder(len(t.s.o.Nodes)) {
		p := &changedNode{no: no}
		if i := slices.IndexFunc(old, func(p *changedNode) bool { return p.no == no }); i >= 0 {
			p.before = old[i].before
		}
		for _, s := range t.sides {
			for _, e := range steps.Ends {
				if s.rig.At(e).No == no {
					p.at = append(p.at, sideEnd{s, e})
				}
			}
		}
		if p.at != nil {
			t.places = append(t.places, p)
		}
	}
}

// whole is a change from the look at what it changes to its end. Where neither a verdict nor an
// error says more, its result is judged.
func (t *transaction) whole(ctx context.Context) (*steps.Verdict, error) {
	if t.s.o.Journal == nil {
		return nil, errors.New("no folder for the undo journal, so nothing was changed")
	}
	states, err := t.capture(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range t.places {
		p.before = states[p.no]
	}
	if cell := t.cell.Change.Undoes; cell != "" {
		entries, err := openChanges(t.s.o, states)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(entries, func(e undo.Entry) bool {
			return cell == steps.Everything || e.Cell == cell
		}); i >= 0 {
			return t.takeBack(ctx, entries[i:])
		}
	}
	if done, v := t.planned(); done || v != nil {
		return v, nil
	}
	if err := t.collect(); err != nil {
		return nil, err
	}
	asks := func(ctx context.Context) (*steps.Verdict, error) { return t.ask(ctx, steps.ChangeQuestion{}) }
	for _, may := range []func(context.Context) (*steps.Verdict, error){t.refused, asks, t.root, t.again} {
		if v, err := may(ctx); v != nil || err != nil {
			return v, err
		}
	}
	return t.make(ctx)
}

// again probes once more: the user may have taken minutes to answer, and the rollback is made from the
// present state. A verdict says that this is not what the user was asked about.
func (t *transaction) again(ctx context.Context) (*steps.Verdict, error) {
	planned := map[int]change.State{}
	for _, p := range t.places {
		planned[p.no] = p.before
	}
	states, err := t.capture(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range t.places {
		p.before = states[p.no]
	}
	if v, err := t.refused(ctx); v != nil || err != nil {
		return v, err
	}
	return t.moved(planned, "the question was open"), nil
}

// planned plans every side, and keeps those where there is something to do; done says that there is
// none. A verdict is a refusal.
func (t *transaction) planned() (done bool, v *steps.Verdict) {
	var left []*side
	for _, s := range t.sides {
		s.plan = s.run.plan(s.rig)
		switch {
		case s.plan.Nothing != "":
			s.result.Changed.Nothing = s.plan.Nothing
			continue
		case s.plan.Refuse != "":
			return false, verdict(steps.ChangeRefused, steps.Inconclusive, "Refused: %s", sentence(errors.New(s.plan.Refuse)))
		}
		for _, e := range steps.Ends {
			maps.Copy(s.vars[e], s.plan.Vars[e])
		}
		left = append(left, s)
	}
	if left == nil {
		return true, nil
	}
	t.sides = left
	t.findPlaces()
	return false, nil
}

// capture looks at the network of all places; the states stand at the nodes' numbers.
func (t *transaction) capture(ctx context.Context) ([]change.State, error) {
	var numbers []int
	for _, p := range t.places {
		numbers = append(numbers, p.no)
	}
	return captures(ctx, t.s.o, numbers...)
}

// judged is what a change comes to, over each of its sides.
func (t *transaction) judged() steps.Verdict {
	if len(t.sides) == 1 && !t.wide() {
		return t.judge(t.sides[0].result)
	}
	var told []linkVerdict
	for _, s := range t.sides {
		told = append(told, linkVerdict{t.ends(s.link), s.judge(s.result)})
	}
	v := foldLinks(told)
	if v.Reason == told[0].Reason { // as good, or as bad, everywhere
		v.Reason = fmt.Sprintf("On each of %d links: %s", len(told), v.Reason)
	}
	return v
}

// nodes says how many nodes a sentence is about.
func (t *transaction) nodes() string {
	if len(t.places) == len(steps.Ends) {
		return "both nodes"
	}
	return fmt.Sprintf("all %d nodes", len(t.places))
}

func verdict(code steps.Code, g steps.Grade, format string, args ...any) *steps.Verdict {
	return &steps.Verdict{Grade: g, Code: code, Reason: fmt.Sprintf(format, args...), Evidence: []steps.Evidence{}}
}

// collect works out the change set, and refuses one that would cut off more than
// a rail.
func (t *transaction) collect() error {
	all := 0
	for _, p := range t.places {
		for _, at := range p.at {
			p.set = append(p.set, changeSet(t.cell, vars(at.rig, at.end, -1, t.params), at.vars[at.end])...)
		}
		p.set = distinct(p.set)
		if node := p.node(); node.RouteDev != "" && slices.Contains(p.set, node.RouteDev) {
			return fmt.Errorf("%s on %s carries the default route, so railbench will not change it. Move that route to "+
				"another interface first", node.RouteDev, node.Name)
		}
		all += len(p.set)
	}
	if all == 0 {
		return fmt.Errorf("nothing to change: %s names no interface", strings.Join(t.cell.Change.Set, ", "))
	}
	return nil
}

// ask fills in a question and puts it. A verdict says that the answer was no.
func (t *transaction) ask(ctx context.Context, q steps.ChangeQuestion) (*steps.Verdict, error) {
	q.Cell, q.Title = t.cell.ID, t.cell.Title
	q.Rollback = fmt.Sprintf("Unless you confirm it, the change is rolled back automatically in %s.",
		minutes(t.s.o.ChangeTime))
	if t.cell.Change.Tries {
		q.Rollback = "The change is rolled back automatically as soon as it was checked."
	}
	for _, p := range t.places {
		place := steps.ChangePlace{Node: p.name(), Set: p.set, Held: t.managers(p), Script: t.own(p), HandOver: t.unmanage(p)}
		place.Becomes = strings.Join(p.each(func(at sideEnd) string { return at.plan.Becomes[at.end] }), ", ")
		q.Places = append(q.Places, place)
		if dev := p.node().SSHDev; !q.Keep && slices.Contains(p.set, dev) {
			q.Warnings = append(q.Warnings, fmt.Sprintf("%s carries the connection to %s, which will be interrupted. If it "+
				"does not return, %s is rolled back automatically.", dev, p.name(), p.name()))
		}
	}
	return t.put(ctx, q)
}

// minutes words a time: whole minutes, or else seconds.
func minutes(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// busyTime is how long a manager that is at work, or does not answer in time, is asked again.
const busyTime = 30 * time.Second

// refused is a verdict where a manager that can't be asked manages an interface of the change: nothing was touched.
// One that is busy is asked again for a while.
func (t *transaction) refused(ctx context.Context) (*steps.Verdict, error) {
	planned, told := map[int]change.State{}, ""
	for _, p := range t.places {
		planned[p.no] = p.before
	}
	for end := t.s.clock.Now().Add(busyTime); ; {
		name, why, busy := t.refusal()
		switch {
		case why == "":
			return t.moved(planned, "the manager was busy"), nil
		case !busy || t.s.clock.Now().After(end):
			return verdict(steps.ChangeRefused, steps.Inconclusive,
				"Nothing was changed: on %s %s.", name, why), nil
		case why != told:
			told = why
			t.tell("on %s %s; retrying for %.0f s", name, why, busyTime.Seconds())
		}
		if t.s.clock.Await(ctx, time.Second) == runner.Interrupted {
			return nil, context.Cause(ctx)
		}
		states, err := t.capture(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range t.places {
			p.before = states[p.no]
		}
	}
}

// refusal is the first node at which a change must not be begun, and why.
func (t *transaction) refusal() (name, why string, busy bool) {
	for _, p := range t.places {
		if why, busy = change.Refuse(p.before, p.set); why != "" {
			return p.name(), why, busy
		}
	}
	return "", "", false
}

// moved is a verdict where a network that was waited for is another than the one that the change
// was planned for.
func (t *transaction) moved(planned map[int]change.State, while string) *steps.Verdict {
	for _, p := range t.places {
		was := planned[p.no]
		was.Managers = change.Managers{} // which were not settled, and are not what was planned
		of := func(link string) bool { return slices.Contains(p.set, link) }
		diff := change.Differences(was, p.before, of)
		if diff != nil {
			return verdict(steps.ChangedMeanwhile, steps.Inconclusive,
				"Nothing was changed: %s changed while %s (%s). Run the cell again.", p.name(), while, strings.Join(diff, "; "))
		}
	}
	return nil
}

// text is what runs at a place: what makes its interfaces unmanaged, and the cell's script.
func (t *transaction) text(p *changedNode) string {
	return change.Begin(p.before, p.set) + t.unmanage(p) + t.own(p)
}

// unmanage makes a place's interfaces unmanaged; a change that the managers make leaves them as they are.
func (t *transaction) unmanage(p *changedNode) string {
	if t.cell.Change.Tries {
		return ""
	}
	return change.Take(p.before.Managers, p.set)
}

// own is the cell's script at a place, with its values: once for each of its sides that has others.
func (t *transaction) own(p *changedNode) string {
	return inTurn(p.each(func(at sideEnd) string {
		return at.script(at.rig, -1, t.cell.Roles[0], at.end, t.limit()).Text()
	}))
}

// back is what puts a place back. What managers made they forget first: they would make it again.
func (t *transaction) back(p *changedNode) string {
	back := change.Back(p.before, p.set)
	if forgets, ok := t.cell.Forgets(); ok {
		all := p.each(func(at sideEnd) string { return at.script(at.rig, -1, forgets, at.end, t.limit()).Text() })
		return "(\n" + strings.Join(all, ")\n(\n") + ")\n" + back
	}
	return back
}

// managers says which manager has each interface of a place before the change.
func (t *transaction) managers(p *changedNode) (all []steps.HeldNetdev) {
	for _, name := range p.set {
		for _, m := range p.before.Managers.Of(name) {
			if m.Holds() {
				all = append(all, steps.HeldNetdev{Netdev: name, Rail: p.rail(name), Manager: m})
			}
		}
	}
	return all
}

// rail is the rail that an interface carries, from 1; 0 for none.
func (p *changedNode) rail(netdev string) int {
	at := p.at[0]
	for i, pair := range at.rig.Pairs {
		if at.rig.Rail(pair, at.end).Netdev.Name == netdev {
			return i + 1
		}
	}
	return 0
}

// put puts a question to the user. A verdict says that the answer was no.
func (r *run) put(ctx context.Context, q steps.ChangeQuestion) (*steps.Verdict, error) {
	if r.s.o.Confirm == nil {
		return nil, unasked(r.cell)
	}
	ok, err := r.confirmed(ctx, q)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("ask before the change: %w", err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !ok && !q.Keep:
		return verdict(steps.Declined, steps.Inconclusive, "You declined; nothing was changed."), nil
	case !ok:
		return verdict(steps.Declined, steps.Inconclusive, "You did not confirm it."), nil
	}
	return nil, nil
}

// unasked is for a change that needs an answer from a user who can't be asked. It names the command that
// needs none: serve has no --yes.
func unasked(c steps.Cell) error {
	return fmt.Errorf("this cell changes the network and needs confirmation, but this session cannot "+
		"ask. Add --yes to railbench run %s", c.ID)
}

// confirmed asks the user. Meanwhile the nodes' time goes on, and the cell's stands.
func (r *run) confirmed(ctx context.Context, q steps.ChangeQuestion) (ok bool, err error) {
	began := r.s.clock.Now()
	r.s.clock.Apart(ctx, false, func() { ok, err = r.s.o.Confirm.Change(ctx, q) })
	r.waited += r.s.clock.Now().Sub(began)
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

// root says whether a script can run as root on all places: before anything is
// armed on one of them.
func (t *transaction) root(ctx context.Context) (*steps.Verdict, error) {
	err := t.all(ctx, func(ctx context.Context, p *changedNode) error {
		_, err := runner.Text(ctx, t.s.o.Nodes[p.no], runner.Script{
			Name: "become root", Body: "id -u\n", Limit: readyLimit, Root: true,
		})
		return err
	})
	if rootless(err) {
		return noRoot(err), nil
	}
	return nil, err
}

// noRoot is for a change that was not begun, because some nodes give no root.
func noRoot(err error) *steps.Verdict {
	errs := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		errs = several.Unwrap()
	}
	v := verdict(steps.NeedsRoot, steps.Skipped, "It needs root; nothing was changed. %s", sentence(errs[0]))
	if e, ok := errors.AsType[*runner.Error](errs[0]); ok {
		v.Reason = fmt.Sprintf("It needs root on %s; nothing was changed. %s", e.Node, sentence(e.Err))
	}
	for _, err := range errs {
		v.Evidence = append(v.Evidence, steps.Evidence{Name: steps.NoteName, Value: sentence(err)})
	}
	return v
}

// make is the change from the journal's entry on. Whatever goes wrong, all nodes
// go back.
func (t *transaction) make(ctx context.Context) (*steps.Verdict, error) {
	if err := t.record(); err != nil {
		return nil, err
	}
	t.over = t.s.clock.Now().Add(t.span())
	t.entry.Until = t.over
	timed, cancel := t.s.clock.WithTimeout(ctx, t.span(), errors.New("the time for confirmation is over"))
	defer cancel()
	v, err := t.attempt(timed)
	if v == nil && err == nil && t.entry.Kept {
		return nil, nil
	}
	grade := steps.Fail
	if err != nil {
		grade, err = failed(ctx, timed, err)
		t.tell("%s", err)
	}
	if forgotten, failed := t.withoutUnarmed(); failed != nil {
		return nil, failed
	} else if forgotten {
		return verdict(steps.ChangeRefused, steps.Inconclusive, "Nothing was changed. %s", sentence(err)), nil
	}
	t.tell("rolling back on %s", t.nodes())
	away, done := t.s.clock.WithTimeout(context.WithoutCancel(ctx), backTime, nil)
	defer done()
	left, kept := undoEntry(away, t.s.o, t.entry, t.tell)
	if v == nil && err == nil && left == nil {
		// What was read is judged, even if it is gone by now.
		for _, s := range t.sides {
			s.result.Changed.Tried = true
		}
		_ = t.s.look(away, 0) // the screen's
		return nil, nil
	}
	_ = t.lookAfter(away) // a node that does not answer is reported with what is left there
	for _, s := range t.sides {
		s.result.Stages = nil // nothing of it is there to be judged
	}
	switch {
	case v == nil && err == nil:
		v = verdict(steps.ChangeRolledBack, grade, "It worked.")
	case v == nil:
		v = verdict(steps.ChangeRolledBack, grade, "%s", sentence(err))
	}
	t.rolledBack(v, left, kept)
	return v, nil
}

// failed is how bad it is that a change failed, and why it did: what was under way has its own words for being ended.
func failed(ctx, timed context.Context, err error) (steps.Grade, error) {
	grade := steps.Fail
	if errors.Is(err, errUnarmed) || rootless(err) {
		grade = steps.Inconclusive // nothing was begun, or it was cut off: the state of the change is unknown
	}
	if timed.Err() != nil {
		grade, err = steps.Inconclusive, context.Cause(timed)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return grade, err
}

// rolledBack adds to a change's verdict how its rollback went: what is left of the change, and where railbench lost
// root meanwhile.
func (t *transaction) rolledBack(v *steps.Verdict, left, kept []string) {
	if left != nil {
		v.Grade = steps.Fail
		v.Reason += " Rollback failed: " + strings.Join(left, "; ") + ". Try again: " + t.s.o.UndoCommand() + "."
		return
	}
	v.Reason += " " + sentence(errors.New(t.nodes()+" are as they were before"))
	if kept != nil {
		v.Reason += fmt.Sprintf(" %s rolled back without railbench, which lost root there. Run %s "+
			"again as root to remove what is left.",
			strings.Join(kept, " and "), t.s.o.UndoCommand())
	}
}

// withoutUnarmed takes the nodes off the journal's entry that refused to start their timer: there is nothing to roll
// back. forgotten says that all did, and that the entry has gone.
func (t *transaction) withoutUnarmed() (forgotten bool, err error) {
	var armed []undo.Place
	for i, p := range t.places {
		if !p.unarmed {
			armed = append(armed, t.entry.Nodes[i])
		}
	}
	switch len(armed) {
	case len(t.entry.Nodes):
		return false, nil
	case 0:
		return true, t.s.o.Journal.Remove(t.entry.ID)
	}
	t.entry.Nodes = armed
	return false, t.s.o.Journal.Write(t.entry)
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
		ID: strings.ToLower(rand.Text()[:12]), Rig: t.sides[0].rig.Name,
		Reach: t.s.o.Reach, Cell: t.cell.ID, At: t.s.clock.Now().UTC(),
	}
	for i, p := range t.places {
		before, err := json.Marshal(p.before)
		if err != nil {
			return err
		}
		p.guard = undo.Guard{Node: t.s.o.Nodes[p.no], ID: t.entry.ID + "-" + p.tag(i)}
		t.entry.Nodes = append(t.entry.Nodes, undo.Place{
			Name: p.name(), Where: p.node().Where, Boot: p.before.Boot, Guard: p.guard.ID,
			Back: t.back(p), Set: p.set, Before: before,
		})
	}
	return t.s.o.Journal.Write(t.entry)
}

// errUnarmed is for a change that never began, because its rollback could not be prepared.
var errUnarmed = errors.New("the rollback could not be prepared")

// attempt makes the change and looks at it. A verdict or an error means: go back.
func (t *transaction) attempt(ctx context.Context) (*steps.Verdict, error) {
	arm := func(ctx context.Context, p *changedNode) error {
		err := p.guard.Arm(ctx, t.back(p), t.span())
		p.unarmed = errors.Is(err, undo.ErrRefused)
		return err
	}
	if err := t.all(ctx, arm); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnarmed, err)
	}
	t.entry.Until = t.s.clock.Now().Add(t.span())
	t.tell("rollback timer started: %s are rolled back in %.0f s unless you confirm", t.nodes(),
		t.s.o.ChangeTime.Seconds())
	// This end last: a change here may cut the way to the others.
	for _, p := range slices.Backward(t.places) {
		if err := p.guard.Start(ctx, t.text(p)); err != nil {
			return nil, err
		}
	}
	made, err := t.wait(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range t.places {
		if o := made[p.no]; !o.Exit.OK() {
			return verdict(steps.ChangeFailed, steps.Fail, "The change failed on %s with %s: %s.", p.name(), o.Exit,
				or(lastLine(o.Text), "no message")), nil
		}
	}
	if v, err := t.untouched(ctx); v != nil || err != nil {
		return v, err
	}
	if v, err := t.inspect(ctx, made); v != nil || err != nil || t.cell.Change.Tries {
		return v, err
	}
	return t.keep(ctx)
}

// wait waits until the change has ended on all places; its outputs stand at the nodes' numbers.
func (t *transaction) wait(ctx context.Context) (made []steps.Output, err error) {
	made = make([]steps.Output, len(t.s.o.Nodes))
	began := t.s.clock.Now()
	err = t.all(ctx, func(ctx context.Context, p *changedNode) error {
		r, err := p.guard.Wait(ctx)
		made[p.no] = steps.Output{
			Role: t.cell.Roles[0].Name, Ran: err == nil, Text: r.Output,
			Exit: runner.Exit{Code: r.Code, Elapsed: t.s.clock.Now().Sub(began)},
		}
		for line := range strings.Lines(r.Output) {
			t.print(steps.OutputLine{
				From: p.name(), Role: t.cell.Roles[0].Name, Text: strings.TrimRight(line, "\n"),
			}, false)
		}
		return err
	})
	return made, err
}

// untouched says whether anything outside the change set is another than before, and
// whether a manager has taken back what was taken from it. A verdict is of the latter.
func (t *transaction) untouched(ctx context.Context) (*steps.Verdict, error) {
	now, err := t.capture(ctx)
	if err != nil {
		return nil, err
	}
	if v := t.fought(ctx, now); v != nil {
		return v, nil
	}
	var errs []error
	for _, p := range t.places {
		diff := change.Differences(p.before, now[p.no], func(link string) bool {
			// Those of containers come and go by themselves.
			veth := p.before.Links[link].Kind == "veth" || now[p.no].Links[link].Kind == "veth"
			return !slices.Contains(p.set, link) && !veth
		})
		if diff != nil {
			errs = append(errs, fmt.Errorf("it changed other settings on %s: %s", p.name(), strings.Join(diff, "; ")))
		}
	}
	return nil, errors.Join(errs...)
}

// fought is a verdict where a manager works against the change: it manages an interface again that was made
// unmanaged. What it says of that in its log is the evidence.
func (t *transaction) fought(ctx context.Context, now []change.State) *steps.Verdict {
	if t.cell.Change.Tries {
		return nil // the managers do it themselves
	}
	var who []string
	evidence := []steps.Evidence{}
	for _, p := range t.places {
		found := change.TakenBack(p.before, now[p.no], p.set)
		if found == nil {
			continue
		}
		name := p.name()
		for _, f := range found {
			who = append(who, "on "+name+" "+f)
		}
		said, err := runner.Text(ctx, t.s.o.Nodes[p.no], runner.Script{
			Name: "read the managers' log", Body: scripts.ManagersLog, Limit: readyLimit, Root: true,
			Vars: map[string]string{"SET": strings.Join(p.set, " ")},
		})
		if err != nil {
			said = err.Error()
		}
		for i, line := range slices.Collect(strings.Lines(said)) {
			evidence = append(evidence, steps.Evidence{
				Name: fmt.Sprintf("%s manager's log, %d", name, i+1), Value: strings.TrimSpace(line), Node: name,
			})
		}
	}
	if who == nil {
		return nil
	}
	text := who[0] + ". Run: railbench doctor rail-managers"
	if len(who) > 1 {
		for _, w := range who {
			evidence = append(evidence, steps.Evidence{Name: steps.NoteName, Value: registry.Capital(w)})
		}
	}
	v := verdict(steps.ChangeFought, steps.Fail, "%s", sentence(errors.New(text)))
	v.Evidence = evidence
	return v
}

// inspect runs the roles that look at the change, and asks the judge. made are the change's own outputs.
func (t *transaction) inspect(ctx context.Context, made []steps.Output) (*steps.Verdict, error) {
	if err := t.lookAfter(ctx); err != nil {
		return nil, err
	}
	t.see(ctx, made)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	v := t.judged()
	if v.Grade == steps.Pass || v.Grade == steps.Warn {
		return nil, nil
	}
	if states, err := t.capture(ctx); err == nil {
		if why := t.fought(ctx, states); why != nil {
			v.Reason = why.Reason + " " + v.Reason
			v.Evidence = append(v.Evidence, why.Evidence...)
		}
	}
	return &v, nil
}

// lookAfter probes the nodes again, for every side.
func (t *transaction) lookAfter(ctx context.Context) error {
	seen := t.s.look(ctx, 0)
	for _, s := range t.sides {
		rig, err := seen.over(t.s.o, s.rig.Link())
		if err != nil {
			return err
		}
		s.result.Changed.After = rig
	}
	return nil
}

// see runs the roles that look, over every side; $CHANGED are the interfaces of the change there.
// What the change itself has printed stands before what they have.
func (t *transaction) see(ctx context.Context, made []steps.Output) {
	for _, p := range t.places {
		for _, at := range p.at {
			at.vars[at.end]["CHANGED"] = strings.Join(p.set, " ")
		}
	}
	atOnce(ctx, t.s.clock, len(t.sides), func(ctx context.Context, i int) {
		s := t.sides[i]
		stage := steps.Stage{Pair: -1}
		for _, e := range steps.Ends {
			if made != nil {
				o := made[s.rig.At(e).No]
				o.End = e
				stage.Outputs = append(stage.Outputs, o)
			}
		}
		for _, role := range t.cell.Looks() {
			stage.Outputs = append(stage.Outputs, s.everywhere(ctx, s.result.Changed.After, -1, role)...)
		}
		s.result.Stages = []steps.Stage{stage}
	})
	for _, s := range t.sides {
		if s.run != t.run {
			t.tell("link %s", t.ends(s.link))
			t.replay(s.held)
		}
	}
}

// keep asks whether the change stays, and disarms the switches.
func (t *transaction) keep(ctx context.Context) (*steps.Verdict, error) {
	t.tell("the change was made and checked: confirm it?")
	v, err := t.ask(ctx, steps.ChangeQuestion{Keep: true, Deadline: t.deadline(), Found: t.judged()})
	if v != nil || err != nil {
		return v, err
	}
	if err := t.all(ctx, func(ctx context.Context, p *changedNode) error { return p.guard.Confirm(ctx) }); err != nil {
		return nil, err
	}
	t.entry.Kept = true
	if err := t.s.o.Journal.Write(t.entry); err != nil {
		return nil, err
	}
	t.tell("kept on %s. To undo: %s", t.nodes(), t.s.o.UndoCommand())
	return nil, nil
}

// takeBack undoes entries, the newest first: what the cell undoes, and what was
// changed on top of it.
func (t *transaction) takeBack(ctx context.Context, entries []undo.Entry) (*steps.Verdict, error) {
	slices.Reverse(entries)
	q := steps.ChangeQuestion{Cell: t.cell.ID, Title: t.cell.Title}
	for _, e := range entries {
		for _, place := range e.Nodes {
			if p := t.of(place); p != nil {
				p.set = append(p.set, place.Set...)
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
		return nil, unasked(t.cell)
	}
	switch ok, err := t.confirmed(ctx, q); {
	case err != nil:
		return nil, err
	case !ok:
		return verdict(steps.Declined, steps.Inconclusive, "You declined; nothing was changed."), nil
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
	if err := t.lookAfter(away); err != nil {
		return nil, err
	}
	for _, s := range t.sides {
		s.result.Changed.Undone = true
	}
	t.see(ctx, nil)
	if left != nil {
		return verdict(steps.RollbackFailed, steps.Fail, "Rollback failed: %s. Run the cell again, or %s.",
			strings.Join(left, "; "), t.s.o.UndoCommand()), nil
	}
	return nil, nil
}

// of is the place that a journal's is now; nil where it is none of this change.
func (t *transaction) of(p undo.Place) *changedNode {
	no, ok := nodeOf(t.s.o, nil, p)
	i := slices.IndexFunc(t.places, func(p *changedNode) bool { return p.no == no })
	if !ok || i < 0 {
		return nil
	}
	return t.places[i]
}

// all does something at all places at once.
func (t *transaction) all(ctx context.Context, do func(context.Context, *changedNode) error) error {
	errs := make([]error, len(t.places))
	t.s.clock.Join(ctx, func(ctx context.Context) {
		atOnce(ctx, t.s.clock, len(t.places), func(ctx context.Context, i int) { errs[i] = do(ctx, t.places[i]) })
	})
	return errors.Join(errs...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	// A mark under the line in question, both below what is wrong with it.
	if n := len(lines); n > 2 && strings.TrimSpace(lines[n-1]) == "^" {
		return strings.TrimSuffix(strings.TrimSpace(lines[n-3]), ":")
	}
	return strings.TrimSuffix(strings.TrimSpace(lines[len(lines)-1]), ".")
}
