# managers prints what steps/change reads of them: which daemons configure interfaces, and what each says of every
# interface. It asks only those that run, and needs no root.
#
# A daemon is found by its unit and by its process: it may be a snap's, with a unit of another name, or nobody's at
# all, as a DHCP client that somebody has started. Those of containers configure theirs.
contained() { # FOLDER IN PROC
	while IFS= read -r group; do
		case $group in
		*docker* | *libpod* | *lxc* | *kubepods* | *machine.slice* | *containerd*) return 0 ;;
		esac
	done <"$1/cgroup"
	return 1
} 2>/dev/null
elsewhere() { # FOLDER IN PROC: it is a container's, or in another namespace of networks
	if contained "$1" && ! contained /proc/self; then
		return 0
	fi
	net=$(readlink "$1/ns/net" 2>/dev/null) && [ "$net" != "$(readlink /proc/self/ns/net)" ]
}
client() { # NAME FOLDER IN PROC: a DHCP client, and the interfaces that it is for
	links='' parent='' by=''
	while IFS=':	 ' read -r key value _; do
		case $key in
		PPid) parent=$value ;;
		esac
	done <"$2/status"
	{ read -r by <"/proc/$parent/comm"; } 2>/dev/null
	case $by in
	NetworkManager | connmand | wickedd*) return ;; # it ends with what started it
	esac
	for word in $(tr '\0' ' ' <"$2/cmdline"); do
		case $word in
		*[!A-Za-z0-9_.:-]*) ;;
		*) [ ! -e "/sys/class/net/$word" ] || links="$links $word" ;;
		esac
	done
	echo "-- clients"
	echo "$1$links"
	echo "-- daemons"
}
asked_nm() {
	echo "-- NetworkManager"
	# One that hangs would have a node's look wait for the bus's own limit, each time.
	LC_ALL=C timeout 10 nmcli -t -f RUNNING,VERSION general 2>&1
	code=$?
	[ "$code" != 124 ] || echo "no answer within 10 s"
	echo "-- devices"
	# The first answer came in time.
	[ "$code" != 0 ] || LC_ALL=C nmcli -t -f DEVICE,STATE,CON-UUID,CONNECTION device 2>/dev/null
	echo "-- shared"
	for pid in /run/nm-dnsmasq-*.pid; do
		[ ! -e "$pid" ] || echo "$pid"
	done
}
asked_networkd() {
	echo "-- networkd"
	version=$(LC_ALL=C networkctl --version 2>&1)
	echo "${version%%
*}"
	echo "-- links"
	LC_ALL=C timeout 10 networkctl --no-pager --no-legend -l list 2>/dev/null
	for file in /run/systemd/netif/links/*; do
		[ -r "$file" ] || continue
		while IFS= read -r line; do
			case $line in
			NETWORK_FILE=*) echo "$file:$line" ;;
			esac
		done <"$file"
	done
	for file in /run/systemd/network/10-netplan-*.network; do
		[ ! -e "$file" ] || echo "$file"
	done
}
managers() {
	echo "-- daemons"
	daemons=''
	if [ -d /run/systemd/system ]; then
		daemons=$(systemctl list-units --plain --no-legend --no-pager --state=active NetworkManager.service \
			systemd-networkd.service connman.service wicked.service wickedd.service 'dhcpcd*.service' 2>/dev/null)
	fi
	# The first word of each line is a unit's name.
	seen='' nl='
'
	while [ "$daemons" ]; do
		daemon=${daemons%%"$nl"*}
		case $daemons in
		*"$nl"*) daemons=${daemons#*"$nl"} ;;
		*) daemons='' ;;
		esac
		daemon=${daemon#"${daemon%%[! ]*}"}
		daemon=${daemon%% *}
		[ -z "$daemon" ] || manager "$daemon" ''
	done
	# Of a process's name the kernel keeps fifteen characters.
	for at in /proc/[0-9]*; do
		{ read -r daemon <"$at/comm"; } 2>/dev/null || continue
		case $daemon in
		NetworkManager | systemd-network | connmand | wickedd | netifd | dhcpcd | dhclient | udhcpc | dhcp6c)
			manager "$daemon" "$at"
			;;
		esac
	done
	echo "-- ifupdown"
	if command -v ifup >/dev/null || [ -x /usr/sbin/ifup ] || [ -x /sbin/ifup ]; then
		for file in /etc/network/interfaces /etc/network/interfaces.d/*; do
			[ -r "$file" ] || continue
			while IFS= read -r line || [ -n "$line" ]; do
				case ${line#"${line%%[![:space:]]*}"} in
				'iface '*) printf '%s\n' "$line" ;;
				esac
			done <"$file"
		done
	fi
}
manager() { # NAME FOLDER IN PROC: by its unit and by its process it is one
	case $1 in
	NetworkManager*) daemon=NetworkManager ;;
	systemd-network*) daemon=systemd-networkd ;;
	*) daemon=$1 ;;
	esac
	case " $seen " in
	*" $daemon "*) return ;;
	esac
	if [ -n "$2" ] && elsewhere "$2"; then
		return
	fi
	case $daemon in
	dhclient | udhcpc | dhcp6c)
		client "$daemon" "$2"
		return
		;;
	esac
	seen="$seen $daemon"
	echo "$daemon"
	case $daemon in
	NetworkManager) asked_nm ;;
	systemd-networkd) asked_networkd ;;
	esac
	echo "-- daemons"
}
