package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
)

// TestDisturbed: what happens to a node is what its own tools report.
func TestDisturbed(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Speed: Max, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	n, err := r.Node("spark-02", NodeOptions{Ask: runner.NoAsker{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	ask := func(script string) string {
		t.Helper()
		out, err := runner.Text(context.Background(), n,
			runner.Script{Name: "ask", Body: script, Root: true, Limit: time.Minute})
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return out
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	const network = "ip -j addr | tr -d ' '; ip route; cat /sys/class/infiniband/*/ports/1/gids/*"
	before, boot := ask(network), ask("cat /proc/sys/kernel/random/boot_id")
	ask("ip link add bond0 type bond\nip link set enp1s0f0np0 down\nip link set enp1s0f0np0 master bond0\n" +
		"ip addr flush dev enp1s0f1np1\nip link set enP2p1s0f0np0 mtu 9000\necho x >/tmp/x\nsetsid sleep 4321 &\n")
	if err := r.Reboot("spark-02"); err == nil {
		t.Error("a node that is up was started anew")
	}
	must(r.Inject("peer-dead@spark-02"))
	must(r.Reboot("spark-02"))
	must(r.Clear("peer-dead@spark-02"))
	if after := ask(network); after != before {
		t.Errorf("after a reboot its network is\n%s\nand not\n%s", after, before)
	}
	if ask("cat /proc/sys/kernel/random/boot_id") == boot {
		t.Error("its boot is the one before")
	}
	if left := ask("ls /tmp; ps -e; cat /proc/uptime"); strings.Contains(left, "x\n") || strings.Contains(left, "4321") ||
		strings.Contains(left, "sleep") {
		t.Errorf("a reboot leaves %q", left)
	}

	must(r.NearEnd("spark-02", 4000))
	words := strings.TrimSpace(ask("cat /sys/class/infiniband/rocep1s0f0/ports/1/counters/port_xmit_data"))
	if words != "4611686018427386904" {
		t.Errorf("its counter is %s", words)
	}
	must(r.Fill("spark-02", true))
	if said := ask("echo y >/tmp/y || echo no; df -Pk / | tail -n 1"); !strings.Contains(said, "no\n") ||
		!strings.Contains(said, "100%") {
		t.Errorf("a full disk says %q", said)
	}
	must(r.Fill("spark-02", false))
	ask("echo y >/tmp/y")
	now := ask("date +%s")
	must(r.ShiftClock("spark-02", -time.Hour))
	if then := ask("date +%s"); then >= now {
		t.Errorf("an hour before %s it is %s", now, then)
	}
}
