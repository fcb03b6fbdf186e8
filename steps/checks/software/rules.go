package software

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/strictnum"
)

// The packet filter's rules, as nft list ruleset and iptables -S print them, and what they do
// with a new connection that comes in over a rail, or goes out over one.

// A chain is one of the packet filter's.
type chain struct {
	hook, policy string
	device       string // of a chain of the hooks ingress and egress
	rules        []string
}

// A block is a rule that keeps packets out.
// One that names a rail's interface is meant so and FAILs; of one that names none something else may have let
// the packets in, and it WARNs.
type block struct {
	text  string
	of    string   // whose it is
	names bool     // it names a rail's interface
	roce  bool     // it is about RoCE's port
	rails []string // that it keeps packets of out
	out   bool     // it is about what goes out
}

var (
	nftHook   = lazyregexp.New(`^type \w+ hook (\w+) (?:device "([^"]*)" )?.*?(?:policy (\w+);)?$`)
	nftChain  = lazyregexp.New(`^chain (\S+) \{`)
	nftTable  = lazyregexp.New(`^table (\S+ \S+) \{`)
	nftSet    = lazyregexp.New(`^(?:set|map) (\S+) \{`)
	inSet     = lazyregexp.New(`@([\w-]+)`)
	verdicts  = lazyregexp.New(`^(.*)\bvmap \{ (.*) \}$`)
	counted   = lazyregexp.New(`\bcounter packets \d+ bytes \d+ ?`)
	jumpsTo   = lazyregexp.New(`\b(jump|goto) (\S+)`)
	verdictOf = lazyregexp.New(`\b(accept|drop|reject|return|queue)\b`)
	comesIn   = lazyregexp.New(`\biif(?:name)? (!= )?(?:\{([^}]*)\}|("[^"]*"|\S+))`)
	goesOut   = lazyregexp.New(`\boif(?:name)? (!= )?(?:\{([^}]*)\}|("[^"]*"|\S+))`)
	// The first of firewalld's own two is about addresses that no network has, and the other about packets that came
	// by a way that does not lead back.
	firewalld = lazyregexp.New(`^ip6 daddr \{ ::/96, |^meta nfproto ipv6 fib saddr . mark . iif oif missing drop`)
	harmless  = lazyregexp.New(`ct state (?:\{ ?)?invalid|l4proto (?:ipv6-)?icmp|ip6? protocol icmp|icmp(?:v6)? type|` +
		`rt type|fib daddr type (?:multicast|broadcast|anycast)|ip6? daddr (?:224\.|ff)|igmp`)
	known  = lazyregexp.New(`ct state (?:established|related)`) // it was let in before
	dports = lazyregexp.New(`\b(?:tcp|udp|th) dport (\{[^}]*\}|[\d-]+)`)
	beside = lazyregexp.New(`\bct state (?:\{[^}]*\bnew\b[^}]*\}|\S*\bnew\b\S*) ?|` +
		`\blog (?:prefix "[^"]*" ?)?(?:(?:level|flags) \w+ ?)*`)
	iptables = lazyregexp.New(`^-A (\S+)(.*) -j (\S+)`)
)

// The chains that packets meet as they come in, and as they go out.
var (
	comingIn = []string{"ingress", "prerouting", "input"}
	goingOut = []string{"output", "postrouting", "egress"}
)

