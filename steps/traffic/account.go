package traffic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// What is a kind of thing that an account finds.
type What uint8

// What an account finds. The zero value is nothing.
const (
	Nothing   What = iota
	Uncounted      // no bytes at all, or nothing to compare them with
	Unknown        // the counter of a port of the test is missing or went backwards
	Blind          // RDMA is not in what was counted
	Flapped        // a link went down meanwhile
	WrongPort      // other ports carried it
	OtherWay       // it went as TCP
	Lost           // nothing carried it
	Foreign        // ports that the test doesn't use moved bytes
	Idle           // one of the ports that share a flow carried nothing
	Unread         // the counter of a port that the test doesn't use is missing
	Jumped         // a counter did
	More           // bytes than predicted
	Less           // bytes than predicted
	Uneven         // shares of equal ports
	Reverse        // bytes the other way
	Beside         // traffic of another kind on a port of the test
	Damaged        // error counters grew, whatever the bytes say
	Slowed         // marks of congestion, or pauses
	Dropped        // packets that were well found no room
	Paused         // a port paused the other end
	Busy           // another user's traffic was there before
	Hot            // an adapter was
)

// A Finding is one thing about a node's ports.
type Finding struct {
	What  What
	Grade steps.Grade
	Node  steps.End
	Ports []Port
	Text  string // a clause with onNode for the node's name
}

// Accounted is what came of an account.
type Accounted struct {
	Findings []Finding
	Evidence []steps.Evidence
	Loads    []Load
	rig      steps.Rig
	signs    []Finding // what a good account hides
}

// Account compares what the flows of a test had to make every port move, both ways, with
// what the counters of every port of every node say. Where nothing is found the account is
// right: the ports of the test moved what was predicted, and no other moved anything.
func Account(rig steps.Rig, bytes []steps.RailBytes, flows ...Flow) Accounted {
	b := accounting{Accounted: Accounted{rig: rig}, bytes: bytes, flows: flows}
	whole := len(flows) > 0 && len(bytes) > 0
	for _, f := range flows {
		b.payload += f.Payload
		whole = whole && f.Wire > 0
		for _, p := range f.ports() {
			if _, ok := p.rail(rig); !ok {
				whole = false
			}
			if !slices.Contains(b.used, p) {
				b.used = append(b.used, p)
			}
		}
	}
	if !whole {
		b.Findings = []Finding{{
			What: Uncounted, Grade: steps.Inconclusive,
			Text: "the bytes were not counted, so the rail that carried them is unknown",
		}}
		return b.Accounted
	}
	slices.SortFunc(b.used, Port.compare)
	b.Loads = loads(overInfiniBand(rig, flows))
	slices.SortStableFunc(b.Loads, func(x, y Load) int { return x.Ports[0].compare(y.Ports[0]) })
	for i := range rig.Nodes {
		b.node(steps.End(i))
	}
	b.look()
	return b.Accounted
}

// accounting are what an account works on.
type accounting struct {
	Accounted
	bytes   []steps.RailBytes
	flows   []Flow
	used    []Port // by the test
	payload float64
}

// onNode stands in a finding's text where "on NODE" goes: what several nodes have alike is one sentence.
const onNode = "{on}"

// explain adds what a finding has no room for.
func (b *accounting) explain(note string) {
	b.Evidence = append(b.Evidence, steps.Evidence{Name: steps.NoteName, Value: note})
}

// find adds a finding. Its text is a clause with onNode.
func (b *accounting) find(w What, g steps.Grade, e steps.End, ports []Port, format string, args ...any) {
	b.Findings = append(b.Findings, Finding{w, g, e, ports, fmt.Sprintf(format, args...)})
}

// sign is find for what the bytes don't show.
func (b *accounting) sign(w What, e steps.End, ports []Port, format string, args ...any) {
	b.signs = append(b.signs, Finding{w, steps.Warn, e, ports, fmt.Sprintf(format, args...)})
}

