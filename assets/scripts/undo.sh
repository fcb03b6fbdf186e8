# shellcheck disable=SC2153
# The functions of the scripts undo-*.sh, by which runner/undo makes a change on a node that is rolled back unless it
# is confirmed. They read DIR, the folder of the change, with these files:
#
#	armed, confirmed, fired, undoing   its state: one file, renamed, because only one of several can rename it; it says
#	                                   when the switch fires
#	waits                              the change has not begun: it removes that itself, see change.Begin
#	change, back                       the scripts
#	NAME.pid NAME.out NAME.exit        of those that ran apart
#	watch, go                          undo-watch.sh, after this, and undo-go.sh
#
# UNIT is the name of the switch's unit.

# detach starts a script in a session of its own, without the mark by which the supervisor finds what a script left
# behind: it has to outlive the connection. Where systemd runs only a unit of it will do: it outlives even a login
# session whose processes are killed at its end, and is spared by the kernel when memory is short. $again says when it
# shall be started again. Without systemd it waits until the script is there.
detach() { # UNIT PID-FILE SCRIPT ARG...
	unit=$1 pid=$2
	shift 2
	rm -f "$pid"
	if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null; then
		systemd-run --quiet --collect --unit="$unit" --property=OOMScoreAdjust=-1000 \
			--property=Restart="${again:-no}" --property=StartLimitIntervalSec=0 /bin/sh "$@"
		return
	fi
	env -i PATH="$PATH" LC_ALL=C setsid sh "$@" </dev/null >/dev/null 2>&1 &
	i=0
	while [ ! -s "$pid" ] && [ "$i" -lt 50 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	[ -s "$pid" ] || { echo "could not start a process of its own" >&2; return 1; }
}

# uptime gives $now in hundredths of a second. It is CLOCK_BOOTTIME: it goes on while the node is suspended, and
# setting the clock doesn't move it. A timer of systemd stands still with the one or jumps with the other.
uptime() { read -r now _ </proc/uptime && now=${now%.*}${now#*.}; }

# owned looks at a folder and all above it. What is in it runs as root: no one but root may be able to put something
# there, or something else in its place.
owned() {
	at=$1
	while :; do
		who=$(stat -c %u:%A "$at") || exit 1
		case $who in
		0:d????-??-?) ;;
		*)
			echo "$at ($who) is not root's alone: another user could put there what would then run as root." \
				"chown root $at and chmod go-w $at, if that is how it should be" >&2
			exit 1 ;;
		esac
		[ "$at" != / ] || return 0
		at=${at%/*} at=${at:-/}
	done
}

# unwatch ends the switch's process by its group, and only where it still is what it was: a number can be another
# user's by now.
unwatch() {
	if [ -d /run/systemd/system ] && command -v systemctl >/dev/null; then
		systemctl stop "$UNIT.service" 2>/dev/null
	fi
	if [ -s "$DIR/watch.pid" ]; then
		read -r pid <"$DIR/watch.pid"
		if grep -qsF "$DIR/watch" "/proc/$pid/cmdline"; then
			kill -TERM "-$pid" 2>/dev/null
		fi
	fi
}
