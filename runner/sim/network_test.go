package sim

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// look is everything that a network's state shows in.
const look = `ip -j -d addr; ip -d addr; ip route; ip -j route show table all; ip -6 -j route show table all; ip -j neigh show nud permanent
cd /sys/class/net; for d in *; do [ -d $d ] && grep -H . $d/mtu $d/address $d/operstate $d/flags $d/carrier 2>/dev/null; done
ls /sys/class/net /sys/module /sys/devices/virtual/net; show_gids; lsmod; rdma link; ibv_devices
grep -H . /sys/class/infiniband/*/node_guid /sys/class/infiniband/*/sys_image_guid /sys/class/infiniband/*/ports/1/state`

// The tutorial's bond as its cell makes it, of rails that their manager has let go.
const makeBond = `set -e
nmcli device set enp1s0f0np0 managed no
nmcli device set enp1s0f1np1 managed no
modprobe bonding max_bonds=0
ip link add bond0 type bond mode %s miimon 100
%s
for d in enp1s0f0np0 enp1s0f1np1; do ip addr flush dev $d; ip link set $d down; ip link set $d master bond0; ip link set $d up; done
ip addr add 192.168.100.%d/24 dev bond0
ip link set bond0 up`

func (b *bench) root(node, script string) string {
	b.t.Helper()
	return b.must(node, "sudo sh -c '"+strings.ReplaceAll(script, "'", `'\''`)+"'")
}

func (b *bench) bond(mode, policy string) {
	b.t.Helper()
	if policy != "" {
		policy = "ip link set bond0 type bond xmit_hash_policy " + policy
	}
	for i, node := range b.Nodes() {
		b.root(node, fmt.Sprintf(makeBond, mode, policy, 10+i))
	}
}

// unbond goes back to the state before, as an exact rollback does.
func (b *bench) unbond() {
	b.t.Helper()
	for i, node := range b.Nodes() {
		b.root(node, fmt.Sprintf(`set -e
for d in enp1s0f0np0 enp1s0f1np1; do ip link set $d nomaster; done
ip link del bond0
for d in enp1s0f0np0=192.168.100.%[1]d enp1s0f1np1=192.168.200.%[1]d; do
	ip link set ${d%%%%=*} up
	ip addr replace ${d#*=}/24 brd + dev ${d%%%%=*}
	nmcli device set ${d%%%%=*} managed yes
done
modprobe -r bonding`, 10+i))
	}
}

// Whatever the mode, a bond that is made, used and unmade leaves no trace: not in
// ip's words, not in the GID tables, not in sysfs.
func TestBondAndBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mode, policy string }{
		{"balance-xor", "layer3+4"}, {"balance-rr", ""}, {"active-backup", ""}, {"802.3ad", "layer2+3"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{Seed: 2})
			var before []string
			for _, node := range b.Nodes() {
				before = append(before, b.must(node, look))
			}
			b.bond(c.mode, c.policy)
			if a, _ := b.iperf("192.168.100.10", "-t 3 -P 4"); a.End.Sent.Bits < 20e9 {
				t.Errorf("over the bond: %.3g bit/s", a.End.Sent.Bits)
			}
			b.unbond()
			for i, node := range b.Nodes() {
				if after := b.must(node, look); after != before[i] {
					t.Errorf("%s is not as it was:\n%s", node, difference(before[i], after))
				}
			}
		})
	}
}

func difference(a, b string) string {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			out = append(out, fmt.Sprintf("line %d", i))
			if i < len(was) {
				out = append(out, "- "+was[i])
			}
			if i < len(is) {
				out = append(out, "+ "+is[i])
			}
			if len(out) > 12 {
				break
			}
		}
	}
	return strings.Join(out, "\n")
}

// step is one command on a node as root, and what it answers.
type step struct {
	command string
	want    reply
}

func (b *bench) steps(node string, steps []step) {
	b.t.Helper()
	for _, s := range steps {
		got := b.try(node, "sudo sh -c '"+strings.ReplaceAll(s.command, "'", `'\''`)+"'")
		if got != s.want {
			b.t.Errorf("%s\n got %+v\nwant %+v", s.command, got, s.want)
		}
	}
}

