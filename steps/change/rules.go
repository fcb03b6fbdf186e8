package change

import (
	"net/netip"
	"slices"
	"strings"
)

// A Rule says in which table the kernel looks a route up.
type Rule struct {
	V6   bool
	Pref string // its place
	Text string // as ip prints it, without its place
}

// readRules reads lines "4 0:\tfrom all lookup local".
func readRules(text string) (all []Rule) {
	for line := range strings.Lines(text) {
		family, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		pref, rule, ok := strings.Cut(rest, ":")
		// The kernel's own tables have theirs at each boot.
		if rule = strings.TrimSpace(rule); !ok || pref == "0" || pref == "32766" || pref == "32767" {
			continue
		}
		all = append(all, Rule{family == "6", pref, rule})
	}
	return all
}

// concerns reports whether a rule is about one of some links: it names it, an address of its, or
// a table that has a route over it.
func (s State) concerns(r Rule, of func(link string) bool) bool {
	words := strings.Fields(r.Text)
	for i := 0; i+1 < len(words); i++ {
		value := words[i+1]
		switch words[i] {
		case "iif", "oif":
			if of(value) {
				return true
			}
		case "from", "to":
			if s.has(value, of) {
				return true
			}
		case "lookup":
			if slices.ContainsFunc(s.Routes, func(r Route) bool { return r.Table == value && of(r.Dev) }) {
				return true
			}
		}
	}
	return false
}

// has reports whether one of some links has an address of a prefix, or of a single address's net.
func (s State) has(prefix string, of func(link string) bool) bool {
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		a, err := netip.ParseAddr(prefix)
		if err != nil {
			return false // all
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	for name, l := range s.Links {
		for _, a := range l.Addrs {
			if own, err := netip.ParsePrefix(a.CIDR); err == nil && of(name) && p.Overlaps(own) {
				return true
			}
		}
	}
	return false
}

// words are what ip makes the rule again of.
func (r Rule) words() []string {
	family := "4"
	if r.V6 {
		family = "6"
	}
	// In brackets ip says what is the case meanwhile.
	words := slices.DeleteFunc(strings.Fields(r.Text), func(w string) bool { return strings.HasPrefix(w, "[") })
	return append([]string{"rule", family, r.Pref, r.Text, "pref", r.Pref}, words...)
}
