package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/disk"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/steps/metrics"
	"github.com/railbench/railbench/steps/session"
)

type watchFlags struct {
	serveFlags
	every, check time.Duration
	history      string
}

// historyBytes is what history takes on the disk: with four rails on each of two nodes some
// two weeks of a line a node every fifteen seconds.
const historyBytes = 64 << 20

func watchCommand(rig *rigFlags) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch a rig for days: metrics, a history, alarms",
		Long: `Reads the counters of every rail now and then, keeps a history of bounded size, and
runs the checks that move no data. What has become wrong is told on stdout, a line
each, and when it is right again; so is a node that doesn't answer. It runs nothing
else, changes nothing and asks nobody. With --listen it serves the page of railbench
serve, and /metrics for Prometheus. It ends with Ctrl-C or SIGTERM.

Exit status: 0 it was ended; 2 wrong usage or configuration, or nothing can listen
there; 5 the history could not be written.`,
		Example: `  railbench watch
  railbench watch --rig /etc/railbench/rig.toml --listen 127.0.0.1:7117`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, *rig) },
	}
	cmd.Flags().DurationVar(&f.every, "every", 15*time.Second, "how often the counters are read, 1s or more")
	cmd.Flags().DurationVar(&f.check, "check", 5*time.Minute, "how often the checks run; 0 runs none")
	cmd.Flags().StringVar(&f.history, "history", "", "the file that the history is kept in, a JSON object a line")
	cmd.Flags().StringVar(&f.listen, "listen", "", "serve the page and /metrics here; another address than loopback "+
		"asks for a token")
	f.addToken(cmd)
	completeFlags(cmd, map[string]completer{
		"listen": words(serveAt), "history": files("jsonl"), "every": words("5s", "15s", "1m"),
		"check": words("1m", "5m", "1h", "0"),
	})
	return cmd
}

func (f watchFlags) wrong() error {
	switch {
	case f.every < time.Second:
		return fmt.Errorf("--every %s: it is 1s or more", f.every)
	case f.check < 0:
		return fmt.Errorf("--check %s is negative", f.check)
	case f.listen == "" && (f.tokenFile != "" || len(f.names) > 0):
		return errors.New("--token-file and --name are of what --listen serves: give it, too")
	}
	return nil
}

func (f watchFlags) run(cmd *cobra.Command, rig rigFlags) error {
	if err := f.wrong(); err != nil {
		return usage(err)
	}
	// For days nobody is there: what a node asks is declined.
	b, err := rig.open(cmd.Context(), runner.NoAsker{})
	if err != nil {
		return err
	}
	defer b.close()
	history, err := f.openHistory(b.options.Rig)
	if err != nil {
		return unwritten(err)
	}
	defer history.Close() //nolint:errcheck // each line was written
	// The gauges' samplers are for who looks: history and alarms have readings of their own.
	b.options.Sample = f.listen != ""
	s := session.New(b.options)
	b.onState = s.State
	stage := &stage{options: pageOptions(b, s), listen: f.listen, tokenFile: f.tokenFile, names: f.names}
	if err := stage.prepare(); err != nil {
		return errors.Join(err, s.Close())
	}
	scrape := newScraper(b, stage.page.Told)
	scrape.age = min(scrape.age, f.every/2) // each line of history is of a reading of its own
	if f.listen != "" {
		stage.page.Metrics(scrape)
		where, err := stage.open()
		if err != nil {
			return usage(errors.Join(err, s.Close()))
		}
		defer stage.close()
		gate.Fprintf(cmd.OutOrStdout(), "%s\n", where)
	}
	w := &watcher{out: cmd.OutOrStdout(), scrape: scrape, history: history, grades: map[string]steps.Grade{}}
	w.passes = b.passes
	w.follow = session.Follow(s, func(steps.Event) { stage.page.Book(w.follow.Book) })
	s.Open()
	var boards sync.WaitGroup
	boards.Go(func() {
		for board := range s.Boards() {
			stage.page.Board(board)
		}
	})
	err = w.watch(cmd.Context(), f.every, f.check)
	closed := s.Close()
	boards.Wait()
	if err != nil {
		return unwritten(err)
	}
	if closed != nil {
		gate.Fprintf(cmd.ErrOrStderr(), "%s\n", closed)
	}
	return nil
}

// openHistory opens the history that is named, or that of the rig.
func (f watchFlags) openHistory(rig string) (*disk.Ring, error) {
	path := f.history
	if path == "" {
		state, err := stateDir()
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(state, "watch")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("keep a history: %w", err)
		}
		path = filepath.Join(dir, fileName(rig)+".jsonl")
	}
	ring, err := disk.OpenRing(path, historyBytes)
	if err != nil {
		return nil, fmt.Errorf("keep a history: %w", err)
	}
	return ring, nil
}

