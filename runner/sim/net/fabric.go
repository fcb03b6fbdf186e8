// Package net is what joins the simulated nodes: the adapters with their functions, the
// interfaces and bonds, addresses and routes, and the fabric on which data flows at the
// rates that the hardware's ceilings allow, which moves the counters. It knows no file, no
// process and no program. The fabric's lock guards all of it, and all that the nodes have.
package net

import (
	"context"
	"errors"
	"maps"
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
	// A PCIe Gen5 x4 half has 126.0 Gb/s after its encoding (32 GT/s, 4 lanes, 128 of 130).
	// Its packets carry 256 bytes behind some 27 of their own, which leaves this much. RoCE's
	// headers stay in the adapter, but each of its packets costs descriptors and completions
	// besides. Both figures were fitted to what was published: 105.4 Gb/s of payload at a RoCE
	// MTU of 1024, and 111.8 at 4096.
	halfRate   = 126.03e9 * 256 / (256 + 26.8)
	halfPacket = 85 // bytes
	// A QSFP port and its cable, counted with preamble, gap and checksum.
	cableRate = 200e9
	// One TCP stream is bound by one core, and a node's streams by all of them:
	// four reach 93 Gb/s, whether over one rail or a bond of two.
	// Both were measured after the tutorial had set the MTU to 9000, which makes segments of 8948
	// bytes; with an MTU of 1500 it is less, see HostCost.
	TCPFlowRate = 33.75e9
	tcpNodeRate = 93.2e9
	tcpSegment  = 8948
	// What a core does for each packet takes it as long as copying so many bytes. With
	// segmentation and aggregation by the adapter that is little: a fifth more with an MTU of
	// 9000, so that both are within what was seen (12 to 35 Gb/s, and 70 to 93).
	tcpPacketBytes = 380
	// What is left where one end sends frames that the other doesn't take.
	TCPMismatchRate = 12e6
	// What balance-rr leaves of a stream whose packets overtake each other, and
	// the share of them that is sent again.
	Disordered       = 0.72
	DisorderedResent = 0.004

	// NoiseSpan is how far below its ceiling a run may end up. Never above: a
	// figure over the ceiling would be a wrong figure.
	NoiseSpan = 0.003

	// One packet on the wire carries Ethernet, IP, UDP, BTH and ICRC around its
	// payload: 58 octets that the port counters see, and 24 more (preamble, gap,
	// FCS) that they don't.
	roceHeader  = 58
	frameHidden = 24
	// A write's first packet says where in memory (RETH), and so does a read's request; a
	// read's first and last response say that it is well (AETH). A payload ends at four bytes.
	reth = 16
	aeth = 4
	// The kernel takes the largest RoCE MTU that leaves so much of the interface's
	// (iboe_get_mtu in its rdma/ib_addr.h): room for the longest headers that there are.
	roceRoom = 96

	ackOctets  = roceHeader + aeth
	readOctets = roceHeader + reth // a request
	ackSpacing = 32                // packets that one ACK answers

	// A receiver whose buffers run full pauses the other end once in so many packets, each time for
	// so long.
	pauseEvery = 500
	// PauseTime is how long one pause takes, us.
	PauseTime = 3

	// A queue pair gives up this long after its path is gone: seven retries at
	// perftest's time-out of 14, doubled by the adapter. TCP just waits.
	RetryTime = 2.5
)

// errRetryExceeded ends a flow whose path stays away.
var errRetryExceeded = errors.New("transport retry counter exceeded")

// HostCost is how much longer a core works for a byte of TCP in segments of some bytes than in
// those of an MTU of 9000, of which what was seen is.
func HostCost(segment int) float64 {
	each := func(bytes float64) float64 { return (bytes + tcpPacketBytes) / bytes }
	return each(float64(max(1, segment))) / each(tcpSegment)
}

// An Op is what RDMA does with a flow's messages.
type Op uint8

// The operations.
const (
	Write Op = iota
	Read     // what it sends is responses; its other end asked
	Send
)

