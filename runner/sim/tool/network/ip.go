package network

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// ipCall is one run of ip.
// Its statuses are iproute2's: 255 for a command line that it can't read (exit(-1)), 1 for what it finds wrong
// itself, and 2 for what the kernel refuses.
type ipCall struct {
	*host.Call
	brief, json, details, stats, pretty, oneline, v4, v6 bool
	of                                                   filter // what is shown
}

// runIP runs one command under the rig's lock: what it looks at and what it changes is of one moment.
func runIP(_ context.Context, c *host.Call) int {
	ip := &ipCall{Call: c}
	args := c.Args[1:]
	// iproute2 takes each in one dash or two, short or in full.
	switches := map[string]*bool{
		"br": &ip.brief, "brief": &ip.brief, "j": &ip.json, "js": &ip.json, "json": &ip.json,
		"d": &ip.details, "details": &ip.details, "s": &ip.stats, "stats": &ip.stats, "statistics": &ip.stats,
		"p": &ip.pretty, "pretty": &ip.pretty, "4": &ip.v4, "6": &ip.v6, "o": &ip.oneline, "oneline": &ip.oneline,
	}
	for ; len(args) > 0 && strings.HasPrefix(args[0], "-"); args = args[1:] {
		o := strings.TrimLeft(args[0], "-")
		if on := switches[o]; on != nil {
			*on = true
			continue
		}
		switch o {
		case "V", "Version":
			c.Println("ip utility, iproute2-6.1.0, libbpf 1.3.0")
			return 0
		case "c", "color", "color=never", "h", "human", "n":
		default:
			return c.Fail(255, "Option \"%s\" is unknown, try \"ip -help\".", args[0])
		}
	}
	if len(args) == 0 {
		return c.Fail(255, "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }")
	}
	object, args := args[0], args[1:]
	verb := "show"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	code := 0
	c.Locked(func() {
		switch {
		// Every beginning of the word will do, as with iproute2: ip a, ip addr. The first that fits
		// wins, so "n" is the neighbours and "r" routes.
		case strings.HasPrefix("address", object):
			code = ip.address(verb, args)
		case strings.HasPrefix("link", object):
			code = ip.link(verb, args)
		case strings.HasPrefix("route", object):
			code = ip.route(verb, args)
		case strings.HasPrefix("neighbour", object) || object == "neighbor":
			code = ip.neigh(verb, args)
		case strings.HasPrefix("rule", object) && isShow(verb):
			ip.rules()
		default:
			code = c.Fail(1, "Object \"%s\" is unknown, try \"ip help\".", object)
		}
	})
	return code
}

// rules are the kernel's own: no one has set others on a simulated node.
func (ip *ipCall) rules() {
	ip.Println("0:\tfrom all lookup local\n32766:\tfrom all lookup main")
	if !ip.v6 {
		ip.Println("32767:\tfrom all lookup default")
	}
}

func (ip *ipCall) denied() int { return ip.Fail(2, "RTNETLINK answers: Operation not permitted") }

// A filter is what "show" and its arguments mean.
type filter struct {
	name, kind, master string
	up                 bool
	// Of addresses: their scope, a network that they are in, and whether they have a lifetime.
	scope string
	to    netip.Prefix
	lasts map[bool]bool // by Dynamic; nil where either will do
}

// filter reads "up dev X type Y master Z" in any order; a bare word is a device.
func (ip *ipCall) filter(verb string, args []string) (f filter) {
	// "ip addr enp1s0f0np0" is short for show.
	if !isShow(verb) {
		args = append([]string{verb}, args...)
	}
	for len(args) > 0 {
		value := ""
		if len(args) > 1 {
			value = args[1]
		}
		switch args[0] {
		case "up":
			f.up = true
		case "dev":
			f.name, args = value, args[1:]
		case "type":
			f.kind, args = value, args[1:]
		case "master":
			f.master, args = value, args[1:]
		case "scope":
			f.scope, args = value, args[1:]
		case "to":
			p, err := netip.ParsePrefix(value)
			if a, addrErr := netip.ParseAddr(value); addrErr == nil {
				p, err = netip.PrefixFrom(a, a.BitLen()), nil
			}
			if err == nil {
				f.to = p.Masked()
			}
			args = args[1:]
		case "permanent", "dynamic":
			f.lasts = map[bool]bool{args[0] == "dynamic": true}
		case "label", "group":
			args = args[1:]
		case "primary", "secondary":
		default:
			f.name = args[0]
		}
		args = args[min(1, len(args)):]
	}
	return f
}

