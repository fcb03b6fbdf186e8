package change_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/steps/change"
)

func look(t *testing.T, n nodetest.Netns) change.State {
	t.Helper()
	s, err := change.Parse(n.Sh(change.Capture))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// node is a namespace with two rails and a management interface. Bonds need a
// kernel with the module: the virtual rig has them.
func node(t *testing.T) nodetest.Netns {
	n := nodetest.NewNetns(t)
	n.Sh(`ip link add rail0 type veth peer name far0
ip link add rail1 type veth peer name far1
ip link add mgmt type veth peer name farm
for d in rail0 rail1 mgmt far0 far1 farm; do ip link set $d up; done
# The kernel gives a link its own address and the route to it in its own time.
for d in rail0 rail1 mgmt far0 far1 farm; do
  until ip -6 route show dev $d | grep -q '^fe80::/64'; do sleep 0.05; done
done
ip addr add 192.168.100.10/24 brd + dev rail0
ip addr add 192.168.200.10/24 dev rail1 noprefixroute
ip addr add 192.168.201.10/32 dev rail1 valid_lft 4000 preferred_lft 3000
ip addr add 192.168.100.99/24 dev rail0
ip addr add fd00::10/64 dev rail0 nodad
ip addr add 192.168.202.10/32 dev rail1 preferred_lft 0
ip addr add fd03::10/64 dev rail1 nodad preferred_lft 0
ip addr add fd03::11/64 dev rail1 nodad preferred_lft 5000
ip addr add 10.9.0.2/24 dev mgmt
ip route add default via 10.9.0.1 dev mgmt
ip route add 10.50.0.0/16 via 192.168.100.1 dev rail0 metric 77
ip route add 192.168.200.0/24 dev rail1 proto kernel scope link src 192.168.200.10 metric 100
ip route add 10.60.0.0/16 dev rail1 table 42
ip -6 route add fd01::/64 via fd00::1 dev rail0
ip route add 10.70.0.0/16 via 172.16.0.1 dev rail0 onlink
ip rule add from 192.168.100.10 lookup 42 pref 1000
ip rule add from all fwmark 0x7 oif rail1 lookup 42 pref 1001
ip -6 rule add iif rail0 lookup 43 pref 1002
ip rule add from 10.9.0.2 lookup 44 pref 1003
ip neigh add 192.168.100.7 lladdr 02:00:00:00:00:07 dev rail0 nud permanent
ip link set rail1 mtu 4200`)
	return n
}

// TestBack changes what can be changed and goes back, twice.
func TestBack(t *testing.T) {
	set := []string{"rail0", "rail1", "made0", "br9"}
	for name, damage := range map[string]string{
		"nothing": "true",
		"MTU":     "ip link set rail0 mtu 9000; ip link set rail1 mtu 1500",
		"addresses": "ip addr flush dev rail0;" +
			" ip addr add 10.1.1.1/24 dev rail0; ip addr add fd09::1/64 dev rail1",
		"one address":          "ip addr del 192.168.100.10/24 dev rail0",
		"preferred again":      "ip addr replace 192.168.202.10/32 dev rail1; ip addr replace fd03::10/64 dev rail1 nodad",
		"a link's own address": "ip -6 addr flush dev rail0 scope link",
		"how it is made":       "ip link set rail0 addrgenmode none; ip link set rail0 down; ip link set rail0 up",
		"down":                 "ip link set rail0 down; ip link set rail1 down",
		"MAC":                  "ip link set rail0 down; ip link set rail0 address 02:11:22:33:44:55; ip link set rail0 up",
		"routes":               "ip route del 10.50.0.0/16; ip route flush table 42; ip -6 route del fd01::/64",
		"rules":                "ip rule del pref 1000; ip rule del pref 1001; ip -6 rule del pref 1002",
		"a route on the link":  "ip route del 10.70.0.0/16",
		"neighbours":           "ip neigh flush all nud permanent",
		"a master": "ip link add br9 type bridge; ip link set br9 up; ip addr flush dev rail0;" +
			" ip link set rail0 master br9; ip link set rail1 master br9; ip addr add 192.168.100.10/24 dev br9",
		"a new link": "ip link add made0 type veth peer name made1; ip addr add 192.168.55.1/24 dev made0",
		"half of a bond": "ip addr flush dev rail0; ip link set rail0 down;" +
			" ip link set rail0 address 02:99:00:00:00:01",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node(t)
			before := look(t, n)
			n.Sh(damage)
			damaged := look(t, n)
			if diff := change.Differences(before, damaged, all); (diff == nil) != (name == "nothing") {
				t.Errorf("the damage shows as %q", diff)
			}
			goBack(t, n, before, set)
		})
	}
}

