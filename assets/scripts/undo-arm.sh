# shellcheck disable=SC2034,SC2154
# Starts the switch of a change that fires after AFTER seconds: ROOT is the folder of all changes, BACK the rollback,
# WATCH and GO the two scripts of undo.sh, which stands before this.
#
# It makes room for one change at a time: it ends with 3 where another one waits to be confirmed. A switch that should
# have fired a minute ago (6000 hundredths of a second) will not any more. What the switch needs is written before it
# starts, and the folder goes where anything fails: then nothing has been changed.
umask 077
mkdir -p "$ROOT" || exit 1
(owned "$ROOT") || {
	rmdir "$ROOT" 2>/dev/null
	exit 1
}
uptime || { echo "cannot read /proc/uptime" >&2; exit 1; }
for other in "$ROOT"/*/armed; do
	[ -e "$other" ] || continue
	over=$now
	read -r over <"$other"
	if [ "$now" -gt $((over + 6000)) ]; then
		echo "the switch in ${other%/armed} should have fired and did not: railbench undo puts the node back" >&2
		exit 1
	fi
	echo "${other%/armed}" >&2
	exit 3
done
mkdir "$DIR" || exit 1
if printf '%s\n' "$BACK" >"$DIR/back" && printf '%s\n' "$WATCH" >"$DIR/watch" &&
	printf '%s\n' "$GO" >"$DIR/go" && echo $((now + AFTER * 100)) >"$DIR/armed" &&
	: >"$DIR/waits" && again=on-failure && detach "$UNIT" "$DIR/watch.pid" "$DIR/watch" "$DIR"; then
	exit 0
fi
rm -rf "$DIR"
exit 1
