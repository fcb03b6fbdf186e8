package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

// A routeFilter is what "ip route show" is to list.
type routeFilter struct {
	table, dev, dst, proto, scope, kind string
}

// routeFilter reads what routes have to be like; a bare word is a destination. The table is main unless one is
// named.
func (ip *ipCall) routeFilter(verb string, args []string) routeFilter {
	f := routeFilter{table: net.MainTable}
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

// tableName is a table by its name, where it was given by its number. A user's own tables keep their numbers: no one
// has named them.
func tableName(text string) string {
	switch text {
	case "254":
		return net.MainTable
	case "255":
		return net.LocalTable
	default:
		return text
	}
}

func (f routeFilter) takes(r net.Route) bool {
	return (f.table == "all" || f.table == r.Table) && (f.dev == "" || f.dev == r.Dev) &&
		(f.dst == "" || f.dst == name(r)) && (f.proto == "" || f.proto == r.Proto) &&
		(f.scope == "" || f.scope == r.Scope) && (f.kind == "" || f.kind == r.Kind || f.kind == "unicast" && r.Kind == "")
}

// name is a route's destination as ip prints it.
func name(r net.Route) string {
	switch {
	// Of both families.
	case r.Dst.Bits() == 0:
		return "default"
	case r.Dst.IsSingleIP():
		return r.Dst.Addr().String()
	default:
		return r.Dst.String()
	}
}

// route is ip route. Routes are shown in the order in which the kernel looks through them, of IPv4 first.
func (ip *ipCall) route(verb string, args []string) int {
	switch verb {
	case "get":
		return ip.routeGet(args)
	case "add", "del", "delete", "replace", "append", "change":
		return ip.changeRoute(verb, args)
	case "flush":
		return ip.flushRoutes(args)
	}
	if verb == "restore" {
		return ip.restoreRoutes()
	}
	// Without a table it is main alone; local has what the kernel put there itself.
	f := ip.routeFilter(verb, args)
	if verb == "save" {
		return ip.saveRoutes(f)
	}
	if f.dev != "" && ip.Node.Netdev(f.dev) == nil {
		return ip.Fail(1, "Cannot find device \"%s\"", f.dev)
	}
	list := ip.Node.Listed(ip.v6)
	// Without -4 and -6 "table all" is of both families, any other question of IPv4 alone
	// (iproute_list_flush_or_save).
	if f.table == "all" && !ip.v4 && !ip.v6 {
		list = append(list, ip.Node.Listed(true)...)
	}
	var items []JSONObject
	for _, r := range list {
		switch {
		case !f.takes(r):
		case ip.json:
			items = append(items, ip.routeObject(r, f))
		default:
			ip.Println(ip.routeLine(r, f))
		}
	}
	if ip.json {
		ip.Println(JSONArray(items, ip.pretty))
	}
	return 0
}

// routeObject is a route's words in the order in which ip has them. What
// the filter says already is left out.
func (ip *ipCall) routeObject(r net.Route, f routeFilter) JSONObject {
	var o JSONObject
	add := func(name string, value any, is bool) {
		if is {
			o = append(o, JSONField{name, value})
		}
	}
	v6 := r.Dst.Addr().Is6()
	add("type", r.Kind, r.Kind != "")
	add("dst", name(r), true)
	add("gateway", r.Via.String(), r.Via.IsValid())
	add("dev", r.Dev, f.dev == "")
	add("table", r.Table, r.Table != net.MainTable && f.table == "all")
	add("protocol", r.Proto, r.Proto != "boot" && f.proto == "")
	add("scope", r.Scope, !v6 && r.Scope != "global" && f.scope == "")
	add("prefsrc", r.Src.String(), r.Src.IsValid())
	// IPv6 has no metric of 0, and its routes no scope.
	add("metric", r.Metric, r.Metric != 0 || v6)
	flags := []string{}
	if r.OnLink {
		flags = append(flags, "onlink")
	}
	// The kernel keeps a route whose link is down, and marks it: it is used all the same.
	if d := ip.Node.Netdev(r.Dev); d != nil && !d.Carrier() && r.Kind == "" {
		flags = append(flags, "linkdown")
	}
	add("flags", flags, true)
	add("pref", "medium", v6)
	return o
}

func (ip *ipCall) routeLine(r net.Route, f routeFilter) string {
	words := map[string]string{
		"gateway": "via", "dev": "dev", "table": "table", "protocol": "proto",
		"scope": "scope", "prefsrc": "src", "metric": "metric",
	}
	var b strings.Builder
	for _, field := range ip.routeObject(r, f) {
		switch field.Name() {
		case "type", "dst":
			fmt.Fprintf(&b, "%v ", field[1])
		case "flags":
			for _, flag := range field[1].([]string) {
				b.WriteString(flag + " ")
			}
		case "pref": // the last one, of IPv6 alone
			fmt.Fprintf(&b, "pref %v", field[1])
		default:
			fmt.Fprintf(&b, "%s %v ", words[field.Name()], field[1])
		}
	}
	return b.String()
}

// parseRoute reads a route's words.
func (ip *ipCall) parseRoute(args []string) (r net.Route, code int) {
	r = net.Route{Proto: "boot", Table: net.MainTable}
	for len(args) > 0 {
		word, value := args[0], ""
		args = args[1:]
		if slices.Contains([]string{
			"via", "dev", "src", "metric", "preference", "proto", "scope", "table", "to", "mtu",
		}, word) {
			if len(args) == 0 {
				return r, ip.Fail(255, "Command line is not complete. Try option \"help\"")
			}
			value, args = args[0], args[1:]
		}
		if code := ip.routeWord(&r, word, value); code != 0 {
			return r, code
		}
	}
	// As iproute2 fills it in: what goes through a gateway is global, and what is reached directly is of the link.
	if r.Scope == "" {
		r.Scope = "global"
		if !r.Via.IsValid() {
			r.Scope = "link"
		}
	}
	// IP6_RT_PRIO_USER of the kernel.
	if r.Dst.Addr().Is6() && r.Metric == 0 {
		r.Metric = 1024
	}
	return r, 0
}

// routeWord takes one word of a route, with its value.
func (ip *ipCall) routeWord(r *net.Route, word, value string) (code int) {
	var err error
	switch word {
	case "via", "src":
		into := map[string]*netip.Addr{"via": &r.Via, "src": &r.Src}[word]
		if *into, err = netip.ParseAddr(value); err != nil {
			return ip.Fail(1, "Error: inet address is expected rather than \"%s\".", value)
		}
	case "metric", "preference":
		if r.Metric, err = strconv.Atoi(value); err != nil {
			return ip.Fail(255, "Error: argument \"%s\" is wrong: \"metric\" value is invalid", value)
		}
	case "dev":
		r.Dev = value
	case "proto":
		r.Proto = value
	case "scope":
		r.Scope = value
	case "table":
		r.Table = tableName(value)
	case "onlink":
		r.OnLink = true
	case "mtu", "unicast":
	case "to":
		r.Dst, code = ip.network(value)
	default:
		r.Dst, code = ip.network(word)
	}
	return code
}

// network reads a prefix, or default.
func (ip *ipCall) network(text string) (netip.Prefix, int) {
	switch {
	case text == "default" && ip.v6:
		text = "::/0"
	case text == "default":
		text = "0.0.0.0/0"
	}
	return ip.parsePrefix(text)
}

// changeRoute checks a route as the kernel does before it enters it: the network, the gateway, the interface
// and the address to send from.
func (ip *ipCall) changeRoute(verb string, args []string) int {
	r, code := ip.parseRoute(args)
	n := ip.Node
	switch {
	case code != 0:
		return code
	case r.Dev != "" && n.Netdev(r.Dev) == nil:
		return ip.Fail(1, "Cannot find device \"%s\"", r.Dev)
	case !ip.Root:
		return ip.denied()
	case !r.Dst.IsValid():
		return ip.Fail(2, "RTNETLINK answers: No such device")
	// 192.168.1.5/24 is an address and no network.
	case r.Dst != r.Dst.Masked():
		return ip.Fail(2, "Error: Invalid prefix for given prefix length.")
	// Neither the gateway nor the interface has to be there for a route that goes.
	case strings.HasPrefix(verb, "del"):
		return ip.deleteRoute(r, slices.Contains(args, "metric"))
	}
	if !ip.throughGateway(&r) {
		return ip.Fail(2, "Error: Nexthop has invalid gateway.")
	}
	switch d := n.Netdev(r.Dev); {
	case d == nil:
		return ip.Fail(2, "RTNETLINK answers: No such device")
	case !d.Up:
		return ip.Fail(2, "Error: Device for nexthop is not up.")
	case r.Src.IsValid() && !n.Has(r.Src):
		return ip.Fail(2, "Error: Invalid prefsrc address.")
	}
	return ip.putRoute(verb, r)
}

// throughGateway finds the interface that leads to a route's gateway; it is false where the gateway is not a
// neighbour.
func (ip *ipCall) throughGateway(r *net.Route) bool {
	if !r.Via.IsValid() || r.OnLink && r.Dev != "" {
		return true
	}
	n := ip.Node
	w, ok := n.Route(r.Via)
	if !r.Via.Is6() && (!ok || w.Local || w.Via.IsValid() || r.Dev != "" && w.Out.Name != r.Dev && !n.OnLink(*r)) {
		return false
	}
	switch {
	case r.Dev != "":
	case ok:
		r.Dev = w.Out.Name
	case r.Via.Is6():
		r.Dev = n.Neighbouring(r.Via)
	}
	return true
}

// putRoute enters a route where its verb says.
func (ip *ipCall) putRoute(verb string, r net.Route) int {
	n := ip.Node
	same := func(x net.Route) bool { return x.Dst == r.Dst && x.Table == r.Table && x.Metric == r.Metric }
	// The kernel's key: network, table and metric. Two routes may have it where one was appended.
	i := slices.IndexFunc(n.Routes, same)
	swaps := verb == "replace" || verb == "change"
	switch {
	case verb == "add" && i >= 0:
		return ip.Fail(2, "RTNETLINK answers: File exists")
	case verb == "change" && i < 0:
		return ip.Fail(2, "RTNETLINK answers: No such file or directory")
	// The very same one is there already, and fib_table_insert looks for that first. It is taken for done only where
	// it is the one that would give way.
	case swaps && slices.Contains(n.Routes, r):
		if n.Routes[i] != r {
			return ip.Fail(2, "RTNETLINK answers: File exists")
		}
	case swaps && i >= 0:
		// The first of the same network and metric, whatever its interface.
		n.Routes[i] = r
	case verb == "append" && slices.Contains(n.Routes, r):
		return ip.Fail(2, "RTNETLINK answers: File exists")
	case verb == "append":
		n.Routes = append(n.Routes, r)
	default:
		// The newest of several with one network and metric comes first.
		if i < 0 {
			i = len(n.Routes)
		}
		n.Routes = slices.Insert(n.Routes, i, r)
	}
	return 0
}

// deleteRoute takes the first that fits what was said: a metric, an interface or a gateway that wasn't said
// fits any.
func (ip *ipCall) deleteRoute(r net.Route, metric bool) int {
	n := ip.Node
	i := slices.IndexFunc(n.Routes, func(x net.Route) bool {
		return x.Dst == r.Dst && x.Table == r.Table && (r.Dev == "" || x.Dev == r.Dev) &&
			(!r.Via.IsValid() || x.Via == r.Via) && (!metric || x.Metric == r.Metric)
	})
	if i < 0 {
		return ip.Fail(2, "RTNETLINK answers: No such process")
	}
	n.Routes = slices.Delete(n.Routes, i, i+1)
	return 0
}

func (ip *ipCall) flushRoutes(args []string) int {
	if len(args) == 0 {
		return ip.Fail(255, "\"ip route flush\" requires arguments.")
	}
	if !ip.Root {
		return ip.denied()
	}
	f := ip.routeFilter("show", args)
	ip.Node.Routes = slices.DeleteFunc(ip.Node.Routes, func(r net.Route) bool {
		// IPv4's alone without -6, of the table main unless another is named.
		return r.Dst.Addr().Is6() == ip.v6 && f.takes(r)
	})
	return 0
}

// neigh is ip neigh: entries that a user has set stay, and learnt entries can be flushed.
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
		if !ip.Root {
			return ip.denied()
		}
		// Without "nud permanent" what a user has set stays, as with iproute2.
		ip.Node.Fixed = slices.DeleteFunc(ip.Node.Fixed, func(n net.Neighbour) bool {
			return (state == "permanent") != n.Learnt && (dev == "" || dev == n.Dev)
		})
		return 0
	}
	return ip.listNeighbours(dev, state)
}