// blocking looks for rules that a connection with the other node meets: those of the
// chains of incoming and of outgoing packets, and of what they jump to.
// ports are those of the tests.
func blocking(lines []string, n steps.Node, ports []int) []block {
	chains, order := chainsOf(lines)
	var found []block
	for _, name := range order {
		c := chains[name]
		out := slices.Contains(goingOut, c.hook)
		if !out && !slices.Contains(comingIn, c.hook) {
			continue
		}
		// Chains of nft belong to a table ("ip filter INPUT"), and a jump stays within it; iptables' have a
		// name alone.
		w := walk{chains: chains, ports: ports, seen: map[string]bool{}, in: map[string]bool{}, out: out, of: nobody}
		if t, _, ok := strings.Cut(name, " "); ok {
			family, _, _ := strings.Cut(name[len(t)+1:], " ")
			w.table = t + " " + family + " "
		}
		rails := netdevsOf(n)
		if c.device != "" {
			rails = slices.DeleteFunc(rails, func(r string) bool { return r != c.device })
			if len(rails) == 0 {
				continue
			}
		}
		if len(rails) == 0 {
			rails = []string{""} // a rule that names none is about any
		}
		short := name[strings.LastIndexByte(name, ' ')+1:]
		w.chain(short, c, rails, true)
		if left := w.left(rails); c.policy == "drop" && len(left) > 0 {
			w.found = append(w.found, block{text: "policy drop of the chain " + short, of: w.of, rails: left, out: out})
		}
		for _, b := range w.found {
			// ufw has each of its rules for IPv6, too.
			if !slices.ContainsFunc(found, func(x block) bool { return x.text == b.text && x.of == b.of }) {
				found = append(found, b)
			}
		}
	}
	return found
}

// A reading is a list of rules that is being read.
type reading struct {
	chains map[string]*chain
	order  []string
	table  string
	in     *chain
	set    string            // the name of the set that is being read
	sets   map[string]string // what is in them
}

func (r *reading) open(name string) *chain {
	if r.chains[name] == nil {
		r.chains[name] = &chain{}
		r.order = append(r.order, name)
	}
	return r.chains[name]
}

// chainsOf reads what nft list ruleset and iptables -S print, either or both: the chains by
// their names, with nft's table in front, and the names in the order of the text.
func chainsOf(lines []string) (chains map[string]*chain, order []string) {
	r := reading{chains: map[string]*chain{}, sets: map[string]string{}}
	for _, line := range lines {
		r.line(strings.TrimSpace(line))
	}
	for name, c := range r.chains {
		table := name[:strings.LastIndexByte(name, ' ')+1]
		var rules []string
		for _, rule := range c.rules {
			rule = inSet.Regexp().ReplaceAllStringFunc(rule, func(at string) string {
				if all, ok := r.sets[table+at[1:]]; ok {
					return "{ " + all + " }"
				}
				return at
			})
			rules = append(rules, apart(rule)...)
		}
		c.rules = rules
	}
	return r.chains, r.order
}

// line reads one. A set has its elements over several, a chain its rules.
// A brace ends the chain or the set that is open; of a table's nothing depends.
func (r *reading) line(line string) {
	if r.set != "" {
		r.elements(line)
		return
	}
	if r.ofIptables(line) {
		return
	}
	if m := nftTable.Regexp().FindStringSubmatch(line); m != nil {
		r.table, r.in = m[1]+" ", nil
	} else if m := nftSet.Regexp().FindStringSubmatch(line); m != nil && r.in == nil {
		r.set = r.table + m[1]
	} else if m := nftChain.Regexp().FindStringSubmatch(line); m != nil {
		r.in = r.open(r.table + m[1])
	} else if line == "}" {
		r.in = nil
	} else if r.in == nil || line == "" || line[0] == '#' {
		return
	} else if m := nftHook.Regexp().FindStringSubmatch(line); m != nil {
		r.in.hook, r.in.device, r.in.policy = m[1], m[2], m[3]
	} else {
		r.in.rules = append(r.in.rules, strings.TrimSpace(counted.Regexp().ReplaceAllString(line, "")))
	}
}

// elements reads a line of a set: "elements = { 4789, 4791 }", which may go on in the next.
func (r *reading) elements(line string) {
	if line == "}" {
		r.set = ""
		return
	}
	_, listed := r.sets[r.set]
	if text, ok := strings.CutPrefix(line, "elements = {"); ok {
		line, listed = text, true
	}
	if listed {
		// The brace behind the last one ends the list, and not the set.
		line = strings.TrimSpace(strings.TrimSuffix(line, "}"))
		r.sets[r.set] = strings.TrimSpace(r.sets[r.set] + " " + line)
	}
}

