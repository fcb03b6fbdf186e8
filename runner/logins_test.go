package runner_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// TestLogins runs scripts on a real sshd whose login prints text, or whose tools are busybox's.
func TestLogins(t *testing.T) {
	testform.NeedsFull(t, "starts a real sshd")
	bb := t.TempDir()
	if out, err := exec.Command(testform.Tool(t, "busybox"), "--install", "-s", bb).CombinedOutput(); err != nil {
		t.Fatalf("busybox --install: %v: %s", err, out)
	}
	// Only busybox, and no supervisor of Perl, as on a small system.
	small := "SetEnv RAILBENCH_PERL=none PATH=" + bb
	for _, c := range []struct {
		name  string
		extra []string
	}{
		{"silent", nil},
		{"a greeting", []string{`ForceCommand echo Welcome; eval "$SSH_ORIGINAL_COMMAND"`}},
		{"a greeting without a line end", []string{`ForceCommand printf Welcome; eval "$SSH_ORIGINAL_COMMAND"`}},
		{"many lines", []string{`ForceCommand seq 100000; eval "$SSH_ORIGINAL_COMMAND"`}},
		{"a title", []string{`ForceCommand printf '\033]0;n2\007'; eval "$SSH_ORIGINAL_COMMAND"`}},
		{"busybox", []string{small}},
		{"busybox that greets", []string{small, `ForceCommand echo Welcome; eval "$SSH_ORIGINAL_COMMAND"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := dial(t, nodetest.StartSshd(t, c.extra...), nil)
			for range 3 {
				out, _, exit := nodetest.Do(t, n, "echo yes")
				if !slices.Equal(out, []string{"yes"}) || !exit.OK() {
					t.Errorf("stdout %q, %s", out, exit)
				}
			}
			file := filepath.Join(t.TempDir(), "it")
			if err := n.Deliver(t.Context(), file, strings.NewReader("content")); err != nil {
				t.Error(err)
			}
			if b, _ := os.ReadFile(file); string(b) != "content" {
				t.Errorf("delivered %q", b)
			}
		})
	}
}

// TestRefusedLogins: the error shows what a login without a shell printed, or names MaxSessions.
func TestRefusedLogins(t *testing.T) {
	testform.NeedsFull(t, "starts a real sshd")
	for _, c := range []struct {
		name, extra, says string
	}{
		{
			"no shell", `ForceCommand echo 'This account is currently not available.'; exit 1`,
			"This account is currently not available.",
		},
		{"no sessions", "MaxSessions 0", "MaxSessions"},
	} {
		n := dial(t, nodetest.StartSshd(t, c.extra), nil)
		_, err := n.Run(t.Context(), runner.Script{Name: "it", Body: "echo yes"}, func(runner.Line) {})
		e, ok := errors.AsType[*runner.Error](err)
		if !ok || e.Kind != runner.NoShell || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
