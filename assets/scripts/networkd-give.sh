# networkd_give has networkd take interfaces back, after networkd-take.sh.
networkd_settled() { # NAME: its own addresses are there; it may wait for a router's still
	case $(networkd_state "$1") in
	configured | failed) return 0 ;;
	configuring) looks=$((looks + 1)) ;;
	*) looks=0 ;;
	esac
	[ "$looks" -ge 5 ]
}
networkd_give() { # NAME...
	for name; do
		rm -f "/run/systemd/network/00-railbench-$name.network"
	done
	wait_for 40 timeout 10 networkctl reload || { echo "networkd does not answer" >&2; return 1; }
	for name; do
		is "$name" || continue
		looks=0
		wait_for 30 networkd_settled "$name" ||
			{ echo "networkd does not take $name back: $(networkd_state "$name")" >&2; return 1; }
	done
}
