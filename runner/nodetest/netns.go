package nodetest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
)

// A Netns is a network namespace of the test's own: a machine's network without
// the machine.
type Netns struct {
	Name string
	t    testing.TB
}

// NewNetns makes one that ends with the test. It is for the full form, as root.
func NewNetns(t testing.TB) Netns {
	t.Helper()
	ip := testform.Tool(t, "ip")
	if os.Getuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	n := Netns{Name: "rb-" + strings.ToLower(rand.Text()[:8]), t: t}
	if out, err := exec.Command(ip, "netns", "add", n.Name).CombinedOutput(); err != nil {
		t.Fatalf("make a network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(ip, "netns", "del", n.Name).Run() })
	n.Sh("ip link set lo up")
	return n
}

// Command runs a program in the namespace.
func (n Netns) Command(args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.Name}, args...)...)
}

// Try runs a script in the namespace and gives what it printed.
func (n Netns) Try(script string) (string, error) {
	out, err := n.Command("sh", "-c", script).CombinedOutput()
	return string(out), err
}

// Sh is Try for a script that has to succeed.
func (n Netns) Sh(script string) string {
	n.t.Helper()
	out, err := n.Try(script)
	if err != nil {
		n.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return out
}
