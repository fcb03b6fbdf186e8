package software

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/decimal"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/pattern"
)

// mostRules is how many lines of rules the check's script prints.
const mostRules = 2000

// judgeFirewall: no rule keeps the other node out.
func judgeFirewall(r steps.Result, facts [2]map[string]string, rep *kind.Report) steps.Verdict {
	var unread, read, none []string
	why := ""
	for _, e := range steps.Ends {
		f, node := facts[e], r.Rig.NameOf(e)
		for _, s := range []string{"ufw", "firewalld", "nftables"} {
			if f["service "+s] == "active" {
				rep.Show(node+" service "+s, "active", "", nil)
			}
		}
		rep.Show(node+" packet filter", kind.OrUnknown(f["loaded"]), "", nil)
		switch f["loaded"] {
		case "":
			rep.At(r.Rig, e, steps.Inconclusive, "%s does not tell whether a packet filter is loaded", node)
			continue
		case "none":
			none = append(none, node)
			continue
		}
		rules := rulesOf(f)
		number, counted := decimal.Count(strings.TrimSuffix(f["rules"], " lines"))
		switch {
		case f["unread"] != "":
			unread, why = append(unread, node), f["unread"]
			rep.Show(node+" rules not read", why, "", nil)
		case !counted:
			rep.At(r.Rig, e, steps.Inconclusive, "the rules of the firewall on %s were not listed to their end", node)
			continue
		case number > mostRules:
			rep.At(r.Rig, e, steps.Inconclusive, "the firewall on %s has %d lines of rules, and only %d of them were read",
				node, number, mostRules)
		default:
			read = append(read, node)
			rep.Show(node+" lines of rules", number, "", nil)
		}
		for _, b := range blocking(rules, r.Rig.At(e)) {
			rep.Show(node+" rule", b.text, "", nil)
			switch {
			case b.roce:
				judgeRoCEDropped(r.Rig, e, b, rep)
			case b.names:
				rep.At(r.Rig, e, steps.Fail, "a rule of the firewall on %s keeps the other node out of its rails (%s): the "+
					"tools' ends can't meet over TCP, though ping answers; let in what comes over the rails", node, b.text)
			default:
				rep.At(r.Rig, e, steps.Warn, "the firewall on %s may keep the other node out, because no rule names the rails "+
					"(%s): let in what comes over %s", node, b.text, kind.And(netdevsOf(r.Rig.At(e))))
			}
		}
	}
	switch {
	case len(unread) > 0 && len(rep.Findings) == 0:
		return rep.Skipped("a packet filter is loaded on %s, and its rules could not be read (%s), so nobody saw whether "+
			"one keeps the other node out", kind.And(unread), why)
	case len(read) == 0:
		return rep.Verdict("no packet filter is loaded on either node, so no rule can keep the other one out")
	case len(none) > 0:
		return rep.Verdict(fmt.Sprintf("no rule on %s keeps the other node out, and %s has no packet filter",
			kind.And(read), kind.And(none)))
	}
	return rep.Verdict(fmt.Sprintf("no rule on %s keeps the other node out", kind.And(read)))
}

// judgeRoCEDropped is for a rule that keeps RoCE's own packets out. An adapter's pass by the
// kernel's filter.
func judgeRoCEDropped(rig steps.Rig, e steps.End, b block, rep *kind.Report) {
	node := rig.NameOf(e)
	if strings.Contains(rig.At(e).Adapter, "soft-RoCE") {
		rep.At(rig, e, steps.Fail, "a rule of the firewall on %s drops RoCE's packets, UDP 4791 (%s): a test over soft-RoCE "+
			"waits until its time is over, though its ends meet and ping answers", node, b.text)
		return
	}
	rep.At(rig, e, steps.Warn, "a rule of the firewall on %s is against RoCE's packets, UDP 4791 (%s): those of an adapter "+
		"pass by it, and soft-RoCE's don't", node, b.text)
}

// rulesOf are the lines of the rules, in their order.
func rulesOf(f map[string]string) []string {
	var lines []string
	for n := 1; ; n++ {
		line, ok := f["rule "+strconv.Itoa(n)]
		if !ok && f["rule "+strconv.Itoa(n+1)] == "" && f["rule "+strconv.Itoa(n+2)] == "" {
			return lines // an empty line is no fact, and two in a row there are not
		}
		lines = append(lines, line)
	}
}

