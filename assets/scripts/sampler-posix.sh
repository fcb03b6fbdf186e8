# shellcheck disable=SC2034,SC2154,SC2086,SC2046
# What sampler-loop.sh calls and shares its variables with, in any shell.
now() {
	t=$(date +%s.%N)
	case $t in *N) read -r t _ </proc/uptime ;; esac
}
pause() { sleep "$every"; }
values() {
	set -- $(cat $files $states 2>/dev/null)
	[ "$#" = "$many" ] || return
	line=" $*"
}
