// Package web shows a session in a browser, read-only: the gauges of every rail with two minutes behind them,
// the running cell, the verdicts and the notebook.
//
// A Page gets the events that the screen gets, and makes messages of them that any number of viewers read. A
// viewer that joins late or comes back gets what the others have. Nothing here asks a node, runs a cell or
// changes anything: the handler knows GET and HEAD. cmd chooses the address to listen at, and supplies the
// files that a browser loads (assets/web).
package web

import (
	"cmp"
	"context"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// Options are what a page is made with.
type Options struct {
	// Files has page.html, page.css, page.js and icon.svg.
	Files     fs.FS
	Railbench string // the version
	Simulated bool   // whatever is measured is marked SIMULATED
	RigName   string // shown while no node has been probed
	// Names are hosts by which a browser may ask for the page, next to localhost and addresses: another name may be
	// one that another user's page has pointed here.
	Names []string
	// Now is the nodes' time, of which runs are; time.Now where nil.
	Now func() time.Time
}

// A Page is what viewers see of a session. It is safe for use by several goroutines.
type Page struct {
	o     Options
	feed  *feed
	token string // empty where no one is asked for one

	mu    sync.Mutex
	book  steps.Notebook
	board meter.Board
	news  bool // the book got events since it was last looked at

	// What viewers were last sent.
	shown shown

	reading reading
}

// shown is the state that the messages so far have brought viewers to.
type shown struct {
	rig     rigView
	fleet   *fleetView
	places  []string
	dials   []dialView
	board   [][]float64
	hosts   []hostView
	history history
	cells   map[string]cellView
	version map[string]steps.Version
	now     nowView
}

// The pace of the messages. Needles move five times a second, which is what an eye follows,
// and the history has a point each half second, as the terminal's has.
const (
	needleEvery = 200 * time.Millisecond
	pointEvery  = 500 * time.Millisecond
	historyLen  = 240 // two minutes
)

// New makes a page. Run keeps it going.
func New(o Options) *Page {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Page{o: o, feed: newFeed()}
	p.shown = shown{
		cells: map[string]cellView{}, version: map[string]steps.Version{},
		rig: rigView{Name: clean(o.RigName), Simulated: o.Simulated, Railbench: clean(o.Railbench)},
	}
	return p
}

// Book reports the notebook as it is now. It waits for no one.
func (p *Page) Book(b steps.Notebook) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.book, p.news = b, true
}

// Board reports the newest gauges. It waits for no one.
func (p *Page) Board(b meter.Board) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board = b
}

// Guard has the page ask for a token before it reports anything of the session, where that is not empty. It is said
// before anybody asks.
func (p *Page) Guard(token string) { p.token = token }

// Run makes messages of the events that the page gets, until ctx ends; then the viewers' streams end, too. It
// may be called again.
func (p *Page) Run(ctx context.Context) {
	needle, point := time.NewTicker(needleEvery), time.NewTicker(pointEvery)
	defer needle.Stop()
	defer point.Stop()
	p.feed.open()
	defer p.feed.close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-needle.C:
			p.look()
		case <-point.C:
			p.point()
		}
	}
}

// look says what has changed since it was last called.
func (p *Page) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fleet, places := fleetOf(p.board)
	if !same(places, p.shown.places) {
		p.shown.places = places
		p.feed.publish("places", append([]string{}, places...))
	}
	if !same(fleet, p.shown.fleet) {
		p.shown.fleet = fleet
		p.feed.publish("fleet", cmp.Or(fleet, &fleetView{Rows: []rowView{}}))
	}
	board := p.board
	if places != nil { // the strip stands in place of them
		board.Gauges = nil
	}
	if dials := dialsOf(board); !same(dials, p.shown.dials) {
		if !slices.EqualFunc(dials, p.shown.dials, dialView.sameRail) {
			p.shown.history = nil // of other rails
		}
		p.shown.dials = dials
		p.feed.publish("dials", dials)
	}
	if needles := needlesOf(board); !same(needles, p.shown.board) {
		p.shown.board = needles
		p.feed.publish("board", needles)
	}
	if hosts := fleet.beside(hostsOf(p.board)); !same(hosts, p.shown.hosts) {
		p.shown.hosts = hosts
		p.feed.publish("hosts", hosts)
	}
	if p.news {
		p.news = false
		p.lookAtRig()
		p.lookAtCells()
	}
	if now := p.nowOf(p.book); !same(now, p.shown.now) {
		p.shown.now = now
		p.feed.publish("now", now)
	}
}

func (p *Page) lookAtRig() {
	rig := p.shown.rig
	if name := p.book.Rig.Name; name != "" {
		rig.Name = clean(name)
	}
	rig.Simulated = p.o.Simulated || p.book.Rig.Simulated
	rig.Title, rig.Nodes = clean(p.book.Tutorial.Title), nil
	for i, n := range p.book.Rig.Nodes {
		c := p.book.Connection(n.No)
		rig.Nodes = append(rig.Nodes, nodeView{
			Name: clean(n.Name), End: steps.End(i).String(), Where: clean(n.Where), Link: tenth(cables(n)),
			State: c.State.String(), Why: clean(c.Why),
		})
	}
	if !same(rig, p.shown.rig) {
		p.shown.rig = rig
		p.feed.publish("rig", rig)
	}
}

func (p *Page) lookAtCells() {
	for id := range p.shown.cells {
		if _, ok := p.book.Cells[id]; !ok {
			delete(p.shown.cells, id)
			delete(p.shown.version, id)
			p.feed.publish("cleared", id)
		}
	}
	for id := range p.book.Cells {
		if v := p.book.Version(id); v != p.shown.version[id] {
			p.shown.version[id] = v
			// Only nowOf reports what a cell prints, and only for the running cell.
			if c := cellOf(p.book, id); !same(c, p.shown.cells[id]) {
				p.shown.cells[id] = c
				p.feed.publish("cell", c)
			}
		}
	}
}

// point adds one to the history of each gauge. A gauge that is stale has none: a line
// through a gap would be made up.
func (p *Page) point() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.shown.dials) == 0 || len(p.board.Gauges) != len(p.shown.dials) {
		return
	}
	values := make([]*moved, len(p.board.Gauges))
	for i, g := range p.board.Gauges {
		if g.Stale == "" {
			values[i] = &moved{tenth(g.Tx.RDMA), tenth(g.Tx.IP), tenth(g.Rx.RDMA), tenth(g.Rx.IP)}
		}
	}
	p.shown.history = p.shown.history.with(values)
	p.feed.publish("point", values)
}

// moved is what a rail sent by RDMA and by IP, and what it received, on the wire.
type moved [4]float64

// A history holds the last points of all gauges, oldest first; nil where there was none.
type history [][]*moved

func (h history) with(values []*moved) history {
	if len(h) >= historyLen {
		h = h[len(h)-historyLen+1:]
	}
	return append(slices.Clip(h), values)
}

// snapshot is everything that the messages up to seq have reported.
func (p *Page) snapshot() (f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cells := make([]cellView, 0, len(p.shown.cells))
	for _, c := range p.shown.cells {
		cells = append(cells, c)
	}
	byRun(cells)
	s := p.shown
	return p.feed.frame("snapshot", snapshotView{
		s.rig, s.fleet, s.places, s.dials, s.board, s.hosts, s.history, cells, s.now,
	})
}

// tenth is a rate with the one digit after the point that is shown.
func tenth(v float64) float64 { return math.Round(v*10) / 10 }
