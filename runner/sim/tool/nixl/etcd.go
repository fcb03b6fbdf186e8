package nixl

import (
	"io/fs"
	"net"

	"github.com/railbench/railbench/runner/sim/host"
)

// etcdPort is where a node's own etcd listens, on loopback, as Ubuntu's does.
const etcdPort = 2379

// etcdUnit is its service.
const etcdUnit = "etcd.service"

// ubuntuEtcd is the release in Ubuntu 24.04.
var ubuntuEtcd = etcdRelease{Server: "3.4.30", Cluster: "3.4.0"}

// staleKeys are the keys that two killed processes of nixlbench leave, and one key of another user: a cleanup
// of nixlbench's keys has to leave it.
func staleKeys() map[string]string {
	return map[string]string{
		"xferbench/default//size":                        "2",
		"xferbench/default/barrier/start_barrier/0/1":    "1",
		"xferbench/default/barrier/sync/4/0":             "1",
		"xferbench/default/msg+int_data/src=1/dst=0/ack": "1",
		"xferbench/default/msg+char_data/src=1/dst=0":    "x",
		"/registry/other/program":                        "x",
	}
}

// HaveEtcd installs an etcd as a service that is enabled: it runs, with what a dead
// nixlbench left in it, or it has failed.
func HaveEtcd(n *host.Node, runs bool) (undo func()) {
	files := n.Set(etcdFiles())
	u := &host.Unit{
		Name: etcdUnit, Active: "failed", Sub: "failed", Result: "exit-code",
		Status: 1, Stop: func() {}, Gone: make(chan struct{}),
	}
	n.Units[etcdUnit] = u
	undo = func() {
		files()
		if l := n.Listeners[etcdPort]; l != nil && l.Serves == etcdUnit {
			delete(n.Listeners, etcdPort)
			delete(n.Procs, l.Proc.PID)
		}
		delete(n.Units, etcdUnit)
	}
	if !runs || n.Listeners[etcdPort] != nil {
		return undo
	}
	p := n.Spawn([]string{"/usr/bin/etcd"}, true)
	// It has been there for longer than any run, which is how a check reports.
	p.Started -= host.ForgottenFor
	e := newEtcd(ubuntuEtcd, staleKeys())
	n.Listeners[etcdPort] = &host.Listener{
		Port: etcdPort, Proc: p, Serves: etcdUnit, Loopback: true, Open: func() func(net.Conn) { return e.Serve },
	}
	u.Active, u.Sub, u.Result, u.Status, u.Proc = "active", "running", "success", 0, p
	return undo
}

// MaskEtcd installs an etcd that was enabled once and is masked now: nothing starts it, and the environment
// still names its endpoint to programs that look for it.
func MaskEtcd(n *host.Node) (undo func()) {
	files := etcdFiles()
	files["/etc/systemd/system/"+etcdUnit] = host.NewLink("/dev/null")
	text := host.EnvironmentText + "\nNIXL_ETCD_ENDPOINTS=http://127.0.0.1:2379"
	files[host.EnvironmentFile] = host.NewFile(text)
	return n.Set(files)
}

// etcdFiles is what its package and its service leave in the file system.
func etcdFiles() map[string]*host.Inode {
	return map[string]*host.Inode{
		"/usr/lib/systemd/system/" + etcdUnit: host.NewFile(
			"[Unit]\nDescription=etcd - highly-available key value store\n\n" +
				"[Service]\nExecStart=/usr/bin/etcd\n\n[Install]\nWantedBy=multi-user.target"),
		"/etc/systemd/system/multi-user.target.wants/" + etcdUnit: host.NewLink("/usr/lib/systemd/system/" + etcdUnit),
		"/etc/default/etcd": host.NewFile("## etcd(1) daemon options\n# ETCD_LISTEN_CLIENT_URLS=\"http://localhost:2379\""),
		"/usr/bin/etcd":     host.NewProgram(),
		"/var/lib/etcd":     {Mode: fs.ModeDir | 0o700, Kids: map[string]*host.Inode{}},
	}
}
