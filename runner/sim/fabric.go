package sim

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
)

// The ceilings of the hardware, in bits a second. They are what was measured on
// DGX Sparks, and each belongs to a place: a function, a PCIe half, a cable.
const (
	// One function of a ConnectX-7 moves no more packets a second than this,
	// which at a RoCE MTU of 1024 is 92.7 Gb/s of payload.
	functionPackets = 92.7e9 / 8 / 1024
	// A PCIe Gen5 x4 half carries this much, counted with RoCE's headers.
	halfRate = 111.6e9
	// A QSFP port and its cable, counted with preamble, gap and checksum.
	cableRate = 200e9
	// One TCP stream is bound by one core, and a node's streams by all of them:
	// four reach 93 Gb/s, whether over one rail or a bond of two.
	tcpFlowRate = 33.75e9
	tcpNodeRate = 93.2e9
	// What is left where one end sends frames that the other doesn't take.
	tcpMismatchRate = 12e6
	// What balance-rr leaves of a stream whose packets overtake each other, and
	// the share of them that is sent again.
	disordered       = 0.72
	disorderedResent = 0.004

	// noiseSpan is how far below its ceiling a run may end up. Never above: a
	// figure over the ceiling would be a wrong figure.
	noiseSpan = 0.003

	// One packet on the wire carries Ethernet, IP, UDP, BTH and ICRC around its
	// payload: 58 octets that the port counters see, and 24 more (preamble, gap,
	// FCS) that they don't.
	roceHeader  = 58
	frameHidden = 24

	ackOctets  = 62
	ackSpacing = 32 // packets that one ACK answers

	// A queue pair gives up this long after its path is gone: seven retries at
	// perftest's time-out of 14, doubled by the adapter. TCP just waits.
	retryTime = 2.5
)

// errRetryExceeded ends a flow whose path stays away.
var errRetryExceeded = errors.New("transport retry counter exceeded")

// A flow is data on its way from one function to another. All its numbers are
// payload: bytes and bits a second.
type flow struct {
	src, dst *function
	ip       bool // TCP: moves the netdevs' bytes instead of the ports' counters
	mtu      int
	message  float64 // bytes in one message
	payload  float64 // bytes in all; +Inf where time ends it
	until    float64 // when time ends it, from its start until add; +Inf where the payload does
	demand   float64 // what the sender could do on an idle rig
	share    float64 // 1 minus this run's noise
	extra    float64 // wire octets per octet, above 1 where packets are sent again

	begin, end float64
	sent       float64
	alloc      float64 // its fair share
	rate       float64 // what it takes of it
	steady     bool    // the rate has never changed
	marks      []mark
	stalled    float64 // since when there is no path; NaN where there is one
	halved     bool    // half of it is over (where counter-reset strikes)
	over       bool
	err        error
	credited   credit
}

// A mark notes how much had been sent at an instant.
type mark struct {
	at   float64
	sent float64
	met  bool
}

// credit is what a flow has added to counters so far.
type credit struct {
	octets, packets, ackOctets, acks, resent uint64
}

// A fabric holds the flows between the nodes. Nothing ticks in it: it is brought
// up to date whenever somebody looks. Callers hold the rig's lock.
type fabric struct {
	sync.Mutex // guards the fabric, the stacks and all that their nodes have

	clock   *clock.Clock
	seed    uint64
	stacks  []*stack // of the nodes; two or more, and their number never changes
	at      float64  // seconds of node time that it is up to date with
	flows   []*flow
	changed chan struct{} // closed and replaced when rates change
}

// newFabric joins so many nodes: two are cabled to each other, port to port; more are
// cabled to a switch, which joins all ports 0 and all ports 1.
func newFabric(c *clock.Clock, seed uint64, nodes int) *fabric {
	f := &fabric{clock: c, seed: seed, changed: make(chan struct{})}
	for i := range nodes {
		f.stacks = append(f.stacks, newStack(f, i))
	}
	return f
}

