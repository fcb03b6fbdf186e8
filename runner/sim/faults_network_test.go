package sim

import (
	"strings"
)

// networkChecks are those of networkDefects.
func networkChecks(says func(node, command string, code int,
	part string) func(*bench) bool,
) map[string][]func(b *bench) bool {
	return map[string][]func(b *bench) bool{
		"two-managers": {
			says("spark-01", "networkctl --no-pager --no-legend -l list", 0, "enp1s0f1np1   ether    routable configured"),
		},
		"rail-unmanaged": {
			says("spark-01", "nmcli -t -f DEVICE,STATE,CONNECTION device", 0, "enp1s0f1np1:unmanaged:\n"),
			says("spark-01", "nmcli -g GENERAL.STATE device show enp1s0f1np1", 0, "10 (unmanaged)\n"),
		},
		"manager-fights": {
			says("spark-01", "cat /etc/NetworkManager/dispatcher.d/30-rails", 0, "managed yes"),
			func(b *bench) bool {
				said := b.root("spark-01", "nmcli device set enp1s0f0np0 managed no\nnmcli device set enp1s0f1np1 managed no\n"+
					byHand)
				b.root("spark-01", "ip link del bond0; for rail in enp1s0f0np0 enp1s0f1np1; "+
					"do nmcli device set $rail managed yes; ip link set $rail up; done")
				return strings.Contains(said, "192.168.100.10/24")
			},
		},
		"manager-mute": {
			says("spark-01", "nmcli -t -f RUNNING general", 8, "Error: NetworkManager is not running."),
			says("spark-01", "sudo nmcli device set enp1s0f0np0 managed no", 8, "not running"),
		},
		"dhcp-client": {
			says("spark-01", "cat /proc/[0-9]*/comm", 0, "dhclient\n"),
			says("spark-01", "ps -eo args", 0, "/sbin/dhclient enp1s0f1np1"),
		},
		"address-returned": {
			says("spark-01", "readlink /sys/class/net/enp1s0f1np1/master && ip -br addr show enp1s0f1np1", 0,
				"192.168.200.10/24"),
			says("spark-01", "readlink /sys/class/net/enp1s0f0np0/master && ip route show dev enp1s0f0np0", 0,
				"192.168.100.0/24"),
		},
		"profile-stray": {
			says("spark-01", "nmcli -t -f DEVICE,STATE,CONNECTION device", 0,
				"enp1s0f1np1:connecting (getting IP configuration):Wired connection 2\n"),
			says("spark-01", "nmcli -t -f connection.id,connection.autoconnect connection show $(nmcli -g UUID connection)", 0,
				"connection.id:Wired connection 2\nconnection.autoconnect:yes\n"),
		},
		"netplan-broken": {
			says("spark-01", "netplan get", 1,
				"/etc/netplan/99-rails.yaml:5:7: Error in network definition: unknown key 'adresses':\n"),
		},
		"boot-waits": {
			says("spark-01", "systemctl show -p ActiveState,Result NetworkManager-wait-online.service", 0,
				"ActiveState=failed\nResult=exit-code\n"),
		},
		"link-local-missing": {
			func(b *bench) bool {
				return !strings.Contains(b.must("spark-01", "ip -6 -br addr show dev enp1s0f1np1"), "fe80:")
			},
		},
		"peer-reboots": {
			says("spark-01", "cat /proc/uptime", 0, "95.00 "),
			says("spark-01", "uptime", 0, "up 0 day,  0:01"),
		},
		"rail-ips-left-over": {
			says("spark-01", "ip -br addr show enp1s0f1np1", 0, "192.168.100.12/24"),
			says("spark-02", "ip -br addr show enp1s0f1np1", 0, "192.168.100.13/24"),
			func(b *bench) bool { return strings.Count(b.must("spark-02", "ip route"), "192.168.100.0/24 dev") == 2 },
		},
		"duplicate-ip": {
			says("spark-02", "ip -br addr show enp1s0f1np1", 0, "192.168.200.10/24"),
			func(b *bench) bool { return !strings.Contains(b.must("spark-01", "ip neigh"), "192.168.200.11 dev") },
		},
		"default-route-on-rail": {
			says("spark-01", "ip route get 1.1.1.1", 0, "1.1.1.1 via 192.168.100.11 dev enp1s0f0np0 "),
			says("spark-01", "ip route show default", 0, "default via 192.168.100.11 dev enp1s0f0np0 proto static metric 50"),
		},
		"address-unsaved": {
			says("spark-01", "nmcli -g GENERAL.STATE device show enp1s0f1np1", 0, "100 (connected (externally))\n"),
		},
		"mtu-unsaved": {
			says("spark-01", "cat /sys/class/net/enP2p1s0f1np1/mtu", 0, "9000\n"),
			says("spark-02", "ibv_devinfo -d rocep1s0f0", 0, "active_mtu:\t\t4096 (5)"),
		},
		"host-route": {says("spark-02", "ip route get 192.168.100.10", 0, "dev enp1s0f1np1 ")},
		"shaped":     {says("spark-02", "tc qdisc show dev enp1s0f0np0", 0, "qdisc tbf 8001: root")},
		"roce-lag": {
			says("spark-01", "ls /sys/class/infiniband", 0, "mlx5_bond_0\nroceP2p1s0f0"),
			says("spark-01", "ibv_devinfo -d rocep1s0f1", 255, "wasn't found"),
			func(b *bench) bool {
				return b.must("spark-01", "ls /sys/class/net/enp1s0f0np0/device/infiniband") == "mlx5_bond_0\n" &&
					b.try("spark-01", "ls /sys/class/net/enp1s0f1np1/device/infiniband").code == 2
			},
		},
		"arp-flux": {
			func(b *bench) bool {
				return strings.Contains(b.must("spark-02", "ip neigh"),
					"192.168.100.10 dev enp1s0f0np0 lladdr "+b.macOf("enP2p1s0f0np0")+" REACHABLE")
			},
			// It is learnt, so it is none of those that a change has to bring back.
			func(b *bench) bool {
				return b.must("spark-02", "ip neigh show nud permanent") == "" &&
					strings.Count(b.must("spark-02", "ip neigh"), "192.168.100.10 ") == 1 &&
					!strings.Contains(b.must("spark-02", "ip neigh"), b.macOf("enp1s0f0np0"))
			},
		},
	}
}

// macOf is the MAC of one of spark-01's interfaces.
func (b *bench) macOf(netdev string) string {
	return strings.TrimSpace(b.must("spark-01", "cat /sys/class/net/"+netdev+"/address"))
}