// A watcher is what railbench watch has seen.
// before and down are of the last sample, by the nodes' numbers.
type watcher struct {
	out     io.Writer
	follow  *session.Follower
	scrape  *scraper
	history *disk.Ring
	before  map[int]metrics.Reading
	down    map[int]string
	passes  func(context.Context, time.Duration)
	grades  map[string]steps.Grade // of the checks, as they were told
	raised  []raised
}

// watch goes on until ctx ends, or the history can't be written.
func (w *watcher) watch(ctx context.Context, every, check time.Duration) error {
	checks := slices.DeleteFunc(w.follow.Book.Tutorial.Checks(), func(c steps.Cell) bool {
		return c.Check.Measures || c.ID == "sudo-access" // nothing is changed from here, and the unit forbids it
	})
	var checked time.Time
	for ctx.Err() == nil {
		began := time.Now()
		due := check > 0 && began.Sub(checked) >= check
		var found []metrics.Alarm
		if due {
			checked = began
			found = w.check(ctx, checks)
		}
		if err := w.sample(ctx); err != nil {
			return err
		}
		w.found(found) // what a sample tells at once, a check needn't tell again
		rest, cancel := context.WithDeadline(ctx, began.Add(every))
		w.passes(rest, every)
		w.follow.Watch(rest)
		<-rest.Done() // where the session has ended by itself
		cancel()
	}
	return nil
}

// passes has a time go by for simulated nodes, too, until ctx ends: theirs goes on only while somebody waits in it, and
// two readings of one instant have no rate between them.
func (b *bench) passes(ctx context.Context, span time.Duration) {
	if b.simRig == nil {
		return
	}
	const pieces = 8 // of one that is interrupted none goes by
	clock, piece := runner.ClockOf(b.options.Nodes[0]), time.Duration(float64(span)*b.options.Speed)/pieces
	go clock.Join(ctx, func(ctx context.Context) {
		for i := 0; i < pieces && clock.Await(ctx, piece) != runner.Interrupted; i++ {
		}
	})
}

// sample reads the counters, and keeps them.
func (w *watcher) sample(ctx context.Context) error {
	readings, down := w.scrape.read(ctx)
	if ctx.Err() != nil {
		return nil
	}
	now := time.Now().UTC()
	for _, n := range w.follow.Book.Rig.Nodes {
		line := metrics.Line{At: now, Node: n.Name, Error: down[n.No]}
		if reading, ok := readings[n.No]; ok {
			var before *metrics.Reading
			if r, had := w.before[n.No]; had {
				before = &r
			}
			line = metrics.Between(now, n, before, reading)
		}
		text, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("write a line of history: %w", err)
		}
		if err := w.history.Add(text); err != nil {
			return err
		}
		switch was := w.down[n.No]; {
		case was == "" && down[n.No] != "":
			w.tell("ALARM", "node "+n.Name+" doesn't answer: "+down[n.No])
		case was != "" && down[n.No] == "":
			w.tell("CLEAR", "node "+n.Name+" answers again")
		}
		if reading, ok := readings[n.No]; ok && reading.Health.Stale == "" {
			w.alarm(n.Name, reading.Alarms(n))
		}
	}
	w.before, w.down = readings, down
	return nil
}

// check runs the checks, and gives what is not as it was.
func (w *watcher) check(ctx context.Context, checks []steps.Cell) []metrics.Alarm {
	var ids []string
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	w.follow.Run(ctx, ids...)
	if ctx.Err() != nil {
		return nil // what was interrupted is no news
	}
	now := map[string]steps.Verdict{}
	for _, id := range ids {
		now[id] = w.follow.Ended[id].Verdict
	}
	found := metrics.Alarms(checks, w.grades, now)
	for id, v := range now {
		if v.Grade != steps.Skipped && v.Grade != steps.NotRun {
			w.grades[id] = v.Grade
		}
	}
	return found
}

// found tells what checks have found.
func (w *watcher) found(all []metrics.Alarm) {
	for _, a := range all {
		if w.sampled(a) {
			continue
		}
		what, where := "ALARM", ""
		if a.Cleared() {
			what = "CLEAR"
		}
		if a.Now.Node != "" {
			where = " on " + a.Now.Node
		}
		w.tell(what, fmt.Sprintf("%s %s%s: %s", a.Now.Grade, a.Cell.ID, where, a.Now.Reason))
	}
}

func (w *watcher) tell(what, text string) {
	simulated := ""
	if w.follow.Book.Rig.Simulated {
		simulated = "SIMULATED "
	}
	gate.Fprintf(w.out, "%s %s%s %s\n", time.Now().UTC().Format(time.RFC3339), simulated, what, strings.TrimSpace(text))
}
