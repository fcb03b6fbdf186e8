# Prints rounds, each ended by a line, until it is ended, for steps/health: links and temperatures of the adapters in
# each, the GPUs in each third and the kernel's log in each twelfth, because those take a process. EVERY is the pause
# between two, in seconds; 0 has it look once. Facts, nvidia-smi and the log stand in it as in what a check of the
# hardware prints. sudo is not tried: each refusal would be a line of the node's log.
PATH=$PATH:/usr/sbin:/sbin
adapters() {
	count=0
	for dev in /sys/class/infiniband/*; do
		pci=$dev/device where=
		{ [ -e "$pci/current_link_width" ] && [ -r "$pci/uevent" ]; } || continue
		count=$((count + 1))
		while IFS='=' read -r name value; do
			[ "$name" != PCI_SLOT_NAME ] || where=$value
		done <"$pci/uevent"
		if read -r speed rest <"$pci/current_link_speed" && read -r width <"$pci/current_link_width" &&
			read -r most rest <"$pci/max_link_speed" && read -r lanes <"$pci/max_link_width"; then
			slot=
			if read -r above rest <"$pci/../max_link_speed" && read -r wired <"$pci/../max_link_width"; then
				slot=", slot $above x$wired"
			fi
			echo "${dev##*/}: $where $speed x$width of $most x$lanes$slot"
		fi
		heat=unknown
		for sensor in "$pci"/hwmon/hwmon*/temp1_input; do
			[ -r "$sensor" ] && read -r heat <"$sensor" && heat="$heat hwmon"
		done
		if [ "$heat" = unknown ] && command -v mget_temp >/dev/null; then
			heat=$(mget_temp -d "$where") && heat="$heat mget_temp" || heat=unknown
		fi
		echo "heat ${dev##*/}: $heat"
	done
	echo "adapters: $count"
} 2>/dev/null
reasons=clocks_event_reasons
gpus() {
	command -v nvidia-smi >/dev/null || return
	for _ in 1 2; do
		slowed=$reasons.hw_thermal_slowdown,$reasons.sw_thermal_slowdown,$reasons.hw_power_brake_slowdown
		rows=$(timeout 8 nvidia-smi --format=csv --query-gpu="index,name,temperature.gpu,$slowed") && break
		[ "$reasons" = clocks_event_reasons ] || break
		reasons=clocks_throttle_reasons
	done
	printf '#nvidia-smi\n%s\n' "$rows"
} 2>/dev/null
complaints() {
	echo "kernel log: asked"
	kept=$({ dmesg || journalctl -k -b -q --no-pager; } | grep -F 'on the PCIe slot' | tail -n 64)
} 2>/dev/null
turn=0
while :; do
	kept=
	adapters
	[ $((turn % 12)) -gt 0 ] || complaints
	[ $((turn % 3)) -gt 0 ] || gpus
	[ -z "$kept" ] || printf '#log\n%s\n' "$kept"
	echo '#end'
	[ "$EVERY" != 0 ] || exit 0
	turn=$((turn + 1))
	sleep "$EVERY"
done
