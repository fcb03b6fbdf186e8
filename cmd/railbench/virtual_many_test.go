package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rigfile"
)

// TestVirtualMany is on four machines with soft-RoCE behind a switch: a cell runs over the link that is chosen, the
// checklist names the node that is not as the others, and one whose power is cut in the middle of a test stops that
// test and no one else.
func TestVirtualMany(t *testing.T) {
	if os.Getenv("RAILBENCH_LONG") == "" {
		t.Skip("four virtual machines are the long form's: RAILBENCH_LONG=1")
	}
	v := newVirtualOf(t, busybox, 4)
	t.Run("a link", v.anyLink)
	t.Run("a change", v.changeOfAll)
	t.Run("a cable", v.cableOfOne)
	t.Run("a reset", v.reset)
}

// anyLink: RDMA between two nodes that are neither the first nor the second.
func (v *virtual) anyLink(t *testing.T) {
	r, _ := v.run(t, "devices", "ib-write-bw", "--link", "spark-03:spark-04")
	if got := cellOf(t, r, "devices"); got.Verdict != steps.Pass {
		t.Errorf("devices: %s: %s", got.Verdict, got.Reason)
	}
	// Its rails have no rated speed, so what was measured has no band; but it was measured.
	if got := cellOf(t, r, "ib-write-bw"); got.Verdict != steps.Pass {
		t.Errorf("ib-write-bw: %s: %s", got.Verdict, got.Reason)
	}
}

// changeOfAll gives every node another MTU, and takes it back.
func (v *virtual) changeOfAll(t *testing.T) {
	r, _ := v.run(t, "mtu", "cleanup", "--yes")
	for _, id := range []string{"mtu", "cleanup"} {
		if got := cellOf(t, r, id); got.Verdict != steps.Pass ||
			!strings.Contains(strings.ToLower(got.Reason), "each of 4 links") {
			t.Errorf("%s: %s: %s", id, got.Verdict, got.Reason)
		}
	}
}

// cableOfOne is pulled at one node of four, which is named.
func (v *virtual) cableOfOne(t *testing.T) {
	v.rig(t, "cable", "1", "off", "spark-03")
	defer v.rig(t, "cable", "1", "on", "spark-03")
	v.finds(t, "link-up", "enp1s0f1np1", "spark-03")
}

// reset cuts a node's power while it is measured: no PASS, and railbench ends by itself.
func (v *virtual) reset(t *testing.T) {
	cmd := exec.Command(v.bin, "run", "ib-write-bw", "--rig", "virtual", "--link", "spark-03:spark-04", "-v")
	begun := func(text string) bool { return strings.Contains(text, "rail 1:") }
	if text, err := v.cutOff(t, cmd, "spark-04", begun); err == nil || strings.Contains(text, "PASS  ") {
		t.Errorf("a node went down in the middle, and it ended with %v:\n%s", err, text)
	}
}

// cutOff cuts a node's power once a run has begun, by what it has said, and gives all that it said and how it ended.
func (v *virtual) cutOff(t *testing.T, cmd *exec.Cmd, node string, begun func(text string) bool) (string, error) {
	t.Helper()
	said := filepath.Join(t.TempDir(), "said")
	out, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	text := func() string {
		all, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	for deadline := time.Now().Add(3 * time.Minute); !begun(text()); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never began: %s", text())
		}
	}
	v.rig(t, "reset", node)
	select {
	case err := <-ended:
		return text(), err
	case <-time.After(6 * time.Minute):
		t.Fatalf("it does not end:\n%s", text())
		return "", nil
	}
}

// virtualNodes trusts no input: a text that is not a number of machines is reported, and read as 0.
func TestVirtualNodes(t *testing.T) {
	state := t.TempDir()
	file := filepath.Join(state, "run", "nodes")
	if n, err := rigfile.VirtualNodes(state); n != 2 || err != nil {
		t.Errorf("no file: %d, %v", n, err)
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"4\n": 4, "8": 8, "2": 2, "1": 0, "9": 0, "-3": 0, "": 0, "four": 0, "4 4": 0, strings.Repeat("4", 99): 0,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := rigfile.VirtualNodes(state)
		if n != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
