// Package host is what a node has to offer the other cells, its tools and rights, and how fast it
// copies between host and GPU memory.
package host

import (
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
			"privileges":   kind.Looks(judgePrivileges),
			"host-staging": kind.Takes[parse.Staging](judgeHostStaging),
		},
	}
}
