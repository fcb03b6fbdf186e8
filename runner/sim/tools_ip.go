package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
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
			code = ip.neigh(verb)
		default:
			code = c.fail(1, "Object \"%s\" is unknown, try \"ip help\".", object)
		}
	})
	return code
}

func (ip *ipCall) denied() int { return ip.fail(2, "RTNETLINK answers: Operation not permitted") }

// selected are the netdevs that "show" and its arguments mean.
func (ip *ipCall) selected(verb string, args []string) (devs []*netdev, code int) {
	if !isShow(verb) {
		args = append([]string{verb}, args...)
	}
	name, upOnly := "", false
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "dev", "scope", "type", "master":
		case "up":
			upOnly = true
		default:
			name = args[i]
		}
	}
	for _, d := range ip.node.netdevs {
		if (name == "" || name == d.name) && (!upOnly || d.up) {
			devs = append(devs, d)
		}
	}
	if name != "" && ip.node.netdev(name) == nil {
		return nil, ip.fail(1, "Device \"%s\" does not exist.", name)
	}
	return devs, 0
}

func isShow(verb string) bool {
	return verb != "" && (strings.HasPrefix("show", verb) || verb == "list" || verb == "ls")
}

// shown are the netdev's addresses, with the link-local one while there is a link.
func (d *netdev) shown() []netip.Prefix {
	addrs := slices.Clone(d.addrs)
	if d.kind != "loopback" && d.master == nil && d.running() {
		addrs = append(addrs, netip.PrefixFrom(d.linkLocal(), 64))
	}
	return addrs
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
	case d.kind == "ether" && d.fn != nil:
		return "mq"
	case d.kind == "ether":
		return "fq_codel"
	default:
		return "noqueue"
	}
}

func (ip *ipCall) wants(a netip.Addr) bool {
	return (!ip.v4 || a.Is4()) && (!ip.v6 || a.Is6())
}

