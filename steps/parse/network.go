package parse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Ping is one run of ping. Times are milliseconds, 0 where nothing came back.
type Ping struct {
	Host     string `json:"host"`
	Addr     string `json:"addr"`
	Bytes    int    `json:"bytes"` // of ICMP payload; the IP packet has 28 more
	Sent     int    `json:"sent"`
	Received int    `json:"received"`
	// Duplicates are answers beyond the first to a packet.
	Duplicates int `json:"duplicates"`
	// LossPercent is what ping says; 100 where it never sent anything.
	LossPercent float64 `json:"lossPercent"`
	MinMS       float64 `json:"minMS"`
	AvgMS       float64 `json:"avgMS"`
	MaxMS       float64 `json:"maxMS"`
	// TooLong is set where a packet did not fit: on this node ("message too
	// long") or on the way ("Frag needed"). PathMTU is the MTU that was named, 0
	// where none was.
	TooLong bool     `json:"tooLong"`
	PathMTU int      `json:"pathMTU"`
	Errors  []string `json:"errors"`
	// Strange are lines of an unexpected answer: with changed bytes, from another address, or with a
	// redirect. TTL is the lowest of all answers'; 0 if none has it.
	Strange []string `json:"strange,omitempty"`
	TTL     int      `json:"ttl,omitempty"`
}

// ping is iputils', busybox's and inetutils': "56(84) bytes of data" and "56 data bytes", "received" with and
// without "packets", and the times without mdev.
var (
	pingStart   = lazyregexp.New(`^PING (\S+) \(([0-9a-fA-F.:]+)[^)]*\)(?: from .*?:)?:? (\d{1,9})(?:\(\d+\))?(?: data)? bytes`)
	pingSummary = lazyregexp.New(`^(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received,.*?([\d.]+)% packet loss`)
	pingTwice   = lazyregexp.New(`\+(\d{1,9}) duplicates`)
	pingTimes   = lazyregexp.New(`^(?:rtt|round-trip) min/avg/max(?:/\w+)? = ([\d.]+)/([\d.]+)/([\d.]+)`)
	pingTooLong = lazyregexp.New(`(?i)message too long(?:, mtu ?= ?(\d{1,9}))?|` +
		`frag(?:mentation)? needed.*?(?:mtu ?= ?(\d{1,9}))?\)?$`)
	pingStrange = lazyregexp.New(`^wrong data byte|^\d{1,9} packets transmitted, .*\+\d{1,9} corrupted|DIFFERENT ADDRESS!|(?i)\bredirect (?:host|network)|\(BAD CHECKSUM!\)|truncated\)$`)
	pingAnswer  = lazyregexp.New(`^\d{1,9} bytes from (?:\S+ \()?(\d{1,3}(?:\.\d{1,3}){3})\)?:`)
	pingTTL     = lazyregexp.New(`\bttl=(\d{1,3})\b`)
	pingError   = lazyregexp.New(`(?i)^ping: |unreachable|time to live exceeded|prohibited`)
)

// Pings reads the output of ping, run once or several times in a row. A line
// "+ ping …", as set -x prints it, begins a run too: one that failed before its
// first packet prints no other start.
func Pings(text string) ([]Ping, error) {
	r := pingReader{pings: []Ping{}}
	lines(text, r.line)
	if len(r.pings) == 0 {
		return r.pings, ErrNoResult
	}
	for _, p := range r.pings {
		if p.Sent == 0 && len(p.Errors) == 0 {
			return r.pings, fmt.Errorf("%w: ping to %s has no summary", ErrNoResult, p.Host)
		}
	}
	return r.pings, nil
}

// A pingReader reads runs of ping in a row, of which some may have failed before their first line.
type pingReader struct {
	pings []Ping
	open  bool // the last one has no PING line yet
}

// begin adds a run. It has lost everything until its summary says otherwise.
func (r *pingReader) begin() {
	r.pings = append(r.pings, Ping{LossPercent: 100, Errors: []string{}})
	r.open = true
}

