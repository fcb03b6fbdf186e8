package change

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
)

// Back writes the script that puts the links of a change set back to how they were, managed as before. It runs as
// root, may be run twice, and ends with status 0 only where every part of it did.
func Back(before State, set []string) string {
	var w writer
	w.WriteString(scripts.Restore)
	set = slices.Compact(slices.Sorted(slices.Values(set)))
	nm, own := before.started(before.Managers.held(set, networkManager)), before.Managers.watched(set)
	free := before.Managers.free(set)
	if len(nm)+len(own)+len(free) == 0 {
		w.lines(before, set)
		w.WriteString("exit \"$failed\"\n")
		return w.String()
	}
	w.WriteString(scripts.Unmanage)
	w.functions(slices.Concat(nm, free), own, scripts.NMTake+scripts.NMGive,
		scripts.NetworkdTake+scripts.NetworkdGive)
	if len(nm)+len(own) > 0 {
		// Who has taken a link back since would fight what is set here.
		w.WriteString("(\n")
		w.take(nm, own)
		w.WriteString(")\n")
	}
	w.WriteString("put_back() {\n")
	w.lines(before, set)
	w.WriteString("}\nput_back\nleft=0\n")
	if len(free) > 0 {
		// What it had not, it may have taken as a link came up.
		w.or(":", append([]string{"nm_leave"}, free...)...)
	}
	w.give(before, nm, own)
	// A manager sets what it knows of, and removes what was set by hand.
	w.WriteString("given=yes failed=$left\nput_back\nexit \"$failed\"\n")
	return w.String()
}

// lines put the links of a set back, each of its parts where it is another.
// Links come first: a route needs the addresses that it is from, and a fixed neighbour its interface.
func (w *writer) lines(before State, set []string) {
	var links, bonds []Link
	for _, name := range set {
		l, was := before.Links[name]
		switch {
		case was && l.Bond != nil:
			bonds = append(bonds, l)
		case was:
			links = append(links, l)
		default:
			w.call("unmake", name)
		}
	}
	w.links(links, bonds)
	// Who goes through a gateway needs the route to that.
	for _, through := range []bool{false, true} {
		for _, r := range before.Routes {
			// The kernel takes no route over an interface that is down.
			if slices.Contains(set, r.Dev) && before.Links[r.Dev].Up && (r.Via != "") == through {
				w.call(append(r.command(), r.words()...)...)
			}
		}
	}
	w.rules(before, set)
	for _, n := range before.Neighbours {
		if slices.Contains(set, n.Dev) {
			w.call("try", "ip", "neigh", "replace", n.Dst, "lladdr", n.MAC, "dev", n.Dev, "nud", "permanent")
		}
	}
	if !before.Bonding {
		w.WriteString(scripts.UnloadBonding)
	}
}

// Begin is how the script of a change begins that makes links; see scripts.Absent. Both run in the folder of the change
// (see runner/undo), where a file says that it has not begun.
func Begin(before State, set []string) string {
	made := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(set))), func(name string) bool {
		_, was := before.Links[name]
		return was
	})
	if len(made) == 0 {
		return ""
	}
	var w writer
	w.WriteString(scripts.Absent)
	w.call(append([]string{"absent"}, made...)...)
	w.WriteString("rm -f waits\n")
	return w.String()
}

// rules puts back those that are about the links of a set.
func (w *writer) rules(before State, set []string) {
	for _, r := range before.Rules {
		if before.concerns(r, func(link string) bool { return slices.Contains(set, link) }) {
			w.call(r.words()...)
		}
	}
}

// A writer is a script that is being written.
type writer struct{ strings.Builder }

// call is a line of a command and its words, of which none is shell.
func (w *writer) call(words ...string) {
	w.words(words)
	w.WriteByte('\n')
}

// or is one that has something else run where it fails.
func (w *writer) or(otherwise string, words ...string) {
	w.words(words)
	w.WriteString(" || " + otherwise + "\n")
}

func (w *writer) words(words []string) {
	for i, word := range words {
		if i > 0 {
			w.WriteByte(' ')
		}
		if plain(word) {
			w.WriteString(word)
		} else {
			w.WriteString(runner.Quote(word))
		}
	}
}

