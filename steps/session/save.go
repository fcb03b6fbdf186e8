package session

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// A Store keeps a session as it goes on: notebook.Store does, in a file.
type Store interface {
	// Record keeps events. The error stands as long as something is not kept.
	Record(events []steps.Event) error
	// Sample keeps what the gauges show while a cell runs.
	Sample(b meter.Board)
	// Path is where the session is kept.
	Path() string
	// Move keeps the session in another file from here on.
	Move(path string) error
	// Close keeps it for the last time.
	Close() error
}

// Saving says where a session is kept: in Store, which is open already, or in one that Begin makes when the
// first cell starts, so that just looking around leaves no file. The zero value keeps nothing.
type Saving struct {
	Store Store
	Begin func() (Store, error)
	// At makes it in a file that the user named, where Begin could not.
	At func(path string) (Store, error)
}

// saver keeps what happens before anybody sees it.
type saver struct {
	fetching sync.Mutex // what one fetch brings is kept before the next fetch

	mu     sync.Mutex
	saving Saving
	before []steps.Event // what came before there was a file
	failed error         // why there is none, though a cell has run
	told   steps.Saved
}

// fetch takes the next events of an outbox, keeps them, and adds what became of that
// where it is news.
func (v *saver) fetch(ctx context.Context, out *outbox) ([]steps.Event, bool) {
	v.fetching.Lock()
	defer v.fetching.Unlock()
	events, ok := out.next(ctx)
	if saved := v.record(events); saved != v.told {
		v.told = saved
		events = append(slices.Clip(events), saved)
	}
	return events, ok
}

func (v *saver) record(events []steps.Event) steps.Saved {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.saving.Store == nil && v.saving.Begin == nil {
		return v.told
	}
	if v.saving.Store == nil {
		v.before = append(v.before, events...)
		if !slices.ContainsFunc(events, func(e steps.Event) bool { _, ok := e.(steps.CellStarted); return ok }) {
			return v.told
		}
		store, err := v.saving.Begin()
		if v.failed = err; err != nil {
			return steps.Saved{Why: err.Error()}
		}
		v.saving.Store, events, v.before = store, v.before, nil
	}
	if len(events) == 0 {
		return v.told
	}
	saved := steps.Saved{Path: v.saving.Store.Path()}
	if err := v.saving.Store.Record(events); err != nil {
		saved.Why = err.Error()
		kept, ok := errors.AsType[interface {
			error
			Kept() bool
		}](err)
		saved.Kept = ok && kept.Kept()
	}
	return saved
}

// SaveIn keeps the session in a file that the user named, from its beginning: its own could not be written.
func (s *Session) SaveIn(path string) error {
	if err := s.saver.move(path); err != nil {
		return err
	}
	s.out.put(steps.Saved{Path: path})
	return nil
}

func (v *saver) move(path string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.saving.Store != nil {
		return v.saving.Store.Move(path)
	}
	if v.saving.At == nil {
		return errors.New("this session is not saved")
	}
	store, err := v.saving.At(path)
	if err != nil {
		return err
	}
	if err := store.Record(v.before); err != nil {
		return errors.Join(err, store.Close())
	}
	v.saving.Store, v.before, v.failed = store, nil, nil
	return nil
}

func (v *saver) sample(b meter.Board) {
	v.mu.Lock()
	store := v.saving.Store
	v.mu.Unlock()
	if store != nil {
		store.Sample(b)
	}
}

// close keeps the events that came after the last fetch, and the session for the last time. The outbox is
// closed.
func (v *saver) close(out *outbox) error {
	for ok := true; ok; {
		_, ok = v.fetch(context.Background(), out)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.saving.Store == nil {
		return v.failed
	}
	return v.saving.Store.Close()
}

// Saved is where the session was kept, empty where nowhere, and why it could not be kept
// to its end. The session is closed.
func (s *Session) Saved() (path string, err error) {
	s.saver.mu.Lock()
	defer s.saver.mu.Unlock()
	if s.saver.saving.Store != nil {
		path = s.saver.saving.Store.Path()
	}
	return path, s.unsaved
}
