# Starts the supervisor around a script, with what catches a process that leaves its session and clears its
# environment. $1 is this text, $2 the supervisor in Perl, $3 the one in shell, $4 and $5 how long it and a spare wait
# for a heartbeat, in seconds, $6 its name in a list of processes, $7 the run's id.
#
# Perl is there wherever Debian or Ubuntu is, and its supervisor needs no other process. It gives up where this
# kernel can't be asked to make it the parent of every process whose own has died. Then, or without Perl:
#
#  - a control group below the one that it is in, where it may make one (root, and a group that was delegated): no
#    process leaves that without being told to;
#  - a scope of the user's systemd, which has a group that may be divided. It costs two calls of a bus for each script.
#
# Where there is none of them RAILBENCH_CATCHES says so, and so does the cell privileges.
# shellcheck disable=SC2016
if [ -z "$RAILBENCH_PERL" ]; then
	# Scripts start at home, as over SSH: in railbench's working folder a stranger may have left a Python module.
	cd -- "${HOME:-/}" 2>/dev/null || cd /
	export RAILBENCH_PERL=asked
	# By its path: in PATH there may be a shim, which starts a shell or two to find out which Perl is meant.
	[ ! -x /usr/bin/perl ] || LC_ALL=C exec /usr/bin/perl -e "$2" "$@"
	! command -v perl >/dev/null 2>&1 || LC_ALL=C exec perl -e "$2" "$@"
fi
group() {
	at=
	while IFS=: read -r n _ path; do [ "$n" != 0 ] || at=$path; done </proc/self/cgroup
	for m in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		{ [ -w "$m${at%/}" ] && [ -e "$m/cgroup.controllers" ]; } || continue
		RAILBENCH_GROUP=$m${at%/}/railbench-$$ RAILBENCH_CATCHES=group
		# One of this name may be left of a process long gone; it goes where nobody is in it.
		mkdir "$RAILBENCH_GROUP" || { rmdir "$RAILBENCH_GROUP" && mkdir "$RAILBENCH_GROUP"; } || continue
		(echo 0 >"$RAILBENCH_GROUP/cgroup.procs") && return
		rmdir "$RAILBENCH_GROUP"
	done
	RAILBENCH_GROUP='' RAILBENCH_CATCHES=nothing
	return 1
} 2>/dev/null
export RAILBENCH_GROUP RAILBENCH_CATCHES
if ! group && [ -z "$RAILBENCH_SCOPE" ] && command -v systemd-run >/dev/null 2>&1; then
	scope='systemd-run --user --scope --quiet --collect -p Delegate=yes'
	$scope true </dev/null >/dev/null 2>&1 &&
		RAILBENCH_SCOPE=1 exec $scope sh -c 'eval "$1"' railbench-boot "$@"
fi
exec sh -c "$3" "$6" "$7" "$4" "$5"