// goBack goes back, twice.
func goBack(t *testing.T, n nodetest.Netns, before change.State, set []string) {
	t.Helper()
	back := change.Back(before, set)
	for range 2 {
		if out, err := n.Try(back); err != nil || out != "" {
			t.Fatalf("going back: %v: %s", err, out)
		}
		after := look(t, n)
		delete(after.Links, "made1")
		if diff := change.Differences(before, after, all); diff != nil {
			t.Errorf("it is not back: %q", diff)
		}
	}
}

// An address of IPv6 that lasts, and is preferred for some time only, has about that time again.
func TestBackPreferredForSomeTime(t *testing.T) {
	t.Parallel()
	n := node(t)
	before := look(t, n)
	n.Sh("ip addr flush dev rail1")
	goBack(t, n, before, []string{"rail0", "rail1"})
	for _, a := range look(t, n).Links["rail1"].Addrs {
		if a.CIDR == "fd03::11/64" && (a.Dynamic || a.Preferred < 4900 || a.Preferred > 5000) {
			t.Errorf("it is preferred for %d s: %+v", a.Preferred, a)
		}
	}
}

// Routes of one network and metric over both rails, as where both have addresses of one subnet: the kernel takes them
// for one where a route replaces another, and refuses one that is there behind the other.
func TestBackInOneSubnet(t *testing.T) {
	const net, replaced = "192.168.100.0/24", "192.168.100.0/24 dev rail1 proto static scope link"
	for name, damage := range map[string]string{
		"nothing":          "true",
		"MTU":              "ip link set rail0 mtu 9000; ip link set rail1 mtu 1500",
		"the first down":   "ip link set rail0 down",
		"the second down":  "ip link set rail1 down",
		"both down":        "ip link set rail0 down; ip link set rail1 down",
		"the first gone":   "ip route del " + net + " dev rail0",
		"the second gone":  "ip route del " + net + " dev rail1",
		"both gone":        "ip route flush exact " + net,
		"both as one":      "ip route flush exact " + net + "; ip route add " + replaced,
		"another's, first": "ip route prepend " + net + " dev mgmt",
		"addresses":        "ip addr flush dev rail0; ip addr flush dev rail1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node(t)
			n.Sh(`ip addr add 192.168.100.11/24 dev rail1
ip route append default via 192.168.100.1 dev rail1
ip route add default via 192.168.100.2 dev rail0 metric 50
ip route append default via 192.168.100.2 dev rail1 metric 50
ip route append default via 192.168.100.3 dev rail1 metric 50
ip route append 10.50.0.0/16 via 192.168.100.1 dev rail1 metric 77 src 192.168.100.11`)
			before := look(t, n)
			mgmt := n.Sh("ip route show dev mgmt")
			n.Sh(damage)
			if name == "another's, first" {
				mgmt = n.Sh("ip route show dev mgmt")
				before.Routes = append([]change.Route{}, look(t, n).Routes...)
				n.Sh("ip route del " + net + " dev rail1")
			}
			goBack(t, n, before, []string{"rail0", "rail1"})
			if now := n.Sh("ip route show dev mgmt"); now != mgmt {
				t.Errorf("the routes of another interface were %q and are %q", mgmt, now)
			}
			if now := n.Sh("ip route show exact " + net); strings.Count(now, "\n") < 2 {
				t.Errorf("one of both is missing: %q", now)
			}
		})
	}
}

