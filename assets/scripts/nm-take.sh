# nm_take has NetworkManager let interfaces go. It does so with all that it has on them, and remembers that across a
# restart or a crash of its own (/run/NetworkManager/devices). A file in its conf.d would make it switch the link off
# first.
#
# A daemon that is busy answers late, and the bus has its programs wait for half a minute: each is given up sooner, and
# asked again.
nm_has() { LC_ALL=C timeout 10 nmcli -t -f DEVICE,STATE,CON-UUID device 2>/dev/null; }
nm_let_go() { # NAME...
	has=$(nm_has) || return 1
	for name; do
		case "
$has" in
		*"
$name:unmanaged:"*) ;;
		*) ! is "$name" || return 1 ;;
		esac
	done
}
nm_take() { # NAME...
	! nm_let_go "$@" || return 0
	for name; do
		# It may be starting again just now.
		! is "$name" || wait_for 40 timeout 10 nmcli device set "$name" managed no 2>/dev/null ||
			{ echo "NetworkManager does not answer" >&2; return 1; }
	done
	wait_for 20 nm_let_go "$@" || { echo "NetworkManager does not let go: $has" >&2; return 1; }
}
