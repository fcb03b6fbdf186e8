package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// networkMay is mayFind's for the checks of the network.
var networkMay = map[string][]string{
	"duplicate-ip":   {"reboot-safe"}, // the address that is there twice is in no configuration
	"rail-unmanaged": {"reboot-safe"},
	"profile-stray":  {"reboot-safe"},               // what was set next to its lease is in no configuration
	"manager-mute":   {"reboot-safe"},               // no one says whether a profile has the addresses
	"mtu-mismatch":   {"reboot-safe", "rail-speed"}, // nor is an MTU that was set by hand
	"link-down":      {"routes"},                    // what is down has no way
	// Its packets go to another function.
	"arp-flux": {"rail-speed", "nixl-rails", "nixl-threads"},
	"crossed":  {"rail-speed", "nixl-rails", "nixl-threads"},
	// What nothing reaches any more can't be looked at.
	"address-returned": {
		"reboot-safe", "path-loss", "duplicate-ip", "arp-flux", "mtu-equal", "rail-bond", "bond-health",
		"rail-speed", "ping", "link-up", "nixl-rails", "nixl-threads",
	},
	// It was made by hand, next to a manager that may take its links back.
	"bond-left-over": {"reboot-safe", "rail-managers"},
	// What a test per rail needs is not there.
	"roce-lag": {"reboot-safe", "rail-managers", "adapter-present", "rail-speed", "nixl-rails", "nixl-threads"},
}

// A file that gives an address to another interface, or names it as a gateway, gives it to no one else at a boot.
func TestSavedAddressIsTheInterfaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, rail, other string }{
		"netplan": {"network:\n  ethernets:\n    rail1:\n      addresses:\n      - \"10.0.0.1/24\"\n    rail2:\n" +
			"      addresses: [10.0.0.2/24]\n", "10.0.0.1", "10.0.0.2"},
		"a gateway": {"network:\n  ethernets:\n    rail1:\n      addresses:\n      - 10.0.0.1/24\n      routes:\n" +
			"      - {to: default, via: 10.0.0.2}\n", "10.0.0.1", "10.0.0.2"},
		"networkd": {"[Match]\nName=rail1\n[Network]\nAddress=10.0.0.1/24\nGateway=10.0.0.2\n", "10.0.0.1", "10.0.0.2"},
		"ifupdown": {
			"iface rail1 inet static\n  address 10.0.0.1/24\niface rail2 inet static\n  address 10.0.0.2/24\n",
			"10.0.0.1", "10.0.0.2",
		},
	} {
		dir := t.TempDir()
		for _, dev := range []string{"rail1", "rail2"} {
			if err := os.MkdirAll(dir+"/net/"+dev, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+"/net/"+dev+"/mtu", []byte("1500\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(dir+"/x.yaml", []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		out := onThisMachine(t, "reboot-safe", map[string]string{"OWN_IPS": "rail1=" + c.rail + " rail1=" + c.other},
			func(body string) string {
				return strings.NewReplacer("/sys/class/net", dir+"/net", "/etc/netplan/*.yaml", dir+"/*.yaml").Replace(body)
			})
		for _, want := range []string{
			"rail1=" + c.rail + " is in: " + dir + "/x.yaml\n",
			"rail1=" + c.other + " is in: nothing\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

// What a file gives an interface is read with its tabs, and to an end that no line has.
func TestSavedInFilesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, mtu string }{
		"ifupdown with tabs": {"iface rail1 inet static\n\taddress 10.0.0.1/24\n\tmtu 9000\n", "9000 in "},
		"no end after the MTU": {
			"network:\n  ethernets:\n    rail1:\n      addresses: [10.0.0.1/24]\n      mtu: 9000",
			"9000 in ",
		},
		"no end after the address": {
			"network:\n  ethernets:\n    rail1:\n      mtu:  9000\n      addresses: [10.0.0.1/24]",
			"9000 in ",
		},
		"another's MTU": {
			"iface rail1 inet static\n\taddress 10.0.0.1/24\niface rail2 inet static\n\tmtu 9000", "none\n",
		},
		"udev's file": {"# 10.0.0.1\n[Match]\nOriginalName=rail1\n[Link]\nMTUBytes=9000", "9000 in "},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"/net/rail1/mtu": "9000\n", "/net/rail2/mtu": "9000\n", "/x.yaml": c.file} {
			if err := os.MkdirAll(filepath.Dir(dir+file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out := onThisMachine(t, "reboot-safe", map[string]string{"OWN_IPS": "rail1=10.0.0.1"}, func(body string) string {
			return strings.NewReplacer("/sys/class/net", dir+"/net", "/etc/netplan/*.yaml", dir+"/*.yaml").Replace(body)
		})
		if want := "rail1 saved MTU: " + c.mtu; !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", name, want, out)
		}
		if want := "rail1=10.0.0.1 is in: " + dir; name != "udev's file" && !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", name, want, out)
		}
	}
}
