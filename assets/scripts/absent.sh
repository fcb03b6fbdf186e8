# absent ends a change that makes links, before it has begun, where one of their names is taken by now: that link is
# foreign, and neither the change nor the rollback removes it. steps/change writes the call.
absent() { # NAME...
	for name; do
		if [ -e "/sys/class/net/$name" ] || ip link show dev "$name" >/dev/null 2>&1; then
			echo "there is $name by now, and was not before: another user has made it" >&2
			exit 1
		fi
	done
}
