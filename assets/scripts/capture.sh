# Prints what steps/change reads of a node's network. It changes nothing and needs no root. The function managers is of
# managers.sh, which stands before this.
dump() { # a table that changes meanwhile is read again
	tries=0
	while [ "$tries" -lt 5 ]; do
		table=$("$@" 2>&1) || { echo "$*: $table" >&2; return 1; }
		case $table in
		*"Dump was interrupted"*) tries=$((tries + 1)) ;;
		*) printf '%s\n' "$table"; return ;;
		esac
	done
	echo "$*: it does not stand still" >&2
	return 1
}
echo "== boot"
cat /proc/sys/kernel/random/boot_id
echo "== links"
dump ip -j -d addr show || exit 1
echo "== routes"
dump ip -4 -j route show table all || exit 1
echo "== routes6"
dump ip -6 -j route show table all || exit 1
echo "== rules"
for family in 4 6; do
	ip -$family rule show 2>/dev/null | while IFS= read -r rule; do
		echo "$family $rule"
	done
done
echo "== neighbours"
dump ip -j neigh show nud permanent || exit 1
echo "== makes"
grep -Hs . /proc/sys/net/ipv6/conf/*/addr_gen_mode /proc/sys/net/ipv6/conf/*/disable_ipv6 \
	/proc/sys/net/ipv6/conf/*/accept_ra /proc/sys/net/ipv6/conf/*/use_tempaddr
echo "== gids"
ib=/sys/class/infiniband
gids=$(grep -Hv 0000:0000:0000:0000:0000:0000:0000:0000 $ib/*/ports/*/gids/* 2>/dev/null)
set --
for gid in $gids; do
	file=${gid%%:*}
	port=${file%/gids/*}
	echo "$gid"
	set -- "$@" "$port/gid_attrs/types/${file##*/}" "$port/gid_attrs/ndevs/${file##*/}"
done
[ $# -eq 0 ] || grep -Hs . "$@"
echo "== managers"
managers
echo "== modules"
[ ! -d /sys/module/bonding ] || echo bonding
echo "== end"