func (ip *ipCall) address(verb string, args []string) int {
	switch verb {
	case "add", "a", "del", "delete", "d", "flush", "replace":
		return ip.changeAddress(verb, args)
	}
	devs, code := ip.selected(verb, args)
	if code != 0 {
		return code
	}
	var items []jsonObject
	for _, d := range devs {
		if ip.json {
			items = append(items, ip.object(d, true))
			continue
		}
		if ip.brief {
			ip.printf("%-16s %-14s ", d.name, d.stateName())
			for _, a := range d.shown() {
				if ip.wants(a.Addr()) {
					ip.printf("%s ", a)
				}
			}
			ip.println("")
			continue
		}
		ip.head(d, false)
		for _, a := range d.shown() {
			if !ip.wants(a.Addr()) {
				continue
			}
			scope := "global"
			switch {
			case a.Addr().IsLoopback():
				scope = "host"
			case a.Addr().IsLinkLocalUnicast() && a.Addr().Is6():
				scope = "link"
			}
			if a.Addr().Is4() {
				ip.printf("    inet %s scope %s %s\n", a, scope, d.name)
			} else {
				ip.printf("    inet6 %s scope %s \n", a, scope)
			}
			ip.println("       valid_lft forever preferred_lft forever")
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}

// head is the first two lines of a netdev.
func (ip *ipCall) head(d *netdev, mode bool) {
	kind, brd := "ether", "ff:ff:ff:ff:ff:ff"
	if d.kind == "loopback" {
		kind, brd = "loopback", "00:00:00:00:00:00"
	}
	master, modeText := "", ""
	if d.master != nil {
		master = " master " + d.master.name
	}
	if mode {
		modeText = " mode DEFAULT"
	}
	ip.printf("%d: %s: <%s> mtu %d qdisc %s%s state %s%s group default qlen 1000\n    link/%s %s brd %s",
		d.index, d.name, strings.Join(d.flagNames(), ","), d.mtu, d.qdisc(), master, d.stateName(), modeText, kind, d.macText(), brd)
	if ip.details {
		ip.printf(" promiscuity 0  allmulti 0 minmtu 68 maxmtu 9978 ")
		switch {
		case d.bond != nil:
			ip.printf("\n    bond mode %s miimon %d updelay 0 downdelay 0 peer_notify_delay 0 use_carrier 1 xmit_hash_policy %s ", d.bond.mode, d.bond.miimon, d.bond.policy)
		case d.master != nil:
			ip.printf("\n    bond_slave state ACTIVE mii_status %s link_failure_count 0 perm_hwaddr %s queue_id 0 prio 0 ", strings.ToUpper(upDown(d.running())), d.macText())
		}
		ip.printf("addrgenmode eui64 numtxqueues 180 numrxqueues 20 gso_max_size 65536 gso_max_segs 65535")
		if d.fn != nil {
			ip.printf(" portname p%d parentbus pci parentdev %s ", d.fn.qsfp, d.fn.pci)
		}
	}
	ip.println("")
	if ip.stats {
		sum := func(f func(*netdev) uint64) uint64 { return d.sum(f) }
		ip.printf("    RX:  bytes packets errors dropped  missed   mcast           \n    %11d %7d      0       0       0       0 \n", sum(func(x *netdev) uint64 { return x.rxBytes }), sum(func(x *netdev) uint64 { return x.rxPackets }))
		ip.printf("    TX:  bytes packets errors dropped carrier collsns           \n    %11d %7d      0       0       0       0 \n", sum(func(x *netdev) uint64 { return x.txBytes }), sum(func(x *netdev) uint64 { return x.txPackets }))
	}
}

// object is a netdev in JSON.
func (ip *ipCall) object(d *netdev, addrs bool) jsonObject {
	kind, brd := "ether", "ff:ff:ff:ff:ff:ff"
	if d.kind == "loopback" {
		kind, brd = "loopback", "00:00:00:00:00:00"
	}
	if ip.brief {
		o := jsonObject{{"ifname", d.name}, {"operstate", d.stateName()}}
		if !addrs {
			return append(o, jsonField{"address", d.macText()}, jsonField{"flags", d.flagNames()})
		}
		list := []jsonObject{}
		for _, a := range d.shown() {
			if ip.wants(a.Addr()) {
				list = append(list, jsonObject{{"local", a.Addr().String()}, {"prefixlen", a.Bits()}})
			}
		}
		return append(o, jsonField{"addr_info", list})
	}
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
	if ip.details {
		o = append(o, jsonField{"promiscuity", 0}, jsonField{"allmulti", 0}, jsonField{"min_mtu", 68}, jsonField{"max_mtu", 9978})
		switch {
		case d.bond != nil:
			o = append(o, jsonField{"linkinfo", jsonObject{{"info_kind", "bond"}, {"info_data", jsonObject{
				{"mode", d.bond.mode}, {"miimon", d.bond.miimon}, {"xmit_hash_policy", d.bond.policy},
			}}}})
		case d.master != nil:
			o = append(o, jsonField{"linkinfo", jsonObject{{"info_slave_kind", "bond"}, {"info_slave_data", jsonObject{
				{"state", "ACTIVE"}, {"mii_status", strings.ToUpper(upDown(d.running()))}, {"perm_hwaddr", d.macText()},
			}}}})
		}
		o = append(o, jsonField{"num_tx_queues", 180}, jsonField{"num_rx_queues", 20})
		if d.fn != nil {
			o = append(o, jsonField{"phys_port_name", fmt.Sprintf("p%d", d.fn.qsfp)}, jsonField{"parentbus", "pci"}, jsonField{"parentdev", d.fn.pci})
		}
	}
	if ip.stats {
		count := func(bytes, packets uint64) jsonObject {
			return jsonObject{{"bytes", bytes}, {"packets", packets}, {"errors", 0}, {"dropped", 0}}
		}
		o = append(o, jsonField{"stats64", jsonObject{
			{"rx", count(d.sum(func(x *netdev) uint64 { return x.rxBytes }), d.sum(func(x *netdev) uint64 { return x.rxPackets }))},
			{"tx", count(d.sum(func(x *netdev) uint64 { return x.txBytes }), d.sum(func(x *netdev) uint64 { return x.txPackets }))},
		}})
	}
	if !addrs {
		return o
	}
	list := []jsonObject{}
	for _, a := range d.shown() {
		if !ip.wants(a.Addr()) {
			continue
		}
		const forever = 4294967295
		if a.Addr().Is4() {
			scope := "global"
			if a.Addr().IsLoopback() {
				scope = "host"
			}
			list = append(list, jsonObject{
				{"family", "inet"},
				{"local", a.Addr().String()},
				{"prefixlen", a.Bits()},
				{"scope", scope},
				{"label", d.name},
				{"valid_life_time", forever},
				{"preferred_life_time", forever},
			})
			continue
		}
		scope := "link"
		if a.Addr().IsLoopback() {
			scope = "host"
		}
		list = append(list, jsonObject{
			{"family", "inet6"},
			{"local", a.Addr().String()},
			{"prefixlen", a.Bits()},
			{"scope", scope},
			{"valid_life_time", forever},
			{"preferred_life_time", forever},
		})
	}
	return append(o, jsonField{"addr_info", list})
}

func (ip *ipCall) changeAddress(verb string, args []string) int {
	var prefix netip.Prefix
	var dev string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "dev":
			if i+1 < len(args) {
				i++
				dev = args[i]
			}
		case "brd", "broadcast", "scope", "label":
			i++
		default:
			p, err := netip.ParsePrefix(args[i])
			if err != nil {
				a, err := netip.ParseAddr(args[i])
				if err != nil {
					return ip.fail(1, "Error: any valid prefix is expected rather than \"%s\".", args[i])
				}
				p = netip.PrefixFrom(a, a.BitLen())
			}
			prefix = p
		}
	}
	d := ip.node.netdev(dev)
	switch {
	case dev == "":
		return ip.fail(255, "Not enough information: \"dev\" argument is required.")
	case d == nil:
		return ip.fail(1, "Cannot find device \"%s\"", dev)
	case !ip.root:
		return ip.denied()
	case verb == "flush":
		for _, a := range slices.Clone(d.addrs) {
			d.delAddr(a)
		}
		return 0
	case strings.HasPrefix(verb, "a") || verb == "replace":
		if !d.addAddr(prefix) && verb != "replace" {
			return ip.fail(2, "RTNETLINK answers: File exists")
		}
	case !d.delAddr(prefix):
		return ip.fail(2, "RTNETLINK answers: Cannot assign requested address")
	}
	return 0
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

func (ip *ipCall) setLink(args []string) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ip.fail(255, "Not enough information: \"dev\" argument is required.")
	}
	d := ip.node.netdev(args[0])
	if d == nil {
		return ip.fail(1, "Cannot find device \"%s\"", args[0])
	}
	if !ip.root {
		return ip.denied()
	}
	args = args[1:]
	for i := 0; i < len(args); i++ {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch args[i] {
		case "up", "down":
			d.setUp(args[i] == "up")
		case "mtu":
			i++
			mtu, err := strconv.Atoi(value)
			switch {
			case err != nil:
				return ip.fail(255, "Error: argument \"%s\" is wrong: Invalid \"mtu\" value", value)
			case mtu > 9978:
				return ip.fail(2, "Error: mtu greater than device maximum.")
			case mtu < 68:
				return ip.fail(2, "Error: mtu less than device minimum.")
			}
			d.mtu = mtu
			for _, s := range d.slaves() {
				s.mtu = mtu
			}
		case "master":
			i++
			bond := ip.node.netdev(value)
			switch {
			case bond == nil:
				return ip.fail(255, "Error: argument \"%s\" is wrong: Device does not exist", value)
			case d.up:
				return ip.fail(2, "Error: Device can not be enslaved while up.")
			}
			d.enslave(bond)
		case "nomaster":
			if d.master != nil {
				d.release()
			}
		case "type":
			i++
		case "mode":
			i++
			if code := ip.bondMode(d, value); code != 0 {
				return code
			}
		case "miimon":
			i++
			if d.bond != nil {
				d.bond.miimon, _ = strconv.Atoi(value)
			}
		case "xmit_hash_policy":
			i++
			if d.bond != nil {
				d.bond.policy = value
			}
		default:
			return ip.fail(255, "Error: either \"dev\" is duplicate, or \"%s\" is a garbage.", args[i])
		}
	}
	ip.node.rig.fabric.allocate()
	return 0
}

