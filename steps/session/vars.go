package session

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
)

// A bandwidth test lasts about this long on a rail of known rate: long enough
// for the gauges to be seen, and short enough for a demo.
const testSeconds = 3

// The bounds of ITERATIONS. Where the rate is unknown it is as many as soft-RoCE (some 10 MB/s)
// can do in a few seconds.
const (
	mostIterations    = 500_000
	fewestIterations  = 5_000
	unknownIterations = 1_000
)

// vars are the values that a script sees when it runs at one end of the rig.
// pair is the index of the pair that the stage is about, -1 for none; params are
// what effective gives.
func vars(rig steps.Rig, e steps.End, pair int, params map[string]string) map[string]string {
	v := make(map[string]string, 128) // some 90 with two rails a half
	v["NODE"], v["PEER"] = rig.At(e).Name, rig.At(e.Other()).Name
	v["RAILS"] = strconv.Itoa(len(rig.Pairs))
	for i, p := range rig.Pairs {
		rail(v, ofNumber(i+1), rig, p, e)
	}
	if p, ok := rig.AcrossHalves(); ok {
		rail(v, acrossHalves, rig, p, e)
	}
	if pair >= 0 {
		p := rig.Pairs[pair]
		rail(v, theRail, rig, p, e)
		v["ITERATIONS"] = strconv.Itoa(iterations(rig, p, params))
	} else if len(rig.Pairs) > 0 {
		v["ITERATIONS"] = strconv.Itoa(iterations(rig, rig.Pairs[0], params))
	}
	if len(rig.Pairs) > 0 {
		p := rig.Pairs[max(pair, 0)]
		b := bandOf(rig, p, params)
		if b.Limit > 0 {
			most := limits.OverShare.Value() * float64(b.Limit)
			v["MOST_GBPS"], v["MOST_BOTH_GBPS"] = decimals(most), decimals(2*most)
		}
		if expected := float64(b.Expected); expected > 0 && b.Unless == "" {
			least, good := limits.WarnShare.Value()*expected, limits.PassShare.Value()*expected
			v["LEAST_GBPS"], v["LEAST_BOTH_GBPS"] = decimals(least), decimals(2*least)
			v["GOOD_GBPS"], v["GOOD_BOTH_GBPS"] = decimals(good), decimals(2*good)
		}
		if set := params["LEAST_GBPS"]; set != "" {
			// Who has one has one for all, and nothing between it and what is good.
			v["LEAST_BOTH_GBPS"], v["GOOD_GBPS"], v["GOOD_BOTH_GBPS"] = set, set, set
		}
		most := limits.BytesMore
		if rig.Rail(p, e).Soft() { // its interface counts in its place
			most = limits.BytesMoreIP
		}
		v["LEAST_COUNTED"], v["MOST_COUNTED"] = decimals(100*limits.BytesLeast.Value()), decimals(100*most.Value())
	}
	if p, ok := rig.Path(); ok {
		v["TCP_NETDEV"], v["TCP_IP"], v["PEER_TCP_IP"] = p.Netdevs[e].Name, p.Addrs[e], p.Addrs[e.Other()]
	}
	maps.Copy(v, params)
	return v
}

// railNames are what the variables of one rail are called.
type railNames struct {
	dev, port, netdev, ip, gid, mtu string
	peerDev, peerNetdev, peerIP     string
}

func namesOf(prefix string) *railNames {
	return &railNames{
		prefix + "DEV", prefix + "PORT", prefix + "NETDEV", prefix + "IP", prefix + "GID", prefix + "MTU",
		"PEER_" + prefix + "DEV", "PEER_" + prefix + "NETDEV", "PEER_" + prefix + "IP",
	}
}

var theRail, acrossHalves = namesOf("RAIL_"), namesOf("HALF_")

// numbered are those of rail 1, rail 2 and so on. A checklist of many links makes scripts by the thousand, and most of
// what that took was to join these.
var numbered sync.Map // of *railNames by int

func ofNumber(n int) *railNames {
	names, ok := numbered.Load(n)
	if !ok {
		names, _ = numbered.LoadOrStore(n, namesOf(fmt.Sprintf("RAIL%d_", n)))
	}
	return names.(*railNames)
}

func rail(v map[string]string, name *railNames, rig steps.Rig, p steps.Pair, e steps.End) {
	here, there := rig.Rail(p, e), rig.Rail(p, e.Other())
	v[name.dev] = here.Dev
	v[name.port] = strconv.Itoa(here.Port)
	v[name.netdev] = here.Netdev.Name
	v[name.ip] = here.Addr
	v[name.gid] = strconv.Itoa(here.GIDIndex)
	v[name.mtu] = strconv.Itoa(here.Netdev.MTU)
	v[name.peerDev] = there.Dev
	v[name.peerNetdev] = there.Netdev.Name
	v[name.peerIP] = there.Addr
}

func iterations(rig steps.Rig, p steps.Pair, params map[string]string) int {
	gbps := math.Inf(1)
	for _, e := range steps.Ends {
		r := rig.Rail(p, e)
		// Only what the kernel knows: soft-RoCE declares 2.5 Gb/s and means nothing by it.
		if (r.Netdev.SpeedGbps > 0 || r.InfiniBand()) && r.RateGbps > 0 {
			gbps = min(gbps, r.RateGbps)
		} else {
			return unknownIterations
		}
		if c, _ := limits.Ceiling(r); c > 0 {
			gbps = min(gbps, float64(c))
		}
	}
	size, err := strconv.Atoi(params["SIZE"])
	if err != nil || size <= 0 {
		size = 65536
	}
	n := gbps * 1e9 / 8 * testSeconds / float64(size)
	n = math.Round(n/1000) * 1000
	return int(min(max(n, fewestIterations), mostIterations))
}

// bandOf is what a test without a judge should reach over a rail, as a write should. Where it is unknown what else
// may end it, it says so (Unless).
func bandOf(rig steps.Rig, p steps.Pair, params map[string]string) limits.Band {
	const messages = 1000 // the fewest that a test moves if their number isn't given
	t := limits.Test{MTU: math.MaxInt}
	for _, e := range steps.Ends {
		t.MTU = min(t.MTU, rig.Rail(p, e).MTU)
	}
	if size, err := strconv.Atoi(params["SIZE"]); err == nil {
		t.Message, t.Payload = size, float64(size)*messages
	}
	return limits.BandOf(rig, t, p)
}

func decimals(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
