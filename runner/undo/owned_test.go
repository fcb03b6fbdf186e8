package undo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

// What runs as root lies where no one else can put anything: a folder of another user's, one that others may write
// to, a link, and whatever lies below one of them are refused.
func TestOwned(t *testing.T) {
	testform.NeedsRoot(t)
	top, err := os.MkdirTemp("/run", "railbench-test-") //nolint:usetesting // t.TempDir is below /tmp, where all may write
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	within := func(name string, mode os.FileMode, uid int) string {
		dir := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Join(dir, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, uid, 0); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(within("target", 0o755, 0), link); err != nil {
		t.Fatal(err)
	}
	n := runner.NewLocal("here", runner.NoAsker{})
	defer n.Close()
	for _, c := range []struct {
		dir  string
		fine bool
	}{
		{within("own", 0o755, 0), true},
		{within("closed", 0o700, 0), true},
		{within("of the group", 0o775, 0), false},
		{within("of all", 0o777, 0), false},
		{within("sticky", 0o777|os.ModeSticky, 0), false},
		{within("another's", 0o755, 12345), false},
		{link, false},
		{filepath.Join(top, "none"), false},
	} {
		for _, dir := range []string{c.dir, filepath.Join(c.dir, "below")} {
			var said []string
			exit, err := n.Run(t.Context(), runner.Script{
				Name: "owned", Body: scripts.Undo + `owned "$DIR"; echo used`, Vars: map[string]string{"DIR": dir},
			}, func(l runner.Line) { said = append(said, l.Text) })
			if used := strings.Contains(strings.Join(said, "\n"), "used"); err != nil || used != c.fine || exit.OK() != c.fine {
				t.Errorf("%s: %v, %v, %q", dir, exit, err, said)
			}
		}
	}
}
