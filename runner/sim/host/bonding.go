package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/net"
)

// modeTitles are what the bonding driver calls its modes in /proc.
var modeTitles = map[string]string{
	"balance-rr": "load balancing (round-robin)", "active-backup": "fault-tolerance (active-backup)",
	"balance-xor": "load balancing (xor)", "broadcast": "fault-tolerance (broadcast)",
	"802.3ad": "IEEE 802.3ad Dynamic link aggregation", "balance-tlb": "transmit load balancing",
	"balance-alb": "adaptive load balancing",
}

// numbered is an option's value as the driver shows it: its name and its number.
func numbered(names []string, name string) string {
	return name + " " + strconv.Itoa(slices.Index(names, name))
}

// procBond is /proc/net/bonding/NAME, after drivers/net/bonding/bond_procfs.c.
func procBond(d *net.Netdev) string {
	var b strings.Builder
	mode := d.Bond.Mode
	fmt.Fprintf(&b, "Ethernet Channel Bonding Driver: v%s\n\nBonding Mode: %s\n", Kernel, modeTitles[mode])
	if slices.Contains([]string{"balance-xor", "802.3ad", "balance-tlb", "balance-alb"}, mode) {
		fmt.Fprintf(&b, "Transmit Hash Policy: %s (%d)\n", d.Bond.Policy, slices.Index(net.BondPolicies, d.Bond.Policy))
	}
	if net.UsesPrimary(mode) {
		active := d.ShownActive()
		if active == "" {
			active = "None"
		}
		fmt.Fprintf(&b, "Primary Slave: None\nCurrently Active Slave: %s\n", active)
	}
	fmt.Fprintf(&b, "MII Status: %s\nMII Polling Interval (ms): %d\nUp Delay (ms): 0\n"+
		"Down Delay (ms): 0\nPeer Notification Delay (ms): 0", net.UpDown(d.Running()), d.Bond.Miimon)
	if mode == "802.3ad" {
		b.WriteString("\n\n802.3ad info\nLACP active: on\nLACP rate: slow\n" +
			"Min links: 0\nAggregator selection policy (ad_select): stable")
	}
	for _, s := range d.Slaves() {
		// The driver asks the slave's own driver, which knows neither without a link.
		speed, duplex := "Unknown", "Unknown"
		if s.Running() {
			speed, duplex = fmt.Sprintf("%d Mbps", s.Speed()), "full"
		}
		fmt.Fprintf(&b, "\n\nSlave Interface: %s\nMII Status: %s\nSpeed: %s\n"+
			"Duplex: %s\nLink Failure Count: %d\nPermanent HW addr: %s\n",
			s.Name, net.UpDown(s.Running()), speed, duplex, s.Slave.Failures, net.MACText(s.Slave.MAC))
		// Churned, because the other end does not speak LACP: neither the other Spark's bond nor a switch
		// that was not set up for it.
		if mode == "802.3ad" {
			fmt.Fprintf(&b, "Aggregator ID: %d\nActor Churn State: churned\n"+
				"Partner Churn State: churned\nActor Churned Count: 1\nPartner Churned Count: 1\n", s.Slave.No)
		}
		b.WriteString("Slave queue ID: 0")
	}
	return b.String()
}

// bondTree is a bond's folder in sysfs. It has all that iproute2 and railbench read; what no script changes
// has the driver's default.
func bondTree(d *net.Netdev, t *Inode, dir string) {
	for name, value := range map[string]string{
		"ad_select": "stable 0", "all_slaves_active": "0",
		"arp_all_targets": "any 0", "arp_interval": "0", "arp_missed_max": "2",
		"arp_validate": "none 0", "downdelay": "0", "fail_over_mac": "none 0", "lacp_active": "on 1", "lacp_rate": "slow 0",
		"lp_interval": "1", "min_links": "0", "num_grat_arp": "1", "num_unsol_na": "1", "packets_per_slave": "1",
		"peer_notif_delay": "0", "primary_reselect": "always 0", "resend_igmp": "1", "tlb_dynamic_lb": "1", "updelay": "0",
		"use_carrier": "1",
	} {
		t.fixed(dir+name, value)
	}
	t.put(dir+"primary", &Inode{Mode: 0o444})
	t.put(dir+"arp_ip_target", &Inode{Mode: 0o444})
	t.put(dir+"active_slave", &Inode{Mode: 0o444, read: func() (string, error) {
		if a := d.ShownActive(); a != "" {
			return a + "\n", nil
		}
		return "", nil
	}})
	t.text(dir+"mode", func() string { return numbered(net.BondModes, d.Bond.Mode) })
	t.text(dir+"xmit_hash_policy", func() string { return numbered(net.BondPolicies, d.Bond.Policy) })
	t.text(dir+"miimon", func() string { return strconv.Itoa(d.Bond.Miimon) })
	t.text(dir+"mii_status", func() string { return net.UpDown(d.Running()) })
	names := func(suffix string) func() string {
		return func() string {
			var list []string
			for _, s := range d.Slaves() {
				list = append(list, s.Name+suffix)
			}
			return strings.Join(list, " ")
		}
	}
	t.text(dir+"slaves", names(""))
	t.text(dir+"queue_id", names(":0"))
}

// slaveTree is what sysfs has of a slave, in bonding_slave/.
func slaveTree(d *net.Netdev, t *Inode, dir string) {
	t.text(dir+"mii_status", func() string { return net.UpDown(d.Running()) })
	t.text(dir+"perm_hwaddr", func() string { return net.MACText(d.Slave.MAC) })
	t.text(dir+"state", d.Role)
	t.text(dir+"link_failure_count", func() string { return strconv.Itoa(d.Slave.Failures) })
	t.fixed(dir+"queue_id", "0")
	for _, name := range []string{"ad_actor_oper_port_state", "ad_aggregator_id", "ad_partner_oper_port_state"} {
		t.fixed(dir+name, "N/A")
	}
}