// A Flow is data on its way from one function to another. All its numbers are
// payload: bytes and bits a second.
type Flow struct {
	From, To *Function
	// A flow is TCP's or RDMA's as a whole, because they are counted in different places.
	TCP bool // TCP: moves the netdevs' bytes instead of the ports' counters
	Op  Op   // where it isn't
	// In bytes: for RDMA the RoCE MTU, which is payload alone; for TCP the segment, which is too.
	MTU int
	// Must not be 0: the packets of a message follow from it.
	Message float64 // bytes in one message
	Payload float64 // bytes in all; +Inf where time ends it
	Until   float64 // when time ends it, from its start until add; +Inf where the payload does
	// In bits a second, as Alloc is; +Inf where the way alone decides.
	Demand float64 // what the sender could do on an idle rig
	Share  float64 // 1 minus this run's noise
	// Alone is true for messages of one packet each, sent one at a time. Its caller has added the time that
	// lost packets cost.
	Alone bool
	extra float64 // wire octets per octet, above 1 where packets are sent again
	// For a packet: the share that is lost, and what is sent again because of it.
	lost, again float64

	// In seconds of the nodes' time since the rig's start. They and Sent are set by the fabric
	// alone.
	Begin, End float64
	Sent       float64
	Alloc      float64 // its fair share
	rate       float64 // what it takes of it
	steady     bool    // the rate has never changed
	// In any order; At counts from the flow's start until Add, and from the rig's start after it.
	Marks    []Mark
	stalled  float64 // when the path was lost; NaN while there is a path
	halved   bool    // half of it is over (where counter-reset strikes)
	over     bool
	err      error
	credited flowCounts
	no       int           // of all that were ever added
	changed  chan struct{} // closed when its rate changes or it ends; nil without a waiter
}

// A Mark notes how much had been sent at an instant.
type Mark struct {
	// Seconds; Sent is bytes of payload.
	At   float64
	Sent float64
	met  bool
}

// flowCounts is what a flow has added to counters so far.
// naks are what the receiver asks again by, one for each packet that was lost; behind it come those that it drops.
type flowCounts struct {
	octets, packets, arrivedOctets, arrived, ackOctets, acks, naks, dropped, messages uint64
}

// A Fabric holds the flows between the nodes. Nothing ticks in it: it is brought up to date whenever it is
// read. Callers hold the rig's lock.
type Fabric struct {
	sync.Mutex // guards the fabric, the stacks and all that their nodes have

	Clock *clock.Clock
	Seed  uint64
	Ring  bool // each node's port 0 is cabled to the next one's port 1, without a switch
	// In the order of their numbers.
	Stacks []*Stack // of the nodes; two or more, and their number never changes
	// The lock guards it, so only who holds that may ask how far the fabric is.
	at float64 // seconds of node time that it is up to date with
	// Those that go on. One that is over is taken off and keeps its own figures.
	Flows []*Flow
	added int     // how many flows there ever were
	due   float64 // when the next thing happens to a flow; +Inf where nothing does
	// What has flowed is added to the counters when they are read: adding each of many flows at each instant
	// is too much work for counters that are rarely read.
	countedAt float64
}

// New joins so many nodes: two are cabled to each other, port to port; more are
// cabled to a switch, which joins all ports 0 and all ports 1, or in a ring.
func New(c *clock.Clock, seed uint64, nodes int, ring bool) *Fabric {
	f := &Fabric{Clock: c, Seed: seed, Ring: ring, due: math.Inf(1)}
	f.Stacks = make([]*Stack, nodes)
	for i := range nodes {
		f.Stacks[i] = newStack(f, i)
	}
	for _, n := range f.Stacks { // a cable has two ends
		n.LinksReady()
	}
	return f
}

// switched reports whether the nodes are cabled to a switch.
func (f *Fabric) switched() bool { return len(f.Stacks) > 2 && !f.Ring }

// Now is the present in seconds of the nodes' time since the rig's start. at may be behind it, and
// never before it.
func (f *Fabric) Now() float64 { return f.Clock.Now().Seconds() }

// Advance brings all flows and counters up to the present, event by event, so
// that a flow that ended between two looks ended at its own instant.
func (f *Fabric) Advance() {
	f.move()
	f.count()
}