// links puts links back in the order that the bonding driver asks for: slaves leave what
// they are in, bonds are made, slaves join, and only then a bond has its MAC and MTU, which
// it would take from its first slave. Addresses come last, on links that are up.
func (w *writer) links(links, bonds []Link) {
	for _, l := range links {
		w.call("free_of", l.Name, l.Master)
	}
	for _, l := range bonds {
		policy := l.Bond.Policy
		if !hashes(l.Bond.Mode) {
			policy = ""
		}
		w.call(append([]string{"make_bond", l.Name, l.Bond.Mode, fmt.Sprint(l.Bond.Miimon), policy},
			strings.Fields(l.Bond.More)...)...)
	}
	for _, l := range slices.Concat(links, bonds) {
		if l.Makes != "" {
			w.call("makes_own", l.Name, l.Makes)
		}
		for _, name := range slices.Sorted(maps.Keys(l.Settings)) {
			w.call("setting", l.Name, name, l.Settings[name])
		}
	}
	for _, l := range links {
		own := l.MAC
		if l.SlaveMAC != "" {
			own = "" // it has its bond's, which gives it that again
		}
		w.call("link", l.Name, own, fmt.Sprint(l.MTU))
		if l.Master != "" {
			w.call("join", l.Name, l.Master, l.SlaveMAC)
		}
	}
	for _, l := range bonds {
		w.call("link", l.Name, l.MAC, fmt.Sprint(l.MTU))
	}
	for _, l := range slices.Concat(links, bonds) {
		if l.Up {
			w.call("try", "ip", "link", "set", l.Name, "up")
		}
		l.addresses(w.call)
		if !l.Up {
			w.call("try", "ip", "link", "set", l.Name, "down")
		}
	}
}

// addresses leaves those that were there, in their order: the kernel sends from the first of IPv4, and the
// table of GIDs has them in that order. An address that a router announces comes back automatically. The
// link's own, which the kernel makes as the link comes up, may be left to a manager.
func (l Link) addresses(call func(...string)) {
	for _, family := range []struct {
		name string
		v6   bool
	}{{"4", false}, {"6", true}} {
		keep, lasting := []string{"only", family.name, l.Name}, []string{"in_order6", l.Name}
		var set []Addr
		for _, a := range l.Addrs {
			if a.V6 != family.v6 {
				continue
			}
			keep = append(keep, a.name())
			if !a.FromKernel {
				lasting = append(lasting, a.name())
			}
			if !a.FromKernel || a.ofLink() && l.Up {
				set = append(set, a)
			}
		}
		call(keep...)
		if family.v6 {
			if len(lasting) > 3 { // one address alone has no order
				call(lasting...)
			}
			slices.Reverse(set)
		}
		for _, a := range set {
			call(a.words(l.Name)...)
		}
	}
}

// forever is the lifetime in seconds of what has none.
const forever = math.MaxUint32

// words make the address again as it was: replace, so that one that is there already is not an error.
func (a Addr) words(dev string) []string {
	w := []string{"try", "ip", "addr", "replace", a.CIDR}
	if a.Peer != "" {
		local, prefix, _ := strings.Cut(a.CIDR, "/")
		w = append(w[:4], local, "peer", a.Peer+"/"+prefix)
	}
	if a.Dynamic {
		w[0] = "try_lease" // a manager that has the link again has asked for its own
	}
	add := func(name, value string) {
		if value != "" {
			w = append(w, name, value)
		}
	}
	add("brd", a.Broadcast)
	add("scope", a.Scope)
	if a.Label != dev {
		add("label", a.Label)
	}
	w = append(w, "dev", dev)
	if a.Metric != 0 {
		w = append(w, "metric", fmt.Sprint(a.Metric))
	}
	switch {
	case a.Dynamic:
		w = append(w, "valid_lft", fmt.Sprint(a.Valid), "preferred_lft", fmt.Sprint(a.Preferred))
	case a.Deprecated:
		w = append(w, "preferred_lft", "0")
	case a.Valid == forever && a.Preferred != forever:
		w = append(w, "preferred_lft", fmt.Sprint(a.Preferred))
	}
	if a.NoPrefixRoute {
		w = append(w, "noprefixroute")
	}
	return w
}

// command is what makes a route of its words.
func (r Route) command() []string {
	if r.V6 {
		return []string{"route6", r.Dst, r.Dev, or(r.Table, "main"), r.Via, fmt.Sprint(r.Metric)}
	}
	return []string{"route4", r.Dst, fmt.Sprint(r.Metric), r.Dev, or(r.Table, "main"), r.text()}
}

// text is the route as ip route prints it of its table, but for what ip puts behind it, as that its link is down.
func (r Route) text() string {
	r.Table, r.OnLink = "", false
	return strings.Join(r.words(), " ")
}

// words are the route, in ip's own order; one of IPv6 has no scope.
func (r Route) words() []string {
	w := []string{r.Dst}
	add := func(name, value string) {
		if value != "" {
			w = append(w, name, value)
		}
	}
	add("via", r.Via)
	w = append(w, "dev", r.Dev)
	add("proto", r.Protocol)
	if !r.V6 {
		add("scope", r.Scope)
	}
	add("src", r.Src)
	add("table", r.Table)
	if r.Metric != 0 {
		add("metric", fmt.Sprint(r.Metric))
	}
	if r.OnLink {
		w = append(w, "onlink")
	}
	return w
}

// hashes reports whether a mode takes a hash policy.
func hashes(mode string) bool {
	return mode == "balance-xor" || mode == "802.3ad" || mode == "balance-tlb"
}

// plain reports whether the shell leaves a word as it is.
func plain(w string) bool {
	for _, c := range w {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("-_./:", c) {
			return false
		}
	}
	return w != ""
}
