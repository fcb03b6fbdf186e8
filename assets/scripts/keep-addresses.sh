# keep protects what a manager removes; put_again says what is there already.
dir=$(mktemp -d /run/railbench-keep.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
keep() { # NAME...
	for name; do
		! is "$name" || {
			ip addr save dev "$name" >"$dir/$name.addr"
			ip -4 route save table all dev "$name" >"$dir/$name.route4"
			ip -6 route show dev "$name" >"$dir/$name.route6"
		} || return 1
	done
}
put_again() {
	for file in "$dir"/*.addr; do
		ip addr restore <"$file"
	done
	for file in "$dir"/*.route4; do
		ip -4 route restore <"$file"
	done
	for file in "$dir"/*.route6; do
		name=${file##*/}
		while IFS= read -r route; do
			case $route in
			# It is a router's, and set again it would stay for ever.
			*" expires "*) ;;
			*)
				# shellcheck disable=SC2086 # its words
				ip -6 route append $route dev "${name%.route6}"
				;;
			esac
		done <"$file"
	done
} 2>/dev/null