func (r *pingReader) line(line string) {
	if len(r.pings) >= maxRows {
		return
	}
	if strings.HasPrefix(line, "+ ping ") {
		r.begin()
		return
	}
	if m := pingStart.Regexp().FindStringSubmatch(line); m != nil {
		if !r.open {
			r.begin()
		}
		p := &r.pings[len(r.pings)-1]
		p.Host, p.Addr = m[1], m[2]
		p.Bytes, _ = strictnum.Count(m[3])
		r.open = false
		return
	}
	isError := pingError.Regexp().MatchString(line)
	if len(r.pings) == 0 {
		if !isError {
			return
		}
		r.begin() // it failed before its first packet
	}
	r.pings[len(r.pings)-1].take(line, isError)
}

// take reads a line behind the start.
func (p *Ping) take(line string, isError bool) {
	if m := pingSummary.Regexp().FindStringSubmatch(line); m != nil {
		p.Sent, _ = strictnum.Count(m[1])
		p.Received, _ = strictnum.Count(m[2])
		if v, ok := strictnum.Number(m[3]); ok {
			p.LossPercent = v
		}
		if m := pingTwice.Regexp().FindStringSubmatch(line); m != nil {
			p.Duplicates, _ = strictnum.Count(m[1])
		}
	}
	if m := pingTimes.Regexp().FindStringSubmatch(line); m != nil {
		p.MinMS, _ = strictnum.Number(m[1])
		p.AvgMS, _ = strictnum.Number(m[2])
		p.MaxMS, _ = strictnum.Number(m[3])
	}
	if m := pingTooLong.Regexp().FindStringSubmatch(line); m != nil {
		p.TooLong = true
		if v, ok := strictnum.Count(m[1] + m[2]); ok {
			p.PathMTU = v
		}
		isError = true
	}
	if m := pingTTL.Regexp().FindStringSubmatch(line); m != nil {
		if v, ok := strictnum.Count(m[1]); ok && (p.TTL == 0 || v < p.TTL) {
			p.TTL = v
		}
	}
	p.complaint(line, isError)
}

// complaint keeps a line that is an error, or an answer of another one.
func (p *Ping) complaint(line string, isError bool) {
	from := pingAnswer.Regexp().FindStringSubmatch(line)
	other := from != nil && p.Addr != "" && from[1] != p.Addr
	if (other || pingStrange.Regexp().MatchString(line)) && len(p.Strange) < maxErrors {
		p.Strange = append(p.Strange, cut(line))
	}
	// Each packet may say the same.
	if isError && len(p.Errors) < maxErrors && !slices.Contains(p.Errors, cut(line)) {
		p.Errors = append(p.Errors, cut(line))
	}
}

// A Link is an interface as ip shows it.
type Link struct {
	Index  int      `json:"index"`
	Name   string   `json:"name"`
	Flags  []string `json:"flags"`
	MTU    int      `json:"mtu"`
	State  string   `json:"state"` // UP, DOWN, UNKNOWN …
	Master string   `json:"master"`
	MAC    string   `json:"mac"`
	Kind   string   `json:"kind"`  // bond, vlan, bridge …; empty for hardware
	Addrs  []string `json:"addrs"` // 192.168.100.10/24, IPv4 and IPv6
	// Secondary are those of Addrs that the kernel does not send from by itself.
	Secondary []string `json:"secondary,omitempty"`
	// Stats are the counters that -s shows.
	Stats *LinkStats `json:"stats,omitempty"`
}

// LinkStats are an interface's own counters. RDMA's bytes are not in them.
type LinkStats struct {
	Rx LinkCounters `json:"rx"`
	Tx LinkCounters `json:"tx"`
}

// LinkCounters are one direction.
type LinkCounters struct {
	Bytes   uint64 `json:"bytes"`
	Packets uint64 `json:"packets"`
	Errors  uint64 `json:"errors"`
	Dropped uint64 `json:"dropped"`
}

// Up reports whether the interface is switched on; Carrier whether it also has a link.
func (l Link) Up() bool { return slices.Contains(l.Flags, "UP") }

// Carrier is set where the kernel sees a link.
func (l Link) Carrier() bool {
	return slices.Contains(l.Flags, "LOWER_UP") && !slices.Contains(l.Flags, "NO-CARRIER")
}

