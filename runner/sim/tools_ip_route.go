package sim

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A routeFilter is what "ip route show" is to list.
type routeFilter struct {
	table, dev, dst, proto, scope, kind string
}

func (ip *ipCall) routeFilter(verb string, args []string) routeFilter {
	f := routeFilter{table: mainTable}
	if !isShow(verb) {
		args = append([]string{verb}, args...)
	}
	for len(args) > 0 {
		word, value := args[0], ""
		args = args[1:]
		if slices.Contains([]string{"table", "dev", "proto", "scope", "type", "root", "match", "exact", "to"}, word) &&
			len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch word {
		case "table":
			f.table = tableName(value)
		case "dev":
			f.dev = value
		case "proto":
			f.proto = value
		case "scope":
			f.scope = value
		case "type":
			f.kind = value
		case "root", "match", "exact", "to":
			f.dst = value
		default:
			f.dst = word
		}
	}
	return f
}

func tableName(text string) string {
	switch text {
	case "254":
		return mainTable
	case "255":
		return localTable
	default:
		return text
	}
}

func (f routeFilter) takes(r route) bool {
	return (f.table == "all" || f.table == r.table) && (f.dev == "" || f.dev == r.dev) &&
		(f.dst == "" || f.dst == r.name()) && (f.proto == "" || f.proto == r.proto) &&
		(f.scope == "" || f.scope == r.scope) && (f.kind == "" || f.kind == r.kind || f.kind == "unicast" && r.kind == "")
}

// name is a route's destination as ip prints it.
func (r route) name() string {
	switch {
	case r.dst.Bits() == 0:
		return "default"
	case r.dst.IsSingleIP():
		return r.dst.Addr().String()
	default:
		return r.dst.String()
	}
}

