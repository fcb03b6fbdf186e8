package sim

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/nodetest"
)

// alike are commands that a simulated node and the kernel of this machine are given one after the other, with two links
// of the same names and addresses. What they print and how they end is compared, so that what is tried on the simulated
// rig is what a node does.
const alike = `ip addr add 192.168.100.10/24 dev enp1s0f0np0
ip addr replace 192.168.100.10/24 dev enp1s0f0np0
ip addr add 192.168.100.10/33 dev enp1s0f0np0
ip addr add 192.168.100.10/24 dev nope
ip addr del 10.9.9.9/24 dev enp1s0f0np0
ip -4 -br addr show dev enp1s0f0np0
ip addr add 192.168.100.20/24 dev enp1s0f0np0
ip -4 -br addr show dev enp1s0f0np0
ip addr add 10.7.0.1/16 brd + dev enp1s0f0np0
ip -4 -o addr show dev enp1s0f0np0
ip -4 route show dev enp1s0f0np0
ip addr del 192.168.100.10/24 dev enp1s0f0np0
ip -4 -br addr show dev enp1s0f0np0
ip -4 route show dev enp1s0f0np0
ip addr flush dev enp1s0f0np0
ip -4 route show dev enp1s0f0np0
ip addr add 192.168.100.10/24 dev enp1s0f0np0
ip addr add 192.168.100.30/24 dev enp1s0f1np1
ip -4 route show 192.168.100.0/24
ip route replace 192.168.100.0/24 dev enp1s0f1np1 proto kernel scope link src 192.168.100.30
ip route replace 192.168.100.0/24 dev enp1s0f0np0 proto kernel scope link src 192.168.100.10
ip route append 192.168.100.0/24 dev enp1s0f1np1 proto kernel scope link src 192.168.100.30
ip route add 192.168.100.0/24 dev enp1s0f1np1 metric 9
ip route add 192.168.100.0/24 dev enp1s0f1np1 metric 9
ip route change 192.168.100.0/24 dev enp1s0f0np0 metric 9
ip route change 192.168.100.0/24 dev enp1s0f0np0 metric 10
ip -4 route show 192.168.100.0/24
ip route del 192.168.100.0/24 metric 9
ip route del 192.168.100.0/24 metric 9
ip addr del 192.168.100.30/24 dev enp1s0f1np1
ip -4 route show dev enp1s0f1np1
ip route add 10.50.0.0/16 via 192.168.100.1
ip route add 10.50.0.0/16 via 192.168.77.1
ip route add 10.51.0.0/16 via 192.168.77.1 dev enp1s0f0np0
ip route add 10.51.0.0/16 via 192.168.77.1 dev enp1s0f0np0 onlink
ip route add 10.52.0.0/16 dev enp1s0f0np0 src 10.1.1.1
ip route add 10.52.0.5/16 dev enp1s0f0np0
ip route add 10.53.0.0/16 dev nope
ip route add 10.54.0.0/16 dev enp1s0f0np0 table 42
ip route show table 42
ip -4 route show dev enp1s0f0np0
ip route get 10.50.1.1 | head -n 1
ip route get 192.168.100.10 | head -n 1
ip link set enp1s0f0np0 down
ip -4 route show dev enp1s0f0np0
ip route add 10.55.0.0/16 dev enp1s0f0np0
ip -4 -br addr show dev enp1s0f0np0
ip link set enp1s0f0np0 up
ip -4 route show dev enp1s0f0np0
ip addr add fd00::10/64 dev enp1s0f0np0 nodad
ip addr add fd00::10/64 dev enp1s0f0np0 nodad
ip addr add fd00::20/64 dev enp1s0f0np0 nodad
ip addr add fd01::10/64 dev enp1s0f0np0 nodad
ip -6 -br addr show dev enp1s0f0np0 scope global
ip -6 route show dev enp1s0f0np0 proto kernel
ip addr del fd00::99/64 dev enp1s0f0np0
ip -6 route add fd02::/64 via fd00::1
ip -6 route add fd02::/64 via fd00::1
ip -6 route show fd02::/64
ip -6 route del fd02::/64
ip -6 route del fd02::/64
ip link set enp1s0f0np0 down
ip -6 -br addr show dev enp1s0f0np0 scope global
ip -6 route show dev enp1s0f0np0
ip link set enp1s0f0np0 up
ip -6 -br addr show dev enp1s0f0np0 scope global
ip neigh add 192.168.100.7 lladdr 02:00:00:00:00:07 dev enp1s0f0np0 nud permanent
ip neigh add 192.168.100.7 lladdr 02:00:00:00:00:07 dev enp1s0f0np0 nud permanent
ip neigh show nud permanent
ip neigh del 192.168.100.7 dev enp1s0f0np0
ip neigh del 192.168.100.7 dev enp1s0f0np0
ip link set enp1s0f0np0 mtu 9000
cat /sys/class/net/enp1s0f0np0/mtu
ip link set enp1s0f0np0 mtu 50
ip link set enp1s0f0np0 mtu 99999
ip link set nope up
ip link del nope
ip link set enp1s0f0np0 master nope
ip link set enp1s0f0np0 nomaster
ip link show dev nope
ip addr show dev nope
ip rule show
ip addr add 10.3.0.1/24 dev enp1s0f1np1 valid_lft 4000 preferred_lft 3000
ip addr add 10.4.0.1/24 dev enp1s0f1np1
ip -4 -br addr show dev enp1s0f1np1 dynamic
ip -4 -br addr show dev enp1s0f1np1 permanent
ip -4 -br addr show dev enp1s0f1np1 to 10.4.0.1
ip -4 -br addr show dev enp1s0f1np1 to 10.0.0.0/8
ip -o -4 addr show dev enp1s0f1np1 permanent
ip addr change 10.4.0.1/24 dev enp1s0f1np1 valid_lft 100 preferred_lft 100
ip addr add 10.4.1.1/24 dev enp1s0f1np1 preferred_lft 0
ip addr add 10.4.2.1/24 dev enp1s0f1np1 valid_lft 4000 preferred_lft 0
ip addr add 10.4.3.1/24 dev enp1s0f1np1 valid_lft 0 preferred_lft 0
ip addr add 10.4.3.1/24 dev enp1s0f1np1 valid_lft 5
ip addr add fd05::1/64 dev enp1s0f1np1 nodad preferred_lft 0
ip addr add fd05::2/64 dev enp1s0f1np1 nodad preferred_lft 5000
ip addr show dev enp1s0f1np1 scope global | grep inet
ip addr show dev enp1s0f1np1 to 10.4.1.1 | grep -v BROADCAST | grep -v ether
ip -6 addr show dev enp1s0f1np1 to fd05::1 | grep -v BROADCAST
ip -j addr show dev enp1s0f1np1 to 10.4.1.1 | grep -o 10.4.1.1.*preferred_life_time[^,]*[0-9]
ip -j addr show dev enp1s0f1np1 to fd05::1 | grep -o fd05::1.*preferred_life_time[^,]*[0-9]
ip addr replace 10.4.1.1/24 dev enp1s0f1np1
ip addr replace fd05::1/64 dev enp1s0f1np1
ip addr replace fd05::2/64 dev enp1s0f1np1 preferred_lft 0
ip addr show dev enp1s0f1np1 scope global | grep inet
ip addr show dev enp1s0f1np1 to 10.4.1.1 | grep -v BROADCAST | grep -v ether
ip -6 addr show dev enp1s0f1np1 to fd05::1 | grep -v BROADCAST
ip addr del 10.4.1.1/24 dev enp1s0f1np1
ip addr del 10.4.2.1/24 dev enp1s0f1np1
ip addr del fd05::1/64 dev enp1s0f1np1
ip addr del fd05::2/64 dev enp1s0f1np1
ip -4 -br addr show dev enp1s0f1np1 permanent
ip addr change 10.4.0.9/24 dev enp1s0f1np1
ip -4 -br addr show dev enp1s0f1np1
ip addr replace 10.5.0.1/24 brd + scope link dev enp1s0f1np1
ip -o -4 addr show dev enp1s0f1np1 scope link
ip -4 route show dev enp1s0f1np1 scope link
ip -4 route show table local dev enp1s0f1np1
ip route add default via 10.4.0.254 metric 50
ip route add default via 10.4.0.254 dev enp1s0f1np1 metric 51 src 10.4.0.1
ip route show default dev enp1s0f1np1
ip route get 203.0.113.1 | head -n 1
ip route del default metric 50
ip route del default dev enp1s0f1np1
ip route del default dev enp1s0f1np1
ip -j neigh show dev enp1s0f1np1 nud permanent
ip route add 10.54.0.0/16 dev enp1s0f1np1 table 42
ip route flush table 42
ip route show table 42
ip neigh replace 10.4.0.7 lladdr 02:00:00:00:00:07 dev enp1s0f1np1 nud permanent
ip neigh replace 10.4.0.7 lladdr 02:00:00:00:00:08 dev enp1s0f1np1 nud permanent
ip neigh show dev enp1s0f1np1 nud permanent
ip -j neigh show dev enp1s0f1np1 nud permanent
ip neigh flush dev enp1s0f1np1 nud permanent
ip neigh show dev enp1s0f1np1 nud permanent
ip link set enp1s0f1np1 address 02:00:00:00:00:99
cat /sys/class/net/enp1s0f1np1/address
ip link set enp1s0f1np1 address 01:00:00:00:00:99
ip link set enp1s0f1np1 address nonsense
ip link set enp1s0f1np1 mtu many
ip addr add 10.4.0.256/24 dev enp1s0f1np1
ip addr add 10.4.0.77/24
ip route add 10.4.0.0/33 dev enp1s0f1np1
ip bogus
ip -bogus addr
ip addr flush dev nope
ip addr flush dev enp1s0f0np0 scope global
ip -4 route show dev enp1s0f0np0
ip -4 -br addr show dev enp1s0f0np0`

