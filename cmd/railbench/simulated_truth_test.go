package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
)

// truths are what is the case on the rig and what a session says of it, side by side.
type truths struct {
	asked simulatedAsked

	mu     sync.Mutex
	active map[string]time.Time // the faults that are there, and since when
	runs   map[string]*runTruth // by cell: the run that is going on

	set      bool     // parameters are
	events   []string // since the last line of the trace
	lies     []string
	original map[string][]string // the tutorial's scripts, by cell
}

// A runTruth is what was the case while a cell ran.
type runTruth struct {
	whole map[string]bool // faults that were there all the time
	any   map[string]bool // and those that were there at some time
	own   bool            // the script or the parameters are the user's
	anew  bool            // a node was started again meanwhile
}

// faults says which faults there are from now on.
func (w *truths) faults(hurt map[string]time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = maps.Clone(hurt)
	for _, r := range w.runs {
		for name := range r.whole {
			if _, still := hurt[name]; !still {
				delete(r.whole, name)
			}
		}
		for name := range hurt {
			r.any[name] = true
		}
	}
}

// rebooted says that a node goes down, whose counters begin at zero.
func (w *truths) rebooted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		r.anew = true
	}
}

// cut forgets what ran: no one reports its end.
func (w *truths) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = nil
}

// busy reports whether a cell runs.
func (w *truths) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.runs) > 0
}

// line is what happened since the last one.
func (w *truths) line() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.events, "; ")
	w.events = nil
	return all
}

// hear follows what a session keeps.
func (w *truths) hear(events []steps.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		switch e := e.(type) {
		case steps.ParamsSet:
			w.set = e.Params.Any()
		case steps.CellStarted:
			w.started(e)
		case steps.CellEnded:
			w.ended(e)
		}
	}
}

func (w *truths) started(e steps.CellStarted) {
	if w.runs == nil {
		w.runs = map[string]*runTruth{}
	}
	if w.original == nil {
		w.original = map[string][]string{}
		t, _ := theTutorial()
		for _, c := range t.Cells() {
			for _, r := range c.Roles {
				w.original[c.ID] = append(w.original[c.ID], r.Script)
			}
		}
	}
	r := &runTruth{whole: map[string]bool{}, any: map[string]bool{}}
	for name := range w.active {
		r.whole[name], r.any[name] = true, true
	}
	r.own = w.set || !slices.Equal(e.Scripts, w.original[e.Cell])
	w.runs[e.Cell] = r
	w.events = append(w.events, "began "+e.Cell)
}

func (w *truths) ended(e steps.CellEnded) {
	w.events = append(w.events, fmt.Sprintf("ended %s after %s: %s %s",
		e.Cell, e.Elapsed, e.Verdict.Grade, noise.ReplaceAllString(e.Verdict.Reason, "~")))
	r := w.runs[e.Cell]
	delete(w.runs, e.Cell)
	if r != nil && r.anew && e.Verdict.Grade == steps.Pass && measured(e.Cell) {
		w.lies = append(w.lies, fmt.Sprintf("%s is a PASS over a reboot: %s", e.Cell, e.Verdict.Reason))
	}
	if r == nil || r.own || e.Verdict.Grade != steps.Pass || w.asked.changed() {
		return
	}
	for name := range r.whole {
		if mustSee(name, e.Cell) && r.alone(name) {
			w.lies = append(w.lies, fmt.Sprintf("%s is a PASS while %s was there all the time: %s", e.Cell, name,
				e.Verdict.Reason))
		}
	}
}

// alone reports whether no other fault was there that could hide this one: a rail that has no address is not a rail,
// and what is wrong with it can't be seen.
func (r *runTruth) alone(name string) bool {
	for other := range r.any {
		bare, _, _ := strings.Cut(other, "@")
		s := symptoms[bare]
		if other != name && (len(s.seen)+len(s.skipped)+len(s.says) > 0) {
			return false
		}
	}
	return true
}

// measured reports whether a cell reads the counters of both nodes before and after.
func measured(id string) bool {
	t, _ := theTutorial()
	c, _ := t.Cell(id)
	return c.Counters
}

// mustSee reports whether a cell has to see a fault, by the table of all faults and cells.
func mustSee(fault, cell string) bool {
	if cell == "dual-link" {
		return dualSymptoms[fault] != nil
	}
	s := symptoms[fault]
	return s.seen[cell] != nil || s.skipped[cell] != nil
}

// A simulatedStore says what is kept.
type simulatedStore struct {
	*notebook.Store
	truths *truths
	full   *bool // there is no room
	held   []steps.Event
}

// Path is what the screen reports: not where this machine has room.
func (k *simulatedStore) Path() string { return filepath.Base(k.Store.Path()) }

func (k *simulatedStore) Record(events []steps.Event) error {
	k.truths.hear(events)
	k.held = append(k.held, events...)
	if *k.full {
		return syscall.ENOSPC
	}
	events, k.held = k.held, nil
	return k.Store.Record(events)
}

// Close keeps what can be kept.
func (k *simulatedStore) Close() error {
	var err error
	if !*k.full {
		err = k.Record(nil)
	} else if len(k.held) > 0 {
		err = syscall.ENOSPC
	}
	return errors.Join(err, k.Store.Close())
}

// simulatedAsked hands questions about changes on, and knows what was answered.
type simulatedAsked struct {
	next session.Confirmer

	mu   sync.Mutex
	open int
	kept []string // changes of the network that were to stay
	made bool     // a change was agreed to
}

// Change is the session's question.
func (a *simulatedAsked) Change(ctx context.Context, q steps.ChangeQuestion) (bool, error) {
	a.mu.Lock()
	a.open++
	next := a.next
	a.mu.Unlock()
	ok, err := next.Change(ctx, q)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	if ok && err == nil {
		a.made = true
		if q.Keep {
			a.kept = append(a.kept, q.Cell)
		}
	}
	return ok, err
}

func (a *simulatedAsked) pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

func (a *simulatedAsked) changed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made
}
