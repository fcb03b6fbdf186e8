# shellcheck disable=SC2034
# What the lines of a rollback call; steps/change writes them. Each function does nothing where its part is as it should
# be already, so the script can be run again, and go on where it failed. Some drivers take a MAC only of a link that is
# down, so that is tried second; and the bonding driver takes no link that is up.
failed=0 given=
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
unmake() { # a link that was not there; if the change has not begun, one of its name is foreign
	if [ -e waits ] || ! is "$1"; then
		return
	elif [ -e "/sys/class/net/$1/bonding" ]; then
		unmake_bond "$1"
	else
		try ip link del "$1"
	fi
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
			{ { [ "$given" ] || [ "$family" = 6 ]; } && leased "$family" "$name" "$has"; } ||
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
rule() { # FAMILY PREF TEXT WORD...: for what chooses between tables, as a manager takes its own along
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
# To the kernel what goes to one network by one metric is one route, whatever its interface, as where both rails have
# addresses of one subnet: "replace" takes the first of them, and refuses what stands behind it.
route4() { # DST METRIC DEV TABLE TEXT WORD...
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
route6() { # DST DEV TABLE VIA METRIC WORD...: "replace" would take that of another interface
	case " $(ip -6 route show table "$3" exact "$1" dev "$2" 2>/dev/null) " in
	*" via $4"*" metric $5 "*) return 0 ;;
	*" metric $5 "*) [ "$4" ] || return 0 ;;
	esac
	shift 5
	try ip -6 route append "$@"
}