// What the kernel says and does with a bond, in the words of Linux 6.1 and
// iproute2 6.1 on a machine with two links.
func TestBondAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.steps("spark-01", []step{
		{
			"ip link add bond0 type bond mode balance-xor miimon 100 xmit_hash_policy layer3+4; " +
				"cat /sys/class/net/bond0/bonding/mode /sys/class/net/bond0/bonding/xmit_hash_policy",
			reply{out: "balance-xor 2\nlayer3+4 1\n"},
		},
		{"ip link add bond0 type bond", reply{err: "RTNETLINK answers: File exists\n", code: 2}},
		{
			"ip link add bond1 type bond mode balance-xyz",
			reply{err: "Error: argument \"balance-xyz\" is wrong: invalid mode\n", code: 255},
		},
		{
			"ip link set bond0 up; ip link set bond0 type bond mode active-backup",
			reply{err: "Error: unable to set option because the bond is up.\n", code: 2},
		},
		{
			"ip link set bond0 down; ip link set enp1s0f0np0 master bond0",
			reply{err: "Error: Device can not be enslaved while up.\n", code: 2},
		},
		{
			"ip link set enp1s0f0np0 down; ip route show dev enp1s0f0np0; ip -br addr show enp1s0f0np0",
			reply{out: "enp1s0f0np0      DOWN           192.168.100.10/24 \n"},
		},
		{"ip link set enp1s0f0np0 master bond0; ip -br addr show enp1s0f0np0; ip route show dev enp1s0f0np0; " +
			"ip -br link show bond0", reply{out: "enp1s0f0np0      UP             192.168.100.10/24 \n" +
			"192.168.100.0/24 proto kernel scope link src 192.168.100.10 \nbond0            DOWN           4c:bb:47:2c:10:31 " +
			"<BROADCAST,MULTICAST,MASTER> \n"}},
		{
			"ip link set bond0 type bond mode active-backup",
			reply{err: "Error: unable to set option because the bond device has slaves.\n", code: 2},
		},
		{
			"ip link set bond0 type bond xmit_hash_policy nope",
			reply{err: "Error: argument \"nope\" is wrong: invalid xmit_hash_policy\n", code: 255},
		},
		{"ip link set bond0 mtu 9000; cat /sys/class/net/enp1s0f0np0/mtu", reply{out: "9000\n"}},
		{
			"ip link set enp1s0f1np1 down; ip link set enp1s0f1np1 master bond0; ip link set enp1s0f1np1 master bond0; " +
				"ip -d link show enp1s0f1np1 | head -3 | cut -c1-132",
			reply{out: "4: enp1s0f1np1: <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> mtu 9000 qdisc mq master bond0 state UP mode " +
				"DEFAULT group default qlen 1000\n    link/ether 4c:bb:47:2c:10:31 brd ff:ff:ff:ff:ff:ff permaddr " +
				"4c:bb:47:2c:10:32 promiscuity 0  allmulti 0 minmtu 68 maxmtu 9978 \n    bond_slave state ACTIVE mii_status UP " +
				"link_failure_count 0 perm_hwaddr 4c:bb:47:2c:10:32 queue_id 0 prio 0 addrgenmode eui64 num\n"},
		},
		{
			"cat /sys/class/infiniband/rocep1s0f1/ports/1/gids/0 /sys/class/infiniband/rocep1s0f1/ports/1/gid_attrs/ndevs/0 " +
				"/sys/class/infiniband/rocep1s0f1/ports/1/gid_attrs/ndevs/3; cat /sys/class/infiniband/rocep1s0f1/node_guid",
			reply{out: "fe80:0000:0000:0000:4ebb:47ff:fe2c:1031\nbond0\nenp1s0f1np1\n4cbb:4703:002c:1032\n"},
		},
		{
			"ip link set bond0 address 02:00:00:00:00:08; ip -br link | cut -d' ' -f1 >/dev/null; " +
				"cat /sys/class/net/bond0/address /sys/class/net/enp1s0f1np1/address",
			reply{out: "02:00:00:00:00:08\n02:00:00:00:00:08\n"},
		},
		{"ip link set bond0 up; ip -br addr show bond0", reply{out: "bond0            UP             fe80::ff:fe00:8/64 \n"}},
		{
			"ip link set enp1s0f1np1 nomaster; ip link set enp1s0f1np1 nomaster; ip -br addr show enp1s0f1np1; " +
				"cat /sys/class/net/enp1s0f1np1/mtu /sys/class/net/enp1s0f1np1/address",
			reply{out: "enp1s0f1np1      DOWN           192.168.200.10/24 \n1500\n4c:bb:47:2c:10:32\n"},
		},
		{
			"rmmod bonding; modprobe -r bonding; ls /sys/class/net; ip -br addr show enp1s0f0np0; rmmod bonding",
			reply{
				out: "enP2p1s0f0np0\nenP2p1s0f1np1\nenP7s7\nenp1s0f0np0\nenp1s0f1np1\nlo\n" +
					"enp1s0f0np0      DOWN           192.168.100.10/24 \n",
				err: "rmmod: ERROR: Module bonding is not currently loaded\n", code: 1,
			},
		},
		{"ip link del bond0", reply{err: "Cannot find device \"bond0\"\n", code: 1}},
	})
}

func TestAddressesAndRoutesAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.steps("spark-02", []step{
		{
			"ip addr add 192.168.100.20/24 dev enp1s0f0np0; ip addr add 10.1.1.1 dev enp1s0f0np0 label enp1s0f0np0:x; " +
				"ip addr add 10.2.2.2/24 dev enp1s0f0np0 noprefixroute valid_lft 4000 preferred_lft 4000; " +
				"ip addr show enp1s0f0np0 | grep -v lft",
			reply{out: `3: enp1s0f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    link/ether 4c:bb:47:2c:11:31 brd ff:ff:ff:ff:ff:ff
    inet 192.168.100.11/24 brd 192.168.100.255 scope global enp1s0f0np0
    inet 10.1.1.1/32 scope global enp1s0f0np0:x
    inet 10.2.2.2/24 scope global dynamic noprefixroute enp1s0f0np0
    inet 192.168.100.20/24 scope global secondary enp1s0f0np0
    inet6 fe80::4ebb:47ff:fe2c:1131/64 scope link 
`},
		},
		{
			"ip -4 -j addr show enp1s0f1np1",
			reply{out: `[{"ifindex":4,"ifname":"enp1s0f1np1","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,"qdisc":"mq","operstate":"UP","group":"default","txqlen":1000,"addr_info":[{"family":"inet","local":"192.168.200.11","prefixlen":24,"broadcast":"192.168.200.255","scope":"global","label":"enp1s0f1np1","valid_life_time":4294967295,"preferred_life_time":4294967295}]}]` + "\n"},
		},
		{"ip addr add 192.168.100.11/24 dev enp1s0f0np0", reply{err: "Error: ipv4: Address already assigned.\n", code: 2}},
		{
			"ip addr replace 192.168.100.11/24 dev enp1s0f0np0; ip -br -4 addr show dev enp1s0f0np0",
			reply{out: "enp1s0f0np0      UP             192.168.100.11/24 10.1.1.1/32 10.2.2.2/24 192.168.100.20/24 \n"},
		},
		{
			"ip addr del 192.168.100.11/24 dev enp1s0f0np0; ip route show dev enp1s0f0np0",
			reply{out: "192.168.100.0/24 proto kernel scope link src 192.168.100.20 \n"},
		},
		{
			"ip addr del 192.168.100.11/24 dev enp1s0f0np0",
			reply{err: "Error: ipv4: Address not found.\n", code: 2},
		},
		{"ip addr add 10.1.1.1/24", reply{err: "Not enough information: \"dev\" argument is required.\n", code: 1}},
		{"ip addr add 10.1.1.1/24 dev nope", reply{err: "Cannot find device \"nope\"\n", code: 1}},
		{
			"ip -4 addr flush dev enp1s0f0np0; ip -br addr show enp1s0f0np0; ip addr flush dev enp1s0f0np0; " +
				"ip -br addr show enp1s0f0np0",
			reply{out: "enp1s0f0np0      UP             fe80::4ebb:47ff:fe2c:1131/64 \nenp1s0f0np0      UP             \n"},
		},
		{
			"ip route add 10.50.0.0/16 via 192.168.100.1 dev enp1s0f0np0",
			reply{err: "Error: Nexthop has invalid gateway.\n", code: 2},
		},
		{
			"ip addr add 192.168.100.11/24 dev enp1s0f0np0; ip route add 10.50.0.0/16 via 192.168.100.1 dev enp1s0f0np0 " +
				"metric 77 proto static; ip route add 10.50.0.0/16 via 192.168.100.1 metric 77",
			reply{err: "RTNETLINK answers: File exists\n", code: 2},
		},
		{"ip route add 10.51.0.0/16 dev enp1s0f0np0 src 192.168.100.11 table 42; " +
			"ip route add 10.52.0.0/16 dev enp1s0f0np0; ip route add default via 192.168.100.2 metric 50 proto dhcp; " +
			"ip route; ip route show table 42", reply{out: `default via 192.168.100.2 dev enp1s0f0np0 proto dhcp metric 50 
default via 192.168.1.1 dev enP7s7 proto static metric 100 
10.50.0.0/16 via 192.168.100.1 dev enp1s0f0np0 proto static metric 77 
10.52.0.0/16 dev enp1s0f0np0 scope link 
192.168.1.0/24 dev enP7s7 proto kernel scope link src 192.168.1.102 
192.168.100.0/24 dev enp1s0f0np0 proto kernel scope link src 192.168.100.11 
192.168.102.0/24 dev enP2p1s0f0np0 proto kernel scope link src 192.168.102.11 
192.168.200.0/24 dev enp1s0f1np1 proto kernel scope link src 192.168.200.11 
192.168.202.0/24 dev enP2p1s0f1np1 proto kernel scope link src 192.168.202.11 
10.51.0.0/16 dev enp1s0f0np0 scope link src 192.168.100.11 
`}},
		{
			"ip -j -4 route show table all dev enp1s0f0np0",
			reply{out: `[{"dst":"10.51.0.0/16","table":"42","scope":"link","prefsrc":"192.168.100.11","flags":[]},{"dst":"default","gateway":"192.168.100.2","protocol":"dhcp","metric":50,"flags":[]},{"dst":"10.50.0.0/16","gateway":"192.168.100.1","protocol":"static","metric":77,"flags":[]},{"dst":"10.52.0.0/16","scope":"link","flags":[]},{"dst":"192.168.100.0/24","protocol":"kernel","scope":"link","prefsrc":"192.168.100.11","flags":[]},{"type":"local","dst":"192.168.100.11","table":"local","protocol":"kernel","scope":"host","prefsrc":"192.168.100.11","flags":[]},{"type":"broadcast","dst":"192.168.100.255","table":"local","protocol":"kernel","scope":"link","prefsrc":"192.168.100.11","flags":[]}]` + "\n"},
		},
		{"ip route replace 10.52.0.0/16 via 192.168.100.3; ip route show 10.52.0.0/16; ip route del 10.52.0.0/16; " +
			"ip route del 10.52.0.0/16", reply{
			out: "10.52.0.0/16 via 192.168.100.3 dev enp1s0f0np0 \n",
			err: "RTNETLINK answers: No such process\n", code: 2,
		}},
		// As of ip of iproute2 6.1 on Linux 6.18: the very same one gives way to itself alone.
		{"ip route add 10.53.0.0/16 via 192.168.100.3; ip route append 10.53.0.0/16 via 192.168.100.4; " +
			"ip route replace 10.53.0.0/16 via 192.168.100.4; ip route replace 10.53.0.0/16 via 192.168.100.3 && " +
			"ip route show 10.53.0.0/16; ip route del 10.53.0.0/16; ip route del 10.53.0.0/16", reply{
			out: "10.53.0.0/16 via 192.168.100.3 dev enp1s0f0np0 \n10.53.0.0/16 via 192.168.100.4 dev enp1s0f0np0 \n",
			err: "RTNETLINK answers: File exists\n",
		}},
		{
			"ip link set enp1s0f0np0 down; ip link set enp1s0f0np0 up; ip route show dev enp1s0f0np0; ip route show table 42",
			reply{out: "192.168.100.0/24 proto kernel scope link src 192.168.100.11 \n"},
		},
		{"ip route add 10.1.0.5/16 dev enp1s0f0np0", reply{err: "Error: Invalid prefix for given prefix length.\n", code: 2}},
		{"ip route add 10.1.0.0/16 dev nope", reply{err: "Cannot find device \"nope\"\n", code: 1}},
		{
			"ip neigh add 192.168.100.7 lladdr 02:00:00:00:00:07 dev enp1s0f0np0 nud permanent; " +
				"ip -j neigh show nud permanent; ip neigh del 192.168.100.7 dev enp1s0f0np0; " +
				"ip neigh del 192.168.100.7 dev enp1s0f0np0",
			reply{out: `[{"dst":"192.168.100.7","dev":"enp1s0f0np0","lladdr":"02:00:00:00:00:07","state":["PERMANENT"]}]` +
				"\n", err: "RTNETLINK answers: No such file or directory\n", code: 2},
		},
		{"ip link set enp1s0f0np0 mtu 9979", reply{err: "Error: mtu greater than device maximum.\n", code: 2}},
		{"ip link set enp1s0f0np0 address 02:11:22:33:44:55; ip -br link show enp1s0f0np0; " +
			"cat /sys/class/infiniband/rocep1s0f0/ports/1/gids/0", reply{out: "enp1s0f0np0      UP             " +
			"02:11:22:33:44:55 <BROADCAST,MULTICAST,UP,LOWER_UP> \nfe80:0000:0000:0000:0011:22ff:fe33:4455\n"}},
	})
}