// node is the account of one node. What explains more comes first, and what is explained once is not reported
// again: a flap before anything, the wrong port before a port that is missing bytes, sizes only where every
// byte is where it should be.
func (b *accounting) node(e steps.End) {
	used := slices.ContainsFunc(b.used, func(p Port) bool { return p.Node == e })
	b.flapped(e)
	other := b.foreign(e, used)
	if !used {
		if len(other.ports) > 0 {
			b.find(Foreign, steps.Warn, e, other.ports, "%s {on} moved %s during the test, which does not use that node",
				registry.And(b.names(other.ports)), registry.Size(other.sum))
		}
		return
	}
	before := len(b.Findings)
	wrong := false
	var forward []*Load
	for _, l := range b.read(e) {
		b.show(*l)
		if b.carriedByNone(l, other) {
			wrong = true
			continue
		}
		forward = append(forward, l)
	}
	if len(other.ports) > 0 && !wrong {
		b.find(Foreign, steps.Fail, e, other.ports, "%s {on} also moved bytes; the test %s",
			registry.And(b.names(other.ports)), b.only(e))
	}
	if len(other.kind) > 0 && len(other.ports) == 0 && !wrong {
		name := map[Traffic]string{RDMA: "TCP", TCP: "RDMA"}[b.kinds()[0]]
		b.find(Foreign, steps.Fail, e, other.kind, "%s {on} also moved %s; the test uses only %s. Stop the other traffic "+
			"and rerun (idle-rails)", registry.And(b.names(other.kind)), name, b.over(b.of(e)))
	}
	for _, l := range forward {
		b.idle(l)
	}
	if len(b.Findings) == before {
		b.unread(e)
	}
	// Bytes that went elsewhere are missing where they should be, and that is said once.
	elsewhere := func(f Finding) bool {
		return f.What == WrongPort || f.What == Foreign || f.What == Idle || f.What == Unread
	}
	if !slices.ContainsFunc(b.Findings[before:], elsewhere) {
		b.sizes(e, forward)
	}
	b.reverse(e)
	b.beside(e)
}

// name is what a port is called where a kind of traffic is counted.
func (a Accounted) name(p Port) string {
	r, ok := p.rail(a.rig)
	if !ok {
		return fmt.Sprintf("rail %d", p.Rail)
	}
	for _, l := range a.Loads {
		if l.Traffic == TCP && slices.ContainsFunc(l.Ports, func(q Port) bool { return q.Node == p.Node }) {
			return cmp.Or(r.Netdev.Name, r.Dev)
		}
	}
	return r.Dev
}

func (a Accounted) names(ports []Port) []string {
	var all []string
	for _, p := range ports {
		all = append(all, a.name(p))
	}
	return all
}

// label names a port by its rail's number, as cells do.
func (a Accounted) label(p Port) string {
	r, _ := p.rail(a.rig)
	if n := a.number(p); n > 0 {
		return fmt.Sprintf("rail %d (%s)", n, r.Dev)
	}
	return r.Dev
}

// number is that of the pair that a port belongs to, counted from 1; 0 where it is of none.
func (a Accounted) number(p Port) int {
	if int(p.Node) >= len(steps.Ends) {
		return 0
	}
	return 1 + slices.IndexFunc(a.rig.Pairs, func(q steps.Pair) bool { return q.Rails[p.Node] == p.Rail })
}

// over names ports by their numbers: "rail 1", "rails 1 and 3".
func (a Accounted) over(ports []Port) string {
	var all []string
	for _, p := range ports {
		if n := a.number(p); n > 0 {
			all = append(all, fmt.Sprint(n))
		}
	}
	switch {
	case len(all) < len(ports) || len(all) == 0:
		return registry.And(a.names(ports))
	case len(all) == 1:
		return "rail " + all[0]
	}
	return "rails " + registry.And(all)
}

// traffic is what a port of the test carries for it.
func (b *accounting) traffic(p Port) Traffic {
	for _, l := range b.Loads {
		if slices.Contains(l.Ports, p) {
			return l.Traffic
		}
	}
	return RDMA
}

// flapped looks for links of the test that went down: its tool may have ended well all
// the same, where the link came back in time.
func (b *accounting) flapped(e steps.End) {
	for _, p := range b.used {
		if p.Node != e {
			continue
		}
		if g := Flaps(b.bytes, p); g != "" {
			b.find(Flapped, steps.Fail, e, []Port{p}, "the link of %s {on} went down during the test (%s). Check its cable at "+
				"both ends", b.name(p), g)
		}
	}
}

// others are ports that no flow leads over, and what they moved.
type others struct {
	ports []Port
	sum   float64 // bytes
	kind  []Port  // ports that moved TCP during an RDMA test, or the reverse
}

