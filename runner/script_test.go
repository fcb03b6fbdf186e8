package runner_test

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
)

// The longest script that is taken runs, and one that is longer is refused in words: the
// kernel's own would be an exit status.
func TestLongScripts(t *testing.T) {
	t.Parallel()
	n := runner.NewLocal("here", runner.NoAsker{})
	defer n.Close()
	of := func(length int) runner.Script {
		s := runner.Script{Name: "long", Body: "echo ran #"}
		s.Body += strings.Repeat("x", length-len(s.Text()))
		return s
	}
	var said []string
	exit, err := n.Run(t.Context(), of(runner.MaxScript), func(l runner.Line) { said = append(said, l.Text) })
	if err != nil || !exit.OK() || strings.Join(said, "") != "ran" {
		t.Errorf("the longest script: %v, %v, %q", exit, err, said)
	}
	_, err = n.Run(t.Context(), of(runner.MaxScript+1), func(runner.Line) { t.Error("it ran") })
	if err == nil || !strings.Contains(err.Error(), "KiB") {
		t.Errorf("a longer one: %v", err)
	}
}
