package sim

import (
	"strings"
	"testing"
)

// What is set with tc does to TCP and to ping what it says, RDMA bypasses it, and it can be removed.
func TestQueues(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Seed: 2})
	const show = "tc qdisc show dev enp1s0f0np0"
	plain := b.must("spark-02", show)
	rate := func() float64 {
		a, _ := b.iperf("192.168.100.10", "-t 3")
		return a.End.Sent.Bits / 1e9
	}
	free := rate()
	for name, c := range map[string]struct {
		set, shows    string
		least, most   float64 // Gb/s
		lost, delayed bool    // of ping
	}{
		"a rate":         {"tbf rate 2gbit burst 1mb latency 50ms", "rate 2gbit", 1.8, 2.01, false, false},
		"a delay":        {"netem delay 20ms", "delay 20ms", 1, 1.5, false, true},
		"loss":           {"netem loss 20%", "loss 20%", 0.1, 5, true, false},
		"loss at random": {"netem limit 5000 loss random 20%", "loss 20%", 0.1, 5, true, false},
		"corruption":     {"netem corrupt 20%", "corrupt 20%", 0.1, 5, true, false},
		"both":           {"netem delay 20ms loss 20%", "delay 20ms loss 20%", 0, 0.1, true, true},
	} {
		b.must("spark-02", "sudo tc qdisc replace dev enp1s0f0np0 root "+c.set)
		if got := b.must("spark-02", show); !strings.Contains(got, c.shows) ||
			!strings.HasPrefix(got, "qdisc "+strings.Fields(c.set)[0]+" ") {
			t.Errorf("%s: %q", name, got)
		}
		if got := rate(); got < c.least || got > c.most || got > free/2 {
			t.Errorf("%s: TCP has %.3f Gb/s of %.1f", name, got, free)
		}
		out := b.try("spark-02", "ping -q -i 0.01 -c 100 192.168.100.10").out
		if lost := !strings.Contains(out, " 0% packet loss"); lost != c.lost {
			t.Errorf("%s: %s", name, out)
		}
		if delayed := strings.Contains(out, "min/avg/max/mdev = 20."); delayed != c.delayed {
			t.Errorf("%s: %s", name, out)
		}
	}
	for _, c := range []struct {
		script string
		want   reply
	}{
		{"tc qdisc del dev enp1s0f0np0 root", reply{err: "RTNETLINK answers: Operation not permitted\n", code: 2}},
		{
			"sudo tc qdisc add dev enp1s0f0np0 root netem loss 1%",
			reply{err: "Error: Exclusivity flag on, cannot modify.\n", code: 2},
		},
		{"sudo tc qdisc add dev enp1s0f0np0 root netem loss much", reply{err: "Illegal \"loss\"\n", code: 1}},
		{"sudo tc qdisc add dev enp1s0f0np0 root netem loss 101%", reply{err: "Illegal \"loss\"\n", code: 1}},
		{"sudo tc qdisc add dev enp1s0f0np0 root netem delay", reply{err: "Illegal \"delay\"\n", code: 1}},
		{
			"sudo tc qdisc add dev enp1s0f0np0 root tbf burst 1mb",
			reply{err: "Both \"rate\" and \"burst\" are required.\n", code: 1},
		},
		{"sudo tc qdisc add dev nothing root netem loss 1%", reply{err: "Cannot find device \"nothing\"\n", code: 1}},
		{
			"sudo tc qdisc add dev enp1s0f0np0 root fancy x",
			reply{err: "Unknown qdisc \"fancy\", hence option \"x\" is unparsable\n", code: 1},
		},
		{"sudo tc qdisc del dev enp1s0f0np0 root", reply{}},
		{"sudo tc qdisc del dev enp1s0f0np0 root", reply{err: "Error: Cannot delete qdisc with handle of zero.\n", code: 2}},
		{
			"sudo tc qdisc change dev enp1s0f0np0 root netem loss 1%",
			reply{err: "Error: Qdisc not found. To create specify NLM_F_CREATE flag.\n", code: 2},
		},
	} {
		if got := b.try("spark-02", c.script); got != c.want {
			t.Errorf("%s: %+v", c.script, got)
		}
	}
	if after := b.must("spark-02", show); after != plain || rate() < 0.9*free {
		t.Errorf("it is not as it was: %q and %q", after, plain)
	}
}