// switched reports whether the nodes are cabled to a switch.
func (f *fabric) switched() bool { return len(f.stacks) > 2 }

func (f *fabric) now() float64 { return f.clock.Now().Seconds() }

// advance brings all flows and counters up to the present, event by event, so
// that a flow that ended between two looks ended at its own instant.
func (f *fabric) advance() {
	now := max(f.now(), f.at)
	for {
		next := now
		for _, fl := range f.flows {
			next = min(next, max(fl.nextEvent(), f.at))
		}
		f.settle(next)
		if !f.events() && next >= now {
			return
		}
	}
}

// nextEvent is the next instant at which something happens to the flow.
func (fl *flow) nextEvent() float64 {
	t := fl.until
	if fl.rate > 0 {
		start := fl.lastSettled()
		if !math.IsInf(fl.payload, 1) {
			t = min(t, start+(fl.payload-fl.sent)*8/fl.rate)
			if !fl.halved {
				t = min(t, start+max(0, fl.payload/2-fl.sent)*8/fl.rate)
			}
		}
	} else if !math.IsNaN(fl.stalled) && !fl.ip {
		t = min(t, fl.stalled+retryTime)
	}
	if !fl.halved && math.IsInf(fl.payload, 1) && !math.IsInf(fl.until, 1) {
		t = min(t, (fl.begin+fl.until)/2)
	}
	for _, m := range fl.marks {
		if !m.met {
			t = min(t, m.at)
		}
	}
	return t
}

func (fl *flow) lastSettled() float64 { return fl.src.stack.fabric.at }

// settle moves every flow on to the instant t at its present rate.
func (f *fabric) settle(t float64) {
	dt := t - f.at
	f.at = t
	if dt <= 0 {
		return
	}
	for _, fl := range f.flows {
		fl.sent = min(fl.payload, fl.sent+fl.rate*dt/8)
		fl.credit()
	}
}

// events handles what is due at the present instant and says whether anything was.
func (f *fabric) events() bool {
	const eps = 1e-9
	happened, ended := false, false
	for _, fl := range f.flows {
		for i := range fl.marks {
			if m := &fl.marks[i]; !m.met && f.at >= m.at-eps {
				m.met, m.sent = true, fl.sent
				happened = true
			}
		}
		half := fl.payload/2 - fl.sent
		due := fl.rate > 0 && half*8/fl.rate < eps
		if math.IsInf(fl.payload, 1) {
			due = f.at >= (fl.begin+fl.until)/2-eps
		}
		if !fl.halved && due {
			fl.halved, happened = true, true
			f.resetCounters(fl)
		}
		left := (fl.payload - fl.sent) * 8
		switch {
		case !math.IsInf(fl.payload, 1) && (left <= 0 || fl.rate > 0 && left/fl.rate < eps):
			fl.sent = fl.payload
			fl.finish(f.at, nil)
		case f.at >= fl.until-eps:
			fl.finish(f.at, nil)
		case !math.IsNaN(fl.stalled) && !fl.ip && f.at >= fl.stalled+retryTime-eps:
			fl.finish(f.at, errRetryExceeded)
		}
		ended = ended || fl.over
	}
	if ended {
		f.flows = slices.DeleteFunc(f.flows, func(fl *flow) bool { return fl.over })
		f.allocate()
	}
	return happened || ended
}

func (fl *flow) finish(at float64, err error) {
	fl.credit()
	fl.over, fl.end, fl.err = true, at, err
}