// foreign are the ports that moved what no one sent: each alone more than its share, or all together.
func (b *accounting) foreign(e steps.End, used bool) (found others) {
	var little others
	most := max(limits.BytesBeside.Value()*b.payload, limits.BytesBackground.Low())
	if slices.ContainsFunc(b.Loads, func(l Load) bool { return b.interfaces(l) }) {
		most = max(most, limits.BytesBackground.High())
	}
	for _, c := range b.bytes {
		p := Port{c.End, c.Rail}
		if _, ok := p.rail(b.rig); !ok || p.Node != e || slices.Contains(b.used, p) {
			continue
		}
		moved := 0.0
		for _, t := range b.kinds() {
			if c := counted(b.bytes, p, t); c.known {
				moved = max(moved, c.most())
			}
		}
		// TCP during an RDMA test, or the reverse, is other traffic, too, where both are counted.
		if len(b.kinds()) == 1 && strings.HasPrefix(c.Source, "port") && moved <= most {
			other := counted(b.bytes, p, 1-b.kinds()[0])
			if other.known && other.most() > max(most, limits.BytesChatter.Value()) {
				found.kind = append(found.kind, p)
			}
		}
		switch {
		case moved > most:
			found.ports, found.sum = append(found.ports, p), found.sum+moved
		case moved > 0:
			little.ports, little.sum = append(little.ports, p), little.sum+moved
		}
	}
	if little.sum > most {
		found.ports, found.sum = append(found.ports, little.ports...), found.sum+little.sum
	}
	if used {
		b.showForeign(e, found.ports, most)
	}
	return found
}

// kinds are those of the test's flows, in the order of the flows.
func (b *accounting) kinds() (all []Traffic) {
	for _, f := range b.flows {
		if !slices.Contains(all, f.Traffic) {
			all = append(all, f.Traffic)
		}
	}
	return all
}

// only says what a test leads over, and what else may have moved.
func (b *accounting) only(e steps.End) string {
	why := "Check for a bond or other traffic (idle-rails)"
	if b.kinds()[0] == TCP {
		why = "Check for a second route (ip route get) or other traffic"
	}
	if was := busy(b.bytes, e); was != "" {
		why = was
	}
	if b.kinds()[0] == TCP {
		return "is not routed there. " + why
	}
	return "uses only " + b.over(b.of(e)) + ". " + why
}

func (b *accounting) of(e steps.End) []Port { return portsAt(b.used, e) }

// read fills in what the ports of a node's loads moved. It gives those that a flow leads
// over and that are known to have moved it or not.
func (b *accounting) read(e steps.End) (known []*Load) {
	var unknown, blind []Port
	for i := range b.Loads {
		l := &b.Loads[i]
		if l.Node != e {
			continue
		}
		moved, whole := make([]float64, len(l.Ports)), true
		for i, p := range l.Ports {
			c := counted(b.bytes, p, l.Traffic)
			rail, _ := p.rail(b.rig)
			hidden := l.Traffic == RDMA && c.netdev && !rail.Soft()
			moved[i], whole = c.way(l.Out), whole && c.known && !hidden
			l.idle += c.idle(l.Out)
			switch {
			case !c.known && !slices.Contains(unknown, p):
				unknown = append(unknown, p)
				b.find(Unknown, steps.Inconclusive, e, []Port{p},
					"the byte counter of %s {on} is unusable, so the rail that carried the traffic is unknown. Rerun the test",
					b.name(p))
				b.explain(fmt.Sprintf("%s on %s: %s", b.name(p), b.rig.NameOf(e), c.why))
			case hidden && !slices.Contains(blind, p):
				blind = append(blind, p)
			}
		}
		if !whole {
			continue
		}
		if l.Moved = moved; l.Wire > 0 {
			known = append(known, l)
		}
	}
	if len(blind) > 0 {
		b.find(Blind, steps.Inconclusive, e, blind, "%s {on} has no port counters, so the rail that carried the "+
			"RDMA traffic is unknown. Run: railbench doctor port-counters", registry.And(b.names(blind)))
		b.explain("An interface's own counters do not include RDMA")
	}
	return known
}

