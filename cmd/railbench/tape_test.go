package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/screen"
)

// A tape is what a session on the simulated rig reported: the same at every recording. A screen that plays it
// shows what it would have shown of that session, at any size.
type tape struct {
	options session.Options
	opening []steps.Event                     // of the nodes, before the first cell
	runs    map[string][]steps.Event          // by the cell
	asked   map[string][]steps.ChangeQuestion // by the cell
	ended   map[string]steps.CellEnded        // by the cell
	// All that was printed, judged and logged, with the times of it. Where the logs are is all that is left out.
	transcript string
	left       []string // what of the nodes' network was another afterwards, and changes that wait to be undone
}

// rigBegins is when a recorded rig's clock starts.
func rigBegins() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// wholeTape is a healthy rig on which the whole tutorial was run, and then every check, for tests that only
// look at the results.
var wholeTape = sync.OnceValues(func() (*tape, error) { return everything(speed(sim.Max)) })

func everything(at speed) (*tape, error) {
	return recorded(at, nil, func(t steps.Tutorial) ([]steps.Cell, error) {
		return slices.Concat(t.Cells(), t.Checks()),
			nil
	})
}

func recordedWhole(t *testing.T) *tape {
	t.Helper()
	tp, err := wholeTape()
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

// record runs cells on a simulated rig with these faults, one after the other.
func record(t *testing.T, faults []string, ids ...string) *tape {
	t.Helper()
	tp, err := recorded(speed(sim.Max), faults, func(t steps.Tutorial) ([]steps.Cell, error) { return t.Select(ids...) })
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func recorded(at speed, faults []string, choose func(steps.Tutorial) ([]steps.Cell, error)) (*tape, error) {
	ctx := context.Background()
	flags := rigFlags{rig: "sim", speed: at, seed: 7, start: rigBegins(), faults: faults}
	before, err := networksAtRest(ctx, flags)
	if err != nil {
		return nil, err
	}
	b, err := flags.open(ctx, runner.NoAsker{})
	if err != nil {
		return nil, err
	}
	defer b.close()
	logs, err := os.MkdirTemp("", "railbench-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(logs)
	tp := &tape{runs: map[string][]steps.Event{}, asked: map[string][]steps.ChangeQuestion{}}
	b.options.Confirm, b.options.Logs = tp, logs
	cells, err := choose(b.options.Tutorial)
	if err != nil {
		return nil, err
	}
	s := session.New(b.options)
	b.onState = s.State
	var said bytes.Buffer
	ran := follow(s, &said, true)
	tell, running, connected := ran.Tell, "", false
	ran.Tell = func(e steps.Event) {
		tell(e)
		_, began := e.(steps.CellStarted)
		if connected = connected || began; !connected {
			switch e.(type) {
			case steps.NodeChanged, steps.RigProbed:
				tp.opening = append(tp.opening, e)
				return
			}
		}
		tp.runs[running] = append(tp.runs[running], steadyEvent(e, logs))
	}
	s.Open()
	for _, c := range cells {
		running = c.ID
		ran.RunAll(ctx, []steps.Cell{c})
	}
	rig, _ := s.Rig()
	if err := tp.compare(ctx, b, before); err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	tp.options, tp.ended = b.options, ran.Ended
	return tp, tp.write(&said, rig, cells)
}

// networksAtRest is of a rig of its own: a tape has the nodes' first connection.
func networksAtRest(ctx context.Context, flags rigFlags) ([]change.State, error) {
	b, err := flags.open(ctx, runner.NoAsker{})
	if err != nil {
		return nil, err
	}
	defer b.close()
	return networksOf(ctx, b)
}

// write puts what the logs have, and what run --json would print, behind what was said.
func (tp *tape) write(said *bytes.Buffer, rig steps.Rig, cells []steps.Cell) error {
	for _, c := range cells {
		ended := tp.ended[c.ID]
		log, err := os.ReadFile(ended.Log)
		if err != nil && ended.Log != "" {
			return err
		}
		fmt.Fprintf(said, "%s ended at %s after %s\n%s", c.ID, ended.At.UTC().Format(time.RFC3339Nano), ended.Elapsed, log)
		ended.Log = ""
		tp.ended[c.ID] = ended
	}
	if err := writeJSON(said, headless.NewObject(version(), rig, cells, tp.ended)); err != nil {
		return err
	}
	tp.transcript = said.String()
	return nil
}

// compare says what of the nodes' network is not as it was.
func (tp *tape) compare(ctx context.Context, b *openRig, before []change.State) error {
	after, err := networksOf(ctx, b)
	if err != nil {
		return err
	}
	for e, now := range after {
		for _, d := range change.Differences(before[e], now, func(string) bool { return true }) {
			tp.left = append(tp.left, fmt.Sprintf("%s: %v", steps.End(e), d))
		}
	}
	changes, err := b.options.Journal.Entries()
	for range changes {
		tp.left = append(tp.left, "a change in the journal")
	}
	return err
}

// document is the session of some of the cells, as it is saved.
func (tp *tape) document(cells ...string) *notebook.Document {
	d := notebook.New("(devel)", tp.options.Tutorial, rigBegins())
	events := slices.Clone(tp.opening)
	for _, id := range cells {
		events = append(events, tp.runs[id]...)
	}
	for _, e := range events {
		d.Apply(e)
	}
	return d
}

// Change keeps the question and agrees.
func (tp *tape) Change(_ context.Context, q steps.ChangeQuestion) (bool, error) {
	tp.asked[q.Cell] = append(tp.asked[q.Cell], q)
	return true, nil
}

// steadyEvent is an event without what is this machine's: where the logs are.
func steadyEvent(e steps.Event, logs string) steps.Event {
	switch e := e.(type) {
	case steps.CellEnded:
		if rel, err := filepath.Rel(logs, e.Log); err == nil && e.Log != "" {
			e.Log = "~/.local/state/railbench/logs/" + filepath.Base(rel)
		}
		return e
	}
	return e
}

// A player is the workbench without a terminal, with a session that says what a tape has. It lives in a bubble of
// testing/synctest: once nothing moves, a frame is what a person sees.
type player struct {
	*tui.Model
	t    *testing.T
	msgs chan tea.Msg
	told *tapeSession
	now  time.Time // on the rig
	wall time.Time // who looks has it; where zero the rig's
}

// play opens a screen of a size on a tape.
func play(t *testing.T, tp *tape, width, height int, adjust func(*screen.Options)) *player {
	t.Helper()
	p := &player{t: t, msgs: make(chan tea.Msg, 1024), told: newTapeSession(), now: rigBegins()}
	opts := screen.Options{
		Tutorial: tp.options.Tutorial,
		Params:   session.Params(tp.options.Catalog, tp.options.Tutorial),
		Rig: screen.Rig{
			Simulated: true, Name: tp.options.Rig, Hint: "On one of your two nodes: railbench --peer USER@OTHER-NODE.",
		},
		Terminal: screen.Terminal{Background: screen.Dark},
		Docs:     pages,
		Explain:  explainPage,
		Clock: screen.Clock{
			Rig: func() time.Time { return p.now }, Now: func() time.Time { return cmp.Or(p.wall, p.now) },
		},
		Plan: screen.Plan{Text: planned(&tp.options), Values: plannedValues(&tp.options)},
	}
	if adjust != nil {
		adjust(&opts)
	}
	p.Model = tui.New(p.told, opts)
	p.do(p.Init())
	p.send(tea.WindowSizeMsg{Width: width, Height: height})
	p.tell(tp.opening...)
	p.board(tp, false)
	return p
}

// do runs a command next to the screen, as Bubble Tea does.
func (p *player) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				p.do(c)
			}
		default:
			p.msgs <- msg
		}
	}()
}