// selected are the netdevs that are to be shown.
func (ip *ipCall) selected(verb string, args []string) (devs []*net.Netdev, code int) {
	f := ip.filter(verb, args)
	ip.of = f
	if f.name != "" && ip.Node.Netdev(f.name) == nil {
		return nil, ip.Fail(1, "Device \"%s\" does not exist.", f.name)
	}
	if f.master != "" && ip.Node.Netdev(f.master) == nil {
		return nil, ip.Fail(255, "Error: argument \"%s\" is wrong: Device does not exist", f.master)
	}
	for _, d := range ip.Node.Netdevs {
		switch {
		case f.name != "" && f.name != d.Name, f.up && !d.Up, f.kind != "" && f.kind != d.Kind,
			f.master != "" && (d.Master == nil || d.Master.Name != f.master):
		default:
			devs = append(devs, d)
		}
	}
	return devs, 0
}

func isShow(verb string) bool {
	return verb != "" && (strings.HasPrefix("show", verb) || verb == "list" || verb == "ls")
}

// shown are the netdev's addresses of the families that are wanted.
func (ip *ipCall) shown(d *net.Netdev) []net.Address {
	var list []net.Address
	for _, a := range d.Addrs {
		f := ip.of
		if ip.wants(a.Addr()) && (f.scope == "" || f.scope == a.Scope) && (!f.to.IsValid() || f.to.Contains(a.Addr())) &&
			(f.lasts == nil || f.lasts[a.Dynamic]) {
			list = append(list, a)
		}
	}
	return list
}

// flagNames are in the order in which iproute2 prints them, which is not that of their bits.
func flagNames(d *net.Netdev) []string {
	var f []string
	// First, as iproute2 prints it: it is not a flag of the kernel's but the lack of LOWER_UP.
	if d.Up && !d.Carrier() {
		f = append(f, "NO-CARRIER")
	}
	if d.Kind == "loopback" {
		f = append(f, "LOOPBACK")
	} else {
		f = append(f, "BROADCAST", "MULTICAST")
	}
	if d.Bond != nil {
		f = append(f, "MASTER")
	}
	if d.Master != nil {
		f = append(f, "SLAVE")
	}
	if d.Up {
		f = append(f, "UP")
	}
	if d.Running() {
		f = append(f, "LOWER_UP")
	}
	return f
}

func stateName(d *net.Netdev) string { return strings.ToUpper(d.OperState()) }

// qdisc is what the kernel has queue an interface's packets. It gives one when the interface is opened for the
// first time; a bond that was only made has noop.
func qdisc(d *net.Netdev) string {
	switch {
	case d.Kind == "bond" && !d.Opened:
		return "noop"
	case d.Kind == "ether" && d.Func != nil:
		return "mq"
	case d.Kind == "ether":
		return "fq_codel"
	default:
		return "noqueue"
	}
}

// queues are the numbers of transmit and receive queues.
// 16 is the bonding driver's default (tx_queues); of an adapter each of the 20 processors has one to receive
// by.
func queues(d *net.Netdev) (tx, rx int) {
	switch {
	case d.Kind == "bond":
		return 16, 16
	case d.Func != nil:
		return 180, 20
	default:
		return 1, 1
	}
}

func (ip *ipCall) wants(a netip.Addr) bool {
	return (!ip.v4 || a.Is4()) && (!ip.v6 || a.Is6())
}

// ofFamily reports whether addresses of one family alone are asked for, by -4, -6 or an address that they belong to.
func (ip *ipCall) ofFamily() bool { return ip.v4 || ip.v6 || ip.of.to.IsValid() }

// ofLink reports whether an interface's own address is shown, too.
func (ip *ipCall) ofLink() bool { return !ip.ofFamily() || ip.details }

// address is ip address: what changes something is in changeAddress, and everything else shows.
func (ip *ipCall) address(verb string, args []string) int {
	switch verb {
	case "add", "a", "del", "delete", "d", "flush", "replace", "change":
		return ip.changeAddress(verb, args)
	}
	if verb == "restore" {
		return ip.restoreAddresses()
	}
	devs, code := ip.selected(verb, args)
	if code != 0 {
		return code
	}
	if verb == "save" {
		ip.saveAddresses(devs)
		return 0
	}
	var items []JSONObject
	for _, d := range devs {
		addrs := ip.shown(d)
		switch {
		case len(addrs) == 0 && ip.ofFamily(): // who has none of those is left out
		case ip.json:
			items = append(items, ip.object(d, true))
		case ip.brief:
			ip.Printf("%-16s %-14s ", d.Name, stateName(d))
			for _, a := range addrs {
				ip.Printf("%s ", a.Prefix)
			}
			ip.Println("")
		default:
			if !ip.oneline {
				ip.head(d, false)
			}
			for _, a := range addrs {
				ip.addressLines(d, a)
			}
		}
	}
	if ip.json {
		ip.Println(JSONArray(items, ip.pretty))
	}
	return 0
}

