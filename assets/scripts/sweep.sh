# Ends every process that has ENTRY, a run's mark, in its environment, for steps/launch. A process is asked for it again
# just before it is ended: its number may be another's by then. Nothing is found by its name, and this script has the
# mark in no environment. The folder that is called after the run, MARK, goes with them.
marked() { grep -qszxF "$ENTRY" "/proc/$1/environ"; }
ours() { grep -lszxF "$ENTRY" /proc/[0-9]*/environ; }
end() { # SIGNAL
	for file in $(ours); do
		pid=${file#/proc/}
		pid=${pid%/environ}
		case $pid in '' | *[!0-9]*) continue ;; esac
		! marked "$pid" || kill "-$1" "$pid"
	done
} 2>/dev/null
found=$(ours | wc -l)
i=0
while [ "$i" -lt 40 ] && [ -n "$(ours)" ]; do
	case $i in 0) end TERM ;; 2?) end KILL ;; esac
	sleep 0.1
	i=$((i + 1))
done
rm -rf "/tmp/railbench-$MARK" 2>/dev/null
echo "found $found"
echo "left $(ours | wc -l)"
