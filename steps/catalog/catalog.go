// Package catalog puts together what a cell can name: a line a family. What is behind a
// name stands in the family's folder.
package catalog

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks/hardware"
	"github.com/railbench/railbench/steps/checks/network"
	"github.com/railbench/railbench/steps/checks/software"
	"github.com/railbench/railbench/steps/family/bond"
	"github.com/railbench/railbench/steps/family/discovery"
	"github.com/railbench/railbench/steps/family/host"
	"github.com/railbench/railbench/steps/family/nccl"
	"github.com/railbench/railbench/steps/family/nixl"
	"github.com/railbench/railbench/steps/family/perftest"
	"github.com/railbench/railbench/steps/family/summary"
	"github.com/railbench/railbench/steps/family/tcp"
	"github.com/railbench/railbench/steps/registry"
)

// New lists every parser, judge and planner. The judge of a cell that names none is
// "exit-status", which is registered under the empty name too.
func New() steps.Catalog {
	return registry.Merge(
		registry.Base(),
		host.Kind(),
		discovery.Kind(),
		perftest.Kind(),
		bond.Kind(),
		tcp.Kind(),
		nixl.Kind(),
		nccl.Kind(),
		summary.Kind(),
		network.Kind(),
		hardware.Kind(),
		software.Kind(),
	)
}
