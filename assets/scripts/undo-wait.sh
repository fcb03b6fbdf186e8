# Says how the script WHAT of the folder DIR ended, or that it still runs. A look ends after five seconds, by the clock:
# on a busy node a process that sleeps for a tenth of one takes several.
read -r up _ </proc/uptime
end=$((${up%%.*} + 5))
while [ ! -e "$DIR/$WHAT.exit" ] && [ "${up%%.*}" -lt "$end" ]; do
	if [ "$WHAT" = change ] && [ ! -e "$DIR/armed" ]; then
		exit 4
	fi
	sleep 0.1
	read -r up _ </proc/uptime
done
if [ -e "$DIR/$WHAT.exit" ]; then
	read -r code <"$DIR/$WHAT.exit"
	echo "exit $code"
	# What is longer than an answer may be would be none, and the change or the rollback without an end.
	head -c 1000000 "$DIR/$WHAT.out"
else
	echo running
fi