// credit adds to the counters what was sent since the last time. It works on
// totals, so that a flow that ends has added exactly its packets and no
// rounding piles up on the way.
func (fl *flow) credit() {
	messages := fl.sent / fl.message
	perMessage := math.Ceil(fl.message / float64(fl.mtu))
	packets := messages * perMessage
	resent := packets * (fl.extra - 1)
	octets := (fl.sent + packets*fl.header()) * fl.extra
	acks := math.Ceil(packets / ackSpacing)
	// A float holds these integers exactly; what is added keeps 2.9999999 of a
	// finished flow from becoming 2.
	whole := func(v float64) uint64 { return uint64(v + 1e-3) }
	now := credit{whole(octets), whole(packets + resent), uint64(acks) * ackOctets, uint64(acks), whole(resent)}
	was := fl.credited
	fl.credited = now
	delta := credit{
		now.octets - was.octets, now.packets - was.packets,
		now.ackOctets - was.ackOctets, now.acks - was.acks, now.resent - was.resent,
	}
	if fl.ip {
		fl.src.net.count(delta.octets, delta.packets, delta.ackOctets, delta.acks)
		fl.dst.net.count(delta.ackOctets, delta.acks, delta.octets, delta.packets)
		return
	}
	fl.src.port.add(delta.octets, delta.packets, delta.ackOctets, delta.acks)
	fl.dst.port.add(delta.ackOctets, delta.acks, delta.octets, delta.packets)
	if delta.resent > 0 {
		fl.src.hw["packet_seq_err"] += (delta.resent + 7) / 8
		fl.dst.hw["out_of_sequence"] += delta.resent
	}
	fl.dst.hw["rx_write_requests"] += delta.packets / uint64(max(1, perMessage))
}

func (fl *flow) header() float64 {
	if fl.ip {
		return 66 // Ethernet, IP and TCP with time stamps
	}
	return roceHeader
}

// add starts flows at the present instant, all at the same: those of one test
// would each have a while alone otherwise, the longer the faster time runs.
func (f *fabric) add(flows ...*flow) {
	f.advance()
	for _, fl := range flows {
		fl.begin = f.at
		fl.steady = true
		fl.stalled = math.NaN()
		if fl.payload == 0 {
			fl.payload = math.Inf(1)
		}
		if fl.until == 0 {
			fl.until = math.Inf(1)
		} else {
			fl.until += fl.begin
		}
		if fl.extra == 0 {
			fl.extra = 1
		}
		if (fl.src.stack.resends || fl.dst.stack.resends) && !fl.ip {
			fl.extra = 1.03 + 10*(1-fl.share)
		}
		for i := range fl.marks {
			fl.marks[i].at += fl.begin
		}
	}
	f.flows = append(f.flows, flows...)
	f.allocate()
}

// stop takes a flow off before its end.
func (f *fabric) stop(fl *flow) {
	f.advance()
	if fl.over {
		return
	}
	fl.finish(f.at, context.Canceled)
	f.flows = slices.DeleteFunc(f.flows, func(x *flow) bool { return x == fl })
	f.allocate()
}

// A place is something that flows share.
type place struct {
	kind string
	node *stack
	no   int
	back bool
}

// A claim is how much of a place one bit of a flow's payload takes.
type claim struct {
	place place
	per   float64
	limit float64
}

func (fl *flow) claims() []claim {
	mtu := float64(fl.mtu)
	wire := (mtu + fl.header()) / mtu * fl.extra
	framed := (mtu + fl.header() + frameHidden) / mtu * fl.extra
	src, dst := fl.src, fl.dst
	cs := []claim{
		{place{"half", src.stack, src.half, false}, wire, src.halfRate()},
		{place{"half", dst.stack, dst.half, true}, wire, dst.halfRate()},
	}
	if src.stack.fabric.switched() {
		// A cable each to the switch, which itself has room for all.
		cs = append(cs,
			claim{place{"cable", src.stack, src.qsfp, false}, framed, cableRate},
			claim{place{"cable", dst.stack, dst.qsfp, true}, framed, cableRate})
	} else {
		cs = append(cs, claim{place{"cable", nil, src.qsfp, src.stack.index > dst.stack.index}, framed, cableRate})
	}
	for _, end := range []struct {
		fn   *function
		back bool
	}{{src, false}, {dst, true}} {
		if fl.ip {
			cs = append(cs, claim{place{"tcp", end.fn.stack, 0, end.back}, 1, tcpNodeRate})
		} else {
			cs = append(cs, claim{place{"function", end.fn.stack, end.fn.no, end.back}, 1 / (8 * mtu), functionPackets})
		}
		if limit := end.fn.cap(); limit > 0 {
			cs = append(cs, claim{place{"cap", end.fn.stack, end.fn.no, end.back}, 1, limit})
		}
	}
	return cs
}

