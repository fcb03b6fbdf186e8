package host

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/net"
)

const (
	// What programs take their settings from.
	EnvironmentFile = "/etc/environment"
	EnvironmentText = `PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"`
	limitsFile      = "/etc/security/limits.conf"
	limitsText      = "# /etc/security/limits.conf\n#<domain>      <type>  <item>         <value>\n"
	// NCCLFile is where the loader finds NCCL: a link to a file that is called after its version.
	NCCLFile = "/lib/aarch64-linux-gnu/libnccl.so.2"
	// Part of the systemd package: where it is installed, loading the module makes no bond0.
	ModprobeFile = "/usr/lib/modprobe.d/systemd.conf"
)

// systemFiles is the files that programs take their settings from, as they come with the
// system.
func systemFiles() map[string]*Inode {
	return map[string]*Inode{
		EnvironmentFile: NewFile(EnvironmentText),
		limitsFile: NewFile(limitsText +
			"*               soft    memlock         unlimited\n*               hard    memlock         unlimited"),
		ModprobeFile: NewFile("# options bonding max_bonds=0 keeps the driver from making a bond by itself.\n" +
			"options bonding max_bonds=0\noptions dummy numdummies=0"),
		"/etc/security/limits.d":             newDir(),
		"/etc/ufw/ufw.conf":                  NewFile("# /etc/ufw/ufw.conf\nENABLED=no\nLOGLEVEL=low"),
		"/usr/local/ucx/lib/libucs.so.0":     {Mode: fs.ModeSymlink | 0o777, Target: "libucs.so.0.0.0"},
		"/usr/local/ucx/lib/libucs.so.0.0.0": NewProgram(),
		NCCLFile:                             NewLink(path.Base(NCCLFile) + ".28.9"),
		NCCLFile + ".28.9":                   NewProgram(),
	}
}

// ringFiles are what NCCL needs where nodes are in a ring.
func ringFiles() map[string]*Inode {
	return map[string]*Inode{
		NCCLFile:           NewLink(path.Base(NCCLFile) + ".30.7"),
		NCCLFile + ".30.7": NewProgram(),
		"/etc/nccl.conf":   NewFile("NCCL_IB_SUBNET_AWARE_ROUTING=1\nNCCL_IB_MERGE_NICS=0"),
	}
}

// Set puts files of the system in the place of those that are there, and gives what puts
// those back. Callers hold the fabric's lock.
func (n *Node) Set(files map[string]*Inode) (undo func()) {
	// nil stands for a file that was not there, and takes it away again.
	was := map[string]*Inode{}
	put := func(all map[string]*Inode) {
		for name, i := range all {
			if i == nil {
				delete(n.system, name)
				continue
			}
			n.system[name] = i
		}
		n.Changed()
	}
	for name := range files {
		was[name] = n.system[name]
	}
	put(files)
	return func() { put(was) }
}

// loginEnvironment is what pam_env puts into every login's environment.
func (n *Node) loginEnvironment() (list [][2]string) {
	// PATH is left out: sshd has its own, and pam_env's comes after it on a real node with the same
	// directories.
	text, _ := n.system[EnvironmentFile].read()
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name != "PATH" {
			list = append(list, [2]string{name, value})
		}
	}
	return list
}

// Lockable reports whether a process may lock so many bytes; nothing limits root.
func (n *Node) Lockable(size int64, root bool) bool {
	return root || n.MemlockKB == 0 || size <= n.MemlockKB<<10
}

// LimitMemlock lets a user lock so much, and gives what lets him lock all again.
func (n *Node) LimitMemlock(kb int64) (undo func()) {
	n.MemlockKB = kb
	files := n.Set(map[string]*Inode{
		limitsFile: NewFile(limitsText + fmt.Sprintf("*               -       memlock         %d", kb)),
	})
	return func() {
		n.MemlockKB = 0
		files()
	}
}

// Uptime is how long the node is up. One that has just booted stays so, as at the speed of a test a minute is over at
// once: after some minutes its clock hardly goes on. Until then what reads it twice finds the time in between.
func (n *Node) Uptime() time.Duration {
	if n.UpFor == 0 {
		return n.sinceBoot()
	}
	const real, slower = 4 * time.Minute, 1000
	since := n.Rack.Clock.Now()
	return n.UpFor + min(since, real) + max(0, since-real)/slower
}

// sinceBoot is how long its kernel runs.
func (n *Node) sinceBoot() time.Duration {
	if n.Boots > 0 {
		return n.Rack.Clock.Now() - n.booted
	}
	return n.Rack.Clock.Uptime()
}

// Reboot starts the node again: what ran is over, what lay in memory is gone, and its network is as its
// configuration has it. Connections are their owner's to end. Callers hold the rig's lock.
func (n *Node) Reboot() {
	for _, u := range n.Units {
		u.Stop()
		u.Forget(n)
	}
	for _, p := range n.Procs {
		if p.End != nil {
			p.End()
		}
	}
	for name := range n.Files {
		if strings.HasPrefix(name, "/tmp/") || strings.HasPrefix(name, "/run/") || strings.HasPrefix(name, "/dev/shm/") {
			delete(n.Files, name)
		}
	}
	clear(n.LetGo)
	n.Boots, n.booted = n.Boots+1, n.Rack.Clock.Now()
	n.Stack.Reboot()
	n.Changed()
}

// Release is the kernel's.
func (n *Node) Release() string {
	if n.HandsOver {
		return "7.0.0-1019-nvidia"
	}
	return Kernel
}

// firmwareTree is what the firmware's settings show: a Spark comes with secure
// boot, and its kernel locks itself down for that.
func (n *Node) firmwareTree(t *Inode) {
	t.put("/sys/firmware/efi/efivars", newDir())
	t.fixed("/sys/kernel/security/lockdown", "none [integrity] confidentiality")
}

// RefusesModules is the fault of a node whose kernel refuses nvidia_peermem: the node's own build, which is
// not signed with an enrolled key.
const RefusesModules Flaw = "refuses an unsigned module"

// A temperature of the adapter, in degrees, as it is and where it is too hot.
const (
	warmAdapter = 58
	hotAdapter  = 104
)

// Degrees is the adapter's temperature in degrees Celsius at a function, and the most that it was: 102 is critical for
// a ConnectX-7.
func (n *Node) Degrees(f *net.Function) (now, most int) {
	rest := warmAdapter
	if n.Hot {
		rest = hotAdapter + f.Half
	}
	rise, highest := n.Rise()
	return rest + int(rise), rest + int(highest)
}
