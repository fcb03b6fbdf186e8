package session

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
)

// sampleFor is the limit of a sampler: it is started again when it ends.
const sampleFor = 24 * time.Hour

// retryEvery is the pause before a sampler is started again.
const retryEvery = time.Second

// What health's look takes: a pause before it is started again, which asks a node for a process
// that a node without a shell for it refuses each time; how long its last round is believed; and
// how much of a round is kept, in bytes.
const (
	lookAgainAfter = 15 * time.Second
	lookStale      = 30 * time.Second
	mostRound      = 256 << 10
)

// publishEvery is the least time between two boards.
const publishEvery = 90 * time.Millisecond

// samplers run one sampler a node and turn its lines into boards.
type samplers struct {
	s    *Session
	work sync.WaitGroup

	mu     sync.Mutex  // guards what follows, and the sends on and the close of the session's boards
	of     []sampler   // by the nodes' numbers
	sent   meter.Board // the last one
	sentAt time.Time
	late   *time.Timer // calls overdue when no sample came for a while: gauges go stale by themselves
	ended  bool        // stop was called
}

// A sampler is of one node.
type sampler struct {
	places []meter.Place
	blank  meter.Board // the gauges as they were made, to see whether the rig still fits
	node   *meter.Node
	cancel context.CancelFunc
	why    string // why there are no samples
	health health.Node
	heard  time.Time // the last round of health
}

func newSamplers(s *Session) *samplers {
	p := &samplers{s: s, of: make([]sampler, len(s.o.Nodes))}
	p.late = time.AfterFunc(time.Hour, p.overdue)
	return p
}

