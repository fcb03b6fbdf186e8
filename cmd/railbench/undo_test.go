package main

import (
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps/session"
)

// TestRemind names what is still there of this rig, and of no other.
func TestRemind(t *testing.T) {
	b := &bench{options: session.Options{Rig: "lab", Journal: &undo.Journal{Dir: t.TempDir()}}}
	said := func() string {
		var out strings.Builder
		b.remind(&out)
		return out.String()
	}
	if got := said(); got != "" {
		t.Errorf("an empty journal: %q", got)
	}
	for i, e := range []undo.Entry{{ID: "a", Rig: "lab", Cell: "mtu"}, {ID: "b", Rig: "other", Cell: "rail-ips"}, {ID: "c", Rig: "lab", Cell: "bond-setup"}} {
		e.At = time.Now().Add(time.Duration(i) * time.Second)
		if err := b.options.Journal.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := said(); !strings.Contains(got, "on lab") || !strings.Contains(got, "mtu, bond-setup.") || strings.Contains(got, "rail-ips") {
		t.Errorf("%q", got)
	}
	b.options.Simulated = true
	if got := said(); got != "" {
		t.Errorf("the simulated rig: %q", got)
	}
}