// netdevsOf are the interfaces of a node's rails.
func netdevsOf(n steps.Node) []string {
	var all []string
	for _, rail := range n.Rails {
		if rail.Netdev.Name != "" {
			all = append(all, rail.Netdev.Name)
		}
	}
	return all
}

// A chain is one of the packet filter's.
type chain struct {
	hook, policy string
	rules        []string
}

// A block is a rule that keeps packets out.
type block struct {
	text  string
	names bool // it names a rail's interface
	roce  bool // it is about RoCE's port
}

var (
	nftHook   = pattern.New(`^type filter hook (\w+) .*?(?:policy (\w+);)?$`)
	nftChain  = pattern.New(`^chain (\S+) \{`)
	nftTable  = pattern.New(`^table (\S+ \S+) \{`)
	jumpsTo   = pattern.New(`\b(?:jump|goto) (\S+)`)
	verdictOf = pattern.New(`\b(accept|drop|reject)\b`)
	comesIn   = pattern.New(`\biif(?:name)? (!= )?(?:\{([^}]*)\}|("[^"]*"|\S+))`)
	harmless  = pattern.New(`ct state (?:\{ ?)?invalid|l4proto (?:ipv6-)?icmp|ip6? protocol icmp|icmp(?:v6)? type|fib daddr type|ip6? daddr (?:224\.|ff)|igmp`)
	dports    = pattern.New(`\b(?:tcp|udp|th) dport (\{[^}]*\}|[\d-]+)`)
	iptables  = pattern.New(`^-A (\S+)(.*) -j (\S+)`)
)

// blocking looks for rules that a connection from the other node meets: those of the
// chains of incoming packets, and of what they jump to.
func blocking(lines []string, n steps.Node) []block {
	chains, order := chainsOf(lines)
	var found []block
	for _, name := range order {
		c := chains[name]
		// What goes out is dropped by a rule of its own alone: RoCE's.
		if c.hook != "input" && c.hook != "output" {
			continue
		}
		w := walk{chains: chains, rails: netdevsOf(n), seen: map[string]bool{}, out: c.hook == "output"}
		if t, _, ok := strings.Cut(name, " "); ok {
			family, _, _ := strings.Cut(name[len(t)+1:], " ")
			w.table = t + " " + family + " "
		}
		w.chain(c)
		if c.policy == "drop" && !w.letIn && !w.out {
			w.found = append(w.found, block{text: "policy drop of the chain " + name[strings.LastIndexByte(name, ' ')+1:]})
		}
		found = append(found, w.found...)
	}
	return found
}

// chainsOf reads what nft list ruleset and iptables -S print, either or both: the chains by
// their names, with nft's table in front, and the names in the order of the text.
func chainsOf(lines []string) (chains map[string]*chain, order []string) {
	chains = map[string]*chain{}
	open := func(name string) *chain {
		if chains[name] == nil {
			chains[name] = &chain{}
			order = append(order, name)
		}
		return chains[name]
	}
	table, in := "", (*chain)(nil)
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if m := nftTable.FindStringSubmatch(line); m != nil {
			table, in = m[1]+" ", nil
		} else if m := nftChain.FindStringSubmatch(line); m != nil {
			in = open(table + m[1])
		} else if rest, ok := strings.CutPrefix(line, "-P "); ok { // iptables -S
			if name, policy, ok := strings.Cut(rest, " "); ok {
				c := open(name)
				c.hook, c.policy = strings.ToLower(name), strings.ToLower(policy)
			}
		} else if m := iptables.FindStringSubmatch(line); m != nil {
			c := open(m[1])
			c.rules = append(c.rules, asNft(m[2], m[3]))
		} else if line == "}" {
			in = nil
		} else if m := nftHook.FindStringSubmatch(line); m != nil && in != nil {
			in.hook, in.policy = m[1], m[2]
		} else if in != nil && line != "" {
			in.rules = append(in.rules, line)
		}
	}
	return chains, order
}