func (ip *ipCall) route(verb string, args []string) int {
	switch verb {
	case "get":
		return ip.routeGet(args)
	case "add", "del", "delete", "replace", "append", "change":
		return ip.changeRoute(verb, args)
	case "flush":
		return ip.flushRoutes(args)
	}
	f := ip.routeFilter(verb, args)
	if f.dev != "" && ip.node.netdev(f.dev) == nil {
		return ip.fail(1, "Cannot find device \"%s\"", f.dev)
	}
	list := ip.node.listed(ip.v6)
	if f.table == "all" && !ip.v4 && !ip.v6 {
		list = append(list, ip.node.listed(true)...)
	}
	var items []jsonObject
	for _, r := range list {
		switch {
		case !f.takes(r):
		case ip.json:
			items = append(items, ip.routeObject(r, f))
		default:
			ip.println(ip.routeLine(r, f))
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}

// routeFields are the words of a route in the order in which ip has them. What
// the filter says already is left out.
func (ip *ipCall) routeObject(r route, f routeFilter) jsonObject {
	var o jsonObject
	add := func(name string, value any, is bool) {
		if is {
			o = append(o, jsonField{name, value})
		}
	}
	v6 := r.dst.Addr().Is6()
	add("type", r.kind, r.kind != "")
	add("dst", r.name(), true)
	add("gateway", r.via.String(), r.via.IsValid())
	add("dev", r.dev, f.dev == "")
	add("table", r.table, r.table != mainTable && f.table == "all")
	add("protocol", r.proto, r.proto != "boot")
	add("scope", r.scope, !v6 && r.scope != "global")
	add("prefsrc", r.src.String(), r.src.IsValid())
	add("metric", r.metric, r.metric != 0 || v6)
	flags := []string{}
	if d := ip.node.netdev(r.dev); d != nil && !d.carrier() && r.kind == "" {
		flags = append(flags, "linkdown")
	}
	add("flags", flags, true)
	add("pref", "medium", v6)
	return o
}

func (ip *ipCall) routeLine(r route, f routeFilter) string {
	words := map[string]string{
		"gateway": "via", "dev": "dev", "table": "table", "protocol": "proto",
		"scope": "scope", "prefsrc": "src", "metric": "metric", "pref": "pref",
	}
	var b strings.Builder
	for _, field := range ip.routeObject(r, f) {
		switch field.name {
		case "type", "dst":
			fmt.Fprintf(&b, "%v ", field.value)
		case "flags":
			for _, flag := range field.value.([]string) {
				b.WriteString(flag + " ")
			}
		default:
			fmt.Fprintf(&b, "%s %v ", words[field.name], field.value)
		}
	}
	return b.String()
}

func (ip *ipCall) parseRoute(args []string) (r route, code int) {
	r = route{proto: "boot", table: mainTable}
	for len(args) > 0 {
		word, value := args[0], ""
		args = args[1:]
		if slices.Contains([]string{
			"via", "dev", "src", "metric", "preference", "proto", "scope", "table", "to", "mtu",
		}, word) {
			if len(args) == 0 {
				return r, ip.fail(255, "Command line is not complete. Try option \"help\"")
			}
			value, args = args[0], args[1:]
		}
		var err error
		switch word {
		case "via":
			if r.via, err = netip.ParseAddr(value); err != nil {
				return r, ip.fail(1, "Error: inet address is expected rather than \"%s\".", value)
			}
		case "src":
			if r.src, err = netip.ParseAddr(value); err != nil {
				return r, ip.fail(1, "Error: inet address is expected rather than \"%s\".", value)
			}
		case "metric", "preference":
			if r.metric, err = strconv.Atoi(value); err != nil {
				return r, ip.fail(255, "Error: argument \"%s\" is wrong: \"metric\" value is invalid", value)
			}
		case "dev":
			r.dev = value
		case "proto":
			r.proto = value
		case "scope":
			r.scope = value
		case "table":
			r.table = tableName(value)
		case "mtu", "onlink", "unicast":
		default:
			if word == "to" {
				word = value
			}
			switch {
			case word == "default" && ip.v6:
				word = "::/0"
			case word == "default":
				word = "0.0.0.0/0"
			}
			if r.dst, code = ip.parsePrefix(word); code != 0 {
				return r, code
			}
		}
	}
	if r.scope == "" {
		r.scope = "global"
		if !r.via.IsValid() {
			r.scope = "link"
		}
	}
	if r.dst.Addr().Is6() && r.metric == 0 {
		r.metric = 1024
	}
	return r, 0
}

func (ip *ipCall) changeRoute(verb string, args []string) int {
	r, code := ip.parseRoute(args)
	n := ip.node
	switch {
	case code != 0:
		return code
	case r.dev != "" && n.netdev(r.dev) == nil:
		return ip.fail(1, "Cannot find device \"%s\"", r.dev)
	case !ip.root:
		return ip.denied()
	case !r.dst.IsValid():
		return ip.fail(2, "RTNETLINK answers: No such device")
	case r.dst != r.dst.Masked():
		return ip.fail(2, "Error: Invalid prefix for given prefix length.")
	case strings.HasPrefix(verb, "del"):
		return ip.deleteRoute(r, slices.Contains(args, "metric"))
	}
	if r.via.IsValid() {
		w, ok := n.route(r.via)
		if v6 := r.via.Is6(); !v6 &&
			(!ok || w.local || w.via.IsValid() || r.dev != "" && w.dev.name != r.dev && !n.onLink(r)) {
			return ip.fail(2, "Error: Nexthop has invalid gateway.")
		}
		if r.dev == "" && ok {
			r.dev = w.dev.name
		}
	}
	d := n.netdev(r.dev)
	switch {
	case d == nil:
		return ip.fail(2, "RTNETLINK answers: No such device")
	case !d.up:
		return ip.fail(2, "Error: Device for nexthop is not up.")
	case r.src.IsValid() && !n.has(r.src):
		return ip.fail(2, "Error: Invalid prefsrc address.")
	}
	same := func(x route) bool { return x.dst == r.dst && x.table == r.table && x.metric == r.metric }
	i := slices.IndexFunc(n.routes, same)
	switch {
	case verb == "add" && i >= 0:
		return ip.fail(2, "RTNETLINK answers: File exists")
	case verb == "change" && i < 0:
		return ip.fail(2, "RTNETLINK answers: No such file or directory")
	case (verb == "replace" || verb == "change") && slices.Contains(n.routes, r):
		return 0
	case (verb == "replace" || verb == "change") && i >= 0:
		// The first of the same network and metric, whatever its interface.
		n.routes[i] = r
	case verb == "append":
		n.routes = append(n.routes, r)
	default:
		// The newest of several with one network and metric comes first.
		if i < 0 {
			i = len(n.routes)
		}
		n.routes = slices.Insert(n.routes, i, r)
	}
	return 0
}

// onLink says that a gateway is in a network of the route's own interface.
func (n *node) onLink(r route) bool {
	return slices.ContainsFunc(n.routes, func(x route) bool {
		return x.dev == r.dev && !x.via.IsValid() && x.dst.Contains(r.via)
	})
}

func (ip *ipCall) deleteRoute(r route, metric bool) int {
	n := ip.node
	i := slices.IndexFunc(n.routes, func(x route) bool {
		return x.dst == r.dst && x.table == r.table && (r.dev == "" || x.dev == r.dev) &&
			(!r.via.IsValid() || x.via == r.via) && (!metric || x.metric == r.metric)
	})
	if i < 0 {
		return ip.fail(2, "RTNETLINK answers: No such process")
	}
	n.routes = slices.Delete(n.routes, i, i+1)
	return 0
}

func (ip *ipCall) flushRoutes(args []string) int {
	if len(args) == 0 {
		return ip.fail(255, "\"ip route flush\" requires arguments.")
	}
	if !ip.root {
		return ip.denied()
	}
	f := ip.routeFilter("show", args)
	ip.node.routes = slices.DeleteFunc(ip.node.routes, func(r route) bool {
		return r.dst.Addr().Is6() == ip.v6 && f.takes(r)
	})
	return 0
}

// neighbours are what the node knows of who is where: what it was told, and
// everybody who would answer.
func (n *node) neighbours() []neighbour {
	list := slices.Clone(n.fixed)
	for _, d := range n.netdevs {
		a := d.ipv4()
		if !a.IsValid() || d.kind == "loopback" {
			continue
		}
		for _, other := range n.others() {
			for _, x := range other.netdevs {
				list = append(list, n.learnt(d, a, x)...)
			}
		}
	}
	return list
}

// learnt is what the node would learn of another's interface by asking on its own, which
// has the address a.
func (n *node) learnt(d *netdev, a netip.Prefix, x *netdev) (list []neighbour) {
	for _, b := range x.addrs {
		if b.Addr().Is4() && a.Masked().Contains(b.Addr()) && n.neighbour(d, b.Addr()) != nil &&
			!slices.ContainsFunc(n.fixed, func(f neighbour) bool { return f.addr == b.Addr() && f.dev == d.name }) {
			list = append(list, neighbour{addr: b.Addr(), mac: x.macText(), dev: d.name, learnt: true})
		}
	}
	return list
}

func (ip *ipCall) neigh(verb string, args []string) int {
	word := func(name string) string {
		if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	dev, state := word("dev"), word("nud")
	switch verb {
	case "add", "replace", "change", "del", "delete":
		return ip.changeNeigh(verb, args, dev, word("lladdr"))
	case "flush":
		if !ip.root {
			return ip.denied()
		}
		ip.node.fixed = slices.DeleteFunc(ip.node.fixed, func(n neighbour) bool {
			return (state == "permanent") != n.learnt && (dev == "" || dev == n.dev)
		})
		return 0
	}
	var items []jsonObject
	for _, n := range ip.node.neighbours() {
		is := "PERMANENT"
		if n.learnt {
			is = "REACHABLE"
		}
		switch {
		case dev != "" && dev != n.dev, state != "" && state != "all" && !strings.EqualFold(state, is):
		case ip.json:
			items = append(items, jsonObject{
				{"dst", n.addr.String()}, {"dev", n.dev}, {"lladdr", n.mac}, {"state", []string{is}},
			})
		default:
			ip.printf("%s dev %s lladdr %s %s \n", n.addr, n.dev, n.mac, is)
		}
	}
	if ip.json {
		ip.println(jsonArray(items, ip.pretty))
	}
	return 0
}

func (ip *ipCall) changeNeigh(verb string, args []string, dev, mac string) int {
	n := ip.node
	var entry neighbour
	if len(args) > 0 {
		entry = neighbour{mac: mac, dev: dev}
		var err error
		if entry.addr, err = netip.ParseAddr(args[0]); err != nil {
			return ip.fail(1, "Error: any valid address is expected rather than \"%s\".", args[0])
		}
	}
	switch {
	case !entry.addr.IsValid() || dev == "":
		return ip.fail(255, "Device and destination are required arguments.")
	case n.netdev(dev) == nil:
		return ip.fail(1, "Cannot find device \"%s\"", dev)
	case !ip.root:
		return ip.denied()
	}
	same := func(x neighbour) bool { return x.addr == entry.addr && x.dev == dev }
	there := slices.ContainsFunc(n.fixed, same)
	switch {
	case strings.HasPrefix(verb, "del") && !there:
		return ip.fail(2, "RTNETLINK answers: No such file or directory")
	case verb == "add" && there:
		return ip.fail(2, "RTNETLINK answers: File exists")
	}
	n.fixed = slices.DeleteFunc(n.fixed, same)
	if !strings.HasPrefix(verb, "del") {
		n.fixed = append(n.fixed, entry)
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
	o = append(o, jsonField{"dev", way.dev.name}, jsonField{"prefsrc", way.src.String()},
		jsonField{"flags", []string{}}, jsonField{"uid", uid}, jsonField{"cache", []string{}})
	if ip.json {
		ip.println(jsonArray([]jsonObject{o}, ip.pretty))
	} else {
		ip.println(line)
	}
	return 0
}