// lifetimes are the seconds that an address is still valid and preferred.
func (ip *ipCall) lifetimes(a net.Address) (valid, preferred uint32) {
	if !a.Dynamic && a.Addr().Is4() { // the kernel reports it at most that it is deprecated
		return math.MaxUint32, math.MaxUint32
	}
	// Lifetimes count down in the kernel, second by second.
	passed := uint32((ip.Node.Rack.Clock.Now() - a.Set).Seconds())
	left := func(v uint32) uint32 {
		if v == math.MaxUint32 {
			return v
		}
		return v - min(v, passed)
	}
	return left(a.Valid), left(a.Preferred)
}

// addressLines are an address's two lines: the second has how long it is valid, which of a lease goes down each
// second.
func (ip *ipCall) addressLines(d *net.Netdev, a net.Address) {
	words := []string{"    inet", a.String()}
	if a.Addr().Is6() {
		words[0] = "    inet6"
	}
	if a.Broadcast.IsValid() {
		words = append(words, "brd", a.Broadcast.String())
	}
	words = append(words, "scope", a.Scope)
	words = append(words, ip.addressFlags(a)...)
	// IPv6 has no label, and iproute2 leaves its place.
	line := strings.Join(append(words, a.Label), " ")
	if ip.oneline { // a line is a link's address, with a backslash where it would be broken
		ip.Printf("%d: %s%s\\", d.Index, d.Name, line)
	} else {
		ip.Println(line)
	}
	valid, preferred := ip.lifetimes(a)
	text := func(v uint32) string {
		if v == math.MaxUint32 {
			return "forever"
		}
		return fmt.Sprintf("%dsec", v)
	}
	ip.Printf("       valid_lft %s preferred_lft %s\n", text(valid), text(preferred))
}

// addressFlags are the words that iproute2 has for what is special with an address.
func (ip *ipCall) addressFlags(a net.Address) (f []string) {
	_, preferred := ip.lifetimes(a)
	if a.Preferred == 0 {
		preferred = 0
	}
	for _, x := range []struct {
		is   bool
		name string
	}{
		{a.Secondary, "secondary"},
		{a.NoDAD, "nodad"},
		{preferred == 0, "deprecated"},
		{a.Dynamic, "dynamic"},
		{a.NoPrefixRoute, "noprefixroute"},
	} {
		if x.is {
			f = append(f, x.name)
		}
	}
	return f
}

func (ip *ipCall) addressObject(a net.Address) JSONObject {
	family := "inet"
	if a.Addr().Is6() {
		family = "inet6"
	}
	o := JSONObject{{"family", family}, {"local", a.Addr().String()}, {"prefixlen", a.Bits()}}
	if a.Broadcast.IsValid() {
		o = append(o, JSONField{"broadcast", a.Broadcast.String()})
	}
	o = append(o, JSONField{"scope", a.Scope})
	for _, f := range ip.addressFlags(a) {
		o = append(o, JSONField{f, true})
	}
	if a.Label != "" {
		o = append(o, JSONField{"label", a.Label})
	}
	valid, preferred := ip.lifetimes(a)
	return append(o, JSONField{"valid_life_time", valid}, JSONField{"preferred_life_time", preferred})
}

// linkType is ARPHRD's word and the address that all on the link listen to.
func linkType(d *net.Netdev) (kind, broadcast string) {
	if d.Kind == "loopback" {
		return "loopback", "00:00:00:00:00:00"
	}
	return "ether", "ff:ff:ff:ff:ff:ff"
}

