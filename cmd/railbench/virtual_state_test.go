package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The virtual rig's ssh configuration runs commands: it is taken from no folder in which somebody
// else can write.
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
	if os.Geteuid() == 0 {
		if err := os.Chown(state, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		refused("somebody else's")
	}
}