var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

func (ip *ipCall) bondMode(d *netdev, mode string) int {
	if n, err := strconv.Atoi(mode); err == nil && n >= 0 && n < len(bondModes) {
		mode = bondModes[n]
	}
	if !slices.Contains(bondModes, mode) {
		return ip.fail(255, "Error: argument \"%s\" is wrong: invalid mode", mode)
	}
	if d.bond != nil {
		d.bond.mode = mode
	}
	return 0
}

func (ip *ipCall) addLink(args []string) int {
	var words []string
	for _, a := range args {
		if a != "name" && a != "dev" {
			words = append(words, a)
		}
	}
	if len(words) < 3 || words[1] != "type" {
		return ip.fail(255, "Not enough information: \"type\" argument is required")
	}
	name := words[0]
	bond := &bondState{mode: "balance-rr", policy: "layer2"}
	if words[2] != "bond" {
		return ip.fail(2, "Error: Unknown device type.")
	}
	draft := &netdev{bond: bond}
	for i := 3; i+1 < len(words); i += 2 {
		switch words[i] {
		case "mode":
			if code := ip.bondMode(draft, words[i+1]); code != 0 {
				return code
			}
		case "miimon":
			bond.miimon, _ = strconv.Atoi(words[i+1])
		case "xmit_hash_policy":
			bond.policy = words[i+1]
		}
	}
	if !ip.root {
		return ip.denied()
	}
	if ip.node.netdev(name) != nil {
		return ip.fail(2, "RTNETLINK answers: File exists")
	}
	d := ip.node.addNetdev(name, "bond", [6]byte{0x9e, 0x31, 0x5c, 0x02, 0x77, byte(0x10 + ip.node.index)}, 1500)
	d.bond, d.up = bond, false
	if !slices.Contains(ip.node.modules, "bonding") {
		ip.node.modules = append(ip.node.modules, "bonding")
	}
	return 0
}

