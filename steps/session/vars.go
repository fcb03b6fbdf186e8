package session

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/theory"
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
	v := map[string]string{}
	v["NODE"], v["PEER"] = rig.At(e).Name, rig.At(e.Other()).Name
	v["RAILS"] = strconv.Itoa(len(rig.Pairs))
	for i, p := range rig.Pairs {
		rail(v, fmt.Sprintf("RAIL%d_", i+1), rig, p, e)
	}
	if p, ok := rig.AcrossHalves(); ok {
		rail(v, "HALF_", rig, p, e)
	}
	if pair >= 0 {
		p := rig.Pairs[pair]
		rail(v, "RAIL_", rig, p, e)
		v["ITERATIONS"] = strconv.Itoa(iterations(rig, p, params))
	} else if len(rig.Pairs) > 0 {
		v["ITERATIONS"] = strconv.Itoa(iterations(rig, rig.Pairs[0], params))
	}
	if len(rig.Pairs) > 0 {
		p := rig.Pairs[max(pair, 0)]
		b := bandOf(rig, p, params)
		if b.Limit > 0 {
			most := theory.OverShare.Value() * float64(b.Limit)
			v["MOST_GBPS"], v["MOST_BOTH_GBPS"] = decimals(most), decimals(2*most)
		}
		if expected := float64(b.Expected); expected > 0 && b.Unless == "" {
			least, good := theory.WarnShare.Value()*expected, theory.PassShare.Value()*expected
			v["LEAST_GBPS"], v["LEAST_BOTH_GBPS"] = decimals(least), decimals(2*least)
			v["GOOD_GBPS"], v["GOOD_BOTH_GBPS"] = decimals(good), decimals(2*good)
		}
		if set := params["LEAST_GBPS"]; set != "" {
			// Who has one has one for all, and nothing between it and what is good.
			v["LEAST_BOTH_GBPS"], v["GOOD_GBPS"], v["GOOD_BOTH_GBPS"] = set, set, set
		}
		most := theory.BytesMore
		if rig.Rail(p, e).Soft() { // its interface counts in its place
			most = theory.BytesMoreIP
		}
		v["LEAST_COUNTED"], v["MOST_COUNTED"] = decimals(100*theory.BytesLeast.Value()), decimals(100*most.Value())
	}
	if p, ok := rig.Path(); ok {
		v["TCP_NETDEV"], v["TCP_IP"], v["PEER_TCP_IP"] = p.Netdevs[e].Name, p.Addrs[e], p.Addrs[e.Other()]
	}
	maps.Copy(v, params)
	return v
}

func rail(v map[string]string, prefix string, rig steps.Rig, p steps.Pair, e steps.End) {
	here, there := rig.Rail(p, e), rig.Rail(p, e.Other())
	v[prefix+"DEV"] = here.Dev
	v[prefix+"PORT"] = strconv.Itoa(here.Port)
	v[prefix+"NETDEV"] = here.Netdev.Name
	v[prefix+"IP"] = here.Addr
	v[prefix+"GID"] = strconv.Itoa(here.GIDIndex)
	v[prefix+"MTU"] = strconv.Itoa(here.Netdev.MTU)
	v["PEER_"+prefix+"DEV"] = there.Dev
	v["PEER_"+prefix+"NETDEV"] = there.Netdev.Name
	v["PEER_"+prefix+"IP"] = there.Addr
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
		if c, _ := theory.Ceiling(r); c > 0 {
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

// bandOf is what a test without a judge should reach over a rail, as a write should. Where nobody knows what else may
// end it, it says so (Unless).
func bandOf(rig steps.Rig, p steps.Pair, params map[string]string) theory.Band {
	const messages = 1000 // the fewest that a test moves which isn't told how many
	t := theory.Test{MTU: math.MaxInt}
	for _, e := range steps.Ends {
		t.MTU = min(t.MTU, rig.Rail(p, e).MTU)
	}
	if size, err := strconv.Atoi(params["SIZE"]); err == nil {
		t.Message, t.Payload = size, float64(size)*messages
	}
	return theory.BandOf(rig, t, p)
}

func decimals(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
