package network

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// registered has the judges as a session asks them, by the names that fences give.
func registered() steps.Catalog { return registry.Merge(registry.Base(), Kind()) }

// because compares a verdict's grade and code, and looks for names and numbers in its reason.
func because(t *testing.T, name string, v steps.Verdict, g steps.Grade, code steps.Code, names ...string) {
	t.Helper()
	kindtest.Because(t, name, v, g, code)
	kindtest.Want(t, name, v, g, names...)
}