// moved is what a test over the bond moved: over each of spark-01's two links, and
// over its bond.
func (b *bench) moved(options string) (a account, links [2]float64, bond float64) {
	b.t.Helper()
	read := func(dev string) float64 { return b.netdev("spark-01", dev, "rx_bytes") }
	names := []string{"enp1s0f0np0", "enp1s0f1np1"}
	before := read("bond0")
	for i, d := range names {
		links[i] = -read(d)
	}
	a, _ = b.iperf("192.168.100.10", options)
	for i, d := range names {
		links[i] += read(d)
	}
	return a, links, read("bond0") - before
}

func TestTCPOverEachMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, policy, options string
		low, high             float64 // Gb/s
		both                  bool
		resent                bool
	}{
		{"balance-xor", "layer3+4", "-t 5", 27.5, 28, false, false},
		{"balance-xor", "layer3+4", "-t 5 -P 4", 76.5, 77, true, false},
		{"balance-xor", "layer2", "-t 5 -P 4", 76.5, 77, false, false},
		{"active-backup", "", "-t 5 -P 4", 76.5, 77, false, false},
		{"balance-rr", "", "-t 5", 19, 25, true, true},
		{"balance-rr", "", "-t 5 -P 4", 50, 77, true, true},
	} {
		t.Run(c.mode+" "+c.policy+" "+c.options, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{Seed: 1})
			b.bond(c.mode, c.policy)
			a, links, bond := b.moved(c.options)
			if got := a.End.Sent.Bits / 1e9; !within(got, c.low, c.high) {
				t.Errorf("%.1f Gb/s, want %g to %g", got, c.low, c.high)
			}
			if both := min(links[0], links[1]) > 1e9; both != c.both {
				t.Errorf("the links moved %.3g", links)
			}
			if bond != links[0]+links[1] {
				t.Errorf("the bond moved %.0f, its links %.0f", bond, links)
			}
			if resent := a.End.Sent.Retransmits > 1000; resent != c.resent {
				t.Errorf("%d segments were sent again", a.End.Sent.Retransmits)
			}
		})
	}
}

