package traffic

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
)

// portWord is the unit of port_xmit_data and port_rcv_data, bytes.
const portWord = 4

// A Load is what some ports of a node that share it had to move one way, and moved.
type Load struct {
	Node    steps.End
	Ports   []Port
	Out     bool // sent; else received
	Traffic Traffic
	Moved   []float64 // bytes, by port
	idle    float64   // bytes that were taken off for what moved before

	Payload, Wire float64 // bytes; 0 where only what comes back goes this way
	sharing       Sharing
	mixed         bool // of flows over some of its ports each: no one knows the shares
	least, more   float64
	headers       float64 // that may be there next to Wire
	// back is the most that comes back this way for the flows that go the other one, and
	// against and aside the Wire and Payload of those.
	back, against, aside float64
	mtu                  int // bytes, of what goes this way
	texts, warned        []string
}

// Sum is what all of its ports moved, bytes.
func (l Load) Sum() (sum float64) {
	for _, n := range l.Moved {
		sum += n
	}
	return sum
}

// bounds are what is right for the sum. netdev says that an interface counted it.
func (l Load) bounds(netdev bool) (low, high float64) {
	slack := limits.BytesMore.Value()
	if netdev {
		slack = limits.BytesMoreIP.Value()
	}
	high = max(slack, l.more)*l.Wire + l.headers + l.back + limits.BytesBeside.Value()*l.aside
	if netdev {
		high += (limits.BytesMoreIP.Value() - 1) * l.against
		high = max(high, l.Wire+l.back+limits.BytesBackground.High())
		if l.Wire == 0 {
			high = max(high, limits.BytesChatter.Value())
		}
	}
	low = limits.BytesLeast.Value()*l.least - l.idle
	if words := portWord * float64(len(l.Ports)); !netdev {
		// Of a few bytes a word is more than the shares above.
		high, low = max(high, l.Wire+l.headers+l.back+words), min(low, l.least-l.idle-words)
	}
	return max(0, low), high
}

// loads sorts flows by what their ports had to move: sides that have a port in common are one load, because a counter
// doesn't distinguish them.
func loads(flows []Flow) []Load {
	var all ledger
	for _, f := range flows {
		if len(f.From) == 0 || len(f.To) == 0 {
			continue
		}
		all.of(f.From, true, f.Traffic).carries(f)
		all.of(f.To, true, f.Traffic).answers(f)
		all.of(f.To, false, f.Traffic).carries(f)
		all.of(f.From, false, f.Traffic).answers(f)
	}
	return all
}

// A ledger is loads that have no port in common, of one way and one kind of traffic.
type ledger []Load

// of is the load that some ports are of. They may join what was apart.
func (all *ledger) of(ports []Port, out bool, t Traffic) *Load {
	into := -1
	for i := 0; i < len(*all); i++ {
		l := &(*all)[i]
		switch {
		case l.Out != out || l.Traffic != t || !l.has(ports):
		case into < 0:
			into = i
			l.mixed = l.mixed || !slices.Equal(l.Ports, ports)
		default:
			(*all)[into].join(*l)
			*all = slices.Delete(*all, i, i+1)
			i--
		}
	}
	if into < 0 {
		into = len(*all)
		*all = append(*all, Load{Node: ports[0].Node, Out: out, Traffic: t})
	}
	(*all)[into].add(ports)
	return &(*all)[into]
}

// has reports whether one of some ports is the load's.
func (l *Load) has(ports []Port) bool {
	return slices.ContainsFunc(ports, func(p Port) bool { return slices.Contains(l.Ports, p) })
}

func (l *Load) add(ports []Port) {
	for _, p := range ports {
		if !slices.Contains(l.Ports, p) {
			l.Ports = append(l.Ports, p)
		}
	}
}

// join adds what another load had to move. Sharing is a scale from strict to free: joined, the
// freest holds.
func (l *Load) join(other Load) {
	l.add(other.Ports)
	l.Payload, l.Wire, l.least, l.more = l.Payload+other.Payload, l.Wire+other.Wire, l.least+other.least, max(l.more,
		other.more)
	l.headers += other.headers
	l.back, l.against, l.aside = l.back+other.back, l.against+other.against, l.aside+other.aside
	l.sharing, l.mixed = max(l.sharing, other.sharing), l.mixed || other.mixed
	l.texts, l.warned = append(l.texts, other.texts...), append(l.warned, other.warned...)
}

// carries adds a flow that leads over the load's ports this way.
func (l *Load) carries(f Flow) {
	l.join(Load{Payload: f.Payload, Wire: f.Wire, least: f.Least, more: f.More, headers: f.headers, sharing: f.Sharing})
	l.mtu = max(l.mtu, f.mtu)
	if f.Text != "" && !slices.Contains(l.texts, f.Text) {
		l.texts = append(l.texts, f.Text)
	}
	if f.Warned != "" {
		l.warned = append(l.warned, f.Warned)
	}
}

// answers adds what comes back this way for a flow that goes the other one.
func (l *Load) answers(f Flow) { l.join(Load{back: f.Back, against: f.Wire, aside: f.Payload}) }

// A count is what one port's counters say of one kind of traffic.
type count struct {
	tx, rx float64 // bytes
	// idleTx and idleRx were taken off for what moved before, where that is too little to be another user's: it may
	// have been less meanwhile.
	idleTx, idleRx float64
	known          bool
	why            string // it is not
	netdev         bool   // an interface counted it
}

func counted(bytes []steps.RailBytes, p Port, t Traffic) count {
	i := slices.IndexFunc(bytes, func(b steps.RailBytes) bool { return b.End == p.Node && b.Rail == p.Rail })
	if i < 0 { // the rig had no such rail when it was counted
		return count{why: "not counted"}
	}
	b := bytes[i]
	c := count{
		tx: float64(b.Tx), rx: float64(b.Rx), known: b.Known, why: b.Why,
		netdev: strings.HasPrefix(b.Source, "netdev"),
	}
	if t == TCP {
		c = count{tx: float64(b.IPTx), rx: float64(b.IPRx), known: b.IPKnown, why: b.IPWhy, netdev: true}
	} else if b.IdleGbps <= limits.BusyBefore.Value() {
		c.idleTx, c.idleRx = float64(b.IdleTx), float64(b.IdleRx)
	}
	if !c.known && c.why == "" {
		c.why = "not counted"
	}
	return c
}

func (c count) way(out bool) float64 {
	if out {
		return c.tx
	}
	return c.rx
}

func (c count) idle(out bool) float64 {
	if out {
		return c.idleTx
	}
	return c.idleRx
}

func (c count) most() float64 { return max(c.tx, c.rx) }
