# shellcheck disable=SC2034,SC2154
# The sampler of a shell, with the functions now, pause and values of sampler.bash or sampler-posix.sh, which stand
# before this.
#
# It prints which of the files there are, "H" and a 1 or 0 for each: of every rail port_xmit_data, port_rcv_data,
# tx_bytes, rx_bytes and the port's state. Then a line a sample: "S", the node's clock in seconds before and after they
# were read, what the files hold, and after those of all rails the ports' states. With every fifth, "C", the clock and
# the first line of /proc/stat. A bash reads a file by some ten system calls, of four at once by some less each; it
# reads the states with every fifth sample, and with each while it rests.
files() {
	files='' states='' have='' turn=0 gone=0 many=0
	for r in $RAILS; do
		n=${r##*:} d=${r%:*}
		p=/sys/class/infiniband/${d%:*}/ports/${d##*:}
		s=/sys/class/net/$n/statistics
		for f in $p/counters/port_xmit_data $p/counters/port_rcv_data $s/tx_bytes $s/rx_bytes; do
			if [ -r "$f" ]; then files="$files $f" have="$have 1" many=$((many + 1)); else have="$have 0"; fi
		done
		if [ -r "$p/state" ]; then states="$states $p/state" have="$have 1" many=$((many + 2)); else have="$have 0"; fi
	done
	if [ "$have" != "$told" ]; then
		told=$have
		echo "H$have"
	fi
}
host() {
	ask=5
	read -r _ busy </proc/stat && echo "C $t $busy"
} 2>/dev/null
told=
files
ask=0 last='' same=0 every=$INTERVAL
while :; do
	case $have in
	*0*)
		gone=$((gone + 1))
		[ "$gone" -lt 10 ] || files ;;
	esac
	now
	from=$t
	values || { files; values; } || { pause; continue; }
	now
	echo "S $from:$t$line"
	[ "$ask" -gt 0 ] || host
	ask=$((ask - 1))
	if [ "$line" != "$last" ]; then
		last=$line same=0 every=$INTERVAL
	elif [ "$same" -lt 20 ]; then
		same=$((same + 1))
	else
		every=$IDLE
	fi
	pause
done
