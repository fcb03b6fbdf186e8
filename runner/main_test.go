package runner_test

import (
	"os"
	"testing"

	"github.com/railbench/railbench/runner/nodetest"
)

func TestMain(m *testing.M) { os.Exit(nodetest.Waiting(m)) }