// move is Advance but for the counters.
func (f *Fabric) move() {
	now := max(f.Now(), f.at)
	for {
		next := min(now, max(f.due, f.at))
		f.settle(next)
		// Twice what events takes for the same instant: due was reckoned from another one.
		if f.due-2*instant(next) > next {
			return
		}
		happened := f.events()
		f.due = f.nextEvent()
		if !happened && next >= now {
			return
		}
	}
}

// count adds to the counters what has flowed until at.
func (f *Fabric) count() {
	if f.countedAt == f.at {
		return
	}
	f.countedAt = f.at
	for _, fl := range f.Flows {
		fl.addToCounters()
	}
}

// nextEvent is the next instant at which something happens to a flow. It may be of any; where two are at the same
// instant the order of the flows decides, which is that of their start.
func (f *Fabric) nextEvent() float64 {
	next := math.Inf(1)
	for _, fl := range f.Flows {
		next = min(next, fl.nextEvent())
	}
	return next
}

// nextEvent is the next instant at which something happens to the flow.
func (fl *Flow) nextEvent() float64 {
	t := fl.Until
	if fl.rate > 0 {
		start := fl.lastSettled()
		if !math.IsInf(fl.Payload, 1) {
			t = min(t, start+(fl.Payload-fl.Sent)*8/fl.rate)
			if !fl.halved {
				t = min(t, start+max(0, fl.Payload/2-fl.Sent)*8/fl.rate)
			}
		}
	} else if !math.IsNaN(fl.stalled) && !fl.TCP {
		t = min(t, fl.stalled+RetryTime)
	}
	if !fl.halved && math.IsInf(fl.Payload, 1) && !math.IsInf(fl.Until, 1) {
		t = min(t, (fl.Begin+fl.Until)/2)
	}
	for _, m := range fl.Marks {
		if !m.met {
			t = min(t, m.At)
		}
	}
	return t
}

// lastSettled is the instant that Sent is of: every flow is settled at the same.
func (fl *Flow) lastSettled() float64 { return fl.From.Stack.Fabric.at }

// settle moves every flow on to the instant t at its present rate.
func (f *Fabric) settle(t float64) {
	dt := t - f.at
	f.at = t
	if dt <= 0 {
		return
	}
	for _, fl := range f.Flows {
		fl.Sent = min(fl.Payload, fl.Sent+fl.rate*dt/8)
	}
}

// instant is how far from its own instant an event may be, in seconds: after some weeks a float64 has no room
// for nanoseconds, and a nearer event would never come.
func instant(at float64) float64 {
	return max(1e-9, 4*(math.Nextafter(at, math.Inf(1))-at))
}

// events handles what is due at the present instant and reports whether anything was.
func (f *Fabric) events() bool {
	happened := false
	var ended []*Flow
	for _, fl := range f.Flows {
		for i := range fl.Marks {
			if m := &fl.Marks[i]; !m.met && f.at >= m.At-instant(f.at) {
				m.met, m.Sent = true, fl.Sent
				happened = true
			}
		}
		if !fl.halved && fl.half(f.at) {
			fl.halved, happened = true, true
			f.resetCounters(fl)
		}
		if fl.endAt(f.at); fl.over {
			ended = append(ended, fl)
		}
	}
	if len(ended) > 0 {
		f.Flows = slices.DeleteFunc(f.Flows, func(fl *Flow) bool { return fl.over })
		f.reallocate(ended)
	}
	return happened || len(ended) > 0
}

// half reports whether half of the flow is over.
func (fl *Flow) half(at float64) bool {
	if math.IsInf(fl.Payload, 1) {
		return at >= (fl.Begin+fl.Until)/2-instant(at)
	}
	return fl.rate > 0 && (fl.Payload/2-fl.Sent)*8/fl.rate < instant(at)
}

// endAt ends the flow where that is due.
func (fl *Flow) endAt(at float64) {
	left := (fl.Payload - fl.Sent) * 8
	switch {
	case !math.IsInf(fl.Payload, 1) && (left <= 0 || fl.rate > 0 && left/fl.rate < instant(at)):
		fl.Sent = fl.Payload
		fl.finish(at, nil)
	case at >= fl.Until-instant(at):
		fl.finish(at, nil)
	case !math.IsNaN(fl.stalled) && !fl.TCP && at >= fl.stalled+RetryTime-instant(at):
		fl.finish(at, errRetryExceeded)
	}
}