// interfaces reports whether a load was counted by interfaces.
func (b *accounting) interfaces(l Load) bool {
	return slices.ContainsFunc(l.Ports, func(p Port) bool { return counted(b.bytes, p, l.Traffic).netdev })
}

// wrongPort is a load that others carried. Which interface TCP takes is the routes' doing, and a device of RDMA is
// named.
func (b *accounting) wrongPort(l *Load, others []Port) {
	why := ""
	if l.Traffic == TCP {
		why = " Run: railbench doctor routes arp-flux"
	}
	b.find(WrongPort, steps.Fail, l.Node, others, "%s {on} carried nothing; %s carried the data: wrong rail.%s",
		registry.And(b.names(l.Ports)), registry.And(b.names(others)), why)
}

// carriedByNone reports whether all ports of a load stood still, and where else it went.
func (b *accounting) carriedByNone(l *Load, other others) bool {
	if len(b.still(*l)) < len(l.Ports) {
		return false
	}
	names := registry.And(b.names(l.Ports))
	as, instead := b.asTCP(l), b.instead(l)
	switch was := b.takenOff(*l, l.Ports); {
	case len(instead) > 0:
		b.wrongPort(l, instead)
	case other.sum >= l.Wire/2:
		b.wrongPort(l, other.ports)
	case len(as) > 0:
		b.find(OtherWay, steps.Fail, l.Node, l.Ports, "%s {on} carried no RDMA: the data went over %s as TCP. Run: "+
			"railbench doctor ucx-settings nccl-settings", names, registry.And(as))
	case was != "":
		b.find(Less, steps.Inconclusive, l.Node, l.Ports, "%s. The test's own traffic on %s {on} cannot be separated from "+
			"it: stop it and rerun", was, names)
	case l.Traffic == TCP:
		b.find(Lost, steps.Fail, l.Node, l.Ports,
			"%s {on} carried nothing: the traffic takes another route. Check ip route get", names)
	default:
		b.find(Lost, steps.Inconclusive, l.Node, l.Ports, "%s {on} carried %s of the expected %s, and no other rail carried "+
			"the rest. Rerun the test",
			names, registry.Size(l.Sum()), registry.Size(l.Wire))
		b.explain("Possible causes: another interface, a counter reset, or shared-memory transport")
	}
	return true
}

// instead are ports of the test that carried what a load should have, next to their own.
func (b *accounting) instead(l *Load) []Port {
	for _, other := range b.Loads {
		if other.Node == l.Node && other.Out == l.Out && other.Wire > 0 && other.Sum()-other.Wire >= l.Wire/2 {
			return other.Ports
		}
	}
	return nil
}

// still are the ports of a load that moved nothing to speak of.
func (b *accounting) still(l Load) (ports []Port) {
	for i, p := range l.Ports {
		if l.Moved[i]+l.idle <= limits.BytesBeside.Value()*l.Payload {
			ports = append(ports, p)
		}
	}
	return ports
}

// asTCP names the interfaces of a node that moved what RDMA had to.
func (b *accounting) asTCP(l *Load) (names []string) {
	if l.Traffic == TCP {
		return nil
	}
	for _, c := range b.bytes {
		rail, ok := Port{c.End, c.Rail}.rail(b.rig)
		if ok && c.End == l.Node && c.IPKnown && float64(max(c.IPTx, c.IPRx)) > l.Payload/2 {
			names = append(names, rail.Netdev.Name)
		}
	}
	return names
}

// idle looks for ports that carried nothing where each had to carry a part.
func (b *accounting) idle(l *Load) {
	still := b.still(*l)
	if len(still) == 0 || l.sharing != Evenly || l.mixed {
		return
	}
	var busy []Port
	for _, p := range l.Ports {
		if !slices.Contains(still, p) {
			busy = append(busy, p)
		}
	}
	low, _ := l.bounds(b.interfaces(*l))
	if was := b.takenOff(*l, still); was != "" && l.Sum() < low {
		b.find(Less, steps.Inconclusive, l.Node, still,
			"%s. Whether the test used %s {on} cannot be seen: stop that traffic and rerun", was, registry.And(b.names(still)))
		return
	}
	if l.Sum() < low {
		b.find(Idle, steps.Fail, l.Node, still, "%s {on} carried nothing, and %s of %s took another interface. Run: "+
			"railbench doctor ucx-settings", registry.And(b.names(still)), registry.Size(l.Wire-l.Sum()), registry.Size(l.Wire))
		return
	}
	b.find(Idle, steps.Fail, l.Node, still, "%s {on} carried nothing: UCX used only %s%s",
		registry.And(b.names(still)), registry.And(b.names(busy)), b.idleHint(l.warned))
}

