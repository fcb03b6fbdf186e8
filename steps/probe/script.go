package probe

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
)

// Script prints what Parse reads: everything that is needed to know a node, and which of
// some commands it has. It is plain sh, and one grep over globs reads sysfs: a node with
// four RDMA devices has some thousand files there, and a process for each would take
// seconds.
//
// What isn't there is not an error: a node may lack RDMA, ip or any tool. The
// last line says that nothing was cut off.
func Script(commands []steps.Command) string {
	var names strings.Builder
	for _, c := range commands {
		// A command's name is one of a family's kind.go, and no user's: it needs no quoting.
		if c.Probed {
			names.WriteString(" " + c.Name)
		}
	}
	return before + names.String() + after + versions(commands) + end
}

// versions has the commands that know how to tell their version do so.
// stderr comes along: some tools tell their version there.
func versions(commands []steps.Command) string {
	var b strings.Builder
	for _, c := range commands {
		if c.Version != "" {
			fmt.Fprintf(&b, "section version %s\nif command -v %[1]s >/dev/null; then\n\t%[1]s %s 2>&1\nfi\n", c.Name, c.Version)
		}
	}
	return b.String()
}

// "ip -j -d addr" falls back to plain ip, which busybox has; the parser tells the two apart.
const before = `# Look at this node: nothing is changed.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/nixlbench/bin:/usr/local/ucx/bin:/usr/local/nccl-tests/build:$HOME/nccl-tests/build
section() { echo "` + steps.ForRailbench + `$*"; }

section node
uname -n
uname -r
uname -m
section leash
echo "$RAILBENCH_CATCHES"
section ssh
echo "$SSH_CONNECTION"
section os
grep -h '^PRETTY_NAME=' /etc/os-release 2>/dev/null
section addr
ip -j -d addr 2>/dev/null || ip addr 2>/dev/null
section route
ip -j route 2>/dev/null

section files
grep -H . /sys/class/infiniband/*/fw_ver /sys/class/infiniband/*/board_id /sys/class/infiniband/*/hca_type \
	/sys/class/infiniband/*/node_guid /sys/class/infiniband/*/parent \
	/sys/class/infiniband/*/device/current_link_speed /sys/class/infiniband/*/device/current_link_width \
	/sys/class/infiniband/*/device/max_link_speed /sys/class/infiniband/*/device/max_link_width \
	/sys/class/infiniband/*/ports/*/state /sys/class/infiniband/*/ports/*/phys_state \
	/sys/class/infiniband/*/ports/*/rate /sys/class/infiniband/*/ports/*/link_layer \
	/sys/class/net/*/mtu /sys/class/net/*/operstate /sys/class/net/*/carrier /sys/class/net/*/speed \
	/sys/class/net/*/address /sys/class/net/*/phys_port_name /sys/class/net/*/dev_port \
	/sys/class/net/*/bonding/mode 2>/dev/null

# A GID table has hundreds of slots, nearly all of them empty, and the attributes
# of an empty slot cannot be read.
gids=$(grep -Hv 0000:0000:0000:0000:0000:0000:0000:0000 /sys/class/infiniband/*/ports/*/gids/* 2>/dev/null)
set --
for gid in $gids; do
	file=${gid%%:*}
	port=${file%/gids/*}
	index=${file##*/}
	echo "$gid"
	set -- "$@" "$port/gid_attrs/types/$index" "$port/gid_attrs/ndevs/$index"
done
if [ $# -gt 0 ]; then
	grep -H . "$@" 2>/dev/null
fi

section places
for dev in /sys/class/infiniband/*; do
	if [ -e "$dev/device" ]; then
		echo "pci $dev $(readlink -f "$dev/device")"
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
	if [ -e "$master" ]; then
		echo "master $master $(readlink -f "$master")"
	fi
done

section managers
` + change.LookAtManagers + `
section devinfo
ibv_devinfo 2>/dev/null

section tools
for tool in`

const after = `; do
	command -v "$tool" || continue
done
`

const end = `section end
`
