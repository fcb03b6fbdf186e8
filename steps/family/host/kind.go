// Package host is what a node has to offer the other cells: its tools and rights, and which way
// GPU memory takes to an adapter. What it has of rails is discovery's.
package host

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"host-staging": registry.Reads(parse.StagingOutput),
		},
		Judges: map[string]registry.Judge{
			"hosts":        registry.Takes[map[string]string](judgeHosts),
			"tools":        registry.Takes[map[string]string](judgeTools),
			"privileges":   registry.Bare(judgePrivileges),
			"host-staging": registry.Takes[parse.Staging](judgeHostStaging),
		},
		Params: []steps.Param{
			registry.SizeParam("STAGING_BYTES", "536870912", "size of the copies between host and GPU", 1<<20, 64<<30),
		},
		// Of Debian and Ubuntu, here and in the other families
		// (assets/docs/facts.md#packages).
		Commands: slices.Concat(
			registry.Commands("iproute2", "ip", "rdma", "ss"), registry.Others("iproute2", "tc", "bridge"),
			registry.Commands("ethtool", "ethtool"),
			registry.Commands("pciutils", "lspci"),
			registry.Commands("the NVIDIA driver (nvidia-utils)", "nvidia-smi"),
			registry.Commands("python3", "python3"),
			registry.Commands("coreutils", "stdbuf"), registry.Others("coreutils", "cat", "ls"),
			registry.Others("kmod", "modprobe", "lsmod"),
			registry.Others("sudo", "sudo"),
		),
	}
}
