package upload

import (
	"os"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

func TestMain(m *testing.M) { os.Exit(testform.Main(m)) }