// Loopback reports whether it is lo.
func (l Link) Loopback() bool { return slices.Contains(l.Flags, "LOOPBACK") }

// IPJSON reads ip -j addr or ip -j link, with or without -d and -p. A line that
// was cut into pieces on the way is put together again.
func IPJSON(text string) ([]Link, error) {
	var raw []struct {
		Index  int      `json:"ifindex"`
		Name   string   `json:"ifname"`
		Flags  []string `json:"flags"`
		MTU    int      `json:"mtu"`
		State  string   `json:"operstate"`
		Master string   `json:"master"`
		MAC    string   `json:"address"`
		Info   struct {
			Kind string `json:"info_kind"`
		} `json:"linkinfo"`
		Addrs []struct {
			Local     string `json:"local"`
			Prefix    int    `json:"prefixlen"`
			Secondary bool   `json:"secondary"`
		} `json:"addr_info"`
		Stats *LinkStats `json:"stats64"`
	}
	if err := unmarshalPieces(text, &raw); err != nil {
		return nil, fmt.Errorf("%w: ip -j: %w", ErrNoResult, err)
	}
	links := []Link{}
	for _, r := range raw {
		if r.Name == "" || len(links) >= maxRows {
			continue
		}
		l := Link{
			Index: r.Index, Name: r.Name, Flags: r.Flags, MTU: r.MTU, State: r.State,
			Master: r.Master, MAC: r.MAC, Kind: r.Info.Kind, Addrs: []string{}, Stats: r.Stats,
		}
		// null would be another form of the same for readers of JSON.
		if l.Flags == nil {
			l.Flags = []string{}
		}
		for _, a := range r.Addrs {
			if a.Local == "" {
				continue
			}
			addr := fmt.Sprintf("%s/%d", a.Local, a.Prefix)
			l.Addrs = append(l.Addrs, addr)
			if a.Secondary {
				l.Secondary = append(l.Secondary, addr)
			}
		}
		links = append(links, l)
	}
	return links, nil
}

// unmarshalPieces reads JSON that may have a warning before it, or line ends within a
// string, where a long line was cut.
func unmarshalPieces(text string, into any) error {
	// ip warns on stderr, and where the streams are one text that comes first.
	if i := strings.IndexByte(text, '['); i > 0 {
		text = text[i:]
	}
	// A decoder stops behind the value: what stands there isn't looked at.
	err := json.NewDecoder(strings.NewReader(text)).Decode(into)
	if err != nil {
		whole := strings.NewReplacer("\n", "", "\r", "").Replace(text)
		if json.NewDecoder(strings.NewReader(whole)).Decode(into) == nil {
			return nil
		}
	}
	return err
}

var (
	linkStart = lazyregexp.New(`^(\d{1,9}): ([^\s:]+): <([^>]*)>(.*)$`)
	linkWord  = lazyregexp.New(`\b(mtu|state|master) (\S+)`)
	linkMAC   = lazyregexp.New(`^\s+link/\S+ ([0-9a-f]{2}(?::[0-9a-f]{2})+)`)
	linkAddr  = lazyregexp.New(`^\s+inet6? (\S+)`)
	linkCount = lazyregexp.New(`^\s+([RT]X):\s+(bytes .*)$`)
)

// IPText reads ip link or ip addr as a person sees it.
func IPText(text string) ([]Link, error) {
	r := linkReader{links: []Link{}}
	lines(text, r.line)
	if len(r.links) == 0 {
		return r.links, ErrNoResult
	}
	return r.links, nil
}

// A linkReader reads interfaces with their indented lines.
type linkReader struct {
	links    []Link
	side     string
	counters []string // the names over the line of figures that comes next
}

