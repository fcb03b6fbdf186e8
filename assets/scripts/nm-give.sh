# shellcheck disable=SC2154
# nm_give has NetworkManager take an interface back, after nm-take.sh. A look is 0.2 s after the one before (wait_for),
# so 5 of them are a second. A manager numbers its own metrics from 100 on; a lower one was set by hand.
nm_leave() { # NAME...: those that it has and had not
	has=$(nm_has) || return 1
	for name; do
		case "
$has" in
		*"
$name:unmanaged:"*) ;;
		*"
$name:"*) nm_take "$name" 2>/dev/null ;;
		esac
	done
}
nm_settled() { # NAME STATE UUID
	now=$(nm_has | while IFS= read -r line; do
		case $line in
		"$1":*) echo "${line#"$1":}" ;;
		esac
	done)
	looks=$((looks + 1))
	case $2:$now in
	connected:"connected:$3" | external:connected*) ;;
	# Nothing starts the profile by itself.
	connected:disconnected:*) [ "$looks" -ge 10 ] ;;
	connected:*) return 1 ;;
	# Before it starts a profile it is there for a moment.
	*:unavailable:* | *:disconnected:*) [ "$looks" -ge 5 ] ;;
	*) [ "$looks" -ge 25 ] ;;
	esac
}
other_metric() { # NAME METRIC
	ip -4 route show dev "$1" proto kernel scope link 2>/dev/null | while read -r route; do
		case "$route " in
		*" metric $2 "*) ;;
		*) echo yes ;;
		esac
	done
}
nm_give() { # NAME STATE UUID METRIC: as it had it
	is "$1" || return 0
	wait_for 40 timeout 10 nmcli device set "$1" managed yes 2>/dev/null ||
		{ echo "NetworkManager does not answer: it can't have $1 back" >&2; return 1; }
	looks=0
	wait_for 30 nm_settled "$@" || :
	case $2:$now in
	connected:"connected:$3") ;;
	connected:*)
		# Its carrier came late, or the profile does not start by itself.
		nmcli --wait 20 connection up uuid "$3" ifname "$1" >/dev/null || return 1
		;;
	disconnected:connect*) nmcli --wait 20 device disconnect "$1" >/dev/null || return 1 ;;
	esac
	# It numbers its routes again where it had forgotten the device.
	if [ "$4" -ge 100 ] && [ "$(other_metric "$1" "$4")" ]; then
		nmcli device modify "$1" ipv4.route-metric "$4" >/dev/null || return 1
	fi
}
