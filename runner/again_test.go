package runner_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
)

// A supervisor takes one script after the other: a login for each of them is what costs a node most. What a script
// printed last, without a line's end and on both streams, is its own and not the next one's, and nothing of a script
// is there for the next.
func TestOneSupervisorForSeveralScripts(t *testing.T) {
	t.Parallel()
	s := nodetest.StartSshd(t)
	n := dial(t, s, func(*runner.SSHOptions) {})
	if err := n.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	spares(t, s)
	const count = 20
	var parents []string
	for i := range count {
		stdout, stderr, exit := nodetest.Do(t, n, fmt.Sprintf(
			`echo "$PPID ${LEFT-none}"; LEFT=yes; export LEFT; cd /; sleep 300 & printf 'out %d'; printf 'err %d' >&2; exit %d`,
			i, i, i))
		want := fmt.Sprint(i)
		if len(stdout) != 2 || stdout[1] != "out "+want || !slices.Equal(stderr, []string{"err " + want}) || exit.Code != i {
			t.Errorf("script %d: %q, %q, %v", i, stdout, stderr, exit)
			continue
		}
		parent, left, _ := strings.Cut(stdout[0], " ")
		if left != "none" {
			t.Errorf("script %d finds what another has left: %q", i, left)
		}
		parents = append(parents, parent)
	}
	slices.Sort(parents)
	if parents = slices.Compact(parents); len(parents) > count/4 {
		t.Errorf("%d scripts had %d supervisors", count, len(parents))
	}
	n.Close()
	for began := time.Now(); len(supervisors(t, s)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%v are left when the node was closed", supervisors(t, s))
		}
	}
}

// supervisors are the processes that wait for scripts at an sshd, or have waited.
func supervisors(t *testing.T, s *nodetest.Sshd) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range all {
		// What ends meanwhile has no files.
		line, _ := os.ReadFile(at + "/cmdline")
		environ, _ := os.ReadFile(at + "/environ")
		if bytes.Contains(line, []byte("\x00railbench-supervisor\x00-")) &&
			bytes.Contains(environ, fmt.Appendf(nil, " 127.0.0.1 %d\x00", s.Port)) {
			pids = append(pids, filepath.Base(at))
		}
	}
	return pids
}
