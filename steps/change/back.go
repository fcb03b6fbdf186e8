package change

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
)

// restore is what Back's lines call. Each does nothing where its part is as it
// should be already, so the script can be run again, and go on where it failed.
// Some drivers take a MAC only of a link that is down, so that is tried second; and the bonding driver takes
// no link that is up.
const restore = `failed=0 given=
PATH=$PATH:/usr/sbin:/sbin
try() { "$@" || { echo "failed: $*" >&2; failed=1; }; }
try_lease() { [ "$given" ] || try "$@"; }
is() { [ -e "/sys/class/net/$1" ]; }
value() { # FILE
  line=
  # In this order: where the file is missing it is the shell that complains.
  read -r line 2>/dev/null <"$1"
  echo "$line"
}
master_of() {
  if [ -e "/sys/class/net/$1/master" ]; then
    at=$(readlink "/sys/class/net/$1/master")
    echo "${at##*/}"
  fi
}
unmake_bond() { # one that was not there, or was another
  is "$1" || return 0
  for slave in $(value "/sys/class/net/$1/bonding/slaves"); do
    try ip link set "$slave" nomaster
  done
  try ip link del "$1"
}
unmake() { # another link that was not there
  is "$1" || return 0
  try ip link del "$1"
}
make_bond() { # NAME MODE MIIMON POLICY WORD...
  if is "$1"; then
    # A mode that hashes nothing has a policy all the same.
    now=$(value "/sys/class/net/$1/bonding/mode")
    hash=$(value "/sys/class/net/$1/bonding/xmit_hash_policy")
    [ "${now%% *} $(value "/sys/class/net/$1/bonding/miimon") ${4:+${hash%% *}}" != "$2 $3 $4" ] || return 0
    unmake_bond "$1"
  fi
  # Loading the module may make a bond of its own, under the same name.
  modprobe bonding max_bonds=0 2>/dev/null
  ! is "$1" || unmake_bond "$1"
  name=$1 mode=$2 miimon=$3 policy=$4
  shift 4
  try ip link add "$name" type bond mode "$mode" miimon "$miimon" ${policy:+xmit_hash_policy "$policy"} "$@"
}
free_of() { # NAME MASTER: it is in no other
  is "$1" || return 0
  now=$(master_of "$1")
  [ "$now" = "$2" ] || [ -z "$now" ] || try ip link set "$1" nomaster
}
link() { # NAME MAC MTU
  is "$1" || { echo "failed: $1 is gone" >&2; failed=1; return; }
  if [ "$2" ] && [ "$(value "/sys/class/net/$1/address")" != "$2" ]; then
    ip link set "$1" address "$2" 2>/dev/null || {
      try ip link set "$1" down
      try ip link set "$1" address "$2"
    }
  fi
  [ "$(value "/sys/class/net/$1/mtu")" = "$3" ] || try ip link set "$1" mtu "$3"
}
makes_own() { # NAME MODE: how the kernel makes its address of the link
  [ "$(value "/proc/sys/net/ipv6/conf/$1/addr_gen_mode")" = "$2" ] ||
    { is "$1" && echo "$2" 2>/dev/null >"/proc/sys/net/ipv6/conf/$1/addr_gen_mode"; }
}
setting() { # NAME WHICH VALUE: what the kernel knows of its IPv6
  [ "$(value "/proc/sys/net/ipv6/conf/$1/$2")" = "$3" ] ||
    { is "$1" && echo "$3" 2>/dev/null >"/proc/sys/net/ipv6/conf/$1/$2"; }
}
join() { # NAME MASTER MAC: what a bond finds on it is what it gives back
  [ "$(master_of "$1")" != "$2" ] || return 0
  try ip link set "$1" down
  [ -z "$3" ] || [ "$(value "/sys/class/net/$1/address")" = "$3" ] || try ip link set "$1" address "$3"
  try ip link set "$1" master "$2"
}
listed() { # FAMILY NAME: its addresses, of which one with another end is LOCAL=END/PREFIX
  before='' own=''
  for word in $(ip "-$1" -br addr show dev "$2"); do
    case $word in
    peer) own=$before= ;;
    */*)
      echo "$own$word"
      own=
      ;;
    esac
    before=$word
  done
}
unset_addr() { # FAMILY NAME ADDRESS
  case $3 in
  *=*) try ip "-$1" addr del "${3%%=*}" peer "${3#*=}" dev "$2" ;;
  *) try ip "-$1" addr del "$3" dev "$2" ;;
  esac
}
leased() { # FAMILY NAME ADDRESS: a router or a DHCP server gave it
  own=${3%%=*}
  case $(ip "-$1" -o addr show dev "$2" to "${own%/*}") in
  *" dynamic "*) ;;
  *) return 1 ;;
  esac
}
only() { # FAMILY NAME ADDRESS...: no other address of the family
  family=$1 name=$2
  shift 2
  wanted=" $* "
  for has in $(listed "$family" "$name"); do
    case $wanted in
    *" $has "*) ;;
    *)
      # A manager that has the link again may have another lease, and a router may have
      # announced another network meanwhile.
      { [ "$given" ] || [ "$family" = 6 ]; } && leased "$family" "$name" "$has" ||
        unset_addr "$family" "$name" "$has"
      ;;
    esac
  done
  # The kernel adds at the end: what is left has to be the first of the wanted ones.
  [ "$family" = 4 ] || return 0
  left=' '
  for has in $(listed 4 "$name"); do
    left="$left$has "
  done
  case $wanted in
  "$left"*) ;;
  *) try ip -4 addr flush dev "$name" ;;
  esac
}
in_order6() { # NAME ADDRESS...: of IPv6 each new one stands before the others, so what is left has to be the last
  name=$1 left=' '
  shift
  wanted=" $* "
  for has in $(listed 6 "$name"); do
    case $wanted in
    *" $has "*) left="$left$has " ;;
    esac
  done
  case $wanted in
  *"$left") return 0 ;;
  esac
  for has in $left; do
    unset_addr 6 "$name" "$has"
  done
}
`

