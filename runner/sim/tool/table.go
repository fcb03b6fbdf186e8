// Package tool is all programs of the simulated nodes: they print what the real ones print. The programs are in the
// packages below, a file each, and are found by the packages' lists alone. No fault is named there: what a program
// minds is a host.Flaw of its own.
package tool

import (
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/linux"
	"github.com/railbench/railbench/runner/sim/tool/nccl"
	"github.com/railbench/railbench/runner/sim/tool/network"
	"github.com/railbench/railbench/runner/sim/tool/nixl"
	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// All is every program that the nodes have, by name.
func All() map[string]host.Tool {
	all := map[string]host.Tool{}
	others := slices.Concat(network.Packages(), rdma.Packages(), nixl.Packages(), nccl.Packages())
	for _, p := range linux.Packages(others) {
		for name, run := range p.Programs {
			all[name] = host.Tool{Dir: p.Dir, Run: run}
		}
	}
	return all
}