// finish is called once for each flow, by events or by Stop. What is still to be counted is counted
// before over is set.
func (fl *Flow) finish(at float64, err error) {
	fl.addToCounters()
	fl.over, fl.End, fl.err = true, at, err
	fl.tell()
}

// report wakes what waits for the flow.
func (fl *Flow) tell() {
	if fl.changed != nil {
		close(fl.changed)
		fl.changed = nil
	}
}

// flowCounts adds to the counters what was sent since the last time. It works on
// totals, so that a flow that ends has added exactly its packets and no
// rounding piles up on the way.
func (fl *Flow) addToCounters() {
	messages := fl.Sent / fl.Message
	// Each message begins a packet of its own: ten messages of 1,500 bytes at an MTU of 1,024 are
	// twenty packets.
	perMessage := math.Ceil(fl.Message / float64(fl.MTU))
	packets := messages * perMessage
	naks, again := packets*fl.lost, packets*fl.again
	once := fl.Sent + packets*fl.header() + messages*fl.perMessage(perMessage)
	acks, ackOctets := math.Ceil(packets/ackSpacing), ackOctets
	if fl.Op == Read && !fl.TCP {
		acks, ackOctets = math.Ceil(messages), readOctets
	}
	// A float holds these integers exactly; what is added keeps 2.9999999 of a
	// finished flow from becoming 2.
	whole := func(v float64) uint64 { return uint64(v + 1e-3) }
	now := flowCounts{
		whole(once * fl.extra), whole(packets + again), whole(once * (fl.extra - fl.lost)), whole(packets + again - naks),
		uint64(acks) * uint64(ackOctets), uint64(acks), whole(naks), whole(again - naks), whole(messages),
	}
	was := fl.credited
	fl.credited = now
	delta := flowCounts{
		now.octets - was.octets, now.packets - was.packets,
		now.arrivedOctets - was.arrivedOctets, now.arrived - was.arrived,
		now.ackOctets - was.ackOctets, now.acks - was.acks,
		now.naks - was.naks, now.dropped - was.dropped, now.messages - was.messages,
	}
	// TCP goes through the kernel and shows in the interface's bytes; RDMA goes past it, and shows
	// in the port's counters alone. So it is on ConnectX, and it is why the gauges read both.
	if fl.TCP {
		fl.From.Netdev.Count(delta.octets, delta.packets, delta.ackOctets, delta.acks)
		fl.To.Netdev.Count(delta.ackOctets, delta.acks, delta.octets, delta.packets)
		return
	}
	fl.From.Port.add(delta.octets, delta.packets, delta.ackOctets, delta.acks)
	fl.To.Port.add(delta.ackOctets, delta.acks, delta.arrivedOctets, delta.arrived)
	if fl.Alone {
		fl.From.HW["local_ack_timeout_err"] += delta.naks
	} else {
		fl.From.HW["packet_seq_err"] += delta.naks
	}
	fl.To.HW["out_of_sequence"] += delta.dropped
	if fl.To.Stack.Pauses {
		// Of the totals, so that what is less than one is not lost each time.
		pauses := now.packets/pauseEvery - was.packets/pauseEvery
		fl.From.PausedIn, fl.To.PausedOut = fl.From.PausedIn+pauses, fl.To.PausedOut+pauses
	}
	// The receiver of a request counts it: a read's data goes the other way.
	switch fl.Op {
	case Write:
		fl.To.HW["rx_write_requests"] += delta.messages
	case Read:
		fl.From.HW["rx_read_requests"] += delta.messages
	case Send:
	}
}

// perMessage is what an RDMA message has in addition to its packets' headers, bytes.
func (fl *Flow) perMessage(packets float64) float64 {
	if fl.TCP {
		return 0
	}
	padded := math.Ceil(fl.Message/4)*4 - fl.Message
	switch fl.Op {
	case Write:
		return padded + reth
	case Read:
		return padded + aeth*min(packets, 2)
	case Send:
	}
	return padded
}