// ofIptables reads a line of iptables -S.
func (r *reading) ofIptables(line string) bool {
	if rest, ok := strings.CutPrefix(line, "-P "); ok {
		if name, policy, ok := strings.Cut(rest, " "); ok {
			c := r.open(name)
			c.hook, c.policy = strings.ToLower(name), strings.ToLower(policy)
		}
		return true
	}
	m := iptables.Regexp().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	c := r.open(m[1])
	c.rules = append(c.rules, asNft(m[2], m[3]))
	return true
}

// apart makes of a rule with a map of verdicts one for each of them.
func apart(rule string) []string {
	m := verdicts.Regexp().FindStringSubmatch(rule)
	if m == nil {
		return []string{rule}
	}
	var all []string
	for pair := range strings.SplitSeq(m[2], ",") {
		if key, verdict, ok := strings.Cut(pair, " : "); ok {
			all = append(all, m[1]+strings.TrimSpace(key)+" "+strings.TrimSpace(verdict))
		}
	}
	return all
}

// asNft words a rule of iptables -S as nft does, as far as it is read here. Of another match (a
// source, a mark) it says that there is one: rather a finding too many than a rule that is
// missed, but one that lets in some lets not in all.
func asNft(match, target string) string {
	var b strings.Builder
	fields := strings.Fields(match)
	protocol := "tcp"
	if strings.Contains(match, "-p udp") {
		protocol = "udp"
	}
	for i := 0; i+1 < len(fields); i++ {
		switch fields[i] {
		case "-i", "-o":
			not := ""
			if i > 0 && fields[i-1] == "!" {
				not = "!= "
			}
			fmt.Fprintf(&b, "%sifname %s%q ", fields[i][1:], not, strings.Replace(fields[i+1], "+", "*", 1))
		case "--dport", "--dports": // the latter of multiport, with commas
			if i > 0 && fields[i-1] == "!" {
				continue // all ports but these: nearly any connection is meant
			}
			fmt.Fprintf(&b, "%s dport { %s } ", protocol, strings.ReplaceAll(fields[i+1], ":", "-"))
		case "--state", "--ctstate":
			fmt.Fprintf(&b, "ct state %s ", strings.ToLower(fields[i+1]))
		case "-p":
			b.WriteString("meta l4proto " + fields[i+1] + " ")
		case "-m", "--comment":
		default:
			if strings.HasPrefix(fields[i], "-") {
				b.WriteString("with " + strings.TrimLeft(fields[i], "-") + " ")
			}
		}
	}
	return b.String() + nftTarget(target)
}

// nftTarget words what a rule of iptables does with what it matches.
func nftTarget(target string) string {
	switch target {
	case "ACCEPT", "DROP", "REJECT", "RETURN":
		return strings.ToLower(target)
	case "TARPIT", "STEAL", "DELUDE":
		return "drop by " + target
	case "NFQUEUE":
		return "queue"
	case "LOG", "MARK":
		return ""
	}
	return "jump " + target
}

// A walk goes through a chain as a new connection from a rail does.
// What it is asked is which rails' packets some rule keeps out before another has let all of them in; rules
// that depend on what can't be known here (a mark, a source) let in nothing for sure.
type walk struct {
	chains map[string]*chain
	table  string
	ports  []int           // of the tests
	seen   map[string]bool // chains by name, rails and sureness: those that jump to each other have an end, too
	found  []block
	in     map[string]bool // rails of which a rule lets in all
	out    bool            // it is about what goes out
	of     string          // who makes the rules, as far as it has come
}

// left are those of some rails that no rule lets in yet.
func (w *walk) left(rails []string) []string {
	return slices.DeleteFunc(slices.Clone(rails), func(r string) bool { return w.in[r] })
}

// chain follows the packets of some rails through a chain, up to where they leave it. sure says
// that all of them come here.
func (w *walk) chain(name string, c *chain, rails []string, sure bool) {
	for _, rule := range c.rules {
		rails = w.left(rails)
		over, named := overRails(rule, w.where(), rails)
		switch m := verdictOf.Regexp().FindStringSubmatch(rule); {
		case len(over) == 0 || harmless.Regexp().MatchString(rule) || firewalld.Regexp().MatchString(rule):
		case jumpsTo.Regexp().MatchString(rule):
			rails = w.jump(rule, rails, over, sure)
		case m == nil || w.narrow(rule) || known.Regexp().MatchString(rule):
		case m[1] == "return":
			// What comes in for this node is what a test sends.
			if w.whole(rule) || strings.HasPrefix(rule, "fib daddr type local ") {
				rails = without(rails, over)
			}
		case m[1] == "accept":
			w.accept(rule, over, sure)
		default:
			// A program to which packets are queued may let them in.
			w.found = append(w.found, block{
				text: rule, of: owner(w.table, name), names: named && m[1] != "queue", roce: aboutRoCE(rule), rails: over,
				out: w.out,
			})
		}
	}
}

