# Removes what the node keeps of a change, after undo.sh.
[ ! -e "$ROOT" ] || owned "$ROOT"
unwatch
rm -rf "$DIR"
rmdir "$ROOT" 2>/dev/null
exit 0
