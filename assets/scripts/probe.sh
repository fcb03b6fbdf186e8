# Look at this node: nothing is changed. steps/probe reads it, and gives TOOLS, the names of commands, VERSIONS, a line
# each of a command and what it is called with to tell its version, and MARK, which begins a section's line. The
# function managers is of managers.sh, which stands before this.
#
# It is plain sh, and one grep over globs reads sysfs: a node with four RDMA devices has some thousand files there.
# What isn't there is not an error: a node may lack RDMA, ip or any tool.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/nixlbench/bin:/usr/local/ucx/bin
PATH=$PATH:/usr/local/nccl-tests/build:$HOME/nccl-tests/build
section() { echo "$MARK$*"; }
named() { # FILE NAME: what uevent(7) has of a device by that name
	value=''
	while IFS='=' read -r key word; do
		[ "$key" != "$2" ] || value=$word
	done <"$1/uevent"
	[ -n "$value" ]
} 2>/dev/null

section node
# In this order, whatever the order that it is asked in.
# shellcheck disable=SC2046
set -- $(uname -nrm)
printf '%s\n' "$1" "$2" "$3"
section supervisor
echo "$RAILBENCH_CATCHES"
section ssh
echo "$SSH_CONNECTION"
section os
while IFS= read -r line; do
	case $line in
	PRETTY_NAME=*) printf '%s\n' "$line" ;;
	esac
done 2>/dev/null </etc/os-release
section addr
ip -j -d addr 2>/dev/null || ip addr 2>/dev/null
section route
ip -j route 2>/dev/null

section files
# A GID table has hundreds of slots, nearly all of them empty, and the attributes of an empty slot cannot be read.
files=$(grep -HvE '^(0000:){7}0000$|^$' \
	/sys/class/infiniband/*/fw_ver /sys/class/infiniband/*/board_id /sys/class/infiniband/*/hca_type \
	/sys/class/infiniband/*/node_guid /sys/class/infiniband/*/parent \
	/sys/class/infiniband/*/device/current_link_speed /sys/class/infiniband/*/device/current_link_width \
	/sys/class/infiniband/*/device/max_link_speed /sys/class/infiniband/*/device/max_link_width \
	/sys/class/infiniband/*/ports/*/state /sys/class/infiniband/*/ports/*/phys_state \
	/sys/class/infiniband/*/ports/*/rate /sys/class/infiniband/*/ports/*/link_layer \
	/sys/class/infiniband/*/ports/*/gids/* \
	/sys/class/net/*/mtu /sys/class/net/*/operstate /sys/class/net/*/carrier /sys/class/net/*/speed \
	/sys/class/net/*/address /sys/class/net/*/phys_port_name /sys/class/net/*/dev_port \
	/sys/class/net/*/bonding/mode 2>/dev/null)
printf '%s\n' "$files"
# The largest payload of a PCIe packet is in the device's configuration space, of which only root may read that part.
for config in /sys/class/infiniband/*/device/config; do
	[ ! -w "$config" ] || echo "$config:$(od -An -v -tx1 -N256 "$config" 2>/dev/null | tr -d ' \n')"
done
words=$IFS IFS='
'
for gid in $files; do
	case $gid in
	*/gids/*) ;;
	*) continue ;;
	esac
	for attribute in types ndevs; do
		file=${gid%%:*}
		file=${file%/gids/*}/gid_attrs/$attribute/${file##*/}
		{ IFS= read -r value <"$file" && echo "$file:$value"; } 2>/dev/null
	done
done
IFS=$words

section places
for dev in /sys/class/infiniband/*; do
	if [ -e "$dev/device" ] && named "$dev/device" PCI_SLOT_NAME; then
		echo "pci $dev $value"
	fi
	for netdev in "$dev"/device/net/*; do
		if [ -e "$netdev" ]; then
			echo "net $dev ${netdev##*/}"
		fi
	done
	for counter in "$dev"/ports/*/counters/port_xmit_data; do
		if [ -e "$counter" ]; then
			echo "octets $counter"
		fi
	done
done
for master in /sys/class/net/*/master; do
	if [ -e "$master" ] && named "$master" INTERFACE; then
		echo "master $master $value"
	fi
done

section managers
managers
section devinfo
ibv_devinfo 2>/dev/null

section tools
for tool in $TOOLS; do
	command -v "$tool"
done
# stderr comes along: some tools tell their version there.
while read -r tool how; do
	section "version $tool"
	if command -v "$tool" >/dev/null; then
		# shellcheck disable=SC2086
		"$tool" $how 2>&1 </dev/null
	fi
done <<END
$VERSIONS
END
# The last line says that nothing was cut off.
section end