func (r *linkReader) line(line string) {
	if m := linkStart.Regexp().FindStringSubmatch(line); m != nil {
		if len(r.links) < maxRows {
			r.links = append(r.links, newLink(m))
		}
		return
	}
	if len(r.links) == 0 {
		return
	}
	l := &r.links[len(r.links)-1]
	if r.counters != nil {
		l.count(r.side, r.counters, strings.Fields(line))
		r.counters = nil
		return
	}
	if m := linkCount.Regexp().FindStringSubmatch(line); m != nil {
		r.side, r.counters = m[1], strings.Fields(m[2])
		return
	}
	if m := linkMAC.Regexp().FindStringSubmatch(line); m != nil && l.MAC == "" {
		l.MAC = m[1]
	}
	if m := linkAddr.Regexp().FindStringSubmatch(line); m != nil && len(l.Addrs) < maxRows {
		l.Addrs = append(l.Addrs, m[1])
		if strings.Contains(line, " secondary ") {
			l.Secondary = append(l.Secondary, m[1])
		}
	}
}

// newLink is an interface as its first line has it: index, name, flags, and words in pairs.
func newLink(m []string) Link {
	l := Link{Flags: strings.Split(m[3], ","), Addrs: []string{}}
	l.Index, _ = strictnum.Count(m[1])
	// A virtual interface is shown with the one that it stands on: veth0@if7.
	l.Name, _, _ = strings.Cut(m[2], "@")
	for _, w := range linkWord.Regexp().FindAllStringSubmatch(m[4], 8) {
		switch w[1] {
		case "mtu":
			l.MTU, _ = strictnum.Count(w[2])
		case "state":
			l.State = w[2]
		case "master":
			l.Master = w[2]
		}
	}
	return l
}

// count takes a line of figures of ip -s.
func (l *Link) count(side string, names, figures []string) {
	if l.Stats == nil {
		l.Stats = &LinkStats{}
	}
	c := &l.Stats.Rx
	if side == "TX" {
		c = &l.Stats.Tx
	}
	to := map[string]*uint64{"bytes": &c.Bytes, "packets": &c.Packets, "errors": &c.Errors, "dropped": &c.Dropped}
	for i, f := range figures {
		if i < len(names) && to[names[i]] != nil {
			*to[names[i]], _ = strictnum.Counter(f) // 0 if it is not a figure
		}
	}
}

// Links reads ip's output in either form.
func Links(text string) ([]Link, error) {
	if links, err := IPJSON(text); err == nil {
		return links, nil
	}
	return IPText(text)
}

// DefaultRoute names the netdev of the default route in the output of
// ip -j route, the one with the lowest metric; empty where there is none.
func DefaultRoute(text string) (string, error) {
	var raw []struct {
		Dst    string `json:"dst"`
		Dev    string `json:"dev"`
		Metric int    `json:"metric"`
	}
	if err := unmarshalPieces(text, &raw); err != nil {
		return "", fmt.Errorf("%w: ip -j route: %w", ErrNoResult, err)
	}
	best, metric := "", 0
	for _, r := range raw {
		// A route without a metric has the least, 0; of equal ones the first is the kernel's choice.
		if r.Dst == "default" && r.Dev != "" && (best == "" || r.Metric < metric) {
			best, metric = r.Dev, r.Metric
		}
	}
	return best, nil
}

// A Bond is what the bonding driver says in /proc/net/bonding.
type Bond struct {
	Mode        string  `json:"mode"`       // "load balancing (xor)"
	HashPolicy  string  `json:"hashPolicy"` // "layer3+4 (1)"
	MIIStatus   string  `json:"miiStatus"`  // up or down
	MIIPollMS   int     `json:"miiPollMS"`
	ARPPollMS   int     `json:"arpPollMS,omitempty"` // 0 where it doesn't look by ARP
	ActiveSlave string  `json:"activeSlave"`
	Slaves      []Slave `json:"slaves"`
}

// A Slave is one interface of a bond.
type Slave struct {
	Name      string `json:"name"`
	MIIStatus string `json:"miiStatus"`
	SpeedMbps int    `json:"speedMbps"` // 0 where unknown
	Duplex    string `json:"duplex"`
	Failures  int    `json:"failures"`
	// Aggregator is which of 802.3ad's groups of links it is in, or "N/A"; empty in other modes.
	Aggregator string `json:"aggregator,omitempty"`
}

