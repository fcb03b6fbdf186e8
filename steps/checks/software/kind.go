// Package software is the checks of tools, libraries, limits, ports, firewalls and services.
package software

import (
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Judges: map[string]kind.Judge{
			"tools-present": kind.Takes[map[string]string](judgeToolsPresent),
			"versions":      kind.Takes[parse.NIXLSetup](judgeVersions),
			"ucx-build":     kind.Takes[parse.NIXLSetup](judgeUCXBuild),
			"ucx-settings":  kind.Takes[map[string]string](judgeUCXSettings),
			"nixl-rails":    kind.Takes[parse.NIXLBench](judgeNIXLRails),
			"nixl-threads":  kind.Takes[parse.NIXLBench](judgeNIXLThreads),
			"libraries":     kind.Takes[map[string]string](judgeLibraries),
			"memlock":       kind.Takes[map[string]string](judgeMemlock),
			"free-memory":   kind.Takes[map[string]string](judgeFreeMemory),
			"test-ports":    kind.Takes[map[string]string](judgeTestPorts),
			"etcd-service":  kind.Takes[map[string]string](judgeEtcdService),
			"etcd-keys":     kind.Takes[map[string]string](judgeEtcdKeys),
			"sudo-access":   kind.Takes[map[string]string](judgeSudoAccess),
			"nccl-settings": kind.Takes[map[string]string](judgeNCCLSettings),
			"firewall":      kind.Takes[map[string]string](judgeFirewall),
			"end-process":   kind.Takes[map[string]string](judgeEndProcess),
			"delete-keys":   kind.Takes[map[string]string](judgeDeleteKeys),
		},
	}
}
