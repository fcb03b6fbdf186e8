package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// memory is a Store that remembers, and fails with err.
type memory struct {
	events []steps.Event
	closed bool
	err    error
}

func (m *memory) Record(events []steps.Event) error {
	m.events = append(m.events, events...)
	return m.err
}
func (m *memory) Sample(meter.Board) {}
func (m *memory) Path() string       { return "file" }
func (m *memory) Move(string) error  { return nil }
func (m *memory) Close() error {
	m.closed = true
	return m.err
}

// ended reports whether a cell's end is among events.
func ended(events []steps.Event, id string) bool {
	return slices.ContainsFunc(events, func(e steps.Event) bool {
		x, ok := e.(steps.CellEnded)
		return ok && x.Cell == id
	})
}

// followed is a session that is saved as saving says, and its follower; told is each event.
func followed(t *testing.T, saving Saving, cells ...steps.Cell) (f *Follower, told *[]steps.Event) {
	t.Helper()
	b := openNodes(t, Options{Saving: saving}, []string{"spark-02", "spark-01"}, cells...)
	told = &[]steps.Event{}
	return Follow(b.Session, func(e steps.Event) { *told = append(*told, e) }), told
}

// Each event was kept before it is reported; a file is made when a cell starts, with the earlier events.
func TestWhatIsToldIsKept(t *testing.T) {
	store := &memory{}
	made := 0
	f, told := followed(t, Saving{Begin: func() (Store, error) {
		made++
		return store, nil
	}}, one("a", "echo hello", "passes"), one("b", "true", "fails"))
	f.Tell = func(e steps.Event) {
		if ended([]steps.Event{e}, "a") && !ended(store.events, "a") {
			t.Error("a cell's end is told before it is kept")
		}
		*told = append(*told, e)
	}
	f.Run(t.Context(), "a")
	f.Run(t.Context(), "b")
	if made != 1 {
		t.Errorf("%d files were made", made)
	}
	if f.Ended["a"].Verdict.Grade != steps.Pass || f.Ended["b"].Verdict.Grade != steps.Fail {
		t.Errorf("%+v", f.Ended)
	}
	if _, ok := store.events[0].(steps.RigProbed); !ok {
		t.Errorf("what came before the file is not in it: it begins with %T", store.events[0])
	}
	if f.Book.Cells["b"].Verdict.Grade != steps.Fail {
		t.Error("the follower's notebook has no verdict")
	}
	if err := f.Session.Close(); err != nil {
		t.Error(err)
	}
	if path, err := f.Session.Saved(); path != "file" || err != nil || !store.closed {
		t.Errorf("saved in %q, %v, closed: %v", path, err, store.closed)
	}
}

// A session that can't be kept goes on and says so once for each reason.
func TestWhatCannotBeKeptIsTold(t *testing.T) {
	for name, saving := range map[string]Saving{
		"no file": {Begin: func() (Store, error) { return nil, errors.New("the disk is full") }},
		"a file":  {Store: &memory{err: errors.New("the disk is full")}},
	} {
		f, told := followed(t, saving, one("a", "true", "passes"))
		f.Run(t.Context(), "a")
		n := 0
		for _, e := range *told {
			if s, ok := e.(steps.Saved); ok && s.Why == "the disk is full" {
				n++
			}
		}
		if n != 1 || f.Ended["a"].Verdict.Grade != steps.Pass {
			t.Errorf("%s: told %d times, the cell came to %s", name, n, f.Ended["a"].Verdict.Grade)
		}
		if err := f.Session.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Session.Saved(); err == nil {
			t.Errorf("%s: the end does not say that it is lost", name)
		}
	}
}

// What comes after the last fetch is kept, too: who quits in the middle of a cell loses
// nothing.
func TestCloseKeepsWhatNobodyFetched(t *testing.T) {
	store := &memory{}
	f, _ := followed(t, Saving{Store: store}, one("a", "sleep 60", "passes"))
	f.Session.Run("a")
	for !slices.ContainsFunc(store.events, func(e steps.Event) bool { _, ok := e.(steps.CellStarted); return ok }) {
		if _, ok := f.Session.Next(t.Context()); !ok {
			t.Fatal("the session ended")
		}
	}
	if err := f.Session.Close(); err != nil {
		t.Error(err)
	}
	if !ended(store.events, "a") {
		t.Error("the end of the cell is not kept")
	}
}

// A cell that is interrupted, and one that never ran, say so.
func TestFollowerSaysWhyNotDone(t *testing.T) {
	f, _ := followed(t, Saving{}, one("slow", "sleep 60", "passes"), one("never", "true", "passes"))
	ctx, cancel := context.WithCancelCause(t.Context())
	f.Tell = func(e steps.Event) {
		if _, ok := e.(steps.CellStarted); ok {
			cancel(errors.New("the --timeout of 1m was reached"))
		}
	}
	f.Run(ctx, "slow", "never")
	if got := f.Ended["slow"].Verdict; got.Grade != steps.Inconclusive ||
		got.Reason != "Interrupted: the --timeout of 1m was reached." {
		t.Errorf("%+v", got)
	}
	if got := f.Ended["never"].Verdict; got.Grade != steps.Inconclusive ||
		!strings.HasPrefix(got.Reason, "Not run: the --timeout") {
		t.Errorf("%+v", got)
	}
	f.Run(ctx, "never")
	if got := f.Ended["never"].Verdict; !strings.HasPrefix(got.Reason, "Not run: the --timeout") {
		t.Errorf("%+v", got)
	}
}
