package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/tui/screen"
)

// The screen opens before everything else is read, except where something has to be reported or asked first.
func TestSilent(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	for name, c := range map[string]struct {
		flags rigFlags
		o     opening
		want  bool
	}{
		"nothing":     {want: true},
		"a rig":       {flags: rigFlags{peer: "other"}, want: true},
		"a session":   {o: opening{session: "x.ipynb"}},
		"a drill":     {o: opening{drill: screen.Drill{Fault: "mtu"}}},
		"a runbook":   {flags: rigFlags{runbooks: []string{"x.md"}}},
		"a parameter": {flags: rigFlags{params: []string{"SIZE=1"}}},
		"a link":      {flags: rigFlags{link: "1:2"}},
		"a fault":     {flags: rigFlags{faults: []string{"mtu"}}},
	} {
		if got := c.o.silent(c.flags); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	dir, err := sessionsDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, notebook.JournalPath("a"+notebook.Extension)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if (opening{}).silent(rigFlags{}) {
		t.Error("a session that was cut off is to be asked about")
	}
}