// takenOff says how much other traffic was on some ports of a load before it began, where what was taken off for
// it could hide the test's own: a sender makes room when another one starts.
func (b *accounting) takenOff(l Load, ports []Port) string {
	for _, c := range b.bytes {
		taken := c.IdleRx
		if l.Out {
			taken = c.IdleTx
		}
		if p := (Port{c.End, c.Rail}); slices.Contains(ports, p) && float64(taken) > limits.BytesBeside.Value()*l.Payload {
			return fmt.Sprintf("%.1f Gb/s of other traffic ran on %s before the test", c.IdleGbps, b.name(p))
		}
	}
	return ""
}

// idleHint says where to look when a rail carried nothing.
func (b *accounting) idleHint(warned []string) string {
	if len(warned) > 0 {
		return warned[0]
	}
	for _, p := range b.used {
		if r, _ := p.rail(b.rig); r.State != "ACTIVE" {
			return ". Check that its port is up at both ends"
		}
	}
	return ". All ports are up: check addresses and GIDs (railbench run gids)"
}

// unread looks for ports next to the test whose counters are missing: they might have carried anything.
func (b *accounting) unread(e steps.End) {
	for i, rail := range b.rig.At(e).Rails {
		p := Port{e, i}
		if rail.State != "ACTIVE" || slices.Contains(b.used, p) {
			continue
		}
		for _, t := range b.kinds() {
			if c := counted(b.bytes, p, t); c.known && t == RDMA && c.netdev && b.hides(rail) {
				b.find(Unread, steps.Inconclusive, e, []Port{p}, "the interface's counters of %s {on} do not see RDMA, so "+
					"stray traffic there cannot be ruled out. Run: railbench doctor port-counters", b.name(p))
				return
			} else if !c.known {
				b.find(Unread, steps.Inconclusive, e, []Port{p}, "the byte counter of %s {on} is unusable, so stray traffic "+
					"there cannot be ruled out. Rerun the test", b.name(p))
				return
			}
		}
	}
}

// hides reports whether a rail that was counted by its interface belongs to an adapter with port counters.
func (b *accounting) hides(rail steps.Rail) bool {
	if rail.Soft() {
		return false
	}
	return rail.HasOctets || rail.PCI.Half() != "" && slices.ContainsFunc(b.used, func(p Port) bool {
		own, ok := p.rail(b.rig)
		return ok && own.HasOctets && own.PCI.Half() == rail.PCI.Half()
	})
}

// sizes compares what the ports of the test moved with the prediction.
func (b *accounting) sizes(e steps.End, forward []*Load) {
	var above []*Load
	for _, l := range forward {
		low, high := l.bounds(b.interfaces(*l))
		sum, names := l.Sum(), registry.And(b.names(l.Ports))
		switch {
		case sum > limits.BytesJumped.Value()*l.Wire+l.headers+l.back+b.resent(*l):
			b.find(Jumped, steps.Inconclusive, e, l.Ports, "%s {on} counted %s, expected %s: the counter jumped, or other "+
				"traffic ran. Rerun on an idle rig", names, registry.Size(sum), registry.Size(l.Wire))
		case sum > high:
			above = append(above, l)
		case sum < low:
			why := " The counter was probably reset: rerun"
			if was := busy(b.bytes, e); was != "" {
				why = " " + was + ", which was subtracted. Rerun on an idle rig"
			}
			b.find(Less, steps.Inconclusive, e, l.Ports, "%s {on} counted %s of the expected %s.%s", names, registry.Size(sum),
				registry.Size(l.Wire), why)
		default:
			b.uneven(l)
		}
	}
	b.above(e, above, len(forward))
}

