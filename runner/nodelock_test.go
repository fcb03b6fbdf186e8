package runner_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

// locksAs makes this program a railbench that locks this machine, for as long as its stdin.
const locksAs, claimsAt = "RAILBENCH_TEST_CLAIMS_AS", "RAILBENCH_TEST_CLAIMS_AT"

// TestClaimer is not a test: it is the other railbench, in a process of its own.
func TestClaimer(t *testing.T) {
	who := os.Getenv(locksAs)
	if who == "" {
		t.Skip("it is run by TestClaim")
	}
	n := runner.NewLocal("here", runner.NoAsker{})
	c, by, err := runner.LockOwner{Token: who, Who: who, At: os.Getenv(claimsAt)}.Lock(t.Context(), n)
	fmt.Printf("took %t by %q (%v)\n", c != nil, by, err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	n.Close()
}

// A claimer is another railbench.
type claimer struct {
	*exec.Cmd
	said string
}

func startClaimer(t *testing.T, who, at string) claimer {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestClaimer$", "-test.v")
	cmd.Env = append(os.Environ(), locksAs+"="+who, claimsAt+"="+at)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "took ") {
			return claimer{cmd, lines.Text()}
		}
	}
	t.Fatal("it has claimed nothing")
	return claimer{}
}

// TestClaim: one owner holds the lock of a node, and another one is informed who holds it. An owner that has
// ended holds it no more, however it ended.
func TestClaim(t *testing.T) {
	testform.NeedsFull(t, "waits for a missed heartbeat")
	t.Parallel() // it waits for a heart to be missed
	testform.Tool(t, "flock")
	at := t.TempDir() // not what other tests on this machine, and other railbenches, lock
	here := runner.NewLocal("here", runner.NoAsker{})
	defer here.Close()
	take := func(ctx context.Context, token string) (*runner.NodeLock, string) {
		t.Helper()
		c, by, err := runner.LockOwner{Token: token, Who: "me\n and I", At: at}.Lock(ctx, here)
		if err != nil {
			t.Fatal(err)
		}
		return c, by
	}
	// until takes it as soon as it is free: nothing but its holder's end frees it. What is locked
	// here is waited for by flock itself.
	until := func() *runner.NodeLock {
		t.Helper()
		for {
			if c, _ := take(t.Context(), "me"); c != nil {
				return c
			}
			if err := exec.CommandContext(t.Context(), "flock", at, "true").Run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// An owner of another lock on this machine is not waited for.
	if other := startClaimer(t, "carol", t.TempDir()); other.said != `took true by "" (<nil>)` {
		t.Fatal(other.said)
	}
	for name, end := range map[string]func(claimer) error{
		"killed":     func(c claimer) error { return c.Process.Kill() },
		"terminated": func(c claimer) error { return c.Process.Signal(syscall.SIGTERM) },
		// Its heart stands still: the node ends what it has there.
		"stopped": func(c claimer) error { return c.Process.Signal(syscall.SIGSTOP) },
	} {
		t.Run(name, func(t *testing.T) {
			other := startClaimer(t, "alice@laptop, ib-write-bw", at)
			if other.said != `took true by "" (<nil>)` {
				t.Fatal(other.said)
			}
			if c, by := take(t.Context(), "me"); c != nil || by != "alice@laptop, ib-write-bw" {
				t.Fatalf("claimed %t, by %q", c != nil, by)
			}
			if err := end(other); err != nil {
				t.Fatal(err)
			}
			until().Release()
		})
	}
	t.Run("released", func(t *testing.T) {
		mine, _ := take(t.Context(), "me")
		if other := startClaimer(t, "bob", at); other.said != `took false by "me and I" (<nil>)` {
			t.Error(other.said)
		}
		// A node may be in the rig twice, under two names.
		again, by := take(t.Context(), "me")
		if again == nil || by != "" {
			t.Fatalf("my own node is %q's", by)
		}
		mine.Release()
		if !mine.Lost() || again.Lost() {
			t.Error("released, and it is not known")
		}
		until().Release() // which is mine, too
		again.Release()
		if other := startClaimer(t, "bob", at); other.said != `took true by "" (<nil>)` {
			t.Error(other.said)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		until().Release()
		c, _ := take(ctx, "me")
		cancel()
		c.Release()
		until().Release()
	})
}
