# Rolls a change back now, after undo.sh; BACK is the rollback, for a node that lost the folder without a reboot.
#
# A rollback timer that has fired runs to its end, and so does a rollback that already runs, however long they take:
# the caller waits for their end. This may be a second attempt, because the connection was cut.
umask 077
[ -d "$DIR" ] || { mkdir -p "$ROOT" && owned "$ROOT" && mkdir "$DIR"; } || exit 1
owned "$DIR"
printf '%s\n' "$GO" >"$DIR/go" || exit 1
[ -s "$DIR/back" ] || printf '%s\n' "$BACK" >"$DIR/back" || exit 1
for state in armed confirmed; do
	mv "$DIR/$state" "$DIR/undoing" 2>/dev/null
done
if [ -e "$DIR/fired" ]; then
	if [ -e "$DIR/back.exit" ]; then
		read -r code <"$DIR/back.exit"
		[ "$code" != 0 ] || exit 0
	elif [ -s "$DIR/watch.pid" ]; then
		read -r pid <"$DIR/watch.pid"
		if grep -qsF "$DIR/watch" "/proc/$pid/cmdline"; then
			exit 0
		fi
	fi
fi
if [ -s "$DIR/back.pid" ] && [ ! -e "$DIR/back.exit" ]; then
	read -r pid <"$DIR/back.pid"
	if grep -qsF "$DIR/go" "/proc/$pid/cmdline"; then
		exit 0
	fi
fi
unwatch
if [ -s "$DIR/change.pid" ] && [ ! -e "$DIR/change.exit" ]; then
	read -r pid <"$DIR/change.pid"
	if grep -qsF "$DIR/go" "/proc/$pid/cmdline"; then
		kill -KILL "-$pid" 2>/dev/null
	fi
fi
rm -f "$DIR/back.exit"
detach "$UNIT-back-$$" "$DIR/back.pid" "$DIR/go" "$DIR" back
