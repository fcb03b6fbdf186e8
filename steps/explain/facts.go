package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/strictnum"
)

// A fact is a line that no tool printed, and that follows from what tools printed: patterns that begin with "fact: "
// look in it. Its words are documented in assets/docs/explain.md.
type fact struct {
	line  int
	tool  string
	text  string
	shown bool // a person wants to read it
}

// Bounds of what readers get: they are made for the output of one tool.
const (
	mostDetected = 48 << 10  // bytes of a part
	mostRead     = 512 << 10 // bytes of all parts
	mostParts    = 400
)

// read takes the facts from all outputs in a text, and marks their lines as known.
func read(t *text, tools parse.Tools) (facts []fact) {
	left := mostRead
	for i, lines := range t.parts() {
		if i >= mostParts || left <= 0 {
			break
		}
		whole := joined(lines, true)
		if len(whole) > mostDetected {
			// The beginning and the end of a long log: outputs stand there.
			whole = whole[:mostDetected/2] + "\n" + whole[len(whole)-mostDetected/2:]
		}
		left -= len(whole)
		r := reader{lines: lines}
		r.ports()
		r.tools(whole, tools)
		r.memory()
		r.topology()
		r.queues()
		r.printed()
		r.between()
		if r.known || len(r.facts) > 0 {
			for _, l := range lines {
				l.known = l.known || !l.complains() && !prose(l.whole)
			}
		}
		facts = append(facts, r.facts...)
	}
	slices.SortStableFunc(facts, func(a, b fact) int { return cmp.Compare(a.line, b.line) })
	return slices.Concat(facts[:min(len(facts), mostFacts)], commands(t), mixed(t))
}

// tools takes facts from the outputs of which a part is, with or without the prefixes of logs.
func (r *reader) tools(body string, tools parse.Tools) {
	names, _ := tools.Detect(body)
	if len(names) == 0 && len(body) < mostDetected {
		if bare := joined(r.lines, false); bare != body {
			body = bare
			names, _ = tools.Detect(body)
		}
	}
	for _, name := range names {
		tool, _ := tools.Named(name)
		value, _ := tool.Read(body)
		text, err := json.Marshal(value)
		var o object
		if err != nil || json.Unmarshal(text, &o) != nil {
			continue
		}
		r.take(name, o)
	}
}

// complaints are words of which one stands where a program says that something is wrong.
var complaints = []string{
	"error", "fail", "warn", "cannot", "can't", "could n", "couldn", "unable", "invalid", "denied", "refused", "not found",
	"timeout", "time out", "time-out", "timed out", "timed-out", "unreachable", "reject", "abort", "fatal", "no such",
	"mismatch", "unsupported",
}

// complains reports whether a program says in a line that something is wrong.
func (l line) complains() bool {
	lower := strings.ToLower(l.text)
	return slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(lower, c) })
}

// prose reports whether a person wrote a line: words, with little else, from the first column on.
func prose(s string) bool {
	const leastWords, leastShare = 5, 0.8
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\t") {
		return false
	}
	words, plain := 0, 0
	for w := range strings.FieldsSeq(s) {
		words++
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,.?!;'\"") == "" {
			plain++
		}
	}
	return words >= leastWords && float64(plain) >= leastShare*float64(words)
}

var collectiveRow = lazyregexp.New(`^ *(\d+ +\d+ +[a-z]\w+) +\w+ +-?\d+ +(\d.*)$`)

// One size may stand twice by chance of the options.
const leastMixed = 2

// mixed is a fact of tables of nccl-tests whose rows stand twice with other figures, because each process ran alone.
func mixed(t *text) []fact {
	size, figures, twice := "", "", 0
	for _, l := range t.lines {
		m := collectiveRow.Regexp().FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		if m[1] == size && m[2] != figures {
			if twice++; twice >= leastMixed {
				f := factf(l.n, "nccl-tests printed %s bytes twice", strings.Fields(size)[0])
				f.tool = "nccl-tests"
				return []fact{f}
			}
		}
		size, figures = m[1], m[2]
	}
	return nil
}

// commands are facts of what prompts ran.
func commands(t *text) (facts []fact) {
	for _, l := range t.lines {
		if l.command != "" && len(facts) < mostFacts {
			f := factf(l.n, "command %s", l.command)
			f.shown = false
			facts = append(facts, f)
		}
	}
	return facts
}

// A reader takes the facts of one part.
type reader struct {
	lines []*line
	facts []fact
	known bool // a tool's output was read, with or without facts
	// interfaces with their addresses, and devices with their interfaces, for what is between them.
	addrs   map[string][]string
	up      map[string]bool
	mtus    map[string]float64
	netdevs map[string]string
	rates   map[string]float64 // Gb/s of devices and interfaces
}

