package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

// TestForgedEnvironment: what is in a variable of the environment, of Slurm's, sudo's or a login's, controls no
// terminal and forges no line, in a run, a man page, or an error. (An environment is its user's own, and yet others
// fill it: sshd from the client, Slurm from the job, sudo from who called it.)
func TestForgedEnvironment(t *testing.T) {
	testform.NeedsFull(t, "starts many processes")
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	t.Chdir(home) // a HOME that is not an absolute path is one below this
	const forged = "\x1b]0;owned\x07\u009b31m\u202e\nPASS everything fine\n.so /etc/passwd\nforged; echo"
	slurm := [][]string{
		{"nodes", "--nodes", "slurm"},
		{"run", "hosts", "--nodes", "slurm"},
		{"run", "hosts", "--slurm", "p:2"},
	}
	own := [][]string{
		{"man"},
		{"list"},
		{"run", "hosts", "--rig", "sim", "--speed", "100"},
		{"undo", "--list"},
		{"rig", "status"},
	}
	for name, verbs := range map[string][][]string{
		"SLURM_JOB_ID": slurm, "SLURM_JOB_NODELIST": slurm, "SLURM_CONF": slurm, "SLURM_PROCID": slurm, "SLURM_NODEID": slurm,
		"SLURM_JOB_PARTITION": slurm, "SLURM_CLUSTER_NAME": slurm, "SLURMD_NODENAME": slurm, "PMI_RANK": slurm,
		"PMIX_RANK":            slurm,
		"OMPI_COMM_WORLD_RANK": slurm,
		"SUDO_USER":            own, "SUDO_COMMAND": own, "SUDO_ASKPASS": own, "USER": own, "LOGNAME": own, "HOME": own,
		"HOSTNAME": own, "LANG": own,
		"TERM": own, "RIG_STATE": own, "RIG_PORT": own, "XDG_STATE_HOME": own, "XDG_CONFIG_HOME": own, "SSH_CONNECTION": own,
		"SSH_AUTH_SOCK": own, "SOURCE_DATE_EPOCH": own, "EDITOR": own, "PAGER": own, "TZ": own,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SLURM_JOB_ID", "7")
			t.Setenv("SLURM_JOB_NODELIST", "a,b")
			t.Setenv("SLURM_CONF", "/nowhere/slurm.conf") // no Slurm of this machine's is asked
			t.Setenv(name, forged)
			for _, args := range verbs {
				var stdout, stderr bytes.Buffer
				Main(args, strings.NewReader(""), &stdout, &stderr)
				out := stdout.String() + stderr.String()
				if out == "" {
					t.Errorf("%q said nothing", args)
				}
				if i := strings.IndexFunc(out, runner.Hidden); i >= 0 {
					t.Errorf("%q: %.60q", args, out[i:])
				}
				for line := range strings.Lines(out) {
					if strings.HasPrefix(line, "PASS everything") || strings.HasPrefix(line, ".so /etc") ||
						strings.HasPrefix(line, "forged;") {
						t.Errorf("%q: a line was forged: %q", args, line)
					}
				}
			}
		})
	}
}

// TestRelativeHome: a home that depends on the working folder is reported, and nothing is written or read
// there.
func TestRelativeHome(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", "here/nobody")
	for _, args := range [][]string{
		{"run", "hosts", "--rig", "sim", "--speed", "max"},
		{"doctor", "nodes", "--rig", "sim", "--speed", "max"},
		{"undo", "--list"},
		{"init", "--peer", "nobody@127.0.0.1:1"},
		{"rig", "status"},
		{"list"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(args, strings.NewReader(""), &stdout, &stderr)
		if said := stderr.String(); code != exitOK && !strings.Contains(said, "$HOME makes it here/nobody") {
			t.Errorf("%q: exit %d: %s", args, code, said)
		}
		if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
			t.Errorf("%q wrote %v (%v)", args, left, err)
		}
	}
}
