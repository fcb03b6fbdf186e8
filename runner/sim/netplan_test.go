package sim

import (
	"strings"
	"testing"
)

const bondPlan = `network:
  version: 2
  renderer: networkd
  ethernets:
    enp1s0f0np0:
      dhcp4: false
      mtu: 9000
    enp1s0f1np1:
      dhcp4: false # no address of its own
  bonds:
    bond0:
      interfaces: [enp1s0f0np0, enp1s0f1np1]
      addresses:
      - 192.168.100.10/24
      mtu: 9000
      parameters:
        mode: balance-xor
        mii-monitor-interval: 100
        transmit-hash-policy: layer3+4
`

func TestNetplan(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	for _, c := range []struct{ from, to, want string }{
		{"x", "x", ""},
		{"addresses:\n      - 192.168.100.10/24", "addresses: [192.168.100.10/24]", ""},
		{"balance-xor", "balance-xyz", ":17:15: Error in network definition: unknown bond mode 'balance-xyz':"},
		{"mii-monitor", "miimon", ":18:9: Error in network definition: unknown key 'miimon-interval':"},
		{"dhcp4: false\n", "dhcp4: nein\n", ":6:14: Error in network definition: invalid boolean value 'nein':"},
		{"mtu: 9000", "mtu: big", ":7:12: Error in network definition: invalid unsigned int value 'big':"},
		{"100.10/24", "100.10", ":14:9: Error in network definition: address '192.168.100.10' is missing /prefixlength:"},
		{"[enp1s0f0np0,", "[enp9,", "Error in network definition: bond0: interface 'enp9' is not defined:"},
		{"version: 2", "version: 3", ":2:12: Error in network definition: Only version 2 is supported:"},
		{"      mtu", "     mtu", "Invalid YAML: did not find expected key:"},
		{"  version", "\tversion", "Invalid YAML: found character that cannot start any token:"},
		{"renderer: networkd", "renderer networkd", ":3:3: Invalid YAML: could not find expected ':':"},
		{"np1]", "np1", "Invalid YAML: did not find expected ',' or ']':"},
	} {
		plan := strings.Replace(bondPlan, c.from, c.to, 1)
		got := b.try("spark-01", "umask 077; mkdir -p /tmp/n/etc/netplan; cat >/tmp/n/etc/netplan/60.yaml <<'END'\n"+plan+"END\nnetplan generate --root-dir /tmp/n")
		if c.want == "" && (got.code != 0 || got.err != "" || got.out != "") || c.want != "" && (got.code != 1 || !strings.Contains(got.err, c.want)) {
			t.Errorf("%q for %q: %+v", c.to, c.from, got)
		}
	}
	if got := b.try("spark-01", "chmod 644 /tmp/n/etc/netplan/60.yaml; cp() { cat $1 >$2; }; netplan generate --root-dir /tmp/n"); !strings.Contains(got.err, "are too open") {
		t.Errorf("an open file: %+v", got)
	}
	if got := b.must("spark-01", "netplan get; netplan info | tail -1; command -v netplan"); got != "network:\n  version: 2\n  renderer: NetworkManager\n  version: \"1.1.2\"\n/usr/sbin/netplan\n" {
		t.Errorf("%q", got)
	}
}
