# The supervisor of one script where there is no Perl that could be it; runner/supervisor.go describes its protocol.
# $1 is the run's id, or - for a spare, $2 and $3 how long it and a spare wait for a heartbeat, in seconds.
#
# What reads stdin reads one byte at a time, or it would swallow what the next one waits for: dd does, and the head of
# busybox takes a whole buffer. Two things follow from
# how shells are: a background job's stdin is /dev/null, so fd 3 carries the beats; and a shell that SIGPIPE ends,
# because nobody reads its word any more, would not clean up. A silence is told from somebody's signal by how timeout
# ends: with 124, or as its alarm ended what it ran. What waits for a beat holds none of the streams to here: whoever
# kills only timeout leaves it behind, and a Slurm would wait for it.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
id=$1 silence=$2 spare=$3 beats=0 free='' s='' got='' group=$RAILBENCH_GROUP nl='
'
made=$group
[ -z "$made" ] || trap 'rmdir "$made" 2>/dev/null' EXIT
unset RAILBENCH_GROUP RAILBENCH_SCOPE RAILBENCH_PERL
if [ "$id" = - ]; then
	while c=$(timeout "$spare" dd bs=1 count=1 2>/dev/null) && [ "$c" = . ]; do :; done
	[ "$c" = b ] || exit 125
	IFS=' ' read -r _ id beats free
else
	while IFS=' ' read -r l i beats free; do [ "$l $i" != "begin $id" ] || break; done
fi
while IFS= read -r l; do
	[ "$l" != "end $id" ] || {
		got=1
		break
	}
	s=$s$l$nl
done
[ "$got" ] || exit 125
trap : PIPE
printf '\036%s begun\n' "$id"
trap - PIPE
exec 3<&0 </dev/null
command -v setsid >/dev/null ||
	setsid() { exec perl -e 'use POSIX; POSIX::setsid(); exec @ARGV' "$@"; }
command -v timeout >/dev/null ||
	timeout() {
		shift 2
		perl -e 'alarm shift; exec @ARGV' "$@"
	}
[ -z "$free" ] || group=
# shellcheck disable=SC2016
LC_ALL=C RAILBENCH_RUN=$id RAILBENCH_TEXT=$s RAILBENCH_GROUP=$group setsid sh -c '
s=$RAILBENCH_TEXT
[ -z "$RAILBENCH_GROUP" ] || echo 0 >"$RAILBENCH_GROUP/cgroup.procs"
unset RAILBENCH_TEXT RAILBENCH_GROUP
eval "$s"' railbench 3<&- &
p=$!
trap '' PIPE
ours() {
	if [ -r /proc/self/stat ]; then
		all=${group:+$(sed 's|.*|/proc/&/stat|' "$group/cgroup.procs")}
		# shellcheck disable=SC2086
		[ -z "$all" ] || grep -lsE "^[0-9]+ \(.*\) [^ZX] " $all
		grep -lsE "^[0-9]+ \(.*\) [^ZX] [0-9]+ ([0-9]+ $p|$p) " /proc/[0-9]*/stat
		grep -lszxF "RAILBENCH_RUN=$id" /proc/[0-9]*/environ
	else
		kill -0 "-$p" && echo "/proc/-$p/"
	fi
} 2>/dev/null
of() {
	parent=0 session=
	# shellcheck disable=SC2086
	IFS= read -r stat <"/proc/$1/stat" && set -- ${stat##*) } && parent=$2 session=$4
} 2>/dev/null
# Besides the supervisor and what started it, which may hold the same pipes.
holders() {
	# shellcheck disable=SC2012
	ls -l /proc/[0-9]*/fd | while IFS= read -r l; do
		case $l in
		/proc/*) f=${l#/proc/} f=${f%%/*} ;;
		l?w*" -> $out" | l?w*" -> $err")
			case $up in *" $f "*) ;; *)
				of "$f"
				[ "$session" = "$own" ] || echo "/proc/$f/"
				;;
			esac
			;;
		esac
	done
} 2>/dev/null
end() {
	told=' '
	for f in $2; do
		f=${f#/proc/}
		f=${f%%/*}
		case $told in *" $f "*) ;; *)
			kill "-$1" "$f"
			told="$told$f "
			;;
		esac
	done
} 2>/dev/null
(
	n=0
	while [ "$n" -lt "$beats" ]; do
		c=$(timeout -s ALRM "$silence" dd bs=1 count=1 <&3 2>/dev/null) || {
			case $? in 124 | 142) printf '\036%s silent\n' "$id" ;; esac
			break
		}
		[ "$c" = . ] || break
		n=$((n + 1))
	done
	[ "$n" -lt "$beats" ] || printf '\036%s limit\n' "$id"
	i=0 step=1 hold=
	[ "$RAILBENCH_CATCHES$free" != nothing ] || {
		of $$
		own=$session up=" $$ "
		while [ "$parent" -gt 1 ]; do
			up="$up$parent "
			of "$parent"
		done
		out=$(readlink "/proc/$$/fd/1") err=$(readlink "/proc/$$/fd/2")
		case $out in pipe:* | socket:*) ;; *) out=none ;; esac
		case $err in pipe:* | socket:*) ;; *) err=none ;; esac
		hold=1 step=4 # a look takes longer
	}
	while left=$(ours); left=${left:-${hold:+$(holders)}}; [ "$left" ] && [ "$i" -lt 60 ]; do
		if [ "$i" -lt 20 ]; then
			[ "$i" != 0 ] || end TERM "$left"
		else
			# All of them at once: who forks faster than this looks would get away.
			[ -z "$group" ] || { echo 1 >"$group/cgroup.kill"; } 2>/dev/null
			end KILL "$left"
		fi
		sleep "0.$step"
		i=$((i + step))
	done
	[ -z "$left" ] || printf '\036%s held%s\n' "$id" "$(
		end 0 "$left"
		for f in $told; do read -r n <"/proc/$f/comm" && printf ' %s (%s)' "$f" "$n"; done
	)"
) 2>/dev/null &
w=$!
wait "$p"
printf '\036%s exit %s\n' "$id" "$?"
wait "$w"
printf '\036%s over\n' "$id"
