package sim

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/net"
)

const (
	environmentFile = "/etc/environment"
	environmentText = `PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"`
	limitsFile      = "/etc/security/limits.conf"
	limitsText      = "# /etc/security/limits.conf\n#<domain>      <type>  <item>         <value>\n"
	modprobeFile    = "/usr/lib/modprobe.d/systemd.conf"
)

// systemFiles is the files that programs take their settings from, as they come with the
// system.
func systemFiles() map[string]*inode {
	return map[string]*inode{
		environmentFile: newFile(environmentText),
		limitsFile: newFile(limitsText +
			"*               soft    memlock         unlimited\n*               hard    memlock         unlimited"),
		modprobeFile: newFile("# options bonding max_bonds=0 keeps the driver from making a bond by itself.\n" +
			"options bonding max_bonds=0\noptions dummy numdummies=0"),
		"/etc/security/limits.d":             newDir(),
		"/etc/ufw/ufw.conf":                  newFile("# /etc/ufw/ufw.conf\nENABLED=no\nLOGLEVEL=low"),
		"/usr/local/ucx/lib/libucs.so.0":     {mode: fs.ModeSymlink | 0o777, target: "libucs.so.0.0.0"},
		"/usr/local/ucx/lib/libucs.so.0.0.0": newProgram(),
	}
}

// set puts files of the system in the place of those that are there, and gives what puts
// those back. Callers hold the fabric's lock.
func (n *node) set(files map[string]*inode) (undo func()) {
	was := map[string]*inode{}
	put := func(all map[string]*inode) {
		for name, i := range all {
			if i == nil {
				delete(n.system, name)
				continue
			}
			n.system[name] = i
		}
		n.changed()
	}
	for name := range files {
		was[name] = n.system[name]
	}
	put(files)
	return func() { put(was) }
}

// loginEnvironment is what pam_env puts into every login's environment.
func (n *node) loginEnvironment() (list [][2]string) {
	text, _ := n.system[environmentFile].read()
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name != "PATH" {
			list = append(list, [2]string{name, value})
		}
	}
	return list
}

// lockable reports whether a process may lock so many bytes; nothing limits root.
func (n *node) lockable(size int64, root bool) bool {
	return root || n.memlockKB == 0 || size <= n.memlockKB<<10
}

// limitMemlock lets a user lock so much, and gives what lets him lock all again.
func (n *node) limitMemlock(kb int64) (undo func()) {
	n.memlockKB = kb
	files := n.set(map[string]*inode{
		limitsFile: newFile(limitsText + fmt.Sprintf("*               -       memlock         %d", kb)),
	})
	return func() {
		n.memlockKB = 0
		files()
	}
}

// uptime is how long the node is up. One that has just booted stays so: at the
// speed of a test a minute is over at once.
func (n *node) uptime() time.Duration {
	if n.upFor > 0 {
		return n.upFor
	}
	return n.rack.Clock.Uptime()
}

// firmwareTree is what the firmware's settings show: a Spark comes with secure
// boot, and its kernel locks itself down for that.
func (n *node) firmwareTree(t *inode) {
	t.put("/sys/firmware/efi/efivars", newDir())
	t.fixed("/sys/kernel/security/lockdown", "none [integrity] confidentiality")
}

// refusesModules is the flaw of a node whose kernel refuses nvidia_peermem: a build of the
// node's own that nobody whom it trusts has signed.
const refusesModules flaw = "refuses an unsigned module"

// A temperature of the adapter, in degrees, as it is and where it is too hot.
const (
	warmAdapter = 58
	hotAdapter  = 117
)

func (n *node) degrees(f *net.Function) int {
	if n.hot {
		return hotAdapter + f.Half
	}
	return warmAdapter
}
