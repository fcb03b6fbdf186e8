package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strings"
)

// A jsonObject keeps its fields in order, as iproute2 prints them.
type jsonObject []jsonField

type jsonField struct {
	name  string
	value any
}

func (o jsonObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		v, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(fmt.Appendf(b, "%q:", f.name), v...)
	}
	return append(b, '}'), nil
}

func jsonArray(items []jsonObject, pretty bool) string {
	if items == nil {
		items = []jsonObject{}
	}
	b, err := json.Marshal(items)
	if pretty {
		b, err = json.MarshalIndent(items, "", "    ")
	}
	if err != nil {
		return "[]"
	}
	return string(b)
}

// ipCall is one run of ip.
type ipCall struct {
	*call
	brief, json, details, stats, pretty, v4, v6 bool
}

func runIP(_ context.Context, c *call) int {
	ip := &ipCall{call: c}
	args := c.args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch o := strings.TrimLeft(args[0], "-"); o {
		case "br", "brief":
			ip.brief = true
		case "j", "js", "json":
			ip.json = true
		case "d", "details":
			ip.details = true
		case "s", "stats", "statistics":
			ip.stats = true
		case "p", "pretty":
			ip.pretty = true
		case "4":
			ip.v4 = true
		case "6":
			ip.v6 = true
		case "V", "Version":
			c.println("ip utility, iproute2-6.1.0, libbpf 1.3.0")
			return 0
		case "o", "oneline", "c", "color", "color=never", "h", "human", "n":
		default:
			return c.fail(255, "Option \"%s\" is unknown, try \"ip -help\".", args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return c.fail(255, "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }")
	}
	object, args := args[0], args[1:]
	verb := "show"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	code := 0
	c.locked(func() {
		switch {
		case strings.HasPrefix("address", object):
			code = ip.address(verb, args)
		case strings.HasPrefix("link", object):
			code = ip.link(verb, args)
		case strings.HasPrefix("route", object):
			code = ip.route(verb, args)
		case strings.HasPrefix("neighbour", object) || object == "neighbor":
			code = ip.neigh(verb, args)
		default:
			code = c.fail(1, "Object \"%s\" is unknown, try \"ip help\".", object)
		}
	})
	return code
}

func (ip *ipCall) denied() int { return ip.fail(2, "RTNETLINK answers: Operation not permitted") }

// A filter is what "show" and its arguments mean.
type filter struct {
	name, kind, master string
	up                 bool
}

func (ip *ipCall) filter(verb string, args []string) (f filter) {
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
		case "scope", "label", "group":
			args = args[1:]
		case "permanent", "dynamic", "primary", "secondary":
		default:
			f.name = args[0]
		}
		args = args[min(1, len(args)):]
	}
	return f
}

