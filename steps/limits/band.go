package limits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rate"
)

// A Test is what a bandwidth was measured with.
type Test struct {
	MTU     int     // RoCE MTU, bytes
	Extra   int     // bytes of headers of each packet in addition to IPv4's: see Extra
	Message int     // bytes of one message or block; 0 where the judge asked already
	Least   Limit   // the least message of such tests; LeastMessage where it is zero
	Payload float64 // bytes that were moved; 0 where no one knows
	// Evenly says that one program gives each rail the same share, so that the slowest
	// decides; else each rail has a test of its own.
	Evenly bool
}

// A Band is what some rails should reach together.
type Band struct {
	Expected rate.Payload // 0 where there is no band
	Basis    Basis        // of what is expected
	From     string       // what it comes from: "a link of 100 Gb/s at RoCE MTU 4096"
	Times    int          // how many of those make up what is expected
	// Seen is the most that anybody measured under these conditions, 0 where no one did, and Limit what physics
	// allow, 0 where unknown.
	Seen, Limit rate.Payload
	// Now is what the PCIe links could carry as they came up, where that is on record; 0 where it isn't.
	Now rate.Payload
	// Alike is the most of Seen that as many rails brought, where more of them brought Seen.
	Alike rate.Payload
	None  string // why there is no band
	// Unless is what is unknown and what may end it earlier than what is expected: the band is good for a PASS then,
	// and for no FAIL. Empty where all is known.
	Unless string
	// Soft says that no hardware limits it, so that there can be no band.
	Soft bool
	// Declared is what the links of a soft band say that they carry; 0 where one says nothing.
	Declared rate.Payload
}

// BandOf is the band of a test over some pairs of rails: the least of what their links,
// the PCIe links behind them and the cables that they share bring, at both ends.
func BandOf(rig steps.Rig, t Test, pairs ...steps.Pair) Band {
	var b Band
	if len(pairs) == 0 {
		return Band{None: "no rail is used"}
	}
	for _, e := range steps.Ends {
		var rails []steps.Rail
		for _, p := range pairs {
			r := rig.Rail(p, e)
			if none, soft := unknown(rig, e, r, t); none != "" {
				return Band{None: none, Soft: soft, Declared: declared(rig, pairs)}
			}
			rails = append(rails, r)
		}
		b.narrow(t.ports(rails))
		for _, r := range rails {
			if !best(r).known() {
				b.Unless = fmt.Sprintf("the PCIe link of %s on %s is unknown", r.Dev, rig.NameOf(e))
			}
		}
		// Where no one measured the PCIe link, the cable's band holds as long as it asks for no more than the link
		// surely brings; what it asks for beyond that, no one knows.
		halves, none := t.halves(rails)
		if none != "" && b.Expected > halves.least {
			return Band{None: none, Limit: Lesser(b.Limit, halves.limit)}
		}
		if none == "" {
			b.narrow(halves)
		}
		b.Limit, b.Now = Lesser(b.Limit, halves.limit), Lesser(b.Now, halves.now)
	}
	if none := t.outside(); none != "" {
		return Band{None: none, Limit: b.Limit}
	}
	if b.Limit > 0 && b.Seen >= b.Limit { // what ends it is something else than where it was seen
		b.Seen, b.Alike = 0, 0
	}
	return b
}

// declared is the sum of the speeds that links declare, of each the slower end's; 0 where one is unknown.
func declared(rig steps.Rig, pairs []steps.Pair) (sum rate.Payload) {
	for _, p := range pairs {
		speed := min(rig.Rail(p, steps.Here).Netdev.SpeedGbps, rig.Rail(p, steps.Peer).Netdev.SpeedGbps)
		if speed <= 0 {
			return 0
		}
		sum += rate.Payload(speed)
	}
	return sum
}

// Crawls reports whether a rate is so low that not the processor is what ends it, where no hardware does.
func (b Band) Crawls(got rate.Payload) bool {
	return b.Soft && got < rate.Payload(SoftLeast.Value())*b.Declared
}