// above reports all loads of a node that moved more than predicted at once. of is how many loads there are: a
// single load is not named. Error counters of either end explain it first, because the sender also counts
// what a receiver asks it to send again.
func (b *accounting) above(e steps.End, loads []*Load, of int) {
	if len(loads) == 0 {
		return
	}
	var ports []Port
	var texts, ways []string
	alike := true
	why := "No error counter grew: probably other traffic. Run: railbench doctor idle-rails path-loss"
	if loads[0].Traffic == TCP {
		why = "Other traffic, or many retransmissions. Run: railbench doctor idle-rails path-loss"
	}
	if was := busy(b.bytes, e); was != "" {
		why = was
	}
	for _, l := range loads {
		ports = append(ports, l.Ports...)
		more := 100 * (l.Sum()/l.Wire - 1)
		texts = append(texts, fmt.Sprintf("%s %.1f %%", registry.And(b.names(l.Ports)), more))
		ways = append(ways, fmt.Sprintf("%.1f %% %s", more, verb(l.Out)))
		alike = alike && slices.Equal(l.Ports, loads[0].Ports)
		if g := grownErrors(b.bytes, b.across(l.Ports)...); g != "" {
			why = b.again(*l, g)
		}
	}
	if of == 1 {
		b.find(More, steps.Warn, e, ports, "%.1f %% more bytes than expected {on}. %s", 100*(loads[0].Sum()/loads[0].Wire-1),
			why)
		return
	}
	if alike { // over the same ports both ways
		texts = []string{registry.And(b.names(loads[0].Ports)) + " " + registry.And(ways)}
	}
	b.find(More, steps.Warn, e, ports, "the ports counted more bytes than expected {on}: %s. %s", registry.And(texts), why)
}

// outOfOrder count the packets of RDMA that came behind one that was lost: an adapter drops them, and all of them are
// sent again (mlx5, rxe, bnxt_re).
var outOfOrder = []string{"out_of_sequence", "out_of_seq_request", "oos_drop_count", "res_oos_drop_count"}

// Gaps lists the counters of some ports that say that packets were lost, and others behind them arrived: there is a way
// from end to end, and it loses some of what goes over it.
func Gaps(bytes []steps.RailBytes, ports ...Port) string {
	return grown(bytes, func(name string) bool {
		return slices.Contains(outOfOrder, name) || name == "packet_seq_err" || name == "rcvd_seq_err" ||
			name == "seq_err_naks_rcvd"
	}, ports...)
}

// again says whether what errors report explains what a load moved next to its own. How much an adapter sends again
// after a time-out no one counts; what came behind a lost packet is counted by who drops it.
func (b *accounting) again(l Load, errors string) string {
	counted, ports := b.resent(l), b.across(l.Ports)
	// What is lost itself is sent again, too, and never counted there.
	if l.Traffic == RDMA && counted > 0 && l.Sum()-l.Wire > 2*counted+limits.BytesBeside.Value()*l.Payload &&
		sum(b.bytes, isTimeout, ports...) == 0 {
		return fmt.Sprintf("Retransmissions (%s) explain only %s of them: the rest is other traffic", errors,
			registry.Size(counted))
	}
	return "Packets were retransmitted: " + errors + ". Run: railbench doctor error-counters"
}

// isTimeout reports whether a counter is of what an adapter waited for in vain before it sent again: one of them takes
// as long as many packets.
func isTimeout(name string) bool {
	return strings.Contains(name, "timeout") || strings.Contains(name, "retr") || strings.Contains(name, "Retrans") ||
		name == "roce_slow_restart"
}

// resent are the bytes that were sent again for a load, as far as its receivers counted them.
func (b *accounting) resent(l Load) float64 {
	if l.Traffic == TCP || l.mtu <= 0 {
		return 0
	}
	packets := sum(b.bytes, func(name string) bool { return slices.Contains(outOfOrder, name) }, b.across(l.Ports)...)
	return float64(packets) * float64(l.mtu+packetHeaders)
}

// across are the ports at both ends of the flows that lead over some.
func (b *accounting) across(ports []Port) (all []Port) {
	for _, f := range b.flows {
		if slices.ContainsFunc(f.ports(), func(p Port) bool { return slices.Contains(ports, p) }) {
			all = append(all, f.ports()...)
		}
	}
	return all
}

// uneven looks at the shares of ports that carried a part each. Of a load that is mixed it is unknown what each port
// had to carry.
func (b *accounting) uneven(l *Load) {
	smallest, moving := 1.0, 0
	for _, n := range l.Moved {
		if n > limits.BytesBeside.Value()*l.Payload {
			smallest, moving = min(smallest, n/l.Sum()), moving+1
		}
	}
	if l.sharing == Freely || l.mixed || moving < 2 || smallest >= limits.EvenShare.Value() {
		return
	}
	b.find(Uneven, steps.Warn, l.Node, l.Ports, "the rails {on} did not share the load evenly (%s). Check their speeds "+
		"(link-speed)", registry.And(b.shares(*l)))
}