// follow makes the samplers fit the rig: one whose rails have changed is started again.
func (p *samplers) follow(rig steps.Rig) {
	if !p.s.o.Sample {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	for _, n := range rig.Nodes {
		var places []meter.Place
		var gauges []meter.Gauge
		for _, r := range n.Rails {
			places = append(places, portOf(r))
			link := r.RateGbps
			if r.Netdev.SpeedGbps == 0 && !r.InfiniBand() {
				link = 0 // soft-RoCE declares a rate, but the real one is unknown
			}
			gauges = append(gauges, meter.Gauge{
				Port: r.Port, Cable: r.PhysPort + 1,
				Node: n.Name, No: n.No, Dev: r.Dev, Netdev: r.Netdev.Name,
				LinkGbps: link, CeilingGbps: float64(limits.WireCeiling(r)), RoCE: packets(r), TCP: segments(r),
			})
		}
		blank := meter.Board{Gauges: gauges}
		own := &p.of[n.No]
		// A node that did not answer keeps the sampler that it has: its rails may be unchanged.
		if n.Err != "" || own.cancel != nil && slices.Equal(places, own.places) && blank.Same(own.blank) {
			continue
		}
		if own.cancel != nil && slices.Equal(places, own.places) {
			own.node.Refit(gauges) // the same counters: their history goes on
			own.blank = blank
			continue
		}
		if own.cancel != nil {
			own.cancel()
		}
		ctx, cancel := context.WithCancel(p.s.life)
		own.places, own.blank, own.cancel = places, blank, cancel
		own.node = meter.NewNode(places, gauges, p.s.o.Speed)
		own.health, own.heard = health.Node{Node: n.Name, No: n.No, Adapter: n.Adapter}, time.Time{}
		node := own.node
		p.work.Go(func() { p.sample(ctx, n.No, places, node) })
		if len(places) > 0 {
			p.work.Go(func() { p.examine(ctx, n.No, node) })
		}
	}
	p.publish(true)
}

// sample keeps one sampler running, until ctx ends. A line of a sampler that was replaced meanwhile is
// dropped (node is no longer the current one): its rails are others.
func (p *samplers) sample(ctx context.Context, no int, places []meter.Place, node *meter.Node) {
	script := runner.Script{
		Name: "sampler", Body: meter.Script, Vars: meter.Vars(places, p.s.o.Speed), Limit: sampleFor, Patient: true,
	}
	for ctx.Err() == nil {
		_, err := p.s.o.Nodes[no].Run(ctx, script, func(line runner.Line) {
			if line.Stream != runner.Stdout {
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.of[no].node != node {
				return
			}
			if err := node.Add(line.Text, time.Now()); err != nil {
				p.of[no].why = err.Error()
				return
			}
			p.of[no].why = ""
			p.publish(false)
		})
		if ctx.Err() != nil {
			return
		}
		why := "the sampler ended"
		if err != nil {
			why = "no connection"
		}
		p.mu.Lock()
		p.of[no].why = why
		p.publish(true)
		p.mu.Unlock()
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// examine keeps one health sampler of a node's adapters and GPUs running, until ctx ends.
func (p *samplers) examine(ctx context.Context, no int, node *meter.Node) {
	script := runner.Script{
		Name: "health", Body: scripts.Health, Vars: health.Vars(health.Every * p.s.o.Speed), Limit: sampleFor, Patient: true,
	}
	for ctx.Err() == nil {
		var round strings.Builder
		// The gauges say why it ended; the age of its figures shows that there are no new ones.
		_, _ = p.s.o.Nodes[no].Run(ctx, script, func(line runner.Line) {
			switch {
			case line.Stream != runner.Stdout:
			case line.Text == health.End:
				p.take(no, node, round.String())
				round.Reset()
			case round.Len() < mostRound:
				round.WriteString(line.Text + "\n")
			}
		})
		select {
		case <-time.After(lookAgainAfter):
		case <-ctx.Done():
		}
	}
}

// take adds a round of health, unless the node's sampler was replaced meanwhile.
func (p *samplers) take(no int, node *meter.Node, round string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := &p.of[no]; own.node == node && own.health.Take(round) == nil {
		own.heard = time.Now()
		p.publish(false)
	}
}

// healthAt is what is known of a node's adapters and GPUs at a moment.
func (own sampler) healthAt(at time.Time) health.Node {
	n := own.health
	switch {
	case own.heard.IsZero():
		n.Stale = "not sampled yet"
	case own.why != "":
		n.Stale = own.why
	case at.Sub(own.heard) > lookStale:
		n.Stale = "no recent sample"
	}
	return n
}

// state makes a node's gauges stale as soon as its connection is lost.
func (p *samplers) state(no int, state runner.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state == runner.Disconnected {
		p.of[no].why = "no connection"
		p.publish(true)
	}
}

// publish sends the board if its picture has changed; mu is held. The newest
// replaces one that was not fetched.
func (p *samplers) publish(now bool) {
	at := time.Now()
	if p.ended || !now && at.Sub(p.sentAt) < publishEvery {
		return
	}
	var b meter.Board
	for _, own := range p.of {
		if own.node != nil {
			b.Gauges = append(b.Gauges, own.node.Gauges(at, own.why)...)
			b.Hosts = append(b.Hosts, own.node.Host(own.why))
			b.Health = append(b.Health, own.healthAt(at))
		}
	}
	p.late.Reset(3 * time.Second)
	if b.Same(p.sent) {
		return
	}
	p.sent, p.sentAt = b, at
	p.s.saver.sample(b)
	select {
	case <-p.s.boards:
	default:
	}
	p.s.boards <- b // only publish sends, under mu: there is room
}

// packets and segments are a rail's full ones; the zero value where the MTU is unknown.
func packets(r steps.Rail) rate.Headers {
	if r.MTU <= 0 || r.InfiniBand() { // whose packets have other headers
		return rate.Headers{}
	}
	return limits.RoCE(r.MTU)
}

func segments(r steps.Rail) rate.Headers {
	if r.Netdev.MTU <= limits.TCPHeaders {
		return rate.Headers{}
	}
	return limits.TCP(r.Netdev.MTU)
}

// overdue looks at the gauges when no sample has asked for it.
func (p *samplers) overdue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish(true)
}

// reset forgets the peaks, averages and histories of all gauges.
func (p *samplers) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, own := range p.of {
		if own.node != nil {
			own.node.Reset()
		}
	}
	p.publish(true)
}

// stop ends the samplers; their scripts are gone when it returns. It may be called again.
func (p *samplers) stop() {
	p.mu.Lock()
	if !p.ended {
		p.ended = true
		close(p.s.boards) // only publish sends, and no more once ended
	}
	p.late.Stop()
	for _, own := range p.of {
		if own.cancel != nil {
			own.cancel()
		}
	}
	p.mu.Unlock()
	p.work.Wait()
}
