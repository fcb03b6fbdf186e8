package session

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/probe"
)

// The parameters of the scripts and their defaults. ITERATIONS is chosen for
// each rail where it is not given.
var defaults = map[string]string{
	"PORT":           "18515",
	"SIZE":           "65536",
	"LAT_ITERATIONS": "1000",
	"PINGS":          "3",
	"TCP_PORT":       "5201",
	"TCP_SECONDS":    "10",
	"TCP_STREAMS":    "4",
	"JUMBO_MTU":      "9000",
	"BOND":           "bond0",
	"BOND_MODE":      "balance-xor",
	"BOND_HASH":      "layer3+4",
	"BOND_MIIMON":    "100",
	"RAIL_ADDRESS":   "",     // what fix-rail-address gives; worked out where it is empty
	"NIXL_RUNTIME":   "auto", // or ASIO, or ETCD: steps/rendezvous
	"ASIO_PORT":      "12345",
	// Sizes of a KV cache, in 10^9 bytes, that the summary tells the time of.
	"KV_CACHE_GB": "1,4,8",

	// What NIXL's Python programs run with. UCX_TLS as in C17 of INVENTORY: rc with
	// what it needs to set up a connection, and the copies from and to a GPU.
	"NIXL_PYTHON":         "python3",
	"NIXL_TLS":            "rc,cuda_copy,tcp,sm,self",
	"NIXL_PORT":           "5555",
	"UCX_LOG_LEVEL":       "warn",
	"NIXL_REGISTER_BYTES": "4194304",
	"NIXL_BYTES":          "67108864",
	"NIXL_READS":          "256",
	"NIXL_DUAL_BYTES":     "1073741824",
	"NIXL_DUAL_READS":     "16",
	"NIXL_GPU_READS":      "16",
	"NIXL_LAT_BYTES":      "4096",
	"NIXL_LAT_READS":      "1000",
	"STAGING_BYTES":       "536870912",

	// nixlbench, as in C15; bytes.
	"NIXL_DRAM_BUFFER": "4294967296",
	"NIXL_VRAM_BUFFER": "2147483648",
	"NIXL_START":       "65536",
	"NIXL_DRAM_MAX":    "67108864",
	"NIXL_VRAM_MAX":    "33554432",
	"NIXL_ITERATIONS":  "1000",
	"NIXL_WARMUP":      "100",
	"NIXL_THREADS":     "4",
	"NIXL_PROGRESS":    "2",
}

// params are the defaults with what was given in place of them.
func params(o Options) map[string]string {
	all := maps.Clone(defaults)
	maps.Copy(all, o.Params)
	return all
}

// Params are the names that Options.Params can override, sorted.
func Params() []string {
	return slices.Sorted(maps.Keys(Defaults()))
}

// Defaults are the parameters and what they are where nobody sets them. That of
// ITERATIONS is empty: it is chosen for each rail.
func Defaults() map[string]string {
	all := maps.Clone(defaults)
	all["ITERATIONS"] = ""
	return all
}

// A bandwidth test lasts about this long on a rail of known rate: long enough
// for the gauges to be seen, and short enough for a demo.
const testSeconds = 3

// The bounds of ITERATIONS. The lower one is perftest's own default, and one that
// soft-RoCE (some 10 MB/s) can do in a few seconds where the rate is unknown.
const (
	mostIterations    = 500_000
	fewestIterations  = 5_000
	unknownIterations = 1_000
)

// vars are the values that a script sees when it runs at one end of the rig.
// pair is the index of the pair that the stage is about, -1 for none.
func vars(rig steps.Rig, e steps.End, pair int, params map[string]string) map[string]string {
	v := maps.Clone(defaults)
	v["NODE"], v["PEER"] = rig.Nodes[e].Name, rig.Nodes[e.Other()].Name
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
	rate := math.Inf(1)
	for _, e := range steps.Ends {
		r := rig.Rail(p, e)
		// Only what the kernel knows: soft-RoCE declares 2.5 Gb/s and means nothing by it.
		if r.Netdev.SpeedGbps > 0 && r.RateGbps > 0 {
			rate = min(rate, r.RateGbps)
		} else {
			return unknownIterations
		}
		if c, _ := probe.Ceiling(r); c > 0 {
			rate = min(rate, c)
		}
	}
	size, err := strconv.Atoi(params["SIZE"])
	if err != nil || size <= 0 {
		size = 65536
	}
	n := rate * 1e9 / 8 * testSeconds / float64(size)
	n = math.Round(n/1000) * 1000
	return int(min(max(n, fewestIterations), mostIterations))
}