// header is what stands around a packet's payload and is counted, in bytes; see facts.md for both
// figures.
func (fl *Flow) header() float64 {
	if fl.TCP {
		return 66 // Ethernet, IP and TCP with time stamps
	}
	return roceHeader
}

// Add starts flows at the present instant, all at the same: those of one test
// would each have a while alone otherwise, the longer the faster time runs.
func (f *Fabric) Add(flows ...*Flow) {
	f.move()
	for _, fl := range flows {
		fl.no = f.added
		f.added++
		fl.Begin = f.at
		fl.steady = true
		fl.stalled = math.NaN()
		if fl.Payload == 0 {
			fl.Payload = math.Inf(1)
		}
		if fl.Until == 0 {
			fl.Until = math.Inf(1)
		} else {
			fl.Until += fl.Begin
		}
		if fl.extra == 0 {
			fl.extra = 1
			fl.lose()
		}
		for i := range fl.Marks {
			fl.Marks[i].At += fl.Begin
		}
	}
	f.Flows = append(f.Flows, flows...)
	f.reallocate(flows)
}

// Stop takes a flow off before its end.
func (f *Fabric) Stop(fl *Flow) {
	f.move()
	if fl.over {
		return
	}
	fl.finish(f.at, context.Canceled)
	f.Flows = slices.DeleteFunc(f.Flows, func(x *Flow) bool { return x == fl })
	f.reallocate([]*Flow{fl})
}

// A shared is what several flows go through. Its kind says which other fields identify it: a half and a cable
// belong to a node and have a number, and back distinguishes the two directions, which don't share.
type shared struct {
	kind string
	node *Stack
	no   int
	back bool
}

// A usage is how much of a place one bit of a flow's payload takes.
type usage struct {
	of shared
	// Of the unit that limit is in: bits a second, or packets a second where the place is a
	// function.
	per   float64
	limit float64
}

// claims are the places that the flow goes through. A place that two flows name in the same words
// is one.
func (fl *Flow) usages() []usage {
	mtu := float64(fl.MTU)
	// PCIe carries payload, of TCP with its headers: those are the host's.
	pcie := (mtu + halfPacket) / mtu * fl.extra
	if fl.TCP {
		pcie = (mtu + fl.header() + halfPacket) / mtu * fl.extra
	}
	framed := (mtu + fl.header() + frameHidden) / mtu * fl.extra
	src, dst := fl.From, fl.To
	cs := []usage{
		{shared{"half", src.Stack, src.Half, false}, pcie, src.halfRate()},
		{shared{"half", dst.Stack, dst.Half, true}, pcie, dst.halfRate()},
	}
	if src.Stack.Fabric.switched() {
		// A cable each to the switch, which itself has room for all.
		cs = append(cs,
			usage{shared{"cable", src.Stack, src.Wire(), false}, framed, src.Netdev.Cable().Rate},
			usage{shared{"cable", dst.Stack, dst.Wire(), true}, framed, dst.Netdev.Cable().Rate})
	} else {
		cs = append(cs, usage{
			shared{"cable", nil, src.Wire(), src.Stack.Index > dst.Stack.Index},
			framed,
			src.Netdev.Cable().Rate,
		})
	}
	for _, end := range []struct {
		fn   *Function
		back bool
	}{{src, false}, {dst, true}} {
		if fl.TCP {
			cs = append(cs, usage{shared{"tcp", end.fn.Stack, 0, end.back}, HostCost(fl.MTU), tcpNodeRate})
		} else {
			cs = append(cs, usage{shared{"function", end.fn.Stack, end.fn.No, end.back}, fl.extra / (8 * mtu), functionPackets})
		}
		if limit := end.fn.Cap(); limit > 0 {
			cs = append(cs, usage{shared{"cap", end.fn.Stack, end.fn.No, end.back}, 1, limit})
		}
	}
	return cs
}

// misled reports whether packets of RDMA go to another function than its other end's: an adapter asks the kernel's
// neighbour table for the MAC, and a function drops what belongs to no queue pair of its own. The kernel takes TCP
// for any of its addresses at any of its interfaces.
func (fl *Flow) misled() bool {
	return !fl.TCP && (fl.From.misdirects(fl.To) || fl.To.misdirects(fl.From))
}