// listNeighbours shows those of an interface in a state, where they are given.
func (ip *ipCall) listNeighbours(dev, state string) int {
	var items []JSONObject
	for _, n := range ip.Node.Neighbours() {
		is := "PERMANENT"
		// What was learnt is as good as asked for a moment ago: entries don't grow stale here.
		if n.Learnt {
			is = "REACHABLE"
		}
		switch {
		case dev != "" && dev != n.Dev, state != "" && state != "all" && !strings.EqualFold(state, is):
		case ip.json:
			items = append(items, JSONObject{
				{"dst", n.Addr.String()}, {"dev", n.Dev}, {"lladdr", n.MAC}, {"state", []string{is}},
			})
			if o := items[len(items)-1]; dev != "" {
				items[len(items)-1] = slices.Delete(o, 1, 2)
			}
		default:
			at := " dev " + n.Dev
			if dev != "" { // ip leaves out the device that was asked for
				at = ""
			}
			ip.Printf("%s%s lladdr %s %s \n", n.Addr, at, n.MAC, is)
		}
	}
	if ip.json {
		ip.Println(JSONArray(items, ip.pretty))
	}
	return 0
}

// changeNeigh enters, replaces or deletes what maps an address to a MAC; its key is the address and the
// interface.
func (ip *ipCall) changeNeigh(verb string, args []string, dev, mac string) int {
	n := ip.Node
	var entry net.Neighbour
	if len(args) > 0 {
		entry = net.Neighbour{MAC: mac, Dev: dev}
		var err error
		if entry.Addr, err = netip.ParseAddr(args[0]); err != nil {
			return ip.Fail(1, "Error: any valid address is expected rather than \"%s\".", args[0])
		}
	}
	switch {
	case !entry.Addr.IsValid() || dev == "":
		return ip.Fail(255, "Device and destination are required arguments.")
	case n.Netdev(dev) == nil:
		return ip.Fail(1, "Cannot find device \"%s\"", dev)
	case !ip.Root:
		return ip.denied()
	}
	same := func(x net.Neighbour) bool { return x.Addr == entry.Addr && x.Dev == dev }
	there := slices.ContainsFunc(n.Fixed, same)
	switch {
	case strings.HasPrefix(verb, "del") && !there:
		return ip.Fail(2, "RTNETLINK answers: No such file or directory")
	case verb == "add" && there:
		return ip.Fail(2, "RTNETLINK answers: File exists")
	}
	n.Fixed = slices.DeleteFunc(n.Fixed, same)
	if !strings.HasPrefix(verb, "del") {
		n.Fixed = append(n.Fixed, entry)
	}
	return 0
}