// head is the first lines of a netdev.
func (ip *ipCall) head(d *net.Netdev, mode bool) {
	kind, brd := linkType(d)
	master, modeText := "", ""
	if d.Master != nil {
		master = " master " + d.Master.Name
	}
	if mode {
		modeText = " mode DEFAULT"
	}
	ip.Printf("%d: %s: <%s> mtu %d qdisc %s%s state %s%s group default qlen 1000", d.Index, d.Name,
		strings.Join(flagNames(d), ","), d.MTU, qdisc(d), master, stateName(d), modeText)
	if ip.ofLink() {
		ip.Printf("\n    link/%s %s brd %s", kind, d.MACText(), brd)
		if p := d.Permanent(); p != "" {
			ip.Printf(" permaddr %s", p)
		}
	}
	if ip.details {
		ip.Printf(" promiscuity 0  allmulti 0 minmtu %d maxmtu %d ", d.MinMTU(), d.MaxMTU())
		switch {
		case d.Bond != nil:
			ip.Printf("\n    bond mode %s ", d.Bond.Mode)
			if a := d.ShownActive(); a != "" {
				ip.Printf("active_slave %s ", a)
			}
			ip.Printf("miimon %d updelay 0 downdelay 0 peer_notify_delay 0 use_carrier 1 arp_interval 0 "+
				"arp_missed_max 2 arp_validate none arp_all_targets any primary_reselect always fail_over_mac none "+
				"xmit_hash_policy %s resend_igmp 1 num_grat_arp 1 all_slaves_active 0 min_links 0 "+
				"lp_interval 1 packets_per_slave 1 lacp_active on lacp_rate slow ad_select stable tlb_dynamic_lb 1 ",
				d.Bond.Miimon, d.Bond.Policy)
		case d.Master != nil:
			ip.Printf("\n    bond_slave state %s mii_status %s link_failure_count %d perm_hwaddr %s queue_id 0 prio 0 ",
				strings.ToUpper(d.Role()), strings.ToUpper(net.UpDown(d.Running())), d.Slave.Failures, net.MACText(d.Slave.MAC))
		}
		tx, rx := queues(d)
		ip.Printf("addrgenmode eui64 numtxqueues %d numrxqueues %d gso_max_size 65536 "+
			"gso_max_segs 65535 tso_max_size 524280 tso_max_segs 65535 gro_max_size 65536 ", tx, rx)
		if d.Func != nil {
			ip.Printf("portname p%d parentbus pci parentdev %s ", d.Func.QSFP, d.Func.PCI)
		}
	}
	ip.Println("")
	if ip.stats {
		rx, rxPackets := d.Received()
		tx, txPackets := d.Sent()
		ip.Printf("    RX:  bytes packets errors dropped  missed   mcast           \n"+
			"    %11d %7d      0       0       0       0 \n", rx, rxPackets)
		ip.Printf("    TX:  bytes packets errors dropped carrier collsns           \n"+
			"    %11d %7d      0       0       0       0 \n", tx, txPackets)
	}
}

// briefObject is a netdev in JSON with -br.
// It has neither index nor MTU.
func (ip *ipCall) briefObject(d *net.Netdev, addrs bool) JSONObject {
	o := JSONObject{{"ifname", d.Name}, {"operstate", stateName(d)}}
	if !addrs {
		return append(o, JSONField{"address", d.MACText()}, JSONField{"flags", flagNames(d)})
	}
	list := []JSONObject{}
	for _, a := range ip.shown(d) {
		list = append(list, JSONObject{{"local", a.Addr().String()}, {"prefixlen", a.Bits()}})
	}
	return append(o, JSONField{"addr_info", list})
}

// object is a netdev in JSON.
func (ip *ipCall) object(d *net.Netdev, addrs bool) JSONObject {
	if ip.brief {
		return ip.briefObject(d, addrs)
	}
	kind, brd := linkType(d)
	o := JSONObject{
		{"ifindex", d.Index}, {"ifname", d.Name}, {"flags", flagNames(d)}, {"mtu", d.MTU}, {"qdisc", qdisc(d)},
	}
	if d.Master != nil {
		o = append(o, JSONField{"master", d.Master.Name})
	}
	o = append(o, JSONField{"operstate", stateName(d)})
	if !addrs {
		o = append(o, JSONField{"linkmode", "DEFAULT"})
	}
	o = append(o, JSONField{"group", "default"}, JSONField{"txqlen", 1000})
	if ip.ofLink() {
		o = append(o, JSONField{"link_type", kind}, JSONField{"address", d.MACText()}, JSONField{"broadcast", brd})
		if p := d.Permanent(); p != "" {
			o = append(o, JSONField{"permaddr", p})
		}
	}
	if ip.details {
		o = append(o, ip.detailFields(d, addrs)...)
	}
	if ip.stats {
		count := func(bytes, packets uint64) JSONObject {
			return JSONObject{{"bytes", bytes}, {"packets", packets}, {"errors", 0}, {"dropped", 0}}
		}
		o = append(o, JSONField{"stats64", JSONObject{{"rx", count(d.Received())}, {"tx", count(d.Sent())}}})
	}
	if !addrs {
		return o
	}
	list := []JSONObject{}
	for _, a := range ip.shown(d) {
		list = append(list, ip.addressObject(a))
	}
	return append(o, JSONField{"addr_info", list})
}