// The active link of such a bond fails, and the other one takes over.
func TestFailover(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Seed: 1})
	b.bond("active-backup", "")
	want := `Bonding Mode: fault-tolerance (active-backup)
Primary Slave: None
Currently Active Slave: enp1s0f0np0
MII Status: up
MII Polling Interval (ms): 100
Up Delay (ms): 0
Down Delay (ms): 0
Peer Notification Delay (ms): 0

Slave Interface: enp1s0f0np0
MII Status: up
Speed: 200000 Mbps
Duplex: full
Link Failure Count: 0
Permanent HW addr: 4c:bb:47:2c:10:31
Slave queue ID: 0

Slave Interface: enp1s0f1np1
MII Status: up
Speed: 200000 Mbps
Duplex: full
Link Failure Count: 0
Permanent HW addr: 4c:bb:47:2c:10:32
Slave queue ID: 0
`
	if got := b.must("spark-01", "tail -n +3 /proc/net/bonding/bond0; grep -H . "+
		"/sys/class/net/bond0/bonding/active_slave /sys/class/net/*/bonding_slave/state | cut -d/ -f5-"); got != want+
		"bond0/bonding/active_slave:enp1s0f0np0\nenp1s0f0np0/bonding_slave/state:active\n"+
		"enp1s0f1np1/bonding_slave/state:backup\n" {
		t.Errorf("%s", got)
	}
	b.Inject("cable-unplugged")
	if got := b.must("spark-01", "grep -e Active -e Count -e Speed /proc/net/bonding/bond0; "+
		"ping -c 2 -i 0.2 192.168.100.11 | grep received"); got != "Currently Active Slave: enp1s0f1np1\nSpeed: Unknown\n"+
		"Link Failure Count: 1\nSpeed: 200000 Mbps\nLink Failure Count: 0\n2 packets transmitted, 2 received, "+
		"0% packet loss, time 212ms\n" {
		t.Errorf("after the cable: %s", got)
	}
	b.Clear("cable-unplugged")
	if _, links, _ := b.moved("-t 2"); links[0] > 1e6 || links[1] < 1e9 {
		t.Errorf("it did not stay with the link that works: %.3g", links)
	}
}

