// Package software is the checks of tools, libraries, limits, ports, firewalls and services.
package software

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Judges: map[string]registry.Judge{
			"tools-present": checks.OnBoth(judgeToolsPresent),
			"versions":      registry.Takes[parse.NIXLSetup](judgeVersions),
			"ucx-build":     registry.Takes[parse.NIXLSetup](judgeUCXBuild),
			"ucx-settings":  checks.OnBoth(judgeUCXSettings),
			"nixl-rails":    registry.Takes[parse.NIXLBench](judgeNIXLRails),
			"nixl-threads":  registry.Takes[parse.NIXLBench](judgeNIXLThreads),
			"libraries":     checks.OnBoth(judgeLibraries),
			"memlock":       checks.OnBoth(judgeMemlock),
			"free-memory":   checks.OnBoth(judgeFreeMemory),
			"test-ports":    checks.OnBoth(judgeTestPorts),
			"etcd-service":  checks.OnBoth(judgeEtcdService),
			"etcd-keys":     checks.OnBoth(judgeEtcdKeys),
			"sudo-access":   checks.OnBoth(judgeSudoAccess),
			"nccl-settings": checks.OnBoth(judgeNCCLSettings),
			"nccl-version":  checks.OnBoth(judgeNCCLVersion),
			"nccl-check":    checks.OnBoth(judgeNCCLCheck),
			"container":     checks.OnBoth(judgeContainer),
			"apparmor":      checks.OnBoth(judgeAppArmor),
			"firewall":      checks.OnBoth(judgeFirewall),
			"disk-space":    checks.OnBoth(judgeDiskSpace),
			"clocks":        checks.OnBoth(judgeClocks),
			"end-process":   checks.OnBoth(judgeEndProcess),
			"delete-keys":   checks.OnBoth(judgeDeleteKeys),
		},
		Params: []steps.Param{containerParam()},
		Tools:  []parse.Tool{parse.NCCLTestsTool(), parse.OSUTool()},
	}
}
