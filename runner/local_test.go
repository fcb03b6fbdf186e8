package runner_test

import (
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	nodetest.Run(t, func(t *testing.T) runner.Node {
		n := runner.NewLocal("here", runner.NoAsker{})
		t.Cleanup(func() { n.Close() })
		return n
	}, nodetest.Options{Processes: true})
}

// The plain shell of other packages' tests keeps the contract, too.
func TestShell(t *testing.T) {
	t.Parallel()
	nodetest.Run(t, func(t *testing.T) runner.Node {
		n := nodetest.NewShell("here")
		t.Cleanup(func() { n.Close() })
		return n
	}, nodetest.Options{NoForwarding: true})
}
