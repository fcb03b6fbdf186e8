// Package replay plays a saved session: what runs is what ran, and the gauges show what they showed. It touches no
// node.
package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/script"
)

// A Session is a saved session that is played.
type Session struct {
	Viewer
	doc    *notebook.Document
	events chan []steps.Event
	boards chan meter.Board
	life   context.Context //nolint:containedctx // of the screen, as a session's is
	work   sync.WaitGroup

	mu    sync.Mutex
	stop  context.CancelFunc // of what is played
	queue chan struct{}      // held by what is played
	board meter.Board
}

// withoutGauges is how long a cell is shown running of which no gauge was kept, at most.
const withoutGauges = 2 * time.Second

// New plays a document until ctx ends.
func New(ctx context.Context, doc *notebook.Document) *Session {
	r := &Session{
		Viewer: NewViewer(), doc: doc, events: make(chan []steps.Event, 64), boards: make(chan meter.Board, 1), life: ctx,
		queue: make(chan struct{}, 1),
	}
	first := []steps.Event{steps.RigProbed{Rig: doc.Book.Rig}}
	for i := range doc.Book.Rig.Nodes {
		first = append(first, steps.NodeChanged{Node: doc.Book.Rig.Nodes[i].No, State: runner.Connected})
	}
	r.events <- first
	r.board = r.blank()
	r.publish()
	return r
}

// blank is the board before anything moves.
func (r *Session) blank() (b meter.Board) {
	for _, n := range r.doc.Book.Rig.Nodes {
		for _, rail := range n.Rails {
			g := meter.Gauge{
				Node: n.Name, No: n.No, Dev: rail.Dev, Netdev: rail.Netdev.Name, LinkGbps: rail.RateGbps,
				CeilingGbps: float64(limits.WireCeiling(rail)), Cable: rail.PhysPort + 1,
			}
			if rail.MTU > 0 && !rail.InfiniBand() {
				g.RoCE = limits.RoCE(rail.MTU)
			}
			if rail.Netdev.MTU > limits.TCPHeaders {
				g.TCP = limits.TCP(rail.Netdev.MTU)
			}
			b.Gauges = append(b.Gauges, g)
		}
	}
	return b
}

// publish sends the board; the newest replaces one that was not fetched.
func (r *Session) publish() {
	b := meter.Board{Gauges: slices.Clone(r.board.Gauges)}
	select {
	case <-r.boards:
	default:
	}
	select {
	case r.boards <- b:
	default:
	}
}

// Next waits for what is played next.
func (r *Session) Next(ctx context.Context) ([]steps.Event, bool) {
	select {
	case e := <-r.events:
		return e, true
	case <-ctx.Done():
	case <-r.life.Done():
	}
	return nil, false
}

// Boards are what the gauges show.
func (r *Session) Boards() <-chan meter.Board { return r.boards }

// SetParam is what a presentation asks for: what was recorded is as it was.
func (r *Session) SetParam(string, string, string) error { return nil }

// Run plays cells one after the other.
func (r *Session) Run(ids ...string) {
	ctx, cancel := context.WithCancel(r.life)
	r.mu.Lock()
	r.stop = cancel
	r.mu.Unlock()
	r.work.Go(func() {
		defer cancel()
		select {
		case r.queue <- struct{}{}:
		case <-ctx.Done():
			return
		}
		defer func() { <-r.queue }()
		for _, id := range ids {
			if state, ok := r.doc.Book.Cells[id]; ok && ctx.Err() == nil {
				r.play(ctx, id, state)
			}
		}
	})
}

// Interrupt ends what is played.
func (r *Session) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

// Wait waits until what is played has ended.
func (r *Session) Wait() { r.work.Wait() }

func (r *Session) send(e steps.Event) {
	select {
	case r.events <- []steps.Event{e}:
	case <-r.life.Done():
	}
}

// play shows one cell run, as it did.
func (r *Session) play(ctx context.Context, id string, state steps.CellState) {
	// Runs go on counting: the screen knows a run by its number.
	run := state.Run + steps.RunID(time.Now().UnixMilli())
	r.send(steps.CellStarted{Run: run, Cell: id, At: time.Now(), Scripts: state.Scripts})
	r.send(steps.CellPrinted{Run: run, Cell: id, Lines: state.Output.Lines(0, state.Output.Len())})
	if s := r.doc.Samples(id); s != nil && len(s.Rails) > 0 {
		r.move(ctx, s, state.Bytes)
	} else {
		pause(ctx, min(state.Elapsed, withoutGauges))
	}
	r.send(steps.CellEnded{
		Run: run, Cell: id, At: time.Now(), Elapsed: state.Elapsed, Exit: state.Exit, HasExit: state.HasExit,
		Verdict: state.Verdict, Bytes: state.Bytes, Log: state.Log,
	})
}