// The formats of the driver, line by line, are those of a real bond.
func TestBondFormats(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.bond("balance-xor", "layer3+4")
	real, err := os.ReadFile("../../steps/parse/testdata/bonding/balance-xor.txt")
	if err != nil {
		t.Fatal(err)
	}
	shape := func(text string) string {
		text = regexp.MustCompile(`v\S+`).ReplaceAllString(text, "V")
		text = regexp.MustCompile(`(Speed|Duplex|HW addr): .*`).ReplaceAllString(text, "$1")
		return text
	}
	if got := b.must("spark-01", "cat /proc/net/bonding/bond0"); shape(got) != shape(string(real)) {
		t.Errorf("%s", difference(shape(string(real)), shape(got)))
	}
}

// The steps as the tutorial has them leave the rails their addresses: everything
// goes into the first one, which takes nothing any more. Until they are flushed.
func TestBondAsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for i, node := range b.Nodes() {
		b.root(node, fmt.Sprintf(`modprobe bonding
ip link add bond0 type bond mode balance-xor
ip link set bond0 type bond miimon 100
ip link set bond0 type bond xmit_hash_policy layer3+4
for d in enp1s0f0np0 enp1s0f1np1; do ip link set $d down; ip link set $d master bond0; ip link set $d up; done
ip addr add 192.168.100.%d/24 dev bond0
ip link set bond0 up`, 10+i))
	}
	if got := b.must("spark-02", "ip route show 192.168.100.0/24"); got != "192.168.100.0/24 dev enp1s0f0np0 proto "+
		"kernel scope link src 192.168.100.11 \n192.168.100.0/24 dev bond0 proto kernel scope link src 192.168.100.11 \n" {
		t.Errorf("%s", got)
	}
	if got := b.try("spark-02", "ping -c 2 -W 1 192.168.100.10"); got.code != 1 ||
		!strings.Contains(got.out, "100% packet loss") {
		t.Errorf("%+v", got)
	}
	for _, node := range b.Nodes() {
		b.root(node, "for d in enp1s0f0np0 enp1s0f1np1; do ip addr flush dev $d; done")
	}
	b.must("spark-02", "ping -c 2 -i 0.2 192.168.100.10")
	// The GIDs are the bond's now, and not where they were.
	if got := b.must("spark-01", "cd /sys/class/infiniband/rocep1s0f0/ports/1; cat gids/2; "+
		"cat gids/5 gid_attrs/ndevs/5 gid_attrs/types/5"); got != "0000:0000:0000:0000:0000:0000:0000:0000\n"+
		"0000:0000:0000:0000:0000:ffff:c0a8:640a\nbond0\nRoCE v2\n" {
		t.Errorf("%s", got)
	}
	_, server := b.start("spark-01", "timeout 20 ib_write_bw -x 3")
	b.listening(0, rdma.PerftestPort)
	if c := b.try("spark-02", "timeout 20 ib_write_bw -x 3 192.168.100.10"); c.code != 1 ||
		!strings.Contains(c.err, "to RTR") {
		t.Errorf("%+v", c)
	}
	server()
	// The removal, too: the rails have no address and are down.
	b.root("spark-01", "ip link set bond0 down; ip link set enp1s0f0np0 nomaster; ip link set enp1s0f1np1 nomaster; "+
		"ip link delete bond0")
	if got := b.must("spark-01", "ip -br addr show enp1s0f0np0; ip -br addr show enp1s0f1np1; "+
		"show_gids rocep1s0f1 | tail -2"); got != "enp1s0f0np0      DOWN           \nenp1s0f1np1      DOWN           \n"+
		"n_gids_found=2\n\n" {
		t.Errorf("%s", got)
	}
}

