package traffic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// A Route is the rails that a cell configured UCX to use.
type Route struct {
	Pairs []steps.Pair
	extra int   // limits.Extra of the rail where it is largest, bytes
	Nos   []int // their numbers, counted from 1
	mtu   int   // RoCE MTU of the payload: the smallest, bytes
	// most is the largest MTU of a rail: what goes over that one has fewer headers.
	most int
}

// RouteOf reads it off the cell's scripts: the rails that they name.
func RouteOf(c steps.Cell, r steps.Result, s steps.Stage) (Route, bool) {
	var rt Route
	switch {
	case c.EachRail:
		if !r.Rig.HasPair(s.Pair) {
			return rt, false
		}
		rt.Add(r.Rig, s.Pair)
	case len(r.Rig.Pairs) == 0 || !r.Rig.HasPair(0):
		return rt, false
	case c.Rails == steps.AllRails:
		for i := range r.Rig.Pairs {
			if !r.Rig.HasPair(i) {
				return rt, false
			}
			rt.Add(r.Rig, i)
		}
	case names(c, "HALF_DEV"):
		half, ok := r.Rig.AcrossHalves()
		i := slices.Index(r.Rig.Pairs, half)
		if !ok || !r.Rig.HasPair(i) {
			return rt, false
		}
		rt.Add(r.Rig, 0)
		rt.Add(r.Rig, i)
	case names(c, "RAIL2_DEV"):
		if !r.Rig.HasPair(1) {
			return rt, false
		}
		rt.Add(r.Rig, 0)
		rt.Add(r.Rig, 1)
	default:
		rt.Add(r.Rig, 0)
	}
	return rt, true
}

// names reports whether a script of the cell reads a variable. A longer name that begins so
// would count, too; there is none.
func names(c steps.Cell, variable string) bool {
	return slices.ContainsFunc(c.Roles, func(role steps.Role) bool { return strings.Contains(role.Text(), "$"+variable) })
}

// Add takes the rig's pair i, counted from 0, which has to be there (Rig.HasPair).
func (rt *Route) Add(rig steps.Rig, i int) {
	p := rig.Pairs[i]
	rt.Pairs, rt.Nos = append(rt.Pairs, p), append(rt.Nos, i+1)
	mtu := limits.AgreedMTU(rig, p, 0)
	if len(rt.Pairs) == 1 || mtu < rt.mtu { // one that is unknown makes all unknown
		rt.mtu = mtu
	}
	rt.most = max(rt.most, mtu)
	for _, e := range steps.Ends {
		rail, gid := rig.Rail(p, e), ""
		if rail.Addr == "" && len(rail.GIDs) > 0 {
			gid = "::" // without an IPv4 address all its GIDs are IPv6
		}
		rt.extra = max(rt.extra, limits.Extra(rail, gid))
	}
}

// String names the rails: "rail 1", "rails 1 and 3".
func (rt Route) String() string {
	var all []string
	for _, n := range rt.Nos {
		all = append(all, fmt.Sprint(n))
	}
	if len(all) == 1 {
		return "rail " + all[0]
	}
	return "rails " + registry.And(all)
}

// Band is what the rails can do together, with blocks of some bytes that make so much
// payload. UCX gives each rail the same share, so the slowest decides.
func (rt Route) Band(rig steps.Rig, block int, payload float64) limits.Band {
	return limits.BandOf(rig, limits.Test{
		MTU: rt.mtu, Extra: rt.extra, Message: block, Least: limits.LeastBlock, Payload: payload, Evenly: true,
	}, rt.Pairs...)
}

// Cause looks for what ends the rails early, the surest sign first; otherwise is what is said where
// none shows.
func (rt Route) Cause(r steps.Result, s steps.Stage, got float64, otherwise string) (string, steps.Code) {
	if said := rt.idle(s.Bytes); said != "" {
		return said, steps.RailIdle
	}
	rails := float64(len(rt.Pairs))
	share := float64(limits.BandOf(r.Rig, limits.Test{MTU: rt.mtu}, rt.Pairs...).Expected) / rails
	for i, p := range rt.Pairs {
		m := registry.Measurement{No: rt.Nos[i], Dev: r.Rig.Rail(p, steps.Here).Dev, Pair: p}
		c := LikelyCause(r.Rig, Rate{Measurement: m, Gbps: got / rails, MTU: rt.mtu, Share: share, Bytes: s.Bytes})
		if c.Known {
			return c.Text, c.Code
		}
	}
	return otherwise, steps.BelowLimit
}

// idle reports that some rails carried nothing. A fault of such a rail did not slow the test.
func (rt Route) idle(bytes []steps.RailBytes) string {
	var moved []float64
	for _, p := range rt.Pairs {
		most := 0.0
		for _, b := range bytes {
			if slices.Contains(EndsOf(p), Port{b.End, b.Rail}) {
				most = max(most, float64(max(b.Tx, b.Rx)))
			}
		}
		moved = append(moved, most)
	}
	var busy Route
	for i := range rt.Pairs {
		if moved[i] > limits.BytesBeside.Value()*slices.Max(moved) {
			busy.Nos = append(busy.Nos, rt.Nos[i])
		}
	}
	if len(busy.Nos) == 0 || len(busy.Nos) == len(rt.Pairs) {
		return ""
	}
	return fmt.Sprintf("Only %s of %d rails carried data", busy, len(rt.Pairs))
}

// Measured is a figure over the rails, without its value.
func (rt Route) Measured(what steps.Measure, unit string) steps.Figure {
	return steps.Figure{What: what, Unit: unit, Rails: rt.Nos, MTU: rt.mtu}
}

// Flow is an empty flow over the rails, from one end to the other. All packets are taken
// for as small as the rail with the smallest MTU makes them.
func (rt Route) Flow(from steps.End) Flow {
	f := Between(from, rt.mtu, rt.most, rt.Pairs...)
	f.Extra(rt.extra)
	return f
}

// Ports are those of the rails, at both ends.
func (rt Route) Ports() (all []Port) {
	for _, p := range rt.Pairs {
		all = append(all, EndsOf(p)...)
	}
	return all
}

// CheckPorts: a port that is down explains more than what UCX says.
func (rt Route) CheckPorts(rig steps.Rig, rep *registry.Report) {
	for _, e := range steps.Ends {
		for _, p := range rt.Pairs {
			if format, args, code := down(rig, e, p); code != "" {
				rep.At(rig, e, code, steps.Fail, format, args...)
			}
		}
	}
}

// Down says that a rail's port is down at one end, and why, as it was seen when the nodes were looked at;
// empty where it isn't. The code is InterfaceOff or PortDown.
func Down(rig steps.Rig, e steps.End, p steps.Pair) (text string, code steps.Code) {
	format, args, code := down(rig, e, p)
	return fmt.Sprintf(format, args...), code
}

func down(rig steps.Rig, e steps.End, p steps.Pair) (format string, args []any, code steps.Code) {
	rail := rig.Rail(p, e)
	args = []any{rail.Dev, rig.NameOf(e), rail.State}
	switch {
	case rail.State == "" || rail.State == "ACTIVE":
		return "", nil, ""
	case !rail.Netdev.Up:
		return "%s on %s is %s, because its interface is switched off. Run: ip link set %s up",
			append(args, rail.Netdev.Name), steps.InterfaceOff
	default:
		return "%s on %s is %s. Check its cable at both ends", args, steps.PortDown
	}
}