// unknown says why nothing can be expected of a rail.
func unknown(rig steps.Rig, e steps.End, r steps.Rail, t Test) (none string, soft bool) {
	switch {
	case t.MTU <= 0:
		return "the RoCE MTU is unknown", false
	case r.Soft():
		return "soft-RoCE speed depends on the processor", true
	case r.RateGbps <= 0:
		return fmt.Sprintf("the link rate of %s on %s is unknown", r.Dev, rig.NameOf(e)), false
	case t.MTU < 1024:
		return fmt.Sprintf("no measurement exists for RoCE MTU %d", t.MTU), false
	}
	return "", false
}

// Soft says why no hardware limits a pair of rails; empty where some does.
func Soft(rig steps.Rig, p steps.Pair) string {
	for _, e := range steps.Ends {
		if none, soft := unknown(rig, e, rig.Rail(p, e), Test{MTU: 1024}); soft {
			return none
		}
	}
	return ""
}

// outside says which of a band's conditions the test itself doesn't meet.
func (t Test) outside() string {
	least := cmp.Or(t.Least, LeastMessage).Value()
	switch {
	case t.Message > 0 && float64(t.Message) < least:
		return fmt.Sprintf("messages of %d bytes are too small to show the link's limit (at least %s "+
			"bytes needed)", t.Message,
			figure(least))
	case t.Payload > 0 && t.Payload < LeastPayload.Value():
		return fmt.Sprintf("%.3g MB are too few to measure a rate (at least %.0f MB needed)",
			t.Payload/1e6, LeastPayload.Value()/1e6)
	}
	return ""
}

// A ceiling is what one thing lets through.
type ceiling struct {
	expected, limit, seen rate.Payload
	now                   rate.Payload // as in Band
	alike                 rate.Payload // as in Band
	basis                 Basis
	from                  string
	times                 int
	// least is what it surely lets through where there is nothing to expect: what a smaller RoCE
	// MTU brought there, because larger packets have fewer headers.
	least rate.Payload
}

// narrow takes what a ceiling lets through for the band, where that is less.
func (b *Band) narrow(c ceiling) {
	b.Limit = Lesser(b.Limit, c.limit)
	if c.expected > 0 && (b.Expected == 0 || c.expected < b.Expected) {
		b.Expected, b.Basis, b.From, b.Times, b.Seen, b.Alike = c.expected, c.basis, c.from, c.times, c.seen, c.alike
	}
}

// Lesser is the smaller of two limits of which 0 is unknown.
func Lesser[T cmp.Ordered](a, b T) T {
	var zero T
	if a == zero || b != zero && b < a {
		return b
	}
	return a
}

// ports are what the connectors of some rails carry: rails on one share its cable.
func (t Test) ports(rails []steps.Rail) ceiling {
	return t.together(rails, func(r steps.Rail) string {
		if r.PhysPort < 0 {
			return r.Dev
		}
		return fmt.Sprint(r.PhysPort)
	}, func(of []steps.Rail) ceiling {
		gbps := of[0].RateGbps
		for _, r := range of {
			gbps = min(gbps, r.RateGbps)
		}
		p := RoCEWith(t.MTU, t.Extra).Carries(gbps)
		from := fmt.Sprintf("a link of %g Gb/s at %s %d", gbps, of[0].MTUName(), t.MTU)
		if len(of) > 1 {
			from = fmt.Sprintf("one cable of %g Gb/s shared by both, at %s %d", gbps, of[0].MTUName(), t.MTU)
		}
		return ceiling{expected: p, limit: p, basis: Derived, from: from}
	})
}

