# Starts CHANGE, after undo.sh. It ends with 4 where the switch has fired: a change that began now would have no
# rollback.
[ -e "$DIR/armed" ] || exit 4
owned "$DIR"
printf '%s\n' "$CHANGE" >"$DIR/change" || exit 1
detach "$UNIT-change" "$DIR/change.pid" "$DIR/go" "$DIR" change
