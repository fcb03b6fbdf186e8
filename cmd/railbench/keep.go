package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
)

// A keeper saves a session's events, and tells on out what it can't save. A nil one
// saves nothing.
type keeper struct {
	store *notebook.Store
	out   io.Writer
	said  string

	watching sync.WaitGroup
	done     chan struct{}
}

// keep opens the session's file and fits the bench to it.
func (b *bench) keep(path string, out io.Writer) (*keeper, error) {
	if path == "" {
		return nil, nil
	}
	store, err := b.store(path)
	if err != nil {
		return nil, usage(err)
	}
	b.options.Runs = store.Runs()
	b.takeParams(store.Book().Params, out)
	b.options.Sample = true // the file has what the gauges showed
	if len(store.Left) > 0 {
		gate.Fprintf(out, "session %s was cut off; not done: %s\n", store.Path(), strings.Join(store.Left, " "))
	}
	return &keeper{store: store, out: out, done: make(chan struct{})}, nil
}

// store opens a session's file for the bench's rig.
func (b *bench) store(path string) (*notebook.Store, error) {
	return notebook.Open(path, b.options.Tutorial, notebook.Options{Railbench: version(), Rig: b.options.Rig, Simulated: b.options.Simulated})
}

// takeParams sets the parameters that the session was saved with, but for those that
// were given now.
func (b *bench) takeParams(saved steps.Settings, out io.Writer) {
	set := steps.Settings{All: b.options.Params, Cells: b.options.CellParams}
	var took []string
	take := func(cell, name, value string) {
		if _, given := set.All[name]; given && cell == "" {
			return
		}
		if _, given := set.Cells[cell][name]; given {
			return
		}
		shown := name
		if cell != "" {
			shown = cell + "." + name
		}
		value, err := session.CheckParam(b.options.Tutorial, cell, name, value)
		if err != nil {
			gate.Fprintf(out, "the session's parameter %s is left out: %v\n", shown, err)
			return
		}
		set = set.With(cell, name, value)
		took = append(took, shown+"="+value)
	}
	for _, name := range slices.Sorted(maps.Keys(saved.All)) {
		take("", name, saved.All[name])
	}
	for _, cell := range slices.Sorted(maps.Keys(saved.Cells)) {
		for _, name := range slices.Sorted(maps.Keys(saved.Cells[cell])) {
			take(cell, name, saved.Cells[cell][name])
		}
	}
	if len(took) > 0 {
		gate.Fprintf(out, "the session's parameters: %s\n", strings.Join(took, " "))
	}
	b.options.Params, b.options.CellParams = set.All, set.Cells
}

// record is called before anybody is shown the events.
func (k *keeper) record(events []steps.Event) error {
	if k == nil {
		return nil
	}
	return k.store.Record(events)
}

// tell records, and says what can't be kept: the same complaint once.
func (k *keeper) tell(events []steps.Event) {
	err := k.record(events)
	if err != nil && err.Error() != k.said {
		k.said = err.Error()
		gate.Fprintf(k.out, "  %s\n", err)
	}
}

// watch keeps what the gauges show, until close.
func (k *keeper) watch(boards <-chan meter.Board) {
	if k == nil {
		return
	}
	k.watching.Go(func() {
		for {
			select {
			case b, ok := <-boards:
				if !ok {
					return
				}
				k.store.Sample(b)
			case <-k.done:
				return
			}
		}
	})
}

// close saves for the last time. What can't be saved is in the journal.
func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	close(k.done)
	k.watching.Wait()
	if err := k.store.Close(); err != nil {
		return err
	}
	gate.Fprintf(k.out, "session saved in %s\n", k.store.Path())
	return nil
}