// selected are the netdevs that are to be shown.
func (ip *ipCall) selected(verb string, args []string) (devs []*netdev, code int) {
	f := ip.filter(verb, args)
	if f.name != "" && ip.node.netdev(f.name) == nil {
		return nil, ip.fail(1, "Device \"%s\" does not exist.", f.name)
	}
	if f.master != "" && ip.node.netdev(f.master) == nil {
		return nil, ip.fail(255, "Error: argument \"%s\" is wrong: Device does not exist", f.master)
	}
	for _, d := range ip.node.netdevs {
		switch {
		case f.name != "" && f.name != d.name, f.up && !d.up, f.kind != "" && f.kind != d.kind,
			f.master != "" && (d.master == nil || d.master.name != f.master):
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
func (ip *ipCall) shown(d *netdev) []address {
	var list []address
	for _, a := range d.addrs {
		if ip.wants(a.Addr()) {
			list = append(list, a)
		}
	}
	return list
}

func (d *netdev) flagNames() []string {
	var f []string
	if d.up && !d.carrier() {
		f = append(f, "NO-CARRIER")
	}
	if d.kind == "loopback" {
		f = append(f, "LOOPBACK")
	} else {
		f = append(f, "BROADCAST", "MULTICAST")
	}
	if d.bond != nil {
		f = append(f, "MASTER")
	}
	if d.master != nil {
		f = append(f, "SLAVE")
	}
	if d.up {
		f = append(f, "UP")
	}
	if d.running() {
		f = append(f, "LOWER_UP")
	}
	return f
}

func (d *netdev) stateName() string { return strings.ToUpper(d.operState()) }

func (d *netdev) qdisc() string {
	switch {
	case d.kind == "bond" && !d.opened:
		return "noop"
	case d.kind == "ether" && d.fn != nil:
		return "mq"
	case d.kind == "ether":
		return "fq_codel"
	default:
		return "noqueue"
	}
}

// maxMTU is what the interface's driver takes.
func (d *netdev) maxMTU() int {
	switch d.kind {
	case "bond":
		return 65535
	case "loopback":
		return 0
	default:
		return 9978
	}
}

func (d *netdev) minMTU() int {
	if d.kind == "loopback" {
		return 0
	}
	return 68
}

// queues are the numbers of transmit and receive queues.
func (d *netdev) queues() (tx, rx int) {
	switch {
	case d.kind == "bond":
		return 16, 16
	case d.fn != nil:
		return 180, 20
	default:
		return 1, 1
	}
}

func (ip *ipCall) wants(a netip.Addr) bool {
	return (!ip.v4 || a.Is4()) && (!ip.v6 || a.Is6())
}

func (ip *ipCall) address(verb string, args []string) int {
	switch verb {
	case "add", "a", "del", "delete", "d", "flush", "replace", "change":
		return ip.changeAddress(verb, args)
	}
	devs, code := ip.selected(verb, args)
	if code != 0 {
		return code
	}
	var items []jsonObject
	for _, d := range devs {
		addrs := ip.shown(d)
		switch {
		case len(addrs) == 0 && (ip.v4 || ip.v6):
		case ip.json:
			items = append(items, ip.object(d, true))
		case ip.brief:
			ip.printf("%-16s %-14s ", d.name, d.stateName())
			for _, a := range addrs {
				ip.printf("%s ", a.Prefix)
			}
			ip.println("")
		default:
			ip.head(d, false)
			for _, a := range addrs {
				ip.addressLines(d, a)
			}
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}

// lifetimes are the seconds that an address is still valid and preferred.
func (ip *ipCall) lifetimes(a address) (valid, preferred uint32) {
	if !a.dynamic {
		return a.valid, a.preferred
	}
	passed := uint32((ip.node.rack.clock.Now() - a.set).Seconds())
	left := func(v uint32) uint32 {
		if v == math.MaxUint32 {
			return v
		}
		return v - min(v, passed)
	}
	return left(a.valid), left(a.preferred)
}

func (ip *ipCall) addressLines(d *netdev, a address) {
	words := []string{"    inet", a.String()}
	if a.Addr().Is6() {
		words[0] = "    inet6"
	}
	if a.broadcast.IsValid() {
		words = append(words, "brd", a.broadcast.String())
	}
	words = append(words, "scope", a.scope)
	words = append(words, a.flags()...)
	// IPv6 has no label, and iproute2 leaves its place.
	ip.println(strings.Join(append(words, a.label), " "))
	valid, preferred := ip.lifetimes(a)
	text := func(v uint32) string {
		if v == math.MaxUint32 {
			return "forever"
		}
		return fmt.Sprintf("%dsec", v)
	}
	ip.printf("       valid_lft %s preferred_lft %s\n", text(valid), text(preferred))
}

// flags are the words that iproute2 has for what is special with an address.
func (a address) flags() []string {
	var f []string
	for _, x := range []struct {
		is   bool
		name string
	}{{a.secondary, "secondary"}, {a.dynamic, "dynamic"}, {a.nodad, "nodad"}, {a.noPrefixRoute, "noprefixroute"}} {
		if x.is {
			f = append(f, x.name)
		}
	}
	return f
}

func (ip *ipCall) addressObject(a address) jsonObject {
	family := "inet"
	if a.Addr().Is6() {
		family = "inet6"
	}
	o := jsonObject{{"family", family}, {"local", a.Addr().String()}, {"prefixlen", a.Bits()}}
	if a.broadcast.IsValid() {
		o = append(o, jsonField{"broadcast", a.broadcast.String()})
	}
	o = append(o, jsonField{"scope", a.scope})
	for _, f := range a.flags() {
		o = append(o, jsonField{f, true})
	}
	if a.label != "" {
		o = append(o, jsonField{"label", a.label})
	}
	valid, preferred := ip.lifetimes(a)
	return append(o, jsonField{"valid_life_time", valid}, jsonField{"preferred_life_time", preferred})
}

func (d *netdev) linkType() (kind, broadcast string) {
	if d.kind == "loopback" {
		return "loopback", "00:00:00:00:00:00"
	}
	return "ether", "ff:ff:ff:ff:ff:ff"
}

// permanent is the hardware's MAC where another one is in use; empty otherwise.
func (d *netdev) permanent() string {
	if d.kind != "ether" || d.perm == d.mac {
		return ""
	}
	return macText(d.perm)
}

// role is whether a slave carries what its bond sends.
func (d *netdev) role() string {
	if d.master.bond.mode == "active-backup" && d.master.activeSlave() != d {
		return "backup"
	}
	return "active"
}

// head is the first lines of a netdev.
func (ip *ipCall) head(d *netdev, mode bool) {
	kind, brd := d.linkType()
	master, modeText := "", ""
	if d.master != nil {
		master = " master " + d.master.name
	}
	if mode {
		modeText = " mode DEFAULT"
	}
	ip.printf("%d: %s: <%s> mtu %d qdisc %s%s state %s%s group default qlen 1000\n    link/%s %s brd %s",
		d.index, d.name, strings.Join(d.flagNames(), ","), d.mtu,
		d.qdisc(), master, d.stateName(), modeText, kind, d.macText(), brd)
	if p := d.permanent(); p != "" {
		ip.printf(" permaddr %s", p)
	}
	if ip.details {
		ip.printf(" promiscuity 0  allmulti 0 minmtu %d maxmtu %d ", d.minMTU(), d.maxMTU())
		switch {
		case d.bond != nil:
			ip.printf("\n    bond mode %s ", d.bond.mode)
			if a := d.shownActive(); a != "" {
				ip.printf("active_slave %s ", a)
			}
			ip.printf("miimon %d updelay 0 downdelay 0 peer_notify_delay 0 use_carrier 1 arp_interval 0 "+
				"arp_missed_max 2 arp_validate none arp_all_targets any primary_reselect always fail_over_mac none "+
				"xmit_hash_policy %s resend_igmp 1 num_grat_arp 1 all_slaves_active 0 min_links 0 "+
				"lp_interval 1 packets_per_slave 1 lacp_active on lacp_rate slow ad_select stable tlb_dynamic_lb 1 ",
				d.bond.miimon, d.bond.policy)
		case d.master != nil:
			ip.printf("\n    bond_slave state %s mii_status %s link_failure_count %d perm_hwaddr %s queue_id 0 prio 0 ",
				strings.ToUpper(d.role()), strings.ToUpper(upDown(d.running())), d.slave.failures, macText(d.slave.mac))
		}
		tx, rx := d.queues()
		ip.printf("addrgenmode eui64 numtxqueues %d numrxqueues %d gso_max_size 65536 "+
			"gso_max_segs 65535 tso_max_size 524280 tso_max_segs 65535 gro_max_size 65536 ", tx, rx)
		if d.fn != nil {
			ip.printf("portname p%d parentbus pci parentdev %s ", d.fn.qsfp, d.fn.pci)
		}
	}
	ip.println("")
	if ip.stats {
		rx, rxPackets := d.received()
		tx, txPackets := d.sent()
		ip.printf("    RX:  bytes packets errors dropped  missed   mcast           \n"+
			"    %11d %7d      0       0       0       0 \n", rx, rxPackets)
		ip.printf("    TX:  bytes packets errors dropped carrier collsns           \n"+
			"    %11d %7d      0       0       0       0 \n", tx, txPackets)
	}
}

// shownActive is the slave that a bond of such a mode uses; empty for the others.
func (d *netdev) shownActive() string {
	if !usesPrimary(d.bond.mode) {
		return ""
	}
	if a := d.activeSlave(); a != nil {
		return a.name
	}
	return ""
}

func usesPrimary(mode string) bool {
	return mode == "active-backup" || mode == "balance-tlb" || mode == "balance-alb"
}

// briefObject is a netdev in JSON with -br.
func (ip *ipCall) briefObject(d *netdev, addrs bool) jsonObject {
	o := jsonObject{{"ifname", d.name}, {"operstate", d.stateName()}}
	if !addrs {
		return append(o, jsonField{"address", d.macText()}, jsonField{"flags", d.flagNames()})
	}
	list := []jsonObject{}
	for _, a := range ip.shown(d) {
		list = append(list, jsonObject{{"local", a.Addr().String()}, {"prefixlen", a.Bits()}})
	}
	return append(o, jsonField{"addr_info", list})
}

// object is a netdev in JSON.
func (ip *ipCall) object(d *netdev, addrs bool) jsonObject {
	if ip.brief {
		return ip.briefObject(d, addrs)
	}
	kind, brd := d.linkType()
	o := jsonObject{
		{"ifindex", d.index}, {"ifname", d.name}, {"flags", d.flagNames()}, {"mtu", d.mtu}, {"qdisc", d.qdisc()},
	}
	if d.master != nil {
		o = append(o, jsonField{"master", d.master.name})
	}
	o = append(o, jsonField{"operstate", d.stateName()})
	if !addrs {
		o = append(o, jsonField{"linkmode", "DEFAULT"})
	}
	o = append(o, jsonField{"group", "default"}, jsonField{"txqlen", 1000}, jsonField{"link_type", kind},
		jsonField{"address", d.macText()}, jsonField{"broadcast", brd})
	if p := d.permanent(); p != "" {
		o = append(o, jsonField{"permaddr", p})
	}
	if ip.details {
		o = append(o, ip.detailFields(d, addrs)...)
	}
	if ip.stats {
		count := func(bytes, packets uint64) jsonObject {
			return jsonObject{{"bytes", bytes}, {"packets", packets}, {"errors", 0}, {"dropped", 0}}
		}
		o = append(o, jsonField{"stats64", jsonObject{{"rx", count(d.received())}, {"tx", count(d.sent())}}})
	}
	if !addrs {
		return o
	}
	list := []jsonObject{}
	for _, a := range ip.shown(d) {
		list = append(list, ip.addressObject(a))
	}
	return append(o, jsonField{"addr_info", list})
}

func (ip *ipCall) detailFields(d *netdev, addrs bool) jsonObject {
	o := jsonObject{{"promiscuity", 0}, {"allmulti", 0}, {"min_mtu", d.minMTU()}, {"max_mtu", d.maxMTU()}}
	switch {
	case d.bond != nil:
		data := jsonObject{{"mode", d.bond.mode}}
		if a := d.shownActive(); a != "" {
			data = append(data, jsonField{"active_slave", a})
		}
		data = append(data, jsonObject{
			{"miimon", d.bond.miimon},
			{"updelay", 0},
			{"downdelay", 0},
			{"peer_notify_delay", 0},
			{"use_carrier", 1},
			{"arp_interval", 0},
			{"arp_missed_max", 2},
			{"arp_validate", nil},
			{"arp_all_targets", "any"},
			{"primary_reselect", "always"},
			{"fail_over_mac", "none"},
			{"xmit_hash_policy", d.bond.policy},
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
		o = append(o, jsonField{"linkinfo", jsonObject{{"info_kind", "bond"}, {"info_data", data}}})
	case d.master != nil:
		o = append(o, jsonField{"linkinfo", jsonObject{{"info_slave_kind", "bond"}, {"info_slave_data", jsonObject{
			{"state", strings.ToUpper(d.role())},
			{"mii_status", strings.ToUpper(upDown(d.running()))},
			{"link_failure_count", d.slave.failures},
			{"perm_hwaddr", macText(d.slave.mac)},
			{"queue_id", 0},
			{"prio", 0},
		}}}})
	}
	if !addrs {
		o = append(o, jsonField{"inet6_addr_gen_mode", "eui64"})
	}
	tx, rx := d.queues()
	o = append(o, jsonObject{
		{"num_tx_queues", tx},
		{"num_rx_queues", rx},
		{"gso_max_size", 65536},
		{"gso_max_segs", 65535},
		{"tso_max_size", 524280},
		{"tso_max_segs", 65535},
		{"gro_max_size", 65536},
	}...)
	if d.fn != nil {
		o = append(o, jsonField{"phys_port_name", fmt.Sprintf("p%d", d.fn.qsfp)},
			jsonField{"parentbus", "pci"}, jsonField{"parentdev", d.fn.pci})
	}
	return o
}

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
	var items []jsonObject
	for _, d := range devs {
		switch {
		case ip.json:
			items = append(items, ip.object(d, false))
		case ip.brief:
			ip.printf("%-16s %-14s %s <%s> \n", d.name, d.stateName(), d.macText(), strings.Join(d.flagNames(), ","))
		default:
			ip.head(d, true)
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}