// halves are what the PCIe links behind some rails carry: two rails share the one that they have in common. none says
// why no one knows; the ceiling's least is what the MTU below brought then.
func (t Test) halves(rails []steps.Rail) (all ceiling, none string) {
	all = t.together(rails, func(r steps.Rail) string {
		return cmp.Or(r.PCI.Half(), r.Dev)
	}, func(of []steps.Rail) ceiling {
		s := best(of[0]) // functions behind one link report the same of it
		l, expected, seen, ok := s.carries(t.MTU, len(of))
		c := ceiling{expected: expected, seen: seen, limit: limitOf(of[0]), basis: l.Entry().Basis}
		c.now = NowLimit(of[0])
		if c.limit > 0 && c.limit < c.expected { // its packets carry less than those that were measured
			c.expected, c.seen, c.basis = c.limit, 0, Derived
		}
		if most := rate.Payload(l.High()); seen > most {
			c.alike = most
		}
		switch {
		case !s.known():
			return ceiling{}
		case !ok:
			none = fmt.Sprintf("no measurement exists for one %s at %s %d", s, of[0].MTUName(), t.MTU)
			c.expected, c.least = 0, rate.Payload(s.raw()*PCIeShareAt1024.High())
			if s.spark() {
				c.least = rate.Payload(HalfSharedAt1024.Low())
			}
		case c.basis == Derived:
			c.from = fmt.Sprintf("one %s link with packets of %d bytes", s, of[0].PCI.MaxPayload)
		case s.spark() && l == HalfAt1024:
			// A line of 100 Gb/s leaves as much, and two rails brought more through the same link.
			c.from = fmt.Sprintf("one rail %s", l.Entry().When)
		case s.spark():
			c.from = fmt.Sprintf("one %s link %s", s, l.Entry().When)
		default:
			c.from = fmt.Sprintf("one %s link, assuming the share that a DGX Spark's carries", s)
		}
		if len(of) > 1 {
			c.from = strings.Replace(c.from, " link", " link shared by both rails,", 1)
		}
		return c
	})
	return all, none
}

// together adds up what groups of rails carry that share something.
func (t Test) together(rails []steps.Rail, shared func(steps.Rail) string,
	carries func([]steps.Rail) ceiling,
) (sum ceiling) {
	groups, order := map[string][]steps.Rail{}, []string(nil)
	for _, r := range rails {
		k := shared(r)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	var each []ceiling
	for _, k := range order {
		c := carries(groups[k])
		if t.Evenly { // as if every rail had the share that this group's have
			n := rate.Payload(len(rails)) / rate.Payload(len(groups[k]))
			c.expected, c.limit, c.seen, c.least = n*c.expected, n*c.limit, n*c.seen, n*c.least
			c.now *= n
		}
		each = append(each, c)
	}
	if slices.ContainsFunc(each, func(c ceiling) bool { return c.expected == 0 && c.least == 0 }) {
		return ceiling{} // what one of them carries isn't known, so neither is the sum
	}
	through := rate.Payload(0)
	for i, c := range each {
		switch {
		case c.now == 0 || i > 0 && through == 0:
			through = 0
		case t.Evenly:
			through = Lesser(through, c.now)
		default:
			through += c.now
		}
	}
	if t.Evenly {
		sum = slices.MinFunc(each, func(a, b ceiling) int { return cmp.Compare(a.expected, b.expected) })
	} else {
		sum = each[0]
		for _, c := range each[1:] {
			sum.expected, sum.limit = sum.expected+c.expected, sum.limit+c.limit
			sum.seen, sum.least = sum.seen+c.seen, sum.least+c.least
			sum.basis = max(sum.basis, c.basis) // no sum is surer than its least sure part
		}
	}
	sum.times, sum.now = len(each), through
	return sum
}

// Why says where the band comes from, after the figure and in brackets.
func (b Band) Why() string {
	times := ""
	if b.Times > 1 {
		times = fmt.Sprintf("%d times ", b.Times)
	}
	switch b.Basis {
	case Derived:
		return times + "limit of " + b.From
	case Chosen:
		return times + "estimate for " + b.From
	case Measured:
		return times + "measured through " + b.From
	case Stated:
	}
	return b.None
}

// A Standing is where a figure stands to a band.
type Standing uint8

// The standings.
const (
	Unjudged   Standing = iota // there is no band, or it may end earlier (Unless)
	Impossible                 // more than physics allow
	Unseen                     // possible, and more than anybody measured
	Good
	Low
	Short
)

// Stand holds a figure against the band. over is the share of what physics allow that is
// too much, pass and warn those of what is expected.
func (b Band) Stand(got rate.Payload, over, pass, warn Limit) Standing {
	share := func(l Limit) rate.Payload { return rate.Payload(l.Value()) }
	switch {
	case b.Limit > 0 && got > share(over)*b.Limit:
		return Impossible
	case b.Expected <= 0:
		return Unjudged
	case b.Seen > 0 && got > share(over)*b.Seen:
		return Unseen
	case b.Unless != "" && got < share(pass)*b.Expected:
		return Unjudged
	case got < share(warn)*b.Expected:
		return Short
	case got < share(pass)*b.Expected:
		return Low
	}
	return Good
}