// send gives the screen a message and waits until nothing comes of it any more.
func (p *player) send(msg tea.Msg) {
	_, cmd := p.Update(msg)
	p.do(cmd)
	for range 2 {
		for synctest.Wait(); len(p.msgs) > 0; synctest.Wait() {
			_, cmd := p.Update(<-p.msgs)
			p.do(cmd)
		}
		time.Sleep(time.Second / 20) // what came too soon is drawn with the next frame
	}
}

// report is what the session says.
func (p *player) tell(events ...steps.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case steps.CellStarted:
			p.now = e.At
		case steps.CellEnded:
			p.now = e.At
		}
	}
	p.told.events <- events
	p.send(nil)
}

// board shows gauges, still or while something moves.
func (p *player) board(tp *tape, busy bool) {
	for _, e := range tp.opening {
		if e, ok := e.(steps.RigProbed); ok {
			p.told.boards <- boardOf(e.Rig, busy)
		}
	}
	p.send(nil)
}

// press sends keys by their names, as Bubble Tea has them.
func (p *player) press(names ...string) {
	for _, name := range names {
		p.send(keyOf(name))
	}
}

// run presses a key and says what the tape has of the cells that were asked for, which it gives back.
func (p *player) run(tp *tape, key string) []string {
	p.press(key)
	ids := p.told.wanted()
	for _, id := range ids {
		p.tell(tp.runs[id]...)
	}
	return ids
}

