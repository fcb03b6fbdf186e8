package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps/trust"
)

// inPath puts a shell script into the PATH under a name.
func inPath(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	program(t, dir, name, script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestWhatWasTrustedIsWhatSSHGets: a person who changes a trusted ssh configuration, or a file that it includes, once
// railbench has read it has changed nothing that ssh reads. The ssh of this test does the change.
func TestWhatWasTrustedIsWhatSSHGets(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, config := range map[string]string{
		"alone":             "User good\n",
		"included":          "Host *\nInclude DIR/INCLUDED\nUser good\n",
		"by a sign":         "Include DIR/INCL*\nUser good\n",
		"several, quoted":   "include = \"DIR/INCLUDED\" DIR/none DIR/INCLUDED\nUser good\n",
		"what is not there": "Include DIR/later\nUser good\n",
		"a folder":          "Include DIR/folder\nUser good\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newForeignRig(t)
			dir := filepath.Dir(r.config)
			if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
				t.Fatal(err)
			}
			r.write(t, filepath.Join(dir, "INCLUDED"), "User good\nInclude "+dir+"/later\n")
			r.write(t, r.config, strings.ReplaceAll(config, "DIR", dir))
			inPath(t, "ssh", fmt.Sprintf(`
while [ "$1" != -F ]; do shift; done
rmdir '%[1]s/folder' 2>/dev/null
for f in config INCLUDED later folder; do echo User evil >'%[1]s/'$f; done
read_all() {
	cat "$1" >>'%[1]s/trace'
	sed -n 's/^Include *//p' "$1" | tr -d '"' | tr ' ' '\n' | while read -r f; do read_all "$f"; done
}
read_all "$2"
echo hostname 127.0.0.1; echo port 1
`, dir))
			code, _, stderr := unattended("run", "hosts", "--dry-run", "--rig", r.file, "--trust")
			got, err := os.ReadFile(r.trace)
			if err != nil || code != exitUnreachable || !strings.Contains(string(got), "User good") ||
				strings.Contains(string(got), "User evil") {
				t.Errorf("exit %d: ssh has read %q, %v: %s", code, got, err, stderr)
			}
			if left, err := filepath.Glob(filepath.Join(state, "*", trust.CopiesFolder+"*")); err != nil || len(left) > 0 {
				t.Errorf("the copies %q are still there, %v", left, err)
			}
		})
	}
}

// What ssh reads in the copies is what it read in the files.
func TestCopiesMeanTheSame(t *testing.T) {
	ssh := testform.Tool(t, "ssh")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one": "Host a\n  Port 11\nHost *\n  User u\n", "two": "Port 22\r\n", "th ree": "Match host b\n  Include DIR/two\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{
		"Include DIR/one\n", "Host b\n Include DIR/two\nHost *\n Port 3\n", "include=\"DIR/th ree\" DIR/one # and so on",
		"Host a\nInclude DIR/none\nPort 4\n", "Include DIR/t*\n", "IdentityFile /x y\n# Include DIR/two\nPort 5\n",
		"\tInclude\tDIR/one\tDIR/two\r\nCiphers +aes128-cbc\n", "Port 6",
	} {
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := runner.SSHConfiguration(config)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := trust.CopySSH("", files)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"a", "b", "c"} {
			var said []string
			for _, file := range []string{config, filepath.Join(folder.Path, runner.SSHCopyName(0))} {
				out, err := exec.CommandContext(t.Context(), ssh, "-G", "-F", file, "--", host).CombinedOutput()
				text := strings.ReplaceAll(string(out), file, "FILE") // an error is reported with its line
				said = append(said, fmt.Sprintf("%s%v", text, err))
			}
			if said[0] != said[1] {
				t.Errorf("%q for %s: %s\nand of the copies: %s", text, host, said[0], said[1])
			}
		}
		if err := folder.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestWhatWasTrustedIsWhatAnsibleGets: the same of an inventory that runs something. What lies next to it is still
// there for it.
func TestWhatWasTrustedIsWhatAnsibleGets(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, text := range map[string]string{
		"hosts.sh":  "#!/bin/sh\n# good\n",
		"hosts.yml": "plugin: constructed # good\n",
		"program":   "# good\n",
	} {
		dir := t.TempDir()
		path, trace := filepath.Join(dir, name), filepath.Join(dir, "trace")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "program" {
			if err := os.Chmod(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "beside"), []byte("beside\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		inPath(t, "ansible-inventory", fmt.Sprintf(`
while [ "$1" != -i ]; do shift; done
echo evil >'%[1]s/%[2]s'
cat "$2" "${2%%/*}/beside" >'%[1]s/trace'
basename "$2" >>'%[1]s/trace'
if [ -x "$2" ]; then echo runs >>'%[1]s/trace'; fi
echo '{"all": {"hosts": ["x", "y"]}}'
`, dir, name))
		_, _, stderr := unattended("run", "hosts", "--dry-run", "--inventory", path, "--trust")
		want := text + "beside\n" + name + "\n"
		if name == "program" {
			want += "runs\n"
		}
		if got, err := os.ReadFile(trace); string(got) != want {
			t.Errorf("%s: Ansible has read %q, not %q, %v: %s", name, got, want, err, stderr)
		}
	}
}
