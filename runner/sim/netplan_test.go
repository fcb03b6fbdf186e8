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
		{"[enp1s0f0np0, enp1s0f1np1]", "enp1s0f0np0", ":12:19: Error in network definition: expected sequence:"},
		{
			"addresses:\n      - 192.168.100.10/24", "addresses: [192.168.100.10]",
			":13:19: Error in network definition: address '192.168.100.10' is missing",
		},
		{bondPlan, "network\n", ":1:1: Error in network definition: expected mapping (check indentation):"},
		{"np1]", "np1", "Invalid YAML: did not find expected ',' or ']':"},
	} {
		plan := strings.Replace(bondPlan, c.from, c.to, 1)
		got := b.try("spark-01", "umask 077; mkdir -p /tmp/n/etc/netplan; cat >/tmp/n/etc/netplan/60.yaml <<'END'\n"+plan+
			"END\nnetplan generate --root-dir /tmp/n")
		if c.want == "" && (got.code != 0 || got.err != "" || got.out != "") ||
			c.want != "" && (got.code != 1 || !strings.Contains(got.err, c.want)) {
			t.Errorf("%q for %q: %+v", c.to, c.from, got)
		}
	}
	if got := b.try("spark-01", "chmod 644 /tmp/n/etc/netplan/60.yaml; cp() { cat $1 >$2; }; "+
		"netplan generate --root-dir /tmp/n"); !strings.Contains(got.err, "are too open") {
		t.Errorf("an open file: %+v", got)
	}
	if got := b.must("spark-01",
		"netplan get 2>/dev/null; netplan info | tail -1; command -v netplan"); !strings.HasPrefix(got,
		"network:\n  version: 2\n  renderer: NetworkManager\n  ethernets:\n") ||
		!strings.Contains(got, "    enp1s0f0np0:\n      dhcp4: false\n      addresses:\n      - \"192.168.100.10/24\"\n") ||
		!strings.HasSuffix(got, "  version: \"1.1.2\"\n/usr/sbin/netplan\n") {
		t.Errorf("%q", got)
	}
}

// netplan's files, its own and the bond's, become profiles, and NetworkManager makes the bond of them.
func TestNetplanMakesABond(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	plan := strings.Replace(bondPlan, "renderer: networkd", "renderer: NetworkManager", 1)
	said := b.root("spark-01", `set -e
umask 077
mkdir -p /run/t/etc
cp -a /etc/netplan /run/t/etc/
chmod 600 /run/t/etc/netplan/50-cloud-init.yaml
for rail in enp1s0f0np0 enp1s0f1np1; do
	netplan set --root-dir /run/t network.ethernets.$rail.addresses=null
done
cat >/run/t/etc/netplan/60.yaml <<'END'
`+plan+`END
netplan generate --root-dir /run/t
cat /run/t/etc/netplan/50-cloud-init.yaml
keys=/run/NetworkManager/system-connections
mkdir -p $keys
cp -p /run/t$keys/netplan-bond0.nmconnection /run/t$keys/netplan-enp1s0f0np0.nmconnection $keys
cat $keys/netplan-enp1s0f0np0.nmconnection
stat -c %a $keys/netplan-bond0.nmconnection
nmcli connection reload
nmcli --wait 20 connection up netplan-bond0
nmcli --wait 20 connection up netplan-enp1s0f0np0
cat /sys/class/net/bond0/bonding/slaves
ip -4 -br addr show dev bond0
ip link set enp1s0f0np0 down
ip link set enp1s0f0np0 up
ip -4 -br addr show dev enp1s0f0np0
nmcli -t -f DEVICE,STATE,CONNECTION device
`)
	for _, want := range []string{
		"enP2p1s0f0np0:\n      dhcp4: false\n      addresses:\n      - \"192.168.102.10/24\"\n",
		"master=bond0\n", "method=disabled\n", "\n600\nenp1s0f0np0\n", "192.168.100.10/24", "bond0:connected:netplan-bond0\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if strings.Contains(said, "192.168.200.10") || strings.Count(said, "192.168.100.10/24") != 1 {
		t.Errorf("the rails' addresses are there still: %s", said)
	}
	gone := b.root("spark-01", `rm /run/NetworkManager/system-connections/*; nmcli connection reload; ip link del bond0
ip link set enp1s0f0np0 up; nmcli device set enp1s0f0np0 managed yes; ip -4 -br addr show dev enp1s0f0np0`)
	if !strings.Contains(gone, "192.168.100.10/24") {
		t.Errorf("its own profile is not in force: %s", gone)
	}
	for script, want := range map[string]string{
		"nmcli connection up netplan-bond0":                  "Error: unknown connection 'netplan-bond0'.",
		"netplan set network.ethernets.enp1s0f0np0.mtu=9000": "knows KEY=null alone",
		"cp -p /etc/netplan/50-cloud-init.yaml /nowhere/x":   "cannot create regular file '/nowhere/x'",
		"cp /etc/netplan /tmp/x": "-r not specified; omitting directory " +
			"'/etc/netplan'",
		"cp /etc/nothing /tmp/x": "cannot stat '/etc/nothing'",
		"netplan set network.ethernets.enp1s0f0np0.addresses=null; echo $?": "cannot write /etc/netplan/50-cloud-init.yaml",
	} {
		if r := b.try("spark-01", "sudo sh -c '"+script+"'"); !strings.Contains(r.err+r.out, want) {
			t.Errorf("%s: %+v, want %q", script, r, want)
		}
	}
}