// rule is for what chooses between tables: a manager takes its own along.
const rule = `rule() { # FAMILY PREF TEXT WORD...
  family=$1 pref=$2 text=$3
  shift 3
  ip "-$family" rule show 2>/dev/null | { while IFS= read -r line; do
    [ "${line%%:*}" = "$pref" ] || continue
    line=${line#*:}
    while :; do
      case $line in
      [[:space:]]*) line=${line#?} ;;
      *[[:space:]]) line=${line%?} ;;
      *) break ;;
      esac
    done
    [ "$line" != "$text" ] || exit 0
  done; exit 1; } || try ip "-$family" rule add "$@"
}
`

// route4 is one more of those functions. To the kernel what goes to one network by one metric is one route, whatever
// its interface, as where both rails have addresses of one subnet: "replace" takes the first of them, and refuses what
// stands behind it.
const route4 = `route4() { # DST METRIC DEV TABLE TEXT WORD...
  metric=$2 dev=$3 text=$5 all=$(ip -4 route show table "$4" exact "$1" 2>/dev/null) first=
  shift 5
  while IFS= read -r line; do
    case "$line " in
    "$text via "* | "$text dev "* | "$text proto "* | "$text scope "* | "$text src "* | "$text metric "*) ;;
    "$text "*) return 0 ;;
    esac
    case "$line metric 0 " in
    *" metric $metric "*) ;;
    *) continue ;;
    esac
    first=${first:-$line}
  done <<END
$all
END
  case $first in
  '' | *" dev $dev "*) try ip -4 route replace "$@" ;;
  *) try ip -4 route append "$@" ;;
  esac
}
`

// route6 is one more of those functions.
const route6 = `route6() { # DST DEV TABLE VIA METRIC WORD...: "replace" would take that of another interface
  case " $(ip -6 route show table "$3" exact "$1" dev "$2" 2>/dev/null) " in
  *" via $4"*" metric $5 "*) return 0 ;;
  *" metric $5 "*) [ "$4" ] || return 0 ;;
  esac
  shift 5
  try ip -6 route append "$@"
}
`

// Back writes the script that puts the links of a change set back to how they
// were, and into the hands that they were in. It runs as root, may be run twice, and ends
// with status 0 only where every part of it did.
func Back(before State, set []string) string {
	var w writer
	w.WriteString(restore + route4 + route6)
	set = slices.Compact(slices.Sorted(slices.Values(set)))
	nm, own := before.started(before.Managers.held(set, networkManager)), before.Managers.watched(set)
	free := before.Managers.free(set)
	if len(nm)+len(own)+len(free) == 0 {
		w.lines(before, set)
		w.WriteString("exit \"$failed\"\n")
		return w.String()
	}
	w.WriteString(handsCommon)
	w.functions(slices.Concat(nm, free), own, nmTake+nmGive, networkdTake+networkdGive)
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
			w.unmake(name)
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
		// Unloading the module removes every bond, and another program may have made one: bonds in another
		// network namespace, such as a container's, are not visible here.
		w.WriteString(`space=
for word in $(ls -l /proc/[0-9]*/ns/net 2>/dev/null); do
  case $word in
  net:*) [ "${space:=$word}" = "$word" ] || space=several ;;
  esac
done
[ "$space" = several ] || [ -n "$(ls /run/netns 2>/dev/null)$(value /sys/class/net/bonding_masters)" ] ||
  modprobe -r bonding 2>/dev/null
`)
	}
}

// Begin is how the script of a change begins that makes links: a link that has one of their names by now is
// foreign, and neither the change nor the rollback removes it. Both run in the folder of the change (see
// runner/undo), where a file says that it has not begun.
func Begin(before State, set []string) string {
	var w writer
	for _, name := range slices.Compact(slices.Sorted(slices.Values(set))) {
		if _, was := before.Links[name]; !was {
			w.WriteString("if [ -e " + runner.Quote("/sys/class/net/"+name) + " ] || ip link show dev " + runner.Quote(name) +
				" >/dev/null 2>&1; then\n")
			w.WriteString("  echo 'there is '" + runner.Quote(name) + "' by now, and was not before: another user has made " +
				"it' >&2\n  exit 1\nfi\n")
		}
	}
	if w.Len() > 0 {
		w.WriteString("rm -f waits\n")
	}
	return w.String()
}

// rules puts back those that are about the links of a set.
func (w *writer) rules(before State, set []string) {
	first := true
	for _, r := range before.Rules {
		if !before.concerns(r, func(link string) bool { return slices.Contains(set, link) }) {
			continue
		}
		if first {
			w.WriteString(rule)
			first = false
		}
		w.call(r.words()...)
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

// unmake removes a link that was not there. Its later name is known only on the node, when the script runs;
// if the change has not begun, the link is foreign (Begin).
func (w *writer) unmake(name string) {
	w.WriteString("if [ -e waits ]; then\n  :\nelif [ -e " + runner.Quote("/sys/class/net/"+name+"/bonding") +
		" ]; then\n  ")
	w.call("unmake_bond", name)
	w.WriteString("else\n  ")
	w.call("unmake", name)
	w.WriteString("fi\n")
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
