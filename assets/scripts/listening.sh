# Says whether something listens on a TCP port, now or within TENTHS of a second; steps/session reads it. HEX is the
# port as the kernel's tables have it: ss need not be installed. What listens comes first there.
listens() { # TABLE
	while read -r _ address _ state _; do
		case $state in
		0A)
			case $address in
			*":$HEX") return 0 ;;
			esac
			;;
		st) ;;
		*) return 1 ;;
		esac
	done <"$1"
	return 1
} 2>/dev/null
i=0 step=1
while [ "$i" -lt "$TENTHS" ]; do
	if listens /proc/net/tcp || listens /proc/net/tcp6; then
		echo yes
		exit 0
	fi
	# Each pause is a process: most servers are ready after the first or the second.
	sleep "0.$step"
	i=$((i + step))
	[ "$step" -ge 4 ] || step=$((step + 1))
done
echo no
