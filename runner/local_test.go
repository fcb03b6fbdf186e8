package runner_test

import (
	"os"
	"path/filepath"
	"slices"
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

// TestScriptsStartAtHome: Python, UCX and others load files of the folder that they are started in, which on this
// machine would be railbench's working folder, and another user's.
func TestScriptsStartAtHome(t *testing.T) {
	theirs, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "json.py"), []byte("print('evil')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(theirs)
	n := runner.NewLocal("here", runner.NoAsker{})
	defer n.Close()
	for set, want := range map[string]string{home: home, "": "/", filepath.Join(home, "none"): "/"} {
		t.Setenv("HOME", set)
		var said []string
		_, err := n.Run(t.Context(), runner.Script{Name: "where", Body: "pwd; ls json.py"}, func(l runner.Line) {
			if l.Stream == runner.Stdout {
				said = append(said, l.Text)
			}
		})
		if err != nil || !slices.Equal(said, []string{want}) {
			t.Errorf("HOME=%q: a script started in %q, not %q, %v", set, said, want, err)
		}
	}
}
