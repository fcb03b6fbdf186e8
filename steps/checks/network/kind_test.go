package network

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
)

// registered has the judges as a session asks them, by the names that fences give.
func registered() steps.Catalog { return kind.Merge(kind.Base(), Kind()) }