func (r *reader) say(tool string, line int, format string, args ...any) {
	f := factf(line, format, args...)
	f.tool = tool
	r.facts = append(r.facts, f)
}

// An object is JSON that a tool's output was read to.
type object map[string]any

func (o object) num(key string) (float64, bool) { v, ok := o[key].(float64); return v, ok }
func (o object) str(key string) string          { v, _ := o[key].(string); return v }

func (o object) list(key string) (all []object) {
	items, _ := o[key].([]any)
	for _, i := range items {
		if m, ok := i.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (o object) strings(key string) (all []string) {
	items, _ := o[key].([]any)
	for _, i := range items {
		if s, ok := i.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// takers make facts of what a tool's reader found.
var takers = map[string]func(r *reader, tool string, o object, rows []object){
	"perftest":        func(r *reader, _ string, o object, rows []object) { r.perftest(o, rows) },
	"nccl-tests":      func(r *reader, _ string, o object, rows []object) { r.collective(o, rows) },
	"iperf3":          each((*reader).iperf3),
	"ip":              func(r *reader, _ string, o object, rows []object) { r.interfaces(o.str("object"), rows) },
	"ibdev2netdev":    each((*reader).netdev),
	"osu":             (*reader).sizes,
	"fabtests":        (*reader).sizes,
	"cloudai":         (*reader).sizes,
	"nvbandwidth":     func(r *reader, _ string, _ object, rows []object) { r.copies(rows) },
	"ibv_rc_pingpong": func(r *reader, _ string, _ object, rows []object) { r.pingPongs(rows) },
	"rping":           func(r *reader, _ string, _ object, rows []object) { r.rping(rows) },
	"iperf2": func(r *reader, _ string, _ object, rows []object) {
		if len(rows) > 0 {
			r.iperf2(rows)
		}
	},
	"nixlbench":    func(r *reader, tool string, _ object, rows []object) { r.transfers(tool, rows) },
	"ucx_perftest": func(r *reader, tool string, _ object, rows []object) { r.transfers(tool, rows) },
	"ethtool":      each((*reader).ethtool),
	"show_gids":    func(r *reader, _ string, _ object, _ []object) { r.gids() },
	"ibv_devices": func(r *reader, tool string, _ object, rows []object) {
		if len(rows) == 0 {
			r.say(tool, lineWith(r.lines, "node GUID"), "ibv_devices lists no device")
		}
	},
	"dmesg": each(func(r *reader, row object) {
		r.say("dmesg", lineWith(r.lines, row.str("text")), "kernel %s %s: %s", row.str("kind"), row.str("device"),
			row.str("text"))
	}),
}

func each(take func(*reader, object)) func(*reader, string, object, []object) {
	return func(r *reader, _ string, _ object, rows []object) {
		for _, row := range rows {
			take(r, row)
		}
	}
}

// take makes facts of what a tool's reader found.
func (r *reader) take(tool string, o object) {
	rows := o.list("rows")
	r.known = r.known || len(rows) > 0
	if take := takers[tool]; take != nil {
		take(r, tool, o, rows)
	}
	for _, e := range o.strings("errors") {
		if n := lineWith(r.lines, e); n > 0 && tool == "perftest" {
			r.say(tool, n, "error of %s: %s", tool, short(e))
		}
	}
}

// netdev is a fact of a line of ibdev2netdev.
func (r *reader) netdev(row object) {
	state := "down"
	if up, _ := row["up"].(bool); up {
		state = "up"
	}
	put(&r.netdevs, row.str("dev"), row.str("netdev"))
	r.say("ibdev2netdev", lineWith(r.lines, row.str("dev"), "==>"), "device %s netdev=%s link=%s", row.str("dev"),
		row.str("netdev"), state)
}

// ethtool are facts of an interface's speed.
func (r *reader) ethtool(row object) {
	mbps, ok := row.num("speedMbps")
	if !ok || mbps <= 0 {
		return
	}
	put(&r.rates, row.str("netdev"), mbps/1000)
	at := lineWith(r.lines, "Speed:")
	r.say("ethtool", at, "interface %s speed=%.0f Gb/s", row.str("netdev"), mbps/1000)
	if most := fastest(row.strings("supported")); most > mbps {
		r.say("ethtool", at, "interface %s supports %.0f Gb/s and runs at %.0f", row.str("netdev"), most/1000, mbps/1000)
	}
}

// gids says of each device whether an IPv4 address is among its GIDs.
func (r *reader) gids() {
	ipv4 := map[string]string{}
	for _, l := range r.lines {
		f := strings.Fields(l.text)
		if len(f) < 5 {
			continue
		}
		gid, err := netip.ParseAddr(f[3])
		if err != nil {
			continue
		}
		if gid.Is4In6() {
			ipv4[f[0]] = "yes"
		} else if ipv4[f[0]] == "" {
			ipv4[f[0]] = "no"
		}
	}
	for _, dev := range slices.Sorted(maps.Keys(ipv4)) {
		r.say("show_gids", lineWith(r.lines, dev), "gids %s ipv4=%s", dev, ipv4[dev])
	}
}

// fastest is the rate of the fastest of some link modes ("200000baseCR4/Full"), Mb/s; 0 where there is none.
func fastest(modes []string) (most float64) {
	for _, m := range modes {
		rate, _, _ := strings.Cut(m, "base")
		if mbps, ok := strictnum.Number(rate); ok {
			most = max(most, mbps)
		}
	}
	return most
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

func (r *reader) interfaces(what string, rows []object) {
	if what != "link" {
		return
	}
	// ip link prints no addresses: that there are none is known where some interface has one.
	listed := slices.ContainsFunc(rows, func(o object) bool { return len(o.strings("addrs")) > 0 })
	for _, row := range rows {
		name := row.str("name")
		addrs, up := []string{}, row.str("state") == "UP"
		for _, a := range row.strings("addrs") {
			if p, err := netip.ParsePrefix(a); err == nil && !p.Addr().IsLinkLocalUnicast() {
				addrs = append(addrs, a)
			}
		}
		if name == "lo" || name == "" {
			continue
		}
		has := "unknown"
		if listed {
			has = cmp.Or(strings.Join(addrs, ","), "none")
			put(&r.addrs, name, addrs)
		}
		put(&r.up, name, up)
		mtu := ""
		if m, ok := row.num("mtu"); ok && m > 0 {
			mtu = fmt.Sprintf(" mtu=%.0f", m)
			put(&r.mtus, name, m)
		}
		r.say("ip", lineWith(r.lines, name), "interface %s state=%s%s master=%s addresses=%s", name, row.str("state"), mtu,
			cmp.Or(row.str("master"), "none"), has)
	}
}

// between are facts of several interfaces of one output, which is of one node.
func (r *reader) between() {
	for name, mtu := range r.mtus {
		if other := r.mtus[twin(name)]; other > mtu {
			r.say("ip", lineWith(r.lines, name), "interfaces %s and %s have different MTUs: %.0f and %.0f", name,
				twin(name), mtu, other)
		}
	}
	names := slices.Sorted(maps.Keys(r.addrs))
	subnets := map[netip.Prefix]string{}
	for _, name := range names {
		for _, a := range r.addrs[name] {
			p, err := netip.ParsePrefix(a)
			if err != nil || alone(p) || !railLike(name) {
				continue
			}
			if other := subnets[p.Masked()]; other != "" && other != name {
				r.say("ip", lineWith(r.lines, name, a), "interfaces %s and %s share the subnet %s", other, name, p.Masked())
			}
			subnets[p.Masked()] = name
		}
		if t := twin(name); t != "" && r.up[name] && len(r.addrs[name]) == 0 && len(r.addrs[t]) > 0 {
			r.say("ip", lineWith(r.lines, name), "interface %s is up without an address, and its paired port %s has one",
				name, t)
		}
	}
}

// alone reports whether a prefix is of one address.
func alone(p netip.Prefix) bool { return p.Bits() > 31 && p.Addr().Is4() || p.Bits() > 127 }

// railLike reports whether an interface could be a rail: a bridge of containers in a subnet of another is common.
func railLike(name string) bool {
	return !slices.ContainsFunc([]string{"docker", "br-", "veth", "virbr", "cni", "lo", "wl", "tailscale"},
		func(p string) bool { return strings.HasPrefix(name, p) })
}

var (
	slotOf = lazyregexp.New(`^(enp|enP2p|rocep|roceP2p)(1s0f\d.*)$`)
	paired = map[string]string{"enp": "enP2p", "enP2p": "enp", "rocep": "roceP2p", "roceP2p": "rocep"}
)

// twin is the other PCIe half of a DGX Spark's port: enP2p1s0f0np0 for enp1s0f0np0. Empty for other names.
func twin(name string) string {
	if m := slotOf.Regexp().FindStringSubmatch(name); m != nil {
		return paired[m[1]] + m[2]
	}
	return ""
}

var (
	blockHead = lazyregexp.New(`^(?:CA '([\w.-]+)'|hca_id:\s*([\w.-]+)|Infiniband device '([\w.-]+)' port \d+ status:)`)
	portKey   = lazyregexp.New(`(?i)^\s*(state|physical state|phys state|phys_state|rate|base lid|sm lid|sm_lid|port_lid|` +
		`link layer|link_layer|active_mtu|transport|default gid):\s*(.*)$`)
	rdmaLink = lazyregexp.New(`^(?:\d+: )?link ([\w.-]+)/\d+ .*\bstate (\S+)(?: physical_state (\S+))?(?:.* netdev (\S+))?`)
)

// A port is what ibstat, ibstatus, ibv_devinfo and rdma link say of one.
type port struct {
	dev                                          string
	line                                         int
	state, phys, rate, layer, lid, smlid, netdev string
}

// ports are facts of RDMA ports: what the typed readers leave out, such as lids, is read here.
func (r *reader) ports() {
	var p *port
	flush := func() {
		if p != nil && p.state != "" {
			r.say("rdma ports", p.line, "port %s state=%s phys=%s rate=%s layer=%s lid=%s smlid=%s netdev=%s", p.dev, p.state,
				p.phys, p.rate, p.layer, p.lid, p.smlid, p.netdev)
		}
		p = nil
	}
	for _, l := range r.lines {
		s := l.whole
		if m := blockHead.Regexp().FindStringSubmatch(s); m != nil {
			flush()
			p = &port{dev: m[1] + m[2] + m[3], line: l.n}
			continue
		}
		if m := rdmaLink.Regexp().FindStringSubmatch(l.text); m != nil {
			flush()
			p = &port{dev: m[1], line: l.n, state: m[2], phys: m[3], netdev: m[4]}
			p.lid, p.smlid = after(s, " lid "), after(s, " sm_lid ")
			if p.layer = "Ethernet"; strings.Contains(s, "subnet_prefix") {
				p.layer = "InfiniBand"
			}
			flush()
			continue
		}
		m := portKey.Regexp().FindStringSubmatch(s)
		if m == nil || p == nil {
			continue
		}
		key, value := strings.ToLower(m[1]), strings.TrimSpace(m[2])
		if key == "state" && p.state != "" { // another port of the device
			was := *p
			flush()
			p = &port{dev: was.dev, line: l.n}
		}
		p.take(key, value)
		if gbps, ok := strictnum.Number(p.rate); ok && key == "rate" {
			put(&r.rates, p.dev, gbps)
		}
	}
	flush()
}

// take is one line of a port's block.
func (p *port) take(key, value string) {
	switch key {
	case "state":
		value = strings.TrimPrefix(strings.TrimLeft(value, "0123456789: "), "PORT_")
		p.state, _, _ = strings.Cut(value, " ")
	case "physical state", "phys state", "phys_state":
		p.phys = strings.TrimLeft(value, "0123456789: ")
	case "rate":
		p.rate, _, _ = strings.Cut(value, " ")
	case "base lid", "port_lid":
		p.lid = value
	case "sm lid", "sm_lid":
		p.smlid = value
	case "link layer", "link_layer":
		p.layer = value
	}
}

func after(s, key string) string {
	_, rest, ok := strings.Cut(s, key)
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, " ")
	return rest
}

// Both GIDs of a queue pair that failed, as NCCL prints them.
var bothGIDs = lazyregexp.New(`local ?(?:GID|Gid) ?(::ffff:[\d.]+)\S* ?,? remote ?(?:GID|Gid)s? ?(::ffff:[\d.]+)`)

// queues are facts of queue pairs whose two ends have addresses of different networks: those of a rail share 24 bits.
func (r *reader) queues() {
	const rail = 24
	for _, l := range r.lines {
		m := bothGIDs.Regexp().FindStringSubmatch(l.text)
		if m == nil || l.again {
			continue
		}
		local, err := netip.ParseAddr(m[1])
		remote, err2 := netip.ParseAddr(m[2])
		if err != nil || err2 != nil {
			continue
		}
		near, _ := local.Unmap().Prefix(rail)
		if !near.Contains(remote.Unmap()) {
			r.say("", l.n, "queue between %s and %s, in different networks", local.Unmap(), remote.Unmap())
		}
	}
}

var topoHead = lazyregexp.New(`^\s*(?:GPU\d+\s+)+.*NIC\d|^\s*(?:GPU\d+\s+)+.*mlx5_\d`)

// topology reads nvidia-smi topo -m: how near the nearest adapter of each GPU is.
func (r *reader) topology() {
	var heads []string
	near := map[string]int{"X": -1, "PIX": 0, "PXB": 1, "PHB": 2, "NODE": 3, "SYS": 4}
	for _, l := range r.lines {
		fields := strings.Fields(l.whole)
		if topoHead.Regexp().MatchString(l.whole) {
			heads = fields
			continue
		}
		if heads == nil || len(fields) < 2 || !strings.HasPrefix(fields[0], "GPU") {
			continue
		}
		best, how, with := 9, "", ""
		for i, cell := range fields[1:] {
			if i >= len(heads) {
				break
			}
			adapter := strings.HasPrefix(heads[i], "NIC") || strings.HasPrefix(heads[i], "mlx5")
			if n, ok := near[cell]; ok && adapter && n < best {
				best, how, with = n, cell, heads[i]
			}
		}
		if how != "" {
			r.say("nvidia-smi topo", l.n, "topology %s nearest=%s by=%s", fields[0], with, how)
		}
	}
}