// allocate gives every flow its max-min fair share: all rise together until a
// place is full or a demand is met, and those that aren't bound by it rise on.
func (f *fabric) allocate() {
	type state struct {
		fl     *flow
		claims []claim
		fixed  bool
	}
	var all []*state
	left := map[place]float64{}
	for _, fl := range f.flows {
		s := &state{fl: fl, claims: fl.claims()}
		fl.alloc = 0
		if !fl.src.live() || !fl.dst.live() {
			s.fixed = true
			if math.IsNaN(fl.stalled) {
				fl.stalled = f.at
			}
		} else {
			fl.stalled = math.NaN()
		}
		for _, c := range s.claims {
			left[c.place] = c.limit
		}
		all = append(all, s)
	}
	for {
		load := map[place]float64{}
		step := math.Inf(1)
		for _, s := range all {
			if s.fixed {
				continue
			}
			step = min(step, s.fl.demand-s.fl.alloc)
			for _, c := range s.claims {
				load[c.place] += c.per
			}
		}
		if math.IsInf(step, 1) && len(load) == 0 {
			break
		}
		for p, l := range load {
			step = min(step, left[p]/l)
		}
		step = max(0, step)
		for p, l := range load {
			left[p] -= step * l
		}
		for _, s := range all {
			if s.fixed {
				continue
			}
			s.fl.alloc += step
			s.fixed = s.fl.alloc >= s.fl.demand*(1-1e-12)
			for _, c := range s.claims {
				s.fixed = s.fixed || left[c.place] <= c.limit*1e-12
			}
		}
	}
	for _, s := range all {
		rate := s.fl.alloc * s.fl.share
		if s.fl.rate != 0 && s.fl.rate != rate {
			s.fl.steady = false
		}
		s.fl.rate = rate
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait returns when the flow is over; where ctx ends first it takes it off.
func (f *fabric) wait(ctx context.Context, fl *flow) error {
	for {
		f.Lock()
		f.advance()
		if ctx.Err() != nil {
			f.stop(fl)
		}
		if fl.over {
			defer f.Unlock()
			return fl.err
		}
		at, changed := fl.nextEvent(), f.changed
		f.Unlock()

		until := clock.Never
		if !math.IsInf(at, 1) {
			// At least the next instant that there is: this one has been looked at.
			until = max(time.Duration(math.Ceil(at*1e9)), f.clock.Now()+1)
		}
		f.clock.Park(ctx, until, clock.Happened(changed))
	}
}

// average is the flow's payload rate over its whole life, in bits a second.
func (fl *flow) average() float64 {
	if fl.steady {
		return fl.rate
	}
	return fl.sent * 8 / (fl.end - fl.begin)
}

// messageDemand is the rate that messages of a size reach on an otherwise idle
// rig: a queue pair starts so many of them a second, whatever their size.
func messageDemand(sizeBytes, qps int) float64 {
	start := 0.2e-6 / float64(min(qps, 4))
	move := float64(sizeBytes) * 8 / (halfRate * 1.05)
	return float64(sizeBytes) * 8 / math.Pow(math.Pow(start, 4)+math.Pow(move, 4), 0.25)
}

// resetCounters is called halfway through each flow.
func (f *fabric) resetCounters(fl *flow) {
	if fl.ip {
		return
	}
	for _, n := range f.stacks {
		for _, fn := range n.functions {
			if n.resets {
				fn.port = portCounters{}
			}
		}
	}
}
