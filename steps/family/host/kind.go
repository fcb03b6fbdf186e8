// Package host is what a node has to offer the other cells: its tools and rights, and which way
// GPU memory takes to an adapter. What it has of rails is discovery's.
package host

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"host-staging": kind.Reads(parse.StagingOutput),
		},
		Judges: map[string]kind.Judge{
			"hosts":        kind.Takes[map[string]string](judgeHosts),
			"tools":        kind.Takes[map[string]string](judgeTools),
			"privileges":   kind.Bare(judgePrivileges),
			"host-staging": kind.Takes[parse.Staging](judgeHostStaging),
		},
		Params: []steps.Param{
			kind.SizeParam("STAGING_BYTES", "536870912", "size of the copies between host and GPU", 1<<20, 64<<30),
		},
		// Of Debian and Ubuntu, here and in the other families
		// (assets/docs/facts.md#packages).
		Commands: slices.Concat(
			kind.Commands("iproute2", "ip", "rdma", "ss"), kind.Others("iproute2", "tc", "bridge"),
			kind.Commands("ethtool", "ethtool"),
			kind.Commands("pciutils", "lspci"),
			kind.Commands("the NVIDIA driver (nvidia-utils)", "nvidia-smi"),
			kind.Commands("python3", "python3"),
			kind.Commands("coreutils", "stdbuf"), kind.Others("coreutils", "cat", "ls"),
			kind.Others("kmod", "modprobe", "lsmod"),
			kind.Others("sudo", "sudo"),
		),
	}
}
