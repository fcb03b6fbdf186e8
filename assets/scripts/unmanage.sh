# What the functions call that make interfaces unmanaged, and managed again; they stand after this, and steps/change
# writes the calls. What is written is under /run and bears railbench's name: a reboot forgets it.
is() { [ -e "/sys/class/net/$1" ]; }
wait_for() { # SECONDS TEST...: by the clock, because a look may take long on a busy node
	read -r up _ </proc/uptime
	end=$((${up%%.*} + $1))
	shift
	while ! "$@"; do
		read -r up _ </proc/uptime
		[ "${up%%.*}" -lt "$end" ] || return 1
		sleep 0.2
	done
}