// misdirects reports whether a function's node has another MAC for an address of another one than that one's own.
func (f *Function) misdirects(g *Function) bool {
	return f.Stack != g.Stack && slices.ContainsFunc(f.Stack.Fixed, func(n Neighbour) bool {
		return n.Dev == f.Netdev.Name && n.MAC != g.Netdev.MACText() &&
			slices.ContainsFunc(g.Netdev.Addrs, func(a Address) bool { return a.Addr() == n.Addr })
	})
}

// A sharer is a flow while the shares are worked out.
type sharer struct {
	fl     *Flow
	usages []usage
	fixed  bool // it doesn't rise any more
}

// Allocate gives every flow its max-min fair share: all rise together until a
// place is full or a demand is met, and those that aren't bound by it rise on.
func (f *Fabric) Allocate() { f.allocate(f.Flows, f.Stacks) }

// reallocate is Allocate after flows have come or gone, which in a rig of many nodes is nothing to most: the nodes of
// those, and all that flows reach from them, are all that may share a place with them.
func (f *Fabric) reallocate(those []*Flow) {
	if !f.Wide() {
		f.Allocate()
		return
	}
	at := map[*Stack][]*Flow{}
	for _, fl := range f.Flows {
		at[fl.From.Stack] = append(at[fl.From.Stack], fl)
		at[fl.To.Stack] = append(at[fl.To.Stack], fl)
	}
	var nodes []*Stack
	reach := func(fl *Flow) {
		for _, n := range []*Stack{fl.From.Stack, fl.To.Stack} {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	for _, fl := range those {
		reach(fl)
	}
	near := map[int]*Flow{}
	for i := 0; i < len(nodes); i++ {
		for _, fl := range at[nodes[i]] {
			near[fl.no] = fl
			reach(fl)
		}
	}
	flows := make([]*Flow, 0, len(near))
	for _, no := range slices.Sorted(maps.Keys(near)) {
		flows = append(flows, near[no])
	}
	f.allocate(flows, nodes)
}

// allocate is Allocate for the flows of some nodes, with which no others share a place.
func (f *Fabric) allocate(flows []*Flow, nodes []*Stack) {
	all := make([]*sharer, 0, len(flows))
	left := map[shared]float64{}
	for _, fl := range flows {
		s := &sharer{fl: fl, usages: fl.usages()}
		fl.Alloc = 0
		switch s.fixed = !fl.From.Live() || !fl.To.Live() || fl.misled(); {
		case !s.fixed:
			fl.stalled = math.NaN()
		case math.IsNaN(fl.stalled):
			fl.stalled = f.at
			fl.tell()
		}
		for _, c := range s.usages {
			left[c.of] = c.limit
		}
		all = append(all, s)
	}
	groups := [][]*sharer{all}
	if f.Wide() {
		groups = apart(all)
	}
	for _, group := range groups {
		// Each round settles at least one flow: it gets all that it asks for, or a link on its path is full.
		// So the loop ends after as many rounds as there are flows.
		for rise(group, left) {
		}
	}
	moves := map[*Stack]float64{}
	for _, s := range all {
		fl, rate := s.fl, s.fl.Alloc*s.fl.Share
		if fl.rate != rate {
			fl.steady = fl.steady && fl.rate == 0
			fl.rate = rate
			fl.tell() // at another rate it ends at another instant
		}
		moves[fl.From.Stack] += rate
		if fl.To.Stack != fl.From.Stack {
			moves[fl.To.Stack] += rate
		}
	}
	for _, n := range nodes {
		n.warm(moves[n])
	}
	f.due = f.nextEvent()
}

// apart are flows in groups that share no place, each in the order of its flows: in a rig of many nodes most pairs have
// nothing to do with the others.
func apart(all []*sharer) (groups [][]*sharer) {
	at := map[shared]int{}           // a group by what it goes through
	into := make([]int, 0, len(all)) // by group, the one that it has become a part of: itself, where none
	root := func(g int) int {
		for into[g] != g {
			g = into[g]
		}
		return g
	}
	of := make([]int, len(all))
	for i, s := range all {
		of[i] = len(into)
		into = append(into, len(into))
		for _, c := range s.usages {
			if other, ok := at[c.of]; ok {
				a, b := root(other), root(of[i])
				into[max(a, b)] = min(a, b)
			}
			at[c.of] = of[i]
		}
	}
	number := map[int]int{}
	for i, s := range all {
		g := root(of[i])
		n, ok := number[g]
		if !ok {
			n = len(groups)
			number[g], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], s)
	}
	return groups
}

// rise lets all flows that still can rise by as much as all of them can, and takes that off
// what is left of the places; it is false where none can.
func rise(all []*sharer, left map[shared]float64) bool {
	load := map[shared]float64{}
	// Per bit of payload a flow that goes through a place takes per of it, and several take the
	// sum: the place allows a rise of what is left of it by that sum.
	step := math.Inf(1)
	for _, s := range all {
		if s.fixed {
			continue
		}
		step = min(step, s.fl.Demand-s.fl.Alloc)
		for _, c := range s.usages {
			load[c.of] += c.per
		}
	}
	if math.IsInf(step, 1) && len(load) == 0 {
		return false
	}
	for p, l := range load {
		step = min(step, left[p]/l)
	}
	// What is left of a full place may be a little below 0, by rounding.
	step = max(0, step)
	for p, l := range load {
		left[p] -= step * l
	}
	for _, s := range all {
		if s.fixed {
			continue
		}
		s.fl.Alloc += step
		// With some room for rounding: a flow that stays a billionth below its demand would rise
		// for ever.
		s.fixed = s.fl.Alloc >= s.fl.Demand*(1-1e-12)
		for _, c := range s.usages {
			s.fixed = s.fixed || left[c.of] <= c.limit*1e-12
		}
	}
	return true
}

// Wait returns when the flow is over; where ctx ends first it takes it off.
// Wait must not be called with the lock held, and by an actor only: it parks.
func (f *Fabric) Wait(ctx context.Context, fl *Flow) error {
	for {
		f.Lock()
		f.move()
		if ctx.Err() != nil {
			f.Stop(fl)
		}
		if fl.over {
			defer f.Unlock()
			return fl.err
		}
		// It is taken while the lock is held: what happens after that closes just this one, and nothing is missed.
		if fl.changed == nil {
			fl.changed = make(chan struct{})
		}
		at, changed := fl.nextEvent(), fl.changed
		f.Unlock()

		until := clock.Never
		if !math.IsInf(at, 1) {
			// At least the next instant that there is: this one has been looked at.
			until = max(time.Duration(math.Ceil(at*1e9)), f.Clock.Now()+1)
		}
		f.Clock.Park(ctx, until, clock.Happened(changed))
	}
}

// Average is the flow's payload rate over its whole life, in bits a second.
// A steady flow's rate is exact, where the quotient of bytes and seconds would have rounding in it:
// figures are compared with ceilings to the last digit.
func (fl *Flow) Average() float64 {
	if fl.steady {
		return fl.rate
	}
	return fl.Sent * 8 / (fl.End - fl.Begin)
}

// MessageDemand is the rate that messages of a size reach on an otherwise idle
// rig: a queue pair starts so many of them a second, whatever their size.
func MessageDemand(sizeBytes, qps int) float64 {
	// The seconds that starting a message takes, which up to four queue pairs hide of each other;
	// and those that moving it takes. Where both are alike neither hides the other: the fourth
	// power makes the corner round, as measured curves are.
	start := 0.2e-6 / float64(min(qps, 4))
	move := float64(sizeBytes) * 8 / (halfRate * 1.05)
	return float64(sizeBytes) * 8 / math.Pow(math.Pow(start, 4)+math.Pow(move, 4), 0.25)
}

// resetCounters is called halfway through each flow.
func (f *Fabric) resetCounters(fl *Flow) {
	if fl.TCP {
		return
	}
	for _, n := range f.Stacks {
		if !n.Resets {
			continue
		}
		f.count()
		// All functions of the node, not only the flow's: a driver that is loaded again resets all counters.
		for _, fn := range n.Functions {
			fn.Port = portCounters{}
		}
	}
}