// Bonding reads /proc/net/bonding/BOND. If a slave comes twice, the text holds more than that file: the bond
// is the first one in it, and the error says so.
func Bonding(text string) (Bond, error) {
	b := Bond{Slaves: []Slave{}}
	again, odd := "", ""
	lines(text, func(line string) {
		if v, ok := field(line, "Slave Interface"); ok {
			if slices.ContainsFunc(b.Slaves, func(s Slave) bool { return s.Name == v }) && again == "" {
				again = v
			}
			if len(b.Slaves) < maxRows && again == "" {
				b.Slaves = append(b.Slaves, Slave{Name: v})
			}
			return
		}
		if again != "" {
			return
		}
		whole := true
		if len(b.Slaves) > 0 {
			whole = b.Slaves[len(b.Slaves)-1].take(line)
		} else {
			whole = b.take(line)
		}
		if !whole && odd == "" {
			odd = strings.TrimSpace(line)
		}
	})
	switch {
	case b.Mode == "":
		return b, ErrNoResult
	case again != "":
		return b, fmt.Errorf("%w: the slave %s comes twice, so the text has this bond more than once; only what stands "+
			"first was read", ErrNoResult, cut(again))
	case odd != "":
		return b, fmt.Errorf("%w: what it says of \"%s\" is not a number", ErrNoResult, cut(odd))
	}
	return b, nil
}

// take reads a line above the first slave, and reports whether the number in it is one.
func (b *Bond) take(line string) bool {
	for name, to := range map[string]*string{
		"Bonding Mode": &b.Mode, "Transmit Hash Policy": &b.HashPolicy, "MII Status": &b.MIIStatus,
		"Currently Active Slave": &b.ActiveSlave,
	} {
		if v, ok := field(line, name); ok {
			*to = v
		}
	}
	for name, to := range map[string]*int{
		"MII Polling Interval (ms)": &b.MIIPollMS, "ARP Polling Interval (ms)": &b.ARPPollMS,
	} {
		if v, ok := field(line, name); ok {
			return wholeNumber(v, to)
		}
	}
	return true
}

// take reads a line of a slave, and reports whether the number in it is one. The details of 802.3ad, which root
// sees, are indented.
func (s *Slave) take(line string) bool {
	for name, to := range map[string]*string{
		"MII Status": &s.MIIStatus, "Duplex": &s.Duplex,
		"Aggregator ID": &s.Aggregator,
	} {
		if v, ok := field(line, name); ok {
			*to = v
		}
	}
	for name, to := range map[string]*int{
		"Speed": &s.SpeedMbps, "Link Failure Count": &s.Failures,
		"Aggregator ID": new(int),
	} {
		if v, ok := field(line, name); ok {
			// The driver says "Unknown" of a link that is down, and "N/A" of a group that isn't formed.
			return strings.HasPrefix(v, "Unknown") || v == "N/A" || wholeNumber(v, to)
		}
	}
	return true
}

// wholeNumber reads the number at the start of a value, "200000 Mbps".
func wholeNumber(value string, to *int) (ok bool) {
	first, _, _ := strings.Cut(value, " ")
	*to, ok = strictnum.Count(first)
	return ok
}

// Apart are the slaves of an 802.3ad bond that are in no group of links with its first: packets go over the
// links of one group alone.
func (b Bond) Apart() (all []Slave) {
	for _, s := range b.Slaves {
		if s.Aggregator != "" && s.Aggregator != b.Slaves[0].Aggregator {
			all = append(all, s)
		}
	}
	return all
}

// Facts reads lines of the form "name: value", as the cells print them. A name
// that comes twice keeps its first value.
func Facts(text string) (map[string]string, error) {
	facts := map[string]string{}
	lines(text, func(line string) {
		name, value, ok := strings.Cut(line, ": ")
		if !ok || name == "" || strings.ContainsAny(name, "\t'\"") || len(facts) >= maxRows {
			return
		}
		name = strings.TrimSpace(name)
		if _, seen := facts[name]; !seen {
			facts[name] = strings.TrimSpace(value)
		}
	})
	if len(facts) == 0 {
		return facts, ErrNoResult
	}
	return facts, nil
}
