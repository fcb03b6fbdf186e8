// Package change knows what a node's network looked like and how to put it back:
// links, addresses, MTUs, MACs, bonds, routes. It is pure: Capture is a script
// that a node runs, Parse reads what that prints, Back writes the script that
// restores it, and Differences compares two looks. Who runs them, when and
// guarded how is the session's and runner/undo's.
package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// Capture prints what Parse reads. It changes nothing and needs no root.
var Capture = scripts.Managers + scripts.Capture

// A State is how a node's network looked.
type State struct {
	// Boot names the boot: a reboot undoes what is only in the kernel.
	Boot       string
	Links      map[string]Link
	Routes     []Route
	Neighbours []Neighbour // permanent ones
	Bonding    bool        // the module was loaded
	// GIDs are what RDMA addresses its packets by: the kernel makes them of the addresses.
	GIDs []GID `json:",omitempty"`
	// Rules say which table routes are looked up in.
	Rules []Rule `json:",omitempty"`
	// Shared are routes over several interfaces at once, one for each: they can't be restored.
	Shared []Route `json:",omitempty"`
	// Odd are routes that can't be made again either.
	Odd []OddRoute `json:",omitempty"`
	// Managers are who configures the links; a State of an older release has none.
	Managers Managers
}

// A GID is an entry of an RDMA port's table.
type GID struct {
	Port  string // below /sys/class/infiniband: rocep1s0f0/ports/1
	Index int
	GID   string
	Type  string // RoCE v2, IB/RoCE v1
	Dev   string // the interface whose address it is
}

// A Link is one interface.
type Link struct {
	Name   string
	MAC    string
	MTU    int // bytes
	Up     bool
	Master string
	// SlaveMAC is what its bond gives it when it lets it go; empty where it is in none.
	SlaveMAC string `json:",omitempty"`
	Kind     string // bond, veth, … as ip calls it; empty for hardware
	Lower    string `json:",omitempty"` // what it is built on, as a VLAN is
	// Others are its other names, by which ip finds it and sysfs does not.
	Others []string `json:",omitempty"`
	Bond   *Bond    // nil where it is none
	Addrs  []Addr
	// Makes is how the kernel makes its address of the link, as the kernel numbers the ways;
	// 1 is not at all. Empty where it has no IPv6.
	Makes string `json:",omitempty"`
	// Settings are the kernel's other IPv6 settings, by the names of their files: whether it is on
	// (disable_ipv6), accepts routers (accept_ra) and makes temporary addresses (use_tempaddr). Managers set
	// them as they take a link, and they may have been changed by hand since.
	Settings map[string]string `json:",omitempty"`
}

// Bond are the options of a bond that is made again.
type Bond struct {
	Mode   string
	Miimon int
	Policy string
	// More is its other settings, in the words of ip; empty if they are the driver's defaults.
	More string `json:",omitempty"`
	// Odd is what can't be given back: it is about ports, or whom ARP asks.
	Odd string `json:",omitempty"`
}

// bondSettings are a bond's settings apart from its mode, MII interval and policy: ip's word, the name in its
// JSON, and the driver's default (bond_check_params and bond_changelink of the kernel's bonding).
var bondSettings = [][3]string{
	{"updelay", "updelay", "0"},
	{"downdelay", "downdelay", "0"},
	{"peer_notify_delay", "peer_notify_delay", "0"},
	{"use_carrier", "use_carrier", "1"},
	{"primary_reselect", "primary_reselect", "always"},
	{"fail_over_mac", "fail_over_mac", "none"},
	{"resend_igmp", "resend_igmp", "1"},
	{"num_grat_arp", "num_peer_notif", "1"},
	{"all_slaves_active", "all_slaves_active", "0"},
	{"min_links", "min_links", "0"},
	{"lp_interval", "lp_interval", "1"},
	{"packets_per_slave", "packets_per_slave", "1"},
	{"lacp_active", "ad_lacp_active", "on"},
	{"lacp_rate", "ad_lacp_rate", "slow"},
	{"ad_select", "ad_select", "stable"},
	{"tlb_dynamic_lb", "tlb_dynamic_lb", "1"},
}

// bondOdd are those that can't be verified after a rollback.
var bondOdd = map[string]string{
	"arp_interval": "0", "primary": "", "arp_ip_target": "", "ns_ip6_target": "", "ad_actor_system": "00:00:00:00:00:00",
	"ad_actor_sys_prio": "65535", "ad_user_port_key": "0",
}