func (ip *ipCall) deleteLink(args []string) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ip.fail(255, "Not enough information: \"dev\" argument is required.")
	}
	d := ip.node.netdev(args[0])
	switch {
	case d == nil:
		return ip.fail(1, "Cannot find device \"%s\"", args[0])
	case !ip.root:
		return ip.denied()
	case d.bond == nil:
		return ip.fail(2, "RTNETLINK answers: Operation not supported")
	}
	ip.node.deleteBond(d.name)
	return 0
}

// table is the main routing table, as the kernel lists it.
func (n *node) table() []route {
	rs := slices.Clone(n.routes)
	for _, d := range n.netdevs {
		if !d.up || d.kind == "loopback" {
			continue
		}
		for _, a := range d.addrs {
			if a.Addr().Is4() {
				rs = append(rs, route{dst: a.Masked(), dev: d.name, src: a.Addr()})
			}
		}
	}
	slices.SortStableFunc(rs, func(a, b route) int { return a.dst.Addr().Compare(b.dst.Addr()) })
	return rs
}

func (ip *ipCall) route(verb string, args []string) int {
	switch verb {
	case "get":
		return ip.routeGet(args)
	case "add", "del", "delete", "replace":
		return ip.changeRoute(verb, args)
	}
	if !isShow(verb) {
		args = append([]string{verb}, args...)
	}
	dev, dst := "", ""
	for i := 0; i < len(args); i++ {
		if args[i] == "dev" && i+1 < len(args) {
			i++
			dev = args[i]
		} else if args[i] != "table" && args[i] != "main" {
			dst = args[i]
		}
	}
	var items []jsonObject
	for _, r := range ip.node.table() {
		if dev != "" && dev != r.dev {
			continue
		}
		name := r.dst.String()
		if r.dst.Bits() == 0 {
			name = "default"
		}
		if dst != "" && dst != name {
			continue
		}
		var line string
		o := jsonObject{{"dst", name}}
		down := ""
		flags := []string{}
		if d := ip.node.netdev(r.dev); d != nil && !d.carrier() {
			down, flags = "linkdown ", []string{"linkdown"}
		}
		if r.via.IsValid() {
			line = fmt.Sprintf("%s via %s dev %s proto static metric 100 %s", name, r.via, r.dev, down)
			o = append(o, jsonField{"gateway", r.via.String()}, jsonField{"dev", r.dev}, jsonField{"protocol", "static"}, jsonField{"metric", 100}, jsonField{"flags", flags})
		} else {
			line = fmt.Sprintf("%s dev %s proto kernel scope link src %s %s", name, r.dev, r.src, down)
			o = append(o, jsonField{"dev", r.dev}, jsonField{"protocol", "kernel"}, jsonField{"scope", "link"}, jsonField{"prefsrc", r.src.String()}, jsonField{"flags", flags})
		}
		if ip.json {
			items = append(items, o)
		} else {
			ip.println(line)
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}

func (ip *ipCall) routeGet(args []string) int {
	if len(args) == 0 {
		return ip.fail(255, "need at least a destination address")
	}
	a, err := netip.ParseAddr(args[0])
	if err != nil {
		return ip.fail(1, "Error: any valid prefix is expected rather than \"%s\".", args[0])
	}
	way, ok := ip.node.route(a)
	if !ok {
		return ip.fail(2, "RTNETLINK answers: Network is unreachable")
	}
	_, uid := ip.user()
	o := jsonObject{{"dst", a.String()}}
	line := a.String()
	switch {
	case way.local:
		line = "local " + line
		o = append(jsonObject{{"type", "local"}}, o...)
	case way.via.IsValid():
		line += " via " + way.via.String()
		o = append(o, jsonField{"gateway", way.via.String()})
	}
	line += fmt.Sprintf(" dev %s src %s uid %d \n    cache ", way.dev.name, way.src, uid)
	o = append(o, jsonField{"dev", way.dev.name}, jsonField{"prefsrc", way.src.String()}, jsonField{"flags", []string{}}, jsonField{"uid", uid}, jsonField{"cache", []string{}})
	if ip.json {
		ip.println(jsonArray([]jsonObject{o}, ip.pretty))
	} else {
		ip.println(line)
	}
	return 0
}

func (ip *ipCall) changeRoute(verb string, args []string) int {
	if !ip.root {
		return ip.denied()
	}
	if len(args) == 0 {
		return ip.fail(2, "RTNETLINK answers: No such device")
	}
	text := args[0]
	if text == "default" {
		text = "0.0.0.0/0"
	}
	if !strings.Contains(text, "/") {
		text += "/32"
	}
	dst, err := netip.ParsePrefix(text)
	if err != nil {
		return ip.fail(1, "Error: any valid prefix is expected rather than \"%s\".", args[0])
	}
	r := route{dst: dst}
	for i := 1; i+1 < len(args); i += 2 {
		switch args[i] {
		case "via":
			r.via, _ = netip.ParseAddr(args[i+1])
		case "dev":
			r.dev = args[i+1]
		case "src":
			r.src, _ = netip.ParseAddr(args[i+1])
		}
	}
	if r.dev == "" && r.via.IsValid() {
		if way, ok := ip.node.route(r.via); ok {
			r.dev = way.dev.name
		}
	}
	same := func(x route) bool { return x.dst == r.dst && (r.dev == "" || x.dev == r.dev) }
	switch {
	case strings.HasPrefix(verb, "del"):
		if !slices.ContainsFunc(ip.node.routes, same) {
			return ip.fail(2, "RTNETLINK answers: No such process")
		}
		ip.node.routes = slices.DeleteFunc(ip.node.routes, same)
		return 0
	case ip.node.netdev(r.dev) == nil:
		return ip.fail(1, "Cannot find device \"%s\"", r.dev)
	case verb == "add" && slices.ContainsFunc(ip.node.routes, same):
		return ip.fail(2, "RTNETLINK answers: File exists")
	}
	ip.node.routes = append(slices.DeleteFunc(ip.node.routes, same), r)
	return 0
}

func (ip *ipCall) neigh(string) int {
	var items []jsonObject
	for _, d := range ip.node.netdevs {
		a := d.ipv4()
		if !a.IsValid() || d.kind == "loopback" {
			continue
		}
		for _, x := range ip.node.peer().netdevs {
			for _, b := range x.addrs {
				if b.Addr().Is4() && a.Masked().Contains(b.Addr()) && ip.node.neighbour(d, b.Addr()) != nil {
					if ip.json {
						items = append(items, jsonObject{{"dst", b.Addr().String()}, {"dev", d.name}, {"lladdr", x.macText()}, {"state", []string{"REACHABLE"}}})
					} else {
						ip.printf("%s dev %s lladdr %s REACHABLE \n", b.Addr(), d.name, x.macText())
					}
				}
			}
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}