// shares is what each port of a load carried of it, where that is something.
func (a Accounted) shares(l Load) (all []string) {
	for i, p := range l.Ports {
		if l.Moved[i] > limits.BytesBeside.Value()*l.Payload {
			all = append(all, fmt.Sprintf("%s %.0f %%", a.name(p), 100*l.Moved[i]/l.Sum()))
		}
	}
	return all
}

// reverse looks at the way against the flows, where there is nothing but what comes back
// for them.
func (b *accounting) reverse(e steps.End) {
	for _, l := range b.Loads {
		if l.Node != e || l.Wire > 0 || len(l.Moved) == 0 {
			continue
		}
		_, high := l.bounds(b.interfaces(l))
		sum := l.Sum()
		if sum <= high || sum > limits.BytesJumped.Value()*max(l.against, high) && b.jumpedAt(l.Ports) {
			continue
		}
		verb := verb(l.Out)
		b.Evidence = append(b.Evidence, steps.Evidence{
			Name: fmt.Sprintf("%s bytes %s by %s the other way", b.over(l.Ports), verb,
				b.rig.NameOf(e)), Value: int64(sum), Unit: "bytes",
			Expected: &steps.Expected{Max: new(float64(int64(high))), From: "acknowledgements and requests"},
		})
		why := "Check for other traffic (idle-rails)"
		if was := busy(b.bytes, e); was != "" {
			why = was
		}
		b.find(Reverse, steps.Warn, e, l.Ports, "%s {on} %s %s the other way, expected at most %s. %s",
			registry.And(b.names(l.Ports)), verb, registry.Size(sum), registry.Size(high), why)
	}
}

// jumpedAt reports whether a counter of some ports is known to have jumped: what it says of the
// other way is not worth a second finding.
func (b *accounting) jumpedAt(ports []Port) bool {
	return slices.ContainsFunc(b.Findings, func(f Finding) bool {
		return f.What == Jumped && slices.ContainsFunc(f.Ports, func(p Port) bool { return slices.Contains(ports, p) })
	})
}

// next to looks for traffic of another kind on the ports of the test, which its own counters don't see.
func (b *accounting) beside(e steps.End) {
	for _, p := range b.of(e) {
		kinds := map[Traffic]string{RDMA: "TCP", TCP: "RDMA"}
		t := b.traffic(p)
		rail, _ := p.rail(b.rig)
		own, other := counted(b.bytes, p, t), counted(b.bytes, p, 1-t)
		// Where one interface counts both, they can't be distinguished.
		ports := slices.ContainsFunc(b.bytes, func(c steps.RailBytes) bool {
			return c.End == p.Node && c.Rail == p.Rail && strings.HasPrefix(c.Source, "port")
		})
		most := limits.BytesBeside.Value() * b.payload
		if t == RDMA {
			most = max(most, limits.BytesChatter.Value())
		}
		if !ports || !own.known || !other.known || other.most() <= most || len(b.kinds()) > 1 {
			continue
		}
		name := rail.Dev
		if t == RDMA {
			name = cmp.Or(rail.Netdev.Name, rail.Dev)
			if b.lostAt(p) {
				continue // it is why nothing went by RDMA, and is reported there
			}
		}
		b.Evidence = append(b.Evidence, steps.Evidence{Name: fmt.Sprintf("%s bytes on %s of %s meanwhile", kinds[t], name,
			b.rig.NameOf(e)), Value: int64(other.most()), Unit: "bytes"})
		b.find(Beside, steps.Warn, e, []Port{p}, "%s {on} also carried %s of %s during the test. Stop the other traffic and "+
			"rerun",
			name, registry.Size(other.most()), kinds[t])
	}
}

// lostAt reports whether the port's flow was found to have gone as TCP.
func (b *accounting) lostAt(p Port) bool {
	return slices.ContainsFunc(b.Findings, func(f Finding) bool {
		return f.What == OtherWay &&
			slices.Contains(f.Ports, p)
	})
}