// TestNotOurs: after the probe, another user makes a link with a name that the change would use. Neither the
// change nor the rollback modifies or deletes that link.
func TestNotOurs(t *testing.T) {
	n := node(t)
	set := []string{"rail0", "made0"}
	before := look(t, n)
	begin, back := change.Begin(before, set), change.Back(before, set)
	dir := "cd " + t.TempDir() + "\n"
	n.Sh(dir + ": >waits")
	there := func(name string) bool { _, is := look(t, n).Links[name]; return is }
	for _, make := range []struct{ make, unmake string }{
		{"ip link add made0 type bridge", "ip link del made0"},
		{"ip link property add dev mgmt altname made0", "ip link property del dev mgmt altname made0"},
	} {
		n.Sh(make.make)
		if out, err := n.Try(dir + begin + "echo changed"); err == nil || !strings.Contains(out, "made0") ||
			strings.Contains(out, "changed") {
			t.Errorf("after %q the change begins: %v: %s", make.make, err, out)
		}
		was := there("made0")
		if out, err := n.Try(dir + back); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if there("made0") != was {
			t.Errorf("after %q it is taken away", make.make)
		}
		n.Sh(make.unmake)
	}
	// What the change itself makes is taken back, also without its folder.
	for _, where := range []string{dir, "cd " + t.TempDir() + "\n"} {
		n.Sh(where + begin + "ip link add made0 type bridge")
		if n.Sh(where + back); there("made0") {
			t.Error("what the change has made stays")
		}
	}
	if text := change.Begin(before, []string{"rail0"}); text != "" {
		t.Errorf("of links that are there: %q", text)
	}
}

// What a router has announced is the router's: it stays with its lifetimes where it is there, no one sets it where it
// is gone, and what came meanwhile is not a difference and is left alone.
func TestAnnounced(t *testing.T) {
	const announced = `ip addr add 2001:db8:7::5/64 dev rail0 valid_lft 3000 preferred_lft 2000 noprefixroute nodad
ip -6 route add 2001:db8:7::/64 dev rail0 proto ra metric 1024 expires 2900
ip -6 route add default via fe80::99 dev rail0 proto ra metric 1024 expires 1800`
	for name, c := range map[string]struct {
		before, damage string
		there          string // what of it is there afterwards; empty: nothing
	}{
		"it stays": {
			announced, "ip link set rail0 mtu 9000; ip addr del 192.168.100.99/24 dev rail0",
			"2001:db8:7::5/64",
		},
		"it is gone":    {announced, "ip -6 addr flush dev rail0 scope global; ip -6 route flush proto ra", ""},
		"it came since": {"true", announced, "2001:db8:7::5/64"},
		"another's": {announced, "ip -6 addr flush dev rail0; ip -6 addr add 2001:db8:8::5/64 dev rail0 valid_lft " +
			"3000 preferred_lft 2000 nodad", "2001:db8:8::5/64"},
		"set by hand":   {"true", "ip -6 addr add 2001:db8:9::5/64 dev rail0 nodad", ""},
		"with the link": {announced, "ip link set rail0 down", ""},
		"in another one": {
			announced, "ip link add br9 type bridge; ip addr flush dev rail0; ip link set rail0 master br9",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node(t)
			n.Sh(c.before)
			before := look(t, n)
			n.Sh(c.damage)
			for range 2 {
				if out, err := n.Try(change.Back(before, []string{"rail0", "rail1", "br9"})); err != nil || out != "" {
					t.Fatalf("going back: %v: %s", err, out)
				}
			}
			if diff := change.Differences(before, look(t, n), all); diff != nil {
				t.Errorf("it is not back: %q", diff)
			}
			var there []string
			for _, a := range look(t, n).Links["rail0"].Addrs {
				if strings.HasPrefix(a.CIDR, "2001:db8:") {
					there = append(there, a.CIDR)
					if !a.Dynamic {
						t.Errorf("%s has no lifetime any more", a.CIDR)
					}
				}
			}
			if got := strings.Join(there, " "); got != c.there {
				t.Errorf("of what routers announced there is %q, want %q", got, c.there)
			}
		})
	}
}

