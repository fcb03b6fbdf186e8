# Unloads the bonding driver at the end of a rollback, after restore.sh. That removes every bond, and another program
# may have made one: bonds in another network namespace, such as a container's, are not visible here.
space=
# shellcheck disable=SC2045
for word in $(ls -l /proc/[0-9]*/ns/net 2>/dev/null); do
	case $word in
	net:*) [ "${space:=$word}" = "$word" ] || space=several ;;
	esac
done
[ "$space" = several ] || [ -n "$(ls /run/netns 2>/dev/null)$(value /sys/class/net/bonding_masters)" ] ||
	modprobe -r bonding 2>/dev/null