// detailFields are those of -d, under JSON's names: three of a bond's are others than in the text
// (num_peer_notif, ad_lacp_active, ad_lacp_rate).
func (ip *ipCall) detailFields(d *net.Netdev, addrs bool) JSONObject {
	// iproute2 6.1's fields; later ones have more.
	o := JSONObject{{"promiscuity", 0}, {"allmulti", 0}, {"min_mtu", d.MinMTU()}, {"max_mtu", d.MaxMTU()}}
	switch {
	case d.Bond != nil:
		data := JSONObject{{"mode", d.Bond.Mode}}
		if a := d.ShownActive(); a != "" {
			data = append(data, JSONField{"active_slave", a})
		}
		data = append(data, JSONObject{
			{"miimon", d.Bond.Miimon},
			{"updelay", 0},
			{"downdelay", 0},
			{"peer_notify_delay", 0},
			{"use_carrier", 1},
			{"arp_interval", 0},
			{"arp_missed_max", 2},
			// What is "none" in the text is null here, unlike fail_over_mac's.
			{"arp_validate", nil},
			{"arp_all_targets", "any"},
			{"primary_reselect", "always"},
			{"fail_over_mac", "none"},
			{"xmit_hash_policy", d.Bond.Policy},
			{"resend_igmp", 1},
			{"num_peer_notif", 1},
			{"all_slaves_active", 0},
			{"min_links", 0},
			{"lp_interval", 1},
			{"packets_per_slave", 1},
			{"ad_lacp_active", "on"},
			{"ad_lacp_rate", "slow"},
			{"ad_select", "stable"},
			{"tlb_dynamic_lb", 1},
		}...)
		o = append(o, JSONField{"linkinfo", JSONObject{{"info_kind", "bond"}, {"info_data", data}}})
	case d.Master != nil:
		o = append(o, JSONField{"linkinfo", JSONObject{{"info_slave_kind", "bond"}, {"info_slave_data", JSONObject{
			{"state", strings.ToUpper(d.Role())},
			{"mii_status", strings.ToUpper(net.UpDown(d.Running()))},
			{"link_failure_count", d.Slave.Failures},
			{"perm_hwaddr", net.MACText(d.Slave.MAC)},
			{"queue_id", 0},
			{"prio", 0},
		}}}})
	}
	if !addrs {
		o = append(o, JSONField{"inet6_addr_gen_mode", "eui64"})
	}
	tx, rx := queues(d)
	o = append(o, JSONObject{
		{"num_tx_queues", tx},
		{"num_rx_queues", rx},
		{"gso_max_size", 65536},
		{"gso_max_segs", 65535},
		{"tso_max_size", 524280},
		{"tso_max_segs", 65535},
		{"gro_max_size", 65536},
	}...)
	if d.Func != nil {
		o = append(o, JSONField{"phys_port_name", fmt.Sprintf("p%d", d.Func.QSFP)},
			JSONField{"parentbus", "pci"}, JSONField{"parentdev", d.Func.PCI})
	}
	return o
}

// link is ip link, in its three forms: with -br, with -j, and for people.
func (ip *ipCall) link(verb string, args []string) int {
	switch verb {
	case "set":
		return ip.setLink(args)
	case "add":
		return ip.addLink(args)
	case "del", "delete":
		return ip.deleteLink(args)
	}
	devs, code := ip.selected(verb, args)
	if code != 0 {
		return code
	}
	var items []JSONObject
	for _, d := range devs {
		switch {
		case ip.json:
			items = append(items, ip.object(d, false))
		case ip.brief:
			ip.Printf("%-16s %-14s %s <%s> \n", d.Name, stateName(d), d.MACText(), strings.Join(flagNames(d), ","))
		default:
			ip.head(d, true)
		}
	}
	if ip.json {
		ip.Println(JSONArray(items, ip.pretty))
	}
	return 0
}