// asNft words a rule of iptables -S as nft does, as far as it is read here. What it leaves
// out of a match (a source, a mark) makes the rule wider than it is: rather a finding too
// many than a rule that is missed.
func asNft(match, target string) string {
	var b strings.Builder
	fields := strings.Fields(match)
	protocol := "tcp"
	if strings.Contains(match, "-p udp") {
		protocol = "udp"
	}
	for i := 0; i+1 < len(fields); i++ {
		switch fields[i] {
		case "-i":
			not := ""
			if i > 0 && fields[i-1] == "!" {
				not = "!= "
			}
			fmt.Fprintf(&b, "iifname %s%q ", not, strings.Replace(fields[i+1], "+", "*", 1))
		case "--dport", "--dports": // the latter of multiport, with commas
			if i > 0 && fields[i-1] == "!" {
				continue // all ports but these: nearly any connection is meant
			}
			fmt.Fprintf(&b, "%s dport { %s } ", protocol, strings.ReplaceAll(fields[i+1], ":", "-"))
		case "--state", "--ctstate":
			fmt.Fprintf(&b, "ct state %s ", strings.ToLower(fields[i+1]))
		case "-p":
			if strings.HasPrefix(fields[i+1], "icmp") || strings.HasPrefix(fields[i+1], "ipv6-icmp") {
				b.WriteString("meta l4proto icmp ")
			}
		}
	}
	switch target {
	case "ACCEPT", "DROP", "REJECT":
		b.WriteString(strings.ToLower(target))
	case "LOG", "RETURN", "MARK":
	default:
		b.WriteString("jump " + target)
	}
	return b.String()
}

// A walk goes through a chain as a new connection from a rail does.
type walk struct {
	chains map[string]*chain
	table  string
	rails  []string
	seen   map[string]bool
	found  []block
	letIn  bool // a rule lets in all that comes over a rail
	out    bool // it is about what goes out
}

func (w *walk) chain(c *chain) {
	for _, rule := range c.rules {
		if w.letIn {
			return
		}
		over, named := w.over(rule)
		if !over || harmless.MatchString(rule) {
			continue
		}
		if m := jumpsTo.FindStringSubmatch(rule); m != nil {
			if next := w.chains[w.table+m[1]]; next != nil && !w.seen[m[1]] {
				w.seen[m[1]] = true
				w.chain(next)
			}
			continue
		}
		m := verdictOf.FindStringSubmatch(rule)
		narrow := dports.MatchString(rule) && !concernsTests(rule)
		switch {
		case m == nil || strings.Contains(rule, "ct state established") || strings.Contains(rule, "ct state related") ||
			narrow:
		case m[1] == "accept":
			// Only one that names the rails and nothing else lets all of it in.
			if named && !dports.MatchString(rule) || strings.TrimSpace(rule) == "accept" {
				w.letIn = true
			}
		case w.out && !aboutRoCE(rule):
		default:
			w.found = append(w.found, block{text: rule, names: named, roce: aboutRoCE(rule)})
		}
	}
}

// over says whether a rule is about what comes in over a rail, and names one.
func (w *walk) over(rule string) (over, named bool) {
	m := comesIn.FindStringSubmatch(rule)
	if m == nil {
		return true, false
	}
	fits := false
	for pattern := range strings.SplitSeq(m[2]+m[3], ",") {
		pattern = strings.Trim(strings.TrimSpace(pattern), `"`)
		fits = fits || slices.ContainsFunc(w.rails, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		})
	}
	if m[1] != "" {
		return !fits, false
	}
	return fits, fits
}

// rocePort is where packets of RoCE v2 go to.
const rocePort = 4791

// aboutRoCE reports whether a rule is about UDP to RoCE's port and not about TCP.
func aboutRoCE(rule string) bool {
	return !strings.Contains(rule, "tcp dport") && hasPort(rule, rocePort)
}

// concernsTests reports whether a rule's ports are those of a test, or RoCE's: perftest,
// iperf3, NIXL's listener, nixlbench over sockets, RoCE v2, torchrun.
func concernsTests(rule string) bool { return hasPort(rule, 18515, 5201, 5555, 12345, rocePort, 29500) }

// hasPort reports whether one of some ports is among those that a rule names.
func hasPort(rule string, ports ...int) bool {
	m := dports.FindStringSubmatch(rule)
	if m == nil {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(m[1], "{} "), ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, ok1 := decimal.Count(low)
		b, ok2 := decimal.Count(high)
		if !ranged {
			b, ok2 = a, ok1
		}
		if !ok1 || !ok2 {
			continue
		}
		for _, port := range ports {
			if a <= port && port <= b {
				return true
			}
		}
	}
	return false
}