// pause is over early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// move moves the gauges through what was kept of them.
func (r *Session) move(ctx context.Context, s *notebook.Samples, bytes []steps.RailBytes) {
	slots := 0
	for _, rail := range s.Rails {
		slots = max(slots, len(rail.Tx), len(rail.Rx))
	}
	step := time.Duration(s.StepMS) * time.Millisecond
	for slot := range slots + 1 { // and at rest afterwards
		for i := range r.board.Gauges {
			g := &r.board.Gauges[i]
			at := slices.IndexFunc(s.Rails, func(x notebook.RailSamples) bool { return x.Node == g.Node && x.Dev == g.Dev })
			var tx, rx float64
			if at >= 0 {
				tx, rx = value(s.Rails[at].Tx, slot), value(s.Rails[at].Rx, slot)
			}
			share := r.rdmaShare(g, bytes)
			put(&g.Tx, tx, share, step)
			put(&g.Rx, rx, share, step)
		}
		r.publish()
		if pause(ctx, step); ctx.Err() != nil {
			break
		}
	}
	for i := range r.board.Gauges {
		put(&r.board.Gauges[i].Tx, 0, 1, step)
		put(&r.board.Gauges[i].Rx, 0, 1, step)
	}
	r.publish()
}

// value is a sample of a slot; 0 where none was kept.
func value(rates notebook.Rates, slot int) float64 {
	if slot >= len(rates) || math.IsNaN(rates[slot]) {
		return 0
	}
	return rates[slot]
}

// rdmaShare is how much of what a rail moved in a run RDMA was: samples hold both together.
func (r *Session) rdmaShare(g *meter.Gauge, bytes []steps.RailBytes) float64 {
	for _, b := range bytes {
		n := r.doc.Book.Rig.At(b.End)
		rdma, ip := float64(b.Tx+b.Rx), float64(b.IPTx+b.IPRx)
		if n.No == g.No && b.Dev == g.Dev && rdma+ip > 0 {
			return rdma / (rdma + ip)
		}
	}
	return 1
}

// put shows a rate, and adds it to the peak and the history.
// Its slices end where their arrays do as far as append sees, so that each append copies: a board that was
// published keeps the history that it was published with.
func put(f *meter.Flow, gbps, share float64, step time.Duration) {
	f.RDMA, f.IP = gbps*share, gbps*(1-share)
	f.Peak = max(f.Peak, gbps)
	for range max(1, int(step/meter.HistoryStep)) {
		f.History = append(f.History[max(0, len(f.History)-meter.HistoryLen+1):len(f.History):len(f.History)], gbps)
		f.RDMAHistory = append(f.RDMAHistory[max(0, len(f.RDMAHistory)-meter.HistoryLen+
			1):len(f.RDMAHistory):len(f.RDMAHistory)],
			gbps*share)
	}
}

// Script is a presentation of a session: a slide for each cell that ran, in the order in which they did.
func Script(doc *notebook.Document) (s script.Script) {
	s.Title = doc.Book.Tutorial.Title
	var ids []string
	for id, c := range doc.Book.Cells {
		if _, ok := doc.Book.Tutorial.Cell(id); ok && c.Run > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return int(doc.Book.Cells[a].Run - doc.Book.Cells[b].Run) })
	for _, id := range ids {
		c, _ := doc.Book.Tutorial.Cell(id)
		at := doc.Book.Cells[id].Started
		caption := "Recorded."
		if !at.IsZero() {
			caption = fmt.Sprintf("Recorded on %s.", at.Format("2 January 2006 at 15:04"))
		}
		s.Slides = append(s.Slides, script.Slide{ID: id, Title: c.Title, Caption: caption, Actions: []script.Action{
			{Kind: script.Run, Cell: id}, {Kind: script.Wait}, {Kind: script.Pause, For: 4 * time.Second},
		}})
	}
	return s
}
