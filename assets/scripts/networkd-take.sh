# networkd_take has networkd let interfaces go. It has no word for that: a file of ours that comes before its own does
# it, and networkd takes its addresses along, which are set again.
networkd_state() {
	LC_ALL=C timeout 10 networkctl --no-pager --no-legend -l list "$1" 2>/dev/null |
		while read -r _ _ _ _ setup; do echo "$setup"; done
}
networkd_let_go() { [ "$(networkd_state "$1")" = unmanaged ]; }
networkd_take() { # NAME...
	mkdir -p /run/systemd/network || return 1
	for name; do
		file=/run/systemd/network/00-railbench-$name.network
		# networkd does not run as root, and has to read it.
		(umask 022 && printf '%s\n' "# railbench: a change of $name is under way, or was kept" \
			'[Match]' "Name=$name" '[Link]' Unmanaged=yes >"$file.new") && mv "$file.new" "$file" || return 1
	done
	# It may be starting again just now.
	wait_for 40 timeout 10 networkctl reload || { echo "networkd does not answer" >&2; return 1; }
	for name; do
		is "$name" || continue
		wait_for 20 networkd_let_go "$name" ||
			{ echo "networkd does not let $name go: $(networkd_state "$name")" >&2; return 1; }
	done
}
