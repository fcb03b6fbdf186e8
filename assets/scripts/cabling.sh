# Prints what a node learns about the other nodes on its rails, for steps/cabling: a node learns which interface has an
# address when it sends to that address. WAYS has NETDEV=ADDRESS for each of them. It needs ip and ping, and sends one
# packet to each address. An interface without an address (UNNUMBERED) asks all nodes that hear it: every RoCE port has
# a GID of its link-local address. If something on the node listens to LLDP, it asks that for the names that it heard;
# lldpd answers root only.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for way in $WAYS; do
	ping -c 1 -w 1 -W 1 -I "${way%%=*}" "${way#*=}" >/dev/null 2>&1 &
done
for netdev in $UNNUMBERED; do
	ping -6 -c 2 -i 0.3 -w 2 -I "$netdev" ff02::1 >/dev/null 2>&1 &
done
wait
for netdev in $UNNUMBERED; do
	ip -6 neigh show dev "$netdev" 2>/dev/null | while read -r address word mac _; do
		[ "$word" != lladdr ] || echo "$netdev neighbour $address: $mac"
	done
done
ip -4 neigh show 2>/dev/null | while read -r address _ netdev word mac _; do
	[ "$word" != lladdr ] || echo "$netdev neighbour $address: $mac"
done
{
	timeout 5 lldpctl -f keyvalue
	timeout 5 networkctl --no-pager --no-legend -l lldp
} 2>/dev/null | while IFS= read -r line; do
	echo "lldp: $line"
done
exit 0
