package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// TestRootIsLost: a sudoers file that changes while scripts run is reported as such, and sudo is checked
// again.
func TestRootIsLost(t *testing.T) {
	testform.NeedsFull(t, "starts many processes")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"id": "#!/bin/sh\necho 1000\n",
		"sudo": `#!/bin/sh
if [ -e ` + dir + `/lost ]; then
	echo "sudo: a password is required" >&2
	exit 1
fi
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	n := NewLocal("node", NoAsker{})
	defer n.Close()
	run := func(root bool) error {
		exit, err := n.Run(t.Context(), Script{Name: "look", Body: "true", Root: root}, func(Line) {})
		if err == nil && !exit.OK() {
			t.Errorf("%s", exit)
		}
		return err
	}
	if err := run(true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lost"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"but not now: a password is required", "no terminal"} {
		err := run(true)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != SudoPassword || e.Node != "node" ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("without %q: %v", want, err)
		}
	}
	if err := run(false); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "lost")); err != nil {
		t.Fatal(err)
	}
	if err := run(true); err != nil {
		t.Errorf("root is there again: %v", err)
	}
}

// What sudo 1.9.13 says, as it came.
func TestBesideWrong(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"\nSorry, try again.\n\nsudo: no password was provided\nsudo: 1 incorrect password attempt\n", ""},
		{
			"Sorry, user guest is not allowed to execute '/usr/bin/true' as root on spark-01.\n",
			"Sorry, user guest is not allowed to execute '/usr/bin/true' as root on spark-01.",
		},
		{"engineer is not in the sudoers file.\n", "engineer is not in the sudoers file."},
	} {
		text, want := c[0], c[1]
		if got := besideWrong(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
