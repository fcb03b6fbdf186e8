package tui

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// What a variable is: one value for all, or one of each rail or role.
func TestPlannedValues(t *testing.T) {
	plan := []steps.PlannedValues{
		{Role: "server", Rail: 1, Values: map[string]string{"SIZE": "1"}},
		{Role: "client", Rail: 1, Values: map[string]string{"RAIL_DEV": "rocep1s0f0", "SIZE": "65536", "PY": "two\nlines"}},
		{Role: "client", Rail: 2, Values: map[string]string{"RAIL_DEV": "rocep1s0f1", "SIZE": "65536"}},
	}
	known := screen.Values(plan, "client", 0)
	if _, ok := known["RAIL_DEV"]; ok || known["SIZE"] != "65536" {
		t.Errorf("of all rails %v is known", known)
	}
	if got := screen.Values(plan, "client", 2)["RAIL_DEV"]; got != "rocep1s0f1" {
		t.Errorf("on rail 2 RAIL_DEV is %q", got)
	}
	if got := screen.Values(plan, "", 0); got["SIZE"] != "" {
		t.Errorf("two roles have two sizes, and one is told: %v", got)
	}
	for name, want := range map[string]string{
		"SIZE":     "server 1 / client 65536, 65536",
		"RAIL_DEV": "rocep1s0f0, rocep1s0f1",
	} {
		if got := screen.ToldValues(screen.Givens(plan)[name]); got != want {
			t.Errorf("%s is told as %q, want %q", name, got, want)
		}
	}
}