// jump follows a rule to another chain, and gives the rails whose packets come back from there.
func (w *walk) jump(rule string, rails, over []string, sure bool) []string {
	m := jumpsTo.Regexp().FindStringSubmatch(rule)
	sure = sure && w.whole(rule)
	next, key := w.chains[w.table+m[2]], fmt.Sprint(m[2], over, sure)
	if next != nil && !w.narrow(rule) && !w.seen[key] {
		w.seen[key] = true
		if of := owner(w.table, m[2]); of != nobody {
			w.of = of
		}
		w.chain(m[2], next, over, sure)
	}
	if m[1] == "goto" && w.whole(rule) {
		return without(rails, over)
	}
	return rails
}

// accept notes whose packets a rule lets in, where it is all of them.
func (w *walk) accept(rule string, over []string, sure bool) {
	for _, r := range over {
		w.in[r] = w.in[r] || sure && w.whole(rule)
	}
}

// narrow reports whether a rule is about ports that no test has.
func (w *walk) narrow(rule string) bool {
	return dports.Regexp().MatchString(rule) && !hasPort(rule, w.ports...)
}

// no one is the owner where the rules show none.
const nobody = "the firewall"

// owner is who makes a chain's rules: that is where they are to be changed.
func owner(table, chain string) string {
	switch {
	case strings.HasPrefix(chain, "ufw"):
		return "ufw"
	case strings.Contains(table, " firewalld "):
		return "firewalld"
	case strings.HasPrefix(chain, "DOCKER"):
		return "Docker"
	}
	return nobody
}

func without(rails, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(rails), func(r string) bool { return slices.Contains(gone, r) })
}

// where is how a rule names the interface of a packet that the walk follows.
func (w *walk) where() *lazyregexp.Pattern {
	if w.out {
		return goesOut
	}
	return comesIn
}

// whole reports whether a rule has no condition other than the interface that a packet comes in or goes out over,
// that it may be a connection's first, and what is logged.
func (w *walk) whole(rule string) bool {
	rule = strings.TrimSpace(beside.Regexp().ReplaceAllString(w.where().Regexp().ReplaceAllString(rule, ""), ""))
	first, _, _ := strings.Cut(rule, " ")
	return slices.Contains([]string{"accept", "drop", "reject", "return", "jump", "goto"}, first)
}

// overRails are those of some rails that a rule is about, and whether it names one.
func overRails(rule string, where *lazyregexp.Pattern, rails []string) (over []string, named bool) {
	m := where.Regexp().FindStringSubmatch(rule)
	if m == nil {
		return rails, false
	}
	for _, name := range rails {
		fits := false
		for pattern := range strings.SplitSeq(m[2]+m[3], ",") {
			ok, err := path.Match(strings.Trim(strings.TrimSpace(pattern), `"`), name)
			fits = fits || err == nil && ok
		}
		if fits == (m[1] == "") {
			over = append(over, name)
		}
	}
	return over, m[1] == "" && over != nil
}

// rocePort is where packets of RoCE v2 go to.
const rocePort = 4791

// aboutRoCE reports whether a rule is about UDP to RoCE's port and not about TCP.
func aboutRoCE(rule string) bool {
	return !strings.Contains(rule, "tcp dport") && hasPort(rule, rocePort)
}

// hasPort reports whether one of some ports is among those that a rule names.
func hasPort(rule string, ports ...int) bool {
	m := dports.Regexp().FindStringSubmatch(rule)
	if m == nil {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(m[1], "{} "), ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, ok1 := strictnum.Count(low)
		b, ok2 := strictnum.Count(high)
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
