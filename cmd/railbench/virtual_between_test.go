package main

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// between are the things that stand between two real kernels, each put there with tc and ip, and
// who has to see it with which words. No check may PASS whose own evidence says otherwise.
func (v *virtual) between(t *testing.T) {
	const rail1, rail2 = "enp1s0f0np0", "enp1s0f1np1"
	noQueue := "sudo tc qdisc del dev " + rail1 + " root"
	for name, c := range map[string]struct {
		do, undo string // on spark-02
		finds    map[string][]string
	}{
		"loss": {
			"sudo tc qdisc add dev " + rail1 + " root netem loss 5%", noQueue,
			map[string][]string{
				"shaping":   {"netem", "loss 5%", rail1, "spark-02"},
				"path-loss": {"pings lost over rail 1 (enp1s0f0np0)"},
			},
		},
		"corruption": {
			"sudo tc qdisc add dev " + rail1 + " root netem corrupt 10%", noQueue,
			map[string][]string{"shaping": {"corrupt 10%"}, "path-loss": {"pings lost over rail 1 (enp1s0f0np0)"}},
		},
		"delay": {
			"sudo tc qdisc add dev " + rail1 + " root netem delay 300ms", noQueue,
			map[string][]string{"shaping": {"netem", "delay 300ms"}, "path-loss": {"ail 1 answers", "delays packets"}},
		},
		"a rate limit": {
			"sudo tc qdisc add dev " + rail1 + " root tbf rate 1mbit burst 4kb latency 400ms", noQueue,
			map[string][]string{"shaping": {"tbf", "rate 1Mbit"}},
		},
		"RoCE's port dropped": {
			"sudo tc qdisc add dev " + rail1 + " ingress && sudo tc filter add dev " + rail1 +
				" ingress protocol ip u32 match ip dport 4791 0xffff action drop",
			"sudo tc qdisc del dev " + rail1 + " ingress",
			map[string][]string{"shaping": {"tc filter of " + rail1, "drop"}},
		},
		"a blackhole": {
			"sudo ip route add blackhole 192.168.200.10/32", "sudo ip route del blackhole 192.168.200.10/32",
			map[string][]string{"routes": {"spark-02 cannot send to 192.168.200.10"}},
		},
		"a host route": {
			"sudo ip route add 192.168.200.10/32 dev " + rail1, "sudo ip route del 192.168.200.10/32 dev " + rail1,
			map[string][]string{"routes": {"over " + rail1 + " instead of " + rail2}},
		},
		"a full disk": {
			"sudo mount -t tmpfs -o size=64k tmpfs /var/tmp", "sudo umount /var/tmp",
			map[string][]string{"disk-space": {"/var/tmp on spark-02 has no space left"}},
		},
		"a clock that is a day ahead": {
			"sudo date -s @$(($(date +%s) + 86400)) >/dev/null", "sudo date -s @$(($(date +%s) - 86400)) >/dev/null",
			map[string][]string{"clocks": {"clock of spark-02 is 24 h ahead"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ownJournal(t)
			v.rig(t, "ssh", "2", c.do)
			t.Cleanup(func() { v.rig(t, "ssh", "2", c.undo) })
			for check, words := range c.finds {
				v.finds(t, check, words...)
			}
		})
	}
}

// crossed are the two addresses of a node on each other's rails: what a rail's ends learn of each
// other is wrong, and no check may call it right.
func (v *virtual) crossed(t *testing.T) {
	ownJournal(t)
	swap := func(a, b string) {
		v.rig(t, "ssh", "1", "sudo sh -c 'ip addr del "+a+"/24 dev enp1s0f0np0; ip addr del "+b+"/24 dev enp1s0f1np1; "+
			"ip addr add "+b+"/24 dev enp1s0f0np0; ip addr add "+a+"/24 dev enp1s0f1np1'")
	}
	swap("192.168.100.10", "192.168.200.10")
	t.Cleanup(func() { swap("192.168.200.10", "192.168.100.10") })
	r, _ := v.doctor(t, "arp-flux", "path-loss", "mtu-equal")
	for _, c := range r.Checks {
		if c.Verdict == steps.Pass && c.ID == "arp-flux" {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
		t.Logf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
	}
}