func all(string) bool { return true }

// What ip says of a link that is built on another, and of a route over two, is read.
func TestLookSeesWhatIsStacked(t *testing.T) {
	n := nodetest.NewNetns(t)
	n.Sh(`ip link add rail0 type veth peer name far0
ip link add rail1 type veth peer name far1
for d in rail0 rail1 far0 far1; do ip link set $d up; done
ip addr add 10.1.0.1/24 dev rail0
ip addr add 10.2.0.1/24 dev rail1
ip route add 10.7.0.0/16 nexthop via 10.1.0.2 dev rail0 nexthop via 10.2.0.2 dev rail1`)
	if why, _ := change.Refuse(look(t, n), []string{"rail1", "bond0"}); !strings.Contains(why,
		"the route to 10.7.0.0/16 uses rail1 and other interfaces") {
		t.Errorf("a route over two: %q", why)
	}
	n.Sh("ip route del 10.7.0.0/16")
	const gone = "ip route del 10.8.0.0/16"
	for _, odd := range []struct{ make, unmake, more string }{
		{"ip route add 10.8.0.0/16 via inet6 fe80::9 dev rail1", gone, "via"},
		{"ip route add 10.8.0.0/16 via inet6 fe80::9 dev rail1 table 42", gone + " table 42", "via"},
		{
			"ip nexthop add id 7 via 10.2.0.3 dev rail1; ip route add 10.8.0.0/16 nhid 7",
			gone, "nhid",
		},
		{"ip route add 10.8.0.0/16 via 10.2.0.2 dev rail1 mtu lock 1400 advmss 1300", gone, "metrics"},
		{"ip route add 10.8.0.0/16 tos 0x10 via 10.2.0.2 dev rail1", gone + " tos 0x10", "tos"},
	} {
		n.Sh(odd.make)
		before, listed := look(t, n), n.Sh("ip route")
		if why, _ := change.Refuse(before, []string{"rail1", "bond0"}); !strings.Contains(why,
			"10.8.0.0/16 over rail1 has settings that cannot be restored ("+odd.more+")") ||
			!strings.HasSuffix(why, "Remove it first: "+odd.unmake) {
			t.Errorf("%s: %q", odd.make, why)
		}
		if why, _ := change.Refuse(before, []string{"rail1"}); why != "" {
			t.Errorf("%s: a change that takes it nowhere: %q", odd.make, why)
		}
		// What takes it nowhere leaves it as it is.
		n.Sh("ip link set rail1 mtu 9000; " + change.Back(before, []string{"rail1"}))
		if now := n.Sh("ip route"); now != listed {
			t.Errorf("%s: it was %q and is %q", odd.make, listed, now)
		}
		n.Sh(odd.unmake)
		if diff := change.Differences(before, look(t, n), all); !slices.Contains(diff,
			"the route to 10.8.0.0/16 over rail1 ("+odd.more+") is gone") {
			t.Errorf("%s: that it is gone shows as %q", odd.make, diff)
		}
	}
	if out, err := n.Try("ip link add link rail0 name rail0.7 type vlan id 7"); err != nil {
		t.Skipf("this kernel has no VLANs: %s", out)
	}
	if why, _ := change.Refuse(look(t, n), []string{"rail0", "bond0"}); !strings.Contains(why,
		"rail0.7 (vlan) is built on rail0") {
		t.Errorf("a VLAN: %q", why)
	}
}

