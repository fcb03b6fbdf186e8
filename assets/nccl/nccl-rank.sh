# One process of a collective: $@ is a program of nccl-tests' with its arguments. Rank 0 has its figures written to a
# file, too, where its release knows -J (since 2.17.3): they are exact there, and the table stays on the screen as it
# comes. What the file says ends up below it in lines behind "#railbench -J ", which only the log shows, from its results
# on: before them it has the whole environment of the process, which belongs in no log. Where anything is in the way
# there is the table alone.
case ${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID} in
0) ;;
*) exec "$@" ;;
esac
case $("$1" -h 2>&1 </dev/null) in
*--output_file*) ;;
*) exec "$@" ;;
esac
# railbench takes this folder away, too, where nobody here could.
folder=/tmp/railbench-$RAILBENCH_LAUNCH
if [ -z "$RAILBENCH_LAUNCH" ] || ! mkdir -m 700 "$folder" 2>/dev/null; then
	exec "$@"
fi
trap 'rm -rf "$folder"' EXIT
# A shell hears of a signal once what it waits for has ended: so it waits for a program in the background, and hands on
# what would end it, also where it comes before there is anybody to hand it on to.
program='' ended='' heard=''
trap 'ended=1$ended; [ -z "$program" ] || kill "$program" 2>/dev/null' HUP INT TERM
"$@" -J "$folder/nccl.json" &
program=$!
[ -z "$ended" ] || kill "$program" 2>/dev/null
wait "$program"
status=$?
while [ "$ended" != "$heard" ]; do # it may have been the signal that ended the wait
	heard=$ended
	wait "$program" 2>/dev/null
	again=$?
	[ "$again" = 127 ] || status=$again # 127 is that it has been waited for to its end
done
figures=$(cat "$folder/nccl.json" 2>/dev/null)
rm -rf "$folder" # before anything is printed: nobody may be there to read it
trap - EXIT HUP INT TERM
case $figures in
*'"results":['*'"average_bus_bandwidth":'*)
	figures='{"results":'${figures#*'"results":'}
	while rest=${figures#*'},{'} && [ "$rest" != "$figures" ]; do # a size a line: lines have an end
		printf '#railbench -J %s},\n' "${figures%%'},{'*}"
		figures="{$rest"
	done
	printf '#railbench -J %s\n' "$figures"
	;;
esac
# A launcher tells which signal ended a process.
[ "$status" -le 128 ] || kill -"$((status - 128))" $$
exit "$status"
