package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// The virtual rig's ssh configuration runs commands: it is taken from no folder in which another user can write.
func TestVirtualStateIsOwn(t *testing.T) {
	state := filepath.Join(t.TempDir(), "rig")
	if err := os.Mkdir(state, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "ssh_config"), []byte("Host *\n ProxyCommand touch /tmp/pwned\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIG_STATE", state)
	refused := func(what string) {
		t.Helper()
		if _, _, err := virtualRig(); err == nil || !strings.Contains(err.Error(), "$RIG_STATE") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("everybody may write there")
	if err := os.Chmod(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, config, err := virtualRig(); err != nil || config != filepath.Join(state, "ssh_config") {
		t.Errorf("one's own: %q, %v", config, err)
	}
	if testform.Root() {
		if err := os.Chown(state, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		refused("somebody else's")
	}
}

// What the virtual rig can't do is said in one line, and no other machine or cable is taken for the one asked for.
func TestVirtualRefusals(t *testing.T) {
	t.Setenv("RIG_STATE", filepath.Join(t.TempDir(), "rig"))
	for _, c := range []struct{ args, says string }{
		{"cable 7 off", "usage: rig cable 0|1 on|off [NODE]"},
		{"cable 0 loose", "usage: rig cable 0|1 on|off [NODE]"},
		{"cable 0 off", "spark-01 is down"},
		{"cable 0 off 3", "no node '3'"},
		{"reset 9", "no node '9'"},
		{"reset 2", "spark-02 is down"},
	} {
		var stdout, stderr strings.Builder
		code := Main(append([]string{"rig"}, strings.Fields(c.args)...), strings.NewReader(""), &stdout, &stderr)
		said := stdout.String() + stderr.String()
		if code == exitOK || !strings.Contains(said, c.says) || strings.Contains(said, "Traceback") {
			t.Errorf("rig %s: exit %d: %s", c.args, code, said)
		}
	}
}
