package change

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

func managersOf(t *testing.T, node string) Managers {
	t.Helper()
	text, err := os.ReadFile("testdata/managers-" + node + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return ReadManagers(string(text))
}

// Two machines whose rails netplan gives to NetworkManager and to networkd.
func TestReadManagers(t *testing.T) {
	for node, want := range map[string]steps.Manager{
		"spark-01": {
			By: networkManager, State: "connected", Profile: "netplan-enp1s0f0np0",
			ID: "05ec54af-9f53-3227-867e-c7e879b25c37",
		},
		"spark-02": {
			By: networkd, State: "configured", Profile: "/run/systemd/network/10-netplan-enp1s0f0np0.network",
		},
	} {
		m := managersOf(t, node)
		held := steps.Netdev{Managers: m.Of("enp1s0f0np0")}.HeldBy()
		if len(held) != 1 || held[0] != want || m.Any != nil {
			t.Errorf("%s: %+v, and any: %+v", node, held, m.Any)
		}
		if got := m.Of("enp1s0f9"); got != nil {
			t.Errorf("%s: an interface that isn't there is managed by %+v", node, got)
		}
	}
}

// For a link that networkd leaves unmanaged, netplan's file is known, and no manager holds the link.
func TestPlanned(t *testing.T) {
	const file = "/run/systemd/network/10-netplan-rail0.network"
	m := ReadManagers("-- daemons\nsystemd-networkd.service loaded active running x\n-- networkd\nsystemd 255\n" +
		"-- links\n" +
		"  3 rail0 ether routable unmanaged\n  4 rail01 ether routable unmanaged\n" + file + "\n")
	for name, want := range map[string]string{"rail0": file, "rail01": ""} {
		if got := m.Of(name); len(got) != 1 || got[0].Profile != want || got[0].Holds() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What can't be asked to let go is refused before anything is touched, with its name.
func TestRefuse(t *testing.T) {
	const nm = "-- daemons\nNetworkManager.service loaded active running Network Manager\n-- NetworkManager\n"
	const nd = "-- daemons\nsystemd-networkd.service loaded active running x\n-- networkd\n"
	for name, c := range map[string]struct{ said, want string }{
		"nobody":         {"-- daemons\n-- ifupdown\n", ""},
		"NetworkManager": {nm + "running:1.42.4\n-- devices\nrail0:connected:u:p\n", ""},
		"it leaves it":   {nm + "running:0.9.8\n-- devices\nrail0:unmanaged::\n", ""},
		"no nmcli":       {nm + "sh: 3: nmcli: not found\n-- devices\n", "nmcli gets no answer (sh: 3: nmcli: not found)"},
		"it is at it": {nm + "running:1.46.0\n-- devices\nrail0:connecting (getting IP configuration):u:Wired " +
			"connection 2\n", "(connecting (getting IP configuration), profile Wired connection 2)"},
		"it shares": {
			nm + "running:1.50.0\n-- devices\nrail0:connected:u:p\n-- shared\n/run/nm-dnsmasq-rail0.pid\n",
			"(ipv4.method shared, profile p)",
		},
		"it shares another": {
			nm + "running:1.50.0\n-- devices\nrail0:connected:u:p\n-- shared\n/run/nm-dnsmasq-rail01.pid\n",
			"",
		},
		"a line of no use": {nm + "running:1.36.6\n-- devices\nWarning: nmcli (1.36.6) and NetworkManager (1.36.4) " +
			"versions don't match.\nrail0:connected:u:p\n", ""},
		"Ubuntu 25.04": {nm + "running:1.52.0\n-- devices\nlo:connected (externally):1:lo\n" +
			"rail0:connected:u:netplan-rail0\n", ""},
		"networkd, 249": {nd + "systemd 249 (249.11-0ubuntu3.16)\n-- links\n  1 lo    loopback carrier     unmanaged\n" +
			"  3 rail0 ether    routable    configured\n", ""},
		"networkd, 257": {nd + "systemd 257 (257.4-1ubuntu3)\n-- links\n  1 lo    loopback carrier  unmanaged\n" +
			"  3 rail0 ether    enslaved configured\n 12 wg0   wireguard off     n/a\n", ""},
		"networkd, a boot": {
			nd + "systemd 255 (255.4-1ubuntu8)\n-- links\n  3 rail0 ether    off      initialized\n",
			"has not set it up yet (initialized)",
		},
		"networkd, DHCP":    {nd + "systemd 255 (255.4-1ubuntu8)\n-- links\n  3 rail0 ether    degraded configuring\n", ""},
		"it is at another":  {nm + "running:1.46.0\n-- devices\nrail0:connected:u:p\nwlan0:connecting (prepare):u:w\n", ""},
		"it doesn't answer": {nm + "not running:\n-- devices\n", "nmcli gets no answer (not running:)"},
		"an old one":        {nm + "running:1.4.2\n-- devices\nrail0:connected:u:p\n", "release 1.4.2"},
		"a strange one":     {nm + "running:next\n-- devices\nrail0:connected:u:p\n", "release next"},
		"networkd":          {nd + "systemd 244 (244)\n-- links\n  3 rail0 ether routable configured\n", ""},
		"an old networkd":   {nd + "systemd 237\n-- links\n  3 rail0 ether routable configured\n", "release 237"},
		"no networkctl":     {nd + "sh: networkctl: not found\n-- links\n", "networkctl gets no answer"},
		"ConnMan":           {"-- daemons\nconnman.service loaded active running x\n", "managed by ConnMan"},
		"ConnMan, a process": {
			"-- daemons\nconnmand\n", "managed by ConnMan",
		},
		"netifd": {"-- daemons\nnetifd\n", "managed by netifd"},
		"a DHCP client": {
			"-- daemons\n-- clients\ndhclient rail9 rail0\n-- daemons\n",
			"rail0",
		},
		"one of another":   {"-- daemons\n-- clients\nudhcpc rail9\n-- daemons\n", ""},
		"one of any":       {"-- daemons\n-- clients\ndhclient\n-- daemons\n", "rail0 is managed by dhclient"},
		"dhcpcd":           {"-- daemons\ndhcpcd.service loaded active running x\n", "managed by dhcpcd"},
		"ifupdown, static": {"-- ifupdown\niface rail0 inet static\n", ""},
		"ifupdown, DHCP":   {"-- ifupdown\niface rail0 inet dhcp\n", "sudo ifdown rail0"},
		"another's DHCP":   {"-- ifupdown\niface rail9 inet dhcp\n", ""},
	} {
		s := State{Links: map[string]Link{"rail0": {Name: "rail0"}}, Managers: ReadManagers(c.said)}
		got, busy := Refuse(s, []string{"rail0", "bond0"})
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
		if want := slices.Contains([]string{"it is at it", "it doesn't answer", "networkd, a boot"}, name); busy != want {
			t.Errorf("%s: whether it is asked again: %t", name, busy)
		}
	}
	port := State{
		Links:    map[string]Link{"rail0": {Name: "rail0", Master: "br0"}, "br0": {Name: "br0", Kind: "bridge"}},
		Managers: ReadManagers(nm + "running:1.46.0\n-- devices\nrail0:connected:u:br0-port1\nbr0:connected:b:br0\n"),
	}
	if got, _ := Refuse(port, []string{"rail0"}); !strings.Contains(got,
		"rail0 is in br0 and managed by NetworkManager") {
		t.Errorf("a bridge's port: %q", got)
	}
	if got, _ := Refuse(port, []string{"rail0", "br0"}); got != "" {
		t.Errorf("with its bridge: %q", got)
	}
	odd := State{
		Links:    map[string]Link{"rail*": {Name: "rail*"}},
		Managers: ReadManagers(nm + "running:1.42.4\n-- devices\nrail*:connected:u:p\n"),
	}
	if got, _ := Refuse(odd, []string{"rail*"}); !strings.Contains(got, "its name has a character") {
		t.Errorf("a name that is a pattern to a manager: %q", got)
	}
}

// What stands on a rail and is none of the change's own is refused: it would not come back.
func TestRefuseStacked(t *testing.T) {
	links := func(more ...Link) map[string]Link {
		all := map[string]Link{
			"rail0": {Name: "rail0"}, "bond0": {Name: "bond0", Kind: "bond", Bond: &Bond{}},
			"mgmt": {Name: "mgmt"},
		}
		for _, l := range more {
			all[l.Name] = l
		}
		return all
	}
	vlan := Link{Name: "rail0.7", Kind: "vlan", Lower: "rail0"}
	for name, c := range map[string]struct {
		s    State
		set  []string
		want string
	}{
		"nothing":           {State{Links: links()}, []string{"rail0", "bond1"}, ""},
		"a VLAN, new bond":  {State{Links: links(vlan)}, []string{"rail0", "bond1"}, "rail0.7 (vlan) is built on rail0"},
		"a VLAN, MTU":       {State{Links: links(vlan)}, []string{"rail0"}, ""},
		"a VLAN of the set": {State{Links: links(vlan)}, []string{"rail0", "rail0.7", "bond1"}, ""},
		"a VLAN of another": {
			State{Links: links(Link{Name: "mgmt.7", Kind: "vlan", Lower: "mgmt"})},
			[]string{"rail0", "bond1"},
			"",
		},
		"a VLAN of the bond": {
			State{Links: links(Link{Name: "bond0.7", Kind: "vlan", Lower: "bond0"})},
			[]string{"rail0", "bond0"},
			"bond0.7 (vlan) is built on bond0",
		},
		"a container's": {
			State{Links: links(Link{Name: "macvlan0", Kind: "macvlan", Lower: "rail0"})},
			[]string{"rail0", "bond1"},
			"macvlan0 (macvlan)",
		},
		"a way over two": {
			State{Links: links(), Shared: []Route{{Dst: "10.7.0.0/16", Dev: "rail0"}}},
			[]string{"rail0", "bond1"},
			"10.7.0.0/16 uses rail0",
		},
		"a way over two, MTU": {
			State{Links: links(), Shared: []Route{{Dst: "10.7.0.0/16", Dev: "rail0"}}},
			[]string{"rail0"},
			"",
		},
	} {
		got, _ := Refuse(c.s, c.set)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
}

// Daemons and DHCP clients are found by their processes, whatever unit they are of. Here they are those of a
// namespace: no one else on the machine sees them.
func TestManagersByProcess(t *testing.T) {
	testform.NeedsRoot(t)
	bin := t.TempDir()
	for _, name := range []string{"connmand", "dhclient", "udhcpc", "NetworkManager"} {
		// What ends with its parent's namespace.
		const script = "#!/bin/sh\nwhile :; do sleep 1; done\n"
		if err := os.WriteFile(bin+"/"+name, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	parent := "#!/bin/sh\n" + bin + "/udhcpc -i lo &\nwait\n"
	if err := os.WriteFile(bin+"/NetworkManager", []byte(parent), 0o755); err != nil {
		t.Fatal(err)
	}
	for start, want := range map[string]string{
		":":                                  "",
		"connmand":                           "ConnMan",
		"dhclient -4 -v -pf /run/d.pid lo":   "dhclient",
		"dhclient -4 -v":                     "dhclient",
		"udhcpc -i nothere0":                 "udhcpc", // it is unknown what it means
		"unshare -n " + bin + "/connmand":    "",
		"unshare -n " + bin + "/dhclient lo": "",
		"NetworkManager":                     "NetworkManager", // whose client ends with it
	} {
		script := "export PATH=" + bin + ":$PATH; mount -t tmpfs tmpfs /run; " + start + " >/dev/null 2>&1 & sleep 0.5; " +
			scripts.Managers + "managers\n"
		out, err := exec.Command("unshare", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "sh", "-c",
			script).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		m := ReadManagers(string(out))
		var got []string
		for _, by := range m.Of("lo") {
			if by.By != "ifupdown" {
				got = append(got, by.By)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: lo is managed by %q, want %q: %s", start, got, want, out)
		}
	}
}

// rails is a node with two of them that one manager manages.
func rails(by, state, profile, id string) State {
	s := State{Links: map[string]Link{}, Managers: Managers{Links: map[string][]steps.Manager{}}}
	for i, name := range []string{"rail1", "rail0"} {
		addr := Addr{CIDR: "192.168.100.10/24", Scope: "global", Label: name}
		s.Links[name] = Link{Name: name, MTU: 1500, Up: true, Addrs: []Addr{addr}}
		s.Routes = append(s.Routes, Route{Dst: "192.168.100.0/24", Dev: name, Protocol: "kernel", Metric: 101 - i})
		s.Managers.Links[name] = []steps.Manager{{By: by, State: state, Profile: profile, ID: id + name}}
	}
	return s
}

// Take and Back use each manager's own commands, and name every interface that it manages.
func TestHands(t *testing.T) {
	set := []string{"rail0", "rail1", "bond0"}
	for name, c := range map[string]struct {
		state       State
		takes, back []string
		never       string
	}{
		"NetworkManager": {
			rails(networkManager, "connected", "p", "uuid-"),
			[]string{"nm_take rail0 rail1 || exit 1\n"},
			// The one with the lower metric had it because it was the first.
			[]string{
				"nm_take rail0 rail1 || exit 1\n", "nm_give rail0 connected uuid-rail0 100 || left=1\n",
				"nm_give rail1 connected uuid-rail1 101 || left=1\n",
			},
			"networkd",
		},
		"what somebody else set up": {
			rails(networkManager, "connected (externally)", "p", ""),
			[]string{"nm_take rail0 rail1 || exit 1\n"},
			[]string{"nm_give rail0 external rail0 100 || left=1\n"},
			"networkd",
		},
		"networkd": {
			rails(networkd, "configured", "/run/x.network", ""),
			// The bond's name may match a file of its own.
			[]string{"keep bond0 rail0 rail1 || exit 1\n", "networkd_take bond0 rail0 rail1 || exit 1\n", "put_again\n"},
			[]string{"networkd_take bond0 rail0 rail1 || exit 1\n", "networkd_give bond0 rail0 rail1 || left=1\n"},
			"nmcli",
		},
	} {
		take, back := Take(c.state.Managers, set), Back(c.state, set)
		for script, wants := range map[string][]string{take: c.takes, back: c.back} {
			at := 0
			for _, want := range wants {
				i := strings.Index(script[at:], want)
				if i < 0 {
					t.Errorf("%s: no %q, or not in its place:\n%s", name, want, script)
					break
				}
				at += i
			}
			if strings.Contains(script, c.never) {
				t.Errorf("%s: it speaks to %s", name, c.never)
			}
			if out, err := exec.Command("sh", "-n", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", name, out)
			}
		}
		if !strings.HasSuffix(take, ") || exit 1\n") {
			t.Errorf("%s: the change runs where nothing was let go:\n%s", name, take)
		}
	}
	free := rails(networkManager, "unmanaged", "", "")
	if out, err := exec.Command("sh", "-n", "-c", Back(free, set)).CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
	if take := Take(free.Managers, set); take != "" {
		t.Errorf("nobody has them, and yet:\n%s", take)
	}
	if back := Back(free, set); strings.Contains(back, "\nnm_give ") ||
		!strings.Contains(back, "\nnm_leave rail0 rail1 || :\n") {
		t.Errorf("the way back gives what nobody had, or leaves what was taken since:\n%s", back)
	}
	if back := Back(State{Links: free.Links}, set); strings.Contains(back, "nmcli") {
		t.Error("the way back asks a NetworkManager that isn't there")
	}
}

// A manager that has lost an interface, or has one that it hadn't, is a difference.
func TestManagersDiffer(t *testing.T) {
	before := rails(networkManager, "connected", "p", "uuid-")
	of := func(link string) bool { return link == "rail0" }
	for want, after := range map[string]State{
		"": before,
		"rail0 is not managed by NetworkManager any more": rails(networkManager, "unmanaged", "", ""),
		"rail0 is connected in NetworkManager with profile q instead of connected with p": rails(networkManager,
			"connected", "q", "other-"),
		"rail0 is disconnected in NetworkManager with profile none instead of connected with p": rails(networkManager,
			"disconnected", "", ""),
	} {
		got := strings.Join(Differences(before, after, of), "; ")
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if d := Differences(rails(networkd, "unmanaged", "", ""), rails(networkd, "configuring", "/f", ""), of); len(d) != 1 {
		t.Errorf("networkd has one that it hadn't: %q", d)
	}
	old := before
	old.Managers = Managers{}
	if d := Differences(old, rails(networkManager, "unmanaged", "", ""), of); d != nil {
		t.Errorf("an entry of an older release: %q", d)
	}
}

// A lease that was renewed with another address is the server's to give; one that is gone is
// a difference.
func TestLeases(t *testing.T) {
	lease := func(cidr string) State {
		l := Link{Name: "rail0"}
		if cidr != "" {
			l.Addrs = []Addr{{CIDR: cidr, Dynamic: true, Valid: 3600}}
		}
		return State{Links: map[string]Link{"rail0": l}}
	}
	all := func(string) bool { return true }
	if d := Differences(lease("10.0.0.5/24"), lease("10.0.0.7/24"), all); d != nil {
		t.Errorf("%q", d)
	}
	if d := Differences(lease("10.0.0.5/24"), lease(""), all); !slices.Equal(d,
		[]string{"rail0 lacks the address 10.0.0.5/24"}) {
		t.Errorf("%q", d)
	}
}

func TestGIDs(t *testing.T) {
	gids := func(entries ...string) State {
		var text strings.Builder
		const port = "/sys/class/infiniband/rocep1s0f0/ports/1"
		for _, e := range entries {
			index, gid, _ := strings.Cut(e, "=")
			for what, value := range map[string]string{"gids": gid, "gid_attrs/types": "RoCE v2", "gid_attrs/ndevs": "rail0"} {
				text.WriteString(port + "/" + what + "/" + index + ":" + value + "\n")
			}
		}
		return State{GIDs: readGIDs(text.String())}
	}
	all := func(string) bool { return true }
	before := gids("0=fe80::1", "1=::ffff:c0a8:640a")
	if len(before.GIDs) != 2 {
		t.Fatalf("%+v", before.GIDs)
	}
	if d := Differences(before, gids("1=::ffff:c0a8:640a"), all); len(d) != 1 || !strings.Contains(d[0], "fe80::1") {
		t.Errorf("a GID is gone: %q", d)
	}
	moved := gids("0=fe80::1", "5=::ffff:c0a8:640a")
	if d := Differences(before, moved, all); d != nil {
		t.Errorf("an index is looked up: %q", d)
	}
	if m := Moved(before, moved, all); len(m) != 1 || !strings.Contains(m[0], "moved to index 5 from 1") {
		t.Errorf("%q", m)
	}
	if m := Moved(before, before, all); m != nil {
		t.Errorf("%q", m)
	}
}

// A GID of an address that a router or a DHCP server gives goes with that, and one is there of what was
// given in its place.
func TestGIDsOfLeases(t *testing.T) {
	const port = "rocep1s0f0/ports/1"
	gid := func(text string) GID { return GID{Port: port, GID: text, Type: "RoCE v2", Dev: "rail0"} }
	state := func(addrs []Addr, gids ...string) State {
		s := State{Links: map[string]Link{"rail0": {Name: "rail0", Addrs: addrs}}}
		for _, g := range gids {
			s.GIDs = append(s.GIDs, gid(g))
		}
		return s
	}
	lease := func(cidr string) []Addr { return []Addr{{CIDR: cidr, Dynamic: true, Valid: 3600, Scope: "global"}} }
	router := func(cidr string) []Addr {
		return []Addr{{CIDR: cidr, V6: true, Dynamic: true, FromKernel: true, Valid: 3600, Scope: "global"}}
	}
	const five, seven = "0000:0000:0000:0000:0000:ffff:0a00:0005", "0000:0000:0000:0000:0000:ffff:0a00:0007"
	const announced, other = "2001:0db8:0007:0000:0000:0000:0000:0005", "2001:0db8:0008:0000:0000:0000:0000:0005"
	for name, c := range map[string]struct {
		before, after State
		want          string
	}{
		"as before":     {state(lease("10.0.0.5/24"), five), state(lease("10.0.0.5/24"), five), ""},
		"another lease": {state(lease("10.0.0.5/24"), five), state(lease("10.0.0.7/24"), seven), ""},
		"without its GID": {
			state(lease("10.0.0.5/24"), five), state(lease("10.0.0.7/24")),
			"rail0 has address 10.0.0.7/24, but no GID for it (RoCE v2) at " + port,
		},
		"the GID is gone": {
			state(lease("10.0.0.5/24"), five), state(lease("10.0.0.5/24")),
			"the GID " + five + " of rail0 (RoCE v2) is gone from " + port,
		},
		"a router is silent": {state(router("2001:db8:7::5/64"), announced), state(nil), ""},
		"it is heard": {
			state(router("2001:db8:7::5/64"), announced), state(router("2001:db8:7::5/64"), announced),
			"",
		},
		"it announces others": {state(router("2001:db8:7::5/64"), announced), state(router("2001:db8:8::5/64"), other), ""},
		"others without GID": {
			state(router("2001:db8:7::5/64"), announced), state(router("2001:db8:8::5/64")),
			"rail0 has address 2001:db8:8::5/64, but no GID for it (RoCE v2) at " + port,
		},
		"heard, and no GID": {
			state(router("2001:db8:7::5/64"), announced), state(router("2001:db8:7::5/64")),
			"the GID " + announced + " of rail0 (RoCE v2) is gone from " + port,
		},
		"a fixed address": {
			state([]Addr{{CIDR: "10.0.0.5/24"}}, five), state([]Addr{{CIDR: "10.0.0.5/24"}}),
			"the GID " + five + " of rail0 (RoCE v2) is gone from " + port,
		},
	} {
		got := strings.Join(Differences(c.before, c.after, func(string) bool { return true }), "; ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What a manager has again in the middle of a change is named, with what it set.
func TestTakenBack(t *testing.T) {
	before := rails(networkManager, "connected", "p", "uuid-")
	now := rails(networkManager, "unmanaged", "", "")
	if got := TakenBack(before, now, []string{"rail0", "rail1"}); got != nil {
		t.Errorf("nothing was taken back: %q", got)
	}
	l := now.Links["rail1"]
	l.Master = "bond0"
	now.Links["rail1"] = l
	now.Managers.Links["rail1"] = before.Managers.Links["rail1"]
	got := strings.Join(TakenBack(before, now, []string{"rail0", "rail1"}), "; ")
	const want = "NetworkManager manages rail1 again (connected), although it was released, " +
		"and has set 192.168.100.10/24 on it"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A change that was kept had taken it.
	const late = "NetworkManager has started to manage rail0 (connected)"
	if got := TakenBack(now, before, []string{"rail0"}); !slices.Equal(got, []string{late}) {
		t.Errorf("what it hadn't before: %q", got)
	}
	if got := TakenBack(now, rails(networkManager, external, "bond0", ""), []string{"rail0"}); got != nil {
		t.Errorf("what somebody else set up: %q", got)
	}
	if got := TakenBack(State{}, before, []string{"rail0"}); got != nil {
		t.Errorf("what nobody asked of: %q", got)
	}
}
