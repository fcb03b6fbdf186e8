# shellcheck disable=SC2154
# The dead-man's switch; $1 is the folder, and undo.sh stands before this. It sleeps for a second at a time, because a
# longer sleep stands still while the node is suspended. One that was killed is started again, and goes on where it
# was. A rollback that fails is tried again.
cd "$1" || exit 1
echo $$ >watch.pid
while read -r over 2>/dev/null <armed && uptime && [ "$now" -lt "$over" ]; do
	sleep 1
done
mv armed fired 2>/dev/null || [ -e fired ] || exit 0
[ ! -e back.exit ] || exit 0
if [ -s change.pid ] && [ ! -e change.exit ]; then
	read -r pid <change.pid
	kill -KILL "-$pid" 2>/dev/null
fi
# The user may be away, and a manager of networks that hangs or starts is over it soon.
for pause in 10 30 60 0; do
	sh ./back >back.out 2>&1
	code=$?
	[ "$code" != 0 ] || break
	sleep "$pause"
done
echo "$code" >back.new
mv back.new back.exit
