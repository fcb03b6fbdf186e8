package sim_test

import (
	"context"
	"net"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/undo"
)

func connect(t *testing.T, rig *sim.Rig, node string) runner.Node {
	n := runner.NewSSH(runner.SSHOptions{
		Name: node, Ask: runner.NoAsker{}, Target: runner.Target{Host: node, User: "nvidia", Port: 22},
		Dial:    func(ctx context.Context) (net.Conn, error) { return rig.Dial(ctx, node) },
		HostKey: ssh.FixedHostKey(rig.HostKey(node)),
	})
	t.Cleanup(func() { n.Close() })
	return n
}

func says(t *testing.T, n runner.Node, body string) string {
	t.Helper()
	text := ""
	exit, err := n.Run(t.Context(), runner.Script{Name: "look", Body: body, Root: true, Limit: time.Minute},
		func(l runner.Line) { text += l.Text + "\n" })
	if err != nil || !exit.OK() {
		t.Fatalf("%s: %v %v: %s", body, exit, err, text)
	}
	return text
}

// The guarded changes of runner/undo run on a simulated node as on a real one.
func TestGuardedChanges(t *testing.T) {
	t.Parallel()
	rig, err := sim.New(sim.Options{Speed: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rig.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n := connect(t, rig, "spark-01")
	g := undo.Guard{Node: n, ID: "one"}
	must(g.Arm(t.Context(), "echo before >/tmp/state", 1000*time.Second))
	if got := says(t, n,
		"systemctl is-active railbench-one.service; stat -c %a /run/railbench/one"); got != "active\n700\n" {
		t.Errorf("armed: %q", got)
	}
	if err := (undo.Guard{Node: n, ID: "two"}).Arm(t.Context(), "true", time.Second); err == nil {
		t.Error("two changes at once")
	}
	must(g.Start(t.Context(), "echo said; echo after >/tmp/state; exit 3"))
	r, err := g.Wait(t.Context())
	if must(err); r.Code != 3 || r.Output != "said\n" {
		t.Errorf("the change ended with %+v", r)
	}
	must(g.Confirm(t.Context()))
	if got := says(t, n, "systemctl is-active railbench-one.service; cat /tmp/state"); got != "inactive\nafter\n" {
		t.Errorf("confirmed: %q", got)
	}
	r, err = g.Back(t.Context(), "")
	if must(err); r.Code != 0 || says(t, n, "cat /tmp/state") != "before\n" {
		t.Errorf("going back ended with %+v", r)
	}
	must(g.Forget(t.Context()))
	if got := says(t, n, "ls /run/railbench 2>&1 || :"); got != "ls: cannot access '/run/railbench': No such file or "+
		"directory\n" {
		t.Errorf("the node keeps %q", got)
	}
	// Not confirmed, and the process that started the timer is gone: the change is ended, too.
	g.ID = "three"
	must(g.Arm(t.Context(), "echo back >/tmp/state", 20*time.Second))
	must(g.Start(t.Context(), "while :; do echo again >/tmp/state; sleep 0.1; done"))
	n.Close()
	other := connect(t, rig, "spark-01")
	got := says(t, other, "while [ ! -e /run/railbench/three/back.exit ]; do sleep 1; done; "+
		"cat /run/railbench/three/back.exit; sleep 2; cat /tmp/state; ps")
	if want := "0\nback\n"; len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("it went back: %q", got)
	}
}

// A change whose rollback fails, because a manager hangs just then, tries again without a connection.
func TestTheSwitchTriesAgain(t *testing.T) {
	t.Parallel()
	for back, want := range map[string]string{
		"echo x >>/tmp/tries; [ $(wc -l </tmp/tries) -ge 3 ]": "0\nx\nx\nx\n",
		"echo y >>/tmp/tries; exit 7":                         "7\ny\ny\ny\ny\n",
	} {
		rig, err := sim.New(sim.Options{Speed: 200})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rig.Close() })
		n := connect(t, rig, "spark-01")
		if err := (undo.Guard{Node: n, ID: "one"}).Arm(t.Context(), back, time.Second); err != nil {
			t.Fatal(err)
		}
		const dir = "/run/railbench/one"
		said := ""
		exit, err := n.Run(t.Context(), runner.Script{
			Name: "wait", Root: true, Limit: 10 * time.Minute,
			Body: "while [ ! -e " + dir + "/back.exit ]; do sleep 1; done; cat " + dir + "/back.exit /tmp/tries",
		}, func(l runner.Line) { said += l.Text + "\n" })
		if err != nil || !exit.OK() || said != want {
			t.Errorf("%s: %v, %v: %q, want %q", back, err, exit, said, want)
		}
	}
}
