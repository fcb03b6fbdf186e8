# Locks a node for a railbench: AT is the folder that is locked, TOKEN and WHO say whose lock it is. runner/nodelock.go
# reads what it prints.
#
# The folder is one that every user can open and no user can replace: a file of railbench's own would have an owner and
# permissions, and would stay. The arguments of the process that holds the lock say who that is ($0 what it locks, $1
# its token, $2 in words), and every user can read them. A railbench that finds its own token has reached the node
# under another name. Without flock no lock is taken.
as() { exec sh -c "$1
while :; do sleep 3600; done" "railbench-claimed $AT" "$TOKEN" "$WHO"; }
if ! command -v flock >/dev/null 2>&1 || ! [ -r "$AT" ]; then
	as 'echo claimed'
fi
exec 9<"$AT"
flock -n 9 && as 'echo claimed'
# shellcheck disable=SC2013
for f in $(grep -lszxF "railbench-claimed $AT" /proc/[0-9]*/cmdline); do
	who=$(tr '\0\n' '\n ' <"$f" 2>/dev/null | grep -xF -A 2 "railbench-claimed $AT" | sed -n '2,3p')
	case $who in
	"$TOKEN
"*) as 'echo claimed; flock 9' ;;
	*"
"*) printf 'busy %s\n' "${who#*
}" ;;
	esac
done
echo busy
