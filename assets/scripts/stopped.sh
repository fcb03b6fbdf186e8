# Prints the process number and the name of each process that a signal or a debugger has stopped; steps/session reads
# it. Only railbench's processes count, which have the variable that the supervisor sets, and of those the ones that
# began within the last SECONDS_AGO: an older one belongs to another run. The kernel counts the start of a process in
# hundredths of a second.
read -r up _ </proc/uptime
began=$(((${up%%.*} - SECONDS_AGO) * 100))
grep -lsE '^[0-9]+ \(.*\) [Tt] ' /proc/[0-9]*/stat | while read -r f; do
	p=${f#/proc/} p=${p%/stat}
	grep -qsz '^RAILBENCH_RUN=' "/proc/$p/environ" || continue
	read -r stat <"$f" || continue
	# shellcheck disable=SC2086
	set -- ${stat##*) }
	[ "${20}" -ge "$began" ] || continue
	read -r name <"/proc/$p/comm" && echo "$p $name"
done 2>/dev/null
exit 0