// TestBackTellsWhatFails is a rail that is gone: the rest goes back all the same.
func TestBackTellsWhatFails(t *testing.T) {
	n := node(t)
	before := look(t, n)
	back := change.Back(before, []string{"rail0", "rail1"})
	n.Sh("ip link del rail0; ip link set rail1 mtu 9000")
	out, err := n.Try(back)
	if err == nil || !strings.Contains(out, "rail0 is gone") {
		t.Errorf("going back: %v: %s", err, out)
	}
	diff := change.Differences(before, look(t, n), func(l string) bool { return l == "rail1" })
	if diff != nil {
		t.Errorf("rail1 is not back: %q", diff)
	}
}

// TestNames are quoted: an interface may be called nearly anything.
func TestNames(t *testing.T) {
	n := nodetest.NewNetns(t)
	n.Sh("ip link add 'a;$(id)' type veth peer name b; ip link set 'a;$(id)' up; ip addr add 10.1.0.1/24 dev 'a;$(id)'")
	before := look(t, n)
	back := change.Back(before, []string{"a;$(id)"})
	n.Sh("ip addr flush dev 'a;$(id)'; ip link set 'a;$(id)' mtu 1400")
	if out, err := n.Try(back); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := change.Differences(before, look(t, n), all); diff != nil {
		t.Errorf("%q", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for name, out := range map[string]string{
		"nothing":  "",
		"cut":      "== boot\nx\n== links\n[]\n",
		"no links": "== boot\nx\n== links\n== end\n",
		"no boot":  "== boot\n== links\n[{\"ifname\":\"lo\"}]\n== end\n",
		"no miimon": "== boot\nx\n== links\n[{\"ifname\":\"bond0\",\"linkinfo\":{\"info_kind\":\"bond\"," +
			"\"info_data\":{\"miimon\":\"x\"}}}]\n== end\n",
		"not JSON":  "== boot\nx\n== links\n[{\n== end\n",
		"bad route": "== boot\nx\n== links\n[{\"ifname\":\"lo\"}]\n== routes\nx\n== end\n",
	} {
		if s, err := change.Parse(out); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestBond reads a bond as iproute2 prints it and writes the rollback to it.
func TestBond(t *testing.T) {
	s, err := change.Parse(`== boot
b
== links
[{},{"ifname":"bond0","mtu":9000,"flags":["BROADCAST","UP"],"address":"52:54:00:00:00:01","linkinfo":{"info_kind":"bond","info_data":{"mode":"active-backup","miimon":100,"xmit_hash_policy":"layer2"}},
"addr_info":[{"family":"inet","local":"192.168.100.10","prefixlen":24,"scope":"global","label":"bond0"}]},
{"ifname":"rail0","mtu":9000,"flags":["UP"],"master":"bond0","address":"52:54:00:00:00:01","linkinfo":{"info_slave_kind":"bond","info_slave_data":{"state":"ACTIVE","perm_hwaddr":"52:54:00:00:00:02"}},"addr_info":[]}]
== routes
[{"type":"unicast","dst":"192.168.100.0/24","dev":"bond0","protocol":"kernel","scope":"link","prefsrc":"192.168.100.10"},{"type":"local","dst":"192.168.100.10","dev":"bond0","table":"local"}]
== modules
bonding
== end
`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Links["bond0"].Bond == nil || s.Links["rail0"].Master != "bond0" || len(s.Routes) != 1 || !s.Bonding {
		t.Errorf("%+v", s)
	}
	back := change.Back(s, []string{"rail0", "bond0"})
	for _, want := range []string{
		"make_bond bond0 active-backup 100 ''\n", "link rail0 '' 9000\n",
		"join rail0 bond0 52:54:00:00:00:02\n", "link bond0 52:54:00:00:00:01 9000\n",
		"try ip addr replace 192.168.100.10/24 scope global dev bond0\n",
	} {
		if !strings.Contains(back, want) {
			t.Errorf("the way back lacks %q:\n%s", want, back[strings.LastIndex(back, "}"):])
		}
	}
	if strings.Contains(back, "modprobe -r") {
		t.Error("it unloads a module that was there")
	}
	without := change.Back(change.State{Links: map[string]change.Link{}}, []string{"bond0"})
	if !slices.Contains(strings.Split(without, "\n"), "unmake bond0") {
		t.Errorf("it does not remove a bond that was not there:\n%s", without)
	}
}

// A rollback creates a bond again with all of its options. A bond with options that can't be written is not
// deleted.
func TestBondWithMore(t *testing.T) {
	look := func(data string) change.State {
		s, err := change.Parse("== boot\nb\n== links\n[{\"ifname\":\"bond0\",\"mtu\":9000,\"flags\":[\"UP\"],\"address\":" +
			"\"52:54:00:00:00:01\",\"linkinfo\":{\"info_kind\":\"bond\",\"info_data\":" + data + "}}]\n== end\n")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// As ip of iproute2 6.1 prints a bond that was given only its mode, MII interval and policy.
	const plain = `"mode":"802.3ad","miimon":100,"updelay":0,"downdelay":0,"peer_notify_delay":0,"use_carrier":1,` +
		`"arp_interval":0,"arp_missed_max":2,"arp_validate":null,"arp_all_targets":"any","primary_reselect":"always",` +
		`"fail_over_mac":"none","xmit_hash_policy":"layer3+4","resend_igmp":1,"num_peer_notif":1,"all_slaves_active":0,` +
		`"min_links":0,"lp_interval":1,"packets_per_slave":1,"ad_lacp_active":"on","ad_lacp_rate":"slow",` +
		`"ad_select":"stable","ad_info":{"aggregator":1},"tlb_dynamic_lb":1,"ad_actor_sys_prio":65535,` +
		`"ad_user_port_key":0,"ad_actor_system":"00:00:00:00:00:00"`
	more := strings.NewReplacer(`"updelay":0`, `"updelay":200`, `"slow"`, `"fast"`, `"num_peer_notif":1`,
		`"num_peer_notif":3`).Replace(plain)
	for data, want := range map[string]string{
		plain: "make_bond bond0 802.3ad 100 'layer3+4'\n",
		more:  "make_bond bond0 802.3ad 100 'layer3+4' updelay 200 num_grat_arp 3 lacp_rate fast\n",
	} {
		s := look("{" + data + "}")
		if back := change.Back(s, []string{"bond0"}); !strings.Contains(back, want) {
			t.Errorf("the way back lacks %q:\n%s", want, back[strings.LastIndex(back, "}"):])
		}
		if why, _ := change.Refuse(s, []string{"bond0"}); why != "" {
			t.Errorf("it is refused: %s", why)
		}
	}
	if diff := change.Differences(look("{"+more+"}"), look("{"+plain+"}"), all); len(diff) != 1 {
		t.Errorf("one that was told less differs by %q", diff)
	}
	two := look("{" + strings.Replace(plain, `"slow"`, `"fast type dummy"`, 1) + "}")
	if why, _ := change.Refuse(two, []string{"bond0"}); !strings.Contains(why, "(ad_lacp_rate)") {
		t.Errorf("a rate of several words: %q", why)
	}
	odd := look("{" + plain + `,"primary":"rail0"}`)
	if why, _ := change.Refuse(odd, []string{"bond0"}); !strings.Contains(why, "cannot be restored (primary)") {
		t.Errorf("with a primary: %q", why)
	}
}

// A bond that is there is made again where its mode, its miimon or its policy is another, and only then. No module is
// needed: the bond is a folder, and ip writes down what it is asked.
func TestBondMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		mode, miimon, policy string
		anew                 bool
	}{
		"it is as it was": {"802.3ad 4", "100", "layer3+4 1", false},
		"another mode":    {"balance-xor 2", "100", "layer3+4 1", true},
		"another miimon":  {"802.3ad 4", "0", "layer3+4 1", true},
		"another policy":  {"802.3ad 4", "100", "layer2 0", true},
	} {
		dir := t.TempDir()
		bonding := filepath.Join(dir, "net", "bond0", "bonding")
		if err := os.MkdirAll(bonding, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			filepath.Join(bonding, "mode"): c.mode + "\n", filepath.Join(bonding, "miimon"): c.miimon + "\n",
			filepath.Join(bonding, "xmit_hash_policy"): c.policy + "\n", filepath.Join(bonding, "slaves"): "\n",
			filepath.Join(dir, "ip"): "#!/bin/sh\necho \"$@\" >>" + filepath.Join(dir, "asked") + "\n",
		} {
			if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		before := change.State{Bonding: true, Links: map[string]change.Link{
			"bond0": {Name: "bond0", MTU: 1500, Bond: &change.Bond{Mode: "802.3ad", Miimon: 100, Policy: "layer3+4"}},
		}}
		back := strings.ReplaceAll(change.Back(before, []string{"bond0"}), "/sys/class/net", filepath.Join(dir, "net"))
		out, err := exec.Command("sh", "-c", "modprobe() { :; }\nPATH="+dir+":$PATH\n"+back).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		asked, err := os.ReadFile(filepath.Join(dir, "asked"))
		if err != nil {
			t.Fatal(err)
		}
		made := "link add bond0 type bond mode 802.3ad miimon 100 xmit_hash_policy layer3+4"
		if strings.Contains(string(asked), made) != c.anew {
			t.Errorf("%s: ip was asked\n%s", name, asked)
		}
	}
}

// What a change must not have touched, and a rollback must have restored, is compared link by link. Each way
// in which a link may differ is reported, and nothing that appears automatically.
func TestDifferences(t *testing.T) {
	link := change.Link{
		Name: "rail0", MTU: 1500, MAC: "02:00:00:00:00:01", Up: true,
		Addrs: []change.Addr{{CIDR: "10.0.0.1/24"}, {CIDR: "10.0.0.9/24"}},
	}
	for name, c := range map[string]struct {
		spoil func(*change.State)
		want  string // empty: no difference
	}{
		"nothing": {func(*change.State) {}, ""},
		"gone":    {func(s *change.State) { delete(s.Links, "rail0") }, "rail0 is gone"},
		"new":     {func(s *change.State) { s.Links["bond0"] = change.Link{Name: "bond0"} }, "bond0 is new"},
		"MTU": {
			func(s *change.State) { l := s.Links["rail0"]; l.MTU = 9000; s.Links["rail0"] = l },
			"MTU 9000 instead of 1500",
		},
		"MAC": {func(s *change.State) { l := s.Links["rail0"]; l.MAC = "02::2"; s.Links["rail0"] = l }, "MAC 02::2"},
		"down": {
			func(s *change.State) { l := s.Links["rail0"]; l.Up = false; s.Links["rail0"] = l },
			"rail0 is down",
		},
		"enslaved": {func(s *change.State) { l := s.Links["rail0"]; l.Master = "bond0"; s.Links["rail0"] = l }, "in bond0"},
		"a bond": {
			func(s *change.State) { l := s.Links["rail0"]; l.Bond = &change.Bond{}; s.Links["rail0"] = l },
			"a different bond",
		},
		"order": {func(s *change.State) { // the first is the source of what is sent
			l := s.Links["rail0"]
			l.Addrs = []change.Addr{l.Addrs[1], l.Addrs[0]}
			s.Links["rail0"] = l
		}, "in a different order: 10.0.0.9/24, 10.0.0.1/24"},
		"an address less": {
			func(s *change.State) { l := s.Links["rail0"]; l.Addrs = l.Addrs[:1]; s.Links["rail0"] = l },
			"lacks the address 10.0.0.9/24",
		},
		"deprecated": {func(s *change.State) { // nothing new is sent from it
			l := s.Links["rail0"]
			l.Addrs = []change.Addr{{CIDR: "10.0.0.1/24", Deprecated: true}, l.Addrs[1]}
			s.Links["rail0"] = l
		}, "10.0.0.1/24 deprecated"},
		"the kernel's own": {func(s *change.State) {
			l := s.Links["rail0"]
			l.Addrs = append(l.Addrs[:2:2], change.Addr{CIDR: "fe80::1/64", FromKernel: true})
			s.Links["rail0"] = l
		}, ""},
		"a route":     {func(s *change.State) { s.Routes[0].Metric = 7 }, "the route to 10.1.0.0/16 over rail0 is gone"},
		"a neighbour": {func(s *change.State) { s.Neighbours = nil }, "the fixed neighbour 10.0.0.2 on rail0 is gone"},
	} {
		state := func() change.State {
			return change.State{
				Links:      map[string]change.Link{"rail0": link},
				Routes:     []change.Route{{Dst: "10.1.0.0/16", Dev: "rail0"}},
				Neighbours: []change.Neighbour{{Dst: "10.0.0.2", Dev: "rail0"}},
			}
		}
		now := state()
		c.spoil(&now)
		got := strings.Join(change.Differences(state(), now, func(string) bool { return true }), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: told as %q, want %q", name, got, c.want)
		}
		if other := change.Differences(state(), now, func(string) bool { return false }); other != nil {
			t.Errorf("%s: a link that nobody asked about: %q", name, other)
		}
	}
}

// What an older release has kept and not taken back is read as it meant it.
func TestJournalOfAnOlderRelease(t *testing.T) {
	var s change.State
	err := json.Unmarshal([]byte(`{"Boot":"b","Links":{"a":{"Name":"a","Addrs":[{"CIDR":"fe80::1/64","V6":true,"Scope":"link","Own":true}]}}}`), &s)
	if err != nil || len(s.Links["a"].Addrs) != 1 || !s.Links["a"].Addrs[0].FromKernel {
		t.Errorf("%+v, %v", s, err)
	}
}

// Addresses that are more than a number of their own: their other end stands behind "peer", and the kernel's route to
// their network has a metric.
func TestBackOfAddressesWithMore(t *testing.T) {
	for name, damage := range map[string]string{
		"nothing":              "true",
		"gone":                 "ip addr flush dev rail0; ip addr flush dev rail1",
		"down":                 "ip link set rail0 down; ip link set rail1 down",
		"one of three of IPv6": "ip -6 addr del fd77::1/64 dev rail0",
		"as plain": "ip addr flush dev rail0; ip addr add 192.168.77.1/24 dev rail0;" +
			" ip addr add 10.8.0.1/32 dev rail0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node(t)
			n.Sh(`ip addr add 192.168.77.1/24 dev rail0 metric 200
ip addr add 10.8.0.1 peer 10.8.0.2/32 dev rail0
ip -6 addr add fd77::1/64 dev rail0 metric 333 nodad
ip -6 addr add fd08::1 peer fd08::2/128 dev rail0 nodad
ip -6 addr add fd78::1/64 dev rail0 nodad
ip addr add 10.8.1.1 peer 10.8.1.2/24 dev rail1`)
			show := func() string {
				// Whether an address is still tried, and how long a lease lasts, is of the moment.
				return n.Sh("for d in rail0 rail1; do ip -4 -br addr show dev $d; ip -6 -br addr show dev $d;" +
					" ip -4 -o addr show dev $d | grep -o metric.*scope; ip route show dev $d; ip -6 route show dev $d; done")
			}
			before, was := look(t, n), show()
			n.Sh(damage)
			goBack(t, n, before, []string{"rail0", "rail1"})
			if now := show(); now != was {
				t.Errorf("it was\n%s\nand is\n%s", was, now)
			}
		})
	}
}
