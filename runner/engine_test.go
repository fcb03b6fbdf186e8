package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// engine puts a program of this name in front of $PATH.
func engine(t *testing.T, name, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAskClusterShell(t *testing.T) {
	engine(t, "nodeset", `for a; do printf '<%s>' "$a"; done`)
	got, err := AskClusterShell(t.Context(), "-x,@rack1!$(id)")
	if err != nil || got != "<-e><--><-x,@rack1!$(id)>" {
		t.Errorf("%q, %v", got, err)
	}
	engine(t, "nodeset", "echo no such group >&2; exit 1")
	if _, err := AskClusterShell(t.Context(), "@x"); err == nil ||
		!strings.Contains(err.Error(), "nodeset: exit status 1: no such group") {
		t.Error(err)
	}
	engine(t, "nodeset", "head -c 17000000 /dev/zero")
	if _, err := AskClusterShell(t.Context(), "@x"); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := AskClusterShell(t.Context(), "@x"); err == nil ||
		!strings.Contains(err.Error(), "nodeset is not installed on this machine (apt install clustershell)") {
		t.Error(err)
	}
}

func TestAskAnsible(t *testing.T) {
	engine(t, "ansible-inventory",
		`for a; do printf '<%s>' "$a"; done; printf '%s in %s' "$ANSIBLE_INVENTORY_ENABLED" "$PWD"`)
	t.Setenv("ANSIBLE_INVENTORY_ENABLED", "script")
	for plugins, want := range map[bool]string{
		false: "<--list><-i></x/hosts>ini,yaml in /", true: "<--list><-i></x/hosts>script in /",
	} {
		if got, err := AskAnsible(t.Context(), "/x/hosts", plugins); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// The programs themselves, where they are installed.
func TestEngines(t *testing.T) {
	testform.NeedsFull(t, "asks ClusterShell and Ansible")
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Run("ClusterShell", func(t *testing.T) {
		testform.Tool(t, "nodeset")
		write("groups.conf", "[Main]\ndefault: racks\nautodir: "+dir+"/groups.d\n", 0o644)
		write("groups.d/g.yaml", "racks:\n  rack1: spark-[01-04]\n", 0o644)
		t.Setenv("CLUSTERSHELL_CFGDIR", dir)
		got, err := AskClusterShell(t.Context(), "@rack1!spark-02,me@x")
		if err != nil || strings.Join(strings.Fields(got), " ") != "me@x spark-01 spark-03 spark-04" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("Ansible", func(t *testing.T) {
		testform.Tool(t, "ansible-inventory")
		ran := filepath.Join(dir, "ran")
		program := write("program", "#!/bin/sh\ntouch "+ran+"\necho '{\"g\": {\"hosts\": [\"h\"]}}'\n", 0o755)
		for _, plugins := range []bool{false, true} {
			got, err := AskAnsible(t.Context(), program, plugins)
			_, none := os.Stat(ran)
			if (none == nil) != plugins || plugins && (err != nil || !strings.Contains(got, `"h"`)) {
				t.Errorf("plug-ins %t: %q, %v; it ran: %t", plugins, got, err, none == nil)
			}
		}
		for name, text := range map[string]string{
			"hosts": "[sparks]\nspark-[01:02] ansible_port=22\n", "hosts.yml": "sparks: {hosts: {'spark-[01:02]': {}}}\n",
		} {
			got, err := AskAnsible(t.Context(), write(name, text, 0o644), false)
			if err != nil || !strings.Contains(got, `"spark-02"`) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	})
}