// bond is what ip's JSON says of one. What isn't a word or a number there is nothing that could be given back.
func bond(data map[string]json.RawMessage) (*Bond, error) {
	value := func(name string) string { return strings.Trim(string(data[name]), `"`) }
	b := &Bond{Mode: value("mode"), Policy: value("xmit_hash_policy")}
	if text := value("miimon"); text != "" {
		var err error
		if b.Miimon, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("a bond's miimon is %q", text)
		}
	}
	told := func(name, itself string) bool {
		is := value(name)
		return is != "" && is != "null" && is != itself
	}
	var words, odd []string
	for _, s := range bondSettings {
		switch v := value(s[1]); {
		case !told(s[1], s[2]):
		case plain(v):
			words = append(words, s[0], v)
		default:
			odd = append(odd, s[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bondOdd)) {
		if told(name, bondOdd[name]) {
			odd = append(odd, name)
		}
	}
	b.More, b.Odd = strings.Join(words, " "), strings.Join(odd, ", ")
	return b, nil
}

// An Addr is one address of an interface.
type Addr struct {
	CIDR string // 192.168.100.10/24
	// Peer is the other end's address, where it has one of its own: the kernel's route is to that.
	Peer string `json:",omitempty"`
	// Metric is that of the kernel's route to its network, where it isn't the usual one.
	Metric        int `json:",omitempty"`
	V6            bool
	Broadcast     string
	Scope         string
	Label         string
	NoPrefixRoute bool
	// Deprecated is an address that no new connection uses: preferred_lft 0, which is the only sign of it for
	// IPv4.
	Deprecated bool `json:",omitempty"`
	// Dynamic addresses have lifetimes, in seconds, and are renewed. One of IPv6 that lasts may still be
	// preferred for a limited time.
	Dynamic          bool
	Valid, Preferred uint32
	// FromKernel says that the kernel makes it by itself: a link-local address. The journal's
	// name for it is that of its first release, whose open changes have to go back, too.
	FromKernel bool `json:"Own"`
}

// name is the address as "only" and "in_order" of the rollback have it; it is unique on its interface.
func (a Addr) name() string {
	if a.Peer == "" {
		return a.CIDR
	}
	local, prefix, _ := strings.Cut(a.CIDR, "/")
	return local + "=" + a.Peer + "/" + prefix
}

func (a Addr) String() string {
	s := strings.Replace(a.name(), "=", " peer ", 1)
	if a.Metric != 0 {
		s += fmt.Sprintf(" metric %d", a.Metric)
	}
	if a.Deprecated {
		s += " deprecated"
	}
	return s
}

// ofLink reports whether it is the link's own, fe80::, on which the first GID stands.
func (a Addr) ofLink() bool { return a.V6 && a.Scope == "link" && !a.Dynamic }

// A Route is one that has to be made again.
type Route struct {
	V6                                         bool
	Dst, Via, Dev, Protocol, Scope, Src, Table string
	Metric                                     int
	// OnLink says that its gateway is taken to be there, whatever the addresses say.
	OnLink bool `json:",omitempty"`
}

// An OddRoute is one that has more than a Route: a next hop of another family or of an object, a TOS, an MTU of its
// own. It can't be made again, so no change may take it away.
type OddRoute struct {
	V6                   bool
	Dst, Dev, Table, TOS string
	More                 string // in ip's own words
}

// del is the command that deletes it.
func (r OddRoute) del() string {
	command := "ip route del " + r.Dst
	if r.V6 {
		command = "ip -6 route del " + r.Dst
	}
	if r.TOS != "" {
		command += " tos " + r.TOS
	}
	if r.Table != "" {
		command += " table " + r.Table
	}
	return command
}

// A Neighbour is a fixed entry of the neighbour table.
type Neighbour struct{ Dst, MAC, Dev string }

// The forms of ip -j.
type (
	ipLink struct {
		Name     string   `json:"ifname"`
		Lower    string   `json:"link"`
		MTU      int      `json:"mtu"`
		Flags    []string `json:"flags"`
		Master   string   `json:"master"`
		Others   []string `json:"altnames"`
		MAC      string   `json:"address"`
		LinkInfo struct {
			Kind string                     `json:"info_kind"`
			Data map[string]json.RawMessage `json:"info_data"`
			// Of a bond's slave.
			Slave struct {
				MAC string `json:"perm_hwaddr"`
			} `json:"info_slave_data"`
		} `json:"linkinfo"`
		Addrs []struct {
			Family        string `json:"family"`
			Local         string `json:"local"`
			Peer          string `json:"address"`
			Metric        int    `json:"metric"`
			Prefix        int    `json:"prefixlen"`
			Broadcast     string `json:"broadcast"`
			Scope         string `json:"scope"`
			Label         string `json:"label"`
			Deprecated    bool   `json:"deprecated"`
			Dynamic       bool   `json:"dynamic"`
			NoPrefixRoute bool   `json:"noprefixroute"`
			Protocol      string `json:"protocol"`
			Valid         uint32 `json:"valid_life_time"`
			Preferred     uint32 `json:"preferred_life_time"`
		} `json:"addr_info"`
	}
	ipRoute struct {
		Type     string `json:"type"`
		Dst      string `json:"dst"`
		Gateway  string `json:"gateway"`
		Dev      string `json:"dev"`
		Table    string `json:"table"`
		Protocol string `json:"protocol"`
		Scope    string `json:"scope"`
		Src      string `json:"prefsrc"`
		Metric   int    `json:"metric"`
		Expires  int    `json:"expires"`
		TOS      string `json:"tos"`

		Flags    []string `json:"flags"`
		Nexthops []struct {
			Dev string `json:"dev"`
		} `json:"nexthops"`
	}
	ipNeighbour struct {
		Dst string `json:"dst"`
		Dev string `json:"dev"`
		MAC string `json:"lladdr"`
	}
)

// readRoutes reads the routes of a family.
func (s *State) readRoutes(text string, v6 bool) error {
	var routes []ipRoute
	if err := read(text, &routes); err != nil {
		return err
	}
	var whole []map[string]json.RawMessage
	if err := read(text, &whole); err != nil {
		return err
	}
	for i, r := range routes {
		beside := unusual(whole[i])
		switch {
		case !r.kept(v6):
		case beside != "":
			s.Odd = append(s.Odd, OddRoute{V6: v6, Dst: r.Dst, Dev: r.Dev, Table: r.Table, TOS: r.TOS, More: beside})
		default:
			s.Routes = append(s.Routes,
				Route{
					v6, r.Dst, r.Gateway, r.Dev, r.Protocol, r.Scope, r.Src, r.Table, r.Metric,
					slices.Contains(r.Flags, "onlink"),
				})
		}
		for _, hop := range r.Nexthops {
			s.Shared = append(s.Shared, Route{V6: v6, Dst: r.Dst, Dev: hop.Dev})
		}
	}
	return nil
}

// Parse reads what Capture printed. Incomplete output is an error: a rollback must not be made from half of
// the state.
func Parse(out string) (State, error) {
	parts := sections(out)
	if _, complete := parts["end"]; !complete {
		return State{}, fmt.Errorf("read the network's state: its end is missing")
	}
	s := State{
		Boot: strings.TrimSpace(parts["boot"]), Links: map[string]Link{},
		Bonding: strings.Contains(parts["modules"], "bonding"),
	}
	if s.Boot == "" {
		return State{}, fmt.Errorf("read the network's state: the node has no boot id")
	}
	var links []ipLink
	if err := read(parts["links"], &links); err != nil {
		return State{}, fmt.Errorf("read the links: %w", err)
	}
	for _, l := range links {
		if l.Name == "" { // ip prints empty objects for what a filter left out
			continue
		}
		link, err := l.link()
		if err != nil {
			return State{}, fmt.Errorf("read the link %s: %w", l.Name, err)
		}
		s.Links[l.Name] = link
	}
	if len(s.Links) == 0 {
		return State{}, fmt.Errorf("read the links: there are none")
	}
	s.readMakes(parts["makes"])
	s.GIDs = readGIDs(parts["gids"])
	s.Managers = ReadManagers(parts["managers"])
	s.Rules = readRules(parts["rules"])
	for _, family := range []struct {
		part string
		v6   bool
	}{{"routes", false}, {"routes6", true}} {
		if err := s.readRoutes(parts[family.part], family.v6); err != nil {
			return State{}, fmt.Errorf("read the %s: %w", family.part, err)
		}
	}
	var neighbours []ipNeighbour
	if err := read(parts["neighbours"], &neighbours); err != nil {
		return State{}, fmt.Errorf("read the neighbours: %w", err)
	}
	for _, n := range neighbours {
		if n.MAC != "" {
			s.Neighbours = append(s.Neighbours, Neighbour{n.Dst, n.MAC, n.Dev})
		}
	}
	return s, nil
}

// sections cuts what the script printed at its headings.
func sections(out string) map[string]string {
	parts := map[string]string{}
	name := ""
	for line := range strings.Lines(out) {
		if heading, ok := strings.CutPrefix(line, "== "); ok {
			name = strings.TrimSpace(heading)
			parts[name] = ""
			continue
		}
		parts[name] += line
	}
	return parts
}

// read takes nothing at all for an empty list: ip prints nothing where the
// kernel has no IPv6.
// What is there and no JSON is an error, as every gap in a State is.
func read(text string, into any) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// link is what has to come back of an interface. An IPv6 address of the link, or with a
// lifetime, is made by the kernel or a router.
func (l ipLink) link() (Link, error) {
	link := Link{
		Name: l.Name, MAC: l.MAC, MTU: l.MTU, Up: slices.Contains(l.Flags, "UP"),
		Master: l.Master, SlaveMAC: l.LinkInfo.Slave.MAC, Kind: l.LinkInfo.Kind, Others: l.Others,
	}
	// Of a veth it is the other end, which may be anywhere.
	if link.Kind != "veth" {
		link.Lower = l.Lower
	}
	if link.Kind == "bond" {
		var err error
		if link.Bond, err = bond(l.LinkInfo.Data); err != nil {
			return Link{}, err
		}
	}
	for _, a := range l.Addrs {
		v6 := a.Family == "inet6"
		link.Addrs = append(link.Addrs, Addr{
			CIDR: fmt.Sprintf("%s/%d", a.Local, a.Prefix), Peer: a.Peer, Metric: a.Metric, V6: v6,
			Broadcast: a.Broadcast, Scope: a.Scope, Label: a.Label,
			NoPrefixRoute: a.NoPrefixRoute, Deprecated: a.Deprecated, Dynamic: a.Dynamic, Valid: a.Valid, Preferred: a.Preferred,
			FromKernel: v6 && (a.Scope == "link" || a.Dynamic),
		})
	}
	return link, nil
}

// setting is a value of the files of a link's IPv6: they hold small numbers.
var setting = lazyregexp.New(`^-?[0-9]{1,3}$`)

// readMakes reads how the kernel makes each link's own address, and its other settings.
func (s State) readMakes(text string) {
	for line := range strings.Lines(text) {
		file, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, what := path.Base(path.Dir(file)), path.Base(file)
		l, ok := s.Links[name]
		switch {
		case !ok || !setting.Regexp().MatchString(value):
			continue
		case what == "addr_gen_mode":
			l.Makes = value
		case slices.Contains([]string{"disable_ipv6", "accept_ra", "use_tempaddr"}, what):
			if l.Settings == nil {
				l.Settings = map[string]string{}
			}
			l.Settings[what] = value
		}
		s.Links[name] = l
	}
}

// readGIDs reads the tables of all ports, an attribute a line, and keeps entries that have an
// interface.
func readGIDs(text string) []GID {
	type entry struct{ port, index string }
	var order []entry
	said := map[string]string{}
	for line := range strings.Lines(text) {
		file, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		file, below := strings.CutPrefix(file, "/sys/class/infiniband/")
		if !ok || !below {
			continue
		}
		said[file] = value
		if port, index, ok := strings.Cut(file, "/gids/"); ok {
			order = append(order, entry{port, index})
		}
	}
	var all []GID
	for _, p := range order {
		g := GID{
			Port: p.port, GID: said[p.port+"/gids/"+p.index],
			Type: said[p.port+"/gid_attrs/types/"+p.index], Dev: said[p.port+"/gid_attrs/ndevs/"+p.index],
		}
		var err error
		if g.Index, err = strconv.Atoi(p.index); err == nil && g.Dev != "" {
			all = append(all, g)
		}
	}
	return all
}

// routeWords are what a Route has of ip's words, and what is of the moment.
var routeWords = []string{
	"type", "dst", "gateway", "dev", "table", "protocol", "scope", "prefsrc", "metric", "flags", "expires", "nexthops",
}

// unusual is what a route has apart from those words, which could not be restored.
func unusual(route map[string]json.RawMessage) string {
	var words []string
	for _, word := range slices.Sorted(maps.Keys(route)) {
		if !slices.Contains(routeWords, word) && (word != "pref" || string(route[word]) != `"medium"`) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// kept reports whether a route has to be made again: not what the kernel makes in the local
// table for each address, and not what a router announces.
func (r ipRoute) kept(v6 bool) bool {
	if r.Dev == "" || r.Type != "" && r.Type != "unicast" || r.Table == "local" {
		return false
	}
	return !v6 || r.Protocol != "ra" && r.Expires == 0
}

// Differences says in words what differs between two looks at a node: of the
// links that of wants. What renews itself is left out: lifetimes, and the addresses
// and routes that a router announces.
func Differences(before, after State, of func(link string) bool) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	names := slices.Sorted(maps.Keys(before.Links))
	for _, name := range slices.Sorted(maps.Keys(after.Links)) {
		if _, ok := before.Links[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		a, was := before.Links[name]
		b, is := after.Links[name]
		switch {
		case !of(name):
		case !was:
			say("%s is new", name)
		case !is:
			say("%s is gone", name)
		default:
			a.compare(b, say)
			before.compareManagers(after, name, say)
		}
	}
	all = append(all, compareRoutes(before.Routes, after.Routes, of)...)
	for _, r := range before.Odd {
		if of(r.Dev) && !slices.Contains(after.Odd, r) {
			say("the route to %s over %s (%s) is gone", r.Dst, r.Dev, r.More)
		}
	}
	for _, n := range before.Neighbours {
		if of(n.Dev) && !slices.Contains(after.Neighbours, n) {
			say("the fixed neighbour %s on %s is gone", n.Dst, n.Dev)
		}
	}
	for _, r := range before.Rules {
		if before.concerns(r, of) && !slices.Contains(after.Rules, r) {
			say("the rule %q is gone", r.Text)
		}
	}
	before.compareGIDs(after, of, say)
	return all
}

// compareGIDs says which are gone. The GID of an address that is renewed goes with it; then the address in
// its place has one at the same ports.
func (s State) compareGIDs(now State, of func(string) bool, say func(string, ...any)) {
	for _, g := range s.GIDs {
		if !of(g.Dev) {
			continue
		}
		if !slices.ContainsFunc(now.GIDs, g.same) && !(s.renewed(g) && !now.addressed(g)) {
			say("the GID %s of %s (%s) is gone from %s", g.GID, g.Dev, g.Type, g.Port)
		}
		for _, a := range now.Links[g.Dev].Addrs {
			own := GID{Port: g.Port, Type: g.Type, Dev: g.Dev, GID: a.gid()}
			missing := !slices.ContainsFunc(now.GIDs, func(n GID) bool { n.GID = gidAddr(n.GID); return own.same(n) })
			if a.Dynamic && own.GID != gidAddr(g.GID) && s.renewed(g) && missing {
				say("%s has address %s, but no GID for it (%s) at %s", g.Dev, a.CIDR, g.Type, g.Port)
			}
		}
	}
}

// renewed reports whether a GID was made of an address that a router or a DHCP server gives.
func (s State) renewed(g GID) bool {
	return slices.ContainsFunc(s.Links[g.Dev].Addrs, func(a Addr) bool { return a.Dynamic && a.gid() == gidAddr(g.GID) })
}

// addressed reports whether the interface of a GID has the address that the GID is made of.
func (s State) addressed(g GID) bool {
	return slices.ContainsFunc(s.Links[g.Dev].Addrs, func(a Addr) bool { return a.gid() == gidAddr(g.GID) })
}

// gid is the GID that is made of an address, in its short form; empty where it is none.
func (a Addr) gid() string {
	p, err := netip.ParsePrefix(a.CIDR)
	if err != nil {
		return ""
	}
	return gidAddr(p.Addr().String())
}

// gidAddr is a GID or an address in the short form of a GID: one of IPv4 is mapped.
func gidAddr(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	return netip.AddrFrom16(a.As16()).String()
}

// same compares what an entry is, not where in its table it stands: that is looked up.
func (g GID) same(other GID) bool {
	g.Index = other.Index
	return g == other
}

// Moved says which GIDs have another index in their table than before, as happens if addresses came back in
// another order: scripts with a fixed index have to be changed.
func Moved(before, after State, of func(link string) bool) (all []string) {
	for _, g := range before.GIDs {
		i := slices.IndexFunc(after.GIDs, g.same)
		if of(g.Dev) && i >= 0 && after.GIDs[i].Index != g.Index && !slices.Contains(after.GIDs, g) {
			all = append(all, fmt.Sprintf("the GID %s of %s (%s) moved to index %d from %d",
				g.GID, g.Dev, g.Type, after.GIDs[i].Index, g.Index))
		}
	}
	return all
}

// compareManagers: the same daemons manage it, in the same state. A State of an older release doesn't have
// that.
func (s State) compareManagers(now State, link string, say func(string, ...any)) {
	if s.Managers.Links == nil {
		return
	}
	for _, by := range []string{networkManager, networkd} {
		was, held := s.Managers.holder(link, by)
		is, holds := now.Managers.holder(link, by)
		switch {
		case held && !holds:
			say("%s is not managed by %s any more", link, by)
		case !held && holds:
			say("%s is now managed by %s (%s)", link, by, is.State)
		case held:
			compareHolds(link, was, is, say)
		}
	}
}

// compareRoutes compares whole routes: one whose metric changed is gone and new.
func compareRoutes(before, after []Route, of func(link string) bool) (all []string) {
	for _, r := range before {
		if of(r.Dev) && !slices.Contains(after, r) {
			all = append(all, fmt.Sprintf("the route to %s over %s is gone", r.Dst, r.Dev))
		}
	}
	for _, r := range after {
		if of(r.Dev) && !slices.Contains(before, r) {
			all = append(all, fmt.Sprintf("the route to %s over %s is new", r.Dst, r.Dev))
		}
	}
	return all
}

// compare says what differs between two looks at one link.
func (l Link) compare(now Link, say func(string, ...any)) {
	if l.MTU != now.MTU {
		say("%s has MTU %d instead of %d", l.Name, now.MTU, l.MTU)
	}
	if l.MAC != now.MAC {
		say("%s has MAC %s instead of %s", l.Name, now.MAC, l.MAC)
	}
	if l.SlaveMAC != "" && now.SlaveMAC != "" && l.SlaveMAC != now.SlaveMAC {
		say("%s would leave %s with MAC %s instead of %s", l.Name, now.Master, now.SlaveMAC, l.SlaveMAC)
	}
	if l.Up != now.Up {
		say("%s is %s instead of %s", l.Name, upDown(now.Up), upDown(l.Up))
	}
	if l.Master != now.Master {
		say("%s is in %s instead of %s", l.Name, orNone(now.Master), orNone(l.Master))
	}
	if (l.Bond == nil) != (now.Bond == nil) || l.Bond != nil && *l.Bond != *now.Bond {
		say("%s is a different bond", l.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Settings)) {
		if is, ok := now.Settings[name]; ok && is != l.Settings[name] {
			say("%s has %s %s instead of %s", l.Name, name, is, l.Settings[name])
		}
	}
	l.compareAddresses(now, say)
}

// compareAddresses says which are gone, new or in another order.
func (l Link) compareAddresses(now Link, say func(string, ...any)) {
	for _, a := range l.Addrs {
		// One more the kernel makes by itself.
		if a.ofLink() && !slices.ContainsFunc(now.Addrs, func(b Addr) bool { return a.CIDR == b.CIDR }) {
			say("%s lacks its link-local address %s", l.Name, a.CIDR)
		}
	}
	was, is := l.lasting(now), now.lasting(l)
	for _, a := range was {
		if !slices.Contains(is, a) {
			say("%s lacks the address %s", l.Name, a)
		}
	}
	for _, a := range is {
		if !slices.Contains(was, a) {
			say("%s has a new address %s", l.Name, a)
		}
	}
	if len(was) == len(is) && !slices.Equal(was, is) && len(was) > 1 {
		say("%s has its addresses in a different order: %s", l.Name, strings.Join(is, ", "))
	}
}

// lasting are the addresses that are not made again automatically. If both looks have a lease, its address is
// the server's choice.
func (l Link) lasting(other Link) []string {
	leased := func(a Addr) bool { return a.Dynamic && !a.V6 }
	both := slices.ContainsFunc(l.Addrs, leased) && slices.ContainsFunc(other.Addrs, leased)
	var all []string
	for _, a := range l.Addrs {
		if !a.FromKernel && !(both && leased(a)) {
			all = append(all, a.String())
		}
	}
	return all
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// compareHolds compares how one manager manages a link with how it did before. What networkd does not report
// does not count.
func compareHolds(link string, was, is steps.Manager, say func(string, ...any)) {
	switch {
	case is.By == networkManager && was.State == "connected" && (is.State != was.State || is.ID != was.ID):
		say("%s is %s in NetworkManager with profile %s instead of connected with %s",
			link, is.State, or(is.Profile, "none"), or(was.Profile, "none"))
	case is.By == networkd && was.Profile != is.Profile && is.Profile != "":
		say("%s is configured by %s instead of %s", link, is.Profile, or(was.Profile, "none"))
	}
}
