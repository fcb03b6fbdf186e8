# Prints every counter of every rail once, with the node's clock before it: what a cell's byte account starts and ends
# with. steps/meter reads it, and gives DETAILS: an interface, or * for all, of which what only ethtool has comes, too.
#
# One grep for all files: each process of its own would take a millisecond, and the counters would be of different
# moments. The carrier's counters tell of a link that was lost in between, an interface's errors of frames that were
# lost or damaged, and the sensor of the adapter's heat. All of them begin anew with the machine, which its boot id
# tells.
t=$(date +%s.%N)
case $t in *N) read -r t _ </proc/uptime ;; esac
echo "$t"
grep -Hs . /sys/class/infiniband/*/ports/*/counters/* /sys/class/infiniband/*/ports/*/hw_counters/* \
	/sys/class/infiniband/*/device/hwmon/hwmon*/temp1_input /sys/class/infiniband/*/device/hwmon/hwmon*/temp1_highest \
	/sys/class/net/*/statistics/?x_bytes /sys/class/net/*/statistics/?x_errors /sys/class/net/*/statistics/rx_crc_errors \
	/sys/class/net/*/carrier_changes /sys/class/net/*/carrier_down_count /proc/sys/kernel/random/boot_id
[ -n "$DETAILS" ] || exit 0
# Pauses and drops are ethtool's alone; they come last, as each interface takes it some milliseconds. It prints a
# thousand counters, and those that may tell of a trouble go on.
IFS='
'
set -- /sys/class/infiniband/*/device/net/*
set -f
for netdev; do
	[ -e "$netdev" ] || continue
	netdev=${netdev##*/}
	[ "$DETAILS" = '*' ] || [ "$DETAILS" = "$netdev" ] || continue
	echo "interface $netdev"
	for line in $(ethtool -S "$netdev" 2>/dev/null); do
		case $line in
		*pause* | *pfc* | *ppp* | *xoff* | *discard* | *drop* | *crc* | *fcs* | *buff* | *truncates* | *link_down_events_phy*)
			printf '%s\n' "$line"
			;;
		esac
	done
done
exit 0
