package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

func runTrue(context.Context, *host.Call) int { return 0 }

func runFalse(context.Context, *host.Call) int { return 1 }