// routeGet asks the same routes by which everything on the rig flows: what it says is what happens.
func (ip *ipCall) routeGet(args []string) int {
	if len(args) == 0 {
		return ip.Fail(255, "need at least a destination address")
	}
	a, err := netip.ParseAddr(args[0])
	if err != nil {
		return ip.Fail(1, "Error: any valid prefix is expected rather than \"%s\".", args[0])
	}
	way, ok := ip.Node.Route(a)
	if !ok {
		return ip.Fail(2, "RTNETLINK answers: Network is unreachable")
	}
	// ip reports for whom the kernel was asked: a rule may be a user's.
	_, uid := linux.User(ip.Call)
	o := JSONObject{{"dst", a.String()}}
	line := a.String()
	switch {
	// Both forms begin with the type, where it isn't unicast.
	case way.Local:
		line = "local " + line
		o = append(JSONObject{{"type", "local"}}, o...)
	case way.Via.IsValid():
		line += " via " + way.Via.String()
		o = append(o, JSONField{"gateway", way.Via.String()})
	}
	line += fmt.Sprintf(" dev %s src %s uid %d \n    cache ", way.Out.Name, way.Source, uid)
	o = append(o, JSONField{"dev", way.Out.Name}, JSONField{"prefsrc", way.Source.String()},
		JSONField{"flags", []string{}}, JSONField{"uid", uid}, JSONField{"cache", []string{}})
	if ip.json {
		ip.Println(JSONArray([]JSONObject{o}, ip.pretty))
	} else {
		ip.Println(line)
	}
	return 0
}