// quit ends the waits for the session.
func (p *player) quit() {
	close(p.told.events)
	close(p.told.boards)
	close(p.told.questions)
	time.Sleep(time.Minute) // ticks that are under way
}

// A tapeSession is the session of a player.
type tapeSession struct {
	mu        sync.Mutex
	ran       []string
	events    chan []steps.Event
	boards    chan meter.Board
	questions chan steps.Question
}

func newTapeSession() *tapeSession {
	return &tapeSession{
		events: make(chan []steps.Event, 64), boards: make(chan meter.Board, 1), questions: make(chan steps.Question, 1),
	}
}

func (r *tapeSession) Run(ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, ids...)
}

// wanted are the cells that were asked for since.
func (r *tapeSession) wanted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ran := r.ran
	r.ran = nil
	return ran
}

func (r *tapeSession) Next(context.Context) ([]steps.Event, bool) {
	e, ok := <-r.events
	return e, ok
}

func (r *tapeSession) Interrupt()                            {}
func (r *tapeSession) Clear(string)                          {}
func (r *tapeSession) Edit(string, []steps.Cell)             {}
func (r *tapeSession) SetParam(string, string, string) error { return nil }
func (r *tapeSession) SetLink(steps.Link) error              { return nil }
func (r *tapeSession) Trust(string) error                    { return nil }
func (r *tapeSession) ResetPeaks()                           {}
func (r *tapeSession) Boards() <-chan meter.Board            { return r.boards }
func (r *tapeSession) Questions() <-chan steps.Question      { return r.questions }

// keyOf is a key by its name: "enter", "ctrl+p", "x".
func keyOf(name string) tea.KeyPressMsg {
	special := map[string]rune{
		"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape, "space": tea.KeySpace,
		"up": tea.KeyUp, "down": tea.KeyDown, "home": tea.KeyHome, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown,
	}
	var k tea.Key
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		k.Mod, name = tea.ModCtrl, rest
	}
	if code, ok := special[name]; ok {
		k.Code = code
		if code == tea.KeySpace {
			k.Text = " "
		}
		return tea.KeyPressMsg(k)
	}
	k.Code = []rune(name)[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return tea.KeyPressMsg(k)
}

// boardOf is gauges of a rig, still or while its first rail carries something.
func boardOf(rig steps.Rig, busy bool) meter.Board {
	var b meter.Board
	for no, n := range rig.Nodes {
		for i, r := range n.Rails {
			g := meter.Gauge{
				Node: n.Name, No: no, Dev: r.Dev, Netdev: r.Netdev.Name, LinkGbps: r.RateGbps,
				CeilingGbps: float64(limits.WireCeiling(r)),
				RoCE:        limits.RoCE(r.MTU),
			}
			if busy && i == 0 {
				f := meter.Flow{RDMA: 98.1, Peak: 98.3, Avg: 97.6}
				for j := range 23 { // of 2.3 s
					f.History = append(f.History, min(98.1, float64(j)*24))
				}
				if no == 0 {
					g.Tx = f
				} else {
					g.Rx = f
				}
			}
			b.Gauges = append(b.Gauges, g)
		}
	}
	return b
}
