# shellcheck disable=SC2034,SC2154,SC2086
# What sampler-loop.sh calls and shares its variables with, in a bash of 5.0 or later: no process for a sample.
exec {never}<> <(:)
now() { t=${EPOCHREALTIME/,/.}; }
pause() { read -r -t "$every" -u "$never"; }
values() {
	line=
	set -- $files
	while [ "$#" -ge 4 ]; do
		{ read -r -u 4 a && read -r -u 5 b && read -r -u 6 c && read -r -u 7 d; } 4<"$1" 5<"$2" 6<"$3" 7<"$4" || return
		line="$line $a $b $c $d"
		shift 4
	done
	for f; do
		read -r v <"$f" || return
		line="$line $v"
	done
	if [ "$turn" = 0 ] || [ "$every" = "$IDLE" ]; then
		turn=5 up=
		for f in $states; do
			read -r v <"$f" || return
			up="$up $v"
		done
	fi
	turn=$((turn - 1)) line=$line$up
} 2>/dev/null