// ofMoment is what differs by nothing that a command did.
var ofMoment = regexp.MustCompile(`\b[0-9]+: |@\S+| uid \d+|\s+$`)

var spaces = regexp.MustCompile(` +`)

func TestIPAsTheKernel(t *testing.T) {
	t.Parallel()
	n := nodetest.NewNetns(t)
	n.Sh(`for d in enp1s0f0np0 enp1s0f1np1; do
  ip link add $d type veth peer name far$d
  ip link set $d up
  ip link set far$d up
done
echo 1 >/proc/sys/net/ipv4/conf/all/promote_secondaries # as systemd sets it`)
	if out, _ := n.Try("ip addr add 127.0.0.1/8 dev lo"); !strings.Contains(out, "already assigned") {
		t.Skipf("this kernel has other words than a Spark's: %s", out)
	}
	b := newBench(t, Options{})
	b.root("spark-01", `ip addr flush dev enp1s0f0np0 scope global
ip addr flush dev enp1s0f1np1 scope global`)
	say := func(s string) string { return spaces.ReplaceAllString(ofMoment.ReplaceAllString(s, ""), " ") }
	for command := range strings.SplitSeq(alike, "\n") {
		cmd := n.Command("sh", "-c", command)
		var out, complaint strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &complaint
		real := reply{code: 0}
		if err := cmd.Run(); err != nil {
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatal(err)
			}
			real.code = exit.ExitCode()
		}
		real.out, real.err = say(out.String()), say(complaint.String())
		got := b.try("spark-01", "sudo sh -c '"+command+"'")
		got.out, got.err = say(got.out), say(got.err)
		if got != real {
			t.Errorf("%s\n  the kernel: exit %d %q %q\n  simulated:  exit %d %q %q", command, real.code, real.out, real.err,
				got.code, got.out, got.err)
		}
	}
}
