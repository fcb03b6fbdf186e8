// Package summary is the cells that put a session together: its figures next to the documents' and the limits. It
// reports and judges nothing.
package summary

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Own: map[string]func(steps.History) steps.Verdict{"summary": summarize, "throughput": throughput},
		Params: []steps.Param{{
			Name: "KV_CACHE_GB", Default: "1,4,8", Unit: "GB", Does: "sizes of a KV cache, in 10^9 bytes, that the summary " +
				"shows the time for",
			Kind: steps.NumberList, Most: mostKVSizes, Max: largestKVSize, Cells: []string{"summary"},
		}},
	}
}