// A bond at one end sends half of everything to an interface that doesn't want it.
func TestBondAtOneEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.root("spark-01", fmt.Sprintf(makeBond, "balance-xor", "", 10))
	for node, ip := range map[string]string{"spark-01": "192.168.100.11", "spark-02": "192.168.100.10"} {
		if got := b.try(node, "ping -c 2 -W 1 "+ip); got.code != 1 {
			t.Errorf("%s: %+v", node, got)
		}
	}
}

// Two tests at once in one script share what is behind them: one PCIe half, or
// the one cable of two halves.
func TestTwoPairsAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		devs, ips [2]string
		low, high float64
	}{
		{[2]string{"rocep1s0f0", "rocep1s0f1"}, [2]string{"192.168.100.10", "192.168.200.10"}, 104, 112},
		{[2]string{"rocep1s0f0", "roceP2p1s0f0"}, [2]string{"192.168.100.10", "192.168.102.10"}, 183, 196},
	} {
		b := newBench(t, Options{Seed: 4})
		_, servers := b.start("spark-01", fmt.Sprintf("ib_write_bw -d %s -p 18515 -D 10 --report_gbits & a=$!; "+
			"ib_write_bw -d %s -p 18516 -D 10 --report_gbits & wait $a && wait $!", c.devs[0], c.devs[1]))
		b.listening(0, 18515)
		b.listening(0, 18516)
		out := b.must("spark-02", fmt.Sprintf(`ib_write_bw -d %s -p 18515 -D 10 --report_gbits %s >/tmp/one & a=$!
ib_write_bw -d %s -p 18516 -D 10 --report_gbits %s >/tmp/two & b=$!
wait $a && wait $b && cat /tmp/one && cat /tmp/two`, c.devs[0], c.ips[0], c.devs[1], c.ips[1]))
		if s := servers(); s.code != 0 {
			t.Errorf("servers: %+v", s)
		}
		half := strings.Index(out[1:], "RDMA_Write") + 20
		cut := half + strings.Index(out[half:], "RDMA_Write")
		var rates [2]float64
		for i, text := range []string{out[:cut], out[cut:]} {
			if _, err := fmt.Sscan(fields(t, text)[3], &rates[i]); err != nil {
				t.Fatal(err)
			}
		}
		if sum := rates[0] + rates[1]; !within(sum, c.low, c.high) || !within(rates[0]/sum, 0.48, 0.52) {
			t.Errorf("%v: %.1f Gb/s", c.devs, rates)
		}
	}
}

// Addresses that two rails of one node have exchanged are as exchanged cables: an address is answered from
// the interface at the end of the cable, and RDMA gets no answer there.
func TestExchangedAddresses(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.root("spark-01",
		"ip addr del 192.168.102.10/24 dev enP2p1s0f0np0; ip addr del 192.168.202.10/24 dev enP2p1s0f1np1\n"+
			"ip addr add 192.168.202.10/24 dev enP2p1s0f0np0; ip addr add 192.168.102.10/24 dev enP2p1s0f1np1")
	b.must("spark-02", "ping -c 1 -I enP2p1s0f0np0 192.168.102.10")
	if found := b.must("spark-02", "ip neigh"); !strings.Contains(found,
		"192.168.102.10 dev enP2p1s0f0np0 lladdr "+b.macOf("enP2p1s0f0np0")) {
		t.Errorf("another interface answers: %s", found)
	}
	_, got := b.test("timeout 20 ib_write_bw -d roceP2p1s0f1 -x 3",
		"timeout 5 ib_write_bw -d roceP2p1s0f0 -x 5 192.168.102.10")
	if got.code != 124 {
		t.Errorf("RDMA is not lost: %+v", got)
	}
}
